/* Tests models that a caller fills in memory: random ones, sound and broken, through ek_layers_check(), the simulation
 * and the balancer. A sound one gives the results of a slow simulation, written here only from docs/models.md, layer by
 * layer and block by block; a broken one is refused by all of them, with the name of the wrong member. EK_MODELS is
 * their number.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "evenkeel/balance.h"
#include "evenkeel/layers.h"
#include "evenkeel/quick.h"
#include "evenkeel/ranking.h"
#include "evenkeel/sequence.h"
#include "evenkeel/sweep.h"

enum { MOST_BODY = 3, MOST_LAYERS = 7, MOST_CELLS = 6, MOST_MICRO = 6, USUAL_MODELS = 10000 };

typedef struct model {
    ek_layer body[MOST_BODY];
    ek_layers layers;
} model;

/* ---- random models ---- */

/* Mostly whole numbers, and the ends of the permitted range. */
static double random_number(ek__random *r, double most)
{
    switch (ek__random_below(r, 12)) {
    case 0:
        return 0;
    case 1:
        return most;
    case 2:
        return most * ek__random_unit(r);
    case 3:
        return 1e-300;
    case 4:
        return ek__random_unit(r);
    default:
        return ek__random_below(r, 40);
    }
}

static double one_of(ek__random *r, double least, double most)
{
    double small = random_number(r, most);
    return least < 0 && ek__random_below(r, 3) == 0 ? -small : small;
}

static void fill_layer(ek__random *r, ek_layer *layer, const char *name, const bool *modelled, double least_mb)
{
    double least = INFINITY;
    snprintf(layer->name, sizeof layer->name, "%s", name);
    layer->forward_time = random_number(r, 1e12);
    layer->parameter_mb = one_of(r, least_mb, 1e9);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        layer->modelled[k] = modelled[k];
        layer->backward_time[k] = random_number(r, 1e12);
        layer->activation_mb[k] = random_number(r, 1e9);
        if (modelled[k])
            least = fmin(least, layer->backward_time[k]);
    }
    static const double share[] = {0, 0.5, 1};
    layer->weight_time = least * share[ek__random_below(r, 3)];
}

static void fill_model(ek__random *r, model *x)
{
    static const bool only_none[EK_N_RECOMPUTE] = {true};
    bool modelled[EK_N_RECOMPUTE];
    *x = (model){.layers = {.body = x->body, .n_body = 1 + ek__random_below(r, MOST_BODY)}};
    modelled[EK_RECOMPUTE_NONE] = ek__random_below(r, 4) > 0;
    for (int k = 1; k < EK_N_RECOMPUTE; k++)
        modelled[k] = ek__random_below(r, 2) > 0;
    modelled[ek__random_below(r, EK_N_RECOMPUTE)] = true;
    memcpy(x->layers.modelled, modelled, sizeof modelled);
    fill_layer(r, &x->layers.head, "embedding", only_none, -1);
    fill_layer(r, &x->layers.tail, "loss", only_none, -1);
    for (int b = 0; b < x->layers.n_body; b++) {
        fill_layer(r, &x->body[b], "decoder", modelled, 0);
        x->body[b].n_layers = 1 + ek__random_below(r, MOST_LAYERS / x->layers.n_body);
        x->layers.n_layers += x->body[b].n_layers;
    }
    x->layers.const_mb = one_of(r, -1, 1e9);
    x->layers.recompute_transient = modelled[EK_RECOMPUTE_NONE] && ek__random_below(r, 4) == 0;
}

/* ---- pipelines ---- */

typedef struct pipelines {
    int n;
    ek_order *order[256];
} pipelines;

static void make_pipelines(pipelines *all)
{
    ek_error err;
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        for (int p = 1; p <= 3 && (*s)->stage_order && (*s)->placement != EK_PLACE_BOTH_WAYS; p++)
            for (int v = 1; v <= 2; v++)
                for (int m = 1; m <= MOST_MICRO; m++) {
                    const ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = m};
                    if (!(*s)->pieces && all->n < 256 && !ek_order_new(*s, &shape, &all->order[all->n], &err))
                        all->n++;
                }
    assert_true(all->n > 50);
}

static void free_pipelines(pipelines *all)
{
    for (int i = 0; i < all->n; i++)
        ek_order_free(all->order[i]);
}

/* ---- the slow simulation ---- */

typedef struct slow_cost {
    double time[EK_N_BLOCK_KINDS], parameter_mb, activation_mb, transient_mb;
} slow_cost;

