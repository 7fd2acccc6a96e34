/* Finds bubbles that even equal stages have: the idle share of the schedule's own order, simulated with equal chunks
 * and the layers' mean times, (p - 1) / (v m + p - 1) for 1F1B and its interleaved form. The cost of bubbles in a
 * predicted step is the bubble of its slowest stage; in a measured one that share. The gain is the step of the balanced
 * plan less that of the balanced plan with more chunks per stage, or with half the micro-batch and twice as many of
 * them. Where neither is possible, more micro-batches of today's size remain; the global batch then grows, which is
 * another training, so the effect for equal sequences is reported without a gain. More chunks than eight are not tried:
 * transfers grow with them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"

enum { MOST_CHUNKS = 8 };

typedef struct candidate {
    ek__planned found;
    ek__edit_oracle wish;
    double ms;          /* for as many sequences as today */
    bool halves, grows; /* the micro-batch is halved; the global batch grows */
} candidate;

static void keep_better(candidate *best, candidate *one, double least)
{
    if (one->found.plan.layers && one->ms < best->ms - least) {
        ek_plan_clear(&best->found.plan);
        *best = *one;
        one->found.plan = (ek_plan){0};
    }
    ek_plan_clear(&one->found.plan);
}

/* ---- the share ---- */

/* Mean times of a layer in the plan, with recomputation. */
static ek_chunk_cost mean_cost(const ek__pipeline *p, ek_chunk_cost *cost)
{
    ek_chunk_cost sum = {0};
    ek_plan_costs(&p->plan, &p->layers, p->schedule->placement, cost);
    for (int c = 0; c < p->plan.n_stages * p->plan.n_chunks; c++) {
        sum.forward_time += cost[c].forward_time;
        sum.backward_time += cost[c].backward_time;
        sum.weight_time += cost[c].weight_time;
    }
    return sum;
}

/* The idle share of each stage in a step when all chunks take the same time; NAN where the schedule has no order. */
static ek_status idle_share(const ek__pipeline *p, double *share, ek_error *err)
{
    const ek_shape shape = {p->plan.n_stages, p->plan.n_chunks, p->n_micro_batches, p->n_pieces};
    int n = p->plan.n_stages * p->plan.n_chunks;
    ek_order *order = NULL;
    ek_error why = {0};
    *share = NAN;
    ek_chunk_cost *cost = ek__alloc((size_t)n, sizeof *cost);
    if (!cost)
        return ek__no_memory(err);
    ek_chunk_cost mean = mean_cost(p, cost);
    ek_status status = ek_order_new(p->schedule, &shape, &order, &why);
    double *scratch = status ? NULL : ek__alloc(ek_order_scratch_size(order), sizeof *scratch);
    if (!status && !scratch)
        status = ek__no_memory(&why);
    if (!status) {
        for (int c = 0; c < n; c++)
            cost[c] = mean;
        double busy = (double)p->n_micro_batches * p->plan.n_chunks * (mean.forward_time + mean.backward_time),
               step = ek_order_step_time(order, cost, NULL, scratch);
        *share = fmax(0, 1 - busy / step);
    }
    ek_order_free(order);
    free(scratch);
    free(cost);
    if (status && status != EK_ERR_INPUT && err)
        *err = why;
    return status == EK_ERR_INPUT ? EK_OK : status;
}

/* Share of a step that bubbles take today. */
static double today_share(const ek__pipeline *p, double schedule_share)
{
    const ek_step *step = &p->step;
    return step->n_stages == 0 ? schedule_share : step->stage[step->slowest].seconds[EK_STEP_BUBBLE] / step->seconds;
}

/* ---- other shapes ---- */

static void scale_times(ek_layer *layer, double factor)
{
    layer->forward_time *= factor;
    layer->weight_time *= factor;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        layer->backward_time[k] *= factor;
}

/* Of a micro-batch of another size. */
static void scale_layers(ek_layers *layers, double factor)
{
    scale_times(&layers->head, factor);
    scale_times(&layers->tail, factor);
    for (int b = 0; b < layers->n_body; b++)
        scale_times(&layers->body[b], factor);
}

