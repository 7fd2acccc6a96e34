#!/bin/sh
# Writes the manual pages of the commands, docs/man/evenkeel-COMMAND.1, and the options of docs/ from the commands' own
# tables and help (man_page.awk). In a document the text between a line `<!-- options: COMMAND: GROUP; GROUP -->` and a
# line `<!-- options end -->` is written. GROUP is the heading of a group in --help, or how it begins; without groups
# all options of the command.
#
#   tests/cli/write_option_docs.sh EVENKEEL           rewrites the files
#   tests/cli/write_option_docs.sh EVENKEEL --check   prints "FILE: LINE" for each line that would change
set -eu
unset CDPATH
# In Turkish an I is no i, and lists are sorted by the locale.
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(readlink -f "$1")
work=$(mktemp)
trap 'rm -f "$work"' EXIT
export program

replace() { # FILE, relative: replaced by the file in $work
    if [ "${check:-}" = --check ]; then
        [ -f "$root/$1" ] || echo "$1: not there"
        [ ! -f "$root/$1" ] || diff "$root/$1" "$work" | sed -n "s|^[<>] |$1: |p"
    elif ! cmp -s "$work" "$root/$1"; then
        cat "$work" >"$root/$1"
        echo "$1"
    fi
}
check=${2:-}

for file in "$root"/docs/*.md; do
    grep -q '^<!-- options: ' "$file" || continue
    awk -f "$root/tests/cli/option_words.awk" -f "$root/tests/cli/option_docs.awk" "$file" >"$work"
    replace "docs/${file##*/}"
done

# Commands, and those that a command's usage refers to.
commands=$("$program" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ -n "$commands" ] || { echo 'evenkeel --help names no command' >&2; exit 2; }
commands=$(for command in $commands; do
    echo "$command"
    "$program" "$command" --help | sed -n "s/^ *evenkeel \($command [a-z]*\) .*(--help for details)/\1/p"
done | sort)
date=$(grep '^\.Dd ' "$root/docs/evenkeel.1")
export commands date
mkdir -p "$root/docs/man"
printf '%s\n' "$commands" | while read -r command; do
    export command
    awk -f "$root/tests/cli/option_words.awk" -f "$root/tests/cli/man_page.awk" >"$work"
    replace "docs/man/evenkeel-$(echo "$command" | tr ' ' -).1"
done
for file in "$root"/docs/man/*.1; do
    page=$(basename "$file" .1)
    printf '%s\n' "$commands" | tr ' ' - | grep -qxe "${page#evenkeel-}" || echo "docs/man/$page.1: no command has this page"
done
