/* evenkeel/placement.h - computes the stage of each part of the model.
 *
 * Unless stated otherwise, functions take O(1), and may be called from several threads at once. */
#ifndef EVENKEEL_PLACEMENT_H
#define EVENKEEL_PLACEMENT_H

#include <stdbool.h>

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/** The stage of each part of the model. A position is a chunk's place in the model, 0..pv-1. */
typedef enum ek_placement {
    EK_PLACE_WRAP,      /**< position q on stage q mod p, as its chunk q / p */
    EK_PLACE_V,         /**< chunk 0 runs down stages 0..p-1, chunk 1 back up p-1..0, and so on */
    EK_PLACE_BOTH_WAYS, /**< v = 1, m even: micro-batches below m/2 run down (chunk 0 of stage s is position s), the
                             others up (chunk 1 of stage s is position p-1-s): every stage holds two positions */
} ek_placement;

/** Model position of a chunk of a stage. */
static inline int ek_position(ek_placement placement, int n_stages, int chunk, int stage)
{
    bool back = placement == EK_PLACE_BOTH_WAYS ? chunk == 1 : placement == EK_PLACE_V && chunk % 2 == 1;
    int row = placement == EK_PLACE_BOTH_WAYS ? 0 : chunk;
    return row * n_stages + (back ? n_stages - 1 - stage : stage);
}

/** Index in a plan's arrays, [n_chunks][n_stages], of the chunk at a model position. It is its own inverse. */
static inline int ek_cell_at(ek_placement placement, int n_stages, int position)
{
    int row = position / n_stages, column = position % n_stages;
    return row * n_stages + (placement == EK_PLACE_V && row % 2 == 1 ? n_stages - 1 - column : column);
}

/** Stage of a model position for the micro-batches that blocks of `chunk` belong to: with EK_PLACE_BOTH_WAYS chunk 1 is
 *  of those that run up. */
static inline int ek_stage_at(ek_placement placement, int n_stages, int position, int chunk)
{
    int stage = ek_cell_at(placement, n_stages, position) % n_stages;
    return placement == EK_PLACE_BOTH_WAYS && chunk == 1 ? n_stages - 1 - stage : stage;
}

EK_END_DECLS
#endif