/* Layers with a choice of recomputation when memory is known, otherwise with today's. */
static ek_status searched_layers(const ek__pipeline *p, ek_layers *layers, ek_error *err)
{
    ek_plan plan = {0};
    ek__pipeline q = *p;
    ek_status status = ek__pipeline_as_it_is(&q, layers, &plan, err);
    ek_plan_clear(&plan);
    if (status || !p->memory_known)
        return status;
    ek_layer *body = layers->body;
    for (int b = 0; b < p->layers.n_body; b++)
        body[b] = p->layers.body[b];
    *layers = p->layers;
    layers->body = body;
    layers->fit = (ek_memory_fit){0};
    return EK_OK;
}

static ek_status try_chunks(const ek__diagnose *d, ek_layers *layers, candidate *best, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    ek_status status = EK_OK;
    const double least = 1e-3 * p->best_ms; /* more chunks cost transfers and memory: not for nothing */
    for (int v = p->plan.n_chunks + 1; v <= MOST_CHUNKS && v * p->plan.n_stages <= layers->n_layers && !status; v++) {
        candidate one = {.wish = {ek_schedule_default(v, 0), v, p->n_micro_batches, 0}};
        if (layers->n_layers % (v * p->plan.n_stages) != 0 || p->n_micro_batches % p->plan.n_stages != 0)
            continue;
        status = ek__pipeline_balance(p, layers, &one.wish, d->options, &one.found, err);
        one.ms = one.found.ms;
        keep_better(best, &one, least);
    }
    return status;
}

static ek_status try_micro_batches(const ek__diagnose *d, ek_layers *layers, candidate *best, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    int batch = d->input->job ? d->input->job->parallel.batch : 1;
    bool halves = batch % 2 == 0;
    candidate one = {.wish = {p->schedule, p->plan.n_chunks, 2 * p->n_micro_batches, halves ? batch / 2 : 0},
                     .halves = halves,
                     .grows = !halves};
    if (one.wish.n_micro_batches > EK_MAX_MICRO_BATCHES || (!halves && best->found.plan.layers))
        return EK_OK;
    if (halves)
        scale_layers(layers, 0.5);
    ek_status status = ek__pipeline_balance(p, layers, &one.wish, d->options, &one.found, err);
    if (halves)
        scale_layers(layers, 2);
    one.ms = one.found.ms / (halves ? 1 : 2);
    keep_better(best, &one, 0);
    return status;
}

/* ---- the finding ---- */

/* "the pipeline's bubbles take 24.1 % of a step, ..." */
static const char *report_shares(const ek__diagnose *d, const char *the, double share)
{
    const ek__pipeline *p = &d->pipeline;
    double today = today_share(p, share);
    return p->measured
               ? ek__pool_format(d->out->pool, "%s pipeline's bubbles take %.1f %% of a step even with equal stages",
                                 the, 100 * share)
               : ek__pool_format(d->out->pool,
                                 "%s pipeline's bubbles take %.1f %% of a step; with equal stages the schedule idles "
                                 "%.1f %% of the pipeline's time",
                                 the, 100 * today, 100 * share);
}

static const char *change_of(const ek__diagnose *d, const candidate *c)
{
    struct ek__pool *pool = d->out->pool;
    if (c->halves)
        return ek__pool_format(pool, "Halve the micro-batch and double their number to %d; the global batch stays.",
                               c->wish.n_micro_batches);
    if (c->grows)
        return ek__pool_format(pool, "Use %d micro-batches a step; the global batch doubles with them.",
                               c->wish.n_micro_batches);
    return ek__pool_format(pool, "Interleave: %d chunks per stage instead of %d.", c->wish.n_chunks,
                           d->pipeline.plan.n_chunks);
}

static const char *caution_of(const ek__diagnose *d, const candidate *c, double gain)
{
    struct ek__pool *pool = d->out->pool;
    const char *peak = d->pipeline.memory_known ? ek__pipeline_peak(&d->pipeline, c->found.peak_mb, pool)
                                                : "no memory limit is known, see `evenkeel memory`";
    if (!peak)
        return NULL;
    if (c->grows)
        return ek__pool_format(pool,
                               "The global batch is a hyperparameter of the training, so this is a different training; "
                               "for the same number of sequences the gain would be %.1f %%; %s.",
                               100e9 * gain / d->step_ns, peak);
    if (c->halves)
        return ek__pool_format(
            pool, "Operators of half the size are less efficient, %s; %s.",
            d->pipeline.measured ? "which is not counted" : "as far as the device's curves include it", peak);
    return ek__pool_format(pool, "More chunks need more memory for activations and more transfers between stages; %s.",
                           peak);
}

