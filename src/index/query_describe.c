/* Describes an opened index: files, tracks, rows, counters and names, each numbered over all files. A number's file is
 * found by bisection over the files' first numbers. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "index/opened.h"

/* ---- numbering ---- */

ek_status ek__index_number(ek_trace_index *index, ek_error *err)
{
    uint64_t rows = 0, tracks = 0, counters = 0, names = 0;
    int64_t origin = INT64_MAX, end = INT64_MIN;
    assert(index->n_files >= 1);
    index->n_events = 0;
    for (int i = 0; i < index->n_files; i++) {
        ek__index_opened *f = &index->file[i];
        f->first_row = (int)rows;
        f->first_track = (int)tracks;
        f->first_counter = (int)counters;
        f->first_name = (uint32_t)names;
        rows += f->n_rows;
        tracks += f->n_shown;
        counters += f->n_counters;
        names += f->n_names;
        if (rows > INT_MAX || tracks > INT_MAX || counters > INT_MAX || names >= UINT32_MAX)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "the traces have more rows or names than can be numbered; look at fewer ranks at a time");
        for (uint32_t r = 0; r < f->n_rows; r++)
            index->n_events += (int64_t)f->row[r].n_events;
        if (f->header.begin == INT64_MAX)
            continue;
        int64_t begins = ek__ns_add(f->header.begin, f->shift), ends = ek__ns_add(f->header.end, f->shift);
        origin = begins < origin ? begins : origin;
        end = ends > end ? ends : end;
    }
    index->origin = origin == INT64_MAX ? 0 : origin;
    index->end = origin == INT64_MAX ? 0 : ek__ns_sub(end, origin);
    assert(index->end >= 0);
    for (int i = 0; i < index->n_files; i++)
        index->file[i].offset = ek__ns_sub(index->file[i].shift, index->origin);
    index->n_rows = (int)rows;
    index->n_tracks = (int)tracks;
    index->n_counters = (int)counters;
    index->n_names = (uint32_t)names;
    return EK_OK;
}

typedef enum numbers { ROWS, TRACKS, COUNTERS, NAMES } numbers;

static uint32_t first_of(const ek__index_opened *f, numbers what)
{
    switch (what) {
    case ROWS:
        return (uint32_t)f->first_row;
    case TRACKS:
        return (uint32_t)f->first_track;
    case COUNTERS:
        return (uint32_t)f->first_counter;
    default:
        return f->first_name;
    }
}

/* The last file with a first number that is not above; files without any are skipped, since the next file begins at the
 * same number. */
static const ek__index_opened *find_file(const ek_trace_index *index, numbers what, uint32_t number)
{
    int low = 0, high = index->n_files - 1;
    assert(high >= 0);
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (first_of(&index->file[middle], what) <= number)
            low = middle;
        else
            high = middle - 1;
    }
    assert(first_of(&index->file[low], what) <= number);
    assert(low + 1 == index->n_files || first_of(&index->file[low + 1], what) > number);
    return &index->file[low];
}

const ek__index_opened *ek__index_find_row(const ek_trace_index *index, int row, const ek__index_row **out)
{
    if (row < 0 || row >= index->n_rows)
        return NULL;
    const ek__index_opened *f = find_file(index, ROWS, (uint32_t)row);
    assert((uint32_t)(row - f->first_row) < f->n_rows);
    *out = &f->row[row - f->first_row];
    return f;
}

const ek__index_opened *ek__index_find_track(const ek_trace_index *index, int track, const ek__index_track **out)
{
    if (track < 0 || track >= index->n_tracks)
        return NULL;
    const ek__index_opened *f = find_file(index, TRACKS, (uint32_t)track);
    assert((uint32_t)(track - f->first_track) < f->n_shown);
    *out = &f->track[track - f->first_track];
    return f;
}

/* ---- contents ---- */

int ek_trace_index_n_files(const ek_trace_index *index)
{
    return index->n_files;
}

int64_t ek_trace_index_bytes(const ek_trace_index *index)
{
    int64_t bytes = 0;
    for (int i = 0; i < index->n_files; i++)
        bytes = ek__ns_add(bytes, index->file[i].header.trace_size);
    return bytes;
}

