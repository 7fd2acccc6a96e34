/* Opens and checks one index file. The file may be damaged or made by someone else. Block checks detect changed bytes:
 * here in the small sections, which are read whole, later wherever other blocks are read. A file with correct checks
 * may still be hostile, so every value that later code uses as a place in memory or in the file is compared with the
 * sections: here once, in one pass over the small sections (rows, chunks, groups, points, arrows, texts of tracks), or
 * at its use (names, windows of compressed traces). Sums are not compared with events: wrong ones give wrong pictures.
 * Tracks are put in display order. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "index/checks.h"
#include "index/opened.h"
#include "index/output.h"

#define FARTHEST (INT64_C(1) << 62) /* of times, so that they can be shifted */

static ek_status damaged(const char *path, const char *what, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                    "the index is damaged (%s); delete it, and it is written again", what);
}

bool ek__index_trace_state(int fd, const char *path, int64_t *size, int64_t *changed)
{
    struct stat info;
    if (fd >= 0 ? fstat(fd, &info) != 0 : stat(path, &info) != 0)
        return false;
    *size = info.st_size;
    *changed = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    return true;
}

/* ---- header and sections ---- */

static bool fits(uint64_t size, const ek__index_section *section, size_t item)
{
    return section->at <= size && section->n <= (size - section->at) / item && (item == 1 || section->at % 8 == 0);
}

static bool sections_fit(const ek__index_header *h)
{
    uint64_t size = h->file_size;
    return fits(size, &h->events, sizeof(ek__index_event)) && fits(size, &h->from, sizeof(ek__index_arrow)) &&
           fits(size, &h->to, sizeof(ek__index_arrow)) && fits(size, &h->points, sizeof(ek__index_point)) &&
           fits(size, &h->groups, sizeof(ek__index_sum)) && fits(size, &h->chunks, sizeof(ek__index_chunk)) &&
           fits(size, &h->rows, sizeof(ek__index_row)) && fits(size, &h->tracks, sizeof(ek__index_track)) &&
           fits(size, &h->counters, sizeof(ek__index_counter)) && fits(size, &h->ranges, sizeof(ek__index_range)) &&
           fits(size, &h->spots, sizeof(ek__index_spot)) && fits(size, &h->names, sizeof(ek__index_name)) &&
           fits(size, &h->texts, 1) && h->names.at <= h->texts.at &&
           h->names.n <= (h->texts.at - h->names.at) / sizeof(ek__index_name); /* which are read together */
}

/* Blocks from the header's end up to their checks, with which the file ends. */
static bool checks_fit(const ek__index_header *h)
{
    return fits(h->file_size, &h->checks, sizeof(uint64_t)) && h->checks.at >= sizeof *h &&
           (h->checks.at - sizeof *h) % EK__CHECK_BYTES == 0 &&
           (h->checks.at - sizeof *h) / EK__CHECK_BYTES == h->checks.n &&
           h->checks.at + h->checks.n * sizeof(uint64_t) == h->file_size;
}

static bool times_fit(const ek__index_header *h)
{
    if (h->begin == INT64_MAX)
        return true;
    return h->begin > -FARTHEST && h->end < FARTHEST && h->begin <= h->end;
}

static ek_status read_header(const char *path, ek__index_opened *f, ek_error *err)
{
    struct stat info;
    ek__index_header *h = &f->header;
    if (fstat(f->fd, &info) != 0)
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "cannot be read: %s", strerror(errno));
    if (!S_ISREG(info.st_mode) || info.st_size < (off_t)sizeof *h)
        return damaged(path, "it is too short", err);
    f->size = (size_t)info.st_size;
    if (ek__read_at(f->fd, path, h, sizeof *h, 0, err) != EK_OK)
        return EK_ERR_SYSTEM;
    if (h->magic != EK__INDEX_MAGIC || h->header_size != sizeof *h)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                        "is no index of this version; delete it, and it is written again");
    if (h->check != ek__check_of_header(h))
        return damaged(path, "its header has changed", err);
    if (h->file_size != f->size || !sections_fit(h) || !checks_fit(h) || !times_fit(h))
        return damaged(path, "its sections do not fit", err);
    if (h->rows.n > INT32_MAX || h->tracks.n > INT32_MAX || h->counters.n > INT32_MAX || h->names.n >= UINT32_MAX)
        return damaged(path, "it has too many rows", err);
    return EK_OK;
}

