/* evenkeel/uniform.h - simulates a schedule without a model: equal stages of given times.
 *
 * For comparing schedules before there is a profile, and for checking them against published figures. Memory is counted
 * in activations of one micro-batch on one whole stage.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_UNIFORM_H
#define EVENKEEL_UNIFORM_H

#include "evenkeel/decls.h"
#include "evenkeel/layers.h"
#include "evenkeel/plan.h"
#include "evenkeel/simulate.h"

EK_BEGIN_DECLS

/** Times of one stage and one micro-batch; each of its v chunks costs 1/v. */
typedef struct ek_uniform {
    double forward_time;
    double backward_time; /**< both gradients together */
    double weight_time;   /**< the part of backward_time that is the gradient of the weights */
    double weight_share;  /**< of the activations that stay until the end of W, 0..1 */
    bool split_given;     /**< false: weight_time is EK_WEIGHT_TIME_SHARE of backward_time, assumed */
    bool share_given;     /**< false: weight_share is EK_WEIGHT_SHARE, assumed */
} ek_uniform;

/**
 * Parse `forward=18522,backward_input=18086,backward_weight=9337`, or `forward=2,backward=4`, each optionally with
 * `,weight_activation=0.4` (weight_share); any order, each name once.
 *
 * @return EK_OK; EK_ERR_INPUT for a name that is unknown, repeated or missing, a value that is not finite or is
 *         negative, a share above 1, or times that are all 0. O(length).
 */
ek_status ek_uniform_parse(const char *text, ek_uniform *out, ek_error *err);

/** A simulated schedule of equal stages. */
typedef struct ek_uniform_run {
    ek_uniform times;
    double activation_limit; /**< in micro-batches of a whole stage; 0: none was given and the schedule has none */
    bool limit_given;
    ek_layers layers; /**< one layer a chunk, with memory 1/v */
    ek_plan plan;
    ek_timeline timeline; /**< its peak_mb in micro-batches of a whole stage */
    double bubble_share;  /**< 1 - work / (p step), work = the time of all blocks */
    double span;          /**< widest time of any stage from its first to its last block: the step when stages need not
                               meet between steps */
    double *live;         /**< [n_stages] peak of live activations, in micro-batches of a whole stage */
    double peak;          /**< the largest of them */
} ek_uniform_run;

/**
 * Run a schedule with equal stages.
 *
 *     live_s = max over live vectors a of stage s of  sum_i a_i / v           (ek_order_live_vectors)
 *
 * @param comm   NULL for none; borrowed by out->timeline
 * @param limit  live activations a stage may hold, in micro-batches of a whole stage; 0: the schedule's own. Binds a
 *               schedule that makes its order for a limit; the others run unchanged, and `peak` shows whether they keep
 *               it
 * @param out    ek_uniform_run_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT for a shape the schedule is not defined for, times, shares and limits out of range, or a
 *         limit without an order; EK_ERR_MEMORY.
 *         Cost: ek_order_new_for() and ek_simulate().
 */
ek_status ek_uniform_simulate(const ek_schedule *schedule, const ek_shape *shape, const ek_uniform *times,
                              const ek_comm *comm, double limit, ek_uniform_run *out, ek_error *err);

/** Is a limit given and exceeded, beyond rounding? */
bool ek_uniform_over_limit(const ek_uniform_run *run);

/** Free the contents of `run` and zero it. Accepts a zeroed struct. */
void ek_uniform_run_clear(ek_uniform_run *run);

EK_END_DECLS
#endif
