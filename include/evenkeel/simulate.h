/* evenkeel/simulate.h - run a plan through a schedule: step time, timeline, memory curve, bubble.
 *
 * An ek_order is a schedule laid out once for a shape: blocks of all stages in one fixed topological order. It is
 * immutable, so threads may share it. Evaluating a changed plan is then one pass over flat arrays. */
#ifndef EVENKEEL_SIMULATE_H
#define EVENKEEL_SIMULATE_H

#include "evenkeel/plan.h"
#include "evenkeel/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Point-to-point communication between stages: every edge between different stages takes `p2p_time`. Latency delays
 *  the receiver only; blocking also occupies the sender after its block and the receiver before its block. */
typedef struct ek_comm {
    double p2p_time;
    bool blocking;
} ek_comm;

typedef struct ek_order ek_order;

/**
 * Lay a schedule out.
 *
 * F(chunk i, stage s) waits for F(i, s-1), or F(i-1, p-1) when s = 0; B(i, s) for B(i, s+1), or B(i+1, 0) when
 * s = p-1, or F of the same micro-batch when i is the last chunk; every block waits for the one before it on its stage
 * (docs/models.md). So each micro-batch is one chain of 2pv blocks.
 *
 * @return EK_OK; EK_ERR_INPUT for a shape outside the limits or an order that deadlocks (the message names the stages
 *         that wait for one another); EK_ERR_MEMORY. O(blocks) time and memory.
 */
ek_status ek_order_new(const ek_schedule *schedule, const ek_shape *shape, ek_order **out, ek_error *err);
void ek_order_free(ek_order *order);
const ek_shape *ek_order_shape(const ek_order *order);
const ek_schedule *ek_order_schedule(const ek_order *order);
/** 2 p v m. */
size_t ek_order_n_blocks(const ek_order *order);

/**
 * Vectors of live micro-batches of a stage's chunks that no other vector dominates. For any plan the stage's peak is
 *     const + sum_i parameter_i + max_k sum_i live[k][i] activation_i.
 * @param vectors  out: [n][n_chunks], owned by the order
 * @return n >= 1
 */
int ek_order_live_vectors(const ek_order *order, int stage, const int **vectors);

/**
 * Step time of one plan: end of the last block.
 *
 * @param cost     [n_chunks][n_stages]
 * @param comm     NULL for none
 * @param scratch  ek_order_scratch_size() doubles
 * @return step time. O(blocks), no allocation, thread-safe with its own scratch.
 */
double ek_order_step_time(const ek_order *order, const ek_chunk_cost *cost, const ek_comm *comm, double *scratch);
size_t ek_order_scratch_size(const ek_order *order);

/** One block as it ran. */
typedef struct ek_interval {
    double start, end;
    double memory_mb; /**< of its stage just after it: F has added, B has taken off its activations */
    uint32_t micro_batch;
    uint16_t chunk;
    uint16_t kind; /**< ek_block_kind */
} ek_interval;

/** The step's idle share, split as the original does (docs/models.md); real = ideal + imba + recompute. */
typedef struct ek_bubble {
    double real;      /**< (p step - work) / work, work = m x all forward and backward time without recomputation */
    double ideal;     /**< (p - 1) / (v m) */
    double imba;      /**< the rest */
    double recompute; /**< m x extra backward time of recomputation / work */
} ek_bubble;

/** A finished simulation. Blocks of stage s are block[first[s] .. first[s + 1]) in running order. */
typedef struct ek_timeline {
    ek_shape shape;
    const ek_schedule *schedule;
    ek_comm comm;
    double step_time;
    ek_bubble bubble;
    size_t n_blocks;
    size_t *first;      /**< [n_stages + 1] */
    ek_interval *block; /**< [n_blocks] */
    double *static_mb;  /**< [n_stages] const + parameters, held from the start */
    double *peak_mb;    /**< [n_stages] */
    double *busy;       /**< [n_stages] share of the step the stage computes, 0..1 */
} ek_timeline;

/**
 * Run a plan and keep everything.
 *
 * @param plan  passes ek_plan_check() for `layers`, with the order's stages and chunks
 * @param comm  NULL for none
 * @return EK_OK, EK_ERR_INPUT for a shape mismatch, EK_ERR_MEMORY. O(blocks).
 */
ek_status ek_simulate(const ek_order *order, const ek_plan *plan, const ek_layers *layers, const ek_comm *comm,
                      ek_timeline *out, ek_error *err);
void ek_timeline_clear(ek_timeline *timeline);

/** Largest peak of any stage, and which stage (may be NULL). */
double ek_timeline_peak(const ek_timeline *timeline, int *stage);

#ifdef __cplusplus
}
#endif
#endif
