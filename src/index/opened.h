/* index/opened.h - an opened index for the queries: its files, and reading events of their rows.
 *
 * Nothing here changes once ek_trace_index_open() is done, so threads share it; each call keeps its own state on its
 * stack or heap. Internal times are those of the file's clock; ek__index_shown() and ek__index_of_file() convert them
 * to callers' times and back. */
#ifndef EK_INDEX_OPENED_H
#define EK_INDEX_OPENED_H

#include <assert.h>

#include "base/error.h"
#include "evenkeel/trace_index.h"
#include "index/index.h"
#include "trace/events/intervals.h"

enum {
    EK__INDEX_READ_EVENTS = 2048, /**< events of one read: 64 KB */
    EK__INDEX_SHOWN_TEXT = 256,   /**< stored bytes of the name of a track or counter */
};

/** Display texts of a track. */
typedef struct ek__index_shown_track {
    char *name, *process, *pid, *tid; /**< never NULL */
} ek__index_shown_track;

typedef struct ek__index_shown_counter {
    char *process, *name, *key;
} ek__index_shown_counter;

/** Names of a file, and the bytes of their texts. */
typedef struct ek__index_names_read {
    ek__index_name *name; /**< [n_names] */
    const char *texts;
} ek__index_names_read;

/** One index file. Small sections are in memory and checked; names and texts from their first use. Groups, events,
 * points and arrows are read each time, with pread(), and compared with their checks: a memory map would end the
 * process (SIGBUS) if the file were truncated. */
typedef struct ek__index_opened {
    char *trace; /**< absolute path of the trace */
    char *path;  /**< the same path as given, or as found below the given path */
    int fd;      /**< of the index */
    int rank, stage;
    int64_t shift;
    int64_t offset; /**< from the file's clock to shown times: shift - origin */
    ek__index_header header;
    size_t size;
    uint64_t *check; /**< [header.checks.n] of blocks */
    uint32_t n_rows, n_tracks, n_counters, n_names;
    uint32_t n_shown;   /**< tracks with rows: the first ones; the others only have arrows */
    ek__index_row *row; /**< [n_rows], by track in display order */
    ek__index_chunk *chunk;
    ek__index_track *track;     /**< [n_tracks], as shown */
    ek__index_counter *counter; /**< [n_counters] */
    uint32_t *track_at;         /**< [n_tracks]: the index in `track` of a track of the file */
    ek__index_shown_track *shown;
    ek__index_shown_counter *shown_counter;
    char *shown_texts;                         /**< the bytes that `shown` and `shown_counter` point into */
    ek__index_spot *spot;                      /**< [header.spots.n] */
    ek__index_names_read **names;              /**< [1] NULL until the first use; ek__index_names_of() */
    int first_row, first_track, first_counter; /**< numbers of the first ones within the index */
    uint32_t first_name;
} ek__index_opened;

struct ek_trace_index {
    int n_files;
    ek__index_opened *file; /**< [n_files] */
    int n_rows, n_tracks, n_counters;
    uint32_t n_names;
    int64_t origin, end;
    int64_t n_events;
    char *folder; /**< of the first index */
};

/**
 * Open one index file and check everything that later reads rely on: sections within the file, numbers of rows, chunks,
 * groups and points in range and in order, texts in range.
 *
 * @return EK_OK; EK_ERR_INPUT when it is of another version, truncated, or contradicts itself; EK_ERR_SYSTEM when it
 *         cannot be read or bytes read here have changed; EK_ERR_MEMORY. O(rows + chunks + tracks + counters + bytes /
 *         4096); memory the same.
 */
ek_status ek__index_file_open(const char *path, ek__index_opened *out, ek_error *err);
void ek__index_file_close(ek__index_opened *file);
/** Size and modification time of a trace, as stored in the header. @return false when stat() fails. */
bool ek__index_trace_state(int fd, const char *path, int64_t *size, int64_t *changed);

/* ---- the folder of index files ---- */

/** Candidate folders, best first. */
typedef struct ek__index_places {
    int n;
    char *folder[2];
    bool temporary; /**< the only one was made for this index and is removed with it */
} ek__index_places;

/**
 * The folders in which the index files of some traces are searched and written.
 * @param trace  [n] absolute paths, at least one
 * @return EK_OK, EK_ERR_SYSTEM when there is no such folder or the temporary one cannot be made, EK_ERR_MEMORY
 */