/* Layer j of a chunk with these lists. */
static ek_recompute kind_of(const ek_plan *plan, int cell, int j)
{
    if (j < plan->full[cell])
        return EK_RECOMPUTE_FULL;
    int full = plan->full[cell], select = plan->select[cell], comm = plan->comm[cell];
    int both = select < comm ? select : comm;
    both = both > full ? both : full;
    if (j < both)
        return EK_RECOMPUTE_BOTH;
    int only_select = select > both ? select - both : 0, only_comm = comm > both ? comm - both : 0;
    return j < both + only_select               ? EK_RECOMPUTE_SELECT
           : j < both + only_select + only_comm ? EK_RECOMPUTE_COMM
                                                : EK_RECOMPUTE_NONE;
}

static void slow_add(slow_cost *cost, const ek_layer *layer, ek_recompute kind, bool transient)
{
    cost->time[EK_FORWARD] += layer->forward_time;
    cost->time[EK_BACKWARD] += layer->backward_time[kind];
    cost->time[EK_BACKWARD_WEIGHT] += layer->weight_time;
    cost->parameter_mb += layer->parameter_mb;
    cost->activation_mb += layer->activation_mb[kind];
    if (transient)
        cost->transient_mb =
            fmax(cost->transient_mb, layer->activation_mb[EK_RECOMPUTE_NONE] - layer->activation_mb[kind]);
}

static void slow_costs(const ek_layers *layers, const ek_plan *plan, const ek_schedule *schedule, slow_cost *cost)
{
    int at = 0, n = plan->n_stages * plan->n_chunks;
    for (int q = 0; q < n; q++) {
        int cell = ek_cell_at(schedule->placement, plan->n_stages, q);
        cost[cell] = (slow_cost){0};
        for (int j = 0; j < plan->layers[cell]; j++, at++) {
            int b = 0;
            for (int before = layers->body[0].n_layers; at >= before; before += layers->body[b].n_layers)
                b++;
            slow_add(&cost[cell], &layers->body[b], kind_of(plan, cell, j), layers->recompute_transient);
        }
        if (q == 0)
            slow_add(&cost[cell], &layers->head, EK_RECOMPUTE_NONE, false);
        if (q == n - 1)
            slow_add(&cost[cell], &layers->tail, EK_RECOMPUTE_NONE, false);
        if (schedule->splits_backward)
            cost[cell].time[EK_BACKWARD] -= cost[cell].time[EK_BACKWARD_WEIGHT];
    }
}

typedef struct slow {
    double step, peak_mb[3], largest_mb; /* the last: of all terms, which rounding goes by */
} slow;

/* Blocks run when their predecessors have ended: the list of the stage, and F, B and W of the neighbouring
 * positions. */
static slow slow_run(const ek_order *order, const ek_layers *layers, const ek_plan *plan)
{
    const ek_schedule *schedule = ek_order_schedule(order);
    const ek_shape *shape = ek_order_shape(order);
    int p = shape->n_stages, n = p * shape->n_chunks, at[3] = {0}, n_left;
    size_t per_stage = ek_schedule_blocks_per_stage(schedule, shape);
    double end[EK_N_BLOCK_KINDS][MOST_CELLS][MOST_MICRO], free_at[3] = {0}, held[3];
    ek_block block[3][3 * MOST_CELLS * MOST_MICRO];
    slow_cost cost[MOST_CELLS];
    slow out = {0};
    slow_costs(layers, plan, schedule, cost);
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
        for (int c = 0; c < MOST_CELLS; c++)
            for (int b = 0; b < MOST_MICRO; b++)
                end[k][c][b] = NAN;
    for (int s = 0; s < p; s++) {
        schedule->stage_order(shape, s, block[s]);
        held[s] = layers->const_mb;
        out.largest_mb = fmax(out.largest_mb, fabs(held[s]));
        for (int c = s; c < n; c += p) {
            held[s] += cost[c].parameter_mb;
            out.largest_mb += fabs(cost[c].parameter_mb) + shape->n_micro_batches * cost[c].activation_mb;
        }
        out.peak_mb[s] = held[s];
    }
    out.largest_mb += fabs(layers->head.parameter_mb) + fabs(layers->tail.parameter_mb);
    do {
        n_left = 0;
        for (int s = 0; s < p; s++)
            for (; at[s] < (int)per_stage; at[s]++) {
                const ek_block *b = &block[s][at[s]];
                int cell = b->chunk * p + s, q = 0, m = (int)b->micro_batch;
                while (ek_cell_at(schedule->placement, p, q) != cell)
                    q++;
                double after = b->kind == EK_BACKWARD_WEIGHT ? end[EK_BACKWARD][cell][m]
                               : b->kind == EK_FORWARD
                                   ? (q == 0 ? 0 : end[EK_FORWARD][ek_cell_at(schedule->placement, p, q - 1)][m])
                               : q == n - 1 ? end[EK_FORWARD][cell][m]
                                            : end[EK_BACKWARD][ek_cell_at(schedule->placement, p, q + 1)][m];
                if (isnan(after))
                    break;
                free_at[s] = end[b->kind][cell][m] = fmax(free_at[s], after) + cost[cell].time[b->kind];
                out.step = fmax(out.step, free_at[s]);
                double share = schedule->splits_backward ? EK_WEIGHT_SHARE : 0;
                if (b->kind == EK_BACKWARD)
                    out.peak_mb[s] = fmax(out.peak_mb[s], held[s] + cost[cell].transient_mb);
                held[s] += cost[cell].activation_mb * (b->kind == EK_FORWARD    ? 1
                                                       : b->kind == EK_BACKWARD ? -(1 - share)
                                                                                : -share);
                out.peak_mb[s] = fmax(out.peak_mb[s], held[s]);
            }
        for (int s = 0; s < p; s++)
            n_left += (int)per_stage - at[s];
    } while (n_left > 0);
    return out;
}

