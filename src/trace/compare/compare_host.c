/* Computes each rank's idle time for the host, of a step: for the findings, the diagnosis, the summary and the page. It
 * is a comparison of ranks only in that it needs the length of a step, which is known once all ranks are read. */
#include <math.h>

#include "trace/analyse/analysis.h"
#include "trace/rank.h"

static int64_t host_bound(const ek_trace_step *step)
{
    return step->host_bound;
}

ek_status ek__compare_host(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    (void)err;
    for (int r = 0; r < run->n_ranks; r++) {
        ek_trace_rank *rank = &run->rank[r];
        /* Gaps that together are negligible are not stored one by one. */
        double ns = rank->dispatch.n_gaps > 0 ? ek__host_late(rank, NULL) : ek__step_mean_of(rank, host_bound);
        bool linked = rank->idle.n_linked_tasks > 0; /* else the launch time is unknown */
        rank->dispatch.idle = linked && ns >= 0 && ns < 9e18 ? llround(ns) : EK_TRACE_UNKNOWN;
    }
    return EK_OK;
}