ek_status ek__index_places_find(const char *const *trace, int n, const ek_trace_index_options *options,
                                ek__index_places *out, ek_error *err);
/** Forget them; a temporary folder is removed. */
void ek__index_places_clear(ek__index_places *places);
/** The first of them that can be written to, made if absent; NULL and a message when there is none. */
const char *ek__index_place_to_write(const ek__index_places *places, ek_error *err);
/** "trace_view-0123456789abcdef.ekindex": letters, digits, '.', '_' and '-' of the trace's name, then its path's hash;
 *  `number` distinguishes paths with equal hashes. malloc; NULL when memory is out. */
char *ek__index_file_name(const char *trace, int number);

/** Number the files' rows, tracks, counters and names consecutively and set one origin for their times.
 *  @return EK_ERR_INPUT when there are too many. */
ek_status ek__index_number(ek_trace_index *index, ek_error *err);

/* ---- times; sums and differences stay within int64_t for any damaged file ---- */

static inline int64_t ek__index_shown(const ek__index_opened *file, int64_t time)
{
    return ek__ns_add(time, file->offset);
}

static inline int64_t ek__index_of_file(const ek__index_opened *file, int64_t shown)
{
    return ek__ns_sub(shown, file->offset);
}

static inline int64_t ek__index_event_end(const ek__index_event *event)
{
    return ek__ns_add(event->begin, event->duration);
}

/** Is any of it visible between two times? An event without duration counts at its begin. */
static inline bool ek__index_overlaps(int64_t begin, int64_t end, int64_t from, int64_t to)
{
    return begin < to && (end > from || begin >= from);
}

/* ---- rows ---- */

/** The file of a row, and its row there; NULL for an unknown row. O(log files). */
const ek__index_opened *ek__index_find_row(const ek_trace_index *index, int row, const ek__index_row **out);
const ek__index_opened *ek__index_find_track(const ek_trace_index *index, int track, const ek__index_track **out);
/** The number of a name within the index. */
static inline uint32_t ek__index_name_number(const ek__index_opened *file, uint32_t name)
{
    return name < file->n_names ? file->first_name + name : UINT32_MAX;
}

/** Chunk c, below n_chunks, of a row. */
static inline const ek__index_chunk *ek__index_row_chunk(const ek__index_opened *file, const ek__index_row *row,
                                                         uint64_t c)
{
    assert(c < row->n_chunks && row->first_chunk + c < file->header.chunks.n);
    return &file->chunk[row->first_chunk + c];
}

/** Events of group g of a chunk, 1 or more. */
static inline uint32_t ek__index_group_size(const ek__index_chunk *chunk, uint32_t g)
{
    assert((uint64_t)g * EK__GROUP_EVENTS < chunk->sum.n);
    uint32_t rest = chunk->sum.n - g * EK__GROUP_EVENTS;
    return rest < EK__GROUP_EVENTS ? rest : EK__GROUP_EVENTS;
}

/** The number of groups of a chunk; its number of events must be checked. */
static inline uint32_t ek__index_n_groups(const ek__index_chunk *chunk)
{
    assert(chunk->sum.n >= 1 && chunk->sum.n <= EK__CHUNK_EVENTS);
    return (chunk->sum.n + EK__GROUP_EVENTS - 1) / EK__GROUP_EVENTS;
}

/** Read events `first` to `first + n - 1` of a chunk, which must exist. Durations are returned as 0 or more, types as
 *  less than EK_N_VIEW_TYPES.
 *  @return EK_OK or EK_ERR_SYSTEM. */
ek_status ek__index_read_chunk(const ek__index_opened *file, const ek__index_chunk *chunk, uint32_t first, uint32_t n,
                               ek__index_event *out, ek_error *err);
/** Sums of all groups of a chunk. @param out  [ek__index_n_groups(chunk)] @return EK_OK or EK_ERR_SYSTEM. */
ek_status ek__index_read_groups(const ek__index_opened *file, const ek__index_chunk *chunk,
                                ek__index_sum out[EK__CHUNK_GROUPS], ek_error *err);
/** The same for a row, over chunks. */
ek_status ek__index_read_events(const ek__index_opened *file, const ek__index_row *row, uint32_t first, uint32_t n,
                                ek__index_event *out, ek_error *err);
/** `n` bytes of the index file from `at`, after the header, verified by their checks. O(n), at least two blocks
 *  of EK__CHECK_BYTES.
 *  @return EK_OK; EK_ERR_SYSTEM when they have changed, do not exist or cannot be read. */
