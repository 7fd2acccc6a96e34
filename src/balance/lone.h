/* balance/lone.h - the exact method for one chunk a stage under 1F1B. Library-internal. */
#ifndef EK_BALANCE_LONE_H
#define EK_BALANCE_LONE_H

#include "balance/bound.h"

/** Does every stage run w forwards, then pairs of backward and forward, then w backwards, in order of micro-batches,
 *  with w no more than that of the stage before, and one chunk? (ek__bound_stages_applies() besides.) O(blocks). */
bool ek__bound_lone_applies(const ek__problem *problem);

typedef struct ek__lone_bound {
    double bound; /**< no plan is shorter; `upper` when none below it is left */
    bool found;   /**< a plan below `upper`: the bound is its longest path */
} ek__lone_bound;

/**
 * The least, over all plans, of the longest path of the family above (lone.c; docs/models.md, "Certificates"): with
 * w_s forwards of warm-up, x_s = f_s + b_s and no communication
 *
 *     T >= sum_s x_s + (m - w_c) x_c + sum_{c<s<=d'} x_s + sum_{c<s<=d} x_s + (w_d' - 1) f_a + (w_d - 1) b_b
 *
 * for all a <= d', b <= d, c <= d', d with m > w_c. Where the simulated step of the plan found is the bound, it is
 * optimal; without communication it nearly always is.
 *
 * @param upper  plans that take as long as this do not matter
 * @param state  filled with the plan behind the bound when there is one
 * @return EK_OK, EK_ERR_MEMORY. Gives up when the search is stopped or there are too many labels; what is shown until
 *         then is kept. O(p L^2 + labels^2) at worst.
 */
ek_status ek__bound_lone(ek__search *search, double upper, ek__state *state, ek__lone_bound *out, ek_error *err);

#endif
