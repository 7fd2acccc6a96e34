/* balance/search.h - the state that a running search shares between its threads, and the table of solvers.
 * Library-internal. */
#ifndef EK_BALANCE_SEARCH_H
#define EK_BALANCE_SEARCH_H

#include "balance/problem.h"
#include "base/watch.h"

typedef struct ek__search {
    const ek__problem *problem;
    const ek_balance_options *options;
    int n_threads;
    double start;            /**< ek__now() when the time limit began */
    EK__ATOMIC(bool) stop;   /**< set by the clock or an interrupt; solvers check it often and return */
    EK__ATOMIC(double) work; /**< blocks simulated so far, of work_total */
    EK__ATOMIC(double) work_total;
    EK__ATOMIC(double) best_time;   /**< INFINITY while there is no plan; written under the lock */
    EK__ATOMIC(double) lower_bound; /**< no plan is shorter; grows */
    double proof_end;     /**< ek__now() at the end of the phase that only raises it; written before that begins */
    bool clocked;         /**< the clock ended the search for plans before the time limit */
    bool relaxed;         /**< the relaxation reached its optimum: once more would show no more */
    pthread_mutex_t lock; /**< guards the rest */
    ek__state best;
    int best_rank;
    double best_at; /**< seconds after start */
    bool proved;    /**< best is optimal; set by a solver that ran to its end */
} ek__search;

/**
 * Offer a feasible state as the answer. Kept when shorter; between equals the lower rank wins, so that the answer does
 * not depend on which thread came first.
 * @param state      places all layers, within the memory of every stage
 * @param step_time  of the state; at least the lower bound, apart from rounding
 * @param rank       0 or more
 */
void ek__search_offer(ek__search *search, const ek__state *state, double step_time, int rank);

static inline bool ek__search_stopped(const ek__search *search)
{
    return atomic_load_explicit(&search->stop, memory_order_relaxed);
}

/** Is the time over for raising the lower bound? */
bool ek__proof_over(const ek__search *search);

/** Count blocks simulated, 0 or more, for the progress. */
static inline void ek__search_did(ek__search *search, double blocks)
{
    assert(blocks >= 0);
    atomic_store_explicit(&search->work, atomic_load_explicit(&search->work, memory_order_relaxed) + blocks,
                          memory_order_relaxed);
}

/** Step times closer than this (relative) are equal: rounding of sums. */
#define EK__TIME_TOLERANCE 1e-9

/**
 * A feasible start: layers spread as evenly as the memory allows, every chunk saving as much memory as it can.
 *
 * @param[out] state           filled when EK_OK is returned and *fits
 * @param[out] fits            false when no plan is within the limit (proved for `*exact`)
 * @param[out] smallest_limit  when it does not fit: the smallest limit that would, and in `state` a plan that does
 * @param[out] exact           smallest_limit is proved; with several body kinds and several chunks it is the smallest
 *                             found
 */
ek_status ek__minimum_memory_start(const ek__problem *problem, ek__state *state, bool *fits, double *smallest_limit,
                                   bool *exact, ek_error *err);

/** Is each option in its range? @param n_stages of comm.edge_time; 0: it is checked later.
 *  @return EK_OK, EK_ERR_INPUT. O(stages) */
ek_status ek__balance_options_check(const ek_balance_options *options, int n_stages, ek_error *err);

/** A way of searching: improves search->best, which is feasible on entry and at the end, until done or stopped. */
typedef struct ek__solver {
    const char *name;
    const char *summary;
    ek_status (*solve)(ek__search *search, ek_error *err);
} ek__solver;

/** Raise the lower bound to `bound`, if that is higher. Apart from rounding it is at most the best step so far;
 *  -INFINITY is ignored. */
void ek__search_bound(ek__search *search, double bound);

/** Is the gap between the best plan and the lower bound as small as requested? */
bool ek__search_close_enough(ek__search *search);

/**
 * One chunk a stage: the plan with the shortest step, proved (sets `proved`), or at least a bound. Nothing otherwise.
 * @return EK_OK, EK_ERR_MEMORY
 */
ek_status ek__certify_labels(ek__search *search, ek_error *err);

/**
 * Raise the lower bound until it is close enough, or its time is over, or no method improves it.
 * @return EK_OK, EK_ERR_MEMORY
 */
ek_status ek__certify(ek__search *search, ek_error *err);

/** Branch and bound with a budget of simulated blocks, above 0, until ek__proof_over(); sets search->proved when it ran
 * to its end. */
ek_status ek__branch_and_bound(ek__search *search, double max_work, ek_error *err);

#endif
