/* Reads events, arrows and sums of an index file, and finds the events of a row at a time: by bisection over the sums
 * of chunks, which are in memory, then over those of a chunk's groups, and one read of 64 events. */
#include <assert.h>

#include "index/opened.h"

ek_status ek__index_read_chunk(const ek__index_opened *file, const ek__index_chunk *chunk, uint32_t first, uint32_t n,
                               ek__index_event *out, ek_error *err)
{
    assert(first <= chunk->sum.n && n <= chunk->sum.n - first);
    ek_status status =
        ek__index_read_bytes(file, chunk->events + (uint64_t)first * sizeof *out, out, n * sizeof *out, err);
    for (uint32_t i = 0; status == EK_OK && i < n; i++) {
        if (out[i].duration < 0)
            out[i].duration = 0;
        if (EK__EVENT_TYPE(&out[i]) >= EK_N_VIEW_TYPES)
            out[i].size_and_type = EK__EVENT_SIZE(&out[i]);
    }
    return status;
}

ek_status ek__index_read_groups(const ek__index_opened *file, const ek__index_chunk *chunk,
                                ek__index_sum out[EK__CHUNK_GROUPS], ek_error *err)
{
    assert(chunk->first_group + ek__index_n_groups(chunk) <= file->header.groups.n);
    return ek__index_read_bytes(file, file->header.groups.at + chunk->first_group * sizeof *out, out,
                                ek__index_n_groups(chunk) * sizeof *out, err);
}

ek_status ek__index_read_events(const ek__index_opened *file, const ek__index_row *row, uint32_t first, uint32_t n,
                                ek__index_event *out, ek_error *err)
{
    if (first > row->n_events || n > row->n_events - first)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the row has %llu events; there is no event %llu",
                        (unsigned long long)row->n_events, (unsigned long long)first + n);
    ek_status status = EK_OK;
    while (n > 0 && status == EK_OK) {
        const ek__index_chunk *chunk = ek__index_row_chunk(file, row, first / EK__CHUNK_EVENTS);
        uint32_t within = first % EK__CHUNK_EVENTS, rest = chunk->sum.n - within, some = n < rest ? n : rest;
        assert(within < chunk->sum.n && some >= 1); /* ensures termination */
        status = ek__index_read_chunk(file, chunk, within, some, out, err);
        out += some;
        first += some;
        n -= some;
    }
    return status;
}

/* ---- by time ---- */

uint64_t ek__index_first_chunk(const ek__index_opened *file, const ek__index_row *row, int64_t time)
{
    uint64_t low = 0, high = row->n_chunks;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ek__index_row_chunk(file, row, middle)->sum.end < time)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low <= row->n_chunks);
    return low;
}

/* The number of chunks of the row, groups of the chunk or events that begin at or before a time: the search continues
 * in the last of them. */
