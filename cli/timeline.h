/* cli/timeline.h - the events of a run's traces for one page, indexed for as long as it takes to write it. */
#ifndef EK_CLI_TIMELINE_H
#define EK_CLI_TIMELINE_H

#include "evenkeel/trace.h"
#include "evenkeel/trace_index.h"

/** Bytes of the files with events that were read of a run, as they lie on the disk. */
int64_t cli_timeline_bytes(const ek_trace_run *run);

/** May a page hold traces of so many bytes? False after a message. */
bool cli_timeline_fits(int64_t bytes);

/**
 * Index the events of the files that a run was read from. Nothing is kept.
 *
 * @param quiet  no warnings: the run's own reading has said them
 * @param out    NULL when the run has tables only; ek_trace_index_close() it
 * @return false after a message: the traces are larger than a page may hold, or cannot be indexed
 */
bool cli_timeline_open(const char *const *path, int n_paths, const ek_trace_run *run, int n_threads,
                       ek_trace_index **out);

/** The name of a page's run from the first path: its last part. */
void cli_timeline_name(const char *path, char *name, size_t room);

#endif
