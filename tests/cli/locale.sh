#!/bin/sh
# Runs cases of the command with a program that has set a locale (embedded.h): figures, reading and errors are those of
# the C locale. Locales are compiled here: a decimal comma with one byte a letter, Turkish, where 'I' and 'i' are not
# one letter, in one byte and in UTF-8, and Chinese. Prints TAP.
#
#   tests/cli/locale.sh EVENKEEL_EMBEDDED [CASE...]
#
# Without cases those that read and write the most kinds of files; EK_ALL_CASES=1 takes all.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
evenkeel=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for locale in de_DE.ISO-8859-1 tr_TR.ISO-8859-9 tr_TR.UTF-8 zh_CN.UTF-8; do
    localedef -i "${locale%%.*}" -f "${locale#*.}" "$work/$locale" 2>"$work/log" ||
        { echo "1..0 # SKIP no locale $locale: $(tail -n 1 "$work/log") (Debian package locales)"; exit 0; }
done
export LOCPATH="$work"

# They reach most calls of base/c_locale.h that any case reaches, chosen by coverage and run time.
figures='calibrate-kernels calibrate-profile calibrate-profile-ascend collect-allow-missing collect-missing
    convert-apply convert-plan diagnose-page diagnose-tracker fail-on-metrics html-balance html-estimate html-sweep ir-damaged
    lint lint-sarif memory-layers metrics-log metrics-numbers one-step profiling-traces quick-pictures'
words='lint metrics-log trace-files'
# shellcheck disable=SC2086 # words
cases_of() { # LOCALE
    if [ "${EK_ALL_CASES:-}" = 1 ]; then
        ls "$here/cases"
    else
        case $1 in de_DE*) echo $figures ;; *) echo $words ;; esac
    fi
}
number=0
[ $# -eq 0 ] || figures=$* words=$*
for locale in de_DE.ISO-8859-1 tr_TR.ISO-8859-9 tr_TR.UTF-8 zh_CN.UTF-8; do
    # shellcheck disable=SC2046 # words
    EK_TEST_LOCALE=$locale "$here/run_cases.sh" "$evenkeel" $(cases_of $locale) >"$work/tap"
    awk -v start=$number -v locale=$locale '/^1\.\./ { next }
        /^(not )?ok / { sub(/ok [0-9]+ - /, "ok " (start + ++n) " - " locale ": ") } { print }' "$work/tap"
    number=$((number + $(grep -cE '^(not )?ok ' "$work/tap")))
done
echo "1..$number"
