/* run/kind.h - recognising a run's files. */
#ifndef EK_RUN_KIND_H
#define EK_RUN_KIND_H

#include <stdbool.h>

/** Is it a table of a profiler, by its name? Tables stand beside traces and hold no events. */
bool ek__is_profiler_table(const char *path);
/** Is it a memory snapshot of PyTorch? */
bool ek__is_memory_snapshot(const char *path);

#endif
