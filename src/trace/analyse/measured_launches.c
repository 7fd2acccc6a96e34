/* Computes the time of the host from one launch of a kernel to the next: starts of consecutive launches of one thread
 * without a wait of the host between them (synchronisation, data, garbage collection, a new step). The median, so that
 * the program's work between layers, which is rare and long, does not count. A launch that itself takes ten times as
 * long as the shorter ones is one that waits for room in a full queue, and ends no interval. torch_npu launches by two
 * threads, the one that runs Python and the one that calls CANN: the slower one counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/sort.h"
#include "trace/events/device.h"
#include "trace/events/measured.h"
#include "trace/rank.h"

#define BLOCKED 10

typedef struct launch {
    int64_t start, duration;
    uint16_t track;
} launch;

typedef struct launches {
    size_t n;
    launch *at; /* [n] by track, then start */
} launches;

/* Begins of events that keep a thread from launching. */
typedef struct waits {
    size_t n;
    int64_t *at; /* [n], sorted */
} waits;

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

/* Of all threads: a garbage collection stops all of them. `at` is NULL when memory is out. */
static waits find_waits(const ek__trace *trace)
{
    static const ek__event_kind kinds[] = {EK__EVENT_SYNC, EK__EVENT_DATA, EK__EVENT_GC, EK__EVENT_STEP,
                                           EK__EVENT_COMPILE};
    size_t room = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        room += trace->of[kinds[k]].n;
    waits all = {0, ek__alloc(room, sizeof *all.at)};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && all.at; k++)
        for (size_t i = 0; i < trace->of[kinds[k]].n; i++)
            all.at[all.n++] = trace->of[kinds[k]].event[i].start;
    if (all.at)
        ek__sort(all.at, all.n, sizeof *all.at, compare_times);
    return all;
}

/* Does any begin in [from, to]? `*next` moves on: `from` must not decrease. */
static bool waits_between(const waits *all, size_t *next, int64_t from, int64_t to)
{
    while (*next < all->n && all->at[*next] < from)
        ++*next;
    return *next < all->n && all->at[*next] <= to;
}

/* Above this a launch waited for the device. */
static int64_t longest_call(const launches *all, int64_t *scratch)
{
    for (size_t i = 0; i < all->n; i++)
        scratch[i] = all->at[i].duration;
    int64_t quarter = ek__nth_ns(scratch, all->n, all->n / 4);
    return quarter > 0 ? BLOCKED * quarter : INT64_MAX;
}

/* @return the median, NAN where there are too few. O(n log n). */
static double median_of(const ek__trace *trace, launches *all, int64_t *n_intervals, ek_error *err, ek_status *status)
{
    size_t n = 0, next = 0;
    int64_t *interval = ek__alloc(all->n + 1, sizeof *interval);
    waits held = find_waits(trace);
    double median = (double)NAN;
    if (!interval || !held.at) {
        *status = ek__no_memory(err);
        goto end;
    }
    ek__sort(all->at, all->n, sizeof *all->at, by_track);
    int64_t most = all->n > 0 ? longest_call(all, interval) : 0;
    for (size_t i = 1; i < all->n; i++) {
        const launch *a = &all->at[i - 1], *b = &all->at[i];
        if (a->track != b->track)
            next = 0;
        else if (b->start > a->start && a->duration <= most && b->duration <= most &&
                 !waits_between(&held, &next, a->start, b->start))
            interval[n++] = b->start - a->start;
    }
    *n_intervals = (int64_t)n;
    if (n >= EK_TRACE_LEAST_LAUNCHES)
        median = (double)ek__median_ns(interval, n);
end:
    free(interval);
    free(held.at);
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
    ek__step_cursor cursor = ek__step_cursor_of(rank);
    uint32_t name = UINT32_MAX;
    bool launches_kernel = false;
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (e->name != name)
            launches_kernel = strstr(ek__trace_name(trace, name = e->name), "LaunchKernel");
        if (launches_kernel && ek__after_warm_up(&cursor, e->start))
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
    ek__step_cursor cursor = ek__step_cursor_of(rank);
    for (size_t i = 0; i < arrows->n; i++)
        if (ek__after_warm_up(&cursor, arrows->at[i].launch))
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
    if (trace->producer != EK_PRODUCER_TORCH_NPU) /* graphs of MindSpore are launched as a whole */
        return EK_OK;
    ek_status status = of_arrows(trace, EK__FLOW_ASYNC_NPU, rank, err);
    return status ? status : of_arrows(trace, EK__FLOW_HOST_TO_DEVICE, rank, err);
}
