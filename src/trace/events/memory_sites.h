/* trace/events/memory_sites.h - the memory tracker's blocks by the place of the program that allocated them. */
#ifndef EK_TRACE_ANALYSE_MEMORY_SITES_H
#define EK_TRACE_ANALYSE_MEMORY_SITES_H

#include "base/pool.h"
#include "trace/events/memory_sweep.h"
#include "trace/tables/tracker_csv.h"

/** The data gathered by the reader of memory_block.csv. */
typedef struct ek__tracker_blocks {
    ek__memory_block *block; /**< [n] */
    size_t n, capacity;
    ek__texts types, layers, names, places;
    int64_t *user; /**< [n_users] ticks of the users of blocks that stay */
    size_t n_users, users_capacity;
    bool tells_users, tells_stacks;
} ek__tracker_blocks;

/**
 * The place that a Python stack names ("File:a/b.py;Line:3;Function:f|...", innermost frame first): the innermost frame
 * outside MindSpore and PyTorch, else the innermost one, as "a/b.py:3 f" with only the last folder. `out` has `size`
 * bytes.
 * @return false for a stack that is empty. O(length).
 */
bool ek__tracker_place(const char *stack, char *out, size_t size);

/**
 * Fill tracker->site, n_sites, held_bytes, released_peak_bytes, never_freed_other_bytes, leaked_bytes, from peak_tick
 * and step[]. @return false when memory is out. O(n log n).
 */
bool ek__memory_sites(const ek__tracker_blocks *blocks, const ek__tracker_tasks *tasks, ek__pool *pool,
                      ek_trace_tracker *tracker);

/**
 * Fill tracker->step, n_steps, growth_bytes and grows. A step is an exact period of the tasks, three times or more to
 * the end and over most of all tasks, when every weight used there is used in each repetition (else it is a layer); it
 * begins where the least memory is alive. @return false when memory is out. O(n log n).
 */
bool ek__memory_steps(const ek__tracker_blocks *blocks, const ek__tracker_tasks *tasks, ek__pool *pool,
                      ek_trace_tracker *tracker);

#endif
