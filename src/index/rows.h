/* index/rows.h - writes rows of events, points of counters and arrows from sorted records. */
#ifndef EK_INDEX_ROWS_H
#define EK_INDEX_ROWS_H

#include "index/output.h"
#include "index/records.h"

/** A file being written. The places of its parts are known in advance, except for spooled parts. */
typedef struct ek__index_file {
    ek__output *output;
    const char *folder; /**< of temporary files */
    const ek__index_store *store;
    const ek__trace *trace;      /**< tracks */
    const uint8_t *name_meaning; /**< [names] ek__name_meaning */
    bool no_metadata;
    const bool *stop; /**< another thread failed, or the caller requested it */
    /** Report that `n` more records were written. Thread-safe. */
    void (*advance)(void *user, uint64_t n);
    void *user;
} ek__index_file;

static inline bool ek__index_stopped(const ek__index_file *file)
{
    return __atomic_load_n(file->stop, __ATOMIC_RELAXED);
}

/** The place of a track's rows in a thread's output. */
typedef struct ek__track_rows {
    int writer;
    size_t first_row, n_rows, first_chunk, n_chunks;
    uint64_t groups, n_groups; /**< byte of the thread's spooled rows; sums */
    int64_t n_events, n_left_out;
    ek__track_class track_class;
} ek__track_rows;

/** A depth of the current track. */
typedef struct ek__index_depth {
    int64_t end; /**< of its last event */
    size_t n;    /**< events of the current chunk, up to EK__CHUNK_EVENTS */
    size_t capacity;
    ek__index_event *event; /**< [capacity] */
    ek__index_row row;
    size_t n_chunks, chunks_capacity;
    ek__index_chunk *chunk;
} ek__index_depth;

/** One thread's output from its tracks. {0} except for the file and the place for sums. */
typedef struct ek__row_writer {
    const ek__index_file *file;
    int number;
    ek__sort_stream stream;
    ek__index_depth depth[EK__INDEX_MAX_DEPTH];
    int n_depths;      /**< used by the current track */
    uint64_t next;     /**< byte of the file for the next chunk */
    uint64_t n_groups; /**< of the current track */
    ek__aside groups;
    size_t n_rows, rows_capacity, n_chunks, chunks_capacity;
    ek__index_row *row; /**< chunks and groups are numbered within the track */
    ek__index_chunk *chunk;
} ek__row_writer;

void ek__row_writer_clear(ek__row_writer *writer);
/** Write a track's events from byte `at` of the file on, and keep their sums. O(events (depth + log runs)). */
ek_status ek__write_track(ek__row_writer *writer, uint32_t track, uint64_t at, ek__track_rows *out, ek_error *err);

/** Add the sums `more`, of at least one event, to `sum` of the events before them, which may be empty (n is 0). */
void ek__index_sum_add(ek__index_sum *sum, const ek__index_sum *more);

/** Write a counter's points and their ranges to the given bytes of the file. O(points log runs). */
ek_status ek__write_counter(const ek__index_file *file, ek__sort_stream *stream, uint32_t counter, uint64_t points,
                            uint64_t ranges, double *least, double *most, ek_error *err);

/** Arrows by their ends: records of two further external sorts. */
typedef struct ek__arrows {
    uint64_t n;
    ek__sorter from, to;
} ek__arrows;

/** Pair the ends of flows. @param bound  bytes for records in memory. O(n log n). */
ek_status ek__pair_flows(const ek__index_file *file, size_t bound, ek__arrows *out, ek_error *err);
void ek__arrows_clear(ek__arrows *arrows);
/** Write one of the two lists at a byte of the file. @param count  [tracks] gets the number of arrows of each track. */
ek_status ek__write_arrows(const ek__index_file *file, const ek__sorter *arrows, bool from, uint64_t at,
                           uint64_t *count, ek_error *err);

#endif
