#!/bin/sh
# Runs the command-line cases and prints TAP.
#
#   tests/cli/run_cases.sh [--part K/N] [--plain PROGRAM] EVENKEEL [CASE...]
#
# --part K/N runs every Nth of the cases, from the Kth on: parts run side by side. --plain is the program without
# sanitizers, for cases that calculate for long. A program of another machine is started by the command in
# MESON_EXE_WRAPPER.
#
# A case is a folder cases/NAME. Its `cmd` is a shell script and its first line is a comment with the sentence that the
# case claims; it runs in an empty folder with `evenkeel` on the PATH and links `examples` and `data` (tests/data).
# Beside it, each optional:
#   status        the exit code, 0 without it
#   stdout        what is printed, to the letter (EK_UPDATE_GOLDEN=1 writes it anew); stderr likewise
#   stdout.grep   extended regular expressions: each must match a line, one after '! ' must match none; stderr.grep
#                 likewise
#   files         paths (with wildcards) that must be there afterwards, those after '! ' must not
#   plain         empty: the case calculates for long
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -gt 0 ] || { sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 2; }
# Below nohup signals are ignored, by programs that cases start as well, and a shell cannot undo that: env can.
if [ "${EK_SIGNALS:-}" != default ] && env --default-signal=HUP true 2>/dev/null; then
    EK_SIGNALS=default exec env --default-signal=HUP,INT,QUIT,PIPE,TERM sh "$0" "$@"
fi
unset EK_SIGNALS
part=1
parts=1
plain=
while :; do
    case $1 in
    --part) part=${2%/*} parts=${2#*/} ;;
    --plain) plain=$(readlink -f "$2") ;;
    *) break ;;
    esac
    shift 2
done
evenkeel=$(readlink -f "$1")
shift
[ -n "$plain" ] || plain=$evenkeel
for program in "$evenkeel" "$plain"; do
    [ -x "$program" ] || { echo "Bail out! $program is not there"; exit 2; }
done
[ $# -gt 0 ] || set -- "$here"/cases/*/
at=0
for case; do
    at=$((at + 1))
    [ $(((at - part) % parts)) != 0 ] || set -- "$@" "$case"
    shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/bin"
PATH=$work/bin:$PATH
LC_ALL=C
TERM=dumb
export PATH LC_ALL TERM
unset NO_COLOR COLUMNS 2>/dev/null

complain() { bad="$bad$*
"; }

# `evenkeel` on the PATH is $program.
start_by_name() {
    if [ -z "${MESON_EXE_WRAPPER:-}" ]; then
        ln -sf "$program" "$work/bin/evenkeel"
        return
    fi
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$MESON_EXE_WRAPPER" "$program" >"$work/bin/evenkeel"
    chmod +x "$work/bin/evenkeel"
}

# The expressions that must match, and those that must not, in the output that a case names.
check_grep() { # STREAM
    [ -f "$case/$1.grep" ] || return 0
    while IFS= read -r pattern || [ -n "$pattern" ]; do
        case $pattern in
        '') ;;
        '! '*) if grep -Eq -e "${pattern#! }" "$work/$1"; then complain "$1 has a line like: ${pattern#! }"; fi ;;
        *) grep -Eq -e "$pattern" "$work/$1" || complain "$1 has no line like: $pattern" ;;
        esac
    done <"$case/$1.grep"
}

check_exact() { # STREAM
    [ -f "$case/$1" ] || return 0
    cmp -s "$case/$1" "$work/$1" && return
    if [ "${EK_UPDATE_GOLDEN:-}" = 1 ]; then
        cp "$work/$1" "$case/$1"
    else
        complain "$1 differs:"
        complain "$(diff -u "$case/$1" "$work/$1" | tail -n +3 | head -n 40)"
    fi
}

check_files() {
    [ -f "$case/files" ] || return 0
    while IFS= read -r file || [ -n "$file" ]; do
        # shellcheck disable=SC2086 # wildcards
        case $file in
        '') ;;
        '! '*) ls -d "$work/dir"/${file#! } >/dev/null 2>&1 && complain "is there: ${file#! }" ;;
        *) ls -d "$work/dir"/$file >/dev/null 2>&1 || complain "is not there: $file" ;;
        esac
    done <"$case/files"
}

echo "1..$#"
number=0
failed=0
for case; do
    number=$((number + 1))
    case $case in /*) ;; *) case=$here/cases/$case ;; esac
    case=${case%/}
    bad=
    rm -rf "$work/dir"
    mkdir "$work/dir"
    ln -s "$root/examples" "$root/tests/data" "$work/dir/"
    if [ -f "$case/plain" ]; then program=$plain; else program=$evenkeel; fi
    start_by_name
    sentence=$(sed -n '1s/^# *//p' "$case/cmd" 2>/dev/null)
    [ -n "$sentence" ] || complain 'cmd does not begin with a sentence in a comment'
    want=$(cat "$case/status" 2>/dev/null || echo 0)
    (cd "$work/dir" && CASE=$case exec sh -u "$case/cmd") >"$work/stdout" 2>"$work/stderr" </dev/null
    got=$?
    [ "$got" = "$want" ] || complain "exit code $got, not $want"
    for stream in stdout stderr; do
        check_exact $stream
        check_grep $stream
    done
    check_files
    name="${case##*/}: $sentence"
    if [ -z "$bad" ]; then
        echo "ok $number - $name"
    else
        failed=$((failed + 1))
        echo "not ok $number - $name"
        printf '%s' "$bad" | sed 's/^/# /'
        for stream in stdout stderr; do
            head -n 15 "$work/$stream" | cut -c 1-200 | sed "s/^/#   $stream: /"
        done
    fi
done
[ $failed = 0 ]
