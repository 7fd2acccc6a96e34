/* Computes live memory by a sweep over the ticks of starts and ends. At one tick ends come before beginnings, as
 * lifetimes are half open; so the sum is never above the live memory at the tick and never overflows. */
#include "trace/events/memory_sweep.h"

#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/trace.h"

typedef struct change {
    int64_t tick, bytes;
} change;

static int by_tick(const void *a, const void *b)
{
    const change *p = a, *q = b;
    if (p->tick != q->tick)
        return p->tick < q->tick ? -1 : 1;
    return (p->bytes > q->bytes) - (p->bytes < q->bytes);
}

/* All beginnings and ends, by tick; NULL when memory is out. */
static change *make_changes(const ek__memory_block *block, size_t n, size_t *n_out)
{
    change *changes = ek__alloc(2 * n, sizeof *changes);
    size_t n_changes = 0;
    for (size_t i = 0; changes && i < n; i++) {
        if (block[i].start >= block[i].end)
            continue;
        changes[n_changes++] = (change){block[i].start, block[i].bytes};
        if (block[i].end != EK__NEVER_FREED)
            changes[n_changes++] = (change){block[i].end, -block[i].bytes};
    }
    if (n_changes > 1)
        qsort(changes, n_changes, sizeof *changes, by_tick);
    *n_out = n_changes;
    return changes;
}

bool ek__memory_sweep(const ek__memory_block *block, size_t n, int64_t *peak_bytes, int64_t *peak_tick)
{
    size_t n_changes = 0;
    change *changes = make_changes(block, n, &n_changes);
    if (!changes)
        return false;
    int64_t live = 0, peak = 0, tick = EK_TRACE_UNKNOWN;
    for (size_t i = 0; i < n_changes; i++) {
        live += changes[i].bytes;
        /* Within a tick it only grows after the ends, so its last sum is the relevant one. */
        if (live > peak) {
            peak = live;
            tick = changes[i].tick;
        }
    }
    free(changes);
    *peak_bytes = peak;
    *peak_tick = tick;
    return true;
}

bool ek__memory_released_peak(const ek__memory_block *block, size_t n, int64_t *peak_bytes)
{
    ek__memory_block *clipped = ek__alloc(n, sizeof *clipped);
    int64_t tick;
    if (!clipped)
        return false;
    for (size_t i = 0; i < n; i++) {
        clipped[i] = block[i];
        if (!block[i].stays && block[i].used_until != EK_TRACE_UNKNOWN && block[i].used_until < block[i].end)
            clipped[i].end = block[i].used_until;
    }
    bool fine = ek__memory_sweep(clipped, n, peak_bytes, &tick);
    free(clipped);
    return fine;
}

bool ek__memory_live_at(const ek__memory_block *block, size_t n, const int64_t *tick, size_t n_ticks, int64_t *live)
{
    size_t n_changes = 0, next = 0;
    change *changes = make_changes(block, n, &n_changes);
    if (!changes)
        return false;
    int64_t sum = 0;
    for (size_t i = 0; i < n_ticks; i++) {
        for (; next < n_changes && changes[next].tick <= tick[i]; next++)
            sum += changes[next].bytes;
        live[i] = sum;
    }
    free(changes);
    return true;
}
