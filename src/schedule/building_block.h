/* schedule/building_block.h - orders for two chunks a stage in a V: the passes of one micro-batch on a grid of equal
 * slots, repeated, then squeezed. For schedule/automatic.c, which has the real times. */
#ifndef EK_SCHEDULE_BUILDING_BLOCK_H
#define EK_SCHEDULE_BUILDING_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/** The passes of a micro-batch on a stage, in order. */
typedef enum ek__building_pass { EK__PASS_F0, EK__PASS_F1, EK__PASS_B1, EK__PASS_B0 } ek__building_pass;
enum { EK__N_PASSES = 4 };

/** F, B and W of both chunks: no period is shorter. */
enum { EK__LEAST_PERIOD = 6 };

/** The way of one micro-batch through the stages: the least slots between the starts of consecutive passes. */
typedef struct ek__building_block {
    int step[EK__N_PASSES];     /**< [ek__building_pass] from a stage to the next one, 1 .. EK__MOST_STEP */
    int turn[EK__N_PASSES - 1]; /**< between a pass and the next one on the stage where it turns, 1 .. EK__MOST_STEP */
} ek__building_block;
enum { EK__MOST_STEP = 4 };

typedef struct ek__slot_grid ek__slot_grid;

/**
 * @param period  slots until the next micro-batch, >= EK__LEAST_PERIOD
 * @param limit   [n_stages] of live activations, in activations of a chunk
 * @param share     of a chunk's activation that stays until the end of W; the rest is freed after B
 * @return NULL without memory
 */
ek__slot_grid *ek__slot_grid_new(int n_stages, int n_micro_batches, int period, const double *limit, double share);
void ek__slot_grid_free(ek__slot_grid *grid);

/** Lay out one micro-batch. @return false when repeating it breaks the limit. O(p^2). */
bool ek__slot_grid_fits(ek__slot_grid *grid, const ek__building_block *block);

/**
 * Repeat the block that ek__slot_grid_fits laid out, and squeeze. After a watch ends it, the grid contains no valid
 * order.
 * @param weights_first  W keep slots of their own while the start and the end are squeezed for the first time
 * O(p m + p^2 (p + m')) with m' micro-batches in flight.
 */
void ek__slot_grid_repeat(ek__slot_grid *grid, bool weights_first);

/**
 * The order of a stage's F and B.
 * @param passes  [4 m], ek__building_pass
 * @param owed       [4 m], B without their W when the pass starts
 */
void ek__slot_grid_order(const ek__slot_grid *grid, int stage, uint8_t *passes, uint16_t *owed);

#endif
