/* Tests clusters with different stages: memory, speed, edges, fixed stages and forbidden recompute kinds. The oracle of
 * plans is the full simulation of every plan, and that of the simulation of speeds is a model with layers as slow as
 * the stages. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assert_close.h"
#include "base/random.h"
#include "effort.h"
#include "evenkeel/balance.h"
#include "evenkeel/layers.h"

enum { MOST_STAGES = 4 };

/* A random small problem on an uneven cluster. */
typedef struct instance {
    ek_layer body[MOST_STAGES];
    ek_layers layers;
    ek_order *order;
    ek_balance_options options;
    double memory[MOST_STAGES], slowdown[MOST_STAGES], edges[MOST_STAGES];
    int fixed[MOST_STAGES];
} instance;

static void random_layer(ek__random *r, ek_layer *body, const bool *modelled, int least_time)
{
    static const double keep[EK_N_RECOMPUTE] = {1, 0.8, 0.7, 0.45, 0.1};
    body->forward_time = least_time + ek__random_below(r, 10);
    body->parameter_mb = ek__random_below(r, 30);
    body->weight_time = body->forward_time;
    double activation = 10 + ek__random_below(r, 40);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        body->modelled[k] = modelled[k];
        body->backward_time[k] = 2 * body->forward_time * (1 + ek_recompute_coefficient[k]);
        body->activation_mb[k] = modelled[k] ? floor(activation * keep[k]) : 0;
    }
}

/* Fix some stages, each to a count that leaves the others their minimum. */
static void fix_some(ek__random *r, instance *x)
{
    const ek_shape *shape = ek_order_shape(x->order);
    bool both_ways = ek_order_schedule(x->order)->placement == EK_PLACE_BOTH_WAYS;
    const int *cells;
    int p = shape->n_stages, least = x->options.min_layers * ek_order_held_cells(x->order, 0, &cells);
    int n_banks = both_ways ? p / 2 : p, spare = x->layers.n_layers - n_banks * least;
    for (int s = 0; s < p; s++)
        x->fixed[s] = -1;
    for (int b = 0; b < n_banks - 1; b++)
        if (ek__random_below(r, 2)) {
            int more = ek__random_below(r, spare + 1);
            x->fixed[b] = least + more;
            spare -= more;
        }
    x->options.fixed_layers = x->fixed;
}

static void random_instance(ek__random *r, int number, const ek_schedule *schedule, instance *x)
{
    ek_error err;
    *x = (instance){0};
    int p = 2 + ek__random_below(r, 2), v = 1 + (number % 4 == 1), n_body = 1 + (number % 3 == 2);
    if (schedule) {
        v = schedule->min_chunks;
        p = schedule->placement == EK_PLACE_BOTH_WAYS ? 4 : 2;
    }
    int n_cells = p * v, n_layers = n_cells + ek__random_below(r, n_cells > 4 ? 1 : 3);
    int m = v == 1 ? 1 + ek__random_below(r, 6) : p * (1 + ek__random_below(r, 2));
    if (schedule && schedule->min_micro_batches > 0)
        m = p * schedule->min_micro_batches;
    bool modelled[EK_N_RECOMPUTE] = {true, (number >> 1) & 1, (number >> 2) & 1, false, true};
    for (int b = 0; b < n_body; b++)
        random_layer(r, &x->body[b], modelled, 1);
    x->body[0].n_layers = n_body == 1 ? n_layers : 1 + ek__random_below(r, n_layers - 1);
    x->body[1].n_layers = n_layers - x->body[0].n_layers;
    x->layers = (ek_layers){.n_body = n_body, .body = x->body, .n_layers = n_layers, .const_mb = 20};
    memcpy(x->layers.modelled, modelled, sizeof modelled);
    static const bool only_none[EK_N_RECOMPUTE] = {true};
    random_layer(r, &x->layers.head, only_none, 0);
    random_layer(r, &x->layers.tail, only_none, 0);
    ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = m};
    if (ek_order_new(schedule ? schedule : ek_schedule_default(v, number & 4), &shape, &x->order, &err))
        fail_msg("%s", err.message);
    bool both_ways = schedule && schedule->placement == EK_PLACE_BOTH_WAYS;
    double base = 60 + ek__random_below(r, 300);
    for (int s = 0; s < p; s++) {
        x->memory[s] = base + 40 * ek__random_below(r, 4);
        x->slowdown[s] = both_ways && s >= p / 2 ? x->slowdown[p - 1 - s] : 1 + 0.25 * ek__random_below(r, 4);
        x->edges[s] = 0.5 * ek__random_below(r, 5);
    }
    ek_balance_options_init(&x->options);
    x->options.proof_limit = 0.05; /* the bounds have a separate test */
    x->options.n_threads = 2;
    x->options.min_layers = ek__random_below(r, 2);
    x->options.stage_memory_mb = x->memory;
    x->options.forbidden[EK_RECOMPUTE_FULL] = number % 5 == 0;
    x->options.forbidden[EK_RECOMPUTE_NONE] = number % 7 == 3 && number % 5 != 0;
    if (ek__random_below(r, 2))
        x->options.comm = (ek_comm){.edge_time = x->edges, .blocking = ek__random_below(r, 2)};
    if (ek_order_slow_stages(x->order, x->slowdown, &err))
        fail_msg("%s", err.message);
    fix_some(r, x);
}

