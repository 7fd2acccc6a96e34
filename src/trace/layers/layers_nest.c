/* Builds a forest of nested ranges: sorted by track and start, each range's parent is found with the stack of open
 * ranges. The range at a moment is the last that began before it, or one around that. */
#include "trace/layers/layers_nest.h"

#include <stdlib.h>

enum { MAX_NESTING = 200 };

/* Ranges of a slice by track. Those of one track stay in the slice's order: by start, longest first. */
static bool sort_by_track(const ek__trace *trace, ek__slice slice, ek__nested *out)
{
    size_t *next = ek__alloc((size_t)trace->n_tracks + 1, sizeof *next);
    if (!next)
        return false;
    for (size_t i = 0; i < slice.n; i++)
        next[slice.event[i].track + 1]++;
    for (int t = 0; t < trace->n_tracks; t++)
        next[t + 1] += next[t];
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        out[next[e->track]++] = (ek__nested){e->start, ek__event_end(e), e->name, e->track, -1};
    }
    free(next);
    return true;
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
    int32_t open[MAX_NESTING] = {0};
    int depth = 0;
    size_t n = 0;
    if (!at || slice.n >= INT32_MAX || !sort_by_track(trace, slice, at)) {
        free(at);
        return false;
    }
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
    *out = (ek__nest){n, at, 0};
    return true;
}

static bool is_before(const ek__nested *r, int32_t track, int64_t time)
{
    return r->track < track || (r->track == track && r->start <= time);
}

/* Consecutive moments are mostly close together: a few ranges from the last one on are tried first. */
int32_t ek__nest_find(ek__nest *nest, int32_t track, int64_t time)
{
    enum { NEAR = 4 };
    size_t low = 0, high = nest->n, near = nest->last;
    if (near < nest->n && is_before(&nest->at[near], track, time))
        for (int i = 0; i < NEAR && low == 0; i++, near++)
            if (near + 1 == nest->n || !is_before(&nest->at[near + 1], track, time))
                low = high = near + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&nest->at[middle], track, time))
            low = middle + 1;
        else
            high = middle;
    }
    int32_t i = (int32_t)low - 1;
    nest->last = i > 0 ? (size_t)i : 0;
    if (i < 0 || nest->at[i].track != track)
        return -1;
    while (i >= 0 && nest->at[i].end <= time)
        i = nest->at[i].parent;
    return i;
}
