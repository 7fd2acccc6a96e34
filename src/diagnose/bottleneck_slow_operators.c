/* Finds slow operators: executions longer than those of the same operator elsewhere in the trace, and rare ones far
 * above the median of their kind. The gain is the step with all of them at the median. Not seen: an operator that is
 * slow in every execution, which could only be compared with its arithmetic. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"

/* Outliers of tables count where events showed none: the same execution must not count twice. */
static const ek_trace_outlier *slow_of(const ek_trace_rank *rank, int *n)
{
    const ek_trace_operators *ops = &rank->operators;
    bool events = rank->has_device_events; /* a table's rows have no surroundings: those of a kind are compared */
    *n = events ? ops->n_slow : ops->n_outliers;
    return events ? ops->slow : ops->outlier;
}

static ek_status collect(const ek__measured *m, ek__losses *losses, ek_error *err)
{
    for (int r = 0; r < m->run->n_ranks; r++) {
        const ek_trace_rank *rank = &m->run->rank[r];
        int n;
        const ek_trace_outlier *slow = slow_of(rank, &n);
        for (int i = 0; i < n; i++)
            if (ek__in_counted_step(rank, slow[i].start) &&
                !ek__losses_add(losses, r, slow[i].start, (double)(slow[i].duration - slow[i].expected)))
                return ek__no_memory(err);
    }
    return EK_OK;
}

static ek_status show(const ek__diagnose *d, int rank, double ns, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_rank *r = &d->measured.run->rank[rank];
    int n, shown = 0;
    const ek_trace_outlier *slow = slow_of(r, &n);
    ek_status status = ek__bottleneck_show(
        b,
        (ek_evidence){
            ek__pool_format(
                d->out->pool,
                "%s: %d executions take longer than other executions of the same operator, %.2f ms of a step in total",
                ek__who_is(r).text, n, ns / 1e6),
            ek__file_of(r), NULL, r->rank},
        err);
    const char *last = NULL;
    for (int i = 0; i < n && shown < 4 && !status; i++) {
        if (!slow[i].name || (last && strcmp(last, slow[i].name) == 0))
            continue;
        last = slow[i].name;
        shown++;
        status = ek__bottleneck_show(
            b,
            (ek_evidence){ek__pool_format(d->out->pool, "%.160s: %.3f ms, the median of %lld is %.3f ms", slow[i].name,
                                          (double)slow[i].duration / 1e6, (long long)slow[i].n_kind,
                                          (double)slow[i].expected / 1e6),
                          ek__file_of(r), ek__step_name_at(r, slow[i].start), r->rank},
            err);
    }
    return status;
}

/* Were some compared by their names and surroundings only? */
static bool knows_no_shapes(const ek_trace_rank *rank)
{
    int n;
    const ek_trace_outlier *slow = slow_of(rank, &n);
    for (int i = 0; i < n; i++)
        if (slow[i].shapes_unknown)
            return true;
    return false;
}

static ek_status add(ek__diagnose *d, ek__losses *losses, double cost, int rank, ek_error *err)
{
    double gain;
    ek_status status = ek__losses_gain(&d->measured, losses, &gain, err);
    if (status)
        return status;
    ek_bottleneck b = {.id = "slow-operators",
                       .topic = EK_TOPIC_OPERATORS,
                       .basis = EK_BASIS_DERIVED,
                       .cost_seconds = cost / 1e9,
                       .gain_seconds = gain / 1e9,
                       .setting = "none by name: see the operators of the evidence",
                       .change = "Compare these executions with the others: an input shape or format that needs a "
                                 "conversion, a fallback to AI CPU, a lower clock, memory bandwidth shared with a "
                                 "collective; replace the operator by a fused one if there is one.",
                       .rests_on = ek__gain_rests_on(&d->measured)};
    b.title = ek__pool_format(d->out->pool, "Operators are abnormally slow: %.2f ms of a step, %.1f %%.", cost / 1e6,
                              100 * cost / d->step_ns);
    if (knows_no_shapes(&d->measured.run->rank[rank]))
        b.caution = "The trace does not contain the shapes of these operators; for larger inputs the additional time "
                    "is not a loss. Record kernel_details.csv with shapes (profiler level 1) to verify.";
    status = show(d, rank, cost, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

ek_status ek__bottleneck_slow_operators(ek__diagnose *d, ek_error *err)
{
    ek__losses losses = {0};
    int rank = -1;
    if (!d->measured.run)
        return ek__bottleneck_needs(d, "operators that are abnormally slow", "a trace with the device's operators",
                                    ek__how_to_trace(d), err);
    ek_status status = collect(&d->measured, &losses, err);
    double cost = status ? 0 : ek__losses_most(&d->measured, &losses, &rank);
    if (!status && rank >= 0 && cost >= ek__least_ns(d))
        status = add(d, &losses, cost, rank, err);
    free(losses.loss);
    return status;
}
