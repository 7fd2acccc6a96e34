#!/bin/sh
# Tests the drawings of text reports: a terminal gets them in its width, with block characters where its character set
# is UTF-8 and with colours where requested; a pipe, a file and a format for machines have none unless --plot is given.
# Prints TAP.
#
#   tests/cli/drawings.sh EVENKEEL
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
ln -s "$root/tests/data" "$work/data"
cd "$work" || exit 2
PATH=$work:$PATH
TERM=xterm
LC_ALL=C
export PATH TERM LC_ALL
unset NO_COLOR COLUMNS LINES LC_CTYPE LANG 2>/dev/null
escape=$(printf '\033')

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

# Commands run one after the other on one terminal, which takes long to make; `run` then writes the output of the N-th
# to all.N. Their messages and progress bars are redirected elsewhere.
queued=0
on_terminal() { # COMMAND
    queued=$((queued + 1))
    printf 'echo "=== %d"\n{ %s; } 2>/dev/null\n' $queued "$1" >>commands
}
run() {
    rm -f all.*
    script -qec 'sh commands' /dev/null </dev/null | tr -d '\r' |
        awk '$1 == "===" && NF == 2 { file = "all." $2; next } { print > file }'
    rm commands
    queued=0
}
has() { # N PATTERN: the output has such a line
    grep -q -e "$2" "all.$1" || { echo "no line has: $2"; head -c 400 "all.$1"; } >>bad
}
lacks() { grep -n -e "$2" "all.$1" >>bad; }
widest() { # N COLUMNS: the drawing has lines of COLUMNS characters, and no longer ones. Titles do not have its width.
    got=$(grep '|\|--' "all.$1" | awk '{ n = length($0); if (n > most) most = n } END { print most + 0 }')
    [ "$got" = "$2" ] || echo "the widest line has $got columns, not $2" >>bad
}

strip='^    0 |[0-9fbrw.]*$'
bar='[0-9] |#*-*[ |]*$'
schedule='evenkeel simulate --schedule 1f1b -s 4 -mb 8 --uniform forward=1,backward=2'
balance='evenkeel balance data/small_init.yaml -s 4 -mb 6 -mem 100000 -t 1'
export NO_COLOR=1

# Each command that has drawings, with a line of them.
draws() { # PATTERN COMMAND
    printf '%s\n%s\n' "$1" "$2" >>drawing
    on_terminal "$2"
}
printf 'mine:\n  offset: [[0, 0, 0], [0, 1, -1]]\n  recompute: [[1, 0, 0], [2, 1, 0]]\n  interleave_num: 2\n  micro_batch_num: 8\n' >plan.yaml
draws "$strip" "$schedule"
draws "$strip" "$balance"
draws "$strip" 'evenkeel simulate plan.yaml --layers data/small_layers.json --svg picture.svg'
draws "$bar" 'evenkeel estimate examples/llama175b_train.yaml --device 910B'
draws "$bar" 'evenkeel plan data/job/llama.yaml --device 910B --devices 4 --range vpp=1:1 --top 3 -t 20'
draws '^rank 0 .*|#*x*[.]*$' 'evenkeel trace examples/trace'
on_terminal "$schedule --no-plot"
on_terminal 'evenkeel trace examples/trace --no-plot'
run
at=1
while IFS= read -r pattern && IFS= read -r command; do
    has $at "$pattern"
    lacks $at "$escape"
    check "on a terminal: $command"
    at=$((at + 1))
done <drawing
lacks $at "$strip"
lacks $((at + 1)) '^rank 0 .*|'
check 'no drawing with --no-plot'

for command in "$schedule" 'evenkeel trace examples/trace'; do
    $command >all.pipe 2>/dev/null </dev/null
    lacks pipe "$strip\|^rank 0 .*|"
done
check 'no drawing in a pipe, which the cases of every command see as well'

# The width: of the terminal, of COLUMNS, within limits.
on_terminal "stty cols 64; $schedule"
on_terminal "COLUMNS=90 $schedule"
on_terminal "COLUMNS=7 $schedule"
on_terminal "COLUMNS=1000 $schedule"
on_terminal "stty cols 0; COLUMNS=wide $schedule"
on_terminal 'LINES=14 evenkeel simulate --schedule 1f1b -s 40 -mb 8 --uniform forward=1,backward=2'
# Characters: the first variable that is set counts.
on_terminal "unset LC_ALL; LC_ALL=C.UTF-8 $schedule"
on_terminal "LC_ALL= LC_CTYPE=en_US.utf8 LANG=C $schedule"
on_terminal "LC_ALL= LANG=de_DE.UTF-8@euro $schedule"
on_terminal "LC_ALL=C LANG=en_US.UTF-8 $schedule"
on_terminal "LC_ALL= LANG=de_DE.ISO-8859-1 $schedule"
on_terminal "LC_ALL= $schedule"
# Colours.
on_terminal "export LC_ALL=C; unset NO_COLOR; $schedule"
on_terminal "TERM=dumb $schedule"
on_terminal "NO_COLOR=1 $schedule"
# Elsewhere.
on_terminal "export NO_COLOR=1; $balance -o pictures"
on_terminal "$balance --format yaml"
on_terminal 'evenkeel estimate examples/llama175b_train.yaml --device 910B -q'
on_terminal "$schedule --html -"
run
widest 1 64
widest 2 90
widest 3 40
widest 4 200
widest 5 80
check 'a drawing is as wide as the terminal, or as COLUMNS says, from 40 to 200'
has 6 '6 of 40 stages are drawn'
check 'a drawing leaves room for others on the terminal'
for i in 7 8 9; do has $i '^    0 │'; done
for i in 10 11 12; do has $i '^    0 |'; done
check 'block characters where the character set is UTF-8, else ASCII'
has 13 "$escape\[7;36m0$escape\[0m$escape\[36mf"
for i in 14 15; do
    lacks $i "$escape"
    has $i "$strip"
done
$schedule --plot >all.pipe
lacks pipe "$escape"
has pipe "$strip"
check 'colours on a terminal, none on a dumb one, none with NO_COLOR and none in a pipe'
for i in 16 17 18 19; do lacks $i "$strip\|$bar"; done
check 'no drawing with -o, with a format for machines, in one line or where a page takes the place of the text'
$schedule --plot -o pictures >all.pipe
has pipe "$strip"
check '--plot draws all the same'
echo "1..$number"
[ $failed = 0 ]
