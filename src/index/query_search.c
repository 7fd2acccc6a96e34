/* Searches events by name. Names that contain the text are found once, by a scan of all names; then events with such a
 * name are searched in order of time. A chunk or group is read only if its mask of names has the bit of a matching
 * name. Rows are searched in parallel over growing time ranges, so that a near hit is found without reading a row
 * without hits to its end; every row continues at its last position. Worst case: a rare name that shares its bit with
 * frequent ones; then all events in between are read, once. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "index/opened.h"

struct ek__index_search {
    uint32_t n_numbers; /* names of the index */
    uint32_t n_names;   /* the matching ones */
    uint64_t n_events;
    unsigned char *match; /* [n_numbers / 8 + 1], a bit per name */
    uint64_t *mask;       /* [n_files]: bits of the matching names in each */
};

/* ---- names ---- */

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 'a' - 'A') : c;
}

/* Does a text contain another, in lower case? Searches the first byte in upper and lower case. O(size). */
static bool contains(const char *text, size_t size, const char *needle, size_t n)
{
    if (n == 0)
        return true;
    for (size_t i = 0; i + n <= size; i++) {
        size_t k = 0;
        while (k < n && lower((unsigned char)text[i + k]) == (unsigned char)needle[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

static bool matches(const ek__index_search *search, uint32_t name)
{
    return name < search->n_numbers && (search->match[name / 8] >> (name % 8) & 1);
}

/* Names of one file; `mask` gets their bits. */
static ek_status match_names(const ek__index_opened *f, const char *needle, size_t n, ek__index_search *search,
                             uint64_t *mask, ek_error *err)
{
    const ek__index_names_read *names;
    ek_status status = ek__index_names_of(f, &names, err);
    for (uint32_t name = 0; status == EK_OK && name < f->n_names; name++) {
        uint32_t number = f->first_name + name;
        size_t size;
        assert(number < search->n_numbers);
        const char *text = ek__index_text_of(f, names, name, &size);
        if (names->name[name].n_events == 0 || !contains(text, size, needle, n))
            continue;
        search->match[number / 8] |= (unsigned char)(1u << (number % 8));
        *mask |= UINT64_C(1) << ek__name_bit(name);
        search->n_names++;
        search->n_events += names->name[name].n_events;
    }
    return status;
}

ek_status ek__index_search_new(const ek_trace_index *index, const char *text, size_t size, ek__index_search **out,
                               ek_error *err)
{
    ek__index_search *search = calloc(1, sizeof *search);
    char *needle = malloc(size + 1);
    if (search) {
        search->match = ek__alloc((size_t)index->n_names / 8 + 1, 1);
        search->mask = ek__alloc((size_t)index->n_files, sizeof *search->mask);
    }
    if (!search || !needle || !search->match || !search->mask) {
        free(needle);
        ek__index_search_free(search);
        return ek__no_memory(err);
    }
    for (size_t i = 0; i < size; i++)
        needle[i] = (char)lower((unsigned char)text[i]);
    search->n_numbers = index->n_names;
    ek_status status = EK_OK;
    for (int i = 0; i < index->n_files && status == EK_OK; i++)
        status = match_names(&index->file[i], needle, size, search, &search->mask[i], err);
    free(needle);
    if (status == EK_OK)
        *out = search;
    else
        ek__index_search_free(search);
    return status;
}

void ek__index_search_free(ek__index_search *search)
{
    if (!search)
        return;
    free(search->mask);
    free(search->match);
    free(search);
}

uint32_t ek__index_search_names(const ek__index_search *search, uint64_t *n_events)
{
    if (n_events)
        *n_events = search->n_events;
    return search->n_names;
}

/* ---- events ---- */

/* State of searching one row. */
typedef struct cursor {
    const ek__index_opened *file;
    const ek__index_row *row;
    uint64_t mask;
    int number;
    uint32_t next; /* forward: the event to look at next; backward: number of events left */
    bool done;
} cursor;

typedef struct finding {
    const ek__index_search *search;
    bool forward;
    int64_t time; /* the place to continue from, in shown time */
    int row;
    uint32_t at;
    ek__index_hit best;
    ek__index_event *event;      /* [EK__INDEX_READ_EVENTS] */
    const ek__index_chunk *read; /* the chunk with its groups in `group`; NULL: none */
    ek__index_sum group[EK__CHUNK_GROUPS];
    ek_error *err;
} finding;

/* Order of (begin, row, index). */
static int compare(int64_t begin, int row, uint32_t at, int64_t other_begin, int other_row, uint32_t other_at)
{
    if (begin != other_begin)
        return begin < other_begin ? -1 : 1;
    if (row != other_row)
        return row < other_row ? -1 : 1;
    return (at > other_at) - (at < other_at);
}

/* Look at one event. @return true when the search of the row can pause */
static bool look_at(finding *f, cursor *c, const ek__index_event *e, uint32_t at, int64_t limit)
{
    int64_t begin = ek__index_shown(c->file, e->begin);
    if (f->forward ? begin > limit : begin < limit)
        return true;
    int order = compare(begin, c->number, at, f->time, f->row, f->at);
    uint32_t name = ek__index_name_number(c->file, e->name);
    if (!matches(f->search, name) || (f->forward ? order <= 0 : order >= 0))
        return false;
    int better = f->best.row < 0 ? -1 : compare(begin, c->number, at, f->best.begin, f->best.row, f->best.index);
    if (f->best.row < 0 || (f->forward ? better < 0 : better > 0))
        f->best = (ek__index_hit){c->number, at, name, begin, ek__index_shown(c->file, ek__index_event_end(e))};
    return true;
}

/* The place of an event within chunks and groups. */
typedef struct place {
    const ek__index_chunk *chunk;
    uint32_t base, g, n_groups; /* index of the chunk's first event; its group */
} place;

static place place_of(const cursor *c, uint32_t at)
{
    place p;
    assert(at < c->row->n_events);
    p.chunk = ek__index_row_chunk(c->file, c->row, at / EK__CHUNK_EVENTS);
    p.base = at / EK__CHUNK_EVENTS * EK__CHUNK_EVENTS;
    p.g = (at - p.base) / EK__GROUP_EVENTS;
    p.n_groups = ek__index_n_groups(p.chunk);
    assert(p.g < p.n_groups);
    return p;
}

static ek_status read_groups(finding *f, const cursor *c, const ek__index_chunk *chunk)
{
    if (f->read == chunk)
        return EK_OK;
    f->read = NULL;
    ek_status status = ek__index_read_groups(c->file, chunk, f->group, f->err);
    if (status == EK_OK)
        f->read = chunk;
    return status;
}

static ek_status read_at(const finding *f, const cursor *c, const place *p, uint32_t from, uint32_t to)
{
    assert(from >= p->base && from < to && to - from <= EK__INDEX_READ_EVENTS); /* places of `event` */
    return ek__index_read_chunk(c->file, p->chunk, from - p->base, to - from, f->event, f->err);
}

static uint32_t batch_for(uint32_t read)
{
    uint32_t most = EK__INDEX_READ_EVENTS / EK__GROUP_EVENTS;
    assert(read <= most);
    return 2 * read + 1 < most ? 2 * read + 1 : most;
}

/* Search forward until a hit or until events begin after `limit`. */
static ek_status go_forward(finding *f, cursor *c, int64_t limit)
{
    int64_t bound = ek__index_of_file(c->file, limit);
    uint32_t n = (uint32_t)c->row->n_events, groups = 0;
    while (c->next < n) {
        place p = place_of(c, c->next);
        if (p.chunk->sum.begin > bound)
            return EK_OK;
        if (!(p.chunk->sum.names & c->mask)) {
            c->next = p.base + p.chunk->sum.n;
            continue;
        }
        ek_status status = read_groups(f, c, p.chunk);
        if (status != EK_OK)
            return status;
        const ek__index_sum *group = f->group;
        if (group[p.g].begin > bound)
            return EK_OK;
        uint32_t to = p.g + 1, most = groups = batch_for(groups);
        if (!(group[p.g].names & c->mask)) {
            c->next = p.base + to * EK__GROUP_EVENTS;
            continue;
        }
        while (to < p.n_groups && to - p.g < most && (group[to].names & c->mask) && group[to].begin <= bound)
            to++;
        uint32_t end = p.base + to * EK__GROUP_EVENTS, from = c->next;
        end = end < n ? end : n;
        assert(from < end);
        status = read_at(f, c, &p, from, end);
        if (status != EK_OK)
            return status;
        for (; c->next < end; c->next++)
            if (look_at(f, c, &f->event[c->next - from], c->next, limit))
                return EK_OK;
    }
    c->done = true;
    return EK_OK;
}

/* The same backward: c->next events are left, from the last to the first. */
static ek_status go_backward(finding *f, cursor *c, int64_t limit)
{
    int64_t bound = ek__index_of_file(c->file, limit);
    uint32_t groups = 0;
    while (c->next > 0) {
        place p = place_of(c, c->next - 1);
        if (p.chunk->sum.end < bound) /* so all events left begin before it */
            return EK_OK;
        if (!(p.chunk->sum.names & c->mask)) {
            c->next = p.base;
            continue;
        }
        ek_status status = read_groups(f, c, p.chunk);
        if (status != EK_OK)
            return status;
        const ek__index_sum *group = f->group;
        if (group[p.g].end < bound)
            return EK_OK;
        uint32_t from = p.g, most = groups = batch_for(groups);
        if (!(group[p.g].names & c->mask)) {
            c->next = p.base + from * EK__GROUP_EVENTS;
            continue;
        }
        while (from > 0 && p.g - (from - 1) < most && (group[from - 1].names & c->mask) && group[from].begin >= bound)
            from--;
        uint32_t first = p.base + from * EK__GROUP_EVENTS;
        assert(first < c->next);
        status = read_at(f, c, &p, first, c->next);
        if (status != EK_OK)
            return status;
        for (; c->next > first; c->next--)
            if (look_at(f, c, &f->event[c->next - 1 - first], c->next - 1, limit))
                return EK_OK;
    }
    c->done = true;
    return EK_OK;
}

/* Set the initial number of events of a row, in c->next: all before the group that contains the time, or including
 * it. */
static ek_status start_at(finding *f, cursor *c)
{
    int64_t time = ek__index_of_file(c->file, f->time);
    uint64_t low = 0, high = c->row->n_chunks;
    while (low < high) { /* chunks that begin before the time, backward: or at it */
        uint64_t middle = low + (high - low) / 2;
        int64_t begin = ek__index_row_chunk(c->file, c->row, middle)->sum.begin;
        if (f->forward ? begin < time : begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    c->next = 0;
    if (low == 0)
        return EK_OK;
    const ek__index_chunk *chunk = ek__index_row_chunk(c->file, c->row, low - 1);
    const ek__index_sum *group = f->group;
    ek_status status = read_groups(f, c, chunk);
    if (status != EK_OK)
        return status;
    uint32_t n = ek__index_n_groups(chunk), g = 0;
    while (g < n && (f->forward ? group[g].begin < time : group[g].begin <= time))
        g++;
    uint32_t base = (uint32_t)(low - 1) * EK__CHUNK_EVENTS;
    if (f->forward)
        c->next = base + (g > 0 ? g - 1 : 0) * EK__GROUP_EVENTS;
    else
        c->next = g < n ? base + g * EK__GROUP_EVENTS : base + chunk->sum.n;
    return EK_OK;
}

static ek_status fill_cursors(const ek_trace_index *index, const int *rows, int n_rows, finding *f, cursor *cursors,
                              int *n)
{
    ek_status status = EK_OK;
    for (int i = 0; i < n_rows && status == EK_OK; i++) {
        cursor *c = &cursors[*n];
        c->number = rows ? rows[i] : i;
        c->file = ek__index_find_row(index, c->number, &c->row);
        if (!c->file)
            continue;
        c->mask = f->search->mask[c->file - index->file];
        c->done = false;
        if (!(c->row->sum.names & c->mask))
            continue;
        status = start_at(f, c);
        assert(c->next <= c->row->n_events);
        ++*n;
    }
    return status;
}

/* Is the hit before everything that other rows may still find? */
static ek_status go_to(finding *f, cursor *c, int n, int64_t limit, bool *done)
{
    ek_status status = EK_OK;
    *done = true;
    for (int i = 0; i < n && status == EK_OK; i++) {
        if (c[i].done)
            continue;
        /* no further than the best hit so far; rows decide between equal times */
        int64_t own = limit;
        if (f->best.row >= 0 && (f->forward ? f->best.begin < limit : f->best.begin > limit))
            own = f->best.begin;
        status = f->forward ? go_forward(f, &c[i], own) : go_backward(f, &c[i], own);
        *done = *done && c[i].done;
    }
    *done = *done || f->best.row >= 0;
    return status;
}

static ek_status find(const ek_trace_index *index, finding *f, cursor *cursors, int n)
{
    assert(index->end >= 0);
    int64_t stretch = index->end / 4096 + 1, from = f->time;
    bool done = n == 0;
    ek_status status = EK_OK;
    from = from < 0 ? 0 : from > index->end ? index->end : from;
    while (!done && status == EK_OK) {
        bool all = stretch > index->end;
        int64_t everything = f->forward ? INT64_MAX : INT64_MIN;
        status = go_to(f, cursors, n, all ? everything : ek__ns_add(from, f->forward ? stretch : -stretch), &done);
        if (all)
            break;
        stretch = stretch > INT64_MAX / 8 ? INT64_MAX : 8 * stretch;
    }
    return status;
}

ek_status ek__index_find(const ek_trace_index *index, const ek__index_search *search, const int *rows, int n_rows,
                         bool forward, int64_t time, int row, uint32_t at, ek__index_hit *out, ek_error *err)
{
    int n = rows ? n_rows : index->n_rows, n_cursors = 0;
    finding f = {
        .search = search, .forward = forward, .time = time, .row = row, .at = at, .best = {.row = -1}, .err = err};
    cursor *cursors = ek__alloc((size_t)(n > 0 ? n : 0), sizeof *cursors);
    f.event = malloc(EK__INDEX_READ_EVENTS * sizeof *f.event);
    ek_status status = cursors && f.event ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = fill_cursors(index, rows, n, &f, cursors, &n_cursors);
    if (status == EK_OK)
        status = find(index, &f, cursors, n_cursors);
    if (status == EK_OK)
        *out = f.best;
    free(f.event);
    free(cursors);
    return status;
}
