/* balance/milp.h - the linear surrogate of the milp solver, separate from the search so that tests can check its
 * optimum. Library-internal. */
#ifndef EK_BALANCE_MILP_H
#define EK_BALANCE_MILP_H

#include "balance/problem.h"

/** How CBC ended; all false: it was ended by over(). */
typedef struct ek__milp_end {
    bool ended;      /**< by its own criterion: its solution is optimal for the surrogate, or there is none */
    bool found;      /**< there is a plan */
    double stand_in; /**< of CBC's solution, when found; the plan's own is longer where it had to be repaired */
} ek__milp_end;

/**
 * Minimise the linear surrogate of the step time (milp.c has the formulas) within the memory limit.
 *
 * @param seconds     of wall clock for CBC, > 0; it may overrun by one of its steps
 * @param over        ends CBC within 10 ms once it returns true, without a solution; NULL: no early end
 * @param[out] state  when out->found: the plan of CBC's best solution, every chunk recomputed in the quickest way that
 *                    the lists can express and that needs no more memory than the solution
 * CBC runs in a separate process.
 * @return EK_OK; EK_ERR_INPUT for several kinds of body layer, or a schedule that splits the backward pass or runs
 *         micro-batches both ways; EK_ERR_MEMORY; EK_ERR_SYSTEM when CBC crashed or no process could be started.
 */
ek_status ek__milp_minimise(const ek__problem *problem, double seconds, bool (*over)(void *user), void *user,
                            ek__state *state, ek__milp_end *out, ek_error *err);

#endif
