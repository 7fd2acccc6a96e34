/* trace/partial/part.h - analysed ranks of a run as bytes: the contents of a file of `trace --partial`, and the message
 * from one process to another. */
#ifndef EK_TRACE_PARTIAL_PART_H
#define EK_TRACE_PARTIAL_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/trace.h"

/** The options that a rank's analysis depends on, as they are given: "--drop-first 2 --raw"; "" for none. In `pool`;
 *  NULL when memory is out. */
const char *ek__part_options(const ek_trace_options *options, struct ek__pool *pool);

/**
 * The ranks of a run that have been read but not compared, with the data about the whole run in their files.
 * @param out  owned by the caller (free)
 * @return EK_OK, EK_ERR_MEMORY. O(bytes of the ranks).
 */
ek_status ek__part_write(const ek_trace_run *run, const char *options, unsigned char **out, size_t *size,
                         ek_error *err);

/** Ranks that were written. {0} is none. */
typedef struct ek__trace_part {
    ek_trace_run run;    /**< rank[], with a pool of its own each; topology, cluster_row[], n_databases, database */
    const char *options; /**< ek__part_options() of the writer */
} ek__trace_part;

/**
 * Read a part; ek_trace_run_clear(&part->run) frees it.
 * @param name  of the file, for messages; NULL for a message of another process
 * @return EK_OK; EK_ERR_INPUT for bytes that are not a part, cut, damaged or of another version; EK_ERR_MEMORY.
 *   O(bytes).
 */
ek_status ek__part_read(const unsigned char *bytes, size_t size, const char *name, ek__trace_part *out, ek_error *err);

#endif
