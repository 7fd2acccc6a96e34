/* Balances schedules that make their order for given times and memory (ek_schedule.arrange). Plan and order depend on
 * each other, so they are computed in turns: balance under the order of an even split, make the order for the plan
 * found, balance under that, and so on while the step gets shorter. Each turn is exact for its order; the alternation
 * need not find the best pair. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/search.h"
#include "base/error.h"
#include "evenkeel/layers.h"

enum { MAX_TURNS = 4 };

static const double LIMIT_TOLERANCE = 1e-9; /* relative: a peak is a sum of many terms */

/* Inputs of a schedule's arrangement, without the plan. */
typedef struct pipeline {
    const ek_layers *layers;
    const ek_schedule *schedule;
    const ek_shape *shape;
    const ek_balance_options *options;
} pipeline;

/* Is it a pipeline of a model that an order can be made for? */
static ek_status check_pipeline(const pipeline *on, ek_error *err)
{
    const ek_balance_options *options = on->options;
    ek_status status = ek__shape_check(on->schedule, on->shape, err);
    if (!status)
        status = ek_layers_check(on->layers, err);
    if (!status)
        status = ek__comm_check(&options->comm, on->shape->n_stages, err);
    if (!status)
        status = ek__factors_check(options->slowdown, on->shape->n_stages, "slowdown of stage", err);
    if (!status)
        status =
            ek__factors_check(options->micro_batch_scale, on->shape->n_micro_batches, "factor of micro-batch", err);
    if (!status && !(options->activation_limit >= 0 && options->activation_limit <= EK_MAX_MICRO_BATCHES))
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                          "the activations that an order is made for must be between 0 and %d (got %g)",
                          EK_MAX_MICRO_BATCHES, options->activation_limit);
    return status;
}

/* An order with the pipeline's speeds and micro-batch costs. */
static ek_status make_order(const pipeline *on, const ek_profile *profile, ek_order **out, ek_error *err)
{
    ek_order *order;
    ek_status status = ek_order_new_for(on->schedule, on->shape, profile, &order, err);
    if (status)
        return status;
    if (on->options->slowdown)
        status = ek_order_slow_stages(order, on->options->slowdown, err);
    if (!status && on->options->micro_batch_scale)
        status = ek_order_scale_micro_batches(order, on->options->micro_batch_scale, err);
    if (status)
        ek_order_free(order);
    else
        *out = order;
    return status;
}

/* The order made for one plan's times, of a schedule that arranges its blocks by them. A stage's activations are
 * counted in micro-batches of all its chunks, so that a limit has the same meaning on every stage. */
static ek_status arrange_for(const pipeline *on, const ek_plan *plan, ek_order **order, ek_error *err)
{
    const ek_balance_options *options = on->options;
    size_t p = (size_t)plan->n_stages, cells = (size_t)plan->n_chunks * p;
    assert(on->schedule->arrange);
    assert(plan->n_stages == on->shape->n_stages && plan->n_chunks == on->shape->n_chunks);
    ek_chunk_cost *cost = ek__alloc(cells, sizeof *cost);
    double *arrays = ek__alloc(4 * cells + 2 * p, sizeof *arrays);
    if (!cost || !arrays) {
        free(cost);
        free(arrays);
        return ek__no_memory(err);
    }
    double *forward = arrays, *backward = forward + cells, *weight = backward + cells, *activation = weight + cells;
    double *limit = activation + cells, *edge = limit + p;
    double held = options->activation_limit > 0 ? options->activation_limit
                                                : ek_schedule_activation_limit(on->schedule, plan->n_stages);
    assert(held > 0);
    assert(ek_plan_check(plan, on->layers, NULL) == EK_OK);
    ek_plan_costs(plan, on->layers, on->schedule->placement, cost);
    for (size_t s = 0; s < p; s++) {
        double sum = 0, slow = options->slowdown ? options->slowdown[s] : 1;
        for (size_t at = s; at < cells; at += p)
            sum += cost[at].activation_mb;
        limit[s] = held;
        edge[s] = options->comm.edge_time ? options->comm.edge_time[s] : options->comm.p2p_time;
        for (size_t at = s; at < cells; at += p) {
            forward[at] = slow * cost[at].forward_time;
            weight[at] = slow * cost[at].weight_time;
            backward[at] = slow * (cost[at].backward_time - cost[at].weight_time);
            activation[at] = sum > 0 ? cost[at].activation_mb / sum : 1.0 / plan->n_chunks;
            assert(activation[at] >= 0 && activation[at] <= 1 + 1e-9);
        }
    }
    ek_profile profile = {forward, backward, weight, activation, EK_WEIGHT_SHARE, limit, edge};
    ek_status status = make_order(on, &profile, order, err);
    free(cost);
    free(arrays);
    return status;
}

