/* Finds the reasons for idle time of the device, in two ways. Per gap: between the merged blocks of computing and
 * communication, the event that ends the gap was either launched after the gap began (the host was late) or before (the
 * device waited for something else). Per stream, for Kineto, as HTA does: each positive gap to the end of the event
 * before. One pass each over sorted events; a launch is found in O(1) or O(log n). */
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"

enum { KERNEL_GAP_NS = 30 }; /* below it a gap is the usual distance of consecutive kernels */

/* When the host launched it; EK_TRACE_UNKNOWN without a link. Events come in order of start. */
static int64_t launch_time(const ek__trace *trace, ek__task_launch_walk *arrows, const ek__event *e)
{
    if (trace->producer == EK_PRODUCER_KINETO) {
        const ek__event *call = ek__launch_of(trace, e);
        return call ? call->start : EK_TRACE_UNKNOWN;
    }
    const ek__task_launch *arrow = ek__task_launch_of(arrows, e);
    return arrow ? arrow->launch : EK_TRACE_UNKNOWN;
}

/* ---- per gap ---- */

typedef struct gap {
    int64_t start, end, launch; /* launch: the earliest of the events that start at the end */
    int step;
} gap;

static bool counts_as_task(const ek__trace *trace, const ek__event *e)
{
    return trace->producer == EK_PRODUCER_KINETO ? e->kind != EK__EVENT_TASK : ek__is_compute(trace, e);
}

/* Can the start of the event end a gap? */
static bool ends_gaps(const ek__trace *trace, const ek__event *e)
{
    return counts_as_task(trace, e) || ek__is_communication(trace, e);
}

static void count_gap(const gap *g, ek_trace_rank *rank)
{
    ek_trace_idle *idle = &rank->idle;
    ek_trace_step *step = g->step >= 0 ? &rank->step[g->step] : NULL;
    int64_t length = ek__ns_sub(g->end, g->start), unused = 0;
    idle->n_intervals++;
    if (g->launch == EK_TRACE_UNKNOWN) {
        idle->n_unlinked++;
        idle->unlinked = ek__ns_add(idle->unlinked, length);
    } else if (g->launch > g->start) {
        idle->n_host_bound++;
        idle->host_bound = ek__ns_add(idle->host_bound, length);
    } else {
        idle->n_device_bound++;
        idle->device_bound = ek__ns_add(idle->device_bound, length);
    }
    int64_t *of_step = !step                           ? &unused
                       : g->launch == EK_TRACE_UNKNOWN ? &step->unlinked
                       : g->launch > g->start          ? &step->host_bound
                                                       : &step->device_bound;
    *of_step = ek__ns_add(*of_step, length);
}

/* Gaps between neighbours of `busy`, closed one after the other. */
typedef struct gap_walk {
    const ek__trace *trace;
    ek__task_launch_walk *arrows;
    const ek__intervals *busy;
    ek__step_finder *finder;
    ek_trace_rank *rank;
    ek__intervals *collect; /* NULL: count; else receives host-bound gaps */
    bool no_memory;
    size_t next; /* the gap before busy->at[next] is open */
    gap open;
} gap_walk;

static const gap no_gap = {.launch = EK_TRACE_UNKNOWN, .step = -1};

/* A gap belongs to the step in which it begins; for Kineto with step marks, to that of the event that ends it. */
static void close_gap(gap_walk *w)
{
    w->open.start = w->busy->at[w->next - 1].end;
    w->open.end = w->busy->at[w->next].start;
    if (w->open.step < 0)
        w->open.step = ek__step_at(w->finder, w->open.start);
    if (!w->collect)
        count_gap(&w->open, w->rank);
    else if (w->open.launch != EK_TRACE_UNKNOWN && w->open.launch > w->open.start &&
             !ek__intervals_add(w->collect, w->open.start, w->open.end))
        w->no_memory = true;
    w->open = no_gap;
    w->next++;
}

static void walk_gaps(gap_walk *w)
{
    const ek__trace *trace = w->trace;
    ek__event_walk walk = ek__walk_kinds(trace, EK__WORK_KINDS | EK__KIND(TASK));
    for (const ek__event *e; (e = ek__walk_event(&walk));) {
        if (!ends_gaps(trace, e))
            continue;
        int64_t launch = launch_time(trace, w->arrows, e);
        if (!w->collect && counts_as_task(trace, e)) {
            w->rank->idle.n_tasks++;
            w->rank->idle.n_linked_tasks += launch != EK_TRACE_UNKNOWN;
        }
        while (w->next < w->busy->n && e->start > w->busy->at[w->next].start)
            close_gap(w);
        if (w->next >= w->busy->n || e->start != w->busy->at[w->next].start)
            continue;
        if (launch != EK_TRACE_UNKNOWN && (w->open.launch == EK_TRACE_UNKNOWN || launch < w->open.launch))
            w->open.launch = launch;
        if (w->finder->by_launch && w->open.step < 0)
            w->open.step = ek__step_of(w->finder, e);
    }
    while (w->next < w->busy->n)
        close_gap(w);
}

/* The blocks come from the device's own tasks, not from the overlap layer: its times are rounded, and a gap has to end
 * exactly where a task starts. The layer is used where there are no tasks. */
