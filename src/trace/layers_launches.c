/* Where kernels were launched. PyTorch on GPU: the runtime call with the same correlation. Ascend: the arrow async_npu
 * that ends at exactly the kernel's track and start begins where the framework called it. Both ends of arrows are found
 * by hash: one table by id, one by track and start, open-addressed and at most half full, so that all of it is O(n).
 */
#include <stdlib.h>

#include "trace/analysis.h"
#include "trace/layers.h"

/* Arrows of one end, by number of their events plus 1; 0 is free. */
typedef struct table {
    size_t mask;
    uint32_t *slot;
} table;

static bool is_flow(const ek__event *e, int end)
{
    return e->name == EK__FLOW_ASYNC_NPU && e->detail == (uint32_t)end;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* Where to look for the beginning with an id, and for the end at a track and time. */
static uint64_t hash_of(const ek__event *e, int end)
{
    return end ? mix((uint64_t)e->start ^ (uint64_t)e->track << 48) : mix((uint64_t)e->duration);
}

static bool is_same(const ek__event *a, const ek__event *b, int end)
{
    return end ? a->start == b->start && a->track == b->track : a->duration == b->duration;
}

/* The event of the table that is the same as `e`; NULL without one. */
static const ek__event *find(const table *t, ek__slice flows, const ek__event *e, int end)
{
    for (size_t i = hash_of(e, end) & t->mask; t->slot[i]; i = (i + 1) & t->mask)
        if (is_same(&flows.event[t->slot[i] - 1], e, end))
            return flows.event + (t->slot[i] - 1);
    return NULL;
}

/* Of equal ones the first in order of time. */
static bool fill(table *t, ek__slice flows, int end)
{
    size_t n = 0, room = 16;
    for (size_t i = 0; i < flows.n; i++)
        n += is_flow(&flows.event[i], end);
    while (room / 2 <= n)
        room *= 2;
    t->mask = room - 1;
    t->slot = flows.n < UINT32_MAX ? ek__alloc(room, sizeof *t->slot) : NULL;
    if (!t->slot)
        return false;
    for (size_t i = 0; i < flows.n; i++) {
        const ek__event *e = &flows.event[i];
        if (!is_flow(e, end))
            continue;
        size_t at = hash_of(e, end) & t->mask;
        while (t->slot[at] && !is_same(&flows.event[t->slot[at] - 1], e, end))
            at = (at + 1) & t->mask;
        if (!t->slot[at])
            t->slot[at] = (uint32_t)i + 1;
    }
    return true;
}

ek__launch_point *ek__launch_points(const ek__trace *trace)
{
    ek__slice kernels = trace->of[EK__EVENT_KERNEL], flows = trace->of[EK__EVENT_FLOW];
    ek__launch_point *point = ek__alloc(kernels.n, sizeof *point);
    ek__launches *launches = ek__launches_new(trace);
    table starts = {0}, ends = {0};
    bool fine = point && launches && fill(&starts, flows, 0) && fill(&ends, flows, 1);
    for (size_t i = 0; i < kernels.n && fine; i++) {
        const ek__event *e = &kernels.event[i], *from = ek__launch_of(launches, e);
        if (!from) {
            const ek__event *end = find(&ends, flows, e, 1);
            from = end ? find(&starts, flows, end, 0) : NULL;
        }
        point[i] = from ? (ek__launch_point){from->start, from->track} : (ek__launch_point){0, -1};
    }
    ek__launches_free(launches);
    free(starts.slot);
    free(ends.slot);
    if (!fine) {
        free(point);
        return NULL;
    }
    return point;
}
