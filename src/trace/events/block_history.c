/* Pairs allocations with their releases by sorting: events by address, then by order, so that the life of every block
 * at an address is one run of them. Segments are few and may be mapped and unmapped in parts, so the mapped ones are
 * stored as pieces in order of address, from which ranges are cut. Neither checks whether blocks are within
 * segments. */
#include "trace/events/block_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- blocks ---- */

/* An event, or, with `is_left`, a block or segment that remained at the end. */
typedef struct step {
    int64_t address;
    size_t order;
    bool is_left;
} step;

static int by_address(const void *a, const void *b)
{
    const step *p = a, *q = b;
    if (p->address != q->address)
        return p->address < q->address ? -1 : 1;
    if (p->is_left != q->is_left)
        return p->is_left ? 1 : -1;
    return (p->order > q->order) - (p->order < q->order);
}

static bool is_of_blocks(ek__block_action action)
{
    return action == EK__BLOCK_ALLOC || action == EK__BLOCK_FREE_REQUESTED || action == EK__BLOCK_FREE_COMPLETED;
}

/* The block at an address during the walk over its run of events. */
typedef struct open_block {
    bool is_open;
    int64_t requested; /* EK_TRACE_UNKNOWN */
    ek_trace_block block;
} open_block;

static ek_status close_block(open_block *open, int64_t end, ek__block_list *out, ek_error *err)
{
    open->block.end = end;
    open->is_open = false;
    return ek__block_list_add(out, &open->block, err);
}

static void begin_block(open_block *open, int64_t start, int64_t address, int64_t bytes, int site, int stack)
{
    *open = (open_block){true, EK_TRACE_UNKNOWN, {start, EK_TRACE_UNKNOWN, bytes, address, 0, site, stack}};
}

static ek_status take_event(const ek__block_event *e, open_block *open, ek__block_list *out, ek_error *err)
{
    ek_status status = EK_OK;
    if (e->action == EK__BLOCK_ALLOC) {
        if (open->is_open) {
            bool asked = open->requested != EK_TRACE_UNKNOWN;
            out->n_contradictions += !asked;
            status = close_block(open, asked ? open->requested : e->time, out, err);
        }
        begin_block(open, e->time, e->address, e->bytes, e->site, e->stack);
        return status;
    }
    if (!open->is_open) /* its own stack is that of the free */
        begin_block(open, EK_TRACE_UNKNOWN, e->address, e->bytes, -1, -1);
    if (e->action == EK__BLOCK_FREE_REQUESTED)
        open->requested = e->time;
    else
        status = close_block(open, e->time, out, err);
    return status;
}

/* The pieces of one address are closed. */
static ek_status end_run(const ek__block_history *h, open_block *open, const ek__block_left *left, ek__block_list *out,
                         ek_error *err)
{
    if (left && !open->is_open)
        begin_block(open, EK_TRACE_UNKNOWN, left->address, left->bytes, left->site, left->stack);
    if (!open->is_open)
        return EK_OK;
    if (left || !h->tells_end) {
        if (left && open->block.stack < 0)
            open->block.stack = left->stack;
        if (left && open->block.site < 0)
            open->block.site = left->site;
        return close_block(open, left ? EK_TRACE_UNKNOWN : open->requested, out, err);
    }
    bool asked = open->requested != EK_TRACE_UNKNOWN;
    out->n_contradictions += !asked;
    return close_block(open, asked ? open->requested : h->end, out, err);
}

static ek_status pair_blocks(const ek__block_history *h, ek__block_list *out, ek_error *err)
{
    step *steps = ek__alloc(h->n + h->n_blocks, sizeof *steps);
    size_t n = 0;
    if (!steps)
        return ek__no_memory(err);
    for (size_t i = 0; i < h->n; i++)
        if (is_of_blocks(h->event[i].action))
            steps[n++] = (step){h->event[i].address, i, false};
    for (size_t i = 0; i < h->n_blocks; i++)
        steps[n++] = (step){h->block[i].address, i, true};
    if (n > 1)
        qsort(steps, n, sizeof *steps, by_address);
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && !status;) {
        open_block open = {0};
        const ek__block_left *left = NULL;
        int64_t address = steps[i].address;
        for (; i < n && !status && steps[i].address == address; i++) {
            if (steps[i].is_left)
                left = &h->block[steps[i].order];
            else
                status = take_event(&h->event[steps[i].order], &open, out, err);
        }
        status = status ? status : end_run(h, &open, left, out, err);
    }
    free(steps);
    return status;
}

/* ---- segments ---- */

/* Mapped pieces, by address; they do not overlap. */
typedef struct pieces {
    ek_trace_memory_segment *at;
    size_t n, capacity;
} pieces;

static int64_t end_of(const ek_trace_memory_segment *s)
{
    return s->address + s->bytes;
}