static ek_status arrange_for_even(const pipeline *on, ek_order **order, ek_error *err)
{
    ek_recompute kind = EK_RECOMPUTE_NONE;
    while (kind < EK_N_RECOMPUTE - 1 && !on->layers->modelled[kind])
        kind++;
    assert(on->layers->modelled[kind]); /* a model of no kind has no plan */
    ek_plan even;
    ek_status status = ek_plan_even(on->layers, on->shape->n_stages, on->shape->n_chunks, kind, &even, err);
    if (status)
        return status;
    status = arrange_for(on, &even, order, err);
    ek_plan_clear(&even);
    return status;
}

/* How a plan does under an order. */
typedef struct trial {
    double step_time;
    bool fits;
} trial;

static ek_status try_order(const pipeline *on, const ek_plan *plan, const ek_order *order, trial *out, ek_error *err)
{
    ek_timeline timeline;
    ek_status status = ek_simulate(order, plan, on->layers, &on->options->comm, &timeline, err);
    if (status)
        return status;
    *out = (trial){timeline.step_time, true};
    for (int s = 0; s < plan->n_stages; s++) {
        const double *each = on->options->stage_memory_mb;
        double limit = each ? each[s] : on->options->memory_limit_mb;
        out->fits &= limit <= 0 || timeline.peak_mb[s] <= limit * (1 + LIMIT_TOLERANCE);
    }
    ek_timeline_clear(&timeline);
    return EK_OK;
}

static bool better(trial a, trial b)
{
    return a.fits != b.fits ? a.fits : a.step_time < b.step_time;
}

/* The order of a plan: made for its own times, or NULL where that of the even split suits it better. */
static ek_status order_of(const pipeline *on, const ek_plan *plan, const ek_order *even, ek_order **own, trial *result,
                          ek_error *err)
{
    ek_order *made = NULL;
    trial of_even = {0}, of_made = {0};
    ek_status status = arrange_for(on, plan, &made, err);
    if (!status)
        status = try_order(on, plan, even, &of_even, err);
    if (!status)
        status = try_order(on, plan, made, &of_made, err);
    bool is_better = !status && better(of_made, of_even);
    if (!status) {
        *result = is_better ? of_made : of_even;
        assert(result->step_time >= 0);
        assert(of_even.fits != of_made.fits ? result->fits : result->step_time <= of_even.step_time);
        *own = is_better ? made : NULL;
    }
    if (!is_better)
        ek_order_free(made);
    return status;
}

ek_status ek_order_for_plan(const ek_layers *layers, const ek_plan *plan, const ek_schedule *schedule,
                            const ek_shape *shape, const ek_balance_options *options, ek_order **out, ek_error *err)
{
    pipeline on = {layers, schedule, shape, options};
    ek_status status = check_pipeline(&on, err);
    if (status || !schedule->arrange)
        return status ? status : make_order(&on, NULL, out, err);
    status = ek_plan_check(plan, layers, err);
    if (!status && (plan->n_stages != shape->n_stages || plan->n_chunks != shape->n_chunks))
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                          "the plan is for %d stages and interleave %d, the pipeline has %d and %d", plan->n_stages,
                          plan->n_chunks, shape->n_stages, shape->n_chunks);
    if (status)
        return status;
    ek_order *even = NULL, *own = NULL;
    trial result;
    status = arrange_for_even(&on, &even, err);
    if (!status)
        status = order_of(&on, plan, even, &own, &result, err);
    if (!status)
        *out = own ? own : even;
    if (status || own)
        ek_order_free(even);
    return status;
}

/* Until the whole time is over; the last turn takes it all. */
static double time_of_turn(const pipeline *on, int turn, double begin)
{
    double left = on->options->time_limit - (ek__now() - begin);
    return fmax(turn + 1 < MAX_TURNS ? left / 2 : left, 1e-3); /* the first turn always runs */
}

