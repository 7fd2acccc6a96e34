/* balance/lp_relaxation.h - a bound for every schedule: fractional layers with exact memory and paths.
 * Library-internal. */
#ifndef EK_BALANCE_LP_RELAXATION_H
#define EK_BALANCE_LP_RELAXATION_H

#include "balance/search.h"

/**
 * Raise the search's lower bound towards the optimum of a linear program: every chunk may hold any fractions of layers
 * of all kinds, in any order, each recomputed in any mixture of ways; the memory of every stage and every path through
 * the blocks are exact. Ends when the bound is close enough, the program's own optimum is reached or the time is over.
 *
 * The reported bound is not the program's value but the Lagrangian bound of its prices, which is valid for any accuracy
 * of the prices: with weights u_r >= 0 of paths that add up to 1, and prices of the other rows,
 *
 *     sum_r u_r transfers_r + fixed parts + sum over body kinds of (layers x the cheapest cell and way for one layer).
 *
 * @return EK_OK, EK_ERR_MEMORY. A simplex run for each added path, plus O(blocks + cells x kinds).
 */
ek_status ek__bound_lp_relaxation(ek__search *search, ek_error *err);

#endif
