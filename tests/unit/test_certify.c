/* Tests lower bounds and certificates. On small random pipelines of every sort the oracle is the exhaustive solver,
 * which uses no bound except memory: no bound may exceed the best plan it finds, wherever the search for the bound
 * starts. The simulation is the oracle of paths: a path of some durations can never be longer than the step of any
 * others.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "../../bench/cases.h"
#include "assert_close.h"
#include "balance/label_setting.h"
#include "balance/lp_relaxation.h"
#include "base/error.h"
#include "base/random.h"
#include "effort.h"
#include "simulate/longest_path.h"

enum { MOST_STAGES = 4, MOST_MICRO_BATCHES = 16, MOST_SLOTS = 36 };

#define SLACK 1e-9 /* relative: rounding of sums */

/* A random small problem. */
typedef struct instance {
    ek_layer body[2];
    ek_layers layers;
    ek_order *order;
    ek_balance_options options;
    double memory[MOST_STAGES], slowdown[MOST_STAGES], edges[MOST_STAGES], scale[MOST_MICRO_BATCHES];
    int fixed[MOST_STAGES];
} instance;

static bool one_in(ek__random *r, int n)
{
    return ek__random_below(r, n) == 0;
}

/* Whole times make ties, others make none: both have their own ways to go wrong. */
static double random_time(ek__random *r, bool whole, int least, int most)
{
    double time = least + (most - least) * ek__random_unit(r);
    return whole ? floor(time) : time;
}

static void random_layer(ek__random *r, bool whole, int least, const bool *modelled, ek_layer *layer)
{
    static const double keep[EK_N_RECOMPUTE] = {1, 0.8, 0.7, 0.45, 0.1};
    double activation = 10 + ek__random_below(r, 40);
    layer->forward_time = random_time(r, whole, least, 10);
    layer->weight_time = layer->forward_time * (one_in(r, 2) ? 1 : 0.5);
    layer->parameter_mb = ek__random_below(r, 30);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        layer->modelled[k] = modelled[k];
        layer->backward_time[k] = 2 * layer->forward_time * (1 + ek_recompute_coefficient[k]);
        layer->activation_mb[k] = modelled[k] ? floor(activation * keep[k]) : 0;
    }
}

/* An order of a few stages, chunks and micro-batches; fewer of these than stages where the schedule has such. */
static void random_order(ek__random *r, const ek_schedule *schedule, instance *x)
{
    bool pieces = strcmp(schedule->name, "sequence") == 0;
    for (int tries = 0; tries < 100; tries++) {
        ek_error err;
        int most_chunks = schedule->max_chunks < 3 ? schedule->max_chunks : 3;
        ek_shape shape = {.n_stages = 1 + ek__random_below(r, MOST_STAGES)};
        shape.n_chunks = schedule->min_chunks + ek__random_below(r, most_chunks - schedule->min_chunks + 1);
        shape.n_pieces = pieces ? 1 + ek__random_below(r, 3) : 0;
        shape.n_micro_batches = (1 + ek__random_below(r, pieces ? 4 : 8)) * (pieces ? shape.n_pieces : 1);
        if (schedule->min_micro_batches > 0)
            shape.n_micro_batches = shape.n_stages * schedule->min_micro_batches + 2 * ek__random_below(r, 3);
        if (ek_order_new(schedule, &shape, &x->order, &err) == EK_OK)
            return;
    }
    fail_msg("no shape of %s is accepted", schedule->name);
}

/* Fix some stages, each to a count that leaves the others their minimum. */
static void fix_some(ek__random *r, instance *x)
{
    const int *cells;
    bool both_ways = ek_order_schedule(x->order)->placement == EK_PLACE_BOTH_WAYS;
    int p = ek_order_shape(x->order)->n_stages,
        least = x->options.min_layers * ek_order_held_cells(x->order, 0, &cells);
    int n_banks = both_ways ? p / 2 : p, spare = x->layers.n_layers - n_banks * least;
    for (int s = 0; s < p; s++)
        x->fixed[s] = -1;
    for (int b = 0; b < n_banks - 1; b++)
        if (one_in(r, 3)) {
            int more = ek__random_below(r, spare + 1);
            x->fixed[b] = least + more;
            spare -= more;
        }
    x->options.fixed_layers = x->fixed;
}

