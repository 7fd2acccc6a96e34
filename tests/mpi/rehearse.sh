#!/bin/sh
# Tests rehearsals: plans that deadlock do so for real, steps take the predicted time, wrong orders and damaged messages
# are reported.
#
#   rehearse.sh PLAIN PLAIN_MPI SANITIZED_MPI        prints TAP
#   EK_FULL=1 rehearse.sh ...                        every schedule at 4, 8 and 16 stages
#
# Cores are shared with other programs: a step that took too long is tried again, with the same limit.
set -u
. "$(dirname "$0")/launch.sh"
plain=$(readlink -f "$1")
mpi=$(readlink -f "$2")
sanitized=$(readlink -f "$3")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ok() { # NAME: the result of the command before
    if [ $? = 0 ]; then say=ok; else say="not ok"; fi
    echo "$say - $1"
    [ "$say" = ok ] || sed 's/^/# /' err out 2>/dev/null | head -30
}
rehearse() { # N OPTION...: with both outputs in files
    rehearse_n=$1
    shift
    launch "$rehearse_n" "$mpi" rehearse "$@" >out 2>err
}
says() { # TEXT: is it in the messages?
    grep -qF -- "$1" err
}
figure() { # KEY: of the JSON answer
    sed -n "s/.*\"$1\": \([-0-9.e]*\),*\$/\1/p" out | head -1
}
# Is the step within so many percent? The median or, with others on the cores, the shortest.
is_near() {
    awk -v a="$(figure measured_s)" -v b="$(figure predicted_s)" -v c="$(figure best_s)" -v most="$1" \
        'function off(x) { return x > b ? x / b - 1 : 1 - x / b }
         BEGIN { exit !(a > 0 && b > 0 && (100 * off(a) <= most || 100 * off(c) <= most)) }'
}
try() { # TIMES PERCENT N OPTION...
    try_left=$1 try_most=$2
    shift 2
    while [ "$try_left" -gt 0 ]; do
        rehearse "$@" --format json && is_near "$try_most" && return 0
        try_left=$((try_left - 1))
    done
    return 1
}
times="--uniform forward=10,backward=20 --no-payload"
short="--uniform forward=1,backward=2 --no-payload --steps 1"

# Tests without time limits run in parallel, each in a separate folder: they mostly wait.
parts=
part() { # NAME: a function; its output is printed when all have ended
    mkdir "$1" && { (cd "$1" && "$1") >"$1.tap" || echo "not ok - the part $1 did not end" >>"$1.tap"; } &
    parts="$parts $1.tap"
}
numbered() { # the plan of TAP, too
    awk '/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - ") } { print; fflush() } END { print "1.." n + 0 }'
}

# ---- programs that may start it ----
starts() {
    "$plain" rehearse plan.yaml >out 2>err
    [ $? = 2 ] && says 'mpirun -n 16 evenkeel-mpi rehearse plan.yaml'
    ok "the program without MPI says what to type"
    "$plain" rehearse --help >help.plain && "$mpi" rehearse --help >help.mpi && cmp help.plain help.mpi
    ok "both programs have the same help"
    rehearse 1 $short --schedule 1f1b -s 4
    [ $? = 2 ] && says 'but only one runs'
    ok "one process alone is refused"
    rehearse 3 $short --schedule 1f1b -s 4
    [ $? = 2 ] && says '3 processes do not fit 4 stages: start 4'
    ok "processes that do not fit the stages are refused"
    rehearse 2 --schedule 1f1b -s 2 --uniform forward=1,backward=2
    [ $? = 2 ] && says 'give --payload 8MB, --no-payload'
    ok "the size of messages must be known"
    rehearse 2 $short --schedule 1f1b -s 4 --compute spin
    [ $? = 2 ] && says '--compute spin needs a process for each of 4 stages'
    ok "several stages of a process cannot spin at once"
    rehearse 2 $short --schedule 1f1b -s 2 --swap 2:0,1
    [ $? = 2 ] && says 'there is no stage 2: stages are 0 to 1'
    ok "a swap on no stage is refused"
    rehearse 2 --schedule 1f1b -s 2 --uniform forward=1,backward=2 --payload lots
    [ $? = 2 ] && says "--payload must be a size from 16 to"
    ok "a size that is none is refused"
    rehearse 2 missing.yaml --layers missing.json --no-payload
    [ $? = 2 ] && [ "$(grep -c 'evenkeel: error\|missing.json' err)" = 1 ]
    ok "a missing file is said once"
    sed 's/0\.1\.0/0.1.X/g' "$mpi" >other && chmod +x other
    "${EK_MPIRUN:-mpirun}" -n 1 "$mpi" rehearse $short --schedule 1f1b -s 2 : -n 1 ./other rehearse $short --schedule 1f1b -s 2 >out 2>err
    [ $? = 2 ] && says 'runs version 0.1.X and process 0'
    ok "different versions are told"
    rm -f other

    # ---- a plan of files: the simulated step is that of `simulate` ----
    cp "$root/tests/data/small_layers.json" . &&
        "$plain" balance --layers small_layers.json -s 2 -mb 4 --format yaml -mem 1e6 >plan.yaml 2>err &&
        "$plain" simulate plan.yaml --layers small_layers.json --format json >simulated 2>err &&
        rehearse 2 plan.yaml --layers small_layers.json --payload 64KB --scale 0.1 --format json --chrome-trace trace.json &&
        awk -v a="$(figure simulated_s)" -v b="$(sed -n 's/.*"step_time": \([0-9.e]*\).*/\1/p' simulated | head -1)" \
            'BEGIN { d = a * 1000 / 0.1 - b; exit !(b > 0 && d < 1e-6 * b && d > -1e-6 * b) }'
    ok "the simulated step of a plan is that of simulate"
    grep -q '"ph":"X"' trace.json && grep -q 'times measured by a rehearsal' trace.json && ! grep -q 'not measured' trace.json
    ok "the measured timeline is a trace"
}

