/* The default solver, a portfolio of the others. One chunk a stage: the exact bound gives the plan and its proof in one
 * pass. Else the relaxation bounds the step first, since it is strong and cheap and a short time limit would otherwise
 * leave it out; then try to prove at once, which settles small cases in milliseconds, and anneal. The answer is then
 * certified as for any solver: the last attempt of branch and bound leaves most of the time for that. */
#include <assert.h>
#include <math.h>

#include "balance/lp_relaxation.h"
#include "balance/search.h"
#include "balance/solvers.h"

#define FIRST_PROOF 2e7 /* blocks simulated */
#define LAST_PROOF  2e8

/* Of the time limit, for the relaxation before anything else; of the time left, for the last attempt. */
#define RELAXED_SHARE 0.2
#define LAST_SHARE    0.3

static bool over(const ek__search *search)
{
    return search->proved || ek__search_stopped(search);
}

/* The bound for every schedule, before there is a good plan: it depends only on the problem. */
static ek_status relax_first(ek__search *search, ek_error *err)
{
    const ek_balance_options *options = search->options;
    assert(!search->proved && search->proof_end == INFINITY);
    search->proof_end = ek__now() + fmin(RELAXED_SHARE * options->time_limit, options->proof_limit);
    ek_status status = ek__bound_lp_relaxation(search, err);
    search->proof_end = INFINITY;
    return status;
}

static ek_status prove_last(ek__search *search, ek_error *err)
{
    double now = ek__now(), left = search->start + search->options->time_limit - now;
    assert(now >= search->start);
    search->proof_end = now + LAST_SHARE * left;
    ek_status status = ek__branch_and_bound(search, LAST_PROOF, err);
    search->clocked |= !search->proved && ek__proof_over(search);
    search->proof_end = INFINITY;
    return status;
}

static ek_status solve(ek__search *search, ek_error *err)
{
    ek_status status = ek__certify_labels(search, err);
    if (!status && !over(search))
        status = relax_first(search, err);
    if (!status && !over(search))
        status = ek__branch_and_bound(search, FIRST_PROOF, err);
    if (!status && !over(search))
        status = ek__solver_anneal.solve(search, err);
    if (!status && !over(search))
        status = prove_last(search, err);
    return status;
}

const ek__solver ek__solver_staged = {
    .name = "staged",
    .summary = "exact for one chunk a stage and small pipelines, else annealing (default)",
    .solve = solve,
};
