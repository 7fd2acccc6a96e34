#!/bin/sh
# Checks rules of the sources: every header compiles by itself (the public ones as C++ too), evenkeel.h has them all,
# folders include only those that the table in docs/architecture.md allows, and each public function has a complete
# comment. Prints TAP.
#
#   tests/sources.sh
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 2
number=0
failed=0
check() { # NAME WRONG
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

# One compilation for all of them would hide a header's missing includes.
alone() { # COMPILER... -- HEADER...: those that do not compile
    compiler=
    while [ "$1" != -- ]; do
        compiler="$compiler $1"
        shift
    done
    shift
    for header; do
        # shellcheck disable=SC2086 # words
        printf '#include "%s"\n' "$header" | $compiler -Iinclude -Isrc -fsyntax-only - 2>&1 | grep -m 3 error
    done
}
public=$(cd include && echo evenkeel/*.h)
# shellcheck disable=SC2046,SC2086 # no header has a space in its name
{
    check 'public headers compile alone' "$(alone ${CC:-cc} -std=c11 -pedantic -Wall -x c -- $public)"
    if command -v c++ >/dev/null; then
        check 'public headers compile alone as C++' "$(alone c++ -x c++ -- $public)"
    else
        number=$((number + 1))
        echo "ok $number - public headers compile alone as C++ # SKIP no c++ here"
    fi
    check 'headers of src compile alone' "$(cd src && alone ${CC:-cc} -std=c11 -D_GNU_SOURCE -I../include -I. -x c -- $(find . -name '*.h' | sed 's#^\./##' | sort))"
}
# One unit with all of them, in both orders: no name may have two meanings, and no header may depend on one before it.
together() { # COMPILER...: the errors when headers are included together
    # shellcheck disable=SC2086 # words
    for order in sort 'sort -r'; do
        { find src -name '*.h' | sed 's#^src/##'; printf '%s\n' $public; } | $order |
            sed 's/.*/#include "&"/' | "$@" -Iinclude -Isrc -fsyntax-only - 2>&1 | grep -m 3 error
    done
}
# shellcheck disable=SC2086 # words
check 'all headers go together' "$(together ${CC:-cc} -std=c11 -D_GNU_SOURCE -x c)"
if command -v c++ >/dev/null; then
    check 'all headers go together as C++17' "$(together c++ -std=c++17 -D_GNU_SOURCE -x c++)"
else
    number=$((number + 1))
    echo "ok $number - all headers go together as C++17 # SKIP no c++ here"
fi
check 'evenkeel.h includes every public header' "$(for header in $public; do
    [ "$header" = evenkeel/evenkeel.h ] || [ "$header" = evenkeel/decls.h ] || grep -q "\"$header\"" include/evenkeel/evenkeel.h || echo "$header"
done)"
check 'comments of public functions name errors, cost, threads and shapes' "$(tests/public_docs.sh include/evenkeel/*.h)"
check 'public headers include public ones only' \
    "$(grep -n '#include "' include/evenkeel/*.h | grep -v '#include "evenkeel/')"
