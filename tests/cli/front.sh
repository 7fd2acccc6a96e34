#!/bin/sh
# `evenkeel` without arguments on a terminal and elsewhere, and `evenkeel doctor` in environments where something is
# missing, limited or broken: each is one line with what to do. Prints TAP.
#
#   tests/cli/front.sh EVENKEEL
set -u
unset CDPATH
evenkeel=$(readlink -f "$1")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/readonly"
ln -s "$evenkeel" "$work/bin/evenkeel"
cd "$work" || exit 2
LC_ALL=C
export LC_ALL
unset NO_COLOR TMPDIR BROWSER DISPLAY WAYLAND_DISPLAY COLUMNS LINES 2>/dev/null

number=0
failed=0
ok() { # CODE NAME
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        failed=$((failed + 1))
        echo "not ok $number - $2"
        cat out err 2>/dev/null | head -n 20 | sed 's/^/# /'
    fi
}
skip() { # NAME WHY
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}
# LEVEL ID TEXT: is there such a line, with its broken parts put together?
has() {
    awk '/^ / && !/->/ { sub(/^ +/, " "); line = line $0; next } { print line; line = $0 } END { print line }' out |
        grep -qE "^$1 +$2 +.*$3"
}

bin/evenkeel >out 2>err
[ $? = 2 ] && [ ! -s out ] && grep -q 'evenkeel train.yaml' err
ok $? 'without arguments and a terminal: the page on standard error, exit 2'
if command -v script >/dev/null; then
    TERM=xterm script -qec 'bin/evenkeel 2>/dev/null; echo "exit $?"' /dev/null </dev/null 2>err | tr -d '\r' >out
    grep -q '^exit 0$' out && grep -q 'evenkeel train.yaml' out && [ "$(wc -l <out)" -le 24 ]
    ok $? 'on a terminal: the page on standard output, exit 0, no longer than a screen'
    LC_ALL=C TERM=xterm script -qec 'stty cols 60; bin/evenkeel doctor' /dev/null </dev/null 2>err | tr -d '\r' |
        sed "s/$(printf '\033')\[[0-9]*m//g" >out
    has note terminal '60 columns, colours, drawings in ASCII: the locale C is not UTF-8'
    ok $? 'a terminal without UTF-8 is a note'
    LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm script -qec 'stty cols 120; bin/evenkeel doctor' /dev/null </dev/null 2>err |
        tr -d '\r' >out
    has ok terminal '120 columns, no colours, UTF-8'
    ok $? 'a terminal without colours'
else
    skip 'pages on a terminal' 'no script here, which makes a terminal (Debian package bsdutils)'
fi

bin/evenkeel doctor >out 2>err
code=$?
[ $code = 0 ] && has ok version "$(bin/evenkeel --version | sed 1q)" && has ok work 'a small job was predicted: [0-9.]+ ms a step'
ok $? 'what is needed is there: exit 0'
if command -v nproc >/dev/null; then
    grep -qE "cores +$(nproc) of [0-9]+ cores may be used" out
    ok $? 'cores are those of nproc'
else
    skip 'cores are those of nproc' 'no nproc here'
fi
if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
    taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" bin/evenkeel doctor >out 2>err
    has note cores '1 of [0-9]+ cores may be used.*: 1 thread$'
    ok $? 'one core of several is a note'
else
    skip 'one core of several is a note' 'no taskset or one core here'
fi
TMPDIR=$work/nothing bin/evenkeel doctor >out 2>err
[ $? = 1 ] && has problem temporary 'cannot be written into' && grep -q '^1 problem' out && grep -q 'set TMPDIR' out
ok $? 'a temporary folder that is not there: a problem, exit 1'
TMPDIR=$work/nothing bin/evenkeel doctor --format json >out 2>err
[ $? = 1 ] && grep -q '"counts": {"ok": [0-9]*, "note": [0-9]*, "problem": 1}' out &&
    grep -q '"id": "temporary", "level": "problem"' out
ok $? 'the same as JSON'
# OpenBLAS starts threads as the program begins, and waits for ever where they get no memory.
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -v 200000 && OPENBLAS_NUM_THREADS=1 timeout 30 bin/evenkeel doctor) >out 2>err
code=$?
if [ -s out ]; then
    [ $code = 1 ] && has problem memory 'allowed by ulimit -v'
    ok $? 'memory below 256 MB: a problem, exit 1'
else
    skip 'memory below 256 MB: a problem, exit 1' 'the program does not start in 200 MB here (sanitizers)'
fi

# Programs are looked for in PATH: none, then some that print versions, then one that waits for ever.
PATH=$work/none bin/evenkeel doctor >out 2>err
code=$?
[ $code = 0 ] && has note mpi 'no launcher' && has note browser 'no browser'
ok $? 'no programs: notes, exit 0'
mkdir tools
printf '#!/bin/sh\necho "launcher 1.2"\n' >tools/mpirun
printf '#!/bin/sh\n' >tools/evenkeel-mpi
printf '#!/bin/sh\n' >tools/firefox
chmod +x tools/*
PATH=$work/tools:$PATH DISPLAY=:0 bin/evenkeel doctor >out 2>err
has ok mpi "started by $work/tools/mpirun: launcher 1.2" && grep -qE '^ok +browser' out
ok $? 'programs with their version'
printf '#!/bin/sh\nexec sleep 60\n' >tools/mpirun
began=$(date +%s)
PATH=$work/tools:$PATH bin/evenkeel doctor >out 2>err
code=$?
[ $code = 0 ] && [ $(($(date +%s) - began)) -le 6 ] && has ok mpi "started by $work/tools/mpirun"
ok $? 'a launcher that does not answer costs 2 s'

mkdir -p prefix/bin prefix/share/man/man1 prefix/share/bash-completion/completions
cp "$evenkeel" prefix/bin/evenkeel
: >prefix/share/man/man1/evenkeel.1
: >prefix/share/bash-completion/completions/evenkeel
prefix/bin/evenkeel doctor >out 2>err
if [ -s out ]; then
    has ok man "prefix/share/man/man1/evenkeel.1" && has ok completion 'installed for .*bash'
    ok $? 'pages and completion below the prefix of the program'
else
    skip 'pages and completion below the prefix of the program' 'the program does not run elsewhere'
fi
bin/evenkeel doctor train.yaml >out 2>err
[ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'evenkeel lint train.yaml' err
ok $? 'a file is refused in one sentence'
echo "1..$number"
[ $failed = 0 ]
