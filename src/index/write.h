/* index/write.h - writes the index file of a trace. */
#ifndef EK_INDEX_WRITE_H
#define EK_INDEX_WRITE_H

#include <stddef.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"
#include "index/format.h"

/** The result of indexing one trace. */
typedef struct ek__index_written {
    int64_t bytes_read, bytes_index, n_events;
    char problem[200];  /**< the defect of the trace from problem_at on, a sentence without a full stop; "": nothing */
    int64_t problem_at; /**< -1 without one */
} ek__index_written;

/**
 * Read a trace (plain or .gz) and write its index to `out_path`, through a temporary file next to it that is removed on
 * every failure and interrupt.
 *
 * Several threads take and parse blocks. Records are merged in file order, gathered up to a bound and sorted by track
 * and time as a run; runs beyond the bound go to an unnamed temporary file in the folder of `out_path`; runs are merged
 * into rows. The file is the same for any number of threads. Memory: the bound (EK__INDEX_BOUND), blocks and parts of
 * the threads, the distinct names, and some 5 KB for every 4 MB of a compressed trace. Disk: the index, and, during
 * writing, about as much again for traces over 1 GB.
 *
 * @param first, last  progress of this file within all, 0 <= first <= last <= 1: the callback gets first + share *
 *                     (last - first)
 * @return EK_OK also for damaged traces, with the readable part; EK_ERR_INPUT when the file is not a trace;
 *         EK_ERR_SYSTEM; EK_ERR_MEMORY. O(bytes + n log(n / bound)).
 */
ek_status ek__index_write(const char *trace_path, const char *out_path, const ek_trace_index_options *options,
                          double first, double last, ek__index_written *out, ek_error *err);

enum { EK__INDEX_BOUND = 192 << 20 };
/** The same with at most about `bound` bytes of records in memory instead of EK__INDEX_BOUND. */
ek_status ek__index_write_within(const char *trace_path, const char *out_path, const ek_trace_index_options *options,
                                 double first, double last, size_t bound, ek__index_written *out, ek_error *err);

#endif
