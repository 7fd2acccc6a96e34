/* Joins begin and end records ("ph" B and E) to events: an end closes the last open begin of its thread, in order of
 * time and then of the file. Unmatched begins and ends are counted as odd. */
#include "index/records.h"

#include <assert.h>
#include <stdlib.h>

enum { GATHERED = 256 };

/* One thread's open begins, and pairs to be added to the other events. */
typedef struct closing {
    ek__index_store *store;
    uint32_t track;
    size_t n_open, open_capacity;
    uint64_t *open; /* [n_open] records */
    size_t n;
    uint64_t words[GATHERED * EK__EVENT_WORDS];
    uint32_t bucket[GATHERED];
} closing;

static ek_status add(closing *c, ek_error *err)
{
    ek_status status = ek__sorter_add(&c->store->events, c->words, c->bucket, c->n, err);
    c->n = 0;
    return status;
}

static ek_status open_span(closing *c, const uint64_t *words, ek_error *err)
{
    uint64_t *room = ek__with_room(c->open, &c->open_capacity, c->n_open + 1, EK__SPAN_WORDS * sizeof *room);
    if (!room)
        return ek__no_memory(err);
    c->open = room;
    assert(words[3] == EK__SPAN_BEGIN && c->n_open < c->open_capacity);
    for (int i = 0; i < EK__SPAN_WORDS; i++)
        room[EK__SPAN_WORDS * c->n_open + (size_t)i] = words[i];
    c->n_open++;
    return EK_OK;
}

static ek_status close_span(closing *c, const uint64_t *words, ek_error *err)
{
    if (c->n_open == 0) {
        c->store->base.n_odd++;
        return EK_OK;
    }
    const uint64_t *open = c->open + EK__SPAN_WORDS * --c->n_open;
    int64_t begin = ek__unsort_signed(open[0]), end = ek__unsort_signed(words[0]);
    assert(begin <= end && c->n < GATHERED); /* in order of time */
    uint64_t *event = c->words + EK__EVENT_WORDS * c->n;
    ek__name_count *count = &c->store->names.count[open[2] >> 32];
    event[0] = open[0];
    event[1] = ~(uint64_t)(end - begin);
    event[2] = open[1];
    event[3] = open[2];
    c->bucket[c->n++] = c->track;
    count->n++;
    if (__builtin_add_overflow(count->total, end - begin, &count->total))
        count->total = INT64_MAX;
    c->store->begin = begin < c->store->begin ? begin : c->store->begin;
    c->store->end = end > c->store->end ? end : c->store->end;
    return c->n == GATHERED ? add(c, err) : EK_OK;
}

static ek_status close_track(closing *c, ek__sort_stream *stream, ek_error *err)
{
    const uint64_t *words;
    c->n_open = 0;
    assert(c->track < c->store->spans.n_buckets);
    ek_status status = ek__sort_stream_open(stream, &c->store->spans, c->track, err);
    while (status == EK_OK && (words = ek__sort_stream_next(stream, &status, err)))
        status = words[3] == EK__SPAN_BEGIN ? open_span(c, words, err) : close_span(c, words, err);
    c->store->base.n_odd += (int64_t)c->n_open;
    return status;
}

ek_status ek__close_spans(ek__index_store *store, ek_error *err)
{
    ek__sort_stream stream = {0};
    ek_status status = ek__sorter_finish(&store->spans, err);
    closing *c = store->spans.n_runs > 0 ? ek__alloc(1, sizeof *c) : NULL;
    if (status != EK_OK || store->spans.n_runs == 0)
        return status;
    if (!c)
        return ek__no_memory(err);
    c->store = store;
    for (c->track = 0; c->track < store->spans.n_buckets && status == EK_OK; c->track++)
        if (ek__sorter_count(&store->spans, c->track) > 0)
            status = close_track(c, &stream, err);
    if (status == EK_OK)
        status = add(c, err);
    ek__sort_stream_clear(&stream);
    ek__sorter_clear(&store->spans);
    free(c->open);
    free(c);
    return status;
}