static ek_status add(ek__diagnose *d, const candidate *c, double today_ms, double share, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    double gain = (today_ms - c->ms) / 1e3;
    ek_bottleneck b = {.id = "bubble",
                       .topic = EK_TOPIC_BUBBLE,
                       .basis = p->measured ? EK_BASIS_SIMULATED : EK_BASIS_ASSUMED,
                       .cost_seconds = today_share(p, share) * d->step_ns / 1e9,
                       .gain_seconds = c->grows ? NAN : gain, /* of the same training */
                       .peak_mb = c->found.peak_mb};
    const char *shares = report_shares(d, "The", share);
    b.title = shares ? ek__pool_format(d->out->pool, "%s.", shares) : NULL;
    b.setting = ek__pipeline_settings(p, &c->found.plan, &c->wish, ek__framework_of(d), d->out->pool);
    b.change = change_of(d, c);
    b.rests_on = p->measured
                     ? "simulated steps of balanced plans with the layers' measured times, with the current and the "
                       "new number of chunks and micro-batches; the share is that of the schedule with equal stages"
                     : "predicted steps of balanced plans, with the current and the new number of chunks and "
                       "micro-batches; the share is that of the slowest stage";
    b.caution = caution_of(d, c, gain);
    if (!b.caution)
        return ek__no_memory(err);
    ek_status status = ek__bottleneck_show(
        &b,
        (ek_evidence){ek__pool_format(d->out->pool,
                                      "%d stages, %d chunk%s per stage, %d micro-batches: %s step %.2f ms, %.2f "
                                      "ms with the change",
                                      p->plan.n_stages, p->plan.n_chunks, p->plan.n_chunks == 1 ? "" : "s",
                                      p->n_micro_batches, p->measured ? "simulated" : "predicted", today_ms, c->ms),
                      NULL, NULL, -1},
        err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* No change makes them smaller: report their cost only. */
static ek_status add_alone(ek__diagnose *d, double share, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    if (today_share(p, share) < d->options->least_share)
        return EK_OK;
    const char *shares = report_shares(d, "the", share);
    return ek__bottleneck_note(
        d,
        shares ? ek__pool_format(d->out->pool,
                                 "%s (%d stages, %d chunk%s each, %d micro-batches); neither more chunks nor smaller "
                                 "micro-batches %s%s a shorter step",
                                 shares, p->plan.n_stages, p->plan.n_chunks, p->plan.n_chunks == 1 ? "" : "s",
                                 p->n_micro_batches, p->memory_known ? "within the memory limit " : "",
                                 p->measured ? "simulate to" : "are predicted to have")
               : NULL,
        err);
}

ek_status ek__bottleneck_bubble(ek__diagnose *d, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    if (!p->there)
        return ek__bottleneck_needs(d, "bubbles of the pipeline", "layers' times and the plan", ek__how_to_times(d),
                                    err);
    double today = fmin(p->as_it_is_ms, p->best_ms), share;
    if (p->plan.n_stages < 2)
        return EK_OK;
    ek_status status = idle_share(p, &share, err);
    if (status || isnan(share) || !p->best.layers || !(today > 0))
        return status ? status : add_alone(d, share, err);
    candidate best = {.ms = today};
    ek_layers layers;
    status = searched_layers(p, &layers, err);
    if (status)
        return status;
    status = try_chunks(d, &layers, &best, err);
    if (!status)
        status = try_micro_batches(d, &layers, &best, err);
    if (!status)
        status =
            best.found.plan.layers && today - best.ms > 0 ? add(d, &best, today, share, err) : add_alone(d, share, err);
    ek_plan_clear(&best.found.plan);
    ek_layers_clear(&layers);
    return status;
}