static bool close_to(double a, double b, double scale)
{
    return fabs(a - b) <= 1e-9 * fmax(scale, fmax(fabs(a), fabs(b)));
}

/* ---- sound models ---- */

/* A plan of the model with any lists. */
static void random_plan(ek__random *r, const ek_layers *layers, ek_plan *plan)
{
    int n = plan->n_stages * plan->n_chunks;
    for (int c = 0; c < n; c++)
        plan->layers[c] = plan->full[c] = plan->select[c] = plan->comm[c] = 0;
    for (int l = 0; l < layers->n_layers; l++)
        plan->layers[ek__random_below(r, n)]++;
    for (int c = 0; c < n; c++) {
        plan->full[c] = ek__random_below(r, plan->layers[c] + 1);
        plan->select[c] = ek__random_below(r, plan->layers[c] + 1);
        plan->comm[c] = ek__random_below(r, plan->layers[c] + 1);
    }
}

/* Is the timeline that of the slow simulation? */
static bool agrees(const ek_order *order, const ek_layers *layers, const ek_plan *plan, double *step)
{
    ek_error err;
    ek_timeline t;
    assert_int_equal(ek_simulate(order, plan, layers, NULL, &t, &err), EK_OK);
    slow expected = slow_run(order, layers, plan);
    bool same = close_to(t.step_time, expected.step, 0);
    for (int s = 0; s < plan->n_stages; s++)
        same &= close_to(t.peak_mb[s], expected.peak_mb[s], expected.largest_mb);
    *step = expected.step;
    ek_timeline_clear(&t);
    return same;
}

typedef struct counts {
    long simulated, refused_kinds, balanced, fits, none_fits, broken, options;
} counts;

static void simulate_sound(ek__random *r, const model *x, const ek_order *order, counts *n)
{
    ek_error err;
    ek_timeline t;
    ek_plan plan;
    double step;
    const ek_shape *shape = ek_order_shape(order);
    assert_int_equal(ek_plan_init(&plan, shape->n_stages, shape->n_chunks, &err), EK_OK);
    random_plan(r, &x->layers, &plan);
    /* Times of unmodelled kinds may contradict each other; then a message is required. */
    if (ek_plan_check(&plan, &x->layers, NULL) && ek_simulate(order, &plan, &x->layers, NULL, &t, &err)) {
        assert_non_null(strstr(err.message, "not modelled"));
        n->refused_kinds++;
    } else {
        if (!ek_plan_check(&plan, &x->layers, NULL)) {
            assert_int_equal(ek_simulate(order, &plan, &x->layers, NULL, &t, &err), EK_OK);
        }
        ek_timeline_clear(&t);
        if (!agrees(order, &x->layers, &plan, &step))
            fail_msg("the simulation of a random plan is not the slow one");
        n->simulated++;
    }
    ek_plan_clear(&plan);
}

static void set_options(ek__random *r, ek_balance_options *options)
{
    static const char *const solver[] = {"exhaustive", "branch", "staged", "anneal", "branch", "exhaustive"};
    ek_balance_options_init(options);
    options->n_threads = 1;
    options->proof_limit = 0.01;
    options->time_limit = 2;
    options->n_steps = 20;
    options->min_layers = ek__random_below(r, 2);
    options->memory_limit_mb = random_number(r, 3e10);
    if (ek__random_below(r, 2))
        options->memory_limit_mb = 20 + ek__random_below(r, 2000);
    options->solver = solver[ek__random_below(r, 6)];
    if (!(options->memory_limit_mb > 0))
        options->memory_limit_mb = 1;
}

