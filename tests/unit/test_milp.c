/* Tests the linear method against its own formula, evaluated pair by pair over every plan; and the exhaustive solver
 * against branch and bound, and as the oracle of the linear method. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../bench/cases.h"
#include "assert_close.h"
#include "balance/milp.h"
#include "base/random.h"
#include "effort.h"

typedef struct instance {
    ek_layer body[2];
    ek_layers layers;
    ek_order *order;
    ek_balance_options options;
} instance;

static void random_kind(ek__random *r, ek_layer *body, const bool *modelled)
{
    static const double keep[EK_N_RECOMPUTE] = {1, 0.8, 0.7, 0.45, 0.1};
    body->forward_time = 1 + ek__random_below(r, 10);
    body->weight_time = body->forward_time;
    body->parameter_mb = ek__random_below(r, 30);
    double activation = 10 + ek__random_below(r, 40);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        body->modelled[k] = modelled[k];
        body->backward_time[k] = 2 * body->forward_time * (1 + ek_recompute_coefficient[k]);
        body->activation_mb[k] = modelled[k] ? floor(activation * keep[k]) : 0;
    }
}

/* A small problem with `n_body` kinds of layer. Every fourth has as many micro-batches as stages, half of those of
 * several chunks the schedule with less memory. */
static void random_instance(ek__random *r, int number, int n_body, instance *x)
{
    ek_error err;
    *x = (instance){0};
    int p = 1 + ek__random_below(r, 3), v = 1 + number % 2, n_cells = p * v;
    int n_layers = n_cells + (n_cells > 4 ? 1 : ek__random_below(r, 4)) + n_body - 1;
    int m = number % 4 == 3 ? p : v == 1 ? 1 + ek__random_below(r, 6) : p * (1 + ek__random_below(r, 2));
    bool modelled[EK_N_RECOMPUTE] = {true, (number >> 1) & 1, (number >> 2) & 1, (number >> 3) & 1, (number >> 4) & 1};
    for (int b = 0; b < n_body; b++)
        random_kind(r, &x->body[b], modelled);
    x->body[0].n_layers = n_body == 1 ? n_layers : 1 + ek__random_below(r, n_layers - 1);
    x->body[1].n_layers = n_layers - x->body[0].n_layers;
    x->layers = (ek_layers){.n_body = n_body, .body = x->body, .n_layers = n_layers, .const_mb = 20};
    memcpy(x->layers.modelled, modelled, sizeof modelled);
    ek_layer *end[2] = {&x->layers.head, &x->layers.tail};
    for (int i = 0; i < 2; i++) {
        end[i]->forward_time = ek__random_below(r, 9);
        end[i]->parameter_mb = ek__random_below(r, 60);
        end[i]->weight_time = end[i]->forward_time;
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            end[i]->backward_time[k] = 2 * end[i]->forward_time;
    }
    ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = m};
    if (ek_order_new(ek_schedule_default(v, number % 8 == 7), &shape, &x->order, &err))
        fail_msg("%s", err.message);
    ek_balance_options_init(&x->options);
    x->options.proof_limit = 0.05; /* the bounds have a separate test */
    x->options.min_layers = ek__random_below(r, 2);
    x->options.memory_limit_mb = 60 + ek__random_below(r, 400);
    x->options.n_threads = 2;
}

/* --- the stand-in --- */

/* The formula of src/balance/milp.c, pair by pair as the original states it, from the costs of whole chunks. */
static double stand_in(const instance *x, const ek_chunk_cost *cost)
{
    const ek_shape *shape = ek_order_shape(x->order);
    const ek_layer *head = &x->layers.head, *tail = &x->layers.tail;
    int p = shape->n_stages, v = shape->n_chunks, m = shape->n_micro_batches, n = p * v;
    bool less_memory = strcmp(ek_order_schedule(x->order)->name, "interleaved-less-memory") == 0;
    double others = 0, last = 0, bottleneck = 0;
    for (int c = 0; c < n; c++) {
        int s = c % p, ahead = less_memory ? s : s < p / 2 ? 0 : abs(p - 1 - 2 * s);
        double extra = (c == 0 ? head->forward_time : 0) + (c == n - 1 ? tail->forward_time : 0);
        if (c / p < v - 1)
            others = fmax(others, cost[c].backward_time);
        else
            last = fmax(last, cost[c].backward_time + extra + (cost[c].forward_time - extra) * ahead / m);
        for (int d = s; d < n; d += p)
            bottleneck = fmax(bottleneck, cost[c].forward_time + cost[d].backward_time);
    }
    return m == p && v > 1 ? others + fmax(last, others) : bottleneck;
}

