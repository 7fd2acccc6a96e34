/* Computes the queue of launched work: starts and launches merged in order of time. A launch adds one, the start of the
 * launched task takes it away again; at one time begins come first, so that work without delay never waits. Work that
 * began before its launch (clocks of host and device that do not fit) was never in the queue, and its delay counts as
 * none. Curves are cut into equally many points a stretch, of which the largest, the least and the last remain. */
#include "trace/analyse/launch_queue.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sort.h"
#include "trace/events/intervals.h"

enum { PER_STRETCH = 3, N_STRETCHES = EK_TRACE_MAX_QUEUE_POINTS / PER_STRETCH };

/* Those with a launch, still in order of start. */
static size_t keep_launched(const ek__launched *work, size_t n, ek__launched *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (work[i].launch != EK_TRACE_UNKNOWN)
            out[kept++] = work[i];
    return kept;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ---- curves ---- */

/* Three points of a stretch, at its first time: its largest, least and last value. */
static size_t thin_stretch(const ek_trace_value *value, size_t n, ek_trace_value *out)
{
    double most = value[0].value, least = most;
    if (n <= PER_STRETCH) {
        for (size_t i = 0; i < n; i++)
            out[i] = value[i];
        return n;
    }
    for (size_t i = 1; i < n; i++) {
        most = value[i].value > most ? value[i].value : most;
        least = value[i].value < least ? value[i].value : least;
    }
    out[0] = (ek_trace_value){value[0].time, most};
    out[1] = (ek_trace_value){value[0].time, least};
    out[2] = (ek_trace_value){value[0].time, value[n - 1].value};
    return PER_STRETCH;
}

/* Into the pool. NULL when memory is out. */
static ek_trace_value *keep_curve(ek__pool *pool, const ek_trace_value *value, size_t n, int *n_kept)
{
    size_t kept = 0, n_stretches = n > EK_TRACE_MAX_QUEUE_POINTS ? N_STRETCHES : n;
    ek_trace_value *out =
        ek__pool_alloc(pool, n > EK_TRACE_MAX_QUEUE_POINTS ? EK_TRACE_MAX_QUEUE_POINTS : n, sizeof *out);
    for (size_t i = 0; out && i < n_stretches; i++) {
        /* Events take 32 bytes each: the products stay far below 2^64. */
        size_t from = n * i / n_stretches, to = n * (i + 1) / n_stretches;
        kept += thin_stretch(&value[from], to - from, &out[kept]);
    }
    assert(kept <= EK_TRACE_MAX_QUEUE_POINTS);
    *n_kept = (int)kept;
    return out;
}

/* ---- the queue ---- */

/* The number of waiting launches after every change, in order of time, and the queue's figures. `launch` is sorted.
 * @param out  [2 * n]. @return points */
static size_t walk(const int64_t *launch, const ek__launched *work, size_t n_waited, ek_trace_queue *q,
                   ek_trace_value *out)
{
    size_t n = 0, begun = 0;
    double area = 0;
    for (size_t i = 0; i < n_waited || begun < n_waited;) {
        bool begins = i == n_waited || work[begun].start <= launch[i];
        int64_t time = begins ? work[begun].start : launch[i];
        if (n > 0)
            area += out[n - 1].value * (double)ek__ns_sub(time, out[n - 1].time);
        begun += begins;
        i += !begins;
        if (n == 0 || out[n - 1].time != time)
            out[n++].time = time;
        out[n - 1].value = (double)(i - begun);
        assert(i >= begun);
    }
    for (size_t i = 0; i < n; i++)
        q->longest = out[i].value > (double)q->longest ? (int64_t)out[i].value : q->longest;
    q->length =
        n > 0 && out[n - 1].time > out[0].time ? area / (double)ek__ns_sub(out[n - 1].time, out[0].time) : (double)NAN;
    return n;
}

/* Delays in order of begins; those that waited move to the front. @return their number */
static size_t measure_delays(ek__launched *work, size_t n, ek_trace_queue *q, ek_trace_value *out)
{
    size_t waited = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t delay = work[i].start > work[i].launch ? ek__ns_sub(work[i].start, work[i].launch) : 0;
        sum += (double)delay;
        q->longest_delay = delay > q->longest_delay ? delay : q->longest_delay;
        out[i] = (ek_trace_value){work[i].start, (double)delay};
        if (delay > 0)
            work[waited++] = work[i];
    }
    q->n = (int64_t)n;
    q->delay = sum / (double)n;
    return waited;
}

static bool fill(ek__pool *pool, ek__launched *work, size_t n, int64_t *launch, ek_trace_value *point,
                 ek_trace_queue *q)
{
    size_t waited = measure_delays(work, n, q, point);
    q->delays = keep_curve(pool, point, n, &q->n_delays);
    for (size_t i = 0; i < waited; i++)
        launch[i] = work[i].launch;
    ek__sort(launch, waited, sizeof *launch, by_time);
    size_t n_points = walk(launch, work, waited, q, point);
    q->lengths = keep_curve(pool, point, n_points, &q->n_lengths);
    return q->delays && q->lengths;
}

ek_status ek__launch_queue_make(const ek__launched *work, size_t n, ek__pool *pool, ek_trace_queue *out, ek_error *err)
{
    ek_trace_queue q = {0};
    ek__launched *kept = ek__alloc(n, sizeof *kept);
    int64_t *launch = ek__alloc(n, sizeof *launch);
    ek_trace_value *point = ek__alloc(2 * n, sizeof *point);
    bool fine = kept && launch && point;
    size_t n_kept = fine ? keep_launched(work, n, kept) : 0;
    if (n_kept > 0)
        fine = fill(pool, kept, n_kept, launch, point, &q);
    if (fine)
        *out = q;
    free(kept);
    free(launch);
    free(point);
    return fine ? EK_OK : ek__no_memory(err);
}
