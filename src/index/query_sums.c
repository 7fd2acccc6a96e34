/* Sums time by name, type and track over a time range, in several calls. Sums of chunks and groups are not split by
 * name, so every event of the range is read, in large reads; a small cache before the hash table has the recent names.
 * Within a file equal names have equal numbers and a track belongs to one file, so totals are identified by these
 * numbers. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "index/opened.h"

enum { RECENT = 1024 /* a power of two */, FIRST_SLOTS = 1024, READS_BETWEEN_LOOKS = 2 };

/* Numbers of totals + 1 by hash; 0 is free. */
typedef struct slots {
    size_t n; /* a power of two */
    uint32_t at[];
} slots;

typedef struct recent {
    uint32_t name, type, total; /* total + 1; 0: free */
} recent;

typedef struct summing {
    const ek__index_opened *file;
    const ek__index_row *row;
    int track;
    int64_t begin, end; /* of the file's clock */
    ek__index_summing *state;
    recent recent[RECENT];
    ek__index_event event[EK__INDEX_READ_EVENTS];
    struct timespec start;
    int milliseconds;
    ek_error *err;
} summing;

void ek__index_summing_clear(ek__index_summing *state)
{
    free(state->total);
    free(state->slots);
    *state = (ek__index_summing){0};
}

/* ---- the hash table ---- */

static size_t hash_of(uint32_t name, uint32_t type, int track)
{
    uint64_t key = ((uint64_t)name << 32 | (uint32_t)track) ^ ((uint64_t)type << 56);
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key ^ (key >> 32));
}

/* n: a power of two, greater than the number of totals, so that a free place ends every search. */
static bool make_slots(ek__index_summing *state, size_t n)
{
    assert(n > state->n && (n & (n - 1)) == 0);
    slots *s = n < (SIZE_MAX - sizeof *s) / sizeof *s->at ? calloc(1, sizeof *s + n * sizeof *s->at) : NULL;
    if (!s)
        return false;
    s->n = n;
    for (size_t i = 0; i < state->n; i++) {
        const ek__index_total *t = &state->total[i];
        size_t at = hash_of(t->name, t->type, t->track) & (n - 1);
        while (s->at[at])
            at = (at + 1) & (n - 1);
        s->at[at] = (uint32_t)i + 1;
    }
    free(state->slots);
    state->slots = s;
    return true;
}

/* The number of a total, added if new; UINT32_MAX when out of memory. */
static uint32_t total_of(ek__index_summing *state, uint32_t name, uint32_t type, int track)
{
    slots *s = state->slots;
    if ((!s || 2 * state->n >= s->n) && !make_slots(state, s ? 2 * s->n : FIRST_SLOTS))
        return UINT32_MAX;
    s = state->slots;
    size_t at = hash_of(name, type, track) & (s->n - 1);
    for (; s->at[at]; at = (at + 1) & (s->n - 1)) {
        const ek__index_total *t = &state->total[s->at[at] - 1];
        if (t->name == name && t->type == type && t->track == track)
            return s->at[at] - 1;
    }
    void *room = state->n < UINT32_MAX - 1
                     ? ek__with_room(state->total, &state->capacity, state->n + 1, sizeof *state->total)
                     : NULL;
    if (!room)
        return UINT32_MAX;
    state->total = room;
    state->total[state->n] = (ek__index_total){.name = name, .type = (uint8_t)type, .track = track};
    s->at[at] = (uint32_t)++state->n;
    assert(2 * state->n <= s->n + 1);
    return (uint32_t)state->n - 1;
}

/* ---- events ---- */