static ek_balance_result balance(const instance *x)
{
    ek_error err = {0};
    ek_balance_result result;
    if (ek_balance(&x->layers, x->order, &x->options, &result, &err))
        fail_msg("%s", err.message);
    return result;
}

/* Give the stages the memory that some plan needs, and not much more. */
static void tight_memory(ek__random *r, instance *x)
{
    int p = ek_order_shape(x->order)->n_stages;
    x->options.stage_memory_mb = x->memory;
    for (int s = 0; s < p; s++)
        x->memory[s] = 1 + 20 * ek__random_below(r, 3);
    ek_balance_result result = balance(x);
    assert_int_equal(result.status, EK_BALANCE_INFEASIBLE);
    double more = result.shortfall_mb + 1e-6 + (one_in(r, 3) ? 0 : ek__random_below(r, 150));
    for (int s = 0; s < p; s++)
        x->memory[s] += more;
    ek_balance_result_clear(&result);
}

static void random_instance(ek__random *r, const ek_schedule *schedule, instance *x)
{
    ek_error err = {0};
    *x = (instance){0};
    random_order(r, schedule, x);
    const ek_shape *shape = ek_order_shape(x->order);
    int p = shape->n_stages, n_cells = p * shape->n_chunks;
    bool whole = one_in(r, 2), large = n_cells > 4, both_ways = schedule->placement == EK_PLACE_BOTH_WAYS;
    ek_balance_options_init(&x->options);
    x->options.min_layers = ek__random_below(r, 2);
    x->options.gap = 0;
    x->options.n_threads = 1;
    int n_layers = x->options.min_layers ? n_cells + ek__random_below(r, large ? 2 : 4)
                                         : 1 + ek__random_below(r, large ? 4 : n_cells + 3);
    int n_body = n_layers > 1 && one_in(r, 4) ? 2 : 1, kinds = 1 + ek__random_below(r, 31);
    if (n_cells > 6) /* so that trying every plan ends */
        kinds = n_cells > 9 ? 1 << ek__random_below(r, 2) : 1 | 1 << (1 + ek__random_below(r, 4));
    bool modelled[EK_N_RECOMPUTE], none[EK_N_RECOMPUTE] = {true};
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        modelled[k] = kinds >> k & 1;
    x->layers = (ek_layers){.n_body = n_body, .body = x->body, .n_layers = n_layers, .const_mb = 20};
    memcpy(x->layers.modelled, modelled, sizeof modelled);
    random_layer(r, whole, 0, none, &x->layers.head);
    random_layer(r, whole, 0, none, &x->layers.tail);
    for (int b = 0; b < n_body; b++)
        random_layer(r, whole, 1, modelled, &x->body[b]);
    x->body[0].n_layers = n_body == 1 ? n_layers : 1 + ek__random_below(r, n_layers - 1);
    x->body[1].n_layers = n_layers - x->body[0].n_layers;
    for (int s = 0; s < p; s++) {
        x->slowdown[s] = both_ways && s >= p / 2 ? x->slowdown[p - 1 - s] : 0.75 + 0.25 * ek__random_below(r, 4);
        x->edges[s] = random_time(r, whole, 0, 5);
    }
    for (int b = 0; b < shape->n_micro_batches; b++)
        x->scale[b] = 0.25 + 0.25 * ek__random_below(r, 6);
    if (one_in(r, 4) && ek_order_slow_stages(x->order, x->slowdown, &err))
        fail_msg("%s", err.message);
    if (one_in(r, 4) && ek_order_scale_micro_batches(x->order, x->scale, &err))
        fail_msg("%s", err.message);
    if (one_in(r, 3))
        x->options.comm = (ek_comm){.p2p_time = random_time(r, whole, 1, 6),
                                    .edge_time = one_in(r, 2) ? x->edges : NULL,
                                    .blocking = one_in(r, 2)};
    if (one_in(r, 4))
        fix_some(r, x);
    tight_memory(r, x);
}

