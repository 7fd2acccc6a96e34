#!/bin/sh
# Builds the hot loops (hot_loops.c) for other machines and runs them under qemu: their results are those of this
# machine, bit by bit, and aarch64 runs vector code. Prints TAP. It needs a cross compiler with its C library and qemu,
# no other library of that machine, and takes seconds; `./run aarch64` has the rest.
#
#   tests/cross/hot_loops.sh HOT_LOOPS [COMPILER-OPTION...]
#
# HOT_LOOPS is the program built for this machine.
set -u
unset CDPATH
[ $# -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(readlink -f "$1")
shift
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo 1..7
number=0
failed=0
result() { # STATUS SENTENCE: with the content of $work/why below a failure
    number=$((number + 1))
    if [ "$1" = 0 ]; then
        echo "ok $number - $2"
    else
        failed=1
        echo "not ok $number - $2"
        sed 's/^/#   /' "$work/why"
    fi
}
skip() { # REASON SENTENCE
    number=$((number + 1))
    echo "ok $number - $2 # SKIP $1"
}

"$here" >"$work/here" 2>"$work/why"
result $? 'every way of this machine gives what slow loops give'

qemu_of() { command -v "qemu-$1-static" || command -v "qemu-$1"; } # MACHINE

# Why MACHINE cannot be tried, or nothing.
missing() { # MACHINE
    qemu_of "$1" >/dev/null || { echo "no qemu-$1"; return; }
    command -v "$1-linux-gnu-gcc" >/dev/null || { echo "no $1-linux-gnu-gcc"; return; }
    printf '#include <stdio.h>\n' | "$1-linux-gnu-gcc" -E - >/dev/null 2>&1 || echo "no C library for $1-linux-gnu-gcc"
}

# $work/MACHINE, linked statically, so that no other file of the machine is needed to run. Automatic vectorization is
# off: only vector code in the source counts.
build() { # MACHINE OPTION...
    machine=$1
    shift
    "$machine-linux-gnu-gcc" -std=c11 -O3 -Wall -Wextra -D_XOPEN_SOURCE=700 -fno-math-errno "$@" -Iinclude -Isrc -static \
        -fno-tree-vectorize -fno-tree-slp-vectorize -o "$work/$machine" tests/cross/hot_loops.c src/trace/scan/structure.c src/simulate/step_time.c \
        src/base/vectors.c src/base/needles.c src/base/alloc.c src/base/error.c src/base/c_locale.c src/base/watch.c -lm
}

same_results() { # MACHINE
    grep '^# result' "$work/here" >"$work/expected"
    grep '^# result' "$work/$1.out" | diff "$work/expected" - >"$work/why"
}

try() { # MACHINE WAYS COMPILER-OPTION...
    machine=$1
    ways=$2
    shift 2
    why=$(missing "$machine")
    if [ -n "$why" ]; then
        skip "$why" "every way of $machine gives what slow loops give"
        skip "$why" "$machine gives the results of this machine, bit by bit"
        return
    fi
    build "$machine" "$@" 2>"$work/why" && "$(qemu_of "$machine")" "$work/$machine" >"$work/$machine.out" 2>>"$work/why"
    status=$?
    cat "$work/$machine.out" >>"$work/why" 2>/dev/null
    for loop in structure lanes; do
        grep -qx "# $loop: $ways" "$work/$machine.out" || {
            status=1
            echo "$machine has other ways than '$ways'" >>"$work/why"
        }
    done
    result $status "every way of $machine gives what slow loops give"
    same_results "$machine"
    result $? "$machine gives the results of this machine, bit by bit"
}

try aarch64 'NEON none' "$@"
try s390x none "$@"

# Instructions that are run: of each way over the same input, by the name of its function.
counted=0
why=$(missing aarch64)
if [ -n "$why" ]; then
    skip "$why" 'vector code takes less than half of the instructions of plain code'
    skip "$why" 'what it runs are vector instructions'
else
    qemu=$(qemu_of aarch64)
    one=-singlestep # one instruction a block, which newer versions call otherwise
    ! "$qemu" -help | grep -q one-insn-per-tb || one=-one-insn-per-tb
    "$qemu" $one -d exec,nochain -D "$work/log" "$work/aarch64" count && counted=1
    awk '{ n[$NF]++ } END { for (name in n) print name, n[name] }' "$work/log" >"$work/counts"
    of() { awk -v name="$1" '$1 == name { print $2 }' "$work/counts"; }
    vector=1
    : >"$work/why"
    for pair in 'index_words_neon index_words_plain' 'lanes_neon lanes_plain'; do
        neon=$(of "${pair% *}") plain=$(of "${pair#* }")
        echo "# ${pair% *}: ${neon:-none} instructions, ${pair#* }: ${plain:-none}"
        if [ "${neon:-0}" = 0 ] || [ $((2 * neon)) -ge "${plain:-0}" ]; then
            vector=0
            echo "${pair% *} has ${neon:-no} instructions, ${pair#* } ${plain:-no}" >>"$work/why"
        fi
    done
    result $((1 - counted * vector)) 'vector code takes less than half of the instructions of plain code'

    # Compares and additions of whole registers, in the functions of this name.
    aarch64-linux-gnu-objdump -d --no-show-raw-insn "$work/aarch64" >"$work/code"
    uses() { # FUNCTION PATTERN
        awk -v name="<$1>:" '$2 == name { inside = 1 } inside && NF == 0 { inside = 0 } inside' "$work/code" | grep -c -- "$2"
    }
    compares=$(uses index_words_neon 'cmeq.*\.16b') sums=$(uses lanes_neon 'fadd.*\.2d') most=$(uses lanes_neon 'fmax.*\.2d')
    echo "# index_words_neon: $compares cmeq of 16 bytes; lanes_neon: $most fmax and $sums fadd of 2 doubles"
    [ "$compares" -ge 20 ] && [ "$sums" -ge 4 ] && [ "$most" -ge 4 ]
    result $? 'what it runs are vector instructions'
fi
exit $failed