static ek_status read_checks(const char *path, ek__index_opened *f, ek_error *err)
{
    const ek__index_header *h = &f->header;
    f->check = ek__alloc(h->checks.n, sizeof *f->check);
    if (!f->check)
        return ek__no_memory(err);
    size_t size = (size_t)h->checks.n * sizeof *f->check;
    ek_status status = ek__read_at(f->fd, path, f->check, size, h->checks.at, err);
    if (status == EK_OK && ek__check_of_checks(f->check, (size_t)h->checks.n) != h->checks_check)
        return damaged(path, "its checks have changed", err);
    return status;
}

/* A section into memory. The first that fails leaves its status, and the others are not read. */
static void *read_section(const ek__index_opened *f, const ek__index_section *section, size_t item, ek_status *status,
                          ek_error *err)
{
    if (*status != EK_OK)
        return NULL;
    void *items = ek__alloc(section->n, item);
    *status = items ? ek__index_read_bytes(f, section->at, items, (size_t)section->n * item, err) : ek__no_memory(err);
    return items;
}

static ek_status copy_sections(ek__index_opened *f, ek_error *err)
{
    const ek__index_header *h = &f->header;
    ek_status status = EK_OK;
    f->n_names = (uint32_t)h->names.n;
    f->n_rows = (uint32_t)h->rows.n;
    f->n_tracks = (uint32_t)h->tracks.n;
    f->n_counters = (uint32_t)h->counters.n;
    f->row = read_section(f, &h->rows, sizeof *f->row, &status, err);
    f->chunk = read_section(f, &h->chunks, sizeof *f->chunk, &status, err);
    f->track = read_section(f, &h->tracks, sizeof *f->track, &status, err);
    f->counter = read_section(f, &h->counters, sizeof *f->counter, &status, err);
    f->spot = read_section(f, &h->spots, sizeof *f->spot, &status, err);
    if (status != EK_OK)
        return status;
    f->track_at = ek__alloc(f->n_tracks, sizeof *f->track_at);
    f->shown = ek__alloc(f->n_tracks, sizeof *f->shown);
    f->shown_counter = ek__alloc(f->n_counters, sizeof *f->shown_counter);
    f->names = ek__alloc(1, sizeof *f->names);
    return f->track_at && f->shown && f->shown_counter && f->names ? EK_OK : ek__no_memory(err);
}

/* ---- contents of the sections ---- */

/* Chunks of a row: full ones, and a last one with the rest. */
static bool chunks_fit(const ek__index_opened *f, const ek__index_row *row)
{
    const ek__index_header *h = &f->header;
    for (uint64_t c = 0; c < row->n_chunks; c++) {
        const ek__index_chunk *chunk = &f->chunk[row->first_chunk + c];
        uint64_t rest = row->n_events - c * EK__CHUNK_EVENTS, n = rest < EK__CHUNK_EVENTS ? rest : EK__CHUNK_EVENTS;
        if (chunk->sum.n != n || chunk->first_group > h->groups.n ||
            h->groups.n - chunk->first_group < ek__index_n_groups(chunk) || chunk->events > h->file_size ||
            (h->file_size - chunk->events) / sizeof(ek__index_event) < n)
            return false;
    }
    return true;
}

