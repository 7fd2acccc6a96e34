/* simulate/order.h - the flat form of a schedule that the hot loops walk. Library-internal. */
#ifndef EK_SIMULATE_ORDER_H
#define EK_SIMULATE_ORDER_H

#include <assert.h>

#include "base/vectors.h"
#include "evenkeel/simulate.h"

/**
 * One block in topological order, packed so that a walk reads it with one load: clock of its chain (32 bits), stage
 * (16), slot of its duration (16): kind x n_cells + cell. The block ends at max(stage's last end, chain's last end) +
 * duration. The chain's clock is the micro-batch. A weight gradient waits only for its stage; so that the walk needs no
 * branch, its clock is one that no other stage writes, n_micro_batches + stage, and so is never ahead of the stage.
 */
typedef uint64_t ek__step;

static inline ek__step ek__step_pack(uint32_t chain, uint16_t stage, uint16_t slot)
{
    return chain + 0x100000000u * stage + 0x1000000000000u * slot;
}

static inline size_t ek__step_chain(ek__step step)
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

/** Undominated vectors of live micro-batches of one stage, each [n_held]. */
typedef struct ek__live {
    int n;
    double *vectors;
} ek__live;

/**
 * A cell is a chunk of the plan. A bank is the cells on the same stages: the n_chunks of one stage or, where
 * micro-batches run both ways, the two of a stage and its mirror. Bank b is on stage b and, both ways, p - 1 - b.
 */
struct ek_order {
    ek_shape shape;
    const ek_schedule *schedule;
    int n_kinds; /**< of blocks: 3 when the backward is split, else 2 */
    int n_ways;  /**< 2 with EK_PLACE_BOTH_WAYS, else 1 */
    int n_cells, n_banks;
    int n_held; /**< cells of a bank */
    double weight_share;
    size_t n_blocks;
    ek__step *steps;  /**< [n_blocks], level by level, so that neighbours are independent */
    ek_block *blocks; /**< [n_stages][blocks of a stage], each stage's own order */
    ek__live *live;   /**< [n_stages] */
    double *scale;    /**< [n_micro_batches] of durations and activations; NULL: 1 */
    double *factor;   /**< [n_blocks] `scale` by step; NULL: 1 */
    double *slowdown; /**< [n_cells] factor of durations, by the stage of the cell; NULL: 1 */
    int *held;        /**< [n_banks][n_held], in model order */
    int *bank;        /**< [n_cells] */
    int *column;      /**< [n_cells] place in its bank */
    int *cell_at;     /**< [n_cells] by model position */
    int *stage_at;    /**< [n_ways][n_cells] stage of a model position; the second row for micro-batches that run up */
};

/** Slots: one duration per kind of block and cell, [n_kinds][n_chunks][n_stages]. */
static inline int ek__order_n_slots(const ek_order *order)
{
    return order->n_kinds * order->n_cells;
}

/** Clocks of a walk: stages, micro-batches, and one per stage for weight gradients. */
static inline size_t ek__order_n_clocks(const ek_order *order)
{
    size_t p = (size_t)order->shape.n_stages;
    return (order->n_kinds > 2 ? 2 * p : p) + (size_t)order->shape.n_micro_batches;
}

/** Doubles that ek__comm_delays() fills. */
static inline size_t ek__order_delays_size(const ek_order *order)
{
    return 3 * (size_t)order->n_ways * (size_t)ek__order_n_slots(order);
}

/** The direction of a micro-batch: 0, or 1 for the upper half with EK_PLACE_BOTH_WAYS. */
static inline int ek__order_way(const ek_order *order, size_t micro_batch)
{
    return order->n_ways == 2 && 2 * micro_batch >= (size_t)order->shape.n_micro_batches;
}

/** Cell of a block of a stage; of a block that check_lists() (order.c) accepts. */
static inline int ek__order_cell(const ek_order *order, int stage, const ek_block *block)
{
    int p = order->shape.n_stages;
    assert(stage >= 0 && stage < p);
    assert(block->chunk < (order->n_ways == 2 ? 2 : order->shape.n_chunks));
    return order->n_ways == 2 ? (block->chunk ? p - 1 - stage : stage) : block->chunk * p + stage;
}

/** How many times a block of the cell takes its duration. */
static inline double ek__order_slowdown(const ek_order *order, int cell)
{
    return order->slowdown ? order->slowdown[cell] : 1;
}

/** The bank of a stage, 0..p-1. */
static inline int ek__order_bank(const ek_order *order, int stage)
{
    assert(stage >= 0 && stage < order->shape.n_stages);
    return stage < order->n_banks ? stage : order->shape.n_stages - 1 - stage;
}

/** The one or two stages of a bank, 0..n_banks-1. @return how many */
static inline int ek__bank_stages(const ek_order *order, int bank, int stages[2])
{
    assert(bank >= 0 && bank < order->n_banks);
    assert(order->n_ways == 1 || order->n_ways == 2);
    stages[0] = bank;
    stages[1] = order->shape.n_stages - 1 - bank;
    return order->n_ways;
}

