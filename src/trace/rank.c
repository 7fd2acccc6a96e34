/* What comparisons and diagnosis ask a rank alike, in one place, so that their sentences and figures agree. */
#include "trace/rank.h"

#include <stdio.h>

ek__who ek__who_is(const ek_trace_rank *rank)
{
    ek__who w;
    if (rank->rank == EK_TRACE_NO_RANK)
        snprintf(w.text, sizeof w.text, "The trace");
    else if (rank->stage >= 0)
        snprintf(w.text, sizeof w.text, "Rank %d (stage %d)", rank->rank, rank->stage);
    else
        snprintf(w.text, sizeof w.text, "Rank %d", rank->rank);
    return w;
}

double ek__recomputation(const ek_trace_rank *rank)
{
    const ek_trace_layers *layers = &rank->layers;
    double sum = 0;
    for (int i = 0; i < layers->n; i++)
        if (layers->layer[i].recompute.n > 0)
            sum += layers->layer[i].recompute.busy_mean * (double)layers->layer[i].recompute.n;
    if (sum > 0)
        return sum / (layers->n_steps > 0 ? layers->n_steps : 1);
    if (rank->recompute.n_regions == 0 || rank->recompute.recompute.busy == EK_TRACE_UNKNOWN)
        return 0;
    return (double)rank->recompute.recompute.busy / (rank->n_steps > 0 ? rank->n_steps : 1);
}
