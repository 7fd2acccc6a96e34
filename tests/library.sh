#!/bin/sh
# Uses the installed library like another project: installs the build into a separate folder, compiles
# examples/library.c with the options of pkg-config, runs it, and compares its output with the command's. Prints TAP.
#
#   tests/library.sh BUILD EVENKEEL SANITIZERS COMPILER...
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 4 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 evenkeel=$(readlink -f "$2") sanitizers=$3
shift 3
for program in meson pkg-config; do
    command -v $program >/dev/null || { echo "1..0 # SKIP no $program here"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
ln -s "$root/examples" examples
number=0
failed=0
check() { # NAME: passes where $work/problem is empty
    number=$((number + 1))
    if [ -s problem ]; then
        failed=$((failed + 1))
        echo "not ok $number - $1"
        head -n 40 problem | sed 's/^/# /'
    else
        echo "ok $number - $1"
    fi
    : >problem
}

meson install -C "$build" --no-rebuild --quiet --destdir "$work/installed" >log 2>&1 || cp log problem
pc=$(find installed -name evenkeel.pc)
[ -n "$pc" ] || echo "evenkeel.pc is not installed" >>problem
check 'the library installs with its headers and evenkeel.pc'
# Every schema of the sources, in the folder that docs/interfaces.md names.
(cd "$root/data/schemas" && ls) >schemas
(cd "$(dirname "$(find installed -name balance.json -path '*/share/evenkeel/schemas/*')")" && ls) >installed_schemas 2>problem
cmp schemas installed_schemas >>problem 2>&1
check 'JSON Schemas are installed'

# The prefix of the file is that of the system; here it is below this folder.
prefix=$work/installed$(sed -n 's/^prefix=//p' "$pc" /dev/null)
flags() { # OPTION
    PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$prefix" "$1" evenkeel
}
sanitize=
[ "$sanitizers" = none ] || sanitize="-fsanitize=$sanitizers"
# shellcheck disable=SC2046,SC2086 # words
"$@" -std=c11 -Wall -Werror $sanitize $(flags --cflags) examples/library.c -o library $(flags --libs) >log 2>&1 ||
    cp log problem
check 'the example compiles without a warning against the installed headers alone'

libraries=$(dirname "$(dirname "$pc")")
LD_LIBRARY_PATH=$work/$libraries ./library examples/moe_mtp_layers.json examples/run page.html >said 2>log ||
    cat log >problem
check 'the example runs'

number_of() { # JSON KEY: its numbers, as the example prints them
    grep -o "\"$2\": [0-9.e+]*" "$1" | sed 's/.*: //' | while read -r value; do printf '%.6g\n' "$value"; done
}
model="examples/moe_mtp_layers.json -s 4 -mb 8"
# shellcheck disable=SC2086 # words
"$evenkeel" balance $model -mem 56000 --schedule 1f1b,zb-h1 --format json >ranking.json 2>log || cat log >problem
best=$(sed -n 's/.*"ranking": \[{"schedule": "\([^"]*\)".*/\1/p' ranking.json)
# shellcheck disable=SC2086 # words
"$evenkeel" balance $model --schedule "$best" --sweep mem=56000,60000,64000 --format json >sweep.json 2>>log ||
    cat log >problem
grep '"ranking":' ranking.json >rows.json
{
    sed 's/{/\n/g' rows.json | sed -n 's/^"schedule": "\([^"]*\)".*"step_time": \([0-9.e+]*\).*/\1 \2/p' |
        while read -r name step; do printf '%s: step %.6g\n' "$name" "$step"; done
} >expected
head -n 2 said | diff expected - >problem
[ "$(wc -l <expected)" -eq 2 ] || echo 'the command ranked other than two schedules' >>problem
check 'its ranking is that of the command'

printf '56000 MB\n60000 MB\n64000 MB\n' >limits
number_of sweep.json step_time | sed 's/^/: step /' | paste -d '' limits - >expected
sed -n 3,5p said | diff expected - >problem
[ "$(wc -l <expected)" -eq 3 ] || echo 'the command swept other than three limits' >>problem
check 'its sweep is that of the command'

printf 'settings: examples/run/train.yaml\ntrace: examples/run\n' >expected
sed -n '6,$p' said | diff expected - >problem
check 'it lists the files of the run'

head -c 15 page.html | grep -q '<!doctype html>' || echo 'page.html is no page' >problem
grep -q '<title>Evenkeel' page.html || echo 'page.html has no title of Evenkeel' >>problem
"$evenkeel" view examples/run --out command.html -q >/dev/null 2>log || cat log >>problem
cmp page.html command.html >>problem 2>&1
check 'its page is that of the command'

sed -n '/^\$ \.\/library /,/^```/p' "$root/docs/library.md" | sed '1d;$d' | diff said - >problem
check 'docs/library.md shows what it prints'

echo "1..$number"
[ $failed = 0 ]
