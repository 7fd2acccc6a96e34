#!/bin/sh
# Checks the output of `lint`, `ir` and `diagnose --format sarif` against the schema of SARIF 2.1.0 from an npm package.
#
#   tests/sarif/sarif.sh EVENKEEL FOLDER
#
# The packages are installed below FOLDER, with the versions and checksums of package-lock.json. Prints TAP; without
# node, npm or the registry all tests are skipped.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
why=
# shellcheck disable=SC1091 # checked by itself
. "$here/../npm_packages.sh"
[ $# = 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
evenkeel=$(readlink -f "$1")
[ -x "$evenkeel" ] || { echo "Bail out! $evenkeel is not there"; exit 2; }
packages=$2

skip() { echo "1..0 # SKIP $*"; exit 0; }

command -v node >/dev/null || skip 'node is not installed'
mkdir -p "$packages" || exit 2
packages=$(cd "$packages" && pwd)
npm_packages "$here" "$packages" ajv || skip "$why"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2

# --- linted files ---

mkdir 'a folder'
cat >clean.py <<'TEXT'
import mindspore as ms
ms.set_context(mode=1)
TEXT
cat >train.py <<'TEXT'
import gc, os
import mindspore as ms
os.environ["MS_ALLOC_CONF"] = "enable_vm:True"
name = "训练"; ms.set_context(deterministic='ON')
for data in dataset:
    loss = train_step(data)
    print("损失", loss)
    gc.collect()  # evenkeel: off gc-every-step
TEXT
cat >'a folder/größe & "more".sh' <<'TEXT'
#!/bin/bash
export MS_ALLOC_CONF="enable_vmm:True"
export MS_ALLOC_CONF="memory_tracker:True"
export MS_SIMULATION_LEVEL=1
msrun --worker_num=8 train.py
TEXT

n=0
bad=0
report() { # CLAIM GOOD MORE
    n=$((n + 1))
    if [ "$2" = yes ]; then
        echo "ok $n - $1"
    else
        bad=1
        echo "not ok $n - $1"
        echo "# $3"
    fi
}

says() { printf '%s\n' "$1" | node "$here/validate.js" "$packages" 2>&1; }

holds() { # CLAIM COMMAND FILE...
    claim=$1 command=$2
    shift 2
    "$evenkeel" "$command" --format sarif "$@" >log.sarif 2>stderr
    code=$?
    answer=$(says log.sarif)
    if [ "$answer" = ok ] && [ $code -le 1 ]; then
        report "$claim" yes
    else
        report "$claim" no "exit $code, $answer"
    fi
}

refused() { # CLAIM SED-COMMAND
    sed "$2" log.sarif >changed.sarif
    answer=$(says changed.sarif)
    if [ "$answer" != ok ] && ! cmp -s log.sarif changed.sarif; then
        report "$1" yes
    else
        report "$1" no "$answer"
    fi
}

ln -s "$here/../../examples" "$here/../data" .
seq 200 | sed 's/^/line_/' >model.py
echo 1..14
holds 'a file without findings gives valid SARIF' lint clean.py
holds 'findings in a script whose name needs escapes give valid SARIF' lint 'a folder/größe & "more".sh'
holds 'findings, suppressed ones and columns behind letters of several bytes give valid SARIF' lint train.py
holds 'several files give valid SARIF' lint train.py clean.py 'a folder/größe & "more".sh'
holds 'files by paths from the root and with ./ in front give valid SARIF' lint "$work/train.py" './a folder/größe & "more".sh'
refused 'SARIF of another version is refused' 's/"version": *"2.1.0"/"version": "2.0.0"/'
refused 'a level that SARIF does not have is refused' 's/"level": *"warning"/"level": "fatal"/'
refused 'a line 0 is refused' 's/"startLine": *[0-9]*/"startLine": 0/'
refused 'a property that SARIF does not have is refused' 's/"runs":/"run":/'
holds 'findings in graphs, with the operators that show them, give valid SARIF' ir examples/silu_mul.ir examples/silu_mul_fixed.ir
refused 'a related place without the text of its message is refused' 's/"message": {"text": "the line of the program"}/"message": {}/g'
holds 'graphs of every check give valid SARIF' ir data/ir_check/*.ir
holds 'bottlenecks of a run, with evidence in files and of ranks, give valid SARIF' diagnose examples/run
refused 'a place by name whose name is a number is refused' 's/"logicalLocations": \[{"name": "[^"]*"/"logicalLocations": [{"name": 1/'
exit $bad