static double optimum_of(instance *x)
{
    x->options.solver = "exhaustive";
    ek_balance_result result = balance(x);
    x->options.solver = NULL;
    double optimum = result.step_time;
    assert_int_not_equal(result.status, EK_BALANCE_INFEASIBLE);
    assert_int_not_equal(result.status, EK_BALANCE_TIME_LIMIT);
    ek_balance_result_clear(&result);
    return optimum;
}

/* ---- results of ek_balance() ---- */

static void check_result(const ek_balance_result *result, double optimum)
{
    double step = result->step_time, bound = result->lower_bound;
    if (!(bound > 0 && bound <= optimum * (1 + SLACK)))
        fail_msg("lower bound %.12g, optimum %.12g", bound, optimum);
    assert_true(step >= optimum * (1 - SLACK));
    assert_close_to(result->gap, (step - bound) / step, 1e-15);
    assert_int_equal(result->proved_optimal, result->status == EK_BALANCE_OPTIMAL);
    if (result->proved_optimal)
        assert_close_to(step, optimum, SLACK * optimum);
}

/* Default and annealing: the latter leaves the proof to the certificate. @return proved by it */
static bool check_answers(instance *x, double optimum)
{
    const ek_schedule *schedule = ek_order_schedule(x->order);
    bool proved = false;
    for (int i = 0; i < 2; i++) {
        x->options.solver = i ? "anneal" : NULL;
        x->options.proof_limit = i ? 0.02 : INFINITY;
        x->options.time_limit = i ? 0.03 : 90; /* worse plans are welcome here */
        ek_balance_result result = balance(x);
        check_result(&result, optimum);
        proved = result.proved_optimal;
        if (i == 0 && strcmp(schedule->name, "1f1b") == 0 && !ek__comm_matters(&x->options.comm) && !proved)
            fail_msg("one chunk, no transfers: gap %g", result.gap);
        ek_balance_result_clear(&result);
    }
    return proved;
}

/* ---- the bounds themselves ---- */

static void search_init(ek__search *search, const ek__problem *problem, const ek_balance_options *options, double best)
{
    *search =
        (ek__search){.problem = problem, .options = options, .n_threads = 2, .start = ek__now(), .proof_end = INFINITY};
    ek_error err;
    bool fits, exact;
    double limit;
    pthread_mutex_init(&search->lock, NULL);
    atomic_init(&search->best_time, best);
    assert_int_equal(ek__state_init(&search->best, problem, &err), EK_OK);
    assert_int_equal(ek__minimum_memory_start(problem, &search->best, &fits, &limit, &exact, &err), EK_OK);
    assert_true(fits);
}

static void search_clear(ek__search *search)
{
    ek__state_clear(&search->best);
    pthread_mutex_destroy(&search->lock);
}

/* A plan within the limits, not better than the best. */
static void check_state(const ek__problem *problem, const ek__state *state, double optimum)
{
    double scratch[MOST_SLOTS + 2 * MOST_STAGES + MOST_MICRO_BATCHES];
    int n_layers = 0;
    assert_true(ek__state_scratch_size(problem) <= sizeof scratch / sizeof *scratch);
    assert_true(ek__state_step_time(problem, state, scratch) >= optimum * (1 - SLACK));
    for (int s = 0; s < problem->n_stages; s++)
        assert_true(ek__state_excess(problem, state, s) <= problem->tolerance_mb);
    for (int c = 0; c < problem->n_cells; c++)
        n_layers += state->chunk[c]->n;
    assert_int_equal(n_layers, problem->n_layers);
}

