#!/bin/sh
# Runs every command that `evenkeel FILE` prints as the next one, for files of every kind: each must exit as the JSON of
# the overview promises, and no command may be misspelt. Prints TAP.
#
#   tests/cli/next.sh EVENKEEL
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/../.." && pwd)
evenkeel=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/bin" "$work/dir"
# A search ends after a second: what it prints does not matter here, how it exits does.
cat >"$work/bin/evenkeel" <<END
#!/bin/sh
case \$1 in
plan) exec "$evenkeel" "\$@" -t 1 ;;
balance) exec "$evenkeel" "\$@" -t 1 ;;
*) case " \$* " in *' --devices '*) exec "$evenkeel" "\$@" -t 1 ;; esac ;;
esac
exec "$evenkeel" "\$@"
END
chmod +x "$work/bin/evenkeel"
PATH=$work/bin:$PATH LC_ALL=C TERM=dumb
export PATH LC_ALL TERM
cd "$work/dir" || exit 2
ln -s "$root/examples" examples
ln -s "$root/tests/data" data
mkdir "it's here"
cp "$root/tests/data/job/llama.yaml" "it's here/a \$file.yaml"
printf 'import torch\nloader = torch.utils.data.DataLoader(data, num_workers=0)\n' >train.py
cp -r "$root/examples/run" run
cp "$root/tests/data/job/llama.yaml" ./-dash.yaml
mkdir logs
for step in 1 2 3 4 5 6; do
    echo " - INFO - { Epoch:[  1/  2], step:[    $step/ 6500], loss: 10.6, per_step_time: 88${step}0ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0, global_norm: [50.88], train_throughput_per_npu: 152.7T"
    echo ' - INFO -    0.0% |          | 0.45402 samples/s/p  4:09:25 }'
done >logs/worker_0.log
cp "$root/tests/data/job/llama.yaml" logs/train.yaml

number=0
failed=0
report() { # NAME PROBLEM: no problem is a pass
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        printf '%s\n' "$2" | head -n 20 | sed 's/^/# /'
    fi
}

# COMMAND EXIT: run it, and say what is wrong
try() {
    sh -c "$1" >out 2>err </dev/null
    code=$?
    case $2 in
    null) [ $code = 0 ] || [ $code = 1 ] || { echo "exit $code, not 0 or 1"; cat err; } ;;
    *) [ $code = "$2" ] || { echo "exit $code, not $2"; cat err; } ;;
    esac
}

# ARGUMENTS...: of evenkeel
follow() {
    shown=$*
    "$evenkeel" "$@" -q --format json >overview.json 2>err
    code=$?
    [ $code -le 1 ] || { report "$shown" "exit $code: $(cat err)"; return; }
    sed -n 's/^ *{"command": "\(.*\)", "why": .*"exit_status": \([0-9a-z]*\), "fill_in": false}.*/\2 \1/p' \
        overview.json | sed 's/\\\\/\\/g; s/\\"/"/g' >list
    grep -c '"fill_in"' overview.json >n
    [ "$(cat n)" -gt 0 ] || report "$shown" 'no command follows'
    while read -r promised command; do
        case $command in nsys*) continue ;; esac
        report "$command" "$(try "$command" "$promised")"
    done <list
}

follow data/job/llama.yaml
follow data/job/llama.yaml --device 910B --mem 1000
follow data/job/moe.args --device H100
follow data/job/torchtitan_70b.toml --seq-length 4096
follow data/job/mindspeed.yaml
follow data/job/qwen25_7b.sh
follow "it's here/a \$file.yaml"
follow ./-dash.yaml
follow examples/llama175b_train.yaml --mem 50GB
follow data/job/qwen2.json
follow data/job/qwen2.json --devices 8 --device H100 --global-batch 64 -t 1
follow data/job/qwen2.json --devices 1 --device A100-40 -t 1
follow data/job/llama.yaml --devices 4 -t 1
follow run
follow run/train.yaml run/profile
follow examples/trace
follow logs/worker_0.log
follow logs
follow logs --device 910B
follow examples
follow examples/dryrun16
follow examples/silu_mul.ir
follow data/job_forms/nemo.yaml
follow data/job_forms/llama_factory.yaml
follow data/job_forms/internevo.py
follow examples/llama175b_init.yaml
follow examples/llama2_13b_runs.csv
follow train.py
echo "1..$number"
[ $failed = 0 ]