static bool rows_fit(const ek__index_opened *f)
{
    uint64_t chunks = 0;
    for (uint32_t r = 0; r < f->n_rows; r++) {
        const ek__index_row *row = &f->row[r];
        bool fine = row->n_events > 0 && row->n_events < UINT32_MAX && row->first_chunk == chunks &&
                    row->n_chunks == (row->n_events + EK__CHUNK_EVENTS - 1) / EK__CHUNK_EVENTS &&
                    row->n_chunks <= f->header.chunks.n - chunks && row->track < f->n_tracks;
        if (!fine || !chunks_fit(f, row))
            return false;
        chunks += row->n_chunks;
    }
    return true;
}

static bool text_fits(const ek__index_opened *f, const ek__index_text *text)
{
    return text->at <= f->header.texts.n && text->size <= f->header.texts.n - text->at;
}

static bool tracks_fit(const ek__index_opened *f)
{
    uint64_t rows = 0;
    for (uint32_t t = 0; t < f->n_tracks; t++) {
        const ek__index_track *track = &f->track[t];
        bool fine = track->first_row == rows && track->n_rows <= f->n_rows - rows &&
                    track->track_class < EK__N_TRACK_CLASSES && track->first_from <= f->header.from.n &&
                    track->n_from <= f->header.from.n - track->first_from && track->first_to <= f->header.to.n &&
                    track->n_to <= f->header.to.n - track->first_to && text_fits(f, &track->pid) &&
                    text_fits(f, &track->tid) && text_fits(f, &track->process) && text_fits(f, &track->thread);
        for (uint32_t r = 0; fine && r < track->n_rows; r++)
            fine = f->row[rows + r].track == t && f->row[rows + r].depth == r;
        if (!fine)
            return false;
        rows += track->n_rows;
    }
    return rows == f->n_rows;
}

static bool counters_fit(const ek__index_opened *f)
{
    const ek__index_header *h = &f->header;
    for (uint32_t c = 0; c < f->n_counters; c++) {
        const ek__index_counter *counter = &f->counter[c];
        uint64_t n_ranges = counter->n_points / EK__GROUP_EVENTS + (counter->n_points % EK__GROUP_EVENTS > 0);
        bool fine = counter->first_point <= h->points.n && counter->n_points <= h->points.n - counter->first_point &&
                    counter->first_range <= h->ranges.n && n_ranges <= h->ranges.n - counter->first_range;
        if (!fine || !text_fits(f, &counter->process) || !text_fits(f, &counter->name) || !text_fits(f, &counter->key))
            return false;
    }
    return true;
}

/* ---- display texts ---- */

static size_t shown_size(const ek__index_text *text)
{
    return text->size < EK__INDEX_SHOWN_TEXT - 1 ? text->size : EK__INDEX_SHOWN_TEXT - 1;
}

/* Room for the texts of all tracks and counters; a name may combine two texts. */
static size_t all_shown(const ek__index_opened *f)
{
    size_t size = 1;
    for (uint32_t t = 0; t < f->n_tracks; t++) {
        const ek__index_track *track = &f->track[t];
        size += shown_size(&track->pid) + 2 * shown_size(&track->tid) + shown_size(&track->process) +
                shown_size(&track->thread) + 32;
    }
    for (uint32_t c = 0; c < f->n_counters; c++) {
        const ek__index_counter *counter = &f->counter[c];
        size += shown_size(&counter->process) + shown_size(&counter->name) + shown_size(&counter->key) + 3;
    }
    return size;
}

/* The part of the texts that belongs to tracks and counters: it follows the names' texts. */
typedef struct shown_part {
    uint64_t begin, end;
    char *bytes; /* from `begin` on */
    char *to;    /* the place of the next text */
} shown_part;

static void reach(shown_part *part, const ek__index_text *text)
{
    if (text->size == 0)
        return;
    part->begin = text->at < part->begin ? text->at : part->begin;
    part->end = text->at + text->size > part->end ? text->at + text->size : part->end;
}

