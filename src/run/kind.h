/* run/kind.h - recognises a run's files. */
#ifndef EK_RUN_KIND_H
#define EK_RUN_KIND_H

#include <stdbool.h>

/** Is it a table of a profiler, by its name? Tables are stored with traces and contain no events. */
bool ek__is_profiler_table(const char *path);
/** Is it a memory snapshot of PyTorch, or a partial result of `evenkeel trace --partial`? */
bool ek__has_no_events(const char *path);

#endif