static uint64_t chunks_before(const ek__index_opened *file, const ek__index_row *row, int64_t time)
{
    uint64_t low = 0, high = row->n_chunks;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ek__index_row_chunk(file, row, middle)->sum.begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t groups_before(const ek__index_sum *group, uint32_t n, int64_t time)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (group[middle].begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const ek__index_event *read_group(const ek__index_opened *file, const ek__index_chunk *chunk, uint32_t group,
                                         ek__index_groups *groups, ek__index_event own[EK__GROUP_EVENTS],
                                         ek_status *status, ek_error *err)
{
    struct ek__index_cached *cached = NULL;
    ek__index_event *event = own;
    if (groups) {
        uint64_t number = chunk->first_group + group;
        cached = &groups->at[(number ^ (number >> 6)) % EK__INDEX_CACHED_GROUPS];
        event = cached->event;
        if (cached->chunk == chunk && cached->group == group)
            return event;
        cached->chunk = NULL;
    }
    assert(group < ek__index_n_groups(chunk));
    *status =
        ek__index_read_chunk(file, chunk, group * EK__GROUP_EVENTS, ek__index_group_size(chunk, group), event, err);
    if (*status == EK_OK && cached) {
        cached->chunk = chunk;
        cached->group = group;
    }
    return event;
}

/* The sums of a chunk's groups. */
static const ek__index_sum *read_sums(const ek__index_opened *file, const ek__index_chunk *chunk,
                                      ek__index_groups *groups, ek__index_sum own[EK__CHUNK_GROUPS], ek_status *status,
                                      ek_error *err)
{
    struct ek__index_cached_sums *cached = NULL;
    if (groups) {
        cached = &groups->sums[(size_t)(chunk - file->chunk) % EK__INDEX_CACHED_GROUPS];
        if (cached->chunk == chunk)
            return cached->sum;
        cached->chunk = NULL;
    }
    *status = ek__index_read_groups(file, chunk, cached ? cached->sum : own, err);
    if (cached && *status == EK_OK)
        cached->chunk = chunk;
    return cached ? cached->sum : own;
}

ek_status ek__index_locate(const ek__index_opened *file, const ek__index_row *row, int64_t time,
                           ek__index_groups *groups, uint32_t *at, ek__index_event *event, ek_error *err)
{
    ek__index_event own[EK__GROUP_EVENTS];
    ek__index_sum own_sums[EK__CHUNK_GROUPS];
    ek_status status = EK_OK;
    *at = UINT32_MAX;
    uint64_t c = chunks_before(file, row, time);
    if (c == 0)
        return EK_OK;
    const ek__index_chunk *chunk = ek__index_row_chunk(file, row, c - 1);
    if (chunk->sum.end < time)
        return EK_OK;
    const ek__index_sum *group = read_sums(file, chunk, groups, own_sums, &status, err);
    if (status != EK_OK)
        return status;
    uint32_t g = groups_before(group, ek__index_n_groups(chunk), time);
    if (g == 0 || group[g - 1].end < time)
        return EK_OK;
    const ek__index_event *e = read_group(file, chunk, g - 1, groups, own, &status, err);
    for (uint32_t i = status == EK_OK ? ek__index_group_size(chunk, g - 1) : 0; i-- > 0;)
        if (e[i].begin <= time) {
            if (ek__index_event_end(&e[i]) >= time) {
                *at = (uint32_t)(c - 1) * EK__CHUNK_EVENTS + (g - 1) * EK__GROUP_EVENTS + i;
                assert(*at < row->n_events);
                *event = e[i];
            }
            break;
        }
    return status;
}

ek_status ek__index_locate_deepest(const ek__index_opened *file, const ek__index_track *track, int64_t time,
                                   ek__index_groups *groups, int *row, uint32_t *at, ek__index_event *event,
                                   ek_error *err)
{
    ek_status status = EK_OK;
    assert((uint64_t)track->first_row + track->n_rows <= file->n_rows);
    *row = -1;
    for (uint32_t r = track->n_rows; r-- > 0 && status == EK_OK;) {
        status = ek__index_locate(file, &file->row[track->first_row + r], time, groups, at, event, err);
        if (status == EK_OK && *at != UINT32_MAX) {
            *row = (int)(track->first_row + r);
            break;
        }
    }
    return status;
}

ek_status ek__index_event_at(const ek_trace_index *index, int row, int64_t time, uint32_t *at, ek_error *err)
{
    const ek__index_row *r;
    const ek__index_opened *f = ek__index_find_row(index, row, &r);
    ek__index_event event;
    *at = UINT32_MAX;
    return f ? ek__index_locate(f, r, ek__index_of_file(f, time), NULL, at, &event, err) : EK_OK;
}

/* ---- arrows ---- */

ek_status ek__index_read_arrows(const ek__index_opened *file, const ek__index_track *track, bool to, uint64_t first,
                                size_t n, ek__index_arrow *out, ek_error *err)
{
    uint64_t section = to ? file->header.to.at : file->header.from.at;
    uint64_t at = (to ? track->first_to : track->first_from) + first;
    uint32_t own = (uint32_t)(track - file->track);
    assert(own < file->n_tracks && first <= (to ? track->n_to : track->n_from));
    assert(n <= (to ? track->n_to : track->n_from) - first);
    ek_status status = ek__index_read_bytes(file, section + at * sizeof *out, out, n * sizeof *out, err);
    for (size_t i = 0; status == EK_OK && i < n; i++) {
        out[i].from_track = out[i].from_track < file->n_tracks ? file->track_at[out[i].from_track] : own;
        out[i].to_track = out[i].to_track < file->n_tracks ? file->track_at[out[i].to_track] : own;
        assert(out[i].from_track < file->n_tracks && out[i].to_track < file->n_tracks);
    }
    return status;
}

ek_status ek__index_first_arrow(const ek__index_opened *file, const ek__index_track *track, bool to, int64_t time,
                                uint64_t *at, ek_error *err)
{
    uint64_t low = 0, high = to ? track->n_to : track->n_from;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        ek__index_arrow arrow;
        ek_status status = ek__index_read_arrows(file, track, to, middle, 1, &arrow, err);
        if (status != EK_OK)
            return status;
        if ((to ? arrow.to_time : arrow.from_time) < time)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low <= (to ? track->n_to : track->n_from));
    *at = low;
    return EK_OK;
}

ek_status ek__index_events(const ek_trace_index *index, int row, uint32_t first, uint32_t n, ek__index_event *out,
                           ek_error *err)
{
    const ek__index_row *r;
    const ek__index_opened *f = ek__index_find_row(index, row, &r);
    if (!f)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no row %d; rows are numbered from 0 to %d", row,
                        index->n_rows - 1);
    ek_status status = ek__index_read_events(f, r, first, n, out, err);
    for (uint32_t i = 0; status == EK_OK && i < n; i++) {
        out[i].begin = ek__index_shown(f, out[i].begin);
        out[i].name = ek__index_name_number(f, out[i].name);
    }
    return status;
}
