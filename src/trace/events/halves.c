/* Pairs events that are written as two, a beginning and an end ("ph" B and E), as src/index/spans.c does for pages: the
 * halves of a thread are sorted by time, equal times as in the file, and a stack of open beginnings takes every end.
 * The events themselves are in the store's arrays since their beginning was read; only their duration was missing. */
#include <stdlib.h>

#include "trace/scan/part.h"

/* A half by thread, time and place in the files. */
typedef struct placed {
    const ek__half *half;
} placed;

static int by_thread_and_time(const void *a, const void *b)
{
    const ek__half *x = ((const placed *)a)->half, *y = ((const placed *)b)->half;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x > y) - (x < y);
}

static void close_one(ek__trace_store *store, const ek__half *begin, const ek__half *end)
{
    int64_t duration = end->time - begin->time; /* times stay within a quarter of 64 bits */
    int64_t *total = &store->tracks.at[begin->track].total_ns;
    if (__builtin_add_overflow(*total, duration, total))
        *total = INT64_MAX;
    store->tracks.at[begin->track].n_complete++;
    for (int i = 0; i < store->n_categories; i++)
        if (store->category[i].name == begin->category) {
            store->category[i].n_complete++;
            break;
        }
    if (begin->kept)
        store->event[begin->kind][begin->at].duration = duration;
}

/* One thread's halves. `open` has room for all of them. */
static void close_thread(ek__trace_store *store, const placed *at, size_t n, const ek__half **open)
{
    size_t n_open = 0, n_lone = 0;
    for (size_t i = 0; i < n; i++) {
        if (at[i].half->begins)
            open[n_open++] = at[i].half;
        else if (n_open > 0)
            close_one(store, open[--n_open], at[i].half);
        else
            n_lone++;
    }
    store->n_unmatched += (int64_t)(n_open + n_lone);
}

/* Beginnings that are never closed, and those that are too short to keep. */
static void drop_open(ek__trace_store *store)
{
    for (int kind = 0; kind <= EK__N_EVENT_KINDS; kind++) {
        ek__event *event = store->event[kind];
        size_t n = 0;
        if (kind == EK__EVENT_FLOW)
            continue;
        for (size_t i = 0; i < store->n[kind]; i++)
            if (event[i].duration != EK__HALF_OPEN && !ek__event_is_too_short(kind, event[i].duration))
                event[n++] = event[i];
        store->n[kind] = n;
    }
}

bool ek__store_close_halves(ek__trace_store *store)
{
    const size_t n = store->n_halves;
    if (n == 0)
        return true;
    placed *at = ek__alloc(n, sizeof *at);
    const ek__half **open = ek__alloc(n, sizeof *open);
    bool fine = at && open;
    for (size_t i = 0; fine && i < n; i++)
        at[i].half = &store->half[i];
    if (fine)
        qsort(at, n, sizeof *at, by_thread_and_time);
    for (size_t from = 0, to; fine && from < n; from = to) {
        for (to = from + 1; to < n && at[to].half->track == at[from].half->track;)
            to++;
        close_thread(store, at + from, to - from, open);
    }
    if (fine)
        drop_open(store);
    store->n_odd += store->n_unmatched;
    free(at);
    free(open);
    free(store->half);
    store->half = NULL;
    store->n_halves = store->halves_capacity = 0;
    return fine;
}
