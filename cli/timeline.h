/* cli/timeline.h - the events of a run's traces for one page, indexed for as long as it takes to write it. */
#ifndef EK_CLI_TIMELINE_H
#define EK_CLI_TIMELINE_H

#include "evenkeel/types.h"

#include <stdbool.h>

/** ek_view_index_open() with a progress bar; Ctrl-C and other ends leave no file. False after a message. */
bool cli_timeline_open(const char *const *path, int n_paths, const ek_trace_run *run, int n_threads,
                       ek_trace_index **out);

#endif