/* Every way to count out layers of each kind, expressible or not, and the least stand-in of those that fit. */
typedef struct walk {
    const instance *x;
    int n_cells;
    ek_chunk_cost *cost; /* [n_cells] */
    double best;
} walk;

static bool within_limit(const instance *x, const ek_chunk_cost *cost)
{
    int p = ek_order_shape(x->order)->n_stages;
    for (int s = 0; s < p; s++) {
        const double *live;
        const int *cells;
        int n_live = ek_order_live_vectors(x->order, s, &live), n = ek_order_held_cells(x->order, s, &cells);
        for (int k = 0; k < n_live; k++) {
            double mb = x->layers.const_mb;
            for (int i = 0; i < n; i++)
                mb += cost[cells[i]].parameter_mb + live[k * n + i] * cost[cells[i]].activation_mb;
            if (mb > x->options.memory_limit_mb + 1e-9)
                return false;
        }
    }
    return true;
}

static void walk_cell(walk *w, int cell, int left);

/* Counts of kind k and on in a cell with n layers so far. */
static void walk_kind(walk *w, int cell, int k, int n, int left)
{
    const ek_layer *body = &w->x->body[0];
    if (k == EK_N_RECOMPUTE) {
        if (n >= w->x->options.min_layers)
            walk_cell(w, cell + 1, left);
        return;
    }
    ek_chunk_cost before = w->cost[cell];
    for (int layers = 0; layers <= (body->modelled[k] ? left : 0); layers++) {
        walk_kind(w, cell, k + 1, n + layers, left - layers);
        w->cost[cell].forward_time += body->forward_time;
        w->cost[cell].backward_time += body->backward_time[k];
        w->cost[cell].parameter_mb += body->parameter_mb;
        w->cost[cell].activation_mb += body->activation_mb[k];
    }
    w->cost[cell] = before;
}

static void walk_cell(walk *w, int cell, int left)
{
    if (cell < w->n_cells)
        walk_kind(w, cell, 0, 0, left);
    else if (left == 0 && within_limit(w->x, w->cost))
        w->best = fmin(w->best, stand_in(w->x, w->cost));
}

static void walk_run(walk *w, const instance *x)
{
    const ek_shape *shape = ek_order_shape(x->order);
    const ek_layer *end[2] = {&x->layers.head, &x->layers.tail};
    *w = (walk){.x = x, .n_cells = shape->n_stages * shape->n_chunks, .best = INFINITY};
    w->cost = calloc((size_t)w->n_cells, sizeof *w->cost);
    assert_non_null(w->cost);
    for (int i = 0; i < 2; i++) {
        ek_chunk_cost *cost = &w->cost[i == 0 ? 0 : w->n_cells - 1];
        cost->forward_time += end[i]->forward_time;
        cost->backward_time += end[i]->backward_time[EK_RECOMPUTE_NONE];
        cost->parameter_mb += end[i]->parameter_mb;
    }
    walk_cell(w, 0, x->layers.n_layers);
}

static bool select_beside_comm_is_possible(const instance *x)
{
    return x->layers.modelled[EK_RECOMPUTE_SELECT] && x->layers.modelled[EK_RECOMPUTE_COMM];
}

