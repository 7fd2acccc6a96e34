#!/usr/bin/env python3
"""Compares the command's output on this machine and on another; prints TAP.

    tests/cross/same_output.py HERE THERE

HERE is the command of this machine. THERE is that of another, started by the command in MESON_EXE_WRAPPER. Outputs are
the same byte by byte. Fits solve linear equations with LAPACK, which does not add in the same order on every machine:
their numbers agree within TOLERANCE of the larger, all else is the same.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

TOLERANCE = 1e-6

# Answers that no clock cuts short, with all digits where there is a format that has them.
EXACT = [
    "memory examples/llama175b_train.yaml --format json",
    "memory examples/moe_16b_config.json -tp 2 -pp 2 -mb 8 --format json",
    "memory examples/llama2_13b_3_select.yaml --format csv",
    "memory examples/llama2_13b_4_by_stage.yaml --measures",
    "estimate examples/gallery/deepseek_v3.sh --device H800 --schedule dualpipe --format json",
    "estimate examples/gallery/llama3_405b.sh --device H100 --format json",
    "estimate examples/gallery/llama3_8b.toml --device H100-HBM2e -dp 128 --format json",
    "estimate examples/megatron_13b.sh --device A100-80 --format json",
    "estimate examples/llama2_13b_1_dp8.yaml --device 910B --format json",
    "metrics --model examples/llama2_13b_3_select.yaml --tokens-per-second-per-device 1800 --device 910B --format json",
    "trace examples/run/profile --format json",
    "trace examples/trace --format json",
    "diagnose examples/run --format json",
    "ir examples/silu_mul.ir --format json",
    "ir diff examples/silu_mul.ir examples/silu_mul_fixed.ir --format json",
    "lint examples/megatron_13b.sh --format json",
    "simulate tests/data/small_manual.yaml --init tests/data/small_init.yaml -mb 6 --format json",
    "balance tests/data/small_layers.json -s 4 -mb 4 -mem 1e6 -t 60 --format yaml",
    "view examples/run -o page.html",
]
# Those with a fit.
FITTED = [
    "calibrate examples/calibrate/runs.csv -o fitted.yaml --format json",
    "calibrate examples/calibrate/runs.csv --holdout 0.25 -o fitted.yaml --format json",
    "calibrate examples/llama2_13b_runs.csv -o fitted.yaml --format json",
    "calibrate examples/calibrate/profile.json --start A100-80 -o fitted.yaml --format json",
]
# How long it took is no result.
CLOCK = ("solve_seconds", "seconds_spent", "elapsed_seconds")

root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def run(program, arguments):
    """Exit status, printed output, and written files."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "tests"):
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
        env = dict(os.environ, LC_ALL="C", TERM="dumb")
        done = subprocess.run(program + shlex.split(arguments), cwd=folder, capture_output=True, env=env, check=False)
        files = {}
        for name in sorted(os.listdir(folder)):
            if not os.path.islink(os.path.join(folder, name)):
                with open(os.path.join(folder, name), "rb") as file:
                    files[name] = file.read()
    return done.returncode, done.stdout, done.stderr, files


def lines_without_clock(text):
    return [line for line in text.splitlines() if not any(key.encode() in line for key in CLOCK)]


def apart(one, other, where, worst):
    """The first place where two documents differ beyond TOLERANCE, or None; worst[0] becomes the largest difference."""
    if isinstance(one, float) and isinstance(other, (int, float)) or isinstance(other, float) and isinstance(one, int):
        difference = abs(one - other) / max(abs(one), abs(other), 1e-300) if one != other else 0
        worst[0] = max(worst[0], difference)
        return None if difference <= TOLERANCE else f"{where}: {one!r}, {other!r}"
    if type(one) is not type(other):
        return f"{where}: {one!r}, {other!r}"
    if isinstance(one, dict):
        if list(one) != list(other):
            return f"{where}: other keys"
        pairs = [(one[key], other[key], f"{where}.{key}") for key in one if key not in CLOCK]
    elif isinstance(one, list):
        if len(one) != len(other):
            return f"{where}: {len(one)} and {len(other)} elements"
        pairs = [(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(one, other))]
    else:
        return None if one == other else f"{where}: {one!r}, {other!r}"
    return next((why for why in (apart(*pair, worst) for pair in pairs) if why), None)


def compare_exactly(here, there):
    if here[0] != there[0]:
        return f"exit code {here[0]} here, {there[0]} there: {there[2].decode(errors='replace')[:500]}"
    if list(here[3]) != list(there[3]):
        return f"files {list(here[3])} here, {list(there[3])} there"
    pairs = [("stdout", here[1], there[1]), ("stderr", here[2], there[2])]
    pairs += [(name, here[3][name], there[3][name]) for name in here[3]]
    for name, one, other in pairs:
        a, b = lines_without_clock(one), lines_without_clock(other)
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                at = next((k for k, (c, d) in enumerate(zip(x, y)) if c != d), min(len(x), len(y)))
                at = max(at - 60, 0)
                return f"{name}, line {i + 1}: {x[at:at + 120]!r} here, {y[at:at + 120]!r} there"
        if len(a) != len(b):
            return f"{name}: {len(a)} lines here, {len(b)} there"
    return None


def compare_fits(here, there, worst):
    if here[0] != there[0]:
        return f"exit code {here[0]} here, {there[0]} there: {there[2].decode(errors='replace')[:500]}"
    return apart(json.loads(here[1]), json.loads(there[1]), "", worst)


def main():
    here = [os.path.realpath(sys.argv[1])]
    there = shlex.split(os.environ.get("MESON_EXE_WRAPPER", "")) + [os.path.realpath(sys.argv[2])]
    print(f"1..{len(EXACT) + len(FITTED)}")
    failed = 0
    for number, arguments in enumerate(EXACT + FITTED, 1):
        one, other = run(here, arguments), run(there, arguments)
        worst = [0]
        if one[0] not in (0, 1) or not one[1] and not one[3]:
            why = f"there is no answer here: {one[2].decode(errors='replace')[:500]}"
        elif arguments in FITTED:
            why = compare_fits(one, other, worst)
        else:
            why = compare_exactly(one, other)
        claim = f"numbers within {TOLERANCE:g}" if arguments in FITTED else "the same bytes"
        print(f"{'not ok' if why else 'ok'} {number} - {claim}: evenkeel {arguments}")
        if arguments in FITTED:
            print(f"# largest difference {worst[0]:.2g}")
        if why:
            print("# " + why.replace("\n", "\n# "))
            failed = 1
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