/* One pass. @return its bound, 0 when it gave up */
static double stages_bound(ek__search *search, int n_families, double upper, double grid, double optimum)
{
    const ek__problem *problem = search->problem;
    int last = problem->n_chunks - 1;
    ek_error err;
    ek__state state;
    assert_int_equal(ek__state_init(&state, problem, &err), EK_OK);
    ek__bound_pass pass = {.n_families = n_families,
                           .family = {{EK_BACKWARD, last, EK_FORWARD, last},
                                      {EK_FORWARD, 0, EK_FORWARD, last},
                                      {EK_BACKWARD, last, EK_BACKWARD, 0}},
                           .upper = upper,
                           .grid = grid,
                           .most_labels = 100000,
                           .state = &state};
    assert_int_equal(ek__bound_stages(search, &pass, &err), EK_OK);
    if (pass.done && pass.bound > optimum * (1 + SLACK) && (pass.below || upper > optimum * (1 + SLACK)))
        fail_msg("%d families below %g, grid %g: bound %.12g, optimum %.12g", n_families, upper, grid, pass.bound,
                 optimum);
    if (pass.done && pass.below && problem->n_chunks == 1)
        check_state(problem, &state, optimum);
    ek__state_clear(&state);
    return pass.done ? pass.bound : 0;
}

static void check_stages(const ek__problem *problem, const ek_balance_options *options, double optimum)
{
    static const double uppers[] = {1 + SLACK / 2, 1.5, 100};
    ek__search search;
    search_init(&search, problem, options, optimum);
    for (size_t i = 0; i < sizeof uppers / sizeof *uppers; i++) {
        double upper = uppers[i] * optimum;
        double one = stages_bound(&search, 1, upper, 0, optimum), all = stages_bound(&search, 3, upper, 0, optimum);
        if (one > 0 && all > 0)
            assert_true(one <= all * (1 + SLACK));
        for (double grid = 5e-4; grid < 0.1; grid *= 10) {
            double coarse = stages_bound(&search, 1, upper, grid * optimum, optimum);
            if (one > 0)
                assert_true(coarse <= one * (1 + SLACK));
            stages_bound(&search, 3, upper, grid * optimum, optimum);
        }
    }
    search_clear(&search);
}

/* One chunk a stage under 1F1B, with any bounds of the search. @return whether its plan is optimal, and shown to be */
static bool check_lone(const ek__problem *problem, const ek_balance_options *options, double optimum)
{
    static const double uppers[] = {0.9, 1, 1 + SLACK / 2, 1.5, 100};
    bool tight = false;
    ek__search search;
    search_init(&search, problem, options, optimum);
    for (size_t i = 0; i < sizeof uppers / sizeof *uppers; i++) {
        double upper = uppers[i] * optimum;
        ek_error err;
        ek__state state;
        ek__label_bound shown;
        assert_int_equal(ek__state_init(&state, problem, &err), EK_OK);
        assert_int_equal(ek__bound_labels(&search, upper, &state, &shown, &err), EK_OK);
        assert_true(shown.bound <= fmin(upper, optimum * (1 + SLACK)));
        assert_true(shown.found || shown.bound == upper);
        if (shown.found)
            check_state(problem, &state, optimum);
        tight = shown.bound >= optimum * (1 - SLACK); /* as of the last one */
        ek__state_clear(&state);
    }
    search_clear(&search);
    return tight;
}

/* Layers in fractions. At its end it is no less than the mean bound, since its paths include that bound's. */
static double check_relaxed(const ek__problem *problem, ek_balance_options options, double optimum)
{
    ek_error err;
    ek__search search;
    options.gap = 0;
    search_init(&search, problem, &options, optimum * 1.2);
    assert_int_equal(ek__bound_lp_relaxation(&search, &err), EK_OK);
    double bound = atomic_load(&search.lower_bound), mean = ek__bound_mean(problem);
    if (bound > optimum * (1 + SLACK))
        fail_msg("relaxed bound %.12g, optimum %.12g", bound, optimum);
    if (bound < mean * (1 - 1e-4))
        fail_msg("relaxed bound %.12g, mean bound %.12g", bound, mean);
    search_clear(&search);
    return bound / optimum;
}