static void its_optimum_is_that_of_the_formula(void **state)
{
    (void)state;
    enum { SEED = 7 };
    const int n = effort(64, 8);
    ek__random r = ek__random_seed(SEED);
    int n_found = 0;
    for (int number = 0; number < n; number++) {
        instance x;
        walk w;
        ek_error err = {0};
        ek__problem problem;
        ek__state answer;
        ek__milp_end end;
        random_instance(&r, number, 1, &x);
        walk_run(&w, &x);
        assert_int_equal(ek__problem_init(&problem, &x.layers, x.order, &x.options, &err), EK_OK);
        assert_int_equal(ek__state_init(&answer, &problem, &err), EK_OK);
        if (ek__milp_minimise(&problem, 60, NULL, NULL, &answer, &end, &err))
            fail_msg("%s", err.message);
        if (!end.ended || end.found != isfinite(w.best))
            fail_msg("seed %d, instance %d: ended %d, found %d, best %g", SEED, number, end.ended, end.found, w.best);
        if (end.found) {
            ek_plan plan;
            if (fabs(end.stand_in - w.best) > 1e-6 * w.best)
                fail_msg("seed %d, instance %d: stand-in %.9g, by enumeration %.9g", SEED, number, end.stand_in,
                         w.best);
            assert_int_equal(ek__state_to_plan(&problem, &answer, &plan, &err), EK_OK);
            assert_int_equal(ek_plan_check(&plan, &x.layers, &err), EK_OK);
            ek_plan_costs(&plan, &x.layers, ek_order_schedule(x.order)->placement, w.cost);
            assert_true(within_limit(&x, w.cost));
            double got = stand_in(&x, w.cost);
            assert_true(got >= w.best * (1 - 1e-6));
            if (!select_beside_comm_is_possible(&x))
                assert_close_to(got, w.best, 1e-6 * w.best);
            ek_plan_clear(&plan);
            n_found++;
        }
        free(w.cost);
        ek__state_clear(&answer);
        ek__problem_clear(&problem);
        ek_order_free(x.order);
    }
    print_message("# seed %d: %d instances, %d with a plan\n", SEED, n, n_found);
    assert_true(n_found >= effort(30, 2) && n_found <= n - effort(5, 1));
}

/* A plan's array from a list of lists, or a list where there is one chunk; `base` is added. */
static void take_lists(const json_t *lists, int n_chunks, int n_stages, int base, int *out)
{
    for (int i = 0; i < n_chunks; i++) {
        const json_t *inner = json_array_get(lists, (size_t)i);
        const json_t *list = json_is_array(inner) ? inner : lists;
        for (int s = 0; s < n_stages; s++)
            out[i * n_stages + s] = base + (int)json_integer_value(json_array_get(list, (size_t)s));
    }
}

/* The answers of the original that were recorded with the objective it reported. */
static void the_formula_gives_what_the_original_reported(void **state)
{
    (void)state;
    char path[4096];
    const char *root = getenv("EK_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/data/published/reference/balance/sapp_runs.json", root ? root : ".");
    json_t *runs = json_load_file(path, 0, NULL);
    assert_int_equal(json_array_size(runs), 6);
    size_t number;
    const json_t *run;
    json_array_foreach(runs, number, run)
    {
        case_model model;
        ek_error err;
        ek_plan plan;
        ek_shape shape = {.n_stages = (int)json_integer_value(json_object_get(run, "stages")),
                          .n_chunks = (int)json_integer_value(json_object_get(run, "interleave")),
                          .n_micro_batches = (int)json_integer_value(json_object_get(run, "micro_batches"))};
        int p = shape.n_stages, v = shape.n_chunks;
        case_model_init(&model, CASE_LLAMA_175B, 90, 90, 180);
        instance x = {.layers = model.layers};
        const ek_schedule *schedule = ek_schedule_default(v, json_is_true(json_object_get(run, "less_memory")));
        assert_int_equal(ek_order_new(schedule, &shape, &x.order, &err), EK_OK);
        assert_int_equal(ek_plan_init(&plan, p, v, &err), EK_OK);
        const json_t *strategy = json_object_get(run, "strategy");
        take_lists(json_object_get(strategy, "offset"), v, p, x.layers.n_layers / (p * v), plan.layers);
        take_lists(json_object_get(strategy, "recompute"), v, p, 0, plan.full);
        take_lists(json_object_get(strategy, "select_recompute"), v, p, 0, plan.select);
        take_lists(json_object_get(strategy, "select_comm_recompute"), v, p, 0, plan.comm);
        ek_chunk_cost *cost = calloc((size_t)(p * v), sizeof *cost);
        assert_non_null(cost);
        ek_plan_costs(&plan, &x.layers, schedule->placement, cost);
        assert_close_to(stand_in(&x, cost), json_number_value(json_object_get(run, "milp_objective")), 0.05);
        free(cost);
        ek_plan_clear(&plan);
        ek_order_free(x.order);
    }
    json_decref(runs);
}

/* --- the solvers --- */

