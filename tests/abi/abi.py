"""Checks the shared library's interface against the list of its soname: symbols, sizes and offsets of structs,
enumerators.

    abi.py LIBRARY KEPT CC...

Prints TAP. A symbol, a struct, a member or an enumerator of the list that is gone or has moved fails; new ones are
reported and have to be added, which EK_UPDATE_GOLDEN=1 does. Also: the exported symbols are exactly those that headers
declare.
"""
import os
import re
import subprocess
import sys

library, kept, *compiler = sys.argv[1:]
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.dont_write_bytecode = True  # nothing is left among the sources
sys.path.insert(0, os.path.join(root, "python"))
try:
    import cffi
    import cffi.model
    import pycparser  # noqa: F401 (cdef needs it)
except ImportError as missing:
    print(f"1..0 # SKIP no Python module {missing.name} here")
    sys.exit(0)
import cdef  # noqa: E402

include = os.path.join(root, "include")
text = cdef.declarations(compiler, include, "abi", os.devnull)
inline = set(re.findall(r"static inline [^(;{]*?\b(ek_\w+)\(", cdef.preprocessed(compiler, include, "abi", os.devnull)))
ffi = cffi.FFI()
ffi.cdef(text)
declared = {key.split()[1] for key in ffi._parser._declarations if key.split()[0] in ("function", "variable", "constant")} - inline
arrays = [key.split()[1] for key, (kind, _) in ffi._parser._declarations.items()
          if key.split()[0] in ("variable", "constant") and isinstance(kind, cffi.model.ArrayType)]
listed = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True, text=True).stdout
exported = {line.split()[2].split("@")[0] for line in listed.splitlines() if line.split()[1] != "A"}


def layout(name, kind, lines):
    lines[name] = f"size {ffi.sizeof(kind)} align {ffi.alignof(kind)}"
    for member, field in kind.fields or ():
        lines[f"{name}.{member}"] = f"offset {field.offset} {field.type.cname}"
        if field.type.kind in ("struct", "union") and not re.search(r"\bek_", field.type.cname):
            layout(f"{name}.{member}", field.type, lines)


now = {f"{symbol}()": "exported" for symbol in exported}
for name in ffi.list_types()[0]:
    if not name.startswith("ek_") or isinstance(ffi._parser._declarations[f"typedef {name}"][0], cffi.model.RawFunctionType):
        continue
    kind = ffi.typeof(name)
    if kind.kind in ("struct", "union") and kind.fields is not None:
        layout(name, kind, now)
for key, (value, _) in ffi._parser._declarations.items():
    if key.startswith("anonymous ") or key.startswith("enum "):
        for word, number in zip(getattr(value, "enumerators", ()) or (), getattr(value, "enumvalues", ()) or ()):
            now[word] = f"enumerator {number}"
for word, number in ffi._parser._int_constants.items():
    now[word] = f"enumerator {number}"

if os.environ.get("EK_UPDATE_GOLDEN"):
    with open(kept, "w", encoding="utf-8") as out:
        out.writelines(f"{name}: {what}\n" for name, what in sorted(now.items()))
with open(kept, encoding="utf-8") as lines:
    before = dict(line.rstrip("\n").split(": ", 1) for line in lines)

n = 0


def check(problems, name):
    global n
    n += 1
    print(f"{'not ok' if problems else 'ok'} {n} - {name}")
    for problem in problems[:40]:
        print(f"# {problem}")


# How many values an enumeration has grows with it.
counts = re.compile(r"EK_N_\w+")
check(sorted(exported - declared), "every symbol that is exported is declared by a public header")
check(sorted(declared - exported), "every function that public headers declare is exported")
check(arrays, "no array is declared: a program would be linked with its length")
check([f"{name}: {what}, now {now.get(name, 'gone')}" for name, what in sorted(before.items())
       if now.get(name) != what and not counts.fullmatch(name)],
      "what programs are built against is there and where it was")
check([f"{name}: {what}; EK_UPDATE_GOLDEN=1 adds it" for name, what in sorted(now.items()) if name not in before],
      "all of it is in the list")
check([] if len(before) > 3000 and any(w.startswith("offset") for w in before.values()) else [f"{len(before)} lines"],
      "the list has symbols, structs and enumerators")
print(f"1..{n}")
