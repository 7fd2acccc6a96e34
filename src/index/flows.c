/* Makes arrows of flow ends sorted by type, id and time: from a start to every later step and end, or from step to step
 * where there are steps. An end without an earlier start gives no arrow. Two more sorts order the arrows by their begin
 * and by their end. */
#include "index/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ARROW_WORDS = 4, GATHERED = 1024 };

/* Arrows to be sorted. Words: track, time, other end's time, other end's track and name. */
typedef struct gathered {
    size_t n;
    uint64_t from[GATHERED * ARROW_WORDS], to[GATHERED * ARROW_WORDS];
    uint32_t bucket[GATHERED];
} gathered;

static ek_status add(ek__arrows *arrows, gathered *g, ek_error *err)
{
    assert(g->n <= GATHERED);
    ek_status status = ek__sorter_add(&arrows->from, g->from, g->bucket, g->n, err);
    if (status == EK_OK)
        status = ek__sorter_add(&arrows->to, g->to, g->bucket, g->n, err);
    arrows->n += g->n;
    g->n = 0;
    return status;
}

/* Two ends of one flow, the earlier one first. */
static void add_arrow(gathered *g, const uint64_t *begin, const uint64_t *end)
{
    assert(g->n < GATHERED && begin[0] == end[0] && begin[1] == end[1] && begin[2] <= end[2]);
    assert(begin[0] <= UINT32_MAX); /* a name */
    uint64_t *from = g->from + ARROW_WORDS * g->n, *to = g->to + ARROW_WORDS * g->n;
    uint64_t from_track = (uint32_t)begin[3], to_track = (uint32_t)end[3], name = begin[0];
    from[0] = from_track;
    to[0] = to_track;
    from[1] = to[2] = begin[2];
    to[1] = from[2] = end[2];
    from[3] = to_track << 32 | name;
    to[3] = from_track << 32 | name;
    g->n++;
}

static ek_status pair(const ek__index_file *file, ek__sort_stream *stream, ek__arrows *arrows, gathered *g,
                      ek_error *err)
{
    uint64_t start[EK__FLOW_WORDS] = {UINT64_MAX}; /* no arrow's name */
    const uint64_t *words;
    ek_status status = ek__sort_stream_open(stream, &file->store->flows, 0, err);
    while (status == EK_OK && (words = ek__sort_stream_next(stream, &status, err)) && !ek__index_stopped(file)) {
        uint64_t end = words[3] >> 32;
        assert(end <= EK__FLOW_END);
        bool goes_on = words[0] == start[0] && words[1] == start[1];
        if (goes_on && end != EK__FLOW_START)
            add_arrow(g, start, words);
        if (end == EK__FLOW_START || (goes_on && end == EK__FLOW_STEP))
            memcpy(start, words, sizeof start);
        if (g->n == GATHERED) {
            file->advance(file->user, GATHERED);
            status = add(arrows, g, err);
        }
    }
    return status == EK_OK ? add(arrows, g, err) : status;
}

ek_status ek__pair_flows(const ek__index_file *file, size_t bound, ek__arrows *out, ek_error *err)
{
    gathered *g = malloc(sizeof *g);
    ek__sort_stream stream = {0};
    out->n = 0;
    ek__sorter_init(&out->from, ARROW_WORDS, ARROW_WORDS, bound / 2, file->folder);
    ek__sorter_init(&out->to, ARROW_WORDS, ARROW_WORDS, bound / 2, file->folder);
    if (!g)
        return ek__no_memory(err);
    g->n = 0;
    memset(g->bucket, 0, sizeof g->bucket); /* one allocation for all */
    ek_status status = pair(file, &stream, out, g, err);
    if (status == EK_OK)
        status = ek__sorter_finish(&out->from, err);
    if (status == EK_OK)
        status = ek__sorter_finish(&out->to, err);
    ek__sort_stream_clear(&stream);
    free(g);
    return status;
}

void ek__arrows_clear(ek__arrows *arrows)
{
    ek__sorter_clear(&arrows->from);
    ek__sorter_clear(&arrows->to);
}

static ek__index_arrow unpack(const uint64_t *words, bool from)
{
    ek__index_arrow arrow = {.name = (uint32_t)words[3]};
    uint32_t track = (uint32_t)words[0], other = (uint32_t)(words[3] >> 32);
    arrow.from_track = from ? track : other;
    arrow.to_track = from ? other : track;
    arrow.from_time = ek__unsort_signed(words[from ? 1 : 2]);
    arrow.to_time = ek__unsort_signed(words[from ? 2 : 1]);
    return arrow;
}

ek_status ek__write_arrows(const ek__index_file *file, const ek__sorter *arrows, bool from, uint64_t at,
                           uint64_t *count, ek_error *err)
{
    ek__index_arrow some[GATHERED];
    size_t n = 0;
    const uint64_t *words;
    ek__sort_stream stream = {0};
    ek_status status = ek__sort_stream_open(&stream, arrows, 0, err);
    while (status == EK_OK && (words = ek__sort_stream_next(&stream, &status, err)) && !ek__index_stopped(file)) {
        assert(words[0] < (uint64_t)file->trace->n_tracks && n < GATHERED);
        count[words[0]]++;
        some[n++] = unpack(words, from);
        if (n == GATHERED) {
            status = ek__output_write(file->output, some, sizeof some, at, err);
            at += sizeof some;
            file->advance(file->user, n);
            n = 0;
        }
    }
    if (status == EK_OK)
        status = ek__output_write(file->output, some, n * sizeof *some, at, err);
    ek__sort_stream_clear(&stream);
    return status;
}
