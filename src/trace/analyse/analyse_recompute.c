/* Computes the time of PyTorch's recomputation: device events whose launch began inside a python function ":
 * recompute_fn" on the same thread, against all others, as TraceLens distinguishes them: only events whose launch is in
 * the file, without memory sets. Launches from another thread than the region's are not seen as recomputation. */
#include <stdlib.h>

#include "trace/events/device.h"

typedef struct regions {
    const ek__trace *trace;
    ek__intervals *of_track; /* [n_tracks] */
    bool inside;             /* accept launches inside the regions, else outside */
} regions;

static bool is_wanted(const void *user, const ek__event *event)
{
    const regions *r = user;
    const ek__event *launch = event->kind == EK__EVENT_SET ? NULL : ek__launch_of(r->trace, event);
    return launch && ek__intervals_hold(&r->of_track[launch->track], launch->start) == r->inside;
}

static ek_status measure(const ek__trace *trace, regions *r, ek_trace_recompute *out, ek_error *err)
{
    ek__slice slice = trace->of[EK__EVENT_RECOMPUTE];
    for (size_t i = 0; i < slice.n; i++)
        if (!ek__intervals_add(&r->of_track[slice.event[i].track], slice.event[i].start,
                               ek__event_end(&slice.event[i])))
            return ek__no_memory(err);
    r->inside = true;
    ek_status status = ek__breakdown_kineto(trace, is_wanted, r, &out->recompute, err);
    r->inside = false;
    return status == EK_OK ? ek__breakdown_kineto(trace, is_wanted, r, &out->rest, err) : status;
}

ek_status ek__analyse_recompute(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                ek_error *err)
{
    (void)options;
    if (trace->of[EK__EVENT_RECOMPUTE].n == 0 || trace->producer != EK_PRODUCER_KINETO)
        return EK_OK;
    ek_trace_recompute result = {.n_regions = (int64_t)trace->of[EK__EVENT_RECOMPUTE].n};
    regions r = {trace, ek__alloc((size_t)trace->n_tracks, sizeof *r.of_track), true};
    ek_status status = r.of_track ? measure(trace, &r, &result, err) : ek__no_memory(err);
    for (int t = 0; r.of_track && t < trace->n_tracks; t++)
        ek__intervals_clear(&r.of_track[t]);
    free(r.of_track);
    if (status == EK_OK)
        rank->recompute = result;
    return status;
}
