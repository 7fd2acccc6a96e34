/* Builds equal stages as a model of one layer a chunk, so that schedules without a model go through the same simulator
 * and pictures as those with one. */
#include "evenkeel/uniform.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "simulate/order.h"

enum { FORWARD, BACKWARD, INPUT, WEIGHT, SHARE, N_KEYS };
static const char *const key_name[N_KEYS] = {"forward", "backward", "backward_input", "backward_weight",
                                             "weight_activation"};
#define KEYS "forward, backward_input and backward_weight (or backward for both), weight_activation"

/* One name=value; `length` bytes of `text`. */
static ek_status parse_pair(const char *text, size_t length, double value[N_KEYS], ek_error *err)
{
    size_t name = strcspn(text, "=");
    int key = 0;
    while (key < N_KEYS && (strlen(key_name[key]) != name || strncmp(text, key_name[key], name) != 0))
        key++;
    if (name >= length)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%.*s' is not name=value; the names are " KEYS, (int)length,
                        text);
    if (key == N_KEYS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%.*s' is not known; the names are " KEYS, (int)name, text);
    if (!isnan(value[key]))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%s' is given twice", key_name[key]);
    char number[64] = "", *end = number;
    size_t digits = length - name - 1;
    double most = key == SHARE ? 1 : 1e12, x = NAN;
    if (digits > 0 && digits < sizeof number) {
        memcpy(number, text + name + 1, digits);
        number[digits] = '\0';
        /* Neither nan, inf nor hexadecimal. */
        if (strspn(number, "0123456789+-.eE") == digits)
            x = ek__strtod(number, &end);
    }
    if (*end || !(x >= 0 && x <= most))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%s' must be a number from 0 to %g (got '%.*s')",
                        key_name[key], most, (int)digits, text + name + 1);
    value[key] = x;
    return EK_OK;
}

ek_status ek_uniform_parse(const char *text, ek_uniform *out, ek_error *err)
{
    double value[N_KEYS] = {NAN, NAN, NAN, NAN, NAN};
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        ek_status status = parse_pair(at, length, value, err);
        if (status)
            return status;
        at += length;
        if (!*at)
            break;
    }
    bool whole = !isnan(value[BACKWARD]), parts = !isnan(value[INPUT]) || !isnan(value[WEIGHT]);
    if (whole && parts)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "give either backward, or backward_input and backward_weight, not both");
    const int needed[] = {FORWARD, whole ? BACKWARD : INPUT, whole ? BACKWARD : WEIGHT};
    for (int i = 0; i < 3; i++)
        if (isnan(value[needed[i]]))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%s' is missing; the names are " KEYS,
                            key_name[needed[i]]);
    double backward = whole ? value[BACKWARD] : value[INPUT] + value[WEIGHT];
    if (!(value[FORWARD] + backward > 0))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "all times are 0");
    *out = (ek_uniform){.forward_time = value[FORWARD],
                        .backward_time = backward,
                        .weight_time = whole ? backward * EK_WEIGHT_TIME_SHARE : value[WEIGHT],
                        .weight_share = isnan(value[SHARE]) ? EK_WEIGHT_SHARE : value[SHARE],
                        .split_given = !whole,
                        .share_given = !isnan(value[SHARE])};
    return EK_OK;
}

/* p v layers, one a chunk, of 1/v of a stage. */
static ek_status make_model(const ek_uniform *times, int n_stages, int n_chunks, ek_layers *layers, ek_plan *plan,
                            ek_error *err)
{
    assert(n_stages >= 1 && n_chunks >= 1);
    *layers = (ek_layers){.name = "equal stages",
                          .n_body = 1,
                          .n_layers = n_stages * n_chunks,
                          .modelled = {true},
                          .split_known = times->split_given,
                          .body = ek__alloc(1, sizeof *layers->body)};
    if (!layers->body)
        return ek__no_memory(err);
    double v = n_chunks;
    layers->body[0] = (ek_layer){.name = "chunk",
                                 .n_layers = layers->n_layers,
                                 .forward_time = times->forward_time / v,
                                 .backward_time = {times->backward_time / v},
                                 .weight_time = times->weight_time / v,
                                 .activation_mb = {1 / v},
                                 .modelled = {true}};
    ek_status status = ek_plan_init(plan, n_stages, n_chunks, err);
    for (int i = 0; !status && i < n_stages * n_chunks; i++)
        plan->layers[i] = 1;
    return status;
}

