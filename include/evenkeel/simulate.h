/* evenkeel/simulate.h - simulates a plan under a schedule: step time, timeline, memory curve, bubble.
 *
 * An ek_order is a schedule laid out once for a shape: blocks of all stages in one fixed topological order. It is
 * immutable, so threads may share it. Evaluating a changed plan is then one pass over flat arrays.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_SIMULATE_H
#define EVENKEEL_SIMULATE_H

#include "evenkeel/decls.h"
#include "evenkeel/schedule.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Point-to-point communication between stages: every edge between different stages takes `p2p_time`, or its own time.
 *  Latency delays the receiver only; blocking also occupies the sender after its block and the receiver before its
 *  block. */
typedef struct ek_comm {
    double p2p_time;
    bool blocking;
    const double *edge_time; /**< [n_stages] between stage s and the next one, the last and the first too; NULL:
                                  p2p_time everywhere. Borrowed, by a timeline too */
} ek_comm;

/** Share of a chunk's activation that its weight gradient still needs after the input gradient, for a schedule that
 *  splits the backward pass when no profile sets it. *Assumed*. */
#define EK_WEIGHT_SHARE 0.5

typedef struct ek_order ek_order;

/**
 * Lay a schedule out.
 *
 * F at model position q waits for F at q-1, B at q for B at q+1, and B at the last position for F there; every block
 * waits for the one before it on its stage (docs/models.md). So each micro-batch is one chain of 2pv blocks. A
 * weight-gradient block waits only for its B, which is earlier on the same stage.
 *
 * @param profile  input of an order that depends on times and memory (`arrange`); other schedules read only
 *                 weight_share. Borrowed for the call. NULL: equal chunks with F = B = W = activation = 1/v, no
 *                 transfers, weight_share EK_WEIGHT_SHARE and a limit of ek_schedule_activation_limit()
 * @return EK_OK; EK_ERR_INPUT for a schedule that is NULL, as ek_schedule_find() returns for an unknown name, a shape
 *         outside the limits, an order that deadlocks (the message names the stages that wait for one another) or one
 *         that does not run each block once; EK_ERR_MEMORY. O(blocks) time and
 * memory.
 */
ek_status ek_order_new_for(const ek_schedule *schedule, const ek_shape *shape, const ek_profile *profile,
                           ek_order **out, ek_error *err);
/**
 * ek_order_new_for() without a profile.
 *
 * @return as ek_order_new_for(). O(blocks).
 */
ek_status ek_order_new(const ek_schedule *schedule, const ek_shape *shape, ek_order **out, ek_error *err);
/** Free an order. NULL is fine. */
void ek_order_free(ek_order *order);
/** The shape that it was laid out for; owned by the order. */
const ek_shape *ek_order_shape(const ek_order *order);
/** The schedule that it was laid out by; borrowed. */
const ek_schedule *ek_order_schedule(const ek_order *order);
/** 2 p v m, or 3 p v m when the backward is split. */
size_t ek_order_n_blocks(const ek_order *order);
/** Share of a chunk's activation held from the end of B to the end of W; 0 when the schedule does not split. */
double ek_order_weight_share(const ek_order *order);

/**
 * Micro-batches of different length: every block of micro-batch b takes factor[b] times its duration and factor[b]
 * times its activation memory. Transfers are unchanged. To be called before threads share the order.
 *
 * @param factor  [n_micro_batches], 1e-9 to 1e9; copied. NULL: all 1 again
 * @return EK_OK, EK_ERR_INPUT, EK_ERR_MEMORY; the order is unchanged on failure. O(blocks).
 */
ek_status ek_order_scale_micro_batches(ek_order *order, const double *factor, ek_error *err);

/**
 * Stages of different speed: every block on stage s takes slowdown[s] times its duration (1 / the stage's speed).
 * Memory and transfers are unchanged. To be called before threads share the order.
 *
 * @param slowdown  [n_stages], 1e-9 to 1e9; copied. NULL: all 1 again
 * @return EK_OK; EK_ERR_INPUT, also where micro-batches run both ways and stages s and p-1-s, which hold the same
 *         chunks, differ; EK_ERR_MEMORY. The order is unchanged on failure. O(stages x chunks).
 */
ek_status ek_order_slow_stages(ek_order *order, const double *slowdown, ek_error *err);

/**
 * The chunks of a plan with parameters and activations on a stage, in model order: its own chunks or, with
 * EK_PLACE_BOTH_WAYS, positions s and p-1-s.
 * @param cells  out: [n] indices into a plan's arrays, owned by the order
 * @return n
 */
int ek_order_held_cells(const ek_order *order, int stage, const int **cells);

/**
 * Vectors of live micro-batches of the cells a stage holds that no other vector dominates. For any plan the stage's
 * peak is const + sum_i parameter_i + max_k sum_i live[k][i] activation_i, i over ek_order_held_cells(), without the
 * activations recomputed meanwhile. Between B and W of a split backward a micro-batch counts as
 * ek_order_weight_share().
 * @param vectors  out: [n][held cells], owned by the order
 * @return n >= 1
 */
int ek_order_live_vectors(const ek_order *order, int stage, const double **vectors);

/**
 * Step time of one plan: end of the last block.
 *
 * @param cost     [n_chunks][n_stages]
 * @param comm     NULL for none
 * @param scratch  [ek_order_scratch_size()]
 * @return step time. O(blocks), no allocation, thread-safe with its own scratch.
 */
