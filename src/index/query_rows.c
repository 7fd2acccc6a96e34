/* Turns a row into boxes for a picture with a given number of nanoseconds per pixel. The row is walked from its chunks
 * down: a chunk or group that is short and has no visible gap becomes one box from its sums, a longer one is read. So a
 * picture costs a few sums or events per pixel, independent of the number of events. Neighbours that are too short to
 * distinguish are joined. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "index/opened.h"

enum { LEAST_BOXES = 8 /* with fewer the limit could not be kept at both borders */ };

/* State of walking one row. Times of the file's clock. */
typedef struct picture {
    const ek__index_opened *file;
    const ek__index_row *row;
    int64_t begin, end, resolution;
    size_t at_most;
    ek__index_blocks *out;
    size_t first; /* earlier boxes in the list */
    bool joinable;
    int64_t longest; /* of the last box */
    bool full;
    ek__index_event *event; /* [EK__INDEX_READ_EVENTS] */
    ek__index_sum group[EK__CHUNK_GROUPS];
    ek_error *err;
} picture;

/* The item to add: an event or a sum. */
typedef struct piece {
    int64_t begin, end, busy, longest;
    uint32_t name, type, n, index;
} piece;

void ek__index_blocks_clear(ek__index_blocks *blocks)
{
    free(blocks->block);
    *blocks = (ek__index_blocks){0};
}

/* Avoids a product that could overflow. */
static bool is_beyond_two_pixels(int64_t length, int64_t resolution)
{
    return length > resolution && length - resolution > resolution;
}

static bool join(picture *p, const piece *add)
{
    if (!p->joinable || add->longest >= p->resolution)
        return false;
    assert(p->out->n > p->first); /* this row has a last box */
    ek__index_block *last = &p->out->block[p->out->n - 1];
    if (ek__ns_sub(add->begin, last->end) >= p->resolution ||
        is_beyond_two_pixels(ek__ns_sub(add->end, last->begin), p->resolution))
        return false;
    last->end = add->end > last->end ? add->end : last->end;
    last->busy = ek__ns_add(last->busy, add->busy);
    last->n = last->n > UINT32_MAX - add->n ? UINT32_MAX : last->n + add->n;
    if (add->longest > p->longest) {
        p->longest = add->longest;
        last->name = add->name;
        last->type = (uint8_t)add->type;
    }
    return true;
}

static ek_status add_piece(picture *p, const piece *add)
{
    assert(add->n >= 1 && add->index < p->row->n_events && add->type < EK_N_VIEW_TYPES);
    if (p->full || join(p, add))
        return EK_OK;
    if (p->at_most > 0 && p->out->n - p->first >= p->at_most) {
        p->full = true;
        return EK_OK;
    }
    ek__index_block *room = ek__with_room(p->out->block, &p->out->capacity, p->out->n + 1, sizeof *room);
    if (!room)
        return ek__no_memory(p->err);
    p->out->block = room;
    room[p->out->n++] =
        (ek__index_block){add->begin, add->end, add->busy, add->name, add->n, add->index, (uint8_t)add->type};
    p->longest = add->longest;
    p->joinable = add->longest < p->resolution;
    assert(p->at_most == 0 || p->out->n - p->first <= p->at_most);
    return EK_OK;
}

/* Short, and without a visible gap? */
static bool is_taken_whole(const picture *p, const ek__index_sum *sum)
{
    int64_t length = ek__ns_sub(sum->end, sum->begin);
    if (sum->longest >= p->resolution || length < 0)
        return false;
    return length <= p->resolution ||
           (!is_beyond_two_pixels(length, p->resolution) && ek__ns_sub(length, sum->busy) < p->resolution);
}

static ek_status add_sum(picture *p, const ek__index_sum *sum, uint32_t n, uint32_t index)
{
    uint32_t type = sum->longest_type < EK_N_VIEW_TYPES ? sum->longest_type : EK_VIEW_OTHER;
    piece add = {sum->begin, sum->end, sum->busy, sum->longest, sum->longest_name, type, n, index};
    return add_piece(p, &add);
}

static ek_status add_events(picture *p, uint32_t n, uint32_t index)
{
    ek_status status = EK_OK;
    assert(n <= EK__INDEX_READ_EVENTS);
    for (uint32_t i = 0; i < n && status == EK_OK; i++) {
        const ek__index_event *e = &p->event[i];
        int64_t end = ek__index_event_end(e);
        if (!ek__index_overlaps(e->begin, end, p->begin, p->end))
            continue;
        piece add = {e->begin, end, e->duration, e->duration, e->name, EK__EVENT_TYPE(e), 1, index + i};
        status = add_piece(p, &add);
    }
    return status;
}

