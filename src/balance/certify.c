/* Raises the lower bound of an answer until the gap is small enough, the time is over, or no method improves it.
 *
 * One chunk a stage: the method for 1F1B (label_setting.c), or the stage-by-stage bound (bound.c); the plan of the
 * bound is simulated, and where both agree it is optimal. Remaining gaps, and several chunks: branch and cut (tree.c),
 * or layers in fractions (lp_relaxation.c). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "balance/label_setting.h"
#include "balance/lp_relaxation.h"
#include "balance/tree.h"
#include "base/error.h"
#include "evenkeel/layers.h"

#define MOST_LABELS 2000000
#define FEW_LABELS  50000 /* of three families: beyond, branch and cut is faster */
#define PASS_SHARE  0.5   /* of the time limit, for the passes of one chunk a stage; */
#define LONE_SHARE  0.25  /* of the time limit, for branch and cut before another search for a plan, */
#define LONE_MOST   3.0   /* but no more seconds than that */
#define GRID        2e-4  /* of the step */
#define COARSE_GRID 5e-4
#define FAST_GROWTH 1.04
#define SLOW_GROWTH 1.005

typedef struct lone {
    ek__state state;
    double *scratch;
    bool done, below; /* of the last pass */
} lone;

/* A first bound for several chunks in little time, and the only one where there are too many choices to list. */
static ek_status certify_quickly(ek__search *search, ek_error *err)
{
    int last = search->problem->n_chunks - 1;
    assert(last >= 1); /* one chunk a stage has its own method */
    double best = atomic_load(&search->best_time);
    ek__bound_pass pass = {.n_families = 1,
                           .family = {{EK_BACKWARD, last, EK_FORWARD, last}},
                           .upper = best,
                           .grid = GRID * best,
                           .most_labels = MOST_LABELS};
    ek_status status = ek__bound_stages(search, &pass, err);
    assert(pass.bound <= best);
    if (!status && pass.done)
        ek__search_bound(search, pass.bound);
    return status;
}

/* One chunk a stage: record the plan and the bound. */
static void lone_offer(ek__search *search, double bound, bool found, const lone *l)
{
    if (found)
        ek__search_offer(search, &l->state, ek__state_step_time(search->problem, &l->state, l->scratch), 0);
    double best = atomic_load(&search->best_time);
    assert(search->problem->n_chunks == 1);
    ek__search_bound(search, fmin(bound, best));
    search->proved = atomic_load(&search->lower_bound) >= best * (1 - EK__TIME_TOLERANCE);
}

/* Steps that matter: those below the best so far, and as long. */
static double lone_upper(const ek__search *search)
{
    return atomic_load(&search->best_time) * (1 + EK__TIME_TOLERANCE);
}

static ek_status lone_pass(ek__search *search, int n_families, double upper, double grid, lone *l, ek_error *err)
{
    ek__bound_pass pass = {
        .n_families = n_families,
        .family = {{EK_BACKWARD, 0, EK_FORWARD, 0}, {EK_FORWARD, 0, EK_FORWARD, 0}, {EK_BACKWARD, 0, EK_BACKWARD, 0}},
        .upper = upper,
        .grid = grid,
        .most_labels = n_families == 1 ? MOST_LABELS : FEW_LABELS,
        .state = &l->state};
    ek_status status = ek__bound_stages(search, &pass, err);
    l->done = pass.done;
    l->below = pass.below;
    if (!status && pass.done)
        lone_offer(search, pass.bound, pass.below, l);
    return status;
}

/* Passes are fast when little is below `upper`, so that comes up from below until a plan appears; an exact pass under
 * that plan's step then settles the matter, unless its longest path is of another family. */
static ek_status lone_passes(ek__search *search, int n_families, double growth, lone *l, ek_error *err)
{
    ek_status status;
    double known = atomic_load(&search->lower_bound), upper = known > 0 ? known : lone_upper(search);
    assert(growth > 1);
    do {
        upper = fmin(upper * growth, lone_upper(search));
        status = lone_pass(search, n_families, upper, COARSE_GRID * upper, l, err);
    } while (!status && l->done && !l->below && !search->proved);
    if (!status && !search->proved)
        status = lone_pass(search, n_families, lone_upper(search), 0, l, err);
    return status;
}

/* Can the choices of stages be listed? With a reserve kept free, a choice that exceeds the rest may still fit. */
static bool listed(const ek__problem *problem)
{
    return problem->layers->n_body == 1 && problem->order->n_ways == 1 && !problem->order->schedule->arrange &&
           problem->reserve_mb == 0;
}

ek_status ek__certify_labels(ek__search *search, ek_error *err)
{
    const ek__problem *problem = search->problem;
    if (problem->n_chunks > 1 || problem->reserve_mb > 0 || !ek__bound_stages_applies(problem))
        return EK_OK;
    lone l = {.scratch = ek__alloc(ek__state_scratch_size(problem), sizeof(double))};
    ek_status status = l.scratch ? ek__state_init(&l.state, problem, err) : ek__no_memory(err);
    search->proof_end = ek__now() + PASS_SHARE * search->options->time_limit;
    if (!status && ek__bound_labels_applies(problem)) {
        ek__label_bound shown;
        status = ek__bound_labels(search, lone_upper(search), &l.state, &shown, err);
        if (!status)
            lone_offer(search, shown.bound, shown.found, &l);
    } else if (!status) {
        status = lone_passes(search, 1, FAST_GROWTH, &l, err);
        if (!status && !search->proved)
            status = lone_passes(search, 3, SLOW_GROWTH, &l, err);
    }
    ek__state_clear(&l.state);
    free(l.scratch);
    if (!status && !search->proved && listed(problem)) {
        search->proof_end = ek__now() + fmin(LONE_SHARE * search->options->time_limit, LONE_MOST);
        status = ek__certify_tree(search, 0, err);
        search->proved =
            atomic_load(&search->lower_bound) >= atomic_load(&search->best_time) * (1 - EK__TIME_TOLERANCE);
    }
    search->proof_end = INFINITY;
    assert(atomic_load(&search->lower_bound) <= atomic_load(&search->best_time) * (1 + 1e-6));
    return status;
}

ek_status ek__certify(ek__search *search, ek_error *err)
{
    const ek__problem *problem = search->problem;
    ek_status status = EK_OK;
    search->proof_end = ek__now() + search->options->proof_limit;
    if (problem->n_chunks > 1 && problem->reserve_mb == 0 && ek__bound_stages_applies(problem) &&
        !ek__search_close_enough(search))
        status = certify_quickly(search, err);
    if (!status && !search->relaxed && !ek__search_close_enough(search) && !ek__proof_over(search))
        status = ek__bound_lp_relaxation(search, err);
    if (!status && listed(problem) && !ek__search_close_enough(search) && !ek__proof_over(search))
        status = ek__certify_tree(search, search->options->gap, err);
    return status;
}