static ek_status read_shown_part(const ek__index_opened *f, shown_part *part, ek_error *err)
{
    for (uint32_t t = 0; t < f->n_tracks; t++) {
        const ek__index_track *track = &f->track[t];
        const ek__index_text *const texts[] = {&track->pid, &track->tid, &track->process, &track->thread};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            reach(part, texts[i]);
    }
    for (uint32_t c = 0; c < f->n_counters; c++) {
        const ek__index_counter *counter = &f->counter[c];
        const ek__index_text *const texts[] = {&counter->process, &counter->name, &counter->key};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            reach(part, texts[i]);
    }
    size_t size = part->end > part->begin ? (size_t)(part->end - part->begin) : 0;
    part->bytes = ek__alloc(size + 1, 1);
    if (!part->bytes)
        return ek__no_memory(err);
    return size > 0 ? ek__index_read_bytes(f, f->header.texts.at + part->begin, part->bytes, size, err) : EK_OK;
}

static char *write_text(shown_part *part, const char *before, const ek__index_text *text)
{
    char *begin = part->to, *to = stpcpy(begin, before);
    size_t size = shown_size(text);
    assert(size == 0 || (text->at >= part->begin && text->at + size <= part->end && size < EK__INDEX_SHOWN_TEXT));
    for (size_t i = 0; i < size; i++) {
        char c = part->bytes[text->at - part->begin + i];
        *to++ = c ? c : '?';
    }
    *to = '\0';
    part->to = to + 1;
    return begin;
}

static void write_shown(ek__index_opened *f, shown_part *part)
{
    for (uint32_t t = 0; t < f->n_tracks; t++) {
        const ek__index_track *track = &f->track[t];
        ek__index_shown_track *shown = &f->shown[t];
        shown->pid = write_text(part, "", &track->pid);
        shown->tid = write_text(part, "", &track->tid);
        shown->process = write_text(part, "", &track->process);
        shown->name =
            track->thread.size > 0 ? write_text(part, "", &track->thread) : write_text(part, "thread ", &track->tid);
    }
    for (uint32_t c = 0; c < f->n_counters; c++) {
        const ek__index_counter *counter = &f->counter[c];
        f->shown_counter[c].process = write_text(part, "", &counter->process);
        f->shown_counter[c].name = write_text(part, "", &counter->name);
        f->shown_counter[c].key = write_text(part, "", &counter->key);
    }
    assert((size_t)(part->to - f->shown_texts) <= all_shown(f));
}

static ek_status show_texts(ek__index_opened *f, ek_error *err)
{
    shown_part part = {.begin = UINT64_MAX};
    ek_status status = read_shown_part(f, &part, err);
    part.to = f->shown_texts = status == EK_OK ? malloc(all_shown(f)) : NULL;
    if (f->shown_texts)
        write_shown(f, &part);
    else if (status == EK_OK)
        status = ek__no_memory(err);
    free(part.bytes);
    return status;
}

/* ---- the display order of tracks ---- */

typedef struct place {
    const ek__index_track *track;
    const ek__index_shown_track *shown;
    uint32_t number;
} place;

