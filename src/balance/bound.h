/* balance/bound.h - lower bounds on the simulated step of every plan within the limits. Library-internal. */
#ifndef EK_BALANCE_BOUND_H
#define EK_BALANCE_BOUND_H

#include "balance/search.h"

/**
 * A bound for any schedule: the mean over the stages of the length of one path each. A path through a stage follows its
 * first micro-batch to it, the stage's own blocks, and its last micro-batch on. Every plan's step is at least each
 * path, hence at least their mean, which is a sum over layers; each layer is taken where it adds least, without
 * recomputation.
 *
 * With a schedule that arranges its blocks by their times, only terms of every order are counted: a stage's work, and
 * the work before its first forward and after its last backward.
 * @return the bound, >= 0. O(blocks + cells x body kinds).
 */
double ek__bound_mean(const ek__problem *problem);

/**
 * Paths by how they pass their own stage: along the first micro-batch to the stage's first block of a kind and chunk,
 * along the stage's list to its last block of another, and on from there.
 */
typedef struct ek__path_family {
    int from_kind, from_chunk, to_kind, to_chunk;
} ek__path_family;

enum { EK__MOST_FAMILIES = 3 };

/** Input and result of one pass of ek__bound_stages(). */
typedef struct ek__bound_pass {
    int n_families; /**< 1..EK__MOST_FAMILIES */
    ek__path_family family[EK__MOST_FAMILIES];
    double upper;     /**< plans that take at least this long are ignored; at least 0 */
    double grid;      /**< sums closer than this are merged, downwards; 0: exact */
    long most_labels; /**< give up beyond; above 0 */
    ek__state *state; /**< filled with a plan of the bound when `below`; may be NULL */
    double bound;     /**< out: no plan is shorter; `upper` when none below it is left; -INFINITY when no stage has a
                           path of the families */
    bool done;        /**< out: false when given up; then bound = 0 */
    bool below;       /**< out: partial plans below `upper` remain: the bound is the best of them */
} ek__bound_pass;

/** Is the stage-by-stage bound defined for the problem? Chunks in model order along the stages, one order for all
 *  times, micro-batches of equal cost, and one body kind or one chunk a stage. */
bool ek__bound_stages_applies(const ek__problem *problem);

/**
 * The stage-by-stage bound (docs/models.md, "Certificates"): the least, over all plans, of the longest path of the
 * given families,
 *
 *     T >= max over families f and stages s of  sum_{j<s} before_f(j) + own_f(s) + sum_{j>s} after_f(j).
 *
 * Each stage's choices are whole layers and recomputations within its memory. Stages are fixed from the last to the
 * first; of partial plans with equal layers only the undominated are kept: by the sums they add to later paths, and by
 * the longest path so far, of each family. For problems that ek__bound_stages_applies() to.
 *
 * @return EK_OK, EK_ERR_MEMORY. Gives up when the search is stopped.
 */
ek_status ek__bound_stages(ek__search *search, ek__bound_pass *pass, ek_error *err);

/**
 * The longest path through the blocks, as the count of each slot on it.
 * @param duration  [n_slots]
 * @param count     out: [n_slots]
 * @param transfers out: communication time on it @return its length, the simulated step; 0 when memory is out.
 *   O(blocks).
 */
double ek__longest_path(const ek__problem *problem, const double *duration, double *count, double *transfers);

/**
 * The path through a stage from its first backward to its last forward, as the count of each slot on it.
 * @param weight    out: [n_slots]
 * @param transfers out: communication time on it @return false when the stage has none, since all its forwards come
 *   first. O(blocks of a stage + cells).
 */
bool ek__path_through(const ek__problem *problem, int stage, double *weight, double *transfers);

/**
 * A bound of the step in every order of the stage's blocks, without transfers: the way to its first forward and all its
 * work; or, `drained`, that way, its work without weight gradients, and the way back from its last backward.
 * @param weight    out: [n_slots], the count of each. O(blocks of a stage + cells).
 */
void ek__path_in_any_order(const ek__problem *problem, int stage, bool drained, double *weight);

#endif
