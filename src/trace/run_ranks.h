/* trace/run_ranks.h - the ranks of a run, read by threads or by the processes of a team. */
#ifndef EK_TRACE_RUN_RANKS_H
#define EK_TRACE_RUN_RANKS_H

#include <pthread.h>

#include "trace/tables/files.h"

/** All ranks being read. */
typedef struct ek__run_reading {
    const ek__layout *layout;
    const ek_trace_options *options;
    const ek_listener *listener;
    ek_trace_run *run;    /**< rank[]: room for those of the layout, zeroed */
    pthread_mutex_t lock; /**< shared by threads: the run's own parts, progress */
    double *weight;       /**< [n_ranks]: bytes */
    ek_status *status;    /**< [n_ranks] */
    ek_error *error;      /**< [n_ranks] */
} ek__run_reading;

/** Read every rank of the layout: run->rank[], status[], error[] by its index.
 *  @return EK_OK; EK_ERR_MEMORY. Errors of a rank are in its status. O(bytes). */
ek_status ek__run_read_by_threads(ek__run_reading *reading, ek_error *err);

/** The same by options->team; process 0 has the layout, the others (`reading->layout` without ranks) work and receive
 * nothing. @return as ek__deal(). O(bytes / processes). */
ek_status ek__run_read_by_team(ek__run_reading *reading, ek_error *err);

/** The files that every process finds itself, with options->local: `read` makes its own run. Process 0 gets the ranks
 * of all.
 *  @return as ek__deal(). */
ek_status ek__run_gather(const ek_trace_options *options, const ek_listener *listener,
                         ek_status (*read)(void *user, ek_trace_run *out, ek_error *err), void *user, ek_trace_run *run,
                         ek_error *err);

/** Are there other processes to read the run? */
static inline bool ek__has_team(const ek_trace_options *options)
{
    return options->team && options->team->size > 1;
}

/** Read the parts of earlier analyses: their ranks become those of the run, which has none.
 *  @return EK_OK, EK_ERR_INPUT, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(bytes). */
ek_status ek__run_read_parts(const char *const *path, int n_paths, const ek_trace_options *options, ek_trace_run *run,
                             ek_error *err);
/** The ranks of `part` join those of the run (its rank[] grows only by ek__pool_push()), with the data about the whole
 * run; `part` is empty after it. @return EK_OK, EK_ERR_INPUT, EK_ERR_MEMORY. O(its ranks). */
ek_status ek__run_join(ek_trace_run *run, ek_trace_run *part, ek_error *err);
/** Only the data about the whole run: topology, cluster rows, databases. Texts stay in the pool of `part`. @return as
 * above. */
ek_status ek__run_join_common(ek_trace_run *run, const ek_trace_run *part, ek_error *err);

#endif
