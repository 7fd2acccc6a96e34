/* Checks the invariants of an index file, each in the simplest way. */
#include "index_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char wrong[300];

__attribute__((format(printf, 1, 2))) static const char *say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(wrong, sizeof wrong, format, args);
    va_end(args);
    return wrong;
}

static bool fits(const index_view *v, ek__index_section s, size_t size)
{
    return s.at % 8 == 0 && s.at <= v->size && s.n <= (v->size - s.at) / size;
}

/* The number that word i of a block is taken times: the high half of splitmix64, made odd. */
static uint64_t factor_of(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) >> 32 | 1;
}

/* Byte by byte; of more than a block, the one before times a number and the next one. */
static uint64_t check_of(const void *bytes, size_t n)
{
    uint64_t check = 0;
    for (size_t i = 0; i < n; i++) {
        size_t place = i % EK__CHECK_BYTES;
        if (i > 0 && place == 0)
            check *= UINT64_C(0x9e3779b97f4a7c15);
        check += ((uint64_t)((const unsigned char *)bytes)[i] << place % 4 * 8) * factor_of(place / 4);
    }
    return check;
}

/* Every block from the header's end on, and the section of their checksums at the end of the file. */
static const char *open_checks(const index_view *v)
{
    const ek__index_header *h = v->header;
    const uint64_t *check = (const void *)(v->bytes + h->checks.at);
    if (h->checks.at != sizeof *h + h->checks.n * EK__CHECK_BYTES ||
        h->checks.at + h->checks.n * sizeof *check != v->size)
        return say("%llu checks are not those of the file's blocks", (unsigned long long)h->checks.n);
    if (h->checks_check != check_of(check, h->checks.n * sizeof *check))
        return "the check of checks is wrong";
    for (uint64_t i = 0; i < h->checks.n; i++)
        if (check[i] != check_of(v->bytes + sizeof *h + i * EK__CHECK_BYTES, EK__CHECK_BYTES))
            return say("the check of block %llu is wrong", (unsigned long long)i);
    return NULL;
}

const char *index_view_open(index_view *v, const void *bytes, size_t size)
{
    *v = (index_view){.bytes = bytes, .size = size, .header = bytes};
    const ek__index_header *h = v->header;
    if (size < sizeof *h || h->magic != EK__INDEX_MAGIC || h->header_size != sizeof *h || h->file_size != size)
        return say("the header does not fit the file of %zu bytes", size);
    if (h->check != check_of(h, offsetof(ek__index_header, check)))
        return "the header's check is wrong";
    const struct {
        ek__index_section section;
        size_t size;
    } all[] = {{h->events, sizeof(ek__index_event)},
               {h->points, sizeof(ek__index_point)},
               {h->ranges, sizeof(ek__index_range)},
               {h->from, sizeof(ek__index_arrow)},
               {h->to, sizeof(ek__index_arrow)},
               {h->groups, sizeof(ek__index_sum)},
               {h->chunks, sizeof(ek__index_chunk)},
               {h->rows, sizeof(ek__index_row)},
               {h->tracks, sizeof(ek__index_track)},
               {h->counters, sizeof(ek__index_counter)},
               {h->spots, sizeof(ek__index_spot)},
               {h->names, sizeof(ek__index_name)},
               {h->texts, 1},
               {h->checks, sizeof(uint64_t)}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!fits(v, all[i].section, all[i].size))
            return say("section %zu is outside the file", i);
        if (i > 0 && all[i].section.at < all[i - 1].section.at + all[i - 1].section.n * all[i - 1].size)
            return say("section %zu overlaps the one before", i);
    }
    v->point = (const void *)(v->bytes + h->points.at);
    v->range = (const void *)(v->bytes + h->ranges.at);
    v->from = (const void *)(v->bytes + h->from.at);
    v->to = (const void *)(v->bytes + h->to.at);
    v->group = (const void *)(v->bytes + h->groups.at);
    v->chunk = (const void *)(v->bytes + h->chunks.at);
    v->row = (const void *)(v->bytes + h->rows.at);
    v->track = (const void *)(v->bytes + h->tracks.at);
    v->counter = (const void *)(v->bytes + h->counters.at);
    v->spot = (const void *)(v->bytes + h->spots.at);
    v->name = (const void *)(v->bytes + h->names.at);
    v->texts = v->bytes + h->texts.at;
    return open_checks(v);
}

bool index_view_text_is(const index_view *v, ek__index_text text, const char *what)
{
    return text.size == strlen(what) && memcmp(v->texts + text.at, what, text.size) == 0;
}

const ek__index_event *index_view_event(const index_view *v, const ek__index_row *row, uint64_t i)
{
    const ek__index_chunk *chunk = &v->chunk[row->first_chunk + i / EK__CHUNK_EVENTS];
    return (const ek__index_event *)(const void *)(v->bytes + chunk->events) + i % EK__CHUNK_EVENTS;
}

