/* The default: try to prove at once, which settles small cases in milliseconds; else anneal, then try to prove what was
 * found. */
#include "balance/search.h"
#include "balance/solvers.h"

#define FIRST_PROOF 2e7 /* blocks simulated */
#define LAST_PROOF  2e8

static ek_status solve(ek__search *search, ek_error *err)
{
    ek_status status = ek__branch_and_bound(search, FIRST_PROOF, err);
    if (!status && !search->proved && !ek__search_stopped(search))
        status = ek__solver_anneal.solve(search, err);
    if (!status && !search->proved && !ek__search_stopped(search))
        status = ek__branch_and_bound(search, LAST_PROOF, err);
    return status;
}

const ek__solver ek__solver_staged = {
    .name = "staged",
    .summary = "a quick proof for small pipelines, else annealing (default)",
    .solve = solve,
};