static void balance_with(const instance *x, const char *solver, ek_balance_result *result)
{
    ek_error err = {0};
    ek_balance_options options = x->options;
    options.solver = solver;
    if (ek_balance(&x->layers, x->order, &options, result, &err))
        fail_msg("%s: %s", solver, err.message);
}

static void exhaustive_agrees_with_branch_and_judges_milp(void **state)
{
    (void)state;
    enum { SEED = 11 };
    const int n = effort(96, 12);
    ek__random r = ek__random_seed(SEED);
    int n_feasible = 0, n_longer = 0;
    for (int number = 0; number < n; number++) {
        instance x;
        ek_balance_result every, branch, milp;
        random_instance(&r, number, 1 + (number % 3 == 2), &x);
        balance_with(&x, "exhaustive", &every);
        balance_with(&x, "branch", &branch);
        assert_int_equal(every.status, branch.status);
        if (every.status != EK_BALANCE_INFEASIBLE) {
            assert_int_equal(every.status, EK_BALANCE_OPTIMAL);
            assert_close_to(every.step_time, branch.step_time, 1e-9 * branch.step_time);
            n_feasible++;
        }
        if (every.status != EK_BALANCE_INFEASIBLE && x.layers.n_body == 1) {
            ek_error err = {0};
            ek_timeline t;
            balance_with(&x, "milp", &milp);
            assert_true(milp.status == EK_BALANCE_FEASIBLE || milp.proved_optimal); /* by the bound, not by milp */
            assert_int_equal(ek_simulate(x.order, &milp.plan, &x.layers, NULL, &t, &err), EK_OK);
            assert_close_to(t.step_time, milp.step_time, 1e-9 * t.step_time);
            assert_true(ek_timeline_peak(&t, NULL) <= x.options.memory_limit_mb + 1e-6);
            assert_true(milp.step_time >= every.step_time * (1 - 1e-9));
            n_longer += milp.step_time > every.step_time * (1 + 1e-9);
            ek_timeline_clear(&t);
            ek_balance_result_clear(&milp);
        }
        ek_balance_result_clear(&every);
        ek_balance_result_clear(&branch);
        ek_order_free(x.order);
    }
    print_message("# seed %d: %d instances, %d feasible, milp longer than the optimum on %d\n", SEED, n, n_feasible,
                  n_longer);
    assert_true(n_feasible >= effort(50, 5) && n_longer > effort(0, -1));
}

static void exhaustive_agrees_with_branch_on_every_schedule(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(13);
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        ek_error err = {0};
        instance x;
        ek_balance_result every, branch;
        random_instance(&r, 14, 1, &x); /* none, select, comm and both */
        ek_order_free(x.order);
        ek_shape shape = {.n_stages = 2, .n_chunks = (*s)->min_chunks, .n_micro_batches = 4};
        if (ek_order_new(*s, &shape, &x.order, &err))
            fail_msg("%s: %s", (*s)->name, err.message);
        x.body[0].n_layers = x.layers.n_layers = 6;
        x.options.min_layers = 1;
        x.options.memory_limit_mb = 1e5;
        balance_with(&x, "exhaustive", &every);
        double loose = every.step_time;
        ek_balance_result_clear(&every);
        do { /* down to where memory decides */
            x.options.memory_limit_mb /= 1.25;
            balance_with(&x, "exhaustive", &every);
            balance_with(&x, "branch", &branch);
            assert_int_equal(every.status, branch.status);
            double step = every.status == EK_BALANCE_OPTIMAL ? every.step_time : INFINITY;
            if (every.status == EK_BALANCE_OPTIMAL)
                assert_close_to(every.step_time, branch.step_time, 1e-9 * branch.step_time);
            ek_balance_result_clear(&every);
            ek_balance_result_clear(&branch);
            if (step > loose * (1 + 1e-9))
                break;
        } while (true);
        ek_order_free(x.order);
    }
}

/* Balances, and returns how many bytes went to standard output and error meanwhile. */
static long written_by(const instance *x, const char *solver, ek_balance_result *result)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int kept[2] = {dup(1), dup(2)};
    fflush(NULL);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    balance_with(x, solver, result);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], 1 + i);
        close(kept[i]);
    }
    fseek(file, 0, SEEK_END);
    long n = ftell(file);
    fclose(file);
    return n;
}