static bool allowed(const instance *x, const ek_plan *plan)
{
    int n_cells = plan->n_stages * plan->n_chunks;
    for (int c = 0; c < n_cells; c++) {
        ek_chunk_mix mix = ek_plan_mix(plan, c / plan->n_stages, c % plan->n_stages);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (mix.n[k] > 0 && (!x->layers.modelled[k] || x->options.forbidden[k]))
                return false;
        if (plan->layers[c] < x->options.min_layers)
            return false;
    }
    for (int s = 0; s < plan->n_stages; s++) {
        const int *cells;
        int n = ek_order_held_cells(x->order, s, &cells), sum = 0;
        for (int i = 0; i < n; i++)
            sum += plan->layers[cells[i]];
        if (x->fixed[s] >= 0 && sum != x->fixed[s])
            return false;
    }
    return true;
}

/* Every plan. */
typedef struct exhaust {
    const instance *x;
    ek_plan plan;
    double best, shortfall;
    long n_plans;
} exhaust;

static void judge(exhaust *e)
{
    ek_error err;
    ek_timeline t;
    if (!allowed(e->x, &e->plan))
        return;
    e->n_plans++;
    assert_int_equal(ek_simulate(e->x->order, &e->plan, &e->x->layers, &e->x->options.comm, &t, &err), EK_OK);
    double over = -INFINITY;
    for (int s = 0; s < e->plan.n_stages; s++)
        over = fmax(over, t.peak_mb[s] - e->x->memory[s]);
    e->shortfall = fmin(e->shortfall, over);
    if (over <= 1e-7)
        e->best = fmin(e->best, t.step_time);
    ek_timeline_clear(&t);
}

static void try_lists(exhaust *e, int cell)
{
    if (cell == e->plan.n_stages * e->plan.n_chunks) {
        judge(e);
        return;
    }
    int n = e->plan.layers[cell], c = cell;
    for (e->plan.full[c] = 0; e->plan.full[c] <= n; e->plan.full[c]++)
        for (e->plan.select[c] = e->plan.full[c]; e->plan.select[c] <= n; e->plan.select[c]++)
            for (e->plan.comm[c] = e->plan.full[c]; e->plan.comm[c] <= n; e->plan.comm[c]++) {
                ek_chunk_mix mix = ek_plan_mix(&e->plan, c / e->plan.n_stages, c % e->plan.n_stages);
                bool known = true;
                for (int k = 0; k < EK_N_RECOMPUTE; k++)
                    known &= mix.n[k] == 0 || (e->x->layers.modelled[k] && !e->x->options.forbidden[k]);
                if (known)
                    try_lists(e, cell + 1);
            }
    e->plan.full[c] = e->plan.select[c] = e->plan.comm[c] = 0;
}

static void try_layers(exhaust *e, int cell, int left)
{
    if (cell == e->plan.n_stages * e->plan.n_chunks - 1) {
        e->plan.layers[cell] = left;
        try_lists(e, 0);
        return;
    }
    for (int n = 0; n <= left; n++) {
        e->plan.layers[cell] = n;
        try_layers(e, cell + 1, left - n);
    }
}

