/* simulate/longest_path.h - the blocks that determine the step time. Library-internal. */
#ifndef EK_SIMULATE_LONGEST_PATH_H
#define EK_SIMULATE_LONGEST_PATH_H

#include "simulate/order.h"

/** A path through the blocks, from one that waits for nothing to the last one of a stage. */
typedef struct ek__path {
    double length;
    int end;       /**< stage of its last block; the first of those that end at once */
    double *count; /**< [n_slots] how many times each slot is on it */
    /** [n_ways][n_slots] how often the communication time of a slot is on it, in the layout of ek__delays. All NULL
     *  where not needed. */
    double *before, *after, *travel;
} ek__path;

/**
 * The longest path.
 *
 * @param duration  [n_slots], each at least 0
 * @param delays    NULL: no communication
 * @param tail      [n_stages] time after a stage's last block; NULL: none
 * @param path      its arrays are the caller's, `count` not NULL, and `before`, `after` and `travel` all NULL or none;
 *                  filled
 * @return false when memory is out. O(blocks).
 */
bool ek__order_longest_path(const ek_order *order, const double *duration, const ek__delays *delays, const double *tail,
                            ek__path *path);

#endif
