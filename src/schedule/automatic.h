/* schedule/automatic.h - orders for a split backward pass, made for given times and memory. Shared by the zero-bubble
 * schedules, which differ in placement and memory only. */
#ifndef EK_SCHEDULE_AUTOMATIC_H
#define EK_SCHEDULE_AUTOMATIC_H

#include "evenkeel/schedule.h"

/** The objective of an order. Ties are broken by the other objective. */
typedef enum ek__automatic_aim {
    EK__AIM_SPAN, /**< widest span of a stage, from the start of its first block to the end of its last: the step when
                       stages need not meet between steps (Qi et al. 2024, arXiv 2401.10241, section 4) */
    EK__AIM_END,  /**< latest end of a block: the step when they do */
} ek__automatic_aim;

/**
 * Fill `blocks`, [n_stages][3 v m], with a short order of forwards (F), input gradients (B) and weight gradients (W).
 *
 * Position q is placed as in EK_PLACE_V; with one chunk that is EK_PLACE_WRAP too. F(q) waits for F(q-1), B(q) for
 * B(q+1), each plus the edge's time between different stages; B of the last position for its F, W for its own B. Live
 * activations of a stage, allocated and freed as ek_profile defines, never exceed profile->limit (relative 1e-9).
 *
 * A heuristic; ek__automatic_bound gives the largest distance from the optimum. Never worse than 1F1B with W right
 * after B where the limit allows that. Deterministic.
 *
 * @param shape    n_chunks 1 or 2
 * @param profile  times >= 0, in one unit
 * @return EK_OK; EK_ERR_INPUT when a stage cannot hold one micro-batch, the message names the least limit;
 * EK_ERR_MEMORY. At most some ten thousand passes over the blocks, fewer for more blocks: 1 s for 32 stages and 96
 * micro-batches in two chunks; fewer when the bound is met. Thread-safe.
 */
ek_status ek__automatic_arrange_for(ek__automatic_aim aim, const ek_shape *shape, const ek_profile *profile,
                                    ek_block *blocks, ek_error *err);

/** ek__automatic_arrange_for the span; the function `arrange` of the schedules. */
ek_status ek__automatic_arrange(const ek_shape *shape, const ek_profile *profile, ek_block *blocks, ek_error *err);

/**
 * A lower bound on every order within the limit. With h(s) the time before stage s can start, gap(s) the time between
 * its first F and the earliest arrival of a B that the forwards its memory admits cannot fill, for stages i <= j:
 *
 *     span >= work(i) + gap(i)
 *     span >= (h(j) - h(i)) + gap(j) + m (F + B)(j) + w(j) W(j) + (way of a B from j to i) + W(i)
 *
 * where w(j) = ceil((a + (m - 1) share a - limit) / (share a)) weight gradients have to run before the last F of a
 * stage with one chunk of activation a (0 with two chunks). The first counts a stage's own blocks. In the second the
 * last B on j still has to go up to i. For EK__AIM_END add h(i).
 *
 * @param out  in the profile's unit of time
 * @return EK_OK or EK_ERR_MEMORY. O(p^2 + p v), thread-safe.
 */
ek_status ek__automatic_bound(ek__automatic_aim aim, const ek_shape *shape, const ek_profile *profile, double *out,
                              ek_error *err);

#endif
