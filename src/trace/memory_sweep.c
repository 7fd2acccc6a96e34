/* A sweep over the ticks at which something begins or ends. At one tick ends come before beginnings, as lifetimes are
 * half open; so the sum is never above what is live at the tick and never overflows. */
#include "trace/memory_sweep.h"

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

bool ek__memory_sweep(const ek__memory_block *block, size_t n, int64_t *peak_bytes, int64_t *peak_tick)
{
    change *changes = ek__alloc(2 * n, sizeof *changes);
    if (!changes)
        return false;
    size_t n_changes = 0;
    for (size_t i = 0; i < n; i++) {
        if (block[i].start >= block[i].end)
            continue;
        changes[n_changes++] = (change){block[i].start, block[i].bytes};
        if (block[i].end != EK__NEVER_FREED)
            changes[n_changes++] = (change){block[i].end, -block[i].bytes};
    }
    if (n_changes > 1)
        qsort(changes, n_changes, sizeof *changes, by_tick);
    int64_t live = 0, peak = 0, tick = EK_TRACE_UNKNOWN;
    for (size_t i = 0; i < n_changes; i++) {
        live += changes[i].bytes;
        /* Within a tick it only grows after the ends, so its last sum is the one that counts. */
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
