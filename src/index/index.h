/* index/index.h - queries an opened index for the data that a picture of a time range needs.
 *
 * Rows, tracks and names of all files are numbered consecutively: those of the second file follow those of the first.
 * Times are nanoseconds after the index's origin (the earliest event of any file, with the files' shifts). All calls
 * are thread-safe; each has the stated cost and never reads the whole file. */
#ifndef EK_INDEX_INDEX_H
#define EK_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"
#include "index/format.h"

/** Can the file be indexed as the table of a rank without a trace, that is, a table of kernels with their begins?
 * O(header). */
bool ek__index_takes_table(const char *path);

/* ---- contents ---- */

typedef struct ek__index_track_info {
    int file;                   /**< index of the trace file: a group of the page */
    const char *name, *process; /**< shown; never NULL */
    const char *pid, *tid;
    ek__track_class track_class;
    int first_row, n_rows;
    int64_t n_events, n_left_out;
} ek__index_track_info;

typedef struct ek__index_file_info {
    const char *path;
    int rank, stage;           /**< EK_TRACE_NO_RANK, -1 */
    int first_track, n_tracks; /**< in display order: class, process, sort index, name */
    int first_counter, n_counters;
    int64_t shift;
    int64_t trace_bytes; /**< of the trace, decompressed */
} ek__index_file_info;

typedef struct ek__index_counter_info {
    int file;
    const char *process, *name, *key;
    int64_t n_points;
    double least, most;
} ek__index_counter_info;

int ek__index_n_rows(const ek_trace_index *index);
int ek__index_n_tracks(const ek_trace_index *index);
int ek__index_n_counters(const ek_trace_index *index);
uint32_t ek__index_n_names(const ek_trace_index *index);
/** @param file  0..n_files - 1 */
ek__index_file_info ek__index_describe_file(const ek_trace_index *index, int file);
/** For an unknown number: file -1. */
ek__index_track_info ek__index_describe_track(const ek_trace_index *index, int track);
ek__index_counter_info ek__index_describe_counter(const ek_trace_index *index, int counter);
int ek__index_row_track(const ek_trace_index *index, int row);
/** Arrows of all files with a known begin and end. */
int64_t ek__index_n_arrows(const ek_trace_index *index);
int64_t ek__index_row_events(const ek_trace_index *index, int row);
/** Nanoseconds of the traces' clock at time 0, and the last end. */
int64_t ek__index_origin(const ek_trace_index *index);
int64_t ek__index_end(const ek_trace_index *index);
/** A name's bytes, any of them; borrowed. Empty for a number beyond.
 *  @return EK_OK; EK_ERR_SYSTEM, EK_ERR_MEMORY when the names of its file, which are read at the first call, cannot be
 * read. */
ek_status ek__index_name_text(const ek_trace_index *index, uint32_t name, const char **text, size_t *size,
                              ek_error *err);

/* ---- pictures ---- */

/** One box of the picture: an event (n 1), or events that are too close to distinguish. */
typedef struct ek__index_block {
    int64_t begin, end;
    int64_t busy;   /**< of n > 1: sum of durations; their share of end - begin is the filled part of the box */
    uint32_t name;  /**< of the event, or of the longest */
    uint32_t n;     /**< events; saturates */
    uint32_t index; /**< of the first in its row */
    uint8_t type;   /**< of the event, or of the longest */
} ek__index_block;

/** A growing list, kept between calls. {0} to begin with. */
typedef struct ek__index_blocks {
    size_t n, capacity;
    ek__index_block *block;
} ek__index_blocks;
void ek__index_blocks_clear(ek__index_blocks *blocks);

/**
 * Append a row's boxes between two times, in order: every event that lasts `resolution` or longer is a separate box;
 * shorter neighbours closer together than `resolution` share a box of at most 2 `resolution`. A box that crosses the
 * border is appended whole.
 *
 * @param resolution  nanoseconds of a pixel; 0: every event is a box
 * @param at_most     boxes to append, at least 8; 0: no limit. When there are more, the row is drawn again at a
 *                    resolution that meets the limit
 * @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY. O((end - begin) / resolution + log n) reads of at most 64 events each,
 *         neighbours in one.
 */
ek_status ek__index_row_blocks(const ek_trace_index *index, int row, int64_t begin, int64_t end, int64_t resolution,
                               size_t at_most, ek__index_blocks *out, ek_error *err);

/** An arrow with at least one end in the time range. */
typedef struct ek__index_arrow_seen {
    int64_t from_time, to_time;
    int from_row, to_row; /**< deepest row of the track with an event at that time; -1 without one */
    uint32_t name;
} ek__index_arrow_seen;
/**
 * Arrows that begin or end on the given tracks between two times, at most `at_most` (the first ones): *n is the number
 * found, *all is whether these are all. Unknown track numbers are skipped.
 * @param out  [at_most]
 */
