/* Where kernels were launched. PyTorch on GPU: the runtime call with the same correlation. Ascend: the arrow async_npu
 * that ends at exactly the kernel's track and start begins where the framework called it. launches.c finds both. */
#include <stdlib.h>

#include "trace/device.h"
#include "trace/layers.h"

static ek__launch_point point_of(const ek__launches *launches, const ek__task_launches *arrows, const ek__event *kernel)
{
<<<<<<< HEAD
    const ek__event *call = ek__launch_of(launches, kernel);
    if (call)
        return (ek__launch_point){call->start, call->track};
    const ek__task_launch *arrow = ek__task_launch_of(arrows, kernel);
    return arrow ? (ek__launch_point){arrow->launch, arrow->host_track} : (ek__launch_point){0, -1};
=======
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
>>>>>>> wt-c
}

ek__launch_point *ek__launch_points(const ek__trace *trace)
{
    ek__slice kernels = trace->of[EK__EVENT_KERNEL];
    ek__task_launches arrows = {0};
    ek__launch_point *point = ek__alloc(kernels.n, sizeof *point);
    ek__launches *launches = point ? ek__launches_new(trace) : NULL;
    if (launches && ek__task_launches_make(trace, EK__FLOW_ASYNC_NPU, &arrows, NULL) == EK_OK) {
        for (size_t i = 0; i < kernels.n; i++)
            point[i] = point_of(launches, &arrows, &kernels.event[i]);
    } else {
        free(point);
        point = NULL;
    }
    ek__launches_free(launches);
    ek__task_launches_clear(&arrows);
    return point;
}
