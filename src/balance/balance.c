/* Runs a search: finds a feasible start or the reason why there is none, runs a solver on its own thread, and reports
 * progress and ends the search in time from the caller's thread. */
#include "evenkeel/layers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "balance/bound.h"
#include "balance/solvers.h"
#include "base/error.h"
#include "base/threads.h"

#define TICK   0.02  /* seconds between checks of the clock */
#define REPORT 0.125 /* seconds between progress reports */

const char *const ek__balance_status_name[4] = {"optimal", "feasible", "time_limit", "infeasible"};
const char *const *const ek_balance_status_name = ek__balance_status_name;

#define POINT(id) &ek__solver_##id,
static const ek__solver *const solvers[] = {EK__SOLVERS(POINT) NULL};

int ek_solver_at(int index, const char **name, const char **summary)
{
    int n = (int)(sizeof solvers / sizeof *solvers) - 1;
    if (index < 0 || index >= n)
        return 0;
    *name = solvers[index]->name;
    *summary = solvers[index]->summary;
    return 1;
}

static const ek__solver *find_solver(const char *name)
{
    if (!name)
        return solvers[0];
    for (const ek__solver *const *s = solvers; *s; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    return NULL;
}

void ek_balance_options_init(ek_balance_options *options)
{
    *options = (ek_balance_options){
        .memory_limit_mb = 56000, .time_limit = 90, .gap = 0.01, .proof_limit = 4, .min_layers = 1, .seed = 1};
}

void ek_balance_result_clear(ek_balance_result *result)
{
    ek_plan_clear(&result->plan);
    ek_plan_clear(&result->fit_plan);
    *result = (ek_balance_result){0};
}

/* The solver's thread, and how the caller's thread learns that it is done. */
typedef struct run {
    ek__search *search;
    const ek__solver *solver;
    ek_status status;
    ek_error error;
    bool done;
    pthread_mutex_t lock;
    pthread_cond_t ended;
} run;

/* Is the solver's proof one about all plans? Not when it is about one of many orders, or about less memory than there
 * is. */
static bool settled(const ek__search *search)
{
    return search->proved && !search->problem->order->schedule->arrange && search->problem->reserve_mb == 0;
}

static void *run_solver(void *user)
{
    run *r = user;
    ek__search_bound(r->search, fmin(ek__bound_mean(r->search->problem), atomic_load(&r->search->best_time)));
    r->status = r->solver->solve(r->search, &r->error);
    assert(r->status || ek__state_is_valid(r->search->problem, &r->search->best, true));
    /* Proofs are about simulated steps, and every way of recomputing. */
    bool provable = r->search->problem->n_more == 0 && !r->search->problem->full_layers;
    if (!r->status && provable && !settled(r->search) && !ek__search_stopped(r->search))
        r->status = ek__certify(r->search, &r->error);
    pthread_mutex_lock(&r->lock);
    r->done = true;
    pthread_cond_signal(&r->ended);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void report(ek__search *search)
{
    const ek_balance_options *options = search->options;
    if (!options->progress)
        return;
    double total = atomic_load(&search->work_total);
    pthread_mutex_lock(&search->lock);
    ek_balance_progress progress = {.seconds = ek__now() - search->start,
                                    .best_step_time = atomic_load(&search->best_time),
                                    .best_seconds = search->best_at,
                                    .lower_bound = atomic_load(&search->lower_bound),
                                    .done = total > 0 ? fmin(1.0, atomic_load(&search->work) / total) : 0};
    pthread_mutex_unlock(&search->lock);
    assert(progress.best_seconds >= 0 && progress.done >= 0 && progress.done <= 1);
    options->progress(options->user, &progress);
}

/* Wait for the solver; stop it when the watch is over. */
static void keep_watch(run *r)
{
    ek__search *search = r->search;
    double deadline = search->start + search->options->time_limit, reported = search->start;
    pthread_mutex_lock(&r->lock);
    while (!r->done) {
        double now = ek__now();
        if (ek__watch_over())
            atomic_store(&search->stop, true);
        if (now - reported >= REPORT && !atomic_load(&search->stop)) {
            reported = now;
            pthread_mutex_unlock(&r->lock);
            report(search);
            pthread_mutex_lock(&r->lock);
            continue;
        }
        double wait = deadline > now && deadline - now < TICK ? deadline - now : TICK;
        assert(wait > 0 && wait <= TICK);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)(wait * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&r->ended, &r->lock, &until);
    }
    pthread_mutex_unlock(&r->lock);
}

static ek_status run_search(ek__search *search, const ek__solver *solver, ek_error *err)
{
    run r = {.search = search, .solver = solver};
    assert(solver && search->n_threads >= 1);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.ended, NULL);
    ek__threads thread;
    int why;
    ek_status status;
    if (ek__threads_start(&thread, 1, run_solver, &r, 0, &why) == 1) {
        keep_watch(&r);
        ek__threads_join(&thread);
        status = r.status;
        if (status && err)
            *err = r.error;
    } else {
        status = ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "cannot start a thread: %s", strerror(why));
    }
    pthread_cond_destroy(&r.ended);
    pthread_mutex_destroy(&r.lock);
    return status;
}

