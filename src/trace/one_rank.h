/* trace/one_rank.h - a rank's files into an analysed rank. */
#ifndef EK_TRACE_ONE_RANK_H
#define EK_TRACE_ONE_RANK_H

#include <pthread.h>

#include "trace/tables/files.h"
#include "trace/trace.h"

/** The settings for reading ranks of one run by several threads. */
typedef struct ek__rank_reading {
    const ek_trace_options *options;
    ek_trace_run *run;     /**< its pool receives the data that tables have about the whole run */
    pthread_mutex_t *lock; /**< of the run */
    int n_ranks;           /**< of the whole run: of many each stores fewer allocations */
    int n_threads;         /**< number of threads for one trace */
} ek__rank_reading;

/** Values that need several tables of a rank. */
struct ek__gathered;

/** Read a table, of a rank or (rank and all NULL) of the whole run. @return as its reader */
ek_status ek__table_read(const ek__rank_reading *how, const ek__rank_file *file, ek_trace_source *source,
                         ek_trace_rank *rank, struct ek__gathered *all, ek_error *err);

/**
 * Read and analyse a rank. `rank` is zeroed; it gets a pool of its own, which the caller owns also after an error.
 * @return EK_OK also where some of its files cannot be read: rank->source[].problem names them; the first file's error
 *         when none can; EK_ERR_MEMORY; EK_ERR_SYSTEM after an interrupt. O(bytes).
 */
ek_status ek__rank_read(const ek__rank_reading *how, const ek__rank_files *files, ek_trace_rank *rank, ek_error *err);

#endif