/* A sum against the events [first, last) of its row. */
static const char *check_sum(const index_view *v, const ek__index_row *row, const ek__index_sum *sum, uint64_t first,
                             uint64_t last)
{
    ek__index_sum own = {.longest = -1, .n = (uint32_t)(last - first)};
    for (uint64_t i = first; i < last; i++) {
        const ek__index_event *e = index_view_event(v, row, i);
        own.begin = i == first ? e->begin : own.begin;
        own.end = e->begin + e->duration;
        own.busy += e->duration;
        own.names |= UINT64_C(1) << ek__name_bit(e->name);
        if (e->duration > own.longest) {
            own.longest = e->duration;
            own.longest_name = e->name;
            own.longest_type = EK__EVENT_TYPE(e);
            own.longest_at = (uint32_t)(i - first);
        }
    }
    return memcmp(&own, sum, sizeof own) == 0 ? NULL
                                              : say("the sum over events %llu to %llu of a row of track %u is wrong",
                                                    (unsigned long long)first, (unsigned long long)last, row->track);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static const char *check_chunks(const index_view *v, const ek__index_row *row)
{
    const char *bad = NULL;
    if (row->n_chunks != (row->n_events + EK__CHUNK_EVENTS - 1) / EK__CHUNK_EVENTS ||
        row->first_chunk > v->header->chunks.n || row->n_chunks > v->header->chunks.n - row->first_chunk)
        return say("a row of %llu events has %llu chunks", (unsigned long long)row->n_events,
                   (unsigned long long)row->n_chunks);
    for (uint64_t c = 0; c < row->n_chunks && !bad; c++) {
        const ek__index_chunk *chunk = &v->chunk[row->first_chunk + c];
        uint64_t first = c * EK__CHUNK_EVENTS, n = least(row->n_events - first, EK__CHUNK_EVENTS);
        if (chunk->events < v->header->events.at ||
            chunk->events + n * sizeof(ek__index_event) > v->header->points.at ||
            chunk->first_group + (n + EK__GROUP_EVENTS - 1) / EK__GROUP_EVENTS > v->header->groups.n)
            return "a chunk's events or groups are outside their section";
        bad = check_sum(v, row, &chunk->sum, first, first + n);
        for (uint64_t i = 0; i < n && !bad; i += EK__GROUP_EVENTS)
            bad = check_sum(v, row, &v->group[chunk->first_group + i / EK__GROUP_EVENTS], first + i,
                            first + least(n, i + EK__GROUP_EVENTS));
    }
    return bad ? bad : check_sum(v, row, &row->sum, 0, row->n_events);
}

static const char *check_row(const index_view *v, const ek__index_row *row)
{
    const ek__index_header *h = v->header;
    const char *bad = row->n_events > 0 ? check_chunks(v, row) : "a row is empty";
    for (uint64_t i = 0; i < row->n_events && !bad; i++) {
        const ek__index_event *e = index_view_event(v, row, i),
                              *before = i > 0 ? index_view_event(v, row, i - 1) : NULL;
        if (e->duration < 0 || e->begin < h->begin || e->begin + e->duration > h->end)
            bad = "an event is outside the trace's time";
        else if (before && e->begin < before->begin + before->duration)
            bad = say("two events of one row overlap at %lld", (long long)e->begin);
        else if (e->name >= h->names.n || (int64_t)e->place < 0 || (int64_t)e->place >= h->trace_bytes)
            bad = "an event's name or place is not there";
    }
    return bad;
}

static const char *check_rows(const index_view *v)
{
    uint64_t next_row = 0, next_chunk = 0, n_events = 0, n_left_out = 0, by_name = 0;
    for (uint64_t t = 0; t < v->header->tracks.n; t++) {
        const ek__index_track *track = &v->track[t];
        uint64_t n = 0;
        if (track->first_row != next_row || track->n_rows > EK__INDEX_MAX_DEPTH)
            return say("rows of track %llu begin with %u", (unsigned long long)t, track->first_row);
        for (uint32_t d = 0; d < track->n_rows; d++) {
            const ek__index_row *row = &v->row[next_row++];
            if (row->track != t || row->depth != d || row->first_chunk != next_chunk)
                return say("row %llu has depth %u and not %u", (unsigned long long)next_row - 1, row->depth, d);
            const char *bad = check_row(v, row);
            if (bad)
                return bad;
            next_chunk += row->n_chunks;
            n += row->n_events;
        }
        if ((int64_t)n != track->n_events)
            return "a track's events are not those of its rows";
        n_events += n;
        n_left_out += (uint64_t)track->n_left_out;
    }
    for (uint64_t i = 0; i < v->header->names.n; i++)
        by_name += v->name[i].n_events;
    if (next_row != v->header->rows.n || next_chunk != v->header->chunks.n || n_events != v->header->events.n)
        return "rows, chunks or events are not those of the tracks";
    return by_name == n_events + n_left_out ? NULL : "names have other numbers of events than tracks";
}

static const char *check_arrows(const index_view *v)
{
    uint64_t from = 0, to = 0;
    if (v->header->from.n != v->header->to.n)
        return "there are more ends of arrows than beginnings";
    for (uint64_t t = 0; t < v->header->tracks.n; t++) {
        const ek__index_track *track = &v->track[t];
        if (track->first_from != from || track->first_to != to)
            return "a track's arrows do not follow those of the one before";
        from += track->n_from;
        to += track->n_to;
        for (uint64_t i = track->first_from; i < from; i++)
            if (v->from[i].from_track != t ||
                (i > track->first_from && v->from[i].from_time < v->from[i - 1].from_time))
                return "arrows are not sorted by where they begin";
        for (uint64_t i = track->first_to; i < to; i++)
            if (v->to[i].to_track != t || (i > track->first_to && v->to[i].to_time < v->to[i - 1].to_time))
                return "arrows are not sorted by where they end";
    }
    return from == v->header->from.n && to == v->header->to.n ? NULL : "some arrow is of no track";
}

static const char *check_counter(const index_view *v, const ek__index_counter *c)
{
    double low = c->n_points > 0 ? v->point[c->first_point].value : 0, high = low;
    for (uint64_t i = 0; i < c->n_points; i++) {
        const ek__index_point *p = &v->point[c->first_point + i];
        const ek__index_range *range = &v->range[c->first_range + i / EK__GROUP_EVENTS];
        bool first = i % EK__GROUP_EVENTS == 0, last = i + 1 == c->n_points || (i + 1) % EK__GROUP_EVENTS == 0;
        if (i > 0 && p->time < p[-1].time)
            return "points of a counter are not sorted";
        if ((first && range->begin != p->time) || (last && range->end != p->time) || p->value < range->least ||
            p->value > range->most)
            return "a range does not fit its points";
        low = p->value < low ? p->value : low;
        high = p->value > high ? p->value : high;
    }
    return c->n_points > 0 && low == c->least && high == c->most ? NULL : "a counter's least or most is wrong";
}

static const char *check_counters(const index_view *v)
{
    uint64_t point = 0, range = 0;
    for (uint64_t i = 0; i < v->header->counters.n; i++) {
        const ek__index_counter *c = &v->counter[i];
        if (c->first_point != point || c->first_range != range || c->n_points > v->header->points.n - point)
            return "a counter's points do not follow those of the one before";
        point += c->n_points;
        range += (c->n_points + EK__GROUP_EVENTS - 1) / EK__GROUP_EVENTS;
        if (range > v->header->ranges.n)
            return "a counter has more ranges than there are";
        const char *bad = check_counter(v, c);
        if (bad)
            return bad;
    }
    return point == v->header->points.n && range == v->header->ranges.n ? NULL : "some point is of no counter";
}

static bool text_fits(const index_view *v, ek__index_text text)
{
    return text.at <= v->header->texts.n && text.size <= v->header->texts.n - text.at;
}

static const char *check_texts(const index_view *v)
{
    for (uint64_t i = 0; i < v->header->names.n; i++)
        if (!text_fits(v, v->name[i].text))
            return "a name's text is not there";
    for (uint64_t i = 0; i < v->header->tracks.n; i++)
        if (!text_fits(v, v->track[i].pid) || !text_fits(v, v->track[i].tid) || !text_fits(v, v->track[i].process) ||
            !text_fits(v, v->track[i].thread) || v->track[i].track_class >= EK__N_TRACK_CLASSES)
            return "a track's text is not there";
    for (uint64_t i = 0; i < v->header->counters.n; i++)
        if (!text_fits(v, v->counter[i].process) || !text_fits(v, v->counter[i].name) ||
            !text_fits(v, v->counter[i].key))
            return "a counter's text is not there";
    for (uint64_t i = 0; i < v->header->from.n; i++)
        if (v->from[i].name >= v->header->names.n || v->to[i].name >= v->header->names.n ||
            v->from[i].to_track >= v->header->tracks.n || v->to[i].from_track >= v->header->tracks.n)
            return "an arrow's name or track is not there";
    return NULL;
}

const char *index_view_check(const index_view *v)
{
    const char *bad = check_rows(v);
    bad = bad ? bad : check_arrows(v);
    bad = bad ? bad : check_counters(v);
    return bad ? bad : check_texts(v);
}