double ek_order_step_time(const ek_order *order, const ek_chunk_cost *cost, const ek_comm *comm, double *scratch);
/** Doubles that ek_order_step_time() works in: O(stages x chunks + micro-batches) of them. */
size_t ek_order_scratch_size(const ek_order *order);

/** One block as it ran. */
typedef struct ek_interval {
    double start, end;
    double memory_mb;     /**< of its stage just after it: F has added, B (and W) have taken off its activations */
    double during_mb;     /**< of its stage while it runs: memory before it and, with ek_layers.recompute_transient, the
                               recomputed activations of a layer */
    double activation_mb; /**< of its chunk and micro-batch: added by F */
    double recompute_time; /**< the part of it that recomputes */
    uint32_t micro_batch;
    uint16_t chunk;
    uint16_t kind; /**< ek_block_kind */
} ek_interval;

/** The step's idle share, split as the original does (docs/models.md); real = ideal + imba + recompute. */
typedef struct ek_bubble {
    double real;      /**< (p step - work) / work, work = the time of all blocks without recomputation */
    double ideal;     /**< (p - 1) / (v m) */
    double imba;      /**< the rest */
    double recompute; /**< m x extra backward time of recomputation / work */
} ek_bubble;

/** How a stage spends the step; the members sum to step_time. */
typedef struct ek_stage_time {
    double forward;
    double backward;  /**< without the next members: only of the inputs where the backward is split */
    double weight;    /**< gradient of the weights, where the backward is split */
    double recompute; /**< repeated in the backward */
    double transfer;  /**< sending and receiving without computing: blocking transfers */
    double idle;      /**< the bubble of the stage */
} ek_stage_time;

/** A finished simulation. Blocks of stage s are block[first[s] .. first[s + 1]) in running order. */
typedef struct ek_timeline {
    ek_shape shape;
    const ek_schedule *schedule;
    ek_comm comm;
    double weight_share; /**< of the activations held from B to W; 0 when the backward is not split */
    double step_time;
    ek_bubble bubble;
    size_t n_blocks;
    size_t *first;      /**< [n_stages + 1] */
    ek_interval *block; /**< [n_blocks] */
    double *static_mb;  /**< [n_stages] const + parameters, held from the start */
    double *peak_mb;    /**< [n_stages] */
    double *busy;       /**< [n_stages] share of the step the stage computes, 0..1 */
    size_t n_path;
    size_t *path; /**< [n_path] blocks of the critical path in order of time, each begun by the end of the one
                       before or by its transfer; one of the longest */
    ek_stage_time *path_time; /**< [n_stages] the path's times on a stage, without idle time; they sum to step_time;
                                   transfer: before a block, from the end of the one before */
} ek_timeline;

/**
 * Simulate a plan with all results.
 *
 * @param plan    holds the model's layers, with the order's stages and chunks. Kinds of recomputation that `layers`
 * does not model run with their numbers in `layers`; ek_plan_check() refuses them
 * @param layers  passes ek_layers_check()
 * @param comm    times from 0 to 1e12; NULL for none
 * @return EK_OK; EK_ERR_INPUT for a plan of another shape or with other layers, a model that ek_layers_check() refuses,
 *         times of `comm` out of range, and chunks whose weight gradient takes longer than their whole backward pass,
 *         which kinds that are not modelled can have; EK_ERR_MEMORY. O(blocks).
 */
ek_status ek_simulate(const ek_order *order, const ek_plan *plan, const ek_layers *layers, const ek_comm *comm,
                      ek_timeline *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_timeline_clear(ek_timeline *timeline);

/**
 * Largest peak of any stage. O(stages).
 *
 * @param stage  out: which stage; may be NULL
 */
double ek_timeline_peak(const ek_timeline *timeline, int *stage);

enum { EK_NO_BLOCK = -1 };

/** The cause of a block's start in a timeline, and the end of its activations. */
typedef struct ek_wait {
    ptrdiff_t source;     /**< block with the result it reads; EK_NO_BLOCK for F at the first position of the model */
    ptrdiff_t freed_by;   /**< block of the same stage that frees this block's activations at its end: of F its B, of B
                               its W where the backward is split; EK_NO_BLOCK without activations */
    double transfer_time; /**< of the message from `source`; 0 on one stage */
    double receive_time;  /**< that its stage only receives just before it: blocking transfers */
    double send_time;     /**< that its stage only sends just after it: likewise */
    double idle_time;     /**< that its stage is idle before it (and before its receive_time) */
} ek_wait;

/**
 * Find the block that each block waited for. F reads the result of F at the previous position, B that of B at the next,
 * the B at the last position that of its F, and W that of its B.
 *
 * @param wait  out: [n_blocks]
 * @return EK_OK, EK_ERR_MEMORY. O(blocks).
 */
ek_status ek_timeline_waits(const ek_timeline *timeline, ek_wait *wait, ek_error *err);

/**
 * Sums of each stage's blocks and of the gaps between them. O(blocks).
 *
 * @param wait  [n_blocks] of ek_timeline_waits()
 * @param out   [n_stages]
 */
void ek_timeline_stage_times(const ek_timeline *timeline, const ek_wait *wait, ek_stage_time *out);

EK_END_DECLS
#endif