/* A number from `least` to `most`? NaN is in no range. */
static ek_status check_number(const char *what, double value, double least, double most, ek_error *err)
{
    if (value >= least && value <= most)
        return EK_OK;
    if (isinf(most))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s must be %g or more (got %g)", what, least, value);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s must be between %g and %g (got %g)", what, least, most, value);
}

static ek_status check_search(const ek_balance_options *options, ek_error *err)
{
    const struct {
        const char *what;
        double value, most;
    } numbers[] = {
        {"the gap", options->gap, 1},
        {"only the time for the proof", options->proof_limit, INFINITY},
        {"the steps of an annealing chain", options->n_steps, INFINITY},
        {"micro-batches besides the order's", options->n_more_micro_batches, INFINITY},
        {"the least layers of a chunk", options->min_layers, INFINITY},
        {"the activations that an order is made for", options->activation_limit, EK_MAX_MICRO_BATCHES},
    };
    if (!(options->time_limit > 0))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the time limit must be positive (got %g s)",
                        options->time_limit);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ek_status status = check_number(numbers[i].what, numbers[i].value, 0, numbers[i].most, err);
        if (status)
            return status;
    }
    if (!find_solver(options->solver))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no solver is called '%s'", options->solver);
    return ek__threads_check(options->n_threads, err);
}

ek_status ek__balance_options_check(const ek_balance_options *options, int n_stages, ek_error *err)
{
    if (!(options->memory_limit_mb > 0) || !isfinite(options->memory_limit_mb))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the memory limit must be a positive number of MB (got %g)",
                        options->memory_limit_mb);
    ek_status status = check_search(options, err);
    return status ? status : ek__comm_check(&options->comm, n_stages, err);
}

/* Restrictions of some solvers to some orders. */
static ek_status check_solver(const ek_balance_options *options, const ek_order *order, ek_error *err)
{
    bool anneals = find_solver(options->solver) == &ek__solver_anneal;
    bool wraps = !order->schedule->arrange && order->schedule->placement == EK_PLACE_WRAP;
    if (options->n_more_micro_batches > 0 && !(anneals && wraps))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "micro-batches in addition to those of the order are for the solver 'anneal' and chunks that "
                        "wrap round the stages");
    if (options->full_layers && !anneals)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "one recomputation rule for all chunks is for the solver 'anneal'");
    return EK_OK;
}

/* No plan fits: report the limit that would. `state` is a plan that fits `limit`, which is above the problem's. */
static ek_status explain(const ek__problem *problem, const double *stage_mb, const ek__state *state, double limit,
                         bool exact, ek_balance_result *out, ek_error *err)
{
    assert(!exact || limit >= problem->limit_mb - problem->tolerance_mb);
    out->status = EK_BALANCE_INFEASIBLE;
    out->smallest_limit_exact = exact;
    out->shortfall_mb = limit - problem->limit_mb;
    double worst = -INFINITY;
    for (int s = 0; s < problem->n_stages; s++) {
        double excess = ek__state_excess(problem, state, s);
        if (excess > worst + problem->tolerance_mb) {
            worst = excess;
            out->bottleneck_stage = s;
        }
    }
    assert(out->bottleneck_stage >= 0 && out->bottleneck_stage < problem->n_stages);
    out->smallest_limit_mb = stage_mb ? stage_mb[out->bottleneck_stage] + out->shortfall_mb : limit;
    return ek__state_to_plan(problem, state, &out->fit_plan, err);
}

