#!/bin/sh
# Checks that programs built against an earlier version run with the current library: takes that version from the
# history, builds its library and its examples, and runs these with the current library; their output must be the same
# as with their own. Some minutes for the library. Prints TAP.
#
#   tests/abi/before.sh REVISION SHARED     SHARED: the current libevenkeel.so.0, of a release build
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# = 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
revision=$1 today=$(readlink -f "$2")
[ -f "$today" ] || { echo "before.sh: no library '$2'; build with ./run build" >&2; exit 2; }
git -C "$root" rev-parse -q --verify "$revision^{commit}" >/dev/null ||
    { echo "before.sh: no revision '$revision' in the history" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
n=0
ok() { # CODE NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        tail -n 20 log | sed 's/^/# /'
    fi
}
mkdir tree before now
git -C "$root" archive "$revision" | tar -x -C tree
target=
meson setup build tree --buildtype=release >log 2>&1 &&
    target=$(ninja -C build -t targets all | sed -n 's/^\(src\/libevenkeel\.so\.[0-9.]*\):.*/\1/p' | sed 1q) &&
    [ -n "$target" ] && ninja -C build "$target" >log 2>&1
built=$?
ok $built "the library of $revision builds"
[ $built = 0 ] || { echo "1..$n"; exit; }
cp "build/$target" before/libevenkeel.so.0 && ln -s libevenkeel.so.0 before/libevenkeel.so
cp "$today" now/libevenkeel.so.0
! cmp -s before/libevenkeel.so.0 now/libevenkeel.so.0
ok $? 'it is another one than that of today'
for name in embed schedules library; do
    cc -std=c11 -Itree/include "tree/examples/$name.c" -o "$name" -Lbefore -levenkeel >log 2>&1
    ok $? "$name.c is built against it"
done
c++ -std=c++11 -Itree/include tree/examples/memory.cpp -o memory -Lbefore -levenkeel >log 2>&1
ok $? 'memory.cpp is built against it'
same() { # NAME ARGUMENT...: the same from both
    name=$1
    shift
    LD_LIBRARY_PATH=before "./$name" "$@" >said.before 2>log && LD_LIBRARY_PATH=now "./$name" "$@" >said.now 2>log &&
        [ -s said.before ] && cmp said.before said.now >>log 2>&1
    ok $? "$name prints the same with the library of today"
}
same embed tree/examples/llama175b_train.yaml
same memory tree/examples/llama175b_train.yaml
same schedules 4 8
same library tree/examples/moe_mtp_layers.json tree/examples/run page.html
echo "1..$n"
