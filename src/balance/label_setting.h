/* balance/label_setting.h - the exact method for one chunk a stage under 1F1B. Library-internal. */
#ifndef EK_BALANCE_LABEL_SETTING_H
#define EK_BALANCE_LABEL_SETTING_H

#include "balance/bound.h"

/** Whether a stage can hold some layers. */
typedef enum ek__label_fit {
    EK__LABEL_FITS,
    EK__LABEL_NOT,     /**< it cannot; with more it may */
    EK__LABEL_NEVER,   /**< nor with more */
    EK__LABEL_UNKNOWN, /**< it may, in a way that is not listed: nothing is shown then */
    EK__LABEL_NO_MEMORY,
} ek__label_fit;

/** Times of a stage for one micro-batch with the cheapest recomputation that fits. */
typedef struct ek__label_cost {
    double forward, backward;
    double after; /**< after its last backward: the step ends when all stages have finished it */
} ek__label_cost;

/** A path through the blocks of the order: how often it passes each stage's, and its communication time. */
typedef struct ek__label_path {
    const double *forward, *backward; /**< [n_stages] */
    double fixed;
    int end; /**< the stage at which the path ends, with the work after its last backward */
} ek__label_path;

enum { EK__LABEL_MOST_PATHS = 24 };

/** Stages to deal layers to. */
typedef struct ek__label_stages {
    const ek_order *order;      /**< ek__label_order_applies() */
    const ek__delays *delays;   /**< NULL: no communication */
    const ek__label_path *path; /**< [n_paths] in addition to the family's */
    int n_paths;                /**< at most EK__LABEL_MOST_PATHS */
    int n_layers, min_layers;   /**< of the model, at least 1; of every stage, at least 0 */
    const int *fixed_layers;    /**< [n_stages] of a stage, -1: free; NULL: all free */
    int most_layers;            /**< of any stage; 0: no limit */
    bool alike;                 /**< `first` is of no account */
    double known;               /**< a lower bound to begin with, 0 */
    /** Costs of layers [first, first + n) on a stage, all at least 0; more layers take no less of anything. */
    ek__label_fit (*cost)(void *user, int stage, int first, int n, ek__label_cost *out);
    bool (*over)(void *user); /**< is the time over? NULL: never */
    void *user;
} ek__label_stages;

/** Does every stage run w forwards, then pairs of backward and forward, then w backwards, in order of micro-batches,
 *  with w no more than that of the stage before, one chunk, and micro-batches of equal cost? O(blocks). */
bool ek__label_order_applies(const ek_order *order);

/** Does every stage run w forwards, then pairs of backward and forward, then w backwards, in order of micro-batches,
 *  with w no more than that of the stage before, and one chunk? (In addition to ek__bound_stages_applies().)
 *  O(blocks). */
bool ek__bound_labels_applies(const ek__problem *problem);

typedef struct ek__label_bound {
    double bound; /**< no plan is shorter; `upper` when none below it is left */
    bool found;   /**< a plan below `upper`: the bound is its longest path of those known */
} ek__label_bound;

/**
 * The least, over all plans, of the longest path of the family above (label_setting.c; docs/models.md, "Certificates")
 * and of the paths that are given: with w_s forwards of warm-up, x_s = f_s + b_s and no communication
 *
 *     T >= sum_s x_s + (m - w_c) x_c + sum_{c<s<=d'} x_s + sum_{c<s<=d} x_s + (w_d' - 1) f_a + (w_d - 1) b_b
 *
 * for all a <= d', b <= d, c <= d', d with m > w_c. Where the simulated step of the plan found is the bound, it is
 * optimal; without communication it nearly always is. Else pass its longest path in the next call.
 *
 * With `after` a path ends with that of some stage s: it has f_j only of stages before s. Covered are paths that return
 * to s from their stage c, which is not before s.
 *
 * @param upper  plans that take at least this long are ignored; at least 0
 * @param layers  [n_stages] filled with the layers of the bound's plan when there is one
 * @return EK_OK, EK_ERR_MEMORY. Gives up when the search is stopped or there are too many labels; the bound proved so
 *   far is kept. O(p L^2 + labels^2) at worst.
 */
ek_status ek__label_solve(const ek__label_stages *stages, double upper, int *layers, ek__label_bound *out,
                          ek_error *err);

/** ek__label_solve() for a balancing problem.
 * @param state  filled with the plan of the bound when there is one */
ek_status ek__bound_labels(ek__search *search, double upper, ek__state *state, ek__label_bound *out, ek_error *err);

#endif