static void open_published(case_model *model, instance *x)
{
    const balance_case *c = &balance_cases[N_TOOL_CASES - 1];
    ek_error err;
    case_model_init(model, c->model, c->head, c->body, c->tail);
    *x = (instance){.layers = model->layers};
    ek_shape shape = {.n_stages = c->n_stages, .n_chunks = c->n_chunks, .n_micro_batches = c->n_micro_batches};
    if (ek_order_new(ek_schedule_default(c->n_chunks, c->less_memory), &shape, &x->order, &err))
        fail_msg("%s", err.message);
    ek_balance_options_init(&x->options);
    x->options.proof_limit = 0.05; /* the bounds have a separate test */
    x->options.memory_limit_mb = c->limit_mb;
}

static void the_time_limit_leaves_a_plan_and_nothing_is_printed(void **state)
{
    (void)state;
    static const double limits[] = {1e-4, 1};
    case_model model;
    instance x;
    open_published(&model, &x);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        ek_balance_result result;
        x.options.time_limit = limits[i];
        assert_int_equal(written_by(&x, "milp", &result), 0);
        assert_int_equal(result.status, EK_BALANCE_TIME_LIMIT);
        assert_true(result.step_time > 0 && result.plan.n_stages == 16);
        ek_balance_result_clear(&result);
    }
    x.options.memory_limit_mb = 30000;
    ek_balance_result result;
    assert_int_equal(written_by(&x, "milp", &result), 0);
    assert_int_equal(result.status, EK_BALANCE_INFEASIBLE);
    ek_balance_result_clear(&result);
    ek_order_free(x.order);
}

static void an_interrupt_ends_the_exhaustive_search(void **state)
{
    (void)state;
    static const ek_interrupt interrupt = {1};
    ek_error err;
    case_model model;
    instance x;
    ek_balance_result result;
    open_published(&model, &x);
    ek_order_free(x.order);
    ek_shape shape = {.n_stages = 4, .n_chunks = 1, .n_micro_batches = 1024};
    assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &x.order, &err), EK_OK);
    model.body.n_layers = x.layers.n_layers = 12;
    x.options.memory_limit_mb = 1e6;
    x.options.interrupt = &interrupt;
    balance_with(&x, "exhaustive", &result);
    assert_int_equal(result.status, EK_BALANCE_TIME_LIMIT);
    assert_true(result.plan.n_stages == 4);
    ek_balance_result_clear(&result);
    ek_order_free(x.order);
}

static void refusals_say_what_and_why(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(3);
    ek_error err = {0};
    ek_balance_result result;
    case_model model;
    instance x;
    random_instance(&r, 0, 2, &x);
    x.options.memory_limit_mb = 1e6;
    x.options.solver = "milp";
    assert_int_equal(ek_balance(&x.layers, x.order, &x.options, &result, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "one kind of body layer (this one has 2)"));
    ek_order_free(x.order);
    open_published(&model, &x);
    x.options.solver = "exhaustive";
    assert_int_equal(ek_balance(&x.layers, x.order, &x.options, &result, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "would simulate about"));
    ek_order_free(x.order);
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        if (!(*s)->splits_backward && (*s)->placement != EK_PLACE_BOTH_WAYS)
            continue;
        ek_shape shape = {.n_stages = 2, .n_chunks = (*s)->min_chunks, .n_micro_batches = 4};
        assert_int_equal(ek_order_new(*s, &shape, &x.order, &err), EK_OK);
        x.options.memory_limit_mb = 1e6;
        x.options.solver = "milp";
        assert_int_equal(ek_balance(&x.layers, x.order, &x.options, &result, &err), EK_ERR_INPUT);
        assert_non_null(strstr(err.message, (*s)->name));
        ek_order_free(x.order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_optimum_is_that_of_the_formula),
        cmocka_unit_test(the_formula_gives_what_the_original_reported),
        cmocka_unit_test(exhaustive_agrees_with_branch_and_judges_milp),
        cmocka_unit_test(exhaustive_agrees_with_branch_on_every_schedule),
        cmocka_unit_test(the_time_limit_leaves_a_plan_and_nothing_is_printed),
        cmocka_unit_test(an_interrupt_ends_the_exhaustive_search),
        cmocka_unit_test(refusals_say_what_and_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
