"""Makes one folder a copy of another: copy_tree.py FROM TO. Only different files are written, with the current time, so
that a build of the copy compiles only the files changed since the last one."""
import filecmp
import os
import shutil
import sys

LEFT_OUT = (".git", "output", "__pycache__")


def copy_tree(source, target, top=True):
    os.makedirs(target, exist_ok=True)
    names = {name for name in os.listdir(source) if name not in LEFT_OUT and not (top and name.startswith("build"))}
    for name in os.listdir(target):
        path = os.path.join(target, name)
        if name not in names:
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
    for name in names:
        old, new = os.path.join(source, name), os.path.join(target, name)
        if os.path.isdir(old) and not os.path.islink(old):
            copy_tree(old, new, False)
        elif not os.path.lexists(new) or os.path.islink(old) or not filecmp.cmp(old, new, shallow=False):
            if os.path.lexists(new):
                os.remove(new)
            shutil.copy(old, new, follow_symlinks=False)


copy_tree(sys.argv[1], sys.argv[2])
