/* The default. One chunk a stage: the exact bound gives the plan and its proof in one go. Else try to prove at once,
 * which settles small cases in milliseconds, and anneal. How good the answer is, is then shown as for any solver. */
#include "balance/search.h"
#include "balance/solvers.h"

#define FIRST_PROOF 2e7 /* blocks simulated */
#define LAST_PROOF  2e8

static bool over(const ek__search *search)
{
    return search->proved || ek__search_stopped(search);
}

static ek_status solve(ek__search *search, ek_error *err)
{
    ek_status status = ek__certify_lone(search, err);
    if (!status && !over(search))
        status = ek__branch_and_bound(search, FIRST_PROOF, err);
    if (!status && !over(search))
        status = ek__solver_anneal.solve(search, err);
    if (!status && !over(search))
        status = ek__branch_and_bound(search, LAST_PROOF, err);
    return status;
}

const ek__solver ek__solver_staged = {
    .name = "staged",
    .summary = "exact for one chunk a stage and small pipelines, else annealing (default)",
    .solve = solve,
};