static bool make_busy(const ek__trace *trace, ek__intervals *busy)
{
    ek__event_walk walk = ek__walk_kinds(trace, EK__WORK_KINDS | EK__KIND(TASK));
    for (const ek__event *e; (e = ek__walk_event(&walk));)
        if (ends_gaps(trace, e) && !ek__intervals_add(busy, e->start, ek__event_end(e)))
            return false;
    if (busy->n > 0)
        return true;
    walk = ek__walk_kinds(trace, EK__KIND(COMPUTING) | EK__KIND(COMMUNICATION));
    for (const ek__event *e; (e = ek__walk_event(&walk));)
        if (!ek__intervals_add(busy, e->start, ek__event_end(e)))
            return false;
    return true;
}

static ek_status by_gap(const ek__trace *trace, ek_trace_rank *rank, ek__intervals *collect, ek_error *err)
{
    ek__intervals busy = {0};
    ek__step_finder finder = {0};
    ek__task_launch_walk arrows = {0};
    ek_status status = ek__step_finder_make(trace, rank, &finder, err);
    if (status == EK_OK &&
        (!make_busy(trace, &busy) || !ek__task_launch_walk_make(trace, EK__FLOW_HOST_TO_DEVICE, &arrows)))
        status = ek__no_memory(err);
    gap_walk walk = {trace, &arrows, &busy, &finder, rank, collect, false, 1, no_gap};
    if (status == EK_OK)
        walk_gaps(&walk);
    if (status == EK_OK && walk.no_memory)
        status = ek__no_memory(err);
    ek__task_launch_walk_clear(&arrows);
    ek__step_finder_clear(&finder);
    ek__intervals_clear(&busy);
    return status;
}

/* ---- per stream ---- */

typedef struct stream {
    ek_trace_stream_idle idle;
    int64_t end; /* the latest so far */
} stream;

static void add_to_stream(stream *s, const ek__event *e, int64_t launch)
{
    ek_trace_stream_idle *idle = &s->idle;
    if (idle->n_events++ > 0) {
        int64_t length = ek__ns_sub(e->start, s->end);
        idle->n_no_launch += launch == EK_TRACE_UNKNOWN;
        if (length > 0 && launch != EK_TRACE_UNKNOWN && launch > s->end) {
            idle->host_wait = ek__ns_add(idle->host_wait, length);
            idle->n_host_wait++;
        } else if (length > 0 && length < KERNEL_GAP_NS) {
            idle->kernel_wait = ek__ns_add(idle->kernel_wait, length);
            idle->n_kernel_wait++;
        } else if (length > 0) {
            idle->other = ek__ns_add(idle->other, length);
            idle->n_other++;
        }
    }
    if (idle->n_events == 1 || ek__event_end(e) > s->end)
        s->end = ek__event_end(e);
}

static int by_name(const void *a, const void *b)
{
    const ek_trace_stream_idle *x = a, *y = b;
    int order = strcmp(x->pid, y->pid);
    return order ? order : strcmp(x->tid, y->tid);
}

static ek_status keep_streams(const ek__trace *trace, const stream *streams, ek_trace_rank *rank, ek_error *err)
{
    int n = 0;
    for (int t = 0; t < trace->n_tracks; t++)
        n += streams[t].idle.n_events > 0;
    ek_trace_stream_idle *kept = ek__pool_alloc(rank->pool, (size_t)n, sizeof *kept);
    if (!kept)
        return ek__no_memory(err);
    n = 0;
    for (int t = 0; t < trace->n_tracks; t++) {
        if (streams[t].idle.n_events == 0)
            continue;
        kept[n] = streams[t].idle;
        kept[n].pid = ek__pool_format(rank->pool, "%s", trace->track[t].pid ? trace->track[t].pid : "");
        kept[n].tid = ek__pool_format(rank->pool, "%s", trace->track[t].tid ? trace->track[t].tid : "");
        if (!kept[n].pid || !kept[n].tid)
            return ek__no_memory(err);
        n++;
    }
    qsort(kept, (size_t)n, sizeof *kept, by_name);
    rank->idle.stream = kept;
    rank->idle.n_streams = n;
    return EK_OK;
}

static ek_status by_stream(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    stream *streams = ek__alloc((size_t)trace->n_tracks, sizeof *streams);
    if (!streams)
        return ek__no_memory(err);
    ek__event_walk walk = ek__walk_kinds(trace, EK__WORK_KINDS);
    for (const ek__event *e; (e = ek__walk_event(&walk));) {
        const ek__event *call = ek__launch_of(trace, e);
        add_to_stream(&streams[e->track], e, call ? call->start : EK_TRACE_UNKNOWN);
    }
    ek_status status = keep_streams(trace, streams, rank, err);
    free(streams);
    return status;
}

ek_status ek__host_bound_gaps(const ek__trace *trace, ek_trace_rank *rank, ek__intervals *out, ek_error *err)
{
    ek__intervals_reset(out);
    return by_gap(trace, rank, out, err);
}

ek_status ek__analyse_idle(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank, ek_error *err)
{
    (void)options;
    if (!rank->has_device_events)
        return EK_OK;
    ek_status status = by_gap(trace, rank, NULL, err);
    return status == EK_OK && trace->producer == EK_PRODUCER_KINETO ? by_stream(trace, rank, err) : status;
}
