/* The state that solvers share while they run: the clock, the best plan so far, the lower bound. */
#include "balance/search.h"

#include <assert.h>
#include <math.h>
#include <time.h>

/* Relative: the allowed difference of a bound and a step, sums of the same terms in other orders. Only for
 * assertions. */
#define BOUND_TOLERANCE 1e-6

void ek__search_offer(ek__search *search, const ek__state *state, double step_time, int rank)
{
    assert(step_time >= 0 && rank >= 0);
    assert(step_time >= atomic_load(&search->lower_bound) * (1 - BOUND_TOLERANCE));
    /* Most offers are longer than a plan that another thread found meanwhile: turn them away without the lock. */
    if (step_time > atomic_load(&search->best_time) * (1 + EK__TIME_TOLERANCE))
        return;
    pthread_mutex_lock(&search->lock);
    double best = atomic_load(&search->best_time), tolerance = EK__TIME_TOLERANCE * step_time;
    if (step_time < best - tolerance || (step_time <= best + tolerance && rank < search->best_rank)) {
        assert(ek__state_is_valid(search->problem, state, true));
        if (step_time < best - tolerance)
            search->best_at = ek__now() - search->start;
        ek__state_copy(search->problem, state, &search->best);
        search->best_rank = rank;
        atomic_store(&search->best_time, step_time);
    }
    pthread_mutex_unlock(&search->lock);
}

void ek__search_bound(ek__search *search, double bound)
{
    assert(!isnan(bound));
    assert(bound <= atomic_load(&search->best_time) * (1 + BOUND_TOLERANCE));
    double now = atomic_load(&search->lower_bound);
    while (bound > now && !atomic_compare_exchange_weak(&search->lower_bound, &now, bound))
        ;
}

bool ek__proof_over(const ek__search *search)
{
    return ek__search_stopped(search) || ek__now() > search->proof_end;
}

bool ek__search_close_enough(ek__search *search)
{
    double best = atomic_load(&search->best_time);
    return atomic_load(&search->lower_bound) >= best * (1 - fmax(search->options->gap, EK__TIME_TOLERANCE));
}