/* Certify from the optimum and from worse plans. @return the bound from the optimum, over it */
static double check_certify(const ek__problem *problem, ek_balance_options options, double optimum)
{
    static const double starts[] = {1.5, 1.03, 1};
    double reached = 0;
    options.gap = 0;
    options.proof_limit = 2;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        ek_error err;
        ek__search search;
        search_init(&search, problem, &options, starts[i] * optimum);
        assert_int_equal(ek__certify(&search, &err), EK_OK);
        reached = atomic_load(&search.lower_bound) / optimum;
        if (reached > 1 + SLACK)
            fail_msg("certified from %g x optimum %.12g: bound %.12g", starts[i], optimum, reached * optimum);
        search_clear(&search);
        search_init(&search, problem, &options, starts[i] * optimum);
        ek__search_bound(&search, ek__bound_mean(problem));
        assert_int_equal(ek__certify_labels(&search, &err), EK_OK);
        double bound = atomic_load(&search.lower_bound), best = atomic_load(&search.best_time);
        if (bound > optimum * (1 + SLACK))
            fail_msg("one chunk a stage, from %g x optimum %.12g: bound %.12g", starts[i], optimum, bound);
        assert_true(best >= optimum * (1 - SLACK));
        if (search.proved)
            assert_close_to(best, optimum, SLACK * optimum);
        search_clear(&search);
    }
    return reached;
}

/* ---- paths ---- */

static double path_length(const double *weight, const double *duration, double transfers, int n_slots)
{
    for (int k = 0; k < n_slots; k++)
        transfers += weight[k] * duration[k];
    return transfers;
}

static void check_paths(ek__random *r, const ek__problem *problem)
{
    const ek_order *order = problem->order;
    int n = ek__order_n_slots(order);
    double duration[MOST_SLOTS], count[MOST_SLOTS], weight[MOST_SLOTS], scratch[3 * MOST_STAGES + MOST_MICRO_BATCHES];
    double transfers;
    assert_true(n <= MOST_SLOTS && ek__order_n_clocks(order) <= sizeof scratch / sizeof *scratch);
    for (int round = 0; round < 4; round++) {
        for (int k = 0; k < n; k++)
            duration[k] = one_in(r, 8) ? 0 : random_time(r, round % 2, 0, 10);
        double step = ek__order_step_time(order, duration, problem->delays, scratch);
        double longest = ek__longest_path(problem, duration, count, &transfers);
        assert_close_to(longest, step, SLACK * step);
        assert_close_to(path_length(count, duration, transfers, n), step, SLACK * (1 + step));
        for (int k = 0; k < n; k++)
            duration[k] = random_time(r, round % 2, 0, 10);
        step = ek__order_step_time(order, duration, problem->delays, scratch);
        assert_true(path_length(count, duration, transfers, n) <= step * (1 + SLACK));
        for (int s = 0; s < problem->n_stages; s++) {
            if (ek__path_through(problem, s, weight, &transfers))
                assert_true(path_length(weight, duration, transfers, n) <= step * (1 + SLACK));
            for (int drained = 0; drained < 2; drained++) {
                ek__path_in_any_order(problem, s, drained, weight);
                assert_true(path_length(weight, duration, 0, n) <= step * (1 + SLACK));
            }
        }
    }
}

/* ---- small instances ---- */

/* Where the tree applies its bound ends at the optimum. */
static bool complete(const ek__problem *problem)
{
    const ek_schedule *schedule = problem->order->schedule;
    return problem->layers->n_body == 1 && problem->order->n_ways == 1 && !schedule->arrange;
}

