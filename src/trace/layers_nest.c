/* Nested ranges as a forest: sorted by track and start, each range's parent is found with the stack of open ranges. The
 * range that holds a moment is the last that began before it, or one of those around that. */
#include "trace/layers_nest.h"

#include <stdlib.h>

enum { MAX_NESTING = 200 };

static int compare_ranges(const void *a, const void *b)
{
    const ek__nested *x = a, *y = b;
    if (x->track != y->track)
        return (x->track > y->track) - (x->track < y->track);
    if (x->start != y->start)
        return (x->start > y->start) - (x->start < y->start);
    if (x->end != y->end)
        return (x->end < y->end) - (x->end > y->end);
    return (x->parent > y->parent) - (x->parent < y->parent); /* the order of the slice, until parents are known */
}

void ek__nest_clear(ek__nest *nest)
{
    free(nest->at);
    *nest = (ek__nest){0};
}

bool ek__nest_make(const ek__trace *trace, ek__event_kind kind, ek__nest *out)
{
    ek__slice slice = trace->of[kind];
    ek__nested *at = ek__alloc(slice.n, sizeof *at);
    int32_t open[MAX_NESTING];
    int depth = 0;
    size_t n = 0;
    if (!at || slice.n >= INT32_MAX) {
        free(at);
        return false;
    }
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        at[i] = (ek__nested){e->start, ek__event_end(e), e->name, e->track, (int32_t)i};
    }
    if (slice.n > 0)
        qsort(at, slice.n, sizeof *at, compare_ranges);
    for (size_t i = 0; i < slice.n; i++) {
        if (n > 0 && at[n - 1].track != at[i].track)
            depth = 0;
        while (depth > 0 && at[open[depth - 1]].end <= at[i].start)
            depth--;
        if (depth == MAX_NESTING)
            continue;
        at[n] = at[i];
        at[n].parent = depth > 0 ? open[depth - 1] : -1;
        open[depth++] = (int32_t)n++;
    }
    *out = (ek__nest){n, at};
    return true;
}

int32_t ek__nest_find(const ek__nest *nest, int32_t track, int64_t time)
{
    size_t low = 0, high = nest->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const ek__nested *r = &nest->at[middle];
        if (r->track < track || (r->track == track && r->start <= time))
            low = middle + 1;
        else
            high = middle;
    }
    int32_t i = (int32_t)low - 1;
    if (i < 0 || nest->at[i].track != track)
        return -1;
    while (i >= 0 && nest->at[i].end <= time)
        i = nest->at[i].parent;
    return i;
}