static bool add(summing *s, const ek__index_event *e)
{
    int64_t end = ek__index_event_end(e), from = e->begin > s->begin ? e->begin : s->begin;
    if (!ek__index_overlaps(e->begin, end, s->begin, s->end))
        return true;
    uint32_t type = EK__EVENT_TYPE(e);
    recent *r = &s->recent[(e->name ^ type << 5) % RECENT];
    if (!r->total || r->name != e->name || r->type != type) {
        uint32_t total = total_of(s->state, ek__index_name_number(s->file, e->name), type, s->track);
        if (total == UINT32_MAX)
            return false;
        *r = (recent){e->name, type, total + 1};
    }
    assert(r->total >= 1 && r->total <= s->state->n && type < EK_N_VIEW_TYPES);
    ek__index_total *t = &s->state->total[r->total - 1];
    t->n++;
    t->total = ek__ns_add(t->total, ek__ns_sub(end < s->end ? end : s->end, from));
    return true;
}

static bool is_time_up(const summing *s)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - s->start.tv_sec) * 1000 + (now.tv_nsec - s->start.tv_nsec) / 1000000 >= s->milliseconds;
}

/* The first event of the row that may overlap the range. */
static uint64_t first_event(const summing *s)
{
    uint64_t c = ek__index_first_chunk(s->file, s->row, s->begin);
    return c * EK__CHUNK_EVENTS < s->row->n_events ? c * EK__CHUNK_EVENTS : s->row->n_events;
}

/* Continue with one read of the row. @return EK_OK; *done when the row has no more */
static ek_status read_on(summing *s, bool *done)
{
    uint64_t at = s->state->next_event, n = s->row->n_events;
    *done = at >= n;
    if (*done)
        return EK_OK;
    const ek__index_chunk *chunk = ek__index_row_chunk(s->file, s->row, at / EK__CHUNK_EVENTS);
    if (chunk->sum.begin >= s->end) {
        *done = true;
        return EK_OK;
    }
    uint32_t within = (uint32_t)(at % EK__CHUNK_EVENTS), rest = chunk->sum.n - within;
    uint32_t some = rest < EK__INDEX_READ_EVENTS ? rest : EK__INDEX_READ_EVENTS;
    assert(within < chunk->sum.n && some >= 1 && at + some <= n);
    ek_status status = ek__index_read_chunk(s->file, chunk, within, some, s->event, s->err);
    for (uint32_t i = 0; i < some && status == EK_OK; i++) {
        if (!add(s, &s->event[i]))
            status = ek__no_memory(s->err);
        *done = *done || s->event[i].begin >= s->end;
    }
    if (status == EK_OK)
        s->state->next_event = at + some;
    return status;
}

static ek_status sum_row(summing *s, bool *done)
{
    ek_status status = EK_OK;
    memset(s->recent, 0, sizeof s->recent);
    if (s->state->next_event == 0)
        s->state->next_event = first_event(s);
    for (int reads = 0; status == EK_OK; reads++) {
        status = read_on(s, done);
        if (*done || (reads % READS_BETWEEN_LOOKS == READS_BETWEEN_LOOKS - 1 && is_time_up(s)))
            break;
    }
    return status;
}

ek_status ek__index_sum_up(const ek_trace_index *index, const int *rows, int n_rows, int64_t begin, int64_t end,
                           int milliseconds, ek__index_summing *state, ek_error *err)
{
    assert(state->next_row >= 0 && state->n <= state->capacity);
    summing *s = malloc(sizeof *s);
    ek_status status = s ? EK_OK : ek__no_memory(err);
    if (s) {
        s->state = state;
        s->milliseconds = milliseconds;
        s->err = err;
        clock_gettime(CLOCK_MONOTONIC, &s->start);
    }
    while (status == EK_OK && state->next_row < n_rows) {
        bool done = true;
        int row = rows ? rows[state->next_row] : state->next_row;
        s->file = ek__index_find_row(index, row, &s->row);
        if (s->file) {
            s->track = s->file->first_track + (int)s->row->track;
            s->begin = ek__index_of_file(s->file, begin);
            s->end = ek__index_of_file(s->file, end);
            status = sum_row(s, &done);
        }
        if (status != EK_OK || !done)
            break;
        state->next_row++;
        state->next_event = 0;
        if (is_time_up(s))
            break;
    }
    free(s);
    return status;
}
