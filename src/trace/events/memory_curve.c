/* Thins a curve by cutting a component's points, in order of time, into equally many per bucket and keeping of each
 * bucket the largest value of both columns and the last point. Values between two peaks of a bucket are lost, so a dip
 * shorter than a bucket may be missing. */
#include "trace/events/memory_curve.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { PER_BUCKET = 3, N_BUCKETS = EK__CURVE_MAX_POINTS / PER_BUCKET };

static int by_component_and_time(const void *a, const void *b)
{
    const ek_trace_memory_point *p = a, *q = b;
    if (p->component != q->component)
        return p->component < q->component ? -1 : 1;
    if (p->time != q->time)
        return p->time < q->time ? -1 : 1;
    if (p->allocated_mb != q->allocated_mb && !isnan(p->allocated_mb) && !isnan(q->allocated_mb))
        return p->allocated_mb < q->allocated_mb ? -1 : 1;
    if (p->reserved_mb != q->reserved_mb && !isnan(p->reserved_mb) && !isnan(q->reserved_mb))
        return p->reserved_mb < q->reserved_mb ? -1 : 1;
    return 0;
}

static bool is_larger(double value, double than)
{
    return value > than || (isnan(than) && !isnan(value));
}

/* Keep of [from, to) at most PER_BUCKET points at `out`, which is not after `from`. Returns their number. */
static size_t thin_bucket(ek_trace_memory_point *point, size_t from, size_t to, size_t out)
{
    size_t allocated = from, reserved = from, kept = 0;
    for (size_t i = from + 1; i < to; i++) {
        if (is_larger(point[i].allocated_mb, point[allocated].allocated_mb))
            allocated = i;
        if (is_larger(point[i].reserved_mb, point[reserved].reserved_mb))
            reserved = i;
    }
    for (size_t i = from; i < to; i++)
        if (i == allocated || i == reserved || i == to - 1)
            point[out + kept++] = point[i];
    return kept;
}

size_t ek__memory_curve_thin(ek_trace_memory_point *point, size_t n)
{
    qsort(point, n, sizeof *point, by_component_and_time);
    size_t out = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && point[to].component == point[from].component;)
            to++;
        size_t size = to - from, n_buckets = size > EK__CURVE_MAX_POINTS ? N_BUCKETS : size;
        for (size_t b = 0; b < n_buckets; b++) {
            /* n points of 40 bytes: the products stay far below 2^64. */
            size_t first = from + size * b / n_buckets, last = from + size * (b + 1) / n_buckets;
            out += thin_bucket(point, first, last, out);
        }
    }
    return out;
}