# ---- deadlocks: exactly those of the analysis ----
schedules=$("$plain" simulate --list-schedules | awk 'NR > 1 { print $1 }')
both() { # STAGES: of every schedule, analysed in one run and then run
    for schedule in $schedules; do
        rehearse "$1" $short --schedule "$schedule" -s "$1" -mb $((2 * $1)) --format json || return 1
        grep -q '"nonblocking": {"completes": true' out || return 1
        expected=1
        grep -q '"rendezvous": {"completes": true' out && expected=0
        rehearse "$1" $short --schedule "$schedule" -s "$1" -mb $((2 * $1)) --send rendezvous --watchdog 0.4
        [ $? = "$expected" ] || return 1
        [ "$expected" = 0 ] && continue
        says 'this order deadlocks: nothing has moved for 0.4 s, since stage' && says 'waits' || return 1
    done
}
every=$schedules
[ -n "${EK_FULL:-}" ] || schedules="1f1b gpipe interleaved zb-h1 zb-v dualpipe"
deadlocks() {
    both 4
    ok "blocking sends deadlock exactly where the analysis says so"
}
waits() {
    rehearse 4 $short --schedule 1f1b -s 4 --send rendezvous --watchdog 0.4
    says 'since stage 2, after block 1, waits to send the activation of the forward of micro-batch 1, chunk 0, to stage 3 (' &&
        says 'stage 3, after block 1, waits to send the gradient of the backward of micro-batch 0, chunk 0, to stage 2 ('
    ok "the cycle of waits is named"
    rehearse 2 $short --schedule 1f1b -s 4 --send rendezvous --watchdog 0.4
    [ $? = 1 ] && says 'since stage 2, after block 1, waits to send'
    ok "so it is where a process has two stages"
    rehearse 4 $short --schedule 1f1b -s 4 --swap 3:0,1 --watchdog 0.4
    [ $? = 1 ] && says 'on stage 3, block 0 (the forward of micro-batch 0, chunk 0) and block 1 (the backward of micro-batch 0, chunk 0) are swapped' &&
        says 'stage 3, at block 0, waits to run the backward of micro-batch 0, chunk 0, for its own block 1, the forward of micro-batch 0'
    ok "a backward before its forward is named"
    rehearse 4 $short --schedule gpipe -s 4 --swap 1:0,1 --send rendezvous --watchdog 0.4
    [ $? = 1 ] && says 'stage 0, after block 0, waits to send the activation of the forward of micro-batch 0, chunk 0, to stage 1' &&
        says 'stage 1, at block 0, waits for the activation of the forward of micro-batch 1, chunk 0, from stage 0'
    ok "swapped receives are named"
    rehearse 4 $short --schedule 1f1b -s 4 --swap 0:0,1 --format json && grep -q '"swapped": "on stage 0, block 0' out
    ok "a swap that does no harm is named as well"
    rehearse 4 --schedule 1f1b -s 4 --uniform forward=1,backward=2 --payload 64KB --damage 1:2
    [ $? = 1 ] && says 'stage 2 received a wrong message from stage 1 for the forward of micro-batch 2, chunk 0 in step 0: byte 32768 of 65536'
    ok "one changed bit of a message is named"
}