/* An answer under the order made for it; a proof under one order is not valid for all orders. */
static void settle(ek_balance_result *out, double step_time, double bound)
{
    out->step_time = step_time;
    out->lower_bound = fmin(bound, step_time);
    out->gap = step_time > 0 ? (step_time - out->lower_bound) / step_time : 0;
    assert(out->gap >= 0 && out->gap <= 1);
    out->proved_optimal = false;
    if (out->status == EK_BALANCE_OPTIMAL)
        out->status = EK_BALANCE_FEASIBLE;
}

/* Take turns; `own` and `out` hold the best pair so far, NULL being the order of the even split. */
static ek_status alternate(const pipeline *on, const ek_order *even, double begin, ek_order **own,
                           ek_balance_result *out, ek_error *err)
{
    for (int turn = 0; turn < MAX_TURNS && (turn == 0 || !ek__watch_over()); turn++) {
        ek_balance_options options = *on->options;
        options.time_limit = time_of_turn(on, turn, begin);
        ek_balance_result result;
        ek_status status = ek_balance(on->layers, *own ? *own : even, &options, &result, err);
        if (status == EK_ERR_STOPPED && turn > 0)
            return EK_OK;
        if (status)
            return status;
        if (result.status == EK_BALANCE_INFEASIBLE) {
            if (turn == 0)
                *out = result;
            else
                ek_balance_result_clear(&result);
            return EK_OK;
        }
        ek_order *made = NULL;
        trial with_made = {result.step_time, turn == 0}; /* where time is over: under its current order */
        status = order_of(on, &result.plan, even, &made, &with_made, err);
        if (status == EK_ERR_STOPPED) {
            result.status = EK_BALANCE_TIME_LIMIT;
            status = EK_OK;
        }
        bool kept = !status && (turn == 0 || (with_made.fits && with_made.step_time < out->step_time * (1 - 1e-9)));
        if (!kept) {
            ek_order_free(made);
            ek_balance_result_clear(&result);
            return status;
        }
        double bound = fmax(out->lower_bound, result.lower_bound); /* for every order */
        ek_order_free(*own);
        ek_balance_result_clear(out);
        *own = made;
        *out = result;
        settle(out, with_made.step_time, bound);
        if (!made)
            break; /* the next turn would be this one again */
    }
    return EK_OK;
}

/* Alternate between the order of the even split and the answer. The former gets half of the time at most. */
static ek_status balance_in_turns(const pipeline *on, double begin, ek_order **order, ek_balance_result *out,
                                  ek_error *err)
{
    ek_order *even = NULL, *own = NULL;
    ek__watch half;
    ek__watch_begin_share(&half, begin + on->options->time_limit / 2);
    ek_status status = arrange_for_even(on, &even, err);
    ek__watch_end(&half);
    if (!status)
        status = alternate(on, even, begin, &own, out, err);
    if (status || own)
        ek_order_free(even);
    if (status)
        ek_order_free(own);
    else
        *order = own ? own : even;
    return status;
}

/* The order that the schedule always has, and the answer. */
static ek_status balance_under_one(const pipeline *on, double begin, ek_order **order, ek_balance_result *out,
                                   ek_error *err)
{
    ek_balance_options options = *on->options;
    ek_order *made = NULL;
    ek_status status = make_order(on, NULL, &made, err);
    options.time_limit = fmax(options.time_limit - (ek__now() - begin), 1e-3);
    if (!status)
        status = ek_balance(on->layers, made, &options, out, err);
    if (status)
        ek_order_free(made);
    else
        *order = made;
    return status;
}

ek_status ek_balance_arranged(const ek_layers *layers, const ek_schedule *schedule, const ek_shape *shape,
                              const ek_balance_options *options, ek_order **order, ek_balance_result *out,
                              ek_error *err)
{
    double begin = ek__now();
    ek_order *made = NULL;
    ek_balance_result result = {0};
    pipeline on = {layers, schedule, shape, options};
    ek_status status = check_pipeline(&on, err);
    if (!status)
        status = ek__balance_options_check(options, shape->n_stages, err);
    if (status)
        return status;
    ek__watch watch;
    ek__watch_begin(&watch, options->interrupt, begin + options->time_limit);
    if (schedule->arrange) {
        status = balance_in_turns(&on, begin, &made, &result, err);
    } else {
        status = balance_under_one(&on, begin, &made, &result, err);
    }
    ek__watch_end(&watch);
    if (status) {
        ek_balance_result_clear(&result);
        return status;
    }
    assert(made);
    result.seconds = ek__now() - begin;
    *order = made;
    *out = result;
    return EK_OK;
}
