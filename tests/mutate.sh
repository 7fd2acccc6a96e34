#!/bin/sh
# Mutation testing: changes one token of the sources at a time and reports the changes that no test notices.
#
#   tests/mutate.sh [OPTION...] [FOLDER|FILE...]
#
#   -n MUTANTS   how many to try, 200 without it
#   -s SEED      another seed draws other mutants, 1 without it
#   -j JOBS      how many at a time, 1 without it
#   -t SECONDS   leave out the tests that take longer than that, 20 without it (of the processor)
#   -c SECONDS   try no more tests for a mutant that has outlived tests of so many seconds, 60 without it; it survives
#   -d DIR       work there and keep it: builds, the lines that tests reach, and results; a temporary folder without it
#   --tests PATTERN  use only tests with this regular expression in their name, such as '^(view|cli:view)'
#   --list FILE  try those of a list (the survivors of an earlier run) instead of drawing them
#   FOLDER|FILE  where to draw from, such as src/report or cli/ask.c: all of src and cli without it
#
# Sources are copied and mutants are compiled from a pipe, so that a mutated file never exists. A mutant is drawn by
# line of code, takes one compilation and one link of the shared library, and runs only the tests that reach its line:
# single cases of the unit tests and the command line, and the documents' examples. Tests with the most expected kills
# per second run first, by their kills in the same folder. A test that takes a second more than in the slower build that
# counts lines has noticed it. Mutants that do not compile, or give the same object, do not count; nor do those that
# tests/mutants.txt explains to be equivalent. Leaks and races are found by the sanitizers. With -d a run that was
# stopped goes on, and one with a greater -n adds to it: a mutant is tried once, and again when its source has changed
# or a list names it. So after a list of survivors the same run gives the new share at once; with --tests only their
# kills are saved. Needs python3, GCC's -fsanitize-coverage=trace-pc, GNU ld, objdump and objcopy.
set -eu
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd)
usage() {
    sed -n '2,15s/^# \{0,1\}//p' "$0"
    exit 2
}
fail() {
    printf 'mutate: %s\n' "$*" >&2
    exit 2
}
number() { # OPTION VALUE LEAST
    case $2 in '' | *[!0-9]*) fail "$1 needs a whole number, not '$2'" ;; esac
    [ "$2" -ge "$3" ] || fail "$1 needs at least $3, not $2"
}

mutants=200 seed=1 jobs=1 seconds=20 most=60 work='' list='' tests=''
while [ $# -gt 0 ]; do
    case $1 in
    -n | -s | -j | -t | -c | -d | --tests | --list) [ $# -gt 1 ] || usage ;;
    esac
    case $1 in
    -n) mutants=$2; number -n "$2" 1; shift ;;
    -s) seed=$2; number -s "$2" 0; shift ;;
    -j) jobs=$2; number -j "$2" 1; shift ;;
    -t) seconds=$2; number -t "$2" 1; shift ;;
    -c) most=$2; number -c "$2" 1; shift ;;
    -d) work=$2; shift ;;
    --tests) tests=$2; shift ;;
    --list) list=$(readlink -f "$2"); [ -f "$list" ] || fail "no file $2"; shift ;;
    -*) usage ;;
    *) break ;;
    esac
    shift
done
for tool in python3 meson ninja objdump objcopy ar cmp; do
    command -v $tool >/dev/null || fail "needs $tool, which is not here"
done
for place; do
    [ -e "$root/$place" ] || fail "no folder or file $place; give one below src or cli, such as src/report"
done

if [ -n "$work" ]; then
    mkdir -p "$work"
    work=$(cd "$work" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
fi

rm -rf "$work"/job*
PYTHONDONTWRITEBYTECODE=1 python3 "$root/tests/mutate/copy_tree.py" "$root" "$work/tree"
if [ -z "${EK_SHARED:-}" ] && [ -d "$root/../shared" ]; then
    EK_SHARED=$(cd "$root/../shared" && pwd)
    export EK_SHARED
fi

logged() { # COMMAND...
    "$@" >"$work/build.log" 2>&1 </dev/null || {
        tail -n 20 "$work/build.log" >&2
        fail "failed: $*"
    }
}
CFLAGS='' CXXFLAGS='' LDFLAGS=''
export CFLAGS CXXFLAGS LDFLAGS
build() { # NAME MESON-OPTION...
    name=$1
    shift
    [ -f "$work/$name/build.ninja" ] ||
        logged meson setup "$work/$name" "$work/tree" --buildtype=plain -Db_ndebug=false -Dtests=true -Dwarning_level=0 "$@"
    # shellcheck disable=SC2046 # no target has a space in its name
    logged ninja -C "$work/$name" -j "$jobs" cli/evenkeel \
        $(ninja -C "$work/$name" -t targets all | sed -n 's/^\(tests\/test_[a-z0-9_]*\): .*/\1/p')
}
echo 'mutate: building' >&2
build plain -Ddefault_library=shared -Dc_args='-O1 -g0' -Dcpp_args='-O1 -g0'
helper() { # NAME COMPILER-OPTION...: of a source beside the scripts
    cmp -s "$work/tree/tests/mutate/${1%.*}.c" "$work/${1%.*}.c" || {
        helper=$1
        shift
        logged "${CC:-cc}" -O2 -fPIC "$@" -o "$work/$helper" "$work/tree/tests/mutate/${helper%.*}.c"
        cp "$work/tree/tests/mutate/${helper%.*}.c" "$work/${helper%.*}.c"
    }
}
helper reached.o -c
helper cases.so -shared

[ -z "$list" ] || list="--list=$list"
cd "$work/tree"
# In the background, since a shell acts on a signal only between commands.
PYTHONDONTWRITEBYTECODE=1 python3 tests/mutate/mutate.py --work "$work" -n "$mutants" -s "$seed" -j "$jobs" -t "$seconds" -c "$most" --tests="$tests" \
    ${list:+"$list"} -- "$@" &
child=$!
trap 'kill $child 2>/dev/null; wait $child || :; exit 130' INT TERM HUP
wait $child
