/* Where kernels were launched. PyTorch on GPU: the runtime call with the same correlation. Ascend: the arrow async_npu
 * that ends at exactly the kernel's track and start begins where the framework called it. Sorted lists and bisection.
 */
#include <stdlib.h>

#include "trace/layers.h"

typedef struct end_point {
    int64_t start, id;
    int32_t track;
} end_point;

typedef struct by_id {
    uint64_t id;
    ek__launch_point point;
} by_id;

static int compare_ends(const void *a, const void *b)
{
    const end_point *x = a, *y = b;
    if (x->track != y->track)
        return (x->track > y->track) - (x->track < y->track);
    return (x->start > y->start) - (x->start < y->start);
}

static int compare_ids(const void *a, const void *b)
{
    const by_id *x = a, *y = b;
    if (x->id != y->id)
        return (x->id > y->id) - (x->id < y->id);
    return (x->point.time > y->point.time) - (x->point.time < y->point.time);
}

/* The first with an id; NULL without one. */
static const by_id *find_id(const by_id *list, size_t n, uint64_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && list[low].id == id ? &list[low] : NULL;
}

static bool is_flow(const ek__event *e, int end)
{
    return e->name == EK__FLOW_ASYNC_NPU && e->detail == (uint32_t)end;
}

static void find_by_flow(const end_point *ends, size_t n_ends, const by_id *starts, size_t n_starts,
                         const ek__event *kernel, ek__launch_point *out)
{
    const end_point key = {kernel->start, 0, kernel->track};
    const end_point *end = n_ends ? bsearch(&key, ends, n_ends, sizeof *ends, compare_ends) : NULL;
    const by_id *start = end ? find_id(starts, n_starts, (uint64_t)end->id) : NULL;
    if (start)
        *out = start->point;
}

ek__launch_point *ek__launch_points(const ek__trace *trace)
{
    ek__slice kernels = trace->of[EK__EVENT_KERNEL], launches = trace->of[EK__EVENT_LAUNCH];
    ek__slice flows = trace->of[EK__EVENT_FLOW];
    ek__launch_point *point = ek__alloc(kernels.n, sizeof *point);
    by_id *launch = ek__alloc(launches.n, sizeof *launch), *start = ek__alloc(flows.n, sizeof *start);
    end_point *end = ek__alloc(flows.n, sizeof *end);
    bool fine = point && launch && start && end;
    size_t n_starts = 0, n_ends = 0, n_launches = 0;
    for (size_t i = 0; i < launches.n && fine; i++) {
        const ek__event *e = &launches.event[i];
        if (e->link)
            launch[n_launches++] = (by_id){e->link, {e->start, e->track}};
    }
    for (size_t i = 0; i < flows.n && fine; i++) {
        const ek__event *e = &flows.event[i];
        if (is_flow(e, 0))
            start[n_starts++] = (by_id){(uint64_t)e->duration, {e->start, e->track}};
        else if (is_flow(e, 1))
            end[n_ends++] = (end_point){e->start, e->duration, e->track};
    }
    if (n_launches > 0)
        qsort(launch, n_launches, sizeof *launch, compare_ids);
    if (n_starts > 0)
        qsort(start, n_starts, sizeof *start, compare_ids);
    if (n_ends > 0)
        qsort(end, n_ends, sizeof *end, compare_ends);
    for (size_t i = 0; i < kernels.n && fine; i++) {
        const ek__event *e = &kernels.event[i];
        const by_id *found = e->link ? find_id(launch, n_launches, e->link) : NULL;
        point[i] = (ek__launch_point){0, -1};
        if (found)
            point[i] = found->point;
        else
            find_by_flow(end, n_ends, start, n_starts, e, &point[i]);
    }
    free(launch);
    free(start);
    free(end);
    if (!fine) {
        free(point);
        return NULL;
    }
    return point;
}
