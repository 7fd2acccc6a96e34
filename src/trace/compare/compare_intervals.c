/* Finds the rank that waits longest between steps: the iteration interval of MindSpore's step traces, of the producer's
 * average row where there is one, else the mean over the steps. The first step's interval, which is 0, is in no
 * mean. */
#include "trace/analyse/analysis.h"

/* NAN would do for "none"; a flag is explicit. */
static bool interval_of(const ek_trace_rank *rank, double *out)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        if (step->iteration_interval == EK_TRACE_UNKNOWN)
            continue;
        if (step->average) {
            *out = (double)step->iteration_interval;
            return true;
        }
        if (step->iteration_interval > 0) {
            sum += (double)step->iteration_interval;
            n++;
        }
    }
    *out = n > 0 ? sum / n : 0;
    return n > 0;
}

ek_status ek__compare_intervals(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    double sum = 0, worst = 0;
    int n = 0, worst_rank = EK_TRACE_NO_RANK;
    (void)options;
    (void)err;
    for (int i = 0; i < run->n_ranks; i++) {
        double interval;
        if (!interval_of(&run->rank[i], &interval))
            continue;
        if (n++ == 0 || interval > worst) {
            worst = interval;
            worst_rank = run->rank[i].rank;
        }
        sum += interval;
    }
    if (n < 2 || sum <= 0)
        return EK_OK;
    run->worst_rank_by_interval = worst_rank;
    run->worst_over_mean = worst / (sum / n) - 1;
    return EK_OK;
}
