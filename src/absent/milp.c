/* Replaces the solver milp in a build without CBC: it reports that it is missing. */
#include "balance/milp.h"

#include "balance/search.h"
#include "balance/solvers.h"
#include "base/error.h"

static ek_status absent(ek_error *err)
{
    return ek__fail(
        err, EK_ERR_INPUT, EK__NOWHERE,
        "this build has no CBC, which solver 'milp' needs: use another solver, or build with -Dcbc=enabled");
}

ek_status ek__milp_minimise(const ek__problem *problem, double seconds, bool (*over)(void *user), void *user,
                            ek__state *state, ek__milp_end *out, ek_error *err)
{
    (void)problem, (void)seconds, (void)over, (void)user, (void)state, (void)out;
    return absent(err);
}

static ek_status solve(ek__search *search, ek_error *err)
{
    (void)search;
    return absent(err);
}

const ek__solver ek__solver_milp = {
    .name = "milp",
    .summary = "a linear approximation of the step, as in the original; for comparison",
    .solve = solve,
};