# ---- processes that stop ----
stalled() { # SIGNAL
    launch 4 "$mpi" rehearse --schedule 1f1b -s 4 -mb 200 --uniform forward=5,backward=10 --no-payload --watchdog 0.5 \
        >out 2>err &
    stalled_job=$!
    sleep 1
    for stalled_one in $(pgrep -f "^$mpi rehearse --schedule 1f1b -s 4 -mb 200" 2>/dev/null); do
        grep -qz '^OMPI_COMM_WORLD_RANK=2$' "/proc/$stalled_one/environ" 2>/dev/null && kill "-$1" "$stalled_one"
    done
    wait $stalled_job
}
stops() {
    began=$(date +%s)
    stalled STOP
    [ $? != 0 ] && says 'process 2 (' && says 'with stage 2 has stopped: stage' && [ $(($(date +%s) - began)) -lt 30 ]
    ok "a process that stops is named"
    began=$(date +%s)
    stalled KILL
    [ $? != 0 ] && [ $(($(date +%s) - began)) -lt 30 ]
    ok "a process that is killed ends all"
}

# ---- times ----
percent=3
near() { # STAGES MICRO_BATCHES
    for schedule in $schedules; do
        try 8 $percent "$1" $times --schedule "$schedule" -s "$1" -mb "$2" || return 1
        [ -z "${EK_FULL:-}" ] || echo "# $1 stages, $schedule: measured $(figure measured_s), predicted $(figure predicted_s)"
    done
}
measured() {
    schedules=$every
    if [ -n "${EK_FULL:-}" ]; then
        for p in 4 8 16; do
            near $p $((2 * p))
            ok "every schedule takes what is predicted, $p stages"
        done
        both 8
        ok "deadlocks of 8 stages"
        both 16
        ok "deadlocks of 16 stages"
    else
        schedules="1f1b zb-v dualpipe"
        near 4 8
        ok "steps take what is predicted"
        schedules=1f1b
        near 16 16
        ok "those of 16 processes, too"
    fi
    try 8 3 4 --schedule gpipe -s 4 -mb 4 --uniform forward=20,backward=40 --payload 1MB --send rendezvous
    ok "so do those with blocking sends"
    try 8 5 2 --schedule 1f1b -s 2 -mb 4 --uniform forward=10,backward=20 --payload 64KB --compute gemm --steps 8 &&
        [ "$(figure gflops)" != "" ]
    ok "two stages of matrix products take what is predicted"
}

# ---- links ----
links() {
    rehearse 4 --links --max-size 256KB --links-file links.yaml --device A100-80 && grep -q '^all_to_all' out &&
        "$plain" estimate "$root/examples/llama175b_train.yaml" --cluster links.yaml >out 2>err
    ok "estimate takes the links"
    "$plain" calibrate "$root/examples/calibrate/all_reduce_perf.log" --start links.yaml -o calibrated.yaml >out 2>err &&
        grep -q 'basis: fitted' calibrated.yaml
    ok "calibrate starts from them"
    rehearse 2 --links --links-file links.yaml
    [ $? = 2 ] && says '--links-file needs the device'
    ok "links need their device"
}

# ---- with sanitizers ----
sanitized() {
    mpi=$sanitized
    rehearse 4 --schedule zb-v -s 4 -mb 8 --uniform forward=2,backward=4 --payload 64KB --format json &&
        rehearse 2 --schedule dualpipe -s 4 -mb 8 --uniform forward=2,backward=4 --payload 64KB
    ok "sanitized: rehearsals"
    rehearse 4 --schedule 1f1b -s 4 --uniform forward=2,backward=4 --payload 256KB --send rendezvous --watchdog 0.5
    [ $? = 1 ] && says 'this order deadlocks' && ! says Sanitizer
    ok "sanitized: a deadlock"
    rehearse 2 --links --max-size 4KB
    ok "sanitized: links"
}

# Two or three at a time, as there are few cores.
first() {
    starts
    stops
}
last() {
    waits
    links
    sanitized
}
{
    part deadlocks
    part first
    part last
    wait
    # shellcheck disable=SC2086 # words
    cat $parts
    (measured) || echo "not ok - what is timed did not end"
} | numbered
