/* index/write.h - from a trace to its index file. */
#ifndef EK_INDEX_WRITE_H
#define EK_INDEX_WRITE_H

#include <stddef.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"
#include "index/format.h"

/** What one trace gave. */
typedef struct ek__index_written {
    int64_t bytes_read, bytes_index, n_events;
    char problem[200]; /**< what was wrong with the trace from problem_at on, a sentence without a point; "": nothing */
    int64_t problem_at; /**< -1 without one */
} ek__index_written;

/**
 * Read a trace (plain or .gz) and write its index to `out_path`, through a temporary beside it that is gone on every
 * failure and interrupt.
 *
 * Blocks are taken and parsed by several threads; records are merged in the order of the file, gathered up to a bound,
 * sorted by track and time as a run; runs beyond the bound go to a temporary file without a name in the folder of
 * `out_path`; runs are merged into rows. The file is the same for any number of threads. Memory: the bound
 * (EK__INDEX_BOUND), blocks and parts of the threads, the distinct names, and some 5 KB for every 4 MB of a compressed
 * trace. Disk: the index, and while it is written about as much again for traces over 1 GB.
 *
 * @param first, last  progress of this file within all, 0 <= first <= last <= 1: the callback gets first + share *
 *                     (last - first)
 * @return EK_OK also for damaged traces with what could be read; EK_ERR_INPUT when it is none; EK_ERR_SYSTEM;
 *         EK_ERR_MEMORY. O(bytes + n log(n / bound)).
 */
ek_status ek__index_write(const char *trace_path, const char *out_path, const ek_trace_index_options *options,
                          double first, double last, ek__index_written *out, ek_error *err);

enum { EK__INDEX_BOUND = 192 << 20 };
/** The same with at most about `bound` bytes of records in memory instead of EK__INDEX_BOUND. */
ek_status ek__index_write_within(const char *trace_path, const char *out_path, const ek_trace_index_options *options,
                                 double first, double last, size_t bound, ek__index_written *out, ek_error *err);

#endif