/* Numbers by their value: "Stream 2" before "Stream 10". */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");
        if (m > 0 && n > 0) {
            size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
            zeros_a -= zeros_a == m;
            zeros_b -= zeros_b == n;
            if (m - zeros_a != n - zeros_b)
                return m - zeros_a < n - zeros_b ? -1 : 1;
            int order = memcmp(a + zeros_a, b + zeros_b, m - zeros_a);
            if (order != 0)
                return order;
            a += m;
            b += n;
        } else if (*a == *b) {
            a++;
            b++;
        } else {
            break;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if ((x->track->n_rows == 0) != (y->track->n_rows == 0))
        return x->track->n_rows == 0 ? 1 : -1;
    if (x->track->track_class != y->track->track_class)
        return x->track->track_class < y->track->track_class ? -1 : 1;
    int order = compare_names(x->shown->process, y->shown->process);
    if (order == 0)
        order = compare_names(x->shown->pid, y->shown->pid);
    if (order == 0)
        order = (x->track->sort > y->track->sort) - (x->track->sort < y->track->sort);
    if (order == 0)
        order = compare_names(x->shown->name, y->shown->name);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

/* Tracks and their rows in display order; track_at maps the file's tracks to it. */
static void write_in_order(ek__index_opened *f, const place *at, ek__index_row *row, ek__index_track *track,
                           ek__index_shown_track *shown)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < f->n_tracks; t++) {
        const ek__index_track *from = at[t].track;
        track[t] = *from;
        shown[t] = *at[t].shown;
        track[t].first_row = n;
        for (uint32_t r = 0; r < from->n_rows; r++, n++) {
            row[n] = f->row[from->first_row + r];
            row[n].track = t;
        }
        f->track_at[at[t].number] = t;
        f->n_shown += from->n_rows > 0;
        assert((from->n_rows > 0) == (f->n_shown == t + 1)); /* tracks without rows come last */
    }
    assert(n == f->n_rows && f->n_shown <= f->n_tracks);
}

static bool sort_tracks(ek__index_opened *f)
{
    place *at = ek__alloc(f->n_tracks, sizeof *at);
    ek__index_row *row = ek__alloc(f->n_rows, sizeof *row);
    ek__index_track *track = ek__alloc(f->n_tracks, sizeof *track);
    ek__index_shown_track *shown = ek__alloc(f->n_tracks, sizeof *shown);
    bool fine = at && row && track && shown;
    if (fine) {
        for (uint32_t t = 0; t < f->n_tracks; t++)
            at[t] = (place){&f->track[t], &f->shown[t], t};
        if (f->n_tracks > 0)
            qsort(at, f->n_tracks, sizeof *at, compare_places);
        write_in_order(f, at, row, track, shown);
        ek__index_row *old_row = f->row;
        ek__index_track *old_track = f->track;
        ek__index_shown_track *old_shown = f->shown;
        f->row = row;
        f->track = track;
        f->shown = shown;
        row = old_row;
        track = old_track;
        shown = old_shown;
    }
    free(shown);
    free(track);
    free(row);
    free(at);
    return fine;
}

/* ---- all together ---- */

static ek_status read_sections(const char *path, ek__index_opened *f, ek_error *err)
{
    ek_status status = read_checks(path, f, err);
    if (status == EK_OK)
        status = copy_sections(f, err);
    if (status != EK_OK)
        return status;
    if (!rows_fit(f))
        return damaged(path, "its rows are not as they should be", err);
    if (!tracks_fit(f))
        return damaged(path, "its tracks are not as they should be", err);
    if (!counters_fit(f))
        return damaged(path, "its counters are not as they should be", err);
    status = show_texts(f, err);
    return status == EK_OK && !sort_tracks(f) ? ek__no_memory(err) : status;
}

ek_status ek__index_file_open(const char *path, ek__index_opened *out, ek_error *err)
{
    ek__index_opened f = {.rank = EK_TRACE_NO_RANK, .stage = -1};
    f.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f.fd < 0)
        return ek__cannot_open(path, "open the index", errno, err);
    ek_status status = read_header(path, &f, err);
    if (status == EK_OK)
        status = read_sections(path, &f, err);
    assert(status != EK_OK || (f.check && f.row && f.track && f.n_tracks >= f.n_shown));
    if (status != EK_OK)
        ek__index_file_close(&f);
    else
        *out = f;
    return status;
}

void ek__index_file_close(ek__index_opened *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->names)
        ek__index_names_free(*f->names);
    free(f->names);
    free(f->shown_texts);
    free(f->shown_counter);
    free(f->shown);
    free(f->track_at);
    free(f->counter);
    free(f->track);
    free(f->chunk);
    free(f->row);
    free(f->spot);
    free(f->check);
    free(f->path);
    free(f->trace);
    *f = (ek__index_opened){.fd = -1};
}
