/* Frees a run. */
#include "base/pool.h"
#include "evenkeel/trace.h"

void ek_trace_run_clear(ek_trace_run *run)
{
    for (int i = 0; i < run->n_ranks; i++)
        ek__pool_free(run->rank[i].pool);
    ek__pool_free(run->pool);
    *run = (ek_trace_run){0};
}