static void balance_sound(ek__random *r, const model *x, const ek_order *order, counts *n)
{
    ek_error err;
    ek_balance_options options;
    ek_balance_result result;
    double step;
    const ek_shape *shape = ek_order_shape(order);
    set_options(r, &options);
    ek_status status = ek_balance(&x->layers, order, &options, &result, &err);
    if (options.min_layers * shape->n_stages * shape->n_chunks > x->layers.n_layers) {
        assert_int_equal(status, EK_ERR_INPUT);
        return;
    }
    if (status)
        fail_msg("%s: %s", options.solver, err.message);
    n->balanced++;
    bool fits = result.status != EK_BALANCE_INFEASIBLE;
    const ek_plan *plan = fits ? &result.plan : &result.fit_plan;
    double limit = fits ? options.memory_limit_mb : result.smallest_limit_mb;
    assert_int_equal(ek_plan_check(plan, &x->layers, &err), EK_OK);
    for (int c = 0; c < shape->n_stages * shape->n_chunks; c++)
        assert_true(plan->layers[c] >= options.min_layers);
    assert_true(agrees(order, &x->layers, plan, &step));
    slow expected = slow_run(order, &x->layers, plan);
    for (int s = 0; s < shape->n_stages; s++)
        if (expected.peak_mb[s] > limit + 1e-8 * fmax(expected.largest_mb, limit))
            fail_msg("%s: stage %d holds %.17g of %.17g", options.solver, s, expected.peak_mb[s], limit);
    n->fits += fits;
    n->none_fits += !fits;
    if (!fits)
        return ek_balance_result_clear(&result);
    if (!close_to(result.step_time, step, 0))
        fail_msg("%s: step %.17g, not %.17g", options.solver, result.step_time, step);
    assert_true(result.lower_bound >= 0 && result.lower_bound <= result.step_time);
    assert_true(result.gap >= 0 && result.gap <= 1);
    ek_balance_result_clear(&result);
}

/* ---- broken models ---- */

/* Puts a value out of its range; returns the name that the message must contain. */
typedef const char *(*breakage)(ek__random *r, model *x);

static double no_number(ek__random *r, double beyond)
{
    const double bad[] = {NAN, INFINITY, -INFINITY, -1e300, beyond, 1e300};
    return bad[ek__random_below(r, 6)];
}

static ek_layer *any_layer(ek__random *r, model *x)
{
    int i = ek__random_below(r, x->layers.n_body + 2);
    return i == 0 ? &x->layers.head : i == 1 ? &x->layers.tail : &x->body[i - 2];
}

static ek_layer *any_body(ek__random *r, model *x)
{
    return &x->body[ek__random_below(r, x->layers.n_body)];
}

static const char *break_forward(ek__random *r, model *x)
{
    any_layer(r, x)->forward_time = no_number(r, 1.1e12);
    return "forward_time";
}

static const char *break_backward(ek__random *r, model *x)
{
    any_layer(r, x)->backward_time[ek__random_below(r, EK_N_RECOMPUTE)] = no_number(r, 1.1e12);
    return "backward_time";
}

static const char *break_weight(ek__random *r, model *x)
{
    ek_layer *layer = any_layer(r, x);
    layer->weight_time = no_number(r, 1.1e12);
    return "weight_time";
}

static const char *break_weight_share(ek__random *r, model *x)
{
    ek_layer *layer = any_body(r, x);
    int k = 0;
    while (!x->layers.modelled[k])
        k++;
    layer->backward_time[k] = ek__random_below(r, 10);
    layer->weight_time = layer->backward_time[k] + 1;
    return "weight_time";
}

static const char *break_parameter(ek__random *r, model *x)
{
    any_layer(r, x)->parameter_mb = no_number(r, 1.1e9);
    return "parameter_mb";
}

static const char *break_body_parameter(ek__random *r, model *x)
{
    any_body(r, x)->parameter_mb = -1 - ek__random_below(r, 10);
    return "parameter_mb";
}

static const char *break_activation(ek__random *r, model *x)
{
    any_layer(r, x)->activation_mb[ek__random_below(r, EK_N_RECOMPUTE)] = no_number(r, 1.1e9);
    return "activation_mb";
}

static const char *break_constant(ek__random *r, model *x)
{
    x->layers.const_mb = no_number(r, 1.1e9);
    return "const_mb";
}

