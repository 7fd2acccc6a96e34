#!/bin/sh
# Reports the coverage of the fuzz targets' inputs: runs and runs/s of the last fuzzing, and the lines of each reader's
# own files (tests/fuzz/readers) that the inputs found so far execute, as Markdown. Arguments: targets, none: all.
# LINES=1 writes the unreached lines to build-fuzz-coverage/NAME.missed. Wants `./run fuzz` before; builds
# build-fuzz-coverage.
set -eu
cd "$(dirname "$0")/../.."
tree=build-fuzz-coverage
if [ ! -f $tree/build.ninja ]; then
    CC=${CC:-clang} CXX=${CXX:-clang++} meson setup $tree --buildtype=debugoptimized -Doptimization=0 -Dfuzz=true \
        -Db_lundef=false -Dc_args='-fprofile-instr-generate -fcoverage-mapping' \
        -Dcpp_args='-fprofile-instr-generate -fcoverage-mapping' -Dc_link_args=-fprofile-instr-generate \
        -Dcpp_link_args=-fprofile-instr-generate >/dev/null
fi
# shellcheck disable=SC2046 # names
[ $# -gt 0 ] || set -- $(sed -n 's/^\([a-z_]*\): .*/\1/p' tests/fuzz/readers)
targets=
for name; do targets="$targets tests/fuzz/fuzz_$name"; done
# shellcheck disable=SC2086
ninja -C $tree $targets >/dev/null
echo '| target | inputs | runs | runs/s | lines of the reader | reached | share |'
echo '|---|---:|---:|---:|---:|---:|---:|'
for name; do
    program=$tree/tests/fuzz/fuzz_$name
    folders=tests/fuzz/corpus/$name
    [ ! -d "build-fuzz/corpus/$name" ] || folders="$folders build-fuzz/corpus/$name"
    # shellcheck disable=SC2086
    LLVM_PROFILE_FILE=$tree/$name.profraw "$program" -runs=0 -max_len=65536 $folders >$tree/$name.log 2>&1
    llvm-profdata merge -o "$tree/$name.profdata" "$tree/$name.profraw"
    # shellcheck disable=SC2046 # names and patterns of files
    printf '%s\n' $(sed -n "s/^$name: //p" tests/fuzz/readers) >$tree/own
    set_of_lines=$(llvm-cov export -format=lcov -instr-profile="$tree/$name.profdata" "$program" |
        awk -F'[:,]' -v missed="${LINES:+$tree/$name.missed}" '
            NR == FNR { own[$0]; next }
            /^SF:/ { file = $2; sub(/.*\/\.\.\//, "", file) }
            /^DA:/ && file in own { all++; reached += $3 > 0; if ($3 == 0 && missed) print file ":" $2 > missed }
            END { printf "%d | %d | %.1f %%", all, reached, all ? 100 * reached / all : 0 }' "$tree/own" -)
    # shellcheck disable=SC2086
    inputs=$(find $folders -type f | wc -l)
    runs=$(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) second.*/\1 \2/p' "build-fuzz/$name.log" 2>/dev/null |
        awk '{ printf "%d | %d", $1, $1 / ($2 ? $2 : 1) }')
    echo "| $name | $inputs | ${runs:-- | -} | $set_of_lines |"
done
