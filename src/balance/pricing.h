/* balance/pricing.h - pricing: the cheapest plan of a set of plans for given prices of the paths. Library-internal. */
#ifndef EK_BALANCE_PRICING_H
#define EK_BALANCE_PRICING_H

#include "balance/choices.h"

/** A set of plans: the ranges of layers of stages and chunks, and of backward times. */
typedef struct ek__box {
    int *low, *high;         /**< [n_stages] layers */
    int *row_low, *row_high; /**< [n_stages][n_chunks] layers */
    double *least, *longest; /**< [n_stages][n_chunks] least <= backward time < longest */
} ek__box;

/**
 * A mix of paths (each path's weight at least 0, all together 1) bounds every plan's step from below by a sum over
 * stages, so the cheapest plan under a mix is a small shortest-path problem over whole choices of stages: it bounds the
 * step of every plan of the box.
 */
typedef struct ek__pricing {
    const ek__problem *problem;
    const ek__choices *choices;
    const struct ek__pricing *base; /**< the source of the choices of boxes; NULL: all */
    double target;                  /**< plans of this step or more do not matter */
    int *alive;                     /**< [choices of all stages] */
    int **from;                     /**< [n_stages] the stage's part of alive */
    int **first;                    /**< [n_stages][n_layers + 2] where each layer count begins in it */
    int *low, *high, *pick;         /**< [n_stages] layers left; the choices of the planner's last plan */
    double *value;                  /**< [n_stages][n_layers + 1] cheapest choice of this number of layers */
    int *by;                        /**< [n_stages][n_layers + 1] which it is */
    double *before, *after;         /**< [n_stages + 1][n_layers + 1] cheapest stages up to and from here on */
    int *taken;
    /** The players' mix, the longest path against the average plan, the best mix so far: [n_slots]. */
    double *weight, *path, *best_weight;
    double *duration; /**< [n_slots] of the average plan */
    double *mean_row; /**< [n_stages][n_chunks] its layers */
    double transfers, best_transfers, best;
    double longest; /**< path against the average plan */
} ek__pricing;

bool ek__pricing_init(ek__pricing *game, const ek__problem *problem, const ek__choices *choices);
void ek__pricing_clear(ek__pricing *game);

/** Take the choices of a box. @return false when it has no plan. O(choices). */
bool ek__pricing_open(ek__pricing *game, const ek__box *box);

/**
 * The cheapest plan of the box under the mix in `weight`, which is kept when it is the best so far.
 * @return its length; INFINITY without a plan. O(choices + n_stages x layer counts^2).
 */
double ek__pricing_respond(ek__pricing *game);

/** Drop the choices that only plans of the target or more have, by the mix of the last response. @return false when no
 *  plan is left. */
bool ek__pricing_exclude(ek__pricing *game);

/**
 * Play "planner picks a plan, the other a path" (fictitious play, Brown 1951) from the mix in `weight`: their averages
 * approach the best mix.
 * @param n_plays    1 or more
 * @param plan_seen  called with every plan and the longest path against the average; may be NULL
 * @return whether a plan below the target may be left
 */
bool ek__pricing_solve(ek__pricing *game, int n_plays, const ek__search *search,
                       void (*seen)(void *user, const ek__pricing *game, double path_transfers), void *user);

/** Place of stage s, 0..n_stages, and l layers, 0..n_layers, in the game's tables. */
static inline size_t ek__pricing_at(const ek__pricing *g, int s, int l)
{
    assert(s >= 0 && s <= g->problem->n_stages && l >= 0 && l <= g->problem->n_layers);
    return (size_t)s * ((size_t)g->problem->n_layers + 1) + (size_t)l;
}

/** The mix's weights on a stage's durations, as the choices' times are laid out. */
void ek__pricing_stage_weights(const ek__pricing *game, int stage, double *weight);

#endif
