/* Answers with the longest events of some rows within a stretch of time, for a list of them. Rows are read event by
 * event from the first one that reaches into the stretch; a heap contains the longest so far. The number of events read
 * is limited: beyond it the answer is marked as partial. */
#include <stdlib.h>

#include "base/error.h"
#include "serve/answer.h"

enum { MAX_LOOKED_AT = 1 << 20, BLOCK = 1024 };

typedef struct listed {
    int row;
    uint32_t index;
    ek__index_event event;
} listed;

typedef struct listing {
    const ek_trace_index *index;
    int64_t begin, end;
    listed *heap; /* [n], the shortest first; of equal ones the last */
    int n, most;
    int64_t n_looked_at, n_inside;
    ek__index_event block[BLOCK];
} listing;

/* Is `a` replaced by `b`? The order of events is the same for all requests. */
static bool is_less(const listed *a, const listed *b)
{
    if (a->event.duration != b->event.duration)
        return a->event.duration < b->event.duration;
    if (a->event.begin != b->event.begin)
        return a->event.begin > b->event.begin;
    return a->row != b->row ? a->row > b->row : a->index > b->index;
}

static void swap(listed *a, listed *b)
{
    listed kept = *a;
    *a = *b;
    *b = kept;
}

static void sink(listing *l)
{
    for (int at = 0, least;; at = least) {
        least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < l->n; child++)
            if (is_less(&l->heap[child], &l->heap[least]))
                least = child;
        if (least == at)
            return;
        swap(&l->heap[at], &l->heap[least]);
    }
}

static void add(listing *l, const listed *one)
{
    l->n_inside++;
    if (l->n < l->most) {
        int at = l->n++;
        l->heap[at] = *one;
        for (; at > 0 && is_less(&l->heap[at], &l->heap[(at - 1) / 2]); at = (at - 1) / 2)
            swap(&l->heap[at], &l->heap[(at - 1) / 2]);
    } else if (is_less(&l->heap[0], one)) {
        l->heap[0] = *one;
        sink(l);
    }
}

/* The first event of a row that ends after the start of the stretch, or begins in it. O(log n) reads. */
static ek_status find_first(listing *l, int row, uint32_t *first, ek_error *err)
{
    uint32_t low = 0, high = (uint32_t)ek__index_row_events(l->index, row);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        ek__index_event one;
        ek_status status = ek__index_events(l->index, row, middle, 1, &one, err);
        if (status)
            return status;
        if (one.begin < l->begin && one.begin + one.duration <= l->begin)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    return EK_OK;
}

static ek_status read_row(listing *l, int row, ek_error *err)
{
    int64_t n_events = ek__index_row_events(l->index, row);
    uint32_t at;
    ek_status status = find_first(l, row, &at, err);
    while (status == EK_OK && at < n_events && l->n_looked_at < MAX_LOOKED_AT) {
        uint32_t n = n_events - at < BLOCK ? (uint32_t)(n_events - at) : BLOCK;
        status = ek__index_events(l->index, row, at, n, l->block, err);
        for (uint32_t i = 0; i < n && status == EK_OK; i++, at++) {
            l->n_looked_at++;
            if (l->block[i].begin >= l->end)
                return EK_OK;
            add(l, &(listed){row, at, l->block[i]});
        }
    }
    return status;
}

static int longest_first(const void *a, const void *b)
{
    return is_less(a, b) ? 1 : -1;
}

static ek_status print(listing *l, ek__reply *out, ek_error *err)
{
    ek__answer_json json;
    ek_status status = ek__answer_json_begin(&json, err);
    if (status)
        return status;
    qsort(l->heap, (size_t)l->n, sizeof *l->heap, longest_first);
    ek__stream_object(&json.s, NULL, false);
    ek__stream_bool(&json.s, "all", l->n_inside == l->n && l->n_looked_at < MAX_LOOKED_AT);
    ek__stream_list(&json.s, "events", false);
    for (int i = 0; i < l->n; i++) {
        const listed *one = &l->heap[i];
        ek__stream_list(&json.s, NULL, false);
        ek__stream_int(&json.s, NULL, one->row);
        ek__stream_int(&json.s, NULL, one->index);
        ek__stream_int(&json.s, NULL, one->event.begin);
        ek__stream_int(&json.s, NULL, one->event.begin + one->event.duration);
        ek__answer_json_name(&json, NULL, l->index, one->event.name);
        ek__stream_end(&json.s);
    }
    ek__stream_end(&json.s);
    ek__stream_end(&json.s);
    return ek__answer_json_end(&json, out, err);
}

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    const int *rows;
    if (ek__answer_rows_of(serving, request, &rows, err))
        return EK_ERR_INPUT;
    listing *l = ek__alloc(1, sizeof *l);
    listed *heap = ek__alloc((size_t)request->limit, sizeof *heap);
    ek_status status = l && heap ? EK_OK : ek__no_memory(err);
    if (status == EK_OK) {
        *l = (listing){.index = serving->index,
                       .begin = request->begin,
                       .end = request->end,
                       .heap = heap,
                       .most = request->limit};
        for (int i = 0; i < request->rows.n && status == EK_OK; i++)
            status = read_row(l, rows[i], err);
    }
    if (status == EK_OK)
        status = print(l, out, err);
    free(heap);
    free(l);
    return status;
}

const ek__answer ek__answer_events = {
    .name = "events", .needs = EK__HAS(ROWS) | EK__HAS(BEGIN) | EK__HAS(END) | EK__HAS(LIMIT), .make = make};