int64_t ek_trace_index_n_events(const ek_trace_index *index)
{
    return index->n_events;
}

int ek__index_n_rows(const ek_trace_index *index)
{
    return index->n_rows;
}

int ek__index_n_tracks(const ek_trace_index *index)
{
    return index->n_tracks;
}

int ek__index_n_counters(const ek_trace_index *index)
{
    return index->n_counters;
}

uint32_t ek__index_n_names(const ek_trace_index *index)
{
    return index->n_names;
}

int64_t ek__index_n_arrows(const ek_trace_index *index)
{
    int64_t n = 0;
    for (int i = 0; i < index->n_files; i++)
        n = ek__ns_add(n, (int64_t)index->file[i].header.from.n);
    return n;
}

int64_t ek__index_origin(const ek_trace_index *index)
{
    return index->origin;
}

int64_t ek__index_end(const ek_trace_index *index)
{
    return index->end;
}

ek__index_file_info ek__index_describe_file(const ek_trace_index *index, int file)
{
    assert(file >= 0 && file < index->n_files);
    const ek__index_opened *f = &index->file[file];
    return (ek__index_file_info){.path = f->path,
                                 .rank = f->rank,
                                 .stage = f->stage,
                                 .first_track = f->first_track,
                                 .n_tracks = (int)f->n_shown,
                                 .first_counter = f->first_counter,
                                 .n_counters = (int)f->n_counters,
                                 .shift = f->shift,
                                 .trace_bytes = f->header.trace_bytes};
}

ek__index_track_info ek__index_describe_track(const ek_trace_index *index, int track)
{
    const ek__index_track *t;
    const ek__index_opened *f = ek__index_find_track(index, track, &t);
    if (!f)
        return (ek__index_track_info){.file = -1, .name = "", .process = "", .pid = "", .tid = ""};
    const ek__index_shown_track *shown = &f->shown[t - f->track];
    return (ek__index_track_info){.file = (int)(f - index->file),
                                  .name = shown->name,
                                  .process = shown->process,
                                  .pid = shown->pid,
                                  .tid = shown->tid,
                                  .track_class = (ek__track_class)t->track_class,
                                  .first_row = f->first_row + (int)t->first_row,
                                  .n_rows = (int)t->n_rows,
                                  .n_events = t->n_events,
                                  .n_left_out = t->n_left_out};
}

ek__index_counter_info ek__index_describe_counter(const ek_trace_index *index, int counter)
{
    if (counter < 0 || counter >= index->n_counters)
        return (ek__index_counter_info){.file = -1, .process = "", .name = "", .key = ""};
    const ek__index_opened *f = find_file(index, COUNTERS, (uint32_t)counter);
    int c = counter - f->first_counter;
    assert(c >= 0 && (uint32_t)c < f->n_counters);
    const ek__index_shown_counter *shown = &f->shown_counter[c];
    return (ek__index_counter_info){.file = (int)(f - index->file),
                                    .process = shown->process,
                                    .name = shown->name,
                                    .key = shown->key,
                                    .n_points = (int64_t)f->counter[c].n_points,
                                    .least = f->counter[c].least,
                                    .most = f->counter[c].most};
}

int ek__index_row_track(const ek_trace_index *index, int row)
{
    const ek__index_row *r;
    const ek__index_opened *f = ek__index_find_row(index, row, &r);
    assert(!f || r->track < f->n_shown); /* tracks without rows come last */
    return f ? f->first_track + (int)r->track : -1;
}

int64_t ek__index_row_events(const ek_trace_index *index, int row)
{
    const ek__index_row *r;
    return ek__index_find_row(index, row, &r) ? (int64_t)r->n_events : 0;
}

ek_status ek__index_name_text(const ek_trace_index *index, uint32_t name, const char **text, size_t *size,
                              ek_error *err)
{
    const ek__index_names_read *names;
    *size = 0;
    *text = "";
    if (name >= index->n_names)
        return EK_OK;
    const ek__index_opened *f = find_file(index, NAMES, name);
    assert(name - f->first_name < f->n_names);
    ek_status status = ek__index_names_of(f, &names, err);
    if (status == EK_OK)
        *text = ek__index_text_of(f, names, name - f->first_name, size);
    return status;
}
