#!/bin/sh
# Tests a build without CBC, LAPACK, libmicrohttpd and the viewer's page: commands that need them fail with one sentence
# and write nothing, and the others answer like the full build. Prints TAP.
#
#   tests/absent.sh EVENKEEL-WITHOUT EVENKEEL
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd)
without=$(readlink -f "$1") whole=$(readlink -f "$2")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
ln -s "$root/examples" examples
n=0
ok() { # CODE NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        head -n 20 out err 2>/dev/null | sed 's/^/# /'
    fi
}
refused() { # NAME TEXT COMMAND...: one line that has the text and how to build with it, and nothing written
    name=$1 text=$2
    shift 2
    ls -A >before
    : >out
    "$without" "$@" >out 2>err
    [ $? = 2 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$text" err && grep -q -e '-D[a-z]*=enabled' err &&
        [ "$(ls -A)" = "$(cat before)" ]
    ok $? "$name"
}
both() { # NAME COMMAND...: the same output from both except for the time it took
    name=$1
    shift
    "$without" "$@" >out 2>err && "$whole" "$@" >expected 2>>err &&
        sed 's/"[a-z_]*seconds": [0-9.e+-]*//; s/[0-9.]* s$//' out >out1 &&
        sed 's/"[a-z_]*seconds": [0-9.e+-]*//; s/[0-9.]* s$//' expected >out2 && [ -s out1 ] && cmp out1 out2 >>err
    ok $? "$name"
}
: >out
: >err
ls -A >before

"$without" --version >out 2>err
"$whole" --version >expected
missing=$(grep -c 'this build has no ' out)
[ "$missing" = 5 ] && [ "$(wc -l <out)" = 7 ] && [ "$(sed 1q out)" = "$(sed 1q expected)" ] && [ "$(wc -l <expected)" = 2 ] &&
    [ "$(sed -n 2p out)" = 'without optional parts' ] && grep -q '^with .*LAPACK' expected
ok $? '--version names the parts that a build has, and what it is made without'

layers=examples/moe_mtp_layers.json
job=examples/llama2_13b_2_pp2.yaml
refused 'no CBC: the solver milp' 'no CBC' balance $layers -s 4 -mb 8 --solver milp
refused 'no LAPACK: a dry run is not taken apart' 'no LAPACK' balance --init examples/llama175b_init.yaml -m llama175b \
    -s 16 -i 3 -mb 16 -mem 56000
refused 'no LAPACK: a dry run is not planned' 'no LAPACK' guide --stages 8 --layers 40 --full
refused 'no LAPACK: no calibration' 'no LAPACK' calibrate examples/llama2_13b_runs.csv -o device.yaml
refused 'no LAPACK: no trials, before the search' 'no LAPACK' plan $job --devices 16 --device 910B --trials 3
refused 'no libmicrohttpd: no server, before an index is made' 'no libmicrohttpd' view --serve examples/trace
refused 'no page: view' "no viewer's page" view examples/trace
"$without" trace examples/trace --html page.html >out 2>err
[ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q "'page.html': this build has no viewer's page" err && [ ! -e page.html ]
ok $? 'no page: another command, whose text is there'

both 'memory is the same' memory $job --format json
both 'an estimate is the same' estimate $job --device 910B --format json
both 'a plan that the exact bound proves is the same' balance examples/moe_mtp_layers.json -s 4 -mb 8 --format json
both 'a trace is read the same' trace examples/trace --format json
cp -r examples/trace/. packed
find packed -name '*.json' -exec gzip -f {} +
both 'a compressed one, which zlib inflates, too' trace packed --format json

"$without" balance $layers -s 4 -i 2 -mb 8 -t 2 --format json >out 2>err && grep -q '"step_time"' out
ok $? 'a search without linear programs has an answer'
if grep -q '"proved_optimal": true' out; then [ ! -s err ]; else [ "$(grep -c 'no CLP and CBC' err)" = 1 ]; fi
ok $? 'and says that less is proved where it is'
"$without" plan $job --devices 16 --device 910B --fix vpp=1 -t 4 --format json >out 2>err && [ "$(grep -c 'no CLP and CBC' err)" = 1 ] &&
    "$whole" plan $job --devices 16 --device 910B --fix vpp=1 -t 4 --format json >expected 2>/dev/null
ok $? 'a plan is searched and says once that less is proved'
best() {
    sed -n '/"plans"/,$p' "$1" | grep -m1 -o '"step_time_s": [0-9.]*'
}
[ -n "$(best out)" ] && [ "$(best out)" = "$(best expected)" ]
ok $? "the best plan is the same: $(best out)"
echo "1..$n"
