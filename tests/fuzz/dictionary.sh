#!/bin/sh
# Prints words for libFuzzer: texts of the reader of target $1, and of the headers that it includes from its own folder,
# as tests/fuzz/readers lists them. Made again each time, so that an added key is tried.
set -eu
cd "$(dirname "$0")/../.."
files=$(sed -n "s/^$1: //p" tests/fuzz/readers)
[ -n "$files" ] || {
    echo "dictionary.sh: tests/fuzz/readers has no line for '$1'" >&2
    exit 2
}
# Messages are left out: they have blanks or conversions. Escapes of two characters in C have another form there.
# shellcheck disable=SC2086 # names and patterns of files
grep -hv '^ *#include' $files | grep -oE '"([^"\\]|\\["\\ntr]|\\x[0-9a-f][0-9a-f])+"' | grep -v '%' |
    sed 's/\\n/\\x0a/g; s/\\t/\\x09/g; s/\\r/\\x0d/g' | awk 'length <= 42 && gsub(/ /, " ") <= 3' | LC_ALL=C sort -u
