/* Determines whether the host is too slow to feed the device, and why. The verdict is the share of the steps' time in
 * which the device idled for work the host had not launched yet. The cause: many compilations, a synchronisation per
 * launch, else the host's main activity in the largest part of those gaps; plain dispatch when no activity
 * dominates. */
#include <math.h>

#include "trace/events/device.h"

static const double default_share = 0.10;
static const double least_part = 0.10; /* of the host-bound gaps, to be their cause */
enum { MANY_COMPILATIONS = 20 };

static void copy_counts(const ek__trace *trace, ek_trace_dispatch *d)
{
    d->n_node_launch = trace->n_node_launch;
    d->n_enqueue = trace->n_enqueue;
    d->n_dequeue = trace->n_dequeue;
    d->n_compile = trace->n_compile;
    d->n_synchronize = trace->n_synchronize;
    d->n_launch = trace->n_launch;
    d->n_gc = trace->n_gc;
}

/* The time of one step: its host mark, else its device window. */
static int64_t time_of(const ek_trace_step *step)
{
    if (step->host_step != EK_TRACE_UNKNOWN)
        return step->host_step;
    return step->start == EK_TRACE_UNKNOWN ? 0 : ek__ns_sub(step->end, step->start);
}

static void sum_steps(const ek_trace_rank *rank, ek_trace_dispatch *d)
{
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        if (step->warm_up || step->from_table)
            continue;
        if (step->host_bound == EK_TRACE_UNKNOWN) /* no device events */
            continue;
        d->host_bound = ek__ns_add(d->host_bound, step->host_bound);
        d->step_time = ek__ns_add(d->step_time, time_of(step));
    }
    d->share = d->step_time > 0 ? (double)d->host_bound / (double)d->step_time : NAN;
}

static ek_status find_cause(const ek__trace *trace, ek_trace_rank *rank, ek_trace_dispatch *d, ek_error *err)
{
    static const struct {
        ek__event_kind kind;
        const char *cause;
    } causes[] = {
        {EK__EVENT_DATA, "data_loading"}, {EK__EVENT_SYNC, "synchronization"}, {EK__EVENT_GC, "garbage_collection"}};
    d->cause = "dispatch";
    if (d->n_compile >= MANY_COMPILATIONS) {
        d->cause = "compilation";
        return EK_OK;
    }
    int64_t n_launches = d->n_node_launch > 0 ? d->n_node_launch : d->n_launch;
    if (n_launches > 0 && d->n_synchronize > n_launches / 2) {
        d->cause = "synchronization";
        return EK_OK;
    }
    ek__intervals gaps = {0}, host = {0};
    ek_status status = ek__host_bound_gaps(trace, rank, &gaps, err);
    int64_t most = (int64_t)(least_part * (double)ek__intervals_length(&gaps));
    for (size_t i = 0; status == EK_OK && i < sizeof causes / sizeof *causes; i++) {
        if (!ek__intervals_of(trace->of[causes[i].kind], INT64_MIN, INT64_MAX, &host))
            status = ek__no_memory(err);
        int64_t common = ek__intervals_common(&gaps, &host);
        if (status == EK_OK && common > most) {
            most = common;
            d->cause = causes[i].cause;
        }
    }
    ek__intervals_clear(&gaps);
    ek__intervals_clear(&host);
    return status;
}

ek_status ek__analyse_dispatch(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                               ek_error *err)
{
    ek_trace_dispatch d = {.cause = "none"};
    copy_counts(trace, &d);
    sum_steps(rank, &d);
    double limit = options->host_bound_share > 0 ? options->host_bound_share : default_share;
    d.is_host_bound = d.share > limit; /* false for NAN */
    ek_status status = d.is_host_bound ? find_cause(trace, rank, &d, err) : EK_OK;
    if (status == EK_OK)
        rank->dispatch = d;
    return status;
}