check 'cli includes public headers and its own only' \
    "$(for file in cli/*.[ch]; do
        sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file" | while read -r header; do
            case $header in evenkeel/*) ;; *) [ -f "cli/$header" ] || echo "$file: $header" ;; esac
        done
    done)"

# FOLDER: "base report(report_internal.h)" as in the table.
allowed() {
    sed -n "s#^| \`src/$1/\` |.*| \\([^|]*\\) |\$#\\1#p" docs/architecture.md
}
check 'folders of src include what the table in docs/architecture.md allows' \
    "$(for folder in src/*/; do
        name=$(basename "$folder")
        list=$(allowed "$name")
        [ "$(printf '%s\n' "$list" | grep -c .)" = 1 ] || echo "src/$name has not exactly one line in the table"
        grep -rn '#include "' "$folder" --include='*.[ch]' | sed 's/^\([^:]*\):.*"\([^"]*\)".*/\1 \2/' | while read -r file header; do
            from=${header%%/*}
            case $from in evenkeel | "$name") continue ;; esac
            case ", $list," in
            *", $from,"*) ;;
            *", $from ("*"\`${header##*/}\`"*) ;;
            *) echo "$file: $header" ;;
            esac
        done
    done)"

# Layers priced from a job are for the balancer; simulating them would give a second figure of the job's step.
check 'steps of a job and a device are predicted in src/cost alone' \
    "$(for file in $(find src -name '*.c') cli/*.c; do
        case $file in src/cost/*) continue ;; esac
        grep -qE '\b(ek_cost_layer|ek_memory_to_layers|ek__layer_cost_of)\(' "$file" || continue
        grep -nE '\b(ek_simulate|ek__?order_step_time|ek_quick_[a-z_]*)\(' "$file" | sed "s#^#$file:#"
    done)"

# The library runs in processes that have set a locale: functions that depend on it are called through base/c_locale.h.
check 'src calls no function of libc that depends on the locale' \
    "$(grep -rnE '(^|[^_[:alnum:]])(alphasort[,)]|(strto(d|f|ld)|atof|v(s|sn|f)printf|strn?casecmp|strcoll|to(lower|upper)|is(alpha|alnum|space|upper|lower|print|punct|graph|cntrl))\([^)])' \
        src --include='*.[ch]' | grep -v '^src/base/c_locale\.')"
check 'src prints no real number with a function of libc' \
    "$(find src -name '*.[ch]' ! -name 'c_locale.*' -exec awk '
        FNR == 1 { call = "" }
        call == "" && /(^|[^_[:alnum:]])(snprintf|fprintf|printf)\(/ { call = $0; line = FNR }
        call != "" && FNR > line { call = call $0 }
        call != "" && /;/ {
            if (call ~ /%[-+ #0-9.*]*l?[fgeEG]/) print FILENAME ":" line
            call = ""
        }' {} +)"
# Rules for effects that a program using the library would notice: one function starts threads, since it knows their
# limit; one calls LAPACK, which prints when memory is out; and one kind of flag ends work.
check 'threads are started and counted, and LAPACK is called, in src/base alone' \
    "$(grep -rnE '\b(pthread_create|LAPACKE_[a-z_]+)\(|_SC_NPROCESSORS' src --include='*.c' | grep -v '^src/base/')"
check 'LAPACK gets its work space from the caller, so that it has nothing to print' \
    "$(grep -rnE '\bLAPACKE_[a-z_]+\(' src --include='*.c' | grep -vE 'LAPACKE_[a-z]+_work\(')"
check 'work is ended by an ek_interrupt alone' \
    "$(grep -nE '\*(interrupt|interrupted|stop)\b' include/evenkeel/*.h | grep -v 'ek_interrupt \*')"

# A long double has another precision on each processor; vector code has a variant without vectors, which tests compare
# it with.
check 'no number is a long double, and loops with vector code have a table of ways' \
    "$(grep -rnwE 'long double|strtold' src include cli --include='*.[ch]'
    grep -rlE '<([a-z0-9]+intrin|arm_neon)\.h>|__x86_64__|__aarch64__|target_clones' src include cli --include='*.[ch]' |
        grep -vx src/base/vectors.h | while read -r file; do
        grep -q EK__VECTORS_NONE "$file" || echo "$file has no way with EK__VECTORS_NONE"
    done)"

# Functions state their contracts and assert them: in these folders at least this often in a thousand lines.
asserting='balance simulate memory model index'
least_asserts=15
check "folders of src that assert their contracts do so $least_asserts times in 1000 lines" \
    "$(for folder in $asserting; do
        lines=$(cat src/"$folder"/*.[ch] | wc -l)
        asserts=$(cat src/"$folder"/*.[ch] | grep -cE '(^|[^_[:alnum:]])assert\(')
        [ $((1000 * asserts)) -ge $((least_asserts * lines)) ] ||
            echo "src/$folder has $asserts in $lines lines, $((1000 * asserts / (lines > 0 ? lines : 1))) in 1000"
    done)"
# Release builds omit this, other builds run with it.
check 'release builds are without assertions, others with them' \
    "$(grep -q "b_ndebug=if-release" meson.build || echo 'meson.build does not say b_ndebug=if-release')"
# A target without inputs replays nothing, one without a reader has no words and no coverage.
check 'every fuzz target has a source, a folder of inputs, and files of a reader that are there' \
    "$(sed -n "/^fuzz_targets/,/^]/s/^ *'\(.*\)',/\1/p" tests/fuzz/meson.build | while read -r name; do
        [ -f "tests/fuzz/fuzz_$name.c" ] || echo "tests/fuzz/fuzz_$name.c is missing"
        [ -n "$(ls "tests/fuzz/corpus/$name" 2>/dev/null)" ] || echo "tests/fuzz/corpus/$name has no file"
        files=$(sed -n "s/^$name: //p" tests/fuzz/readers)
        [ -n "$files" ] || echo "tests/fuzz/readers has no line for $name"
        for file in $files; do [ -f "$file" ] || echo "tests/fuzz/readers: $name: $file is not there"; done
    done)"

echo "1..$number"
[ $failed = 0 ]