static const char *break_sum(ek__random *r, model *x)
{
    static const int by[] = {-1, 1, 4096, -100, 1 << 30};
    x->layers.n_layers += by[ek__random_below(r, 5)];
    return "add up";
}

static const char *break_count(ek__random *r, model *x)
{
    static const int bad[] = {0, -1, INT_MIN, INT_MAX, EK_MAX_LAYERS + 1};
    any_body(r, x)->n_layers = bad[ek__random_below(r, 5)];
    return "n_layers";
}

static const char *break_kinds_of_body(ek__random *r, model *x)
{
    static const int bad[] = {0, -1, INT_MIN, INT_MAX, EK_MAX_BODY_KINDS + 1};
    x->layers.n_body = bad[ek__random_below(r, 5)];
    return "n_body";
}

static const char *break_body(ek__random *r, model *x)
{
    (void)r;
    x->layers.body = NULL;
    return "body";
}

static const char *break_modelled(ek__random *r, model *x)
{
    (void)r;
    memset(x->layers.modelled, 0, sizeof x->layers.modelled);
    return "no kind of recomputation";
}

static const char *break_modelled_body(ek__random *r, model *x)
{
    ek_layer *layer = any_body(r, x);
    int k = ek__random_below(r, EK_N_RECOMPUTE);
    layer->modelled[k] = false;
    x->layers.modelled[k] = true;
    return "modelled";
}

static const char *break_transient(ek__random *r, model *x)
{
    x->layers.modelled[EK_RECOMPUTE_NONE] = false;
    x->layers.modelled[EK_RECOMPUTE_FULL] = x->layers.recompute_transient = true;
    for (int b = 0; b < x->layers.n_body; b++) {
        x->body[b].modelled[EK_RECOMPUTE_FULL] = true;
        x->body[b].weight_time = 0;
    }
    any_body(r, x)->modelled[EK_RECOMPUTE_NONE] = false;
    return "restored by recomputation";
}

static const char *break_name(ek__random *r, model *x)
{
    char *name = ek__random_below(r, 2) ? x->layers.name : any_layer(r, x)->name;
    memset(name, 'x', EK_NAME_SIZE);
    return "name";
}

static const char *break_fit(ek__random *r, model *x)
{
    x->layers.fit.n_residuals = ek__random_below(r, 2) ? -1 : 3;
    return "residuals";
}

static const breakage breakages[] = {
    break_forward,        break_backward,   break_weight,   break_weight_share,  break_parameter,
    break_body_parameter, break_activation, break_constant, break_sum,           break_count,
    break_kinds_of_body,  break_body,       break_modelled, break_modelled_body, break_transient,
    break_name,           break_fit,
};
enum { N_BREAKAGES = sizeof breakages / sizeof *breakages };

static void expect_refusal(ek_status status, const ek_error *err, const char *what)
{
    assert_int_equal(status, EK_ERR_INPUT);
    if (!strstr(err->message, what))
        fail_msg("'%s' does not say %s", err->message, what);
}

/* Everything that calculates with a model refuses it. */
static void all_refuse(const ek_layers *layers, const ek_order *order, const char *what)
{
    ek_error err;
    ek_timeline t;
    ek_balance_options options;
    ek_balance_result result;
    ek_order *made;
    ek_quick quick;
    ek_choice choice;
    ek_sweep sweep;
    ek_plan plan;
    const ek_shape *shape = ek_order_shape(order);
    const double limit = 1000;
    ek_balance_options_init(&options);
    assert_int_equal(ek_plan_init(&plan, shape->n_stages, shape->n_chunks, &err), EK_OK);
    plan.layers[0] = layers->n_layers > 0 ? layers->n_layers : 0;
    const ek_ranking_input ranking = {.layers = layers, .n_stages = 2, .n_micro_batches = 4, .options = options};
    const ek_sweep_input swept = {.layers = layers,
                                  .n = 1,
                                  .value = &limit,
                                  .n_stages = 2,
                                  .n_chunks = 1,
                                  .n_micro_batches = 4,
                                  .options = options};
    expect_refusal(ek_layers_check(layers, &err), &err, what);
    expect_refusal(ek_simulate(order, &plan, layers, NULL, &t, &err), &err, what);
    expect_refusal(ek_balance(layers, order, &options, &result, &err), &err, what);
    expect_refusal(ek_balance_arranged(layers, ek_order_schedule(order), shape, &options, &made, &result, &err), &err,
                   what);
    expect_refusal(ek_order_for_plan(layers, &plan, ek_order_schedule(order), shape, &options, &made, &err), &err,
                   what);
    expect_refusal(ek_rank_schedules(&ranking, &choice, &err), &err, what);
    expect_refusal(ek_sweep_run(&swept, &sweep, &err), &err, what);
    if (ek_order_schedule(order)->family == EK_SCHEDULE_1F1B && shape->n_stages > 1 && shape->n_chunks == 1)
        expect_refusal(ek_quick_tune(layers, order, NULL, 1000, 0, &quick, &err), &err, what);
    ek_plan_clear(&plan);
}