static void check_schedule(const char *name, int n, double *worst)
{
    enum { SEED = 11 };
    ek__random r = ek__random_seed(SEED);
    int n_optimal = 0, n_applies = 0, n_several = 0, n_lone = 0, n_tight = 0;
    double sum = 0, mean = 0, relaxed = 0;
    for (int number = 0; number < n; number++) {
        instance x;
        ek__problem problem;
        ek_error err;
        random_instance(&r, ek_schedule_find(name), &x);
        const ek_shape *shape = ek_order_shape(x.order);
        double optimum = optimum_of(&x);
        print_message("# seed %d, %s, instance %d: p %d v %d m %d, %d layers of %d kinds%s%s%s%s\n", SEED, name, number,
                      shape->n_stages, shape->n_chunks, shape->n_micro_batches, x.layers.n_layers, x.layers.n_body,
                      x.order->scale ? ", scaled" : "", x.order->slowdown ? ", uneven" : "",
                      x.options.fixed_layers ? ", fixed" : "",
                      !ek__comm_matters(&x.options.comm) ? ""
                      : x.options.comm.blocking          ? ", blocking"
                                                         : ", transfers");
        n_optimal += check_answers(&x, optimum);
        assert_int_equal(ek__problem_init(&problem, &x.layers, x.order, &x.options, &err), EK_OK);
        double bound = ek__bound_mean(&problem);
        if (bound > optimum * (1 + SLACK))
            fail_msg("mean bound %.12g, optimum %.12g", bound, optimum);
        mean += bound / optimum;
        check_paths(&r, &problem);
        if (ek__bound_stages_applies(&problem)) {
            check_stages(&problem, &x.options, optimum);
            n_applies++;
        }
        if (ek__bound_labels_applies(&problem) && !problem.delays) {
            n_tight += check_lone(&problem, &x.options, optimum);
            n_lone++;
        } else if (ek__bound_labels_applies(&problem)) {
            check_lone(&problem, &x.options, optimum);
        }
        relaxed += check_relaxed(&problem, x.options, optimum);
        double reached = check_certify(&problem, x.options, optimum);
        if (complete(&problem) && reached < 1 - 10 * SLACK)
            fail_msg("certified to %.12g of the optimum %.12g only", reached, optimum);
        if (reached > 0) {
            sum += reached;
            n_several++;
            *worst = fmin(*worst, reached);
        }
        ek__problem_clear(&problem);
        ek_order_free(x.order);
    }
    print_message("# seed %d, %s: %d instances; annealed and proved %d, stage by stage %d, alone %d of %d tight; mean "
                  "bound %.3f, relaxed %.3f; %d certified to %.4f\n",
                  SEED, name, n, n_optimal, n_applies, n_tight, n_lone, mean / n, relaxed / n, n_several,
                  n_several ? sum / n_several : NAN);
    assert_true(strcmp(name, "1f1b") != 0 || (n_lone > 0 && n_tight >= 0.9 * n_lone));
}

static void no_bound_exceeds_the_best_plan(void **state)
{
    (void)state;
    static const struct {
        const char *schedule;
        int n;
    } cases[] = {{"1f1b", 60},  {"gpipe", 24},    {"interleaved", 60}, {"interleaved-less-memory", 60},
                 {"zb-h1", 24}, {"dualpipe", 16}, {"dualpipev", 24},   {"sequence", 40},
                 {"zb-1p", 12}, {"zb-v", 12},     {"v-half", 12}};
    double worst = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_schedule(cases[i].schedule, cases[i].n / effort(1, 12), &worst);
}