static ek_status make_order(const ek_schedule *schedule, const ek_shape *shape, const ek_uniform *times,
                            const ek_comm *comm, double limit, ek_order **order, ek_error *err)
{
    size_t cells = (size_t)shape->n_chunks * (size_t)shape->n_stages, n = 4 * cells + 2 * (size_t)shape->n_stages;
    double *arrays = ek__alloc(n, sizeof *arrays), v = shape->n_chunks;
    if (!arrays)
        return ek__no_memory(err);
    double *forward = arrays, *backward = forward + cells, *weight = backward + cells, *activation = weight + cells;
    double *limits = activation + cells, *edges = limits + shape->n_stages;
    for (size_t i = 0; i < cells; i++) {
        forward[i] = times->forward_time / v;
        backward[i] = (times->backward_time - times->weight_time) / v;
        weight[i] = times->weight_time / v;
        activation[i] = 1 / v;
    }
    for (int s = 0; s < shape->n_stages; s++) {
        limits[s] = limit;
        edges[s] = !comm ? 0 : comm->edge_time ? comm->edge_time[s] : comm->p2p_time;
    }
    ek_profile profile = {forward, backward, weight, activation, times->weight_share, limits, edges};
    ek_status status = ek_order_new_for(schedule, shape, &profile, order, err);
    free(arrays);
    return status;
}

/* Live vectors contain whole counts (and shares of them), so v of them sum up without the rounding of 1/v. */
static void count_live(const ek_order *order, ek_uniform_run *run)
{
    for (int s = 0; s < run->plan.n_stages; s++) {
        const double *vectors;
        const int *cells;
        int held = ek_order_held_cells(order, s, &cells), n = ek_order_live_vectors(order, s, &vectors);
        assert(held >= 1 && n >= 1);
        for (int k = 0; k < n; k++) {
            double sum = 0;
            for (int i = 0; i < held; i++)
                sum += vectors[k * held + i];
            run->live[s] = fmax(run->live[s], sum / run->plan.n_chunks);
        }
        run->peak = fmax(run->peak, run->live[s]);
    }
}

static double widest_span(const ek_timeline *timeline)
{
    double span = 0;
    for (int s = 0; s < timeline->shape.n_stages; s++)
        span = fmax(span, timeline->block[timeline->first[s + 1] - 1].end - timeline->block[timeline->first[s]].start);
    return span;
}

static ek_status check(const ek_schedule *schedule, const ek_shape *shape, const ek_uniform *times, const ek_comm *comm,
                       double limit, ek_error *err)
{
    ek_status status = ek__shape_check(schedule, shape, err);
    if (!status)
        status = ek__comm_check(comm, shape->n_stages, err);
    if (status)
        return status;
    if (!(times->forward_time >= 0 && times->weight_time >= 0 && times->backward_time >= times->weight_time &&
          times->forward_time + times->backward_time <= EK__MAX_TRANSFER))
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "times must be 0 or more, the gradient of the weights at most the backward pass, %g together at "
            "most (got forward %g, backward %g, of which weights %g)",
            EK__MAX_TRANSFER, times->forward_time, times->backward_time, times->weight_time);
    if (!(times->weight_share >= 0 && times->weight_share <= 1) || !(limit >= 0 && limit <= EK_MAX_MICRO_BATCHES))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the share of the activations must be 0 to 1 and their limit 0 to %d (got %g and %g)",
                        EK_MAX_MICRO_BATCHES, times->weight_share, limit);
    return EK_OK;
}

ek_status ek_uniform_simulate(const ek_schedule *schedule, const ek_shape *shape, const ek_uniform *times,
                              const ek_comm *comm, double limit, ek_uniform_run *out, ek_error *err)
{
    ek_order *order = NULL;
    ek_status status = check(schedule, shape, times, comm, limit, err);
    if (status)
        return status;
    ek_uniform_run run = {.times = *times, .limit_given = limit > 0};
    run.activation_limit = limit > 0 ? limit : ek_schedule_activation_limit(schedule, shape->n_stages);
    status = make_order(schedule, shape, times, comm, run.activation_limit, &order, err);
    if (!status)
        status = make_model(times, shape->n_stages, shape->n_chunks, &run.layers, &run.plan, err);
    if (!status)
        status = ek__simulate(order, &run.plan, &run.layers, comm, &run.timeline, err);
    if (!status && !(run.live = ek__alloc((size_t)shape->n_stages, sizeof *run.live)))
        status = ek__no_memory(err);
    if (!status) {
        count_live(order, &run);
        run.bubble_share = run.timeline.bubble.real / (1 + run.timeline.bubble.real);
        run.span = widest_span(&run.timeline);
        assert(run.span <= run.timeline.step_time * (1 + 1e-9));
        *out = run;
    } else {
        ek_uniform_run_clear(&run);
    }
    ek_order_free(order);
    return status;
}

bool ek_uniform_over_limit(const ek_uniform_run *run)
{
    return run->activation_limit > 0 && run->peak > run->activation_limit * (1 + 1e-9);
}

void ek_uniform_run_clear(ek_uniform_run *run)
{
    ek_layers_clear(&run->layers);
    ek_plan_clear(&run->plan);
    ek_timeline_clear(&run->timeline);
    free(run->live);
    *run = (ek_uniform_run){0};
}