static long n_models(void)
{
    const char *text = getenv("EK_MODELS");
    return text && atol(text) > 0 ? atol(text) : USUAL_MODELS;
}

static void every_model_is_refused_or_right(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(1);
    pipelines all = {0};
    counts n = {0};
    make_pipelines(&all);
    for (long i = 0; i < n_models(); i++) {
        model x;
        ek_error err;
        const ek_order *order = all.order[ek__random_below(&r, all.n)];
        fill_model(&r, &x);
        if (ek_layers_check(&x.layers, &err))
            fail_msg("model %ld: %s", i, err.message);
        if (i % 2) {
            const char *what = breakages[ek__random_below(&r, N_BREAKAGES)](&r, &x);
            all_refuse(&x.layers, order, what);
            n.broken++;
            continue;
        }
        simulate_sound(&r, &x, order, &n);
        if (i % 8 == 0)
            balance_sound(&r, &x, order, &n);
    }
    free_pipelines(&all);
    print_message("# %ld models were refused; %ld plans simulated alike, %ld of kinds without times refused; %ld "
                  "balanced, %ld of which fit\n",
                  n.broken, n.simulated, n.refused_kinds, n.balanced, n.fits);
    assert_true(n.simulated > n_models() / 4 && n.fits > n_models() / 100 && n.none_fits > n_models() / 200);
    assert_true(n.refused_kinds > 0);
}

/* The model of the examples below: sound, small. */
static void plain_model(model *x)
{
    static const ek_layer layer = {.name = "decoder",
                                   .n_layers = 6,
                                   .forward_time = 2,
                                   .backward_time = {4, 4, 4, 4, 6},
                                   .weight_time = 2,
                                   .parameter_mb = 10,
                                   .activation_mb = {20, 0, 0, 0, 5},
                                   .modelled = {true, false, false, false, true}};
    *x = (model){.body = {layer}, .layers = {.n_body = 1, .body = x->body, .n_layers = 6}};
    x->layers.modelled[EK_RECOMPUTE_NONE] = x->layers.modelled[EK_RECOMPUTE_FULL] = true;
}

static ek_order *plain_order(void)
{
    const ek_shape shape = {.n_stages = 2, .n_chunks = 1, .n_micro_batches = 4};
    ek_order *order;
    assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, NULL), EK_OK);
    return order;
}

/* A message names the layer and the member. */
static void refusals_name_layer_and_member(void **state)
{
    (void)state;
    model x;
    ek_error err;
    plain_model(&x);
    x.body[0].backward_time[EK_RECOMPUTE_FULL] = NAN;
    assert_int_equal(ek_layers_check(&x.layers, &err), EK_ERR_INPUT);
    assert_string_equal(err.message,
                        "body layer kind 0 'decoder': backward_time of recomputation 'full' is nan, expected "
                        "a number from 0 to 1e+12");
    plain_model(&x);
    x.layers.head.activation_mb[EK_RECOMPUTE_NONE] = INFINITY;
    snprintf(x.layers.head.name, sizeof x.layers.head.name, "embedding");
    assert_int_equal(ek_layers_check(&x.layers, &err), EK_ERR_INPUT);
    assert_string_equal(err.message,
                        "head 'embedding': activation_mb of recomputation 'none' is inf, expected a number "
                        "from 0 to 1e+09");
    plain_model(&x);
    x.layers.n_layers = 7;
    assert_int_equal(ek_layers_check(&x.layers, &err), EK_ERR_INPUT);
    assert_string_equal(err.message,
                        "n_layers of the model is 7, but its body layers add up to 6; it must be their sum, "
                        "at most 4096");
}

/* Errors that random models found, by hand. */
static void expect_smallest_limit(const model *x, const char *solver, double smallest)
{
    ek_error err;
    ek_balance_result result;
    ek_balance_options options;
    ek_order *order = plain_order();
    ek_balance_options_init(&options);
    options.memory_limit_mb = 100;
    options.solver = solver;
    options.proof_limit = 0;
    assert_int_equal(ek_balance(&x->layers, order, &options, &result, &err), EK_OK);
    assert_int_equal(result.status, EK_BALANCE_INFEASIBLE);
    assert_true(close_to(result.smallest_limit_mb, smallest, 0));
    ek_balance_result_clear(&result);
    ek_order_free(order);
}

