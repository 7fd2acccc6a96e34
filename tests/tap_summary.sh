#!/bin/sh
# Checks how tap.sh and tap_summary.awk, the summary of `./run test`, treat skipped cases. Prints TAP.
#
#   tests/tap_summary.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
number=0
failed=0

same() { # CLAIM FILE EXPECTED-FILE
    number=$((number + 1))
    if diff "$3" "$2" >"$work/diff"; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        sed 's/^/# /' "$work/diff"
    fi
}

# A test's part of Meson's log.
logged() { # NAME RESULT, TAP on standard input
    echo "=================================== 1/4 ==================================="
    printf 'test:         %s\nstart time:   00:00:00\nduration:     0.01s\nresult:       %s\n' "evenkeel:unit / $1" "$2"
    echo "----------------------------------- stdout -----------------------------------"
    cat
    echo "=============================================================================="
}

echo 1..5
# As cmocka 1.1 prints them: the reason, then a line that a reader of TAP counts as a failure.
cat >"$work/cmocka" <<'TEXT'
1..5
ok 1 - one
# skipped: no file here
not ok 2 # SKIP two
# a remark
not ok 3 # SKIP three
not ok 4 - four
# skipped: no file here
not ok 5 # SKIP five
TEXT
cat >"$work/want" <<'TEXT'
1..5
ok 1 - one
ok 2 - two # SKIP no file here
# a remark
ok 3 - three # SKIP
not ok 4 - four
ok 5 - five # SKIP no file here
TEXT
sh "$here/tap.sh" cat "$work/cmocka" >"$work/tap"
same 'a reason is joined to its case alone' "$work/tap" "$work/want"
sh "$here/tap.sh" sh -c 'exit 3'
echo $? >"$work/status"
echo 3 >"$work/want"
same "a test's exit status is passed on" "$work/status" "$work/want"

{
    grep -v four "$work/tap" | sed 's/1\.\.5/1..4/' | logged unlike 'exit status 0'
    printf '1..2\nok 1 - a # SKIP no file here\nok 2 - b # skip no shell\n' | logged other 'exit status 0'
    echo '1..0 # SKIP no node here' | logged whole 'exit status 0'
} >"$work/log"
cat >"$work/want" <<'TEXT'
SKIPPED 3: no file here: unlike: two, five; other: a
SKIPPED 1: no reason given: unlike: three
SKIPPED 1: no shell: other: b
SKIPPED 1: no node here: whole
1 passed, 0 failed, 6 skipped
TEXT
awk -f "$here/tap_summary.awk" "$work/log" >"$work/summary"
same 'reasons are counted with the cases of each test' "$work/summary" "$work/want"

i=0
{
    echo 1..41
    echo 'ok 41 - passes'
    while [ $((i += 1)) -le 40 ]; do echo "ok $i - case_$i # SKIP no file here"; done
} | logged many 'exit status 0' >"$work/log"
awk -f "$here/tap_summary.awk" "$work/log" | awk '{ print NR, (length($0) <= 160), $1, $2, $NF ~ /\.\.\.$/ }' >"$work/summary"
printf '1 1 SKIPPED 40: 1\n2 1 1 passed, 0\n' >"$work/want"
same 'a long list is cut to one line, its count is not' "$work/summary" "$work/want"

printf '1..1\nnot ok 1 - a\n' | logged bad 'exit status 1' >"$work/log"
awk -f "$here/tap_summary.awk" "$work/log" >"$work/summary"
echo $? >>"$work/summary"
printf '%s\n' '---- bad (exit status 1)' 1..1 'not ok 1 - a' 'FAILED bad: a' '0 passed, 1 failed' 1 >"$work/want"
same 'a failure is shown, named and counted' "$work/summary" "$work/want"
[ $failed = 0 ]
