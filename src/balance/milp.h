/* balance/milp.h - the linear stand-in of the milp solver, apart from the search so that tests can judge its optimum.
 * Library-internal. */
#ifndef EK_BALANCE_MILP_H
#define EK_BALANCE_MILP_H

#include "balance/problem.h"

/** How CBC ended; all false: it was ended by over(). */
typedef struct ek__milp_end {
    bool ended;      /**< by its own criterion: its solution is optimal for the stand-in, or there is none */
    bool found;      /**< there is a plan */
    double stand_in; /**< of CBC's solution, when found; the plan's own is longer where it had to be repaired */
} ek__milp_end;

/**
 * Minimise the linear stand-in of the step time (milp.c has the formulas) within the memory limit.
 *
 * @param seconds     of wall clock for CBC, > 0; it may overrun by the length of one of its own steps
 * @param over        ends CBC within 10 ms once it says true, with what it has found lost; NULL: it has until its end
 * @param[out] state  when out->found: the plan of CBC's best solution, every chunk recomputed in the quickest way that
 *                    the lists can express and that needs no more memory than the solution's own
 * CBC runs in a process of its own.
 * @return EK_OK; EK_ERR_INPUT for several kinds of body layer, or a schedule that splits the backward pass or runs
 *         micro-batches both ways; EK_ERR_MEMORY; EK_ERR_SYSTEM when CBC crashed or
 *         there could be no process.
 */
ek_status ek__milp_minimise(const ek__problem *problem, double seconds, bool (*over)(void *user), void *user,
                            ek__state *state, ek__milp_end *out, ek_error *err);

#endif
