# shellcheck shell=sh
# Sourced by the tests under MPI: starts any number of processes on any number of cores.
#
#   launch N PROGRAM ARG...
#
# Cores are shared, so processes must not spin; root is allowed, for containers; copying between processes through
# shared memory is off, since it is not permitted everywhere.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none
# The launcher waits so long for processes that it ends, whether they have ended or not.
export OMPI_MCA_odls_base_sigkill_timeout=0
# The libraries of MPI keep some of their memory to the end.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
launch() {
    launch_n=$1
    shift
    ${EK_MPIRUN:-mpirun} -n "$launch_n" "$@"
}

# ok CODE NAME; same FILE FILE NAME: equal and not empty. `n` counts.
n=0
ok() {
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
same() {
    [ -s "$1" ] && cmp "$1" "$2" >&2
    ok $? "$3"
}
# processes_of NUMBER PATTERN: those with that number in their job and the pattern in their command.
processes_of() {
    for process in $(pgrep -f "$2"); do
        [ ! -r "/proc/$process/environ" ] || tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$process"
    done
}
# signal_process SIGNAL NUMBER PATTERN [TICKS]: to the one that has begun, within some seconds, and has calculated for
# TICKS hundredths of a second: MPI begins in less.
signal_process() {
    for _ in $(seq 400); do
        process=$(processes_of "$2" "$3")
        ticks=0
        [ -z "$process" ] || ticks=$(awk '{ print $14 }' "/proc/${process%% *}/stat" 2>/dev/null)
        # shellcheck disable=SC2086 # there may be several
        [ -z "$process" ] || [ "${ticks:-0}" -lt "${4:-0}" ] || { kill "-$1" $process 2>/dev/null; return 0; }
        sleep 0.02
    done
    return 1
}
