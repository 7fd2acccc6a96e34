/* Simulates every plan, one after the other: all layer counts and all undominated ways to recompute them. It uses no
 * bound except memory, so that it can be the oracle of solvers that do. For small cases only: it counts the plans
 * first, and refuses when they are too many. */
#include <assert.h>
#include <stdlib.h>

#include "balance/search.h"
#include "balance/solvers.h"
#include "base/error.h"

#define MOST_PLANS 2e8

typedef struct walk {
    ek__search *search;
    const ek__problem *problem;
    ek__state state; /* chunks not yet placed are empty */
    double *scratch;
    bool cut;    /* stopped before the end */
    bool failed; /* out of memory */
} walk;

static bool fits(const walk *w, int cell)
{
    const ek_order *order = w->problem->order;
    int stages[2] = {0}, n = ek__bank_stages(order, order->bank[cell], stages);
    for (int i = 0; i < n; i++)
        if (ek__state_excess(w->problem, &w->state, stages[i]) > w->problem->tolerance_mb)
            return false;
    return true;
}

/* Most layers of the chunk at model position q, so that the later ones get their least. */
static int most_layers(const ek__problem *problem, int q, int placed)
{
    return problem->n_layers - placed - (problem->n_cells - 1 - q) * problem->min_layers;
}

static int least_layers(const ek__problem *problem, int q, int placed)
{
    return q == problem->n_cells - 1 ? problem->n_layers - placed : problem->min_layers;
}

/* All plans from model position q on; `placed` layers are before it. */
static void place(walk *w, int q, int placed)
{
    const ek__problem *problem = w->problem;
    assert(q >= 0 && q <= problem->n_cells);
    assert(placed >= q * problem->min_layers && placed <= problem->n_layers);
    if (q == problem->n_cells) {
        assert(placed == problem->n_layers);
        ek__search_offer(w->search, &w->state, ek__state_step_time(problem, &w->state, w->scratch), 0);
        ek__search_did(w->search, (double)ek_order_n_blocks(problem->order));
        return;
    }
    int cell = problem->order->cell_at[q], least, most;
    const ek__chunk *empty = w->state.chunk[cell];
    ek__layer_range(problem, &w->state, q, placed, &least, &most);
    for (int n = least; n <= most && !w->cut; n++) {
        const ek__chunk *chunk = ek__chunk_get(problem, placed, n);
        if (!chunk) {
            w->cut = w->failed = true;
            break;
        }
        w->state.chunk[cell] = chunk;
        for (int o = 0; o < chunk->n_options && !w->cut; o++) {
            w->cut = ek__search_stopped(w->search);
            w->state.option[cell] = o;
            if (fits(w, cell))
                place(w, q + 1, placed + n);
        }
    }
    w->state.chunk[cell] = empty;
    w->state.option[cell] = 0;
}

/* Plans when memory rules none out; at least that many when it is above MOST_PLANS. */
static ek_status count_plans(const ek__problem *problem, double *n_plans, ek_error *err)
{
    /* Layers beyond the least, over all chunks: the ways to spread them may already be too many. */
    int spare = problem->n_layers - problem->n_cells * problem->min_layers;
    assert(spare >= 0);
    *n_plans = 1;
    for (int i = 1; i <= spare && *n_plans <= MOST_PLANS; i++)
        *n_plans *= (double)(problem->n_cells - 1 + i) / i;
    if (*n_plans > MOST_PLANS)
        return EK_OK;
    double *ways =
        ek__alloc(2 * ((size_t)spare + 1), sizeof *ways); /* by spare layers placed, and for the next chunk */
    if (!ways)
        return ek__no_memory(err);
    double *next = ways + spare + 1;
    ek_status status = EK_OK;
    ways[0] = 1;
    for (int q = 0; q < problem->n_cells && !status; q++) {
        for (int i = 0; i <= spare; i++)
            next[i] = 0;
        for (int i = 0; i <= spare && !status; i++) {
            int placed = q * problem->min_layers + i, most = most_layers(problem, q, placed);
            for (int n = least_layers(problem, q, placed); n <= most && ways[i] > 0; n++) {
                const ek__chunk *chunk = ek__chunk_get(problem, placed, n);
                if (!chunk) {
                    status = ek__no_memory(err);
                    break;
                }
                if (!chunk->complete) {
                    status =
                        ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                                 "solver 'exhaustive' tries every plan, but of a chunk of %d layers not every way to "
                                 "recompute is listed; use another solver",
                                 n);
                    break;
                }
                assert(i + n - problem->min_layers <= spare);
                next[i + n - problem->min_layers] += ways[i] * chunk->n_options;
            }
        }
        for (int i = 0; i <= spare; i++)
            ways[i] = next[i];
    }
    *n_plans = ways[spare];
    free(ways);
    return status;
}

static ek_status solve(ek__search *search, ek_error *err)
{
    const ek__problem *problem = search->problem;
    double n_plans;
    ek_status status = count_plans(problem, &n_plans, err);
    if (status)
        return status;
    if (n_plans > MOST_PLANS)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "solver 'exhaustive' would simulate about %.2g plans or more, and does at most %.2g; use another "
            "solver, or fewer layers, chunks or kinds of recomputation",
            n_plans, MOST_PLANS);
    atomic_store(&search->work_total, n_plans * (double)ek_order_n_blocks(problem->order));
    walk w = {.search = search, .problem = problem};
    status = ek__state_init(&w.state, problem, err);
    if (status)
        return status;
    w.scratch = ek__alloc(ek__state_scratch_size(problem), sizeof *w.scratch);
    const ek__chunk *empty = ek__chunk_get(problem, 0, 0);
    for (int c = 0; c < problem->n_cells; c++)
        w.state.chunk[c] = empty;
    if (w.scratch && empty)
        place(&w, 0, 0);
    if (!w.scratch || !empty || w.failed)
        status = ek__no_memory(err);
    search->proved = !w.cut && !status;
    free(w.scratch);
    ek__state_clear(&w.state);
    return status;
}

const ek__solver ek__solver_exhaustive = {
    .name = "exhaustive",
    .summary = "every plan, for tiny pipelines; a judge of the others",
    .solve = solve,
};
