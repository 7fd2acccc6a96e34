/* How long the host takes from one launch of a kernel to the next: starts of launches of one thread that follow one
 * another with nothing between that the host waits in (synchronisation, data, garbage collection, a new step). The
 * median, so that what a program does between layers, which is rare and long, does not count. A launch that itself
 * takes ten times as long as the shorter ones is one that waits for room in a full queue, and ends no interval.
 * torch_npu launches by two threads, the one that runs Python and the one that calls CANN: the slower one counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "trace/events/device.h"
#include "trace/events/measured.h"

#define BLOCKED 10

typedef struct launch {
    int64_t start, duration;
    uint16_t track;
} launch;

typedef struct launches {
    size_t n;
    launch *at; /* [n] by track, then start */
} launches;

static int by_track(const void *a, const void *b)
{
    const launch *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Of what keeps a thread from launching, is anything in [from, to]? Of any thread: a garbage collection stops all. */
static bool waits_between(const ek__trace *trace, int64_t from, int64_t to)
{
    static const ek__event_kind waits[] = {EK__EVENT_SYNC, EK__EVENT_DATA, EK__EVENT_GC, EK__EVENT_STEP,
                                           EK__EVENT_COMPILE};
    for (size_t k = 0; k < sizeof waits / sizeof *waits; k++) {
        ek__slice slice = trace->of[waits[k]];
        size_t i = ek__slice_lower(slice, from);
        if (i < slice.n && slice.event[i].start <= to)
            return true;
    }
    return false;
}

/* Beyond this a launch waited for the device. */
static int64_t longest_call(const launches *all, int64_t *scratch)
{
    for (size_t i = 0; i < all->n; i++)
        scratch[i] = all->at[i].duration;
    qsort(scratch, all->n, sizeof *scratch, compare_times);
    int64_t quarter = scratch[all->n / 4];
    return quarter > 0 ? BLOCKED * quarter : INT64_MAX;
}

/* @return the median, NAN where there are too few. O(n log n). */
static double median_of(const ek__trace *trace, launches *all, int64_t *n_intervals, ek_error *err, ek_status *status)
{
    size_t n = 0;
    int64_t *interval = ek__alloc(all->n + 1, sizeof *interval);
    if (!interval) {
        *status = ek__no_memory(err);
        return (double)NAN;
    }
    if (all->n > 1)
        qsort(all->at, all->n, sizeof *all->at, by_track);
    int64_t most = all->n > 0 ? longest_call(all, interval) : 0;
    for (size_t i = 1; i < all->n; i++) {
        const launch *a = &all->at[i - 1], *b = &all->at[i];
        if (a->track == b->track && b->start > a->start && a->duration <= most && b->duration <= most &&
            !waits_between(trace, a->start, b->start))
            interval[n++] = b->start - a->start;
    }
    *n_intervals = (int64_t)n;
    double median = n >= EK_TRACE_LEAST_LAUNCHES ? (double)ek__median_ns(interval, n) : (double)NAN;
    free(interval);
    return median;
}

/* ---- Kineto ---- */

static ek_status of_calls(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek__slice slice = trace->of[EK__EVENT_LAUNCH];
    launches all = {0, ek__alloc(slice.n + 1, sizeof *all.at)};
    ek_status status = EK_OK;
    if (!all.at)
        return ek__no_memory(err);
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (strstr(ek__trace_name(trace, e->name), "LaunchKernel") && ek__measured_counts(rank, e->start))
            all.at[all.n++] = (launch){e->start, e->duration, e->track};
    }
    rank->measured.launch = median_of(trace, &all, &rank->measured.n_intervals, err, &status);
    free(all.at);
    return status;
}

/* ---- Ascend ---- */

static ek_status of_arrows(const ek__trace *trace, ek__flow flow, ek_trace_rank *rank, ek_error *err)
{
    const ek__task_launches *arrows = ek__task_launches_of(trace, flow);
    launches all = {0, ek__alloc(arrows->n + 1, sizeof *all.at)};
    int64_t n = 0;
    ek_status status = EK_OK;
    if (!all.at)
        return ek__no_memory(err);
    for (size_t i = 0; i < arrows->n; i++)
        if (ek__measured_counts(rank, arrows->at[i].launch))
            all.at[all.n++] = (launch){arrows->at[i].launch, 0, arrows->at[i].host_track};
    double median = median_of(trace, &all, &n, err, &status);
    if (!isnan(median) && !(median <= rank->measured.launch)) {
        rank->measured.launch = median;
        rank->measured.n_intervals = n;
    }
    free(all.at);
    return status;
}

ek_status ek__measured_launches(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    rank->measured.launch = (double)NAN;
    if (trace->producer == EK_PRODUCER_KINETO)
        return of_calls(trace, rank, err);
    if (trace->producer != EK_PRODUCER_TORCH_NPU) /* graphs of MindSpore are handed over whole */
        return EK_OK;
    ek_status status = of_arrows(trace, EK__FLOW_ASYNC_NPU, rank, err);
    return status ? status : of_arrows(trace, EK__FLOW_HOST_TO_DEVICE, rank, err);
}
