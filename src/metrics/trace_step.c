/* The step time of a traced run: the median over the steps of all ranks, which one slow step or rank does not move.
 * The host's mark says how long a step was; where there is none, the device's first start to its last end does.
 * Steps that overlap are not told apart. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/median.h"
#include "evenkeel/metrics.h"

static double seconds_of(const ek_trace_step *step)
{
    int64_t ns = step->host_step > 0 ? step->host_step : step->own.total;
    return step->warm_up || step->average || ns <= 0 ? NAN : (double)ns / 1e9;
}

ek_status ek_metrics_trace_step(const ek_trace_run *run, double *seconds, int *n_steps, ek_error *err)
{
    size_t room = 0, n = 0;
    for (int r = 0; r < run->n_ranks; r++)
        room += (size_t)run->rank[r].n_steps;
    double *time = ek__alloc(room + 1, sizeof *time);
    if (!time)
        return ek__no_memory(err);
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].n_steps; i++) {
            double one = seconds_of(&run->rank[r].step[i]);
            if (!isnan(one))
                time[n++] = one;
        }
    *seconds = ek__median(time, n);
    *n_steps = (int)n;
    free(time);
    return EK_OK;
}
