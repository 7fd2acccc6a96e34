#!/bin/sh
# Checks docs/files.md, the index of the source files, which is made from the first sentence of each one's opening
# comment. Prints TAP; with EK_UPDATE_GOLDEN=1 it rewrites the page first.
#
#   tests/file_index.sh
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 2

# FILE: "first sentence", without the name that headers begin with.
opening() {
    awk -v file="$1" '
        NR == 1 && !/^\/\*/ { exit }
        { line = $0; end = line ~ /\*\//; sub(/ *\*\/.*/, "", line); sub(/^\/\*+ */, "", line); sub(/^ *\* ?/, "", line)
          if (line == "") exit
          text = text (text == "" ? "" : " ") line
          if (end) exit }
        END {
            if (match(text, /^[a-z0-9_\/]+\.h - /)) text = substr(text, RLENGTH + 1)
            # Up to the first full stop that ends a sentence: a capital or nothing follows it.
            rest = text; out = ""
            while (match(rest, /\. +/)) {
                head = substr(rest, 1, RSTART - 1); next_ = substr(rest, RSTART + RLENGTH)
                out = out (out == "" ? "" : ". ") head; rest = next_
                if (next_ ~ /^[A-Z`(]/) { rest = ""; break }
            }
            if (rest != "") out = out (out == "" ? "" : ". ") rest
            sub(/\.$/, "", out)
            gsub(/\|/, "\\|", out)
            print out
        }' "$1"
}

# shellcheck disable=SC2016 # back quotes of Markdown
page() {
    echo '# The source files'
    echo
    echo 'Made from the first sentence of each file by `tests/file_index.sh`; [architecture.md](architecture.md) has the whole.'
    find include src cli -name '*.[ch]' -o -name '*.cpp' | sed 's#/[^/]*$##' | LC_ALL=C sort -u | while read -r folder; do
        printf '\n## %s\n\n| file | what is in it |\n|---|---|\n' "$folder"
        for file in "$folder"/*.c "$folder"/*.h "$folder"/*.cpp; do
            [ -f "$file" ] || continue
            # A header with a source of the same name has the same sentence.
            case $file in *.h) if [ -f "${file%.h}.c" ] || [ -f "${file%.h}.cpp" ]; then continue; fi ;; esac
            printf '| `%s` | %s |\n' "${file##*/}" "$(opening "$file")"
        done
    done
}

made=$(mktemp)
trap 'rm -f "$made"' EXIT
page >"$made"
[ "${EK_UPDATE_GOLDEN:-}" != 1 ] || cp "$made" docs/files.md
wrong=$(diff docs/files.md "$made" | head -20)
none=$(grep ' |  |$' "$made" | head -20)
for name in 'docs/files.md is what the files say (EK_UPDATE_GOLDEN=1 tests/file_index.sh writes it)' 'every file opens with a sentence'; do
    number=$((${number:-0} + 1))
    if [ -z "$wrong" ]; then
        echo "ok $number - $name"
    else
        failed=1
        echo "not ok $number - $name"
        printf '%s\n' "$wrong" | sed 's/^/# /'
    fi
    wrong=$none
done
echo "1..$number"
[ -z "${failed:-}" ]
