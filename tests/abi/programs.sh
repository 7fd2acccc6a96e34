#!/bin/sh
# Builds programs of examples/ outside of the tree, three in C and one in C++, with the shared and the static library:
# there are no warnings, and they print the same as the command. Prints TAP.
#
#   tests/abi/programs.sh SHARED STATIC EVENKEEL PC CXX CC...
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/../.." && pwd)
shared=$(readlink -f "$1") static=$(readlink -f "$2") evenkeel=$(readlink -f "$3") pc=$(readlink -f "$4") cxx=$5
shift 5
for program in pkg-config "$cxx" "$1"; do
    command -v "$program" >/dev/null || { echo "1..0 # SKIP no $program here"; exit 0; }
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir shared static
cp "$shared" shared/libevenkeel.so.0
ln -s libevenkeel.so.0 shared/libevenkeel.so
# The libraries that the static library needs, as pkg-config --static prints once it is installed.
needs=$(sed -n 's/^Requires.*: *//p' "$pc" | tr -d ',')
# shellcheck disable=SC2086 # words
needs="$(pkg-config --libs $needs) -lstdc++ -lm -pthread"
n=0
ok() { # CODE NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        head -n 20 log | sed 's/^/# /'
    fi
}
strict='-Wall -Wextra -pedantic -Werror'
train=$root/examples/llama175b_train.yaml
"$evenkeel" memory "$train" --format json >expected.json 2>/dev/null
"$evenkeel" memory "$train" --format csv >expected.csv 2>/dev/null
for kind in shared static; do
    if [ $kind = shared ]; then libraries="-Lshared -levenkeel"; else libraries="$static $needs"; fi
    for name in embed schedules library; do
        # shellcheck disable=SC2086 # words
        "$@" -std=c11 $strict "-I$root/include" "$root/examples/$name.c" -o "$kind/$name" $libraries >log 2>&1
        ok $? "$name.c compiles without a warning against the $kind library"
    done
    # shellcheck disable=SC2086 # words
    "$cxx" -std=c++11 $strict "-I$root/include" "$root/examples/memory.cpp" -o "$kind/memory" $libraries >log 2>&1
    ok $? "memory.cpp compiles without a warning against the $kind library"
    export LD_LIBRARY_PATH="$work/shared"
    # The command's has warnings at the end, which embed prints as they come.
    "$kind/embed" "$train" >said 2>log && sed '/"warnings"/,$d' expected.json >wanted && [ -s wanted ] &&
        sed '/"warnings"/,$d' said | cmp - wanted >>log 2>&1
    ok $? "embed prints the command's JSON ($kind)"
    "$kind/memory" "$train" 2>log | tail -n +2 >said && [ -s said ] && cmp said expected.csv >>log 2>&1
    ok $? "memory prints the command's table ($kind)"
    "$kind/schedules" 4 8 >said 2>log
    [ "$(sed -n 1p said)" = "$("$evenkeel" --version | sed 1q), headers $(sed -n 's/^#define EK_VERSION  *"\(.*\)"/\1/p' "$root/include/evenkeel/version.h")" ] &&
        grep -qx '1f1b: 64 blocks' said && grep -qx 'zb-h1: 96 blocks' said
    ok $? "schedules tells the version and 2 m and 3 m blocks a stage ($kind)"
    if [ $kind = shared ]; then used=$(ldd "$kind/embed" 2>/dev/null | grep -c 'libevenkeel\.so\.0'); else
        used=$(ldd "$kind/embed" 2>/dev/null | grep -c libevenkeel); fi
    [ "$used" = "$([ $kind = shared ] && echo 1 || echo 0)" ]
    ok $? "it runs with the $kind library"
done
echo "1..$n"
