/* Finds the arrows of some tracks between two times: those that begin on them and those that end on them and were not
 * found already. Both lists of a track are sorted by time, so each is read from the first arrow on, in batches, until
 * it passes the end time or the earliest `at_most` found so far, which are in a heap. The rows of the ends are looked
 * up at the end, for the arrows in the heap. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "index/opened.h"

enum { BATCH = 128 };

/* A found arrow. `time`: that of the end at which it was found. */
typedef struct found {
    int64_t time;
    const ek__index_opened *file;
    ek__index_arrow arrow;
} found;

typedef struct gathering {
    const ek_trace_index *index;
    const int *track;
    int n_tracks;
    int64_t begin, end; /* as shown */
    size_t at_most, n, capacity;
    found *heap; /* [n], the latest first */
    bool all;
    bool *asked; /* [n_tracks of the index] */
    ek_error *err;
} gathering;

/* A total order, so that the kept arrows do not depend on the order of tracks. */
static bool is_later(const found *a, const found *b)
{
    if (a->time != b->time)
        return a->time > b->time;
    if (a->file != b->file)
        return a->file > b->file;
    return memcmp(&a->arrow, &b->arrow, sizeof a->arrow) > 0;
}

static void sift_down(found *heap, size_t n, size_t i)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            return;
        if (child + 1 < n && is_later(&heap[child + 1], &heap[child]))
            child++;
        if (!is_later(&heap[child], &heap[i]))
            return;
        found kept = heap[i];
        heap[i] = heap[child];
        heap[child] = kept;
        i = child;
    }
}

