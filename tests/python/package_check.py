"""Shared functions of the tests of the Python package: checks as TAP, the command, the built package.

A test gets FOLDER_OF_THE_MODULE COMMAND, and runs in the sources' folder.
"""
import contextlib
import glob
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

BUILT, COMMAND = (os.path.abspath(path) for path in sys.argv[1:3])
ROOT = os.environ.get("EK_SOURCE_ROOT") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
INIT = "examples/llama175b_init.yaml"
LAYERS = "examples/moe_mtp_layers.json"
os.chdir(ROOT)
number = failed = 0


def check(what, fine, more=""):
    global number, failed
    number += 1
    failed += not fine
    print(f"{'ok' if fine else 'not ok'} {number} - {what}")
    if not fine and more:
        print("".join(f"# {line}\n" for line in str(more).splitlines()), end="")


def skip(what, why):
    check(f"{what} # SKIP {why}", True)


def ran(*arguments):
    """The command's output and messages."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def command(*arguments):
    """Its exit status, JSON (or None) and messages."""
    done = subprocess.run([COMMAND, *arguments, "--format", "json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else None, done.stderr


def without_clock(value):
    """A document without the seconds that a search took."""
    def deeper(value):
        if isinstance(value, dict):
            return {key: deeper(each) for key, each in value.items() if key != "solve_seconds"}
        return [deeper(each) for each in value] if isinstance(value, list) else value

    value = deeper(value)
    return {key: each for key, each in value.items() if key not in ("seconds", "first_seconds")}


def refused(what, kind, call, *words):
    """Is a call refused with an exception of a kind and some words in its message?"""
    try:
        call()
    except kind as error:
        check(what, all(word in str(error) for word in words), error)
    else:
        check(what, False, "it was not refused")


@contextlib.contextmanager
def package():
    """The folder of the package as it was built, imported."""
    with tempfile.TemporaryDirectory() as folder:
        here = os.path.join(folder, "evenkeel")
        os.mkdir(here)
        for path in glob.glob("python/evenkeel/*") + glob.glob(os.path.join(BUILT, "_evenkeel*.so")):
            if not path.endswith("__pycache__"):
                os.symlink(os.path.abspath(path), os.path.join(here, os.path.basename(path)))
        sys.path.insert(0, folder)
        yield folder, importlib.import_module("evenkeel")


def main(*parts):
    with package() as (folder, evenkeel):
        warnings.simplefilter("ignore")
        for part in parts:
            begun, used = time.perf_counter(), sum(os.times()[:4])
            part(evenkeel, folder) if part.__code__.co_argcount == 2 else part(evenkeel)
            print(f"# {part.__name__}: {time.perf_counter() - begun:.1f} s, {sum(os.times()[:4]) - used:.1f} s of a core", flush=True)
    print(f"1..{number}")
    return failed > 0
