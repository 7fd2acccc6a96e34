#!/bin/sh
# Runs the commands of the documents, compares their output, and prints TAP.
#
#   tests/cli/docs.sh EVENKEEL FILE.md...
#
# In a document, an HTML comment before a fenced block gives its kind:
#   <!-- test -->         commands that must succeed;  <!-- test exit 1 -->  that must end so
#   <!-- output -->       lines that the commands before it print, in this order; '...' matches any
#   <!-- file NAME -->    the text of the file NAME
# The blocks of one document run one after the other in one folder, with `evenkeel` on the PATH and a link `examples`.
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -gt 1 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
evenkeel=$(readlink -f "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$evenkeel" "$work/bin/evenkeel"
PATH=$work/bin:$PATH LC_ALL=C TERM=dumb
export PATH LC_ALL TERM

number=0
failed=0
report() { # NAME PROBLEM: no problem is a pass
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        printf '%s\n' "$2" | head -n 40 | sed 's/^/# /'
    fi
}

for document; do
    case $document in /*) ;; *) document=$root/$document ;; esac
    [ -f "$document" ] || continue
    rm -rf "$work/dir" "$work/blocks"
    mkdir "$work/dir" "$work/blocks"
    ln -s "$root/examples" "$work/dir/"
    # One file per marked block, named by its line, beginning with its mark.
    awk -v dir="$work/blocks" '
        /^<!-- (test|output|file) ?.*-->$/ { mark = $0; next }
        /^```/ && out != "" { close(out); out = ""; next }
        /^```/ && mark != "" { out = sprintf("%s/%05d", dir, NR); print mark > out; mark = ""; next }
        out != "" { print > out }
    ' "$document"
    : >"$work/said"
    for block in "$work"/blocks/*; do
        [ -f "$block" ] || continue
        line=$(basename "$block" | sed 's/^0*//')
        mark=$(sed -n '1s/^<!-- \(.*\) -->$/\1/p' "$block")
        name="${document##*/}:$line"
        tail -n +2 "$block" >"$work/text"
        case $mark in
        file\ *) cp "$work/text" "$work/dir/${mark#file }" ;;
        test*)
            want=${mark#test}
            want=${want# exit }
            (cd "$work/dir" && exec sh -eu "$work/text") >"$work/said" 2>&1 </dev/null
            got=$?
            problem=
            [ "$got" = "${want:-0}" ] || problem="exit code $got, not ${want:-0}
$(cat "$work/said")"
            report "$name: $(grep -v '^#' "$work/text" | head -n 1)" "$problem"
            ;;
        output)
            problem=$(awk '
                BEGIN { i = n = 0 }
                { sub(/[ \t]+$/, "") }
                NR == FNR { if ($0 != "..." && $0 != "") want[n++] = $0; next }
                i < n && $0 == want[i] { i++ }
                END { if (i < n) print "does not print: " want[i] }
            ' "$work/text" "$work/said")
            [ -z "$problem" ] || problem="$problem
$(cat "$work/said")"
            report "$name: prints what is shown" "$problem"
            ;;
        esac
    done
done
echo "1..$number"
[ $failed = 0 ]