static void what_is_above_a_limit_does_not_fit(void **state)
{
    (void)state;
    static const char *const solver[] = {"staged", "branch", "exhaustive", "milp"};
    for (size_t i = 0; i < sizeof solver / sizeof *solver; i++) {
        model x;
        plain_model(&x);
        x.body[0].parameter_mb = x.body[0].activation_mb[EK_RECOMPUTE_NONE] = 0;
        x.body[0].activation_mb[EK_RECOMPUTE_FULL] = 0;
        x.layers.head.parameter_mb = 200; /* beside layers that weigh nothing */
        expect_smallest_limit(&x, solver[i], 200);
        plain_model(&x);
        x.body[0].parameter_mb = 0;
        x.body[0].activation_mb[EK_RECOMPUTE_NONE] = 0;
        x.body[0].activation_mb[EK_RECOMPUTE_FULL] = 1e9; /* which no plan that fits uses */
        x.layers.const_mb = 100.0001;
        expect_smallest_limit(&x, solver[i], 100.0001);
    }
}

/* Layers of one kind recomputed in full, then layers of another that are not: each has the other's time 1e12 larger. */
static void small_times_count_beside_large_ones(void **state)
{
    (void)state;
    model x;
    ek_error err;
    ek_order *order;
    ek_balance_result result;
    ek_balance_options options;
    double step;
    const ek_shape shape = {.n_stages = 1, .n_chunks = 1, .n_micro_batches = 1};
    assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, &err), EK_OK);
    plain_model(&x);
    x.body[0].forward_time = x.body[0].weight_time = 0;
    x.body[1] = x.body[0];
    x.body[0].backward_time[EK_RECOMPUTE_NONE] = x.body[1].backward_time[EK_RECOMPUTE_FULL] = 1e12;
    x.body[0].backward_time[EK_RECOMPUTE_FULL] = x.body[1].backward_time[EK_RECOMPUTE_NONE] = 0.1234567;
    x.layers.n_body = 2;
    x.layers.n_layers = 12;
    ek_balance_options_init(&options);
    options.solver = "exhaustive";
    assert_int_equal(ek_balance(&x.layers, order, &options, &result, &err), EK_OK);
    assert_true(close_to(result.step_time, 12 * 0.1234567, 0));
    assert_true(agrees(order, &x.layers, &result.plan, &step));
    assert_true(close_to(result.step_time, step, 0));
    ek_balance_result_clear(&result);
    ek_order_free(order);
}

/* ---- options ---- */