static ek_status search_from(const ek__problem *problem, const ek_balance_options *options, double begin,
                             ek__state *start, ek_balance_result *out, ek_error *err)
{
    ek__search search = {.problem = problem,
                         .options = options,
                         .n_threads = ek__thread_count(options->n_threads),
                         .start = begin,
                         .proof_end = INFINITY,
                         .best = *start,
                         .best_rank = INT32_MAX};
    assert(ek__state_is_valid(problem, start, true));
    double *scratch = ek__alloc(ek__state_scratch_size(problem), sizeof *scratch);
    if (!scratch)
        return ek__no_memory(err);
    atomic_init(&search.stop, false);
    atomic_init(&search.work, 0);
    atomic_init(&search.work_total, 0);
    atomic_init(&search.lower_bound, 0);
    atomic_init(&search.best_time, ek__state_step_time(problem, start, scratch));
    free(scratch);
    pthread_mutex_init(&search.lock, NULL);
    ek_status status = run_search(&search, find_solver(options->solver), err);
    pthread_mutex_destroy(&search.lock);
    *start = search.best;
    if (status)
        return status;
    double best = atomic_load(&search.best_time);
    if (settled(&search))
        ek__search_bound(&search, best);
    /* Sums in another order may differ in the last digits; a bound is never above a plan that exists. */
    out->lower_bound = fmin(atomic_load(&search.lower_bound), best);
    out->proved_optimal = out->lower_bound >= best * (1 - EK__TIME_TOLERANCE);
    if (out->proved_optimal)
        out->lower_bound = best;
    out->gap = best > 0 ? (best - out->lower_bound) / best : 0;
    assert(out->gap >= 0 && out->gap <= 1);
    assert(search.best_rank >= 0 && search.best_at >= 0);
    out->status = out->proved_optimal                             ? EK_BALANCE_OPTIMAL
                  : ek__search_stopped(&search) || search.clocked ? EK_BALANCE_TIME_LIMIT
                                                                  : EK_BALANCE_FEASIBLE;
    out->step_time = best;
    return ek__state_to_plan(problem, &search.best, &out->plan, err);
}

/* The search from a feasible start, or the reason why there is none. */
static ek_status solve(const ek__problem *problem, const ek_balance_options *options, double begin,
                       ek_balance_result *out, ek_error *err)
{
    ek__state state = {0};
    bool fits = false, exact = false;
    double limit = 0;
    ek_status status = ek__state_init(&state, problem, err);
    if (!status)
        status = ek__minimum_memory_start(problem, &state, &fits, &limit, &exact, err);
    if (!status)
        status = fits ? search_from(problem, options, begin, &state, out, err)
                      : explain(problem, options->stage_memory_mb, &state, limit, exact, out, err);
    ek__state_clear(&state);
    return status;
}

ek_status ek_balance(const ek_layers *layers, const ek_order *order, const ek_balance_options *options,
                     ek_balance_result *out, ek_error *err)
{
    double begin = ek__now();
    ek_status status = ek_layers_check(layers, err);
    if (!status)
        status = ek__balance_options_check(options, order->shape.n_stages, err);
    if (!status)
        status = check_solver(options, order, err);
    if (status)
        return status;
    ek__problem problem;
    status = ek__problem_init(&problem, layers, order, options, err);
    if (status)
        return status;
    ek_balance_result result = {0};
    ek__watch watch;
    ek__watch_begin(&watch, options->interrupt, begin + options->time_limit);
    status = solve(&problem, options, begin, &result, err);
    ek__watch_end(&watch);
    if (problem.reserve_mb > 0) /* plans were tested against the limits less the reserve */
        result.smallest_limit_exact = false;
    result.seconds = ek__now() - begin;
    ek__problem_clear(&problem);
    if (status)
        ek_balance_result_clear(&result);
    else
        *out = result;
    return status;
}