static exhaust try_everything(const instance *x)
{
    ek_error err;
    const ek_shape *shape = ek_order_shape(x->order);
    exhaust e = {.x = x, .best = INFINITY, .shortfall = INFINITY};
    assert_int_equal(ek_plan_init(&e.plan, shape->n_stages, shape->n_chunks, &err), EK_OK);
    try_layers(&e, 0, x->layers.n_layers);
    ek_plan_clear(&e.plan);
    return e;
}

/* The answer obeys all constraints and takes the reported time. */
static void check_answer(const instance *x, const ek_balance_result *result)
{
    ek_error err;
    ek_timeline t;
    assert_int_equal(ek_plan_check(&result->plan, &x->layers, &err), EK_OK);
    assert_true(allowed(x, &result->plan));
    assert_int_equal(ek_simulate(x->order, &result->plan, &x->layers, &x->options.comm, &t, &err), EK_OK);
    assert_close_to(t.step_time, result->step_time, 1e-9 * t.step_time);
    for (int s = 0; s < result->plan.n_stages; s++)
        assert_true(t.peak_mb[s] <= x->memory[s] + 1e-6);
    ek_timeline_clear(&t);
}

static void check_solver(instance *x, int number, const char *solver, const exhaust *e)
{
    ek_error err = {0};
    ek_balance_result result;
    x->options.solver = solver;
    if (ek_balance(&x->layers, x->order, &x->options, &result, &err))
        fail_msg("instance %d, %s: %s", number, solver, err.message);
    if (isinf(e->best)) {
        if (result.status != EK_BALANCE_INFEASIBLE)
            fail_msg("instance %d, %s: nothing fits, but a plan was found", number, solver);
        if (result.smallest_limit_exact)
            assert_close_to(result.shortfall_mb, e->shortfall, 1e-5);
        else
            assert_true(result.shortfall_mb >= e->shortfall - 1e-5);
        assert_close_to(result.smallest_limit_mb, x->memory[result.bottleneck_stage] + result.shortfall_mb, 1e-6);
    } else {
        if (result.status == EK_BALANCE_INFEASIBLE)
            fail_msg("instance %d, %s: a plan fits, but none was found", number, solver);
        bool exact = strcmp(solver, "milp") != 0;
        if ((exact && fabs(result.step_time - e->best) > 1e-9 * e->best) || result.step_time < e->best * (1 - 1e-9))
            fail_msg("instance %d, %s: step %.9g, exhaustive %.9g", number, solver, result.step_time, e->best);
        check_answer(x, &result);
    }
    ek_balance_result_clear(&result);
}

static void check_instances(const ek_schedule *schedule, int n)
{
    enum { SEED = 19 };
    ek__random r = ek__random_seed(SEED);
    int n_feasible = 0;
    long n_plans = 0;
    for (int number = 0; number < n; number++) {
        instance x;
        random_instance(&r, number, schedule, &x);
        exhaust e = try_everything(&x);
        static const char *const solvers[] = {"staged", "anneal", "branch", "exhaustive"};
        for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
            check_solver(&x, number, solvers[i], &e);
        if (!schedule && x.layers.n_body == 1)
            check_solver(&x, number, "milp", &e);
        n_feasible += isfinite(e.best);
        n_plans += e.n_plans;
        ek_order_free(x.order);
    }
    print_message("# seed %d: %d instances, %ld plans, %d feasible\n", SEED, n, n_plans, n_feasible);
    assert_true(n_feasible >= effort(n / 4, 1) && n_feasible < effort(n, n + 1));
}

static void every_solver_keeps_to_an_uneven_cluster(void **state)
{
    (void)state;
    check_instances(NULL, effort(96, 6));
}

