/* Keeps the ledger: for each case the shortest step that any run found and the highest bound that any run claimed. A
 * bound above the step of an existing plan is wrong, whichever solver found the plan, so solvers without bounds run on
 * the cases as well. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define TOLERANCE 1e-9 /* relative: sums in another order */

enum { MOST_CASES = 256, NAME_SIZE = 64, LISTED_FINDS = 3 };

typedef struct entry {
    char name[NAME_SIZE];
    double step, bound; /* INFINITY and 0 while there is none */
    char finder[NAME_SIZE], claimant[NAME_SIZE];
    int n_finds;
} entry;

static entry ledger[MOST_CASES];
static int n_entries;

void bench_ledger_add(const char *name, const char *who, double step, double bound)
{
    int i = 0;
    while (i < n_entries && strcmp(ledger[i].name, name) != 0)
        i++;
    if (i == MOST_CASES || strlen(name) >= NAME_SIZE)
        bench_give_up("the ledger has no room for '%s'", name);
    entry *e = &ledger[i];
    if (i == n_entries) {
        n_entries++;
        *e = (entry){.step = INFINITY};
        snprintf(e->name, sizeof e->name, "%s", name);
    }
    e->n_finds += isfinite(step);
    if (step < e->step * (1 - TOLERANCE)) /* else the first to find it stays */
        snprintf(e->finder, sizeof e->finder, "%s", who);
    e->step = fmin(e->step, step);
    if (bound > e->bound) {
        e->bound = bound;
        snprintf(e->claimant, sizeof e->claimant, "%s", who);
    }
}

/* Let a solver try the case; one that refuses it has found nothing. */
static void add_try(const bench_run *run, const char *solver, uint64_t seed, double seconds, double gap)
{
    bench_run again = *run;
    char who[NAME_SIZE];
    snprintf(who, sizeof who, "%s, seed %d", solver, (int)seed);
    again.options.solver = solver;
    again.options.seed = seed;
    again.options.time_limit = seconds;
    again.options.gap = gap;
    again.options.proof_limit = seconds;
    bench_answer a = bench_solve(&again, seed == run->options.seed ? solver : who);
    if (a.failed && a.failed != EK_ERR_INPUT)
        bench_give_up("%s, %s: %s", run->name, who, a.error.message);
}

static void try_published(double seconds)
{
    for (int i = 0; i < N_BALANCE_CASES; i++) {
        case_model model;
        bench_run run;
        bench_run_published(&run, i, &model);
        for (uint64_t seed = 2; seed <= 4; seed++)
            add_try(&run, "anneal", seed, seconds / 5, 1); /* a gap of 1: nothing is left to prove */
        add_try(&run, "branch", run.options.seed, seconds / 10, 0);
        add_try(&run, "staged", run.options.seed, seconds, 0); /* the last targets of a proof are the hardest */
    }
}

/* Small enough for trying every plan. */
static void try_small(double seconds)
{
    static const struct {
        ek_shape shape;
        int n_layers;
    } rows[] = {{{3, 2, 6, 0}, 8}, {{2, 3, 4, 0}, 8}, {{4, 1, 8, 0}, 9}, {{5, 1, 5, 0}, 9}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench_model model;
        bench_run run;
        char name[NAME_SIZE];
        ek_shape shape = rows[i].shape;
        snprintf(name, sizeof name, "p=%d v=%d m=%d L=%d", shape.n_stages, shape.n_chunks, shape.n_micro_batches,
                 rows[i].n_layers);
        bench_model_draw(&model, 1, rows[i].n_layers, i + 1);
        bench_run_init(&run, name, &model.layers, shape, 0);
        run.options.memory_limit_mb = bench_smallest_limit(&run) * 1.3;
        static const char *const solvers[] = {"exhaustive", "staged", "branch", "milp", "anneal"};
        for (size_t s = 0; s < sizeof solvers / sizeof *solvers; s++)
            add_try(&run, solvers[s], run.options.seed, seconds, 0);
    }
}

void bench_bounds(double seconds)
{
    bench_say("## Bound against every plan\n\n"
              "All the runs above, and more made for this (`BOUNDS_SECONDS`, %g s): for each published case three\n"
              "seeds of the annealing, branch and bound, and the default without a gap to stop at; for small cases\n"
              "every solver. *Shortest*: the least step that anyone found; *bound*: the highest that anyone claims.\n"
              "A bound above a plan that exists is wrong, and then the bench fails. A case for which fewer than %d\n"
              "runs found a plan is checked, but has no line.\n\n"
              "| case | plans found | shortest | by | bound | by | bound / shortest |\n"
              "|---|--:|--:|---|--:|---|--:|\n",
              seconds, LISTED_FINDS);
    try_published(seconds);
    try_small(seconds);
    double highest = 0;
    for (int i = 0; i < n_entries; i++) {
        const entry *e = &ledger[i];
        double ratio = e->bound / e->step;
        highest = fmax(highest, ratio);
        bench_hold(ratio <= 1 + TOLERANCE, "%s: the bound %.9g of '%s' beside the step %.9g of '%s'", e->name, e->bound,
                   e->claimant, e->step, e->finder);
        if (e->n_finds >= LISTED_FINDS || ratio > 1 + TOLERANCE)
            bench_say("| %s | %d | %.3f | %s | %.3f | %s | %.7f |\n", e->name, e->n_finds, e->step, e->finder, e->bound,
                      e->claimant, ratio);
    }
    bench_say("\nHighest bound / shortest of all %d cases: %.12f.\n", n_entries, highest);
}
