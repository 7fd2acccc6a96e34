# Sourced by the tests under MPI: how processes are started, as many as asked for on however few cores.
#
#   launch N PROGRAM ARG...
# Cores are shared, so processes must not spin; root is allowed, for containers; shared memory that other processes'
# memory is copied by is not allowed everywhere.
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