/* The first piece that ends after an address. */
static size_t find(const pieces *p, int64_t address)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(&p->at[middle]) > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Make room for `put` pieces instead of `gone` ones at an index. */
static ek_status replace(pieces *p, size_t index, size_t gone, const ek_trace_memory_segment *put, size_t n,
                         ek_error *err)
{
    ek_trace_memory_segment *larger = ek__with_room(p->at, &p->capacity, p->n + n + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(err);
    p->at = larger;
    memmove(p->at + index + n, p->at + index + gone, (p->n - index - gone) * sizeof *p->at);
    for (size_t i = 0; i < n; i++)
        p->at[index + i] = put[i];
    p->n = p->n + n - gone;
    return EK_OK;
}

/* The mapped parts of [from, to) end at `time`; the other parts were mapped from before the record until `time`, when
 * `tells_before`. */
static ek_status cut(pieces *p, int64_t from, int64_t to, int64_t time, bool tells_before, bool joins,
                     ek__block_list *out, ek_error *err)
{
    size_t first = find(p, from), last = first;
    ek_trace_memory_segment rest[2];
    size_t n_rest = 0;
    ek_status status = EK_OK;
    int64_t at = from;
    for (; last < p->n && p->at[last].address < to && !status; last++) {
        ek_trace_memory_segment piece = p->at[last], ended = piece;
        ended.address = piece.address > from ? piece.address : from;
        ended.bytes = (end_of(&piece) < to ? end_of(&piece) : to) - ended.address;
        ended.end = time;
        if (tells_before && ended.address > at)
            status = ek__block_list_add_segment(
                out, &(ek_trace_memory_segment){EK_TRACE_UNKNOWN, time, ended.address - at, at, 0, joins}, err);
        status = status ? status : ek__block_list_add_segment(out, &ended, err);
        at = end_of(&ended);
        if (piece.address < from) {
            rest[n_rest] = piece;
            rest[n_rest++].bytes = from - piece.address;
        }
        if (end_of(&piece) > to) {
            rest[n_rest] = piece;
            rest[n_rest].bytes = end_of(&piece) - to;
            rest[n_rest++].address = to;
        }
    }
    if (tells_before && at < to && !status)
        status = ek__block_list_add_segment(
            out, &(ek_trace_memory_segment){EK_TRACE_UNKNOWN, time, to - at, at, 0, joins}, err);
    return status ? status : replace(p, first, last - first, rest, n_rest, err);
}

static ek_status take_segment_event(const ek__block_event *e, pieces *p, ek__block_list *out, ek_error *err)
{
    bool joins = e->action == EK__SEGMENT_MAP || e->action == EK__SEGMENT_UNMAP;
    bool begins = e->action == EK__SEGMENT_ALLOC || e->action == EK__SEGMENT_MAP;
    int64_t to = e->address + e->bytes;
    if (e->bytes == 0)
        return EK_OK;
    size_t at = find(p, e->address);
    if (begins && at < p->n && p->at[at].address < to)
        out->n_contradictions++;
    ek_status status = cut(p, e->address, to, e->time, !begins, joins, out, err);
    if (status || !begins)
        return status;
    const ek_trace_memory_segment piece = {e->time, EK_TRACE_UNKNOWN, e->bytes, e->address, 0, joins};
    return replace(p, find(p, e->address), 0, &piece, 1, err);
}

static int by_left_address(const void *a, const void *b)
{
    const ek__block_left *p = a, *q = b;
    if (p->address != q->address)
        return p->address < q->address ? -1 : 1;
    return (p->bytes > q->bytes) - (p->bytes < q->bytes);
}

/* Segments that remained at the end, without events, were mapped from before the record. */
static ek_status add_left(const ek__block_left *left, size_t n, const pieces *p, ek__block_list *out, ek_error *err)
{
    ek_status status = EK_OK;
    int64_t behind = 0; /* ranges below are done already */
    for (size_t i = 0; i < n && !status; i++) {
        int64_t at = left[i].address > behind ? left[i].address : behind, to = left[i].address + left[i].bytes;
        for (size_t k = find(p, at); at < to && !status; k++) {
            int64_t next = k < p->n && p->at[k].address < to ? p->at[k].address : to;
            if (next > at)
                status = ek__block_list_add_segment(
                    out,
                    &(ek_trace_memory_segment){EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN, next - at, at, 0, left[i].joins},
                    err);
            at = next < to ? end_of(&p->at[k]) : to;
        }
        behind = to > behind ? to : behind;
    }
    return status;
}

/* Does a segment that remained at the end reach into the piece? */
static bool is_left(const ek__block_left *left, size_t n, const ek_trace_memory_segment *piece)
{
    size_t low = 0, high = n; /* the first one that begins at or after the piece's end */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (left[middle].address < end_of(piece))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && left[low - 1].address + left[low - 1].bytes > piece->address;
}

static ek_status pair_segments(const ek__block_history *h, ek__block_list *out, ek_error *err)
{
    pieces p = {0};
    ek_status status = EK_OK;
    ek__block_left *left = ek__alloc(h->n_segments, sizeof *left);
    if (!left)
        return ek__no_memory(err);
    if (h->n_segments > 0)
        memcpy(left, h->segment, h->n_segments * sizeof *left);
    if (h->n_segments > 1)
        qsort(left, h->n_segments, sizeof *left, by_left_address);
    for (size_t i = 0; i < h->n && !status; i++)
        if (!is_of_blocks(h->event[i].action))
            status = take_segment_event(&h->event[i], &p, out, err);
    status = status ? status : add_left(left, h->n_segments, &p, out, err);
    for (size_t i = 0; i < p.n && !status; i++) {
        bool ends = h->tells_end && !is_left(left, h->n_segments, &p.at[i]);
        out->n_contradictions += ends;
        p.at[i].end = ends ? h->end : EK_TRACE_UNKNOWN;
        status = ek__block_list_add_segment(out, &p.at[i], err);
    }
    free(left);
    free(p.at);
    return status;
}

ek_status ek__block_history_pair(const ek__block_history *history, ek__block_list *out, ek_error *err)
{
    ek_status status = pair_blocks(history, out, err);
    return status ? status : pair_segments(history, out, err);
}