ek_status ek__index_read_bytes(const ek__index_opened *file, uint64_t at, void *out, size_t n, ek_error *err);

/** The first chunk of a row that does not end before a time; n_chunks without one. O(log n). */
uint64_t ek__index_first_chunk(const ek__index_opened *file, const ek__index_row *row, int64_t time);

/** The most recently read groups of events and sums, for calls that read many times of few rows. {0} to begin with. */
enum { EK__INDEX_CACHED_GROUPS = 64 };
typedef struct ek__index_groups {
    struct ek__index_cached {
        const ek__index_chunk *chunk; /**< NULL: free */
        uint32_t group;
        ek__index_event event[EK__GROUP_EVENTS];
    } at[EK__INDEX_CACHED_GROUPS];
    struct ek__index_cached_sums {
        const ek__index_chunk *chunk; /**< NULL: free */
        ek__index_sum sum[EK__CHUNK_GROUPS];
    } sums[EK__INDEX_CACHED_GROUPS];
} ek__index_groups;

/** The last event of a row that begins at or before a time (of the file), if it has not ended before it: its index, or
 *  UINT32_MAX. `groups` may be NULL. O(log n) and a read of 64 events. */
ek_status ek__index_locate(const ek__index_opened *file, const ek__index_row *row, int64_t time,
                           ek__index_groups *groups, uint32_t *at, ek__index_event *event, ek_error *err);
/** The deepest row of a track with an event at a time: its number within the file, or -1. */
ek_status ek__index_locate_deepest(const ek__index_opened *file, const ek__index_track *track, int64_t time,
                                   ek__index_groups *groups, int *row, uint32_t *at, ek__index_event *event,
                                   ek_error *err);

/** The first arrow of a list (sorted by `from_time`, or by `to_time`) of a track that is not before a time, counted
 *  from the track's first. O(log n) reads. */
ek_status ek__index_first_arrow(const ek__index_opened *file, const ek__index_track *track, bool to, int64_t time,
                                uint64_t *at, ek_error *err);
/** `n` arrows of a track's list, which must exist. Tracks are returned in display order, below n_tracks; numbers beyond
 *  mean the track itself. */
ek_status ek__index_read_arrows(const ek__index_opened *file, const ek__index_track *track, bool to, uint64_t first,
                                size_t n, ek__index_arrow *out, ek_error *err);

/* ---- names ---- */

/** All names of a file, read at the first call; borrowed until the file is closed. Thread-safe.
 *  @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(1), the first time O(bytes of names and texts). */
ek_status ek__index_names_of(const ek__index_opened *file, const ek__index_names_read **out, ek_error *err);
/** NULL is fine. */
void ek__index_names_free(ek__index_names_read *names);
/** The text of a name of a file, borrowed too: empty for an unknown number or a text outside its section. */
static inline const char *ek__index_text_of(const ek__index_opened *file, const ek__index_names_read *names,
                                            uint32_t name, size_t *size)
{
    ek__index_text text = name < file->n_names ? names->name[name].text : (ek__index_text){0};
    bool fits = text.at <= file->header.texts.n && text.size <= file->header.texts.n - text.at;
    *size = fits ? text.size : 0;
    return *size > 0 ? names->texts + text.at : "";
}

/* ---- the trace itself ---- */

/** The text of an event in the trace: `size` bytes and a NUL, malloc. EK_ERR_SYSTEM when the trace has
 *  changed since. O(size) of a plain trace; of a compressed one from the last spot before it. */
ek_status ek__index_read_text(const ek__index_opened *file, const ek__index_event *event, char **out, ek_error *err);

/* ---- around an event ---- */

/** Arrows that begin (`to`: end) at an event, up to `capacity`. `row`: within the file. O(log n) reads, and up to 4096
 *  arrows. */
ek_status ek__index_arrows_of(const ek__index_opened *file, int row, uint32_t at, const ek__index_event *event, bool to,
                              ek__index_groups *groups, ek__index_arrow *out, int capacity, int *n, ek_error *err);
/** The layer of an event with the given text: "" when unknown. `row`: within the file. */
ek_status ek__index_layer(const ek__index_opened *file, int row, uint32_t at, const ek__index_event *event,
                          const char *text, size_t size, ek__index_groups *groups, char layer[256], ek_error *err);

#endif
