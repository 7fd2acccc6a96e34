/* simulate/order.h - the flat form of a schedule that the hot loops walk. Library-internal. */
#ifndef EK_SIMULATE_ORDER_H
#define EK_SIMULATE_ORDER_H

#include "evenkeel/simulate.h"

/**
 * One block in topological order, packed so that a walk reads it with one load: micro-batch (32 bits), stage (16), slot
 * of its duration (16): chunk x p + stage, plus v p for a backward. The block ends at
 * max(stage's last end, micro-batch's last end) + duration.
 */
typedef uint64_t ek__step;

static inline ek__step ek__step_pack(uint32_t micro_batch, uint16_t stage, uint16_t slot)
{
    return micro_batch + 0x100000000u * stage + 0x1000000000000u * slot;
}

static inline size_t ek__step_micro_batch(ek__step step)
{
    return (uint32_t)step;
}

static inline size_t ek__step_stage(ek__step step)
{
    return step >> 32 & 0xffff;
}

static inline size_t ek__step_slot(ek__step step)
{
    return step >> 48;
}

/** Undominated vectors of live micro-batches of one stage, each [n_chunks]. */
typedef struct ek__live {
    int n;
    int *vectors;
} ek__live;

struct ek_order {
    ek_shape shape;
    const ek_schedule *schedule;
    size_t n_blocks;
    ek__step *steps;  /**< [n_blocks], level by level, so that neighbours are independent */
    ek_block *blocks; /**< [n_stages][2 v m], each stage's own order */
    ek__live *live;   /**< [n_stages] */
};

/** Slots: one duration per chunk and direction, [2][n_chunks][n_stages]. */
static inline int ek__order_n_slots(const ek_order *order)
{
    return 2 * order->shape.n_stages * order->shape.n_chunks;
}

/** What communication adds to each slot; see ek__comm_delays. */
typedef struct ek__delays {
    const double *before; /**< [n_slots] the stage receives before the block */
    const double *after;  /**< [n_slots] the stage sends after the block */
    const double *travel; /**< [n_slots] until the next block of the chain may start */
} ek__delays;

/**
 * Fill `delays`, [3][n_slots], from a communication model.
 * A slot's chain edge crosses stages unless it is the turn from forward to backward, or p = 1.
 */
ek__delays ek__comm_delays(const ek_order *order, const ek_comm *comm, double *delays);

/** Is there any communication to account for? */
static inline bool ek__comm_matters(const ek_comm *comm)
{
    return comm && comm->p2p_time > 0;
}

/** Plans evaluated side by side by ek__order_step_times. */
enum { EK__LANES = 8 };

/**
 * Step time from durations by slot. Same recurrence as ek_order_step_time, for callers that keep durations themselves.
 *
 * @param duration  [n_slots]
 * @param delays    NULL for none
 * @param scratch   [n_stages + n_micro_batches]
 * O(blocks).
 */
double ek__order_step_time(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch);

/**
 * Step times of EK__LANES plans in one walk: the order is read once and every block is a few vector instructions.
 *
 * @param duration  [n_slots][EK__LANES]
 * @param delays    NULL for none
 * @param scratch   [n_stages + n_micro_batches][EK__LANES]
 * @param out       [EK__LANES]
 * O(blocks).
 */
void ek__order_step_times(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch,
                          double *out);

#endif