static bool is_seen(const picture *p, const ek__index_sum *sum)
{
    return sum->begin < p->end && sum->end >= p->begin;
}

/* Groups of a chunk; consecutive groups with needed events are read together. */
static ek_status add_chunk(picture *p, const ek__index_chunk *chunk, uint32_t index)
{
    const ek__index_sum *group = p->group;
    uint32_t n = ek__index_n_groups(chunk);
    ek_status status = ek__index_read_groups(p->file, chunk, p->group, p->err);
    for (uint32_t g = 0; g < n && status == EK_OK && !p->full;) {
        uint32_t from = g, first = g * EK__GROUP_EVENTS;
        if (!is_seen(p, &group[g])) {
            g++;
            continue;
        }
        if (is_taken_whole(p, &group[g])) {
            status = add_sum(p, &group[g], ek__index_group_size(chunk, g), index + first);
            g++;
            continue;
        }
        while (g < n && (g - from) * EK__GROUP_EVENTS < EK__INDEX_READ_EVENTS && is_seen(p, &group[g]) &&
               !is_taken_whole(p, &group[g]))
            g++;
        uint32_t last = g * EK__GROUP_EVENTS < chunk->sum.n ? g * EK__GROUP_EVENTS : chunk->sum.n;
        assert(g > from && last > first);
        status = ek__index_read_chunk(p->file, chunk, first, last - first, p->event, p->err);
        if (status == EK_OK)
            status = add_events(p, last - first, index + first);
    }
    return status;
}

static ek_status add_row(picture *p)
{
    ek_status status = EK_OK;
    uint64_t c = ek__index_first_chunk(p->file, p->row, p->begin);
    for (; c < p->row->n_chunks && status == EK_OK && !p->full; c++) {
        const ek__index_chunk *chunk = ek__index_row_chunk(p->file, p->row, c);
        uint32_t index = (uint32_t)c * EK__CHUNK_EVENTS;
        if (chunk->sum.begin >= p->end)
            break;
        if (is_taken_whole(p, &chunk->sum))
            status = add_sum(p, &chunk->sum, chunk->sum.n, index);
        else
            status = add_chunk(p, chunk, index);
    }
    return status;
}

/* With this many nanoseconds per pixel there are at most at_most boxes: if two successive boxes are not joined, the
 * begin of the first and the end of the second are at least a pixel apart. */
static int64_t enough_for(const picture *p)
{
    assert(p->at_most >= LEAST_BOXES);
    int64_t begin = p->begin > p->row->sum.begin ? p->begin : p->row->sum.begin;
    int64_t end = p->end < p->row->sum.end ? p->end : p->row->sum.end;
    int64_t length = ek__ns_sub(end, begin);
    return length <= 0 ? 1 : ek__ns_add(2 * (length / (int64_t)(p->at_most - 6)), 3);
}

static void show(picture *p)
{
    for (size_t i = p->first; i < p->out->n; i++) {
        ek__index_block *b = &p->out->block[i];
        b->begin = ek__index_shown(p->file, b->begin);
        b->end = ek__index_shown(p->file, b->end);
        b->name = ek__index_name_number(p->file, b->name);
    }
}

ek_status ek__index_row_blocks(const ek_trace_index *index, int row, int64_t begin, int64_t end, int64_t resolution,
                               size_t at_most, ek__index_blocks *out, ek_error *err)
{
    const ek__index_row *r;
    const ek__index_opened *f = ek__index_find_row(index, row, &r);
    if (!f)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no row %d; rows are numbered from 0 to %d", row,
                        index->n_rows - 1);
    picture p = {.file = f,
                 .row = r,
                 .begin = ek__index_of_file(f, begin),
                 .end = ek__index_of_file(f, end),
                 .resolution = resolution > 0 ? resolution : 0,
                 .at_most = at_most > 0 && at_most < LEAST_BOXES ? LEAST_BOXES : at_most,
                 .out = out,
                 .first = out->n,
                 .err = err};
    p.event = malloc(EK__INDEX_READ_EVENTS * sizeof *p.event);
    if (!p.event)
        return ek__no_memory(err);
    ek_status status = add_row(&p);
    if (status == EK_OK && p.full) {
        int64_t enough = enough_for(&p);
        p.resolution = enough > p.resolution ? enough : p.resolution;
        p.full = p.joinable = false;
        out->n = p.first;
        status = add_row(&p);
    }
    free(p.event);
    if (status == EK_OK)
        show(&p);
    else
        out->n = p.first;
    return status;
}