/* With every stage fixed and memory for all there is one plan, so its bound is the longest path of the family. */
static void one_plan(ek__random *r, ek_shape shape, bool delays, double *bound, double *step)
{
    enum { MOST = 12 };
    int fixed[MOST], p = shape.n_stages;
    double slowdown[MOST], edges[MOST];
    bool whole = one_in(r, 2);
    ek_error err = {0};
    ek_layer body = {0};
    ek_layers layers = {.n_body = 1, .body = &body};
    ek_balance_options options;
    ek_balance_options_init(&options);
    static const bool none[EK_N_RECOMPUTE] = {true};
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        layers.modelled[k] = none[k];
    random_layer(r, whole, 0, none, &layers.head);
    random_layer(r, whole, 0, none, &layers.tail);
    random_layer(r, whole, 1, none, &body);
    body.backward_time[EK_RECOMPUTE_NONE] = random_time(r, whole, 0, 20);
    for (int s = 0; s < p; s++) {
        fixed[s] = 1 + ek__random_below(r, one_in(r, 4) ? 12 : 2);
        layers.n_layers += fixed[s];
        slowdown[s] = 1 + (one_in(r, 3) ? ek__random_unit(r) : 0);
        edges[s] = random_time(r, whole, 0, 9);
    }
    body.n_layers = layers.n_layers;
    options.fixed_layers = fixed;
    options.memory_limit_mb = 1e9;
    if (delays)
        options.comm = (ek_comm){.edge_time = edges, .blocking = one_in(r, 2)};
    ek_order *order;
    ek__problem problem;
    ek__search search;
    ek__state state;
    ek__label_bound shown;
    assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, &err), EK_OK);
    assert_int_equal(ek_order_slow_stages(order, slowdown, &err), EK_OK);
    assert_int_equal(ek__problem_init(&problem, &layers, order, &options, &err), EK_OK);
    assert_true(ek__bound_labels_applies(&problem));
    search_init(&search, &problem, &options, INFINITY);
    assert_int_equal(ek__state_init(&state, &problem, &err), EK_OK);
    assert_int_equal(ek__bound_labels(&search, 1e9, &state, &shown, &err), EK_OK);
    assert_true(shown.found);
    double *scratch = ek__alloc(ek__state_scratch_size(&problem), sizeof *scratch);
    assert_non_null(scratch);
    *bound = shown.bound;
    *step = ek__state_step_time(&problem, &state, scratch);
    free(scratch);
    ek__state_clear(&state);
    search_clear(&search);
    ek__problem_clear(&problem);
    ek_order_free(order);
}

static void longest_path_of_one_chunk_a_stage(void **state)
{
    (void)state;
    enum { SEED = 5, N = 3000 };
    ek__random r = ek__random_seed(SEED);
    int n_plain = 0, n_tight = 0;
    double least = 1;
    for (int number = 0; number < N; number++) {
        ek_shape shape = {
            .n_stages = 1 + ek__random_below(&r, 12), .n_chunks = 1, .n_micro_batches = 1 + ek__random_below(&r, 48)};
        bool delays = one_in(&r, 3);
        double bound, step;
        one_plan(&r, shape, delays, &bound, &step);
        if (bound > step * (1 + SLACK))
            fail_msg("seed %d, number %d, p %d m %d: path %.12g, step %.12g", SEED, number, shape.n_stages,
                     shape.n_micro_batches, bound, step);
        n_plain += !delays;
        n_tight += !delays && bound >= step * (1 - SLACK);
        if (!delays)
            least = fmin(least, bound / step);
    }
    print_message("# seed %d: the step of %d plans of %d, else %.4f of it or more\n", SEED, n_tight, n_plain, least);
    assert_true(n_tight >= 0.95 * n_plain);
}

/* The least backward time of n layers within `room_mb`, over every mix that lists can express. */
static double best_mix(const ek_layer *body, int n, double room_mb)
{
    double least = INFINITY;
    for (int full = 0; full <= n; full++)
        for (int both = 0; full + both <= n; both++)
            for (int one = 0; full + both + one <= n; one++)
                for (int k = EK_RECOMPUTE_SELECT; k <= EK_RECOMPUTE_COMM; k++) {
                    int none = n - full - both - one;
                    double held = none * body->activation_mb[EK_RECOMPUTE_NONE] + one * body->activation_mb[k] +
                                  both * body->activation_mb[EK_RECOMPUTE_BOTH] +
                                  full * body->activation_mb[EK_RECOMPUTE_FULL];
                    double time = none * body->backward_time[EK_RECOMPUTE_NONE] + one * body->backward_time[k] +
                                  both * body->backward_time[EK_RECOMPUTE_BOTH] +
                                  full * body->backward_time[EK_RECOMPUTE_FULL];
                    if (held <= room_mb)
                        least = fmin(least, time);
                }
    return least;
}

/* With more layers than the list of every mix covers, the search finds the best of two kinds, but its bound is valid
 * for all mixes. One stage: its step is that of its blocks one after the other. */