static void so_they_do_with_other_placements(void **state)
{
    (void)state;
    static const char *const names[] = {"zb-h1", "dualpipe", "dualpipev"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_instances(ek_schedule_find(names[i]), effort(16, 4));
}

/* One body kind a stage, its times multiplied, on equal stages. */
static void a_slow_stage_is_as_a_stage_of_slow_layers(void **state)
{
    (void)state;
    static const char *const names[] = {"1f1b", "gpipe", "zb-h1"};
    static const double slowdown[MOST_STAGES] = {1, 1.25, 0.5, 2};
    static const bool none[EK_N_RECOMPUTE] = {true};
    ek__random r = ek__random_seed(3);
    for (int n = 0; n < 3; n++) {
        ek_error err;
        ek_shape shape = {.n_stages = MOST_STAGES, .n_chunks = 1, .n_micro_batches = 7};
        ek_order *even, *uneven;
        ek_layer plain[MOST_STAGES], slow[MOST_STAGES] = {0};
        ek_layers layers = {.n_body = MOST_STAGES, .body = plain, .n_layers = 2 * MOST_STAGES, .modelled = {true}};
        memset(plain, 0, sizeof plain);
        random_layer(&r, &layers.head, none, 1);
        random_layer(&r, &layers.tail, none, 1);
        ek_layers slowed = layers;
        slowed.body = slow;
        for (int s = 0; s < MOST_STAGES; s++) {
            random_layer(&r, &plain[s], none, 1);
            plain[s].n_layers = 2;
            slow[s] = plain[s];
            ek_layer *scaled[] = {&slow[s], s == 0 ? &slowed.head : s == MOST_STAGES - 1 ? &slowed.tail : NULL};
            for (int i = 0; i < 2 && scaled[i]; i++) {
                scaled[i]->forward_time *= slowdown[s];
                scaled[i]->weight_time *= slowdown[s];
                scaled[i]->backward_time[0] *= slowdown[s];
            }
        }
        assert_int_equal(ek_order_new(ek_schedule_find(names[n]), &shape, &even, &err), EK_OK);
        assert_int_equal(ek_order_new(ek_schedule_find(names[n]), &shape, &uneven, &err), EK_OK);
        assert_int_equal(ek_order_slow_stages(uneven, slowdown, &err), EK_OK);
        ek_plan plan;
        ek_timeline a, b;
        assert_int_equal(ek_plan_even(&layers, MOST_STAGES, 1, EK_RECOMPUTE_NONE, &plan, &err), EK_OK);
        assert_int_equal(ek_simulate(even, &plan, &slowed, NULL, &a, &err), EK_OK);
        assert_int_equal(ek_simulate(uneven, &plan, &layers, NULL, &b, &err), EK_OK);
        assert_close_to(a.step_time, b.step_time, 1e-9);
        assert_close_to(a.bubble.real, b.bubble.real, 1e-9);
        for (size_t k = 0; k < a.n_blocks; k++)
            assert_close_to(a.block[k].end, b.block[k].end, 1e-9);
        ek_timeline_clear(&a);
        ek_timeline_clear(&b);
        ek_plan_clear(&plan);
        ek_order_free(even);
        ek_order_free(uneven);
    }
}

/* Equal limits, speeds and edges written stage by stage are the plain cluster. */
static void equal_stages_are_the_plain_cluster(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(8);
    for (int number = 0; number < 24; number++) {
        instance x;
        ek_error err;
        ek_balance_result one, other;
        random_instance(&r, number, NULL, &x);
        int p = ek_order_shape(x.order)->n_stages;
        const double twice[MOST_STAGES] = {2, 2, 2, 2};
        for (int s = 0; s < p; s++) {
            x.memory[s] = 300;
            x.edges[s] = 3;
        }
        x.options.comm.edge_time = x.edges;
        assert_int_equal(ek_order_slow_stages(x.order, twice, &err), EK_OK);
        assert_int_equal(ek_balance(&x.layers, x.order, &x.options, &one, &err), EK_OK);
        x.options.stage_memory_mb = NULL;
        x.options.memory_limit_mb = 300;
        x.options.comm.edge_time = NULL;
        x.options.comm.p2p_time = 1.5;
        assert_int_equal(ek_order_slow_stages(x.order, NULL, &err), EK_OK);
        assert_int_equal(ek_balance(&x.layers, x.order, &x.options, &other, &err), EK_OK);
        assert_int_equal(one.status, other.status);
        assert_close_to(one.step_time, 2 * other.step_time, 1e-9 * one.step_time);
        assert_close_to(one.smallest_limit_mb, other.smallest_limit_mb, 1e-6);
        ek_balance_result_clear(&one);
        ek_balance_result_clear(&other);
        ek_order_free(x.order);
    }
}

/* The peak of a stage from only its blocks, including the activations that recomputation restores; and the answer of
 * balance. */
static void recomputation_brings_activations_back(void **state)
{
    (void)state;
    static const char *const names[] = {"1f1b", "interleaved", "zb-h1", "dualpipe"};
    static const bool kinds[EK_N_RECOMPUTE] = {true, true, false, true, true};
    ek__random r = ek__random_seed(12);
    int n_larger = 0, n_solved = 0;
    for (int n = 0; n < 4; n++) {
        ek_error err;
        const ek_schedule *schedule = ek_schedule_find(names[n]);
        ek_shape shape = {.n_stages = 4, .n_chunks = schedule->min_chunks, .n_micro_batches = 8};
        const double cost[8] = {1, 0.5, 2, 1, 1, 0.25, 1, 2};
        ek_order *order;
        ek_layer body[2] = {0};
        random_layer(&r, &body[0], kinds, 1);
        random_layer(&r, &body[1], kinds, 1);
        body[0].n_layers = 7;
        body[1].n_layers = 9;
        ek_layers layers = {.n_body = 2,
                            .body = body,
                            .n_layers = 16,
                            .const_mb = 5,
                            .modelled = {1, 1, 0, 1, 1},
                            .recompute_transient = true};
        assert_int_equal(ek_order_new(schedule, &shape, &order, &err), EK_OK);
        assert_int_equal(ek_order_scale_micro_batches(order, cost, &err), EK_OK);
        ek_balance_options options;
        ek_balance_options_init(&options);
        options.proof_limit = 0.05; /* the bounds have a separate test */
        options.time_limit = 0.5;
        for (options.memory_limit_mb = 3000; options.memory_limit_mb > 100;
             options.memory_limit_mb *= effort(80, 50) / 100.0) {
            ek_balance_result result;
            ek_timeline t;
            ek_chunk_cost costs[8];
            assert_int_equal(ek_balance(&layers, order, &options, &result, &err), EK_OK);
            assert_int_not_equal(result.status, EK_BALANCE_OPTIMAL);
            if (result.status == EK_BALANCE_INFEASIBLE) {
                assert_false(result.smallest_limit_exact);
                ek_balance_result_clear(&result);
                break;
            }
            assert_int_equal(ek_simulate(order, &result.plan, &layers, NULL, &t, &err), EK_OK);
            ek_plan_costs(&result.plan, &layers, schedule->placement, costs);
            for (int s = 0; s < 4; s++) {
                double peak = t.static_mb[s], held = t.static_mb[s], plain = t.static_mb[s];
                for (size_t k = t.first[s]; k < t.first[s + 1]; k++) {
                    const ek_interval *b = &t.block[k];
                    int c = schedule->placement != EK_PLACE_BOTH_WAYS ? b->chunk * 4 + s : b->chunk ? 3 - s : s;
                    if (b->kind == EK_BACKWARD)
                        peak = fmax(peak, held + cost[b->micro_batch] * costs[c].transient_mb);
                    held = b->memory_mb;
                    peak = fmax(peak, held);
                    plain = fmax(plain, held);
                }
                assert_close_to(t.peak_mb[s], peak, 1e-9);
                assert_true(peak <= options.memory_limit_mb + 1e-6);
                n_larger += peak > plain;
            }
            n_solved++;
            ek_timeline_clear(&t);
            ek_balance_result_clear(&result);
        }
        /* Without the activations of layers that recompute nothing it is not known. */
        ek_balance_result result;
        body[1].modelled[EK_RECOMPUTE_NONE] = layers.modelled[EK_RECOMPUTE_NONE] = false;
        assert_int_equal(ek_balance(&layers, order, &options, &result, &err), EK_ERR_INPUT);
        assert_non_null(strstr(err.message, "activations restored by recomputation are not known"));
        ek_order_free(order);
    }
    assert_true(n_solved > 8 && n_larger > 0);
}

/* Activations that one layer of a chunk restores: the maximum of any kind, by hand. */
static void the_layer_that_recomputes_most_counts(void **state)
{
    (void)state;
    ek_error err;
    ek_plan plan;
    ek_chunk_cost cost[2];
    ek_layer body = {.n_layers = 6, .modelled = {1, 1, 1, 1, 1}, .activation_mb = {50, 40, 35, 20, 5}};
    ek_layers layers = {.n_body = 1, .body = &body, .n_layers = 6, .recompute_transient = true};
    assert_int_equal(ek_plan_init(&plan, 2, 1, &err), EK_OK);
    plan.layers[0] = plan.layers[1] = 3;
    plan.select[0] = 2;
    plan.select[1] = plan.comm[1] = 2;
    ek_plan_costs(&plan, &layers, EK_PLACE_WRAP, cost);
    assert_close_to(cost[0].transient_mb, 10, 0);
    assert_close_to(cost[1].transient_mb, 30, 0);
    layers.recompute_transient = false;
    ek_plan_costs(&plan, &layers, EK_PLACE_WRAP, cost);
    assert_close_to(cost[1].transient_mb, 0, 0);
    ek_plan_clear(&plan);
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    static const struct {
        int fixed[MOST_STAGES];
        bool forbid;
        double memory;
        const char *message;
    } cases[] = {
        {{-1, -1, 9, -1}, false, 100, "stage 2 is fixed to 9 layers, but must have 1 (1 chunks, at least 1 each) to 8"},
        {{0, -1, -1, -1}, false, 100, "stage 0 is fixed to 0 layers"},
        {{3, 3, 2, -1}, false, 100, "the fixed stages have 8 layers and the others need some, but the model has 8"},
        {{2, 2, 2, 1}, false, 100, "the fixed stages have 7 layers and no stage is free, but the model has 8"},
        {{-1, -1, -1, -1}, true, 100, "every recompute kind with known memory (none) is forbidden"},
        {{-1, -1, -1, -1}, false, -5, "the memory limit of stage 0 must be a positive number of MB (got -5)"},
    };
    static const bool none[EK_N_RECOMPUTE] = {true};
    ek__random r = ek__random_seed(1);
    ek_error err;
    ek_order *order;
    ek_layer body = {0};
    random_layer(&r, &body, none, 1);
    body.n_layers = 8;
    ek_layers layers = {.n_body = 1, .body = &body, .n_layers = 8, .modelled = {true}};
    ek_shape shape = {.n_stages = MOST_STAGES, .n_chunks = 1, .n_micro_batches = 8};
    assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, &err), EK_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_balance_options options;
        ek_balance_result result;
        const double memory[MOST_STAGES] = {cases[i].memory, 100, 100, 100};
        ek_balance_options_init(&options);
        options.proof_limit = 0.05; /* the bounds have a separate test */
        options.fixed_layers = cases[i].fixed;
        options.forbidden[EK_RECOMPUTE_NONE] = cases[i].forbid;
        options.stage_memory_mb = memory;
        assert_int_equal(ek_balance(&layers, order, &options, &result, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("expected '%s' in '%s'", cases[i].message, err.message);
    }
    const double wrong[MOST_STAGES] = {1, 0, 1, 1}, uneven[MOST_STAGES] = {1, 1, 1, 2};
    assert_int_equal(ek_order_slow_stages(order, wrong, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "slowdown of stage 1 must be a positive number (got 0)"));
    ek_order_free(order);
    assert_int_equal(ek_order_new(ek_schedule_find("dualpipe"), &shape, &order, &err), EK_OK);
    assert_int_equal(ek_order_slow_stages(order, uneven, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "has the same chunks on stages 0 and 3, so the two must be equally fast"));
    ek_order_free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_solver_keeps_to_an_uneven_cluster),
        cmocka_unit_test(so_they_do_with_other_placements),
        cmocka_unit_test(a_slow_stage_is_as_a_stage_of_slow_layers),
        cmocka_unit_test(equal_stages_are_the_plain_cluster),
        cmocka_unit_test(recomputation_brings_activations_back),
        cmocka_unit_test(the_layer_that_recomputes_most_counts),
        cmocka_unit_test(contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
