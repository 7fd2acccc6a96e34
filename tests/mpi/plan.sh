#!/bin/sh
# Tests a search for layouts and both sweeps on 1, 2, 4 and 8 processes: they print the same as a program without MPI; a
# process that is stopped for a while only costs time; when one is killed, the launcher ends all, and no partial file is
# left. Prints TAP.
#
#   tests/mpi/plan.sh PLAIN PLAIN_MPI SANITIZED_MPI
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/launch.sh"
plain=$(readlink -f "$1")
mpi=$(readlink -f "$2")
sanitized=$(readlink -f "$3")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
# Without times.
untimed() { grep -vE '^  "(first_)?seconds"'; }

job="plan $root/examples/llama2_13b_2_pp2.yaml --device 910B --devices 16 --threads 1 -q --format json"
few="plan $root/tests/data/job/llama.yaml --device 910B --threads 1 -q --format json"
devices="plan $root/tests/data/job/llama.yaml --device 910B --range vpp=1:2 -q --sweep devices=8:32 --format json"
memory="balance $root/tests/data/small_init.yaml -s 4 -mb 8 -t 10 --sweep mem=400:1000:100 --format json"

# shellcheck disable=SC2086 # words
{
    "$plain" $job --top 10 --mem 58000MB 2>/dev/null | untimed >expected &
    "$plain" $job 2>/dev/null | untimed >job
    "$plain" $few 2>/dev/null | untimed >few
    "$plain" $devices >devices 2>/dev/null
    "$plain" $memory >memory 2>/dev/null
    wait
    for k in 1 2 4 8; do
        launch $k "$mpi" $job 2>/dev/null | untimed >job.$k
        same job job.$k "a search on $k processes finds and proves the same"
        launch $k "$mpi" $devices >devices.$k 2>/dev/null
        same devices devices.$k "so does a sweep over devices"
        launch $k "$mpi" $memory >memory.$k 2>/dev/null
        same memory memory.$k "and one of balance over memory"
    done
    launch 3 "$sanitized" $few 2>/dev/null | untimed >few.3
    same few few.3 "under sanitizers, too"
}

# A process that stops, and one that is killed while the launcher lets the others continue, for which Open MPI has an
# option.
recover=
mpirun --version 2>/dev/null | grep -q 'Open MPI' && recover=KILL
for signal in STOP $recover; do
    [ $signal = STOP ] || EK_MPIRUN='mpirun --enable-recovery'
    # shellcheck disable=SC2086 # words
    launch 3 "$mpi" $job --top 10 --mem 58000MB --patience 2 >stopped.all 2>said &
    launched=$!
    signal_process $signal 1 "^$mpi plan .*--mem 58000MB" 60
    wait $launched
    code=$?
    EK_MPIRUN=mpirun
    lost="process 1 on $(uname -n) has shown no sign of life for 2 s and is left out; others did its work"
    [ $code = 0 ] && grep -qF "$lost" stopped.all
    ok $? "a process that gets SIG$signal is named"
    untimed <stopped.all | grep -vF "$lost" | sed 's/",$/"/' >stopped
    sed 's/",$/"/' expected >expected.alike
    same expected.alike stopped "and costs time only"
done

# shellcheck disable=SC2086 # words
for moment in 0.5 1.3; do
    rm -rf out picture.svg
    launch 3 "$mpi" $job --mem 57000MB --svg picture.svg --write out >killed 2>said &
    launched=$!
    sleep $moment
    signal_process KILL 2 "^$mpi plan .*--mem 57000MB"
    wait $launched
    code=$?
    if [ $code -eq 0 ]; then # it was over before
        [ -s killed ] && [ -s picture.svg ]
    else
        [ ! -s killed ] && [ ! -e picture.svg ] && [ -s said ]
    fi
    ok $? "a process killed after $moment s leaves no half of an answer (exit code $code)"
done

launch 2 "$mpi" balance "$root/tests/data/small_init.yaml" -s 4 -mb 8 >alone 2>said
{ [ $? -eq 2 ] && [ ! -s alone ] && grep -q "give --sweep" said && [ "$(grep -c 'evenkeel: error' said)" -eq 1 ]; }
ok $? "one balance has nothing to share, which is said once"
# One or all processes cannot read a file: one sentence at once, whereas a silent process would be waited for 30 s.
cp "$root/tests/data/job/llama.yaml" job.yaml
cp "$root/tests/data/small_init.yaml" init.yaml
mkdir -p elsewhere
elsewhere() { # WHO N ARGUMENT...: started with process WHO in a folder without files
    elsewhere_who=$1 elsewhere_n=$2
    shift 2
    # shellcheck disable=SC2016 # of the other shell
    launch "$elsewhere_n" sh -c '[ "$OMPI_COMM_WORLD_RANK" != "$0" ] || cd elsewhere || exit 9; exec "$@"' \
        "$elsewhere_who" "$mpi" "$@" >nothing 2>said
}
told() { # CODE TEXT SENTENCE
    { [ "$1" -eq 2 ] && [ ! -s nothing ] && [ "$(grep -c 'error: ' said)" -eq 1 ] && grep -qE "$2" said &&
        [ $(($(date +%s) - began)) -lt 15 ]; }
    ok $? "$3"
}
host=$(uname -n)
for sweep in "" "--sweep devices=8:16"; do
    began=$(date +%s)
    # shellcheck disable=SC2086 # words
    elsewhere 2 3 plan job.yaml --device 910B --devices 16 $sweep
    told $? "error: process 2 on $host: job.yaml: .*No such file" "a file that one process cannot read is told of${sweep:+ in a sweep}"
done
began=$(date +%s)
elsewhere 1 3 balance init.yaml -s 4 -mb 8 --sweep mem=400:800:100
told $? "error: process 1 on $host: .*init.yaml.*No such file" "so it is in a sweep of balance"
began=$(date +%s)
elsewhere 0 3 plan job.yaml --device 910B --devices 16
told $? "^(job.yaml: |evenkeel: )error: .*No such file" "and where process 0 is the one"
began=$(date +%s)
elsewhere none 3 plan missing.yaml --device 910B --devices 16
told $? "^(missing.yaml: |evenkeel: )error: .*No such file" "what no process can read is told of once"
began=$(date +%s)
launch 2 "$mpi" plan - --device 910B --devices 16 <job.yaml >nothing 2>said
told $? "standard input goes to one process, and 2 were started" "a job on standard input is refused"
began=$(date +%s)
launch 2 "$mpi" balance --layers - --sweep mem=400:800:100 <init.yaml >nothing 2>said
told $? "standard input goes to one process, and 2 were started" "so is a model"
echo "1..$n"