ek_status ek__index_arrows(const ek_trace_index *index, const int *track, int n_tracks, int64_t begin, int64_t end,
                           size_t at_most, ek__index_arrow_seen *out, size_t *n, bool *all, ek_error *err);

/** Points of a counter for a picture: the minimum, maximum and last value per pixel. Columns of [n]. */
typedef struct ek__index_curve_point {
    int64_t time;
    double least, most, last;
} ek__index_curve_point;
ek_status ek__index_curve(const ek_trace_index *index, int counter, int64_t begin, int64_t end, int64_t resolution,
                          ek__index_curve_point *out, size_t capacity, size_t *n, ek_error *err);

/* ---- one event ---- */

typedef struct ek__index_flow {
    bool outgoing;
    uint32_t name;
    int row; /**< other end: -1 when there is no event */
    uint32_t index;
    int64_t begin, end; /**< of the event at the other end, otherwise the time twice */
    uint32_t event_name;
} ek__index_flow;
enum { EK__INDEX_MAX_FLOWS = 256 };

typedef struct ek__index_details {
    uint32_t name;
    uint8_t type;
    int64_t begin, end;
    char *text; /**< [size] the event's text in the trace: JSON if the trace is sound; malloc */
    size_t size;
    char layer[256]; /**< its layer according to its own name, its arguments or its launcher; "" */
    int n_flows;
    ek__index_flow flow[EK__INDEX_MAX_FLOWS];
} ek__index_details;
/** @return EK_ERR_INPUT for an unknown row or index, EK_ERR_SYSTEM when the trace has changed. O(log n); of a database
 *  O(bytes of its text up to the event). */
ek_status ek__index_event_details(const ek_trace_index *index, int row, uint32_t at, ek__index_details *out,
                                  ek_error *err);
void ek__index_details_clear(ek__index_details *details);
/** The event of a row at or around a time: its index, or UINT32_MAX. O(log n) and two reads.
 *  @return EK_OK or EK_ERR_SYSTEM */
ek_status ek__index_event_at(const ek_trace_index *index, int row, int64_t time, uint32_t *at, ek_error *err);

/* ---- searching and summing ---- */

/** Names that contain a text, ignoring ASCII case; prepared once per search. */
typedef struct ek__index_search ek__index_search;
ek_status ek__index_search_new(const ek_trace_index *index, const char *text, size_t size, ek__index_search **out,
                               ek_error *err);
void ek__index_search_free(ek__index_search *search);
/** The number of matching names, and of events with such a name. */
uint32_t ek__index_search_names(const ek__index_search *search, uint64_t *n_events);

typedef struct ek__index_hit {
    int row; /**< -1: none */
    uint32_t index, name;
    int64_t begin, end;
} ek__index_hit;
/**
 * The next event (forward) or the previous one with a matching name, in order of (begin, row, index), strictly after
 * (before) the place given by (time, row, index).
 * @param rows  [n_rows] rows to search; NULL: all
 */
ek_status ek__index_find(const ek_trace_index *index, const ek__index_search *search, const int *rows, int n_rows,
                         bool forward, int64_t time, int row, uint32_t at, ek__index_hit *out, ek_error *err);

typedef struct ek__index_total {
    uint32_t name; /**< one of the names with the same text and type */
    uint8_t type;
    int track;        /**< -1 in sums by name */
    int64_t n, total; /**< events that overlap the range; their time within it */
} ek__index_total;

/** Sums over a time range, computed over several calls so that each call is short. */
typedef struct ek__index_summing {
    int next_row;        /**< index into rows of the next one; n_rows when done */
    uint64_t next_event; /**< in it */
    size_t n, capacity;
    ek__index_total *total; /**< sorted by (text, type, track) */
    void *slots;            /**< of the list, by hash */
} ek__index_summing;
/** Continue for about `milliseconds`. @return EK_OK also when it is unfinished: next_row < n_rows. */
ek_status ek__index_sum_up(const ek_trace_index *index, const int *rows, int n_rows, int64_t begin, int64_t end,
                           int milliseconds, ek__index_summing *state, ek_error *err);
void ek__index_summing_clear(ek__index_summing *state);

/* ---- every event, for a page that embeds them ---- */

/** Events `first` to `first + n - 1` of a row: times as shown, names of the index, places in the trace. O(n). */
ek_status ek__index_events(const ek_trace_index *index, int row, uint32_t first, uint32_t n, ek__index_event *out,
                           ek_error *err);
/** The indexed part of a trace, decompressed: `size` bytes and a NUL, malloc. EK_ERR_SYSTEM when it has
 *  changed. Memory and time: its bytes; for traces small enough to embed in a page. */
ek_status ek__index_whole_trace(const ek_trace_index *index, int file, char **out, size_t *size, ek_error *err);

#endif
