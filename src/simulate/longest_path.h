/* simulate/longest_path.h - which blocks make a step as long as it is. Library-internal. */
#ifndef EK_SIMULATE_LONGEST_PATH_H
#define EK_SIMULATE_LONGEST_PATH_H

#include "simulate/order.h"

/** A path through the blocks, from one that waits for nothing to the last one of a stage. */
typedef struct ek__path {
    double length;
    int end;       /**< stage of its last block; the first of those that end at once */
    double *count; /**< [n_slots] how often each slot is on it */
    /** [n_ways][n_slots] how often what communication adds to a slot is on it, as ek__delays has it. All NULL where
     *  nobody asks. */
    double *before, *after, *travel;
} ek__path;

/**
 * The longest path.
 *
 * @param duration  [n_slots], each at least 0
 * @param delays    NULL: no communication
 * @param tail      [n_stages] what follows a stage's last block; NULL: nothing
 * @param path      its arrays are the caller's, `count` not NULL, and `before`, `after` and `travel` all NULL or none;
 *                  filled
 * @return false when memory is out. O(blocks).
 */
bool ek__order_longest_path(const ek_order *order, const double *duration, const ek__delays *delays, const double *tail,
                            ek__path *path);

#endif
