/* Puts a track's time-ordered events into rows. Each event goes into the first depth whose last event has ended, which
 * keeps nested events nested and moves overlapping ones to another row. A depth's events are gathered into chunks of
 * 4096, written to the track's part of the file, and summed up over 64, 4096 and all events. */
#include "index/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums ---- */

static uint32_t saturated(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

void ek__index_sum_add(ek__index_sum *sum, const ek__index_sum *more)
{
    assert(more->n >= 1 && more->begin <= more->end);
    assert(sum->n == 0 || more->begin >= sum->end); /* no event begins before the one before it has ended */
    if (sum->n == 0) {
        *sum = *more;
        return;
    }
    if (more->longest > sum->longest) {
        sum->longest = more->longest;
        sum->longest_name = more->longest_name;
        sum->longest_type = more->longest_type;
        sum->longest_at = saturated((uint64_t)sum->n + more->longest_at);
    }
    sum->end = more->end;
    if (__builtin_add_overflow(sum->busy, more->busy, &sum->busy))
        sum->busy = INT64_MAX;
    sum->names |= more->names;
    sum->n = saturated((uint64_t)sum->n + more->n);
}

/* At least one and at most EK__GROUP_EVENTS: if they do not overlap, the sum of their durations does not overflow. */
static ek__index_sum sum_up(const ek__index_event *event, size_t n)
{
    ek__index_sum sum = {
        .begin = event[0].begin, .end = event[n - 1].begin + event[n - 1].duration, .longest = -1, .n = (uint32_t)n};
    assert(n >= 1 && n <= EK__GROUP_EVENTS);
    for (size_t i = 0; i < n; i++) {
        assert(event[i].duration >= 0 && (i == 0 || event[i].begin >= event[i - 1].begin + event[i - 1].duration));
        sum.busy += event[i].duration;
        sum.names |= UINT64_C(1) << ek__name_bit(event[i].name);
        if (event[i].duration > sum.longest) {
            sum.longest = event[i].duration;
            sum.longest_at = (uint32_t)i;
        }
    }
    assert(sum.busy >= sum.longest && sum.busy <= sum.end - sum.begin);
    sum.longest_name = event[sum.longest_at].name;
    sum.longest_type = EK__EVENT_TYPE(&event[sum.longest_at]);
    return sum;
}

/* ---- chunks ---- */

static ek_status write_groups(ek__row_writer *writer, const ek__index_depth *depth, ek__index_sum *sum, ek_error *err)
{
    ek_status status = EK_OK;
    assert(depth->n >= 1 && depth->n <= EK__CHUNK_EVENTS);
    for (size_t i = 0; i < depth->n && status == EK_OK; i += EK__GROUP_EVENTS) {
        size_t n = depth->n - i < EK__GROUP_EVENTS ? depth->n - i : EK__GROUP_EVENTS;
        ek__index_sum group = sum_up(depth->event + i, n);
        ek__index_sum_add(sum, &group);
        status = ek__aside_put(&writer->groups, &group, sizeof group, err);
        writer->n_groups++;
    }
    return status;
}

static ek_status write_chunk(ek__row_writer *writer, ek__index_depth *depth, ek_error *err)
{
    const ek__index_file *file = writer->file;
    size_t size = depth->n * sizeof *depth->event;
    ek__index_chunk *chunk = ek__with_room(depth->chunk, &depth->chunks_capacity, depth->n_chunks + 1, sizeof *chunk);
    if (!chunk)
        return ek__no_memory(err);
    depth->chunk = chunk;
    chunk += depth->n_chunks++;
    *chunk = (ek__index_chunk){.events = writer->next, .first_group = writer->n_groups};
    ek_status status = write_groups(writer, depth, &chunk->sum, err);
    assert(status != EK_OK || chunk->sum.n == depth->n);
    if (status == EK_OK)
        status = ek__output_write(file->output, depth->event, size, writer->next, err);
    ek__index_sum_add(&depth->row.sum, &chunk->sum);
    depth->row.n_events += depth->n;
    writer->next += size;
    file->advance(file->user, depth->n);
    depth->n = 0;
    return status;
}

/* ---- depths ---- */

static void begin_depth(ek__row_writer *writer)
{
    assert(writer->n_depths < EK__INDEX_MAX_DEPTH);
    ek__index_depth *depth = &writer->depth[writer->n_depths];
    depth->n = depth->n_chunks = 0;
    depth->row = (ek__index_row){0};
    writer->n_depths++;
}

/* Most depths have few events, and a thread may have 64 depths. */
static bool make_room(ek__index_depth *depth)
{
    assert(depth->n < EK__CHUNK_EVENTS);
    ek__index_event *room = ek__with_room(depth->event, &depth->capacity, depth->n + 1, sizeof *room);
    if (room)
        depth->event = room;
    return room != NULL;
}

/* The first depth whose last event has ended, or a new one; the maximum number of depths when all are in use. */
static int find_depth(const ek__row_writer *writer, int64_t begin)
{
    int d = 0;
    while (d < writer->n_depths && writer->depth[d].end > begin)
        d++;
    return d;
}

static ek_status write_event(ek__row_writer *writer, const ek__index_event *event, ek_error *err)
{
    int d = find_depth(writer, event->begin);
    if (d == writer->n_depths)
        begin_depth(writer);
    ek__index_depth *depth = &writer->depth[d];
    if (!make_room(depth))
        return ek__no_memory(err);
    assert(event->duration >= 0 && depth->n < EK__CHUNK_EVENTS);
    assert(depth->n + depth->row.n_events == 0 || event->begin >= depth->end);
    depth->end = event->begin + event->duration;
    depth->event[depth->n++] = *event;
    return depth->n == EK__CHUNK_EVENTS ? write_chunk(writer, depth, err) : EK_OK;
}

/* ---- a track ---- */

/* The last chunks, and all rows after those of earlier tracks. */
static ek_status end_track(ek__row_writer *writer, uint32_t track, ek__track_rows *out, ek_error *err)
{
    for (int d = 0; d < writer->n_depths; d++) {
        ek__index_depth *depth = &writer->depth[d];
        ek_status status = depth->n > 0 ? write_chunk(writer, depth, err) : EK_OK;
        if (status != EK_OK)
            return status;
        ek__index_row *row = ek__with_room(writer->row, &writer->rows_capacity, writer->n_rows + 1, sizeof *row);
        ek__index_chunk *chunk = row ? ek__with_room(writer->chunk, &writer->chunks_capacity,
                                                     writer->n_chunks + depth->n_chunks, sizeof *chunk)
                                     : NULL;
        if (row)
            writer->row = row;
        if (!chunk)
            return ek__no_memory(err);
        writer->chunk = chunk;
        depth->row.track = track;
        depth->row.depth = (uint32_t)d;
        depth->row.first_chunk = writer->n_chunks - out->first_chunk;
        depth->row.n_chunks = depth->n_chunks;
        assert(depth->row.n_events >= 1 && depth->n == 0);
        row[writer->n_rows++] = depth->row;
        memcpy(chunk + writer->n_chunks, depth->chunk, depth->n_chunks * sizeof *chunk);
        writer->n_chunks += depth->n_chunks;
        out->n_events += (int64_t)depth->row.n_events;
    }
    out->n_rows = writer->n_rows - out->first_row;
    out->n_chunks = writer->n_chunks - out->first_chunk;
    out->n_groups = writer->n_groups;
    return EK_OK;
}

static ek__index_event unpack(const ek__index_file *file, const ek__track *track, const uint64_t *words)
{
    uint32_t name = (uint32_t)(words[3] >> 32), size_and_kind = (uint32_t)words[3];
    ek_view_type type = ek__type_of((ek__index_kind)(size_and_kind >> 24), (ek__name_meaning)file->name_meaning[name],
                                    track, file->no_metadata);
    return (ek__index_event){.begin = ek__unsort_signed(words[0]),
                             .duration = (int64_t)~words[1],
                             .place = words[2],
                             .name = name,
                             .size_and_type = (size_and_kind & 0xffffff) | (uint32_t)type << 24};
}

ek_status ek__write_track(ek__row_writer *writer, uint32_t track, uint64_t at, ek__track_rows *out, ek_error *err)
{
    const ek__index_file *file = writer->file;
    uint64_t count[EK_N_VIEW_TYPES] = {0};
    const uint64_t *words;
    ek_status status = ek__sort_stream_open(&writer->stream, &file->store->events, track, err);
    *out = (ek__track_rows){.writer = writer->number,
                            .first_row = writer->n_rows,
                            .first_chunk = writer->n_chunks,
                            .groups = ek__aside_size(&writer->groups)};
    writer->n_depths = 0;
    writer->n_groups = 0;
    writer->next = at;
    while (status == EK_OK && (words = ek__sort_stream_next(&writer->stream, &status, err)) &&
           !ek__index_stopped(file)) {
        ek__index_event event = unpack(file, &file->trace->track[track], words);
        count[EK__EVENT_TYPE(&event)]++;
        if (writer->n_depths == EK__INDEX_MAX_DEPTH && find_depth(writer, event.begin) == EK__INDEX_MAX_DEPTH)
            out->n_left_out++;
        else
            status = write_event(writer, &event, err);
    }
    out->track_class = ek__class_of(&file->trace->track[track], count);
    return status == EK_OK ? end_track(writer, track, out, err) : status;
}

void ek__row_writer_clear(ek__row_writer *writer)
{
    ek__sort_stream_clear(&writer->stream);
    for (int d = 0; d < EK__INDEX_MAX_DEPTH; d++) {
        free(writer->depth[d].event);
        free(writer->depth[d].chunk);
    }
    ek__aside_clear(&writer->groups);
    free(writer->row);
    free(writer->chunk);
}
