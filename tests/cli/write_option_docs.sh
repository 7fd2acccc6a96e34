#!/bin/sh
# Writes the options of the man page and of docs/ from the commands' own tables: all between a line
# `<!-- options: COMMAND: GROUP; GROUP -->` (in the man page `.\" options: ...`) and a line `options end`. GROUP is the
# heading of a group in --help, or how it begins; without groups all options of the command.
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

for file in "$root"/docs/evenkeel.1 "$root"/docs/*.md; do
    grep -Eq '^(<!--|\.\\") options: ' "$file" || continue
    awk -f "$root/tests/cli/option_docs.awk" "$file" >"$work"
    cmp -s "$work" "$file" && continue
    if [ "${2:-}" = --check ]; then
        diff "$file" "$work" | sed -n "s|^[<>] |docs/${file##*/}: |p"
    else
        cat "$work" >"$file"
        echo "docs/${file##*/}"
    fi
done
