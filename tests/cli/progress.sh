#!/bin/sh
# Tests progress bars: work of more than a second shows one on a terminal, it is wiped before the answer, and a pipe
# gets none of it. The program has a faster clock (hurried.c), since the work of a second differs between machines.
# Prints TAP.
#
#   tests/cli/progress.sh EVENKEEL_HURRIED
set -u
unset CDPATH
[ $# -eq 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
evenkeel=$(readlink -f "$1")
command -v script >/dev/null || { echo '1..0 # SKIP no script here, which makes a terminal (Debian package bsdutils)'; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$evenkeel" "$work/evenkeel"
ln -s "$root/examples" "$work/examples"
cd "$work" || exit 2
PATH=$work:$PATH
TERM=xterm
LC_ALL=C
export PATH TERM LC_ALL
unset NO_COLOR COLUMNS 2>/dev/null

number=0
failed=0
check() { # WHAT: the file `bad` has the error
    number=$((number + 1))
    if [ ! -s bad ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        sed 's/^/# /' bad
    fi
    rm -f bad
}

# A part of the work is shown on a terminal, nothing of the last bar is left, and a pipe gets none of it.
shows() { # RATE PART COMMAND
    export EK_HURRY="$1"
    script -qec "$3" /dev/null </dev/null | tr '\r' '\n' >all
    grep -q "[0-9] %.*$2\|$2, [0-9]* %" all || { echo 'not shown:'; head -c 300 all; } >>bad
    # Every drawing begins with the code that wipes the previous one; the answer follows the last one.
    awk -v code="$(printf '\033[K')" 'index($0, code) { last = $0 } END { if (last ~ / %  |s left/) print "left: " last }' \
        all >>bad
    $3 >out 2>&1 </dev/null
    grep -n "%.*$2\|$(printf '\033')\[K" out >>bad
    check "$3: $2"
}

head -c 20000000 /dev/zero | tr '\0' '\n' >log
shows 1000 reading 'evenkeel metrics log'
shows 1000 reading 'evenkeel collect log'
shows 50 'searching for an order' 'evenkeel simulate --schedule v-min -s 24 -mb 48 --uniform forward=1,backward=2'
shows 50 'trying measures' 'evenkeel memory examples/llama175b_train.yaml --micro-batches 256 --measures --device 910B'
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "plan%d:\n  offset: [[0, 0, 0], [0, 1, -1]]\n  micro_batch_num: 8\n", i }' >plans
shows 50 reading 'evenkeel convert plans --to megatron -s 3 --num-layers 6'
shows 50 'choosing the layers of every stage' 'evenkeel guide -s 16 --layers 96 --full --select'
shows 50 'laying out the order' 'evenkeel estimate examples/llama175b_train.yaml --micro-batches 4096 --device 910B'
shows 10 'searching for an order' \
    'evenkeel balance examples/llama175b_init.yaml -s 32 -mb 64 --min-layers 0 -mem 500000 --schedule v-min -t 10'
# Work that ends within a second prints nothing.
export EK_HURRY=1
script -qec 'evenkeel simulate --schedule 1f1b -s 4 -mb 8 --uniform forward=1,backward=2' /dev/null </dev/null >all
grep -n ' %  ' all >bad
check 'a short simulation: no bar'
echo "1..$number"
[ $failed = 0 ]
