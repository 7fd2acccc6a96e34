/* index/sort.h - an external sort: records of a few 64-bit words in buckets, sorted within each by their first words.
 *
 * Records are gathered up to a bound, then split into buckets and sorted: a run. All runs but the last go to an unnamed
 * temporary file. The records of a bucket are then read as one merged stream. Records that compare equal keep the order
 * in which they were added. */
#ifndef EK_INDEX_SORT_H
#define EK_INDEX_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { EK__SORT_MAX_WORDS = 4 };

/** Words compare as unsigned numbers: these two convert signed numbers to words and back. */
static inline uint64_t ek__sort_signed(int64_t value)
{
    return (uint64_t)value ^ (UINT64_C(1) << 63);
}

static inline int64_t ek__unsort_signed(uint64_t word)
{
    return (int64_t)(word ^ (UINT64_C(1) << 63));
}

/** Sort n records of n_words (2 or 4) by their first n_keys words, 1..n_words, stably. `spare`: n / 2 records. O(n log
 *  n), and O(n) if they are nearly in order. */
void ek__sort_records(uint64_t *record, size_t n, int n_words, int n_keys, uint64_t *spare);

/** A run: records by bucket. */
typedef struct ek__sort_run {
    uint64_t *words; /**< in memory; NULL: in the file, from byte `at` on */
    uint64_t at;
    uint32_t n_buckets;
    uint32_t *first; /**< [n_buckets + 1] index of each bucket's first record */
} ek__sort_run;

typedef struct ek__sorter {
    int n_words, n_keys;
    size_t bound; /**< records of a run; below 2^32 */
    size_t keep;  /**< records of the runs kept in memory */
    size_t n_kept;
    const char *folder; /**< of the temporary file */
    int fd;             /**< -1: none yet */
    uint64_t file_size;
    size_t n, capacity;
    uint64_t *record; /**< [n] gathered */
    uint32_t *bucket; /**< [n] */
    uint64_t *sorted; /**< room for a run; NULL */
    int n_runs;
    size_t runs_capacity;
    ek__sort_run *run;
    size_t counts_capacity;
    uint64_t *count; /**< [buckets so far] records of each in all runs */
    uint32_t n_buckets;
} ek__sorter;

/** @param approximate  bytes of memory for records */
void ek__sorter_init(ek__sorter *sorter, int n_words, int n_keys, size_t bytes, const char *folder);
void ek__sorter_clear(ek__sorter *sorter);
/** Add records. @return EK_OK, EK_ERR_MEMORY, EK_ERR_SYSTEM when the disk is full. O(n), occasionally with a sort. */
ek_status ek__sorter_add(ek__sorter *sorter, const uint64_t *records, const uint32_t *buckets, size_t n, ek_error *err);
/** Sort the rest after the last record. Call once, before any read. */
ek_status ek__sorter_finish(ek__sorter *sorter, ek_error *err);
/** Records of a bucket. */
static inline uint64_t ek__sorter_count(const ek__sorter *sorter, uint32_t bucket)
{
    return bucket < sorter->n_buckets ? sorter->count[bucket] : 0;
}

/** A run's part of a bucket: its next records. */
typedef struct ek__sort_source {
    const uint64_t *record, *end; /**< in memory: the buffered records */
    uint64_t at, n_left;          /**< byte of the file, and records there */
    uint64_t *buffer;
    int run;
} ek__sort_source;

/** The records of a bucket, in order. {0} to begin with; may be opened again for another bucket. */
typedef struct ek__sort_stream {
    const ek__sorter *sorter;
    int n_sources; /**< sources that are not at their end */
    size_t sources_capacity, n_buffers;
    ek__sort_source *source; /**< a heap: the next record is the first one's */
    uint64_t *buffers;
    bool given; /**< the first one's record was returned */
} ek__sort_stream;

ek_status ek__sort_stream_open(ek__sort_stream *stream, const ek__sorter *sorter, uint32_t bucket, ek_error *err);
/** The next record, valid until the next call; NULL at the end, or with *status when reading failed. Several threads
 *  may read streams of one sorter. O(log runs). */
const uint64_t *ek__sort_stream_next(ek__sort_stream *stream, ek_status *status, ek_error *err);
void ek__sort_stream_clear(ek__sort_stream *stream);

#endif
