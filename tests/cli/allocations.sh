#!/bin/sh
# Tests one failing allocation anywhere on the main path of a command: the command reports it and exits with 2, or its
# answer is right. Prints TAP, a test for each command.
#
#   tests/cli/allocations.sh EVENKEEL_FAILING [SAMPLES]
#
# SAMPLES of each command's allocations fail in turn, at even distances: default 5; 0: all of them.
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
evenkeel=$(readlink -f "$1")
samples=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
ln -s "$root/examples" examples
ln -s "$root/tests/data" data

# Runs that differ only in times count as the same.
answer() { # FILE
    sed -E 's/"[a-z_]*seconds": [-0-9.e+]+/"seconds": T/g; s/[0-9.]+ m?s\b/T s/g' "$1"
}

# The error of the answer when allocation AT fails.
problem_at() { # AT ARGUMENT...
    at=$1
    shift
    EK_FAIL_AT=$at "$evenkeel" "$@" >out 2>err </dev/null
    status=$?
    if [ $status = 2 ]; then
        [ -s err ] || echo "allocation $at: exit 2 without a word"
    elif [ $status != "$wanted" ]; then
        echo "allocation $at: exit $status, not $wanted: $(tail -n 1 err)"
    elif ! answer out | cmp -s - wanted; then
        echo "allocation $at: another answer with exit $status: $(answer out | diff wanted - | sed -n 2p | cut -c 1-100)"
    fi
}

number=0
failed=0
try() { # ARGUMENT...
    number=$((number + 1))
    EK_FAIL_COUNT=count "$evenkeel" "$@" >out 2>err </dev/null
    wanted=$?
    answer out >wanted
    n=$(cat count 2>/dev/null || echo 0)
    step=$((samples == 0 || n <= samples ? 1 : n / samples))
    problem=$([ $wanted -le 1 ] && [ "$n" -gt 0 ] || echo "exit $wanted with $n allocations: $(tail -n 1 err)"
        at=$(((step + 1) / 2))
        while [ $at -le "$n" ]; do
            problem_at $at "$@"
            at=$((at + step))
        done)
    if [ -z "$problem" ]; then
        echo "ok $number - $* ($n allocations)"
    else
        failed=$((failed + 1))
        echo "not ok $number - $* ($n allocations)"
        printf '%s\n' "$problem" | head -n 20 | sed 's/^/# /'
    fi
}

try balance examples/llama175b_init.yaml -s 16 -mb 32 -mem 56000 --threads 1 --solver staged --format json
try balance --layers examples/moe_mtp_layers.json -s 4 -mb 8 --sweep mem=56000:60000:2000 --threads 1 --format json
try balance --layers data/small_layers.json -s 6 -mb 4 -mem 56000 --threads 1 --format yaml
try simulate data/small_manual.yaml --layers data/small_layers.json -mb 4 --format json
try memory examples/megatron_13b.sh --format json
try memory examples/llama175b_train.yaml --format csv
try memory data/job/torchtitan_70b.toml
try memory examples/llama2_13b_1_dp8.yaml --measures --format json
try estimate examples/megatron_13b.sh --device H100 --format json
try trace examples/trace --threads 1 --format json
try trace examples/trace --threads 1 --query 'SELECT * FROM kernels LIMIT 9'
try trace examples/trace --threads 1 --layers-out -
try diagnose examples/run --threads 1 --format json
try view examples/run --threads 1 -o -
try ir examples/silu_mul.ir --format json
try ir diff examples/silu_mul.ir examples/silu_mul_fixed.ir --format json
try lint examples/llama2_13b_1_dp8.yaml examples/megatron_13b.sh --format json
try lint examples/llama_1024.yaml --format sarif
try metrics examples/moe_16b_config.json -dp 8 -tp 2 -mb 32 --step-seconds 11.5 --device H100 --format json
try metrics examples/moe_16b_config.json -dp 8 -tp 2 -mb 32 --step-seconds 11.5 --format openmetrics --fail-on 'mfu<99%,step_seconds>1ms'
try ir examples/silu_mul.ir --format sarif --fail-on 'warning,recompute-blocked-by-reshape>1MB'
try diagnose examples/run --threads 1 --format sarif
try convert data/small_manual.yaml --layers data/small_layers.json --to megatron
try guide --stages 16 --layers 96 --select --both --comm --format json
try dryrun-script --ranks 64 --stages 4 run
try collect examples/dryrun16 --format json
try calibrate examples/llama2_13b_runs.csv -o device.yaml --format json
echo "1..$number"
[ $failed = 0 ]