/** Durations of all slots from the chunks' costs, slowed down by their stages. @param cost [n_cells] @param duration
 * [n_slots] */
void ek__order_durations(const ek_order *order, const ek_chunk_cost *cost, double *duration);

/** The communication time of each slot, by the direction of its micro-batch; see ek__comm_delays. */
typedef struct ek__delays {
    const double *before; /**< [n_ways][n_slots] the stage receives before the block */
    const double *after;  /**< [n_ways][n_slots] the stage sends after the block */
    const double *travel; /**< [n_ways][n_slots] until the next block of the chain may start */
} ek__delays;

/**
 * Fill `delays`, [3][n_ways][n_slots], from a communication model with times of at least 0. There is an edge where two
 * model positions that follow one another are on different stages; so none at the turn from forward to backward, nor at
 * the turns of EK_PLACE_V.
 */
ek__delays ek__comm_delays(const ek_order *order, const ek_comm *comm, double *delays);

/** Time of a send between the stages of two consecutive positions, `from` the earlier one. */
static inline double ek__edge_time(const ek_comm *comm, ek_placement placement, int from, int to)
{
    if (from == to)
        return 0;
    if (!comm->edge_time)
        return comm->p2p_time;
    bool wraps = to < from && placement == EK_PLACE_WRAP; /* from the last stage to the first */
    assert(wraps ? to == 0 : from - to == 1 || to - from == 1);
    return comm->edge_time[wraps || from < to ? from : to];
}

/** Fill a timeline's critical path: path, path_time. @return EK_OK, EK_ERR_MEMORY. O(blocks). */
ek_status ek__timeline_follow(ek_timeline *timeline, ek_error *err);

/** ek_simulate() without its checks: of more layers than a model may have, too. */
ek_status ek__simulate(const ek_order *order, const ek_plan *plan, const ek_layers *layers, const ek_comm *comm,
                       ek_timeline *out, ek_error *err);

/** Can the schedule be laid out for this shape? @return EK_OK; EK_ERR_INPUT, also for a schedule that is NULL
 */
ek_status ek__shape_check(const ek_schedule *schedule, const ek_shape *shape, ek_error *err);

/** Are transfer times numbers from 0 to EK__MAX_TRANSFER? @param comm NULL: none. @return EK_OK, EK_ERR_INPUT.
 * O(n_stages)
 */
ek_status ek__comm_check(const ek_comm *comm, int n_stages, ek_error *err);
#define EK__MAX_TRANSFER 1e12

/**
 * Are factors valid, 1e-9 to 1e9?
 *
 * @param factor  [n]; NULL: all 1
 * @param what    description of each, for the message: "slowdown of stage"
 * @return EK_OK, EK_ERR_INPUT. O(n)
 */
ek_status ek__factors_check(const double *factor, int n, const char *what, ek_error *err);

/** Does communication take any time? */
static inline bool ek__comm_matters(const ek_comm *comm)
{
    return comm && (comm->edge_time || comm->p2p_time > 0);
}

/** Plans evaluated side by side by ek__order_step_times. */
enum { EK__LANES = 8 };

/**
 * Step time from durations by slot. Same recurrence as ek_order_step_time, for callers with their own durations.
 *
 * @param duration  [n_slots], each at least 0
 * @param delays    NULL for none
 * @param scratch   ek__order_n_clocks() doubles
 * O(blocks).
 */
double ek__order_step_time(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch);

/**
 * The same with the start and end of every block; memory, recomputation and busy times are not filled in.
 *
 * @param duration  [n_slots], each at least 0
 * @param comm      NULL for none; its edges are borrowed by the timeline
 * @return EK_OK, EK_ERR_MEMORY. O(blocks).
 */
ek_status ek__order_run(const ek_order *order, const double *duration, const ek_comm *comm, ek_timeline *out,
                        ek_error *err);

/**
 * Step times of EK__LANES plans in one walk: the order is read once and every block is a few vector instructions.
 *
 * @param duration  [n_slots][EK__LANES]
 * @param delays    NULL for none
 * @param scratch   [ek__order_n_clocks()][EK__LANES]
 * @param out       [EK__LANES]
 * O(blocks).
 */
void ek__order_step_times(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch,
                          double *out);

/** The walk where durations and delays depend on the slot only, for one kind of vector instructions. All give the same
 *  bits. Clocks that the walk begins with are 0; @param stage, micro [clocks of stages], [of chains] x EK__LANES */
typedef void ek__lane_loop(const ek_order *order, const double *duration, const ek__delays *delays, double *stage,
                           double *micro);
typedef struct ek__lane_way {
    ek__vectors vectors;
    ek__lane_loop *run;
} ek__lane_way;

/** Fastest first. The last is EK__VECTORS_NONE, which every processor has. */
extern const ek__lane_way ek__lane_ways[];

#endif