static void bounds_hold_for_mixes_that_are_not_listed(void **state)
{
    (void)state;
    enum { SEED = 3, MICRO_BATCHES = 4 };
    ek__random r = ek__random_seed(SEED);
    int n_better = 0;
    for (int number = 0; number < effort(60, 15); number++) {
        int n = 49 + ek__random_below(&r, 8);
        ek_layer body = {.n_layers = n, .forward_time = 10, .weight_time = 10};
        static const double keep[EK_N_RECOMPUTE] = {1, 0.8, 0.7, 0.45, 0.1};
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            body.modelled[k] = true;
            body.activation_mb[k] = floor(keep[k] * (100 + ek__random_below(&r, 40)));
            body.backward_time[k] = 20 + floor((1 - keep[k]) * (100 + ek__random_below(&r, 60)));
        }
        ek_layers layers = {.n_body = 1, .body = &body, .n_layers = n};
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            layers.modelled[k] = true;
        double least = n * body.activation_mb[EK_RECOMPUTE_FULL], most = n * body.activation_mb[EK_RECOMPUTE_NONE];
        double room = floor(least + ek__random_unit(&r) * (most - least)) + 0.5;
        ek_balance_options options;
        ek_balance_options_init(&options);
        options.memory_limit_mb = room;
        options.gap = 0;
        options.n_threads = 1;
        ek_order *order;
        ek_balance_result result;
        ek_error err = {0};
        const ek_shape shape = {.n_stages = 1, .n_chunks = 1, .n_micro_batches = MICRO_BATCHES};
        assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, &err), EK_OK);
        assert_int_equal(ek_balance(&layers, order, &options, &result, &err), EK_OK);
        double optimum = MICRO_BATCHES * (10 * n + best_mix(&body, n, room));
        if (result.lower_bound > optimum * (1 + SLACK) || result.step_time < optimum * (1 - SLACK))
            fail_msg("seed %d, number %d: bound %.12g, step %.12g, optimum %.12g", SEED, number, result.lower_bound,
                     result.step_time, optimum);
        n_better += optimum < result.step_time * (1 - SLACK);
        ek_balance_result_clear(&result);
        ek_order_free(order);
    }
    print_message("# seed %d: %d optima that are not listed\n", SEED, n_better);
    assert_true(n_better > effort(20, 2));
}

/* One micro-batch over two stages, by hand: forward 1 each, backward 2 each, so the second stage ends at 4, the first
 * at
 * 6. The times after it decide where the path ends, and of stages that end at the same time the first is taken. */
static void the_path_ends_with_the_first_stage_that_ends_last(void **state)
{
    (void)state;
    static const double duration[] = {1, 1, 2, 2}; /* F of both stages, B of both */
    static const struct {
        double tail[2], length;
        int end, blocks[4];
    } cases[] = {
        {{0, 1}, 6, 0, {1, 1, 1, 1}},
        {{0, 2}, 6, 0, {1, 1, 1, 1}},
        {{0, 3}, 7, 1, {1, 1, 0, 1}},
        {{1, 3}, 7, 0, {1, 1, 1, 1}},
    };
    ek_order *order;
    ek_error err = {0};
    const ek_shape shape = {.n_stages = 2, .n_chunks = 1, .n_micro_batches = 1};
    assert_int_equal(ek_order_new(ek_schedule_find("gpipe"), &shape, &order, &err), EK_OK);
    assert_int_equal(ek__order_n_slots(order), 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double count[4];
        ek__path path = {.count = count};
        assert_true(ek__order_longest_path(order, duration, NULL, cases[i].tail, &path));
        assert_true(path.length == cases[i].length);
        assert_int_equal(path.end, cases[i].end);
        for (int k = 0; k < 4; k++)
            assert_int_equal((int)count[k], cases[i].blocks[k]);
    }
    ek_order_free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_path_of_one_chunk_a_stage),
        cmocka_unit_test(bounds_hold_for_mixes_that_are_not_listed),
        cmocka_unit_test(the_path_ends_with_the_first_stage_that_ends_last),
        cmocka_unit_test(no_bound_exceeds_the_best_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