static void sift_up(found *heap, size_t i)
{
    for (; i > 0 && is_later(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2) {
        found kept = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = kept;
    }
}

#ifndef NDEBUG
/* Is the latest one on top of the heap, compared with its children? */
static bool is_heap(const gathering *g)
{
    for (size_t i = 1; i < 3 && i < g->n; i++)
        if (is_later(&g->heap[i], &g->heap[0]))
            return false;
    return true;
}
#endif

/* Keep the earliest at_most. */
static ek_status keep(gathering *g, const found *f)
{
    assert(g->n <= g->at_most);
    if (g->n == g->at_most) {
        g->all = false;
        if (g->n > 0 && is_later(&g->heap[0], f)) {
            g->heap[0] = *f;
            sift_down(g->heap, g->n, 0);
        }
        assert(is_heap(g));
        return EK_OK;
    }
    found *room = ek__with_room(g->heap, &g->capacity, g->n + 1, sizeof *room);
    if (!room)
        return ek__no_memory(g->err);
    g->heap = room;
    room[g->n++] = *f;
    sift_up(room, g->n - 1);
    assert(is_heap(g));
    return EK_OK;
}

static bool is_beyond_kept(const gathering *g, int64_t time)
{
    return g->n == g->at_most && (g->n == 0 || time > g->heap[0].time);
}

/* Was an arrow's beginning found on one of the tracks? */
static bool was_found(const gathering *g, const ek__index_opened *f, const ek__index_arrow *arrow)
{
    int64_t time = ek__index_shown(f, arrow->from_time);
    assert(arrow->from_track >= f->n_shown || f->first_track + (int)arrow->from_track < g->index->n_tracks);
    return time >= g->begin && time < g->end && arrow->from_track < f->n_shown &&
           g->asked[f->first_track + (int)arrow->from_track];
}

static ek_status gather(gathering *g, const ek__index_opened *f, const ek__index_track *track, bool to)
{
    ek__index_arrow arrow[BATCH];
    uint64_t at, n = to ? track->n_to : track->n_from;
    ek_status status = ek__index_first_arrow(f, track, to, ek__index_of_file(f, g->begin), &at, g->err);
    while (status == EK_OK && at < n) {
        size_t some = n - at < BATCH ? (size_t)(n - at) : BATCH;
        assert(some >= 1 && some <= BATCH);
        status = ek__index_read_arrows(f, track, to, at, some, arrow, g->err);
        for (size_t i = 0; i < some && status == EK_OK; i++) {
            found one = {ek__index_shown(f, to ? arrow[i].to_time : arrow[i].from_time), f, arrow[i]};
            one.arrow.unused = 0;
            if (one.time >= g->end)
                return EK_OK;
            if (is_beyond_kept(g, one.time)) {
                g->all = false;
                return EK_OK;
            }
            if (!to || !was_found(g, f, &arrow[i]))
                status = keep(g, &one);
        }
        at += some;
    }
    return status;
}

static int by_time(const void *a, const void *b)
{
    return is_later(a, b) ? 1 : is_later(b, a) ? -1 : 0;
}

static ek_status find_ends(const gathering *g, ek__index_groups *groups, const found *f, ek__index_arrow_seen *out)
{
    uint32_t at;
    ek__index_event event;
    const ek__index_arrow *arrow = &f->arrow;
    int from, to;
    assert(arrow->from_track < f->file->n_tracks && arrow->to_track < f->file->n_tracks);
    ek_status status = ek__index_locate_deepest(f->file, &f->file->track[arrow->from_track], arrow->from_time, groups,
                                                &from, &at, &event, g->err);
    if (status == EK_OK)
        status = ek__index_locate_deepest(f->file, &f->file->track[arrow->to_track], arrow->to_time, groups, &to, &at,
                                          &event, g->err);
    if (status == EK_OK)
        *out =
            (ek__index_arrow_seen){ek__index_shown(f->file, arrow->from_time), ek__index_shown(f->file, arrow->to_time),
                                   from < 0 ? -1 : f->file->first_row + from, to < 0 ? -1 : f->file->first_row + to,
                                   ek__index_name_number(f->file, arrow->name)};
    return status;
}

static ek_status find_all_ends(gathering *g, ek__index_arrow_seen *out)
{
    ek__index_groups *groups = calloc(1, sizeof *groups);
    ek_status status = groups ? EK_OK : ek__no_memory(g->err);
    assert(g->n <= g->at_most); /* places of `out` */
    if (g->n > 0)
        qsort(g->heap, g->n, sizeof *g->heap, by_time);
    for (size_t i = 0; i < g->n && status == EK_OK; i++)
        status = find_ends(g, groups, &g->heap[i], &out[i]);
    free(groups);
    return status;
}

static ek_status gather_all(gathering *g)
{
    ek_status status = EK_OK;
    for (int i = 0; i < g->n_tracks; i++)
        if (g->track[i] >= 0 && g->track[i] < g->index->n_tracks)
            g->asked[g->track[i]] = true;
    for (int i = 0; i < g->index->n_tracks && status == EK_OK; i++) {
        const ek__index_track *track;
        const ek__index_opened *f = g->asked[i] ? ek__index_find_track(g->index, i, &track) : NULL;
        if (!f)
            continue;
        status = gather(g, f, track, false);
        if (status == EK_OK)
            status = gather(g, f, track, true);
    }
    return status;
}

ek_status ek__index_arrows(const ek_trace_index *index, const int *track, int n_tracks, int64_t begin, int64_t end,
                           size_t at_most, ek__index_arrow_seen *out, size_t *n, bool *all, ek_error *err)
{
    gathering g = {.index = index,
                   .track = track,
                   .n_tracks = n_tracks,
                   .begin = begin,
                   .end = end,
                   .at_most = at_most,
                   .all = true,
                   .err = err};
    g.asked = ek__alloc((size_t)index->n_tracks, sizeof *g.asked);
    ek_status status = g.asked ? gather_all(&g) : ek__no_memory(err);
    if (status == EK_OK)
        status = find_all_ends(&g, out);
    if (status == EK_OK) {
        *n = g.n;
        *all = g.all;
    }
    free(g.heap);
    free(g.asked);
    return status;
}