typedef struct asked {
    ek_balance_options options;
    const char *what;
} asked;

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    static const int too_few[] = {-5, -1}, too_many[] = {7, -1};
    static const double bad_memory[] = {100, NAN}, bad_edges[] = {1, -1}, bad_slow[] = {1, NAN}, none[] = {0, 1};
    ek_balance_options o;
    ek_balance_options_init(&o);
    asked cases[] = {
        {o, "threads"},
        {o, "memory limit"},
        {o, "memory limit"},
        {o, "memory limit"},
        {o, "time limit"},
        {o, "time limit"},
        {o, "gap"},
        {o, "gap"},
        {o, "proof"},
        {o, "proof"},
        {o, "annealing chain"},
        {o, "micro-batches besides"},
        {o, "least layers"},
        {o, "transfer time"},
        {o, "transfer time"},
        {o, "transfer time"},
        {o, "transfer time between stages 1 and 0"},
        {o, "no solver is called 'oracle'"},
        {o, "memory limit of stage 1"},
        {o, "stage 0 is fixed to -5"},
        {o, "stage 0 is fixed to 7"},
        {o, "activations"},
        {o, "activations"},
        {o, "slowdown of stage 1"},
        {o, "slowdown of stage 0"},
        {o, "forbidden"},
        {o, "chunks"},
    };
    int i = 0;
    cases[i++].options.n_threads = -1;
    cases[i++].options.memory_limit_mb = NAN;
    cases[i++].options.memory_limit_mb = INFINITY;
    cases[i++].options.memory_limit_mb = -1;
    cases[i++].options.time_limit = NAN;
    cases[i++].options.time_limit = 0;
    cases[i++].options.gap = NAN;
    cases[i++].options.gap = 2;
    cases[i++].options.proof_limit = NAN;
    cases[i++].options.proof_limit = -1;
    cases[i++].options.n_steps = -1;
    cases[i++].options.n_more_micro_batches = -1;
    cases[i++].options.min_layers = -1;
    cases[i++].options.comm.p2p_time = NAN;
    cases[i++].options.comm.p2p_time = -1;
    cases[i++].options.comm.p2p_time = INFINITY;
    cases[i++].options.comm.edge_time = bad_edges;
    cases[i++].options.solver = "oracle";
    cases[i++].options.stage_memory_mb = bad_memory;
    cases[i++].options.fixed_layers = too_few;
    cases[i++].options.fixed_layers = too_many;
    cases[i++].options.activation_limit = NAN;
    cases[i++].options.activation_limit = -1;
    cases[i++].options.slowdown = bad_slow;
    cases[i++].options.slowdown = none;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        cases[i].options.forbidden[k] = true;
    i++;
    cases[i++].options.min_layers = INT_MAX;
    assert_int_equal(i, sizeof cases / sizeof *cases);
    model x;
    plain_model(&x);
    const ek_shape shape = {.n_stages = 2, .n_chunks = 1, .n_micro_batches = 4};
    for (int c = 0; c < i; c++) {
        ek_error err;
        ek_order *order;
        ek_balance_result result;
        expect_refusal(
            ek_balance_arranged(&x.layers, ek_schedule_find("1f1b"), &shape, &cases[c].options, &order, &result, &err),
            &err, cases[c].what);
    }
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    model x;
    ek_error err;
    ek_order *order;
    ek_balance_result result;
    ek_balance_options options;
    ek_choice choice;
    const ek_schedule *unknown = ek_schedule_find("2f2b");
    const ek_shape shape = {.n_stages = 2, .n_chunks = 1, .n_micro_batches = 4};
    plain_model(&x);
    ek_balance_options_init(&options);
    assert_null(unknown);
    assert_null(ek_schedule_find(NULL));
    expect_refusal(ek_order_new(unknown, &shape, &order, &err), &err, "no schedule");
    expect_refusal(ek_balance_arranged(&x.layers, unknown, &shape, &options, &order, &result, &err), &err,
                   "no schedule");
    expect_refusal(ek_order_for_plan(&x.layers, NULL, unknown, &shape, &options, &order, &err), &err, "no schedule");
    const ek_ranking_input ranking = {.layers = &x.layers,
                                      .n_stages = 2,
                                      .n_micro_batches = 4,
                                      .options = options,
                                      .n_schedules = 1,
                                      .schedule = &unknown};
    expect_refusal(ek_rank_schedules(&ranking, &choice, &err), &err, "schedule 1");
}

/* Plans of other shapes or layers, and transfers that are no times. */
static void plans_that_do_not_belong_are_refused(void **state)
{
    (void)state;
    model x;
    ek_error err;
    ek_plan plan;
    ek_timeline t;
    ek_order *order = plain_order();
    plain_model(&x);
    assert_int_equal(ek_plan_init(&plan, 2, 1, &err), EK_OK);
    plan.layers[0] = 3;
    plan.layers[1] = 4;
    expect_refusal(ek_simulate(order, &plan, &x.layers, NULL, &t, &err), &err, "places 7 layers");
    plan.layers[1] = 3;
    plan.full[1] = 4;
    expect_refusal(ek_simulate(order, &plan, &x.layers, NULL, &t, &err), &err, "stage 1, chunk 0: recompute is 4");
    plan.full[1] = 0;
    plan.layers[0] = 9;
    plan.layers[1] = -3;
    expect_refusal(ek_simulate(order, &plan, &x.layers, NULL, &t, &err), &err, "-3 layers");
    plan.layers[0] = plan.layers[1] = 3;
    const ek_comm comm = {.p2p_time = NAN};
    expect_refusal(ek_simulate(order, &plan, &x.layers, &comm, &t, &err), &err, "transfer time");
    assert_int_equal(ek_simulate(order, &plan, &x.layers, NULL, &t, &err), EK_OK);
    ek_timeline_clear(&t);
    ek_plan_clear(&plan);
    expect_refusal(ek_plan_check(&plan, &x.layers, &err), &err, "stages must be");
    ek_order_free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_layer_and_member),      cmocka_unit_test(what_is_above_a_limit_does_not_fit),
        cmocka_unit_test(small_times_count_beside_large_ones), cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(unknown_names_are_refused),           cmocka_unit_test(plans_that_do_not_belong_are_refused),
        cmocka_unit_test(every_model_is_refused_or_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
