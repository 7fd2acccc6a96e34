/* Bubbles that even equal stages have: the simulated step of the balanced plan less that of the balanced plan with more
 * chunks per stage, or with half the micro-batch and twice as many of them. Where neither is possible, more
 * micro-batches of today's size are what is left; the global batch then grows, which is another training, so what that
 * brings for as many sequences is told but no gain is claimed. More chunks than eight are not tried: transfers grow
 * with them. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"

enum { MOST_CHUNKS = 8 };

typedef struct candidate {
    ek_plan plan;
    const ek_schedule *schedule;
    int n_chunks, n_micro_batches;
    double ms;          /* for as many sequences as today */
    bool halves, grows; /* the micro-batch is halved; the global batch grows */
} candidate;

static void keep_better(candidate *best, candidate *one, double least)
{
    if (one->plan.layers && one->ms < best->ms - least) {
        ek_plan_clear(&best->plan);
        *best = *one;
        one->plan = (ek_plan){0};
    }
    ek_plan_clear(&one->plan);
}

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

/* Layers in which recomputation may be chosen when memory is known, and is as it is otherwise. */
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
        candidate one = {.schedule = ek_schedule_default(v, 0), .n_chunks = v, .n_micro_batches = p->n_micro_batches};
        if (layers->n_layers % (v * p->plan.n_stages) != 0 || p->n_micro_batches % p->plan.n_stages != 0)
            continue;
        status = ek__pipeline_balance(p, layers, one.schedule, v, one.n_micro_batches, NULL,
                                      p->memory_known ? p->limit_mb : 1e9, d->options, &one.plan, &one.ms, err);
        keep_better(best, &one, least);
    }
    return status;
}

static ek_status try_micro_batches(const ek__diagnose *d, ek_layers *layers, candidate *best, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    bool halves = d->input->job && d->input->job->parallel.batch % 2 == 0;
    candidate one = {.schedule = p->schedule,
                     .n_chunks = p->plan.n_chunks,
                     .n_micro_batches = 2 * p->n_micro_batches,
                     .halves = halves,
                     .grows = !halves};
    if (one.n_micro_batches > EK_MAX_MICRO_BATCHES || (!halves && best->plan.layers))
        return EK_OK;
    if (halves)
        scale_layers(layers, 0.5);
    ek_status status = ek__pipeline_balance(p, layers, one.schedule, one.n_chunks, one.n_micro_batches, NULL,
                                            p->memory_known ? p->limit_mb : 1e9, d->options, &one.plan, &one.ms, err);
    if (halves)
        scale_layers(layers, 2);
    else
        one.ms /= 2;
    keep_better(best, &one, 0);
    return status;
}

/* ---- the finding ---- */

static const char *change_of(const ek__diagnose *d, const candidate *c)
{
    struct ek__pool *pool = d->out->pool;
    if (c->halves)
        return ek__pool_format(pool, "Halve the micro-batch and double their number to %d; the global batch stays.",
                               c->n_micro_batches);
    if (c->grows)
        return ek__pool_format(pool, "Use %d micro-batches a step; the global batch doubles with them.",
                               c->n_micro_batches);
    return ek__pool_format(pool, "Interleave: %d chunks per stage instead of %d.", c->n_chunks,
                           d->pipeline.plan.n_chunks);
}

static const char *setting_of(const ek__diagnose *d, const candidate *c)
{
    const ek__pipeline *p = &d->pipeline;
    ek_framework framework = ek__framework_of(d);
    bool mindspore = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    if (c->n_chunks != p->plan.n_chunks)
        return ek__pipeline_settings(p, &c->plan, c->schedule, c->n_micro_batches, framework, d->out->pool);
    if (mindspore)
        return ek__pool_format(d->out->pool, "parallel_config.micro_batch_num: %d%s", c->n_micro_batches,
                               c->halves ? "\nrunner_config.batch_size: half of today's" : "");
    return c->halves ? "--micro-batch-size: half of today's" : "--global-batch-size: twice today's";
}

static ek_status add(ek__diagnose *d, const candidate *c, double today_ms, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    double gain = (today_ms - c->ms) / 1e3;
    ek_bottleneck b = {.id = "bubble",
                       .topic = EK_TOPIC_BUBBLE,
                       .basis = p->measured ? EK_BASIS_SIMULATED : EK_BASIS_ASSUMED,
                       .gain_seconds = c->grows ? NAN : gain}; /* of the same training */
    double work = (double)p->n_micro_batches * p->plan.n_chunks,
           share = (p->plan.n_stages - 1) / (work + p->plan.n_stages - 1);
    b.cost_seconds = share * today_ms / 1e3;
    /* Of the measured step, where there is one: the line below gives the same share. */
    double whole = d->out->step_seconds > 0 ? d->out->step_seconds : today_ms / 1e3;
    b.title = ek__pool_format(d->out->pool, "The pipeline's bubbles take %.1f %% of a step even with equal stages.",
                              100 * b.cost_seconds / whole);
    b.setting = setting_of(d, c);
    b.change = change_of(d, c);
    b.rests_on = p->measured
                     ? "simulated steps of balanced plans with the layers' measured times, today's number of "
                       "chunks and micro-batches against these"
                     : "simulated steps of balanced plans with times modelled for the device, today's number of "
                       "chunks and micro-batches against these";
    b.caution = c->grows    ? ek__pool_format(d->out->pool,
                                              "The global batch is a setting of the training itself, so this is no gain "
                                                 "of the same training; for as many sequences it would be %.1f %%.",
                                              100e9 * gain / d->step_ns)
                : c->halves ? "Operators of half the size are less efficient, which is not counted."
                : p->memory_known
                    ? "More chunks hold more activations and send more between stages; the plan is within the limit by "
                      "the layers' predicted memory."
                    : "More chunks hold more activations and send more between stages; no memory limit is known, see "
                      "`evenkeel memory`.";
    ek_status status = ek__bottleneck_show(
        &b,
        (ek_evidence){ek__pool_format(d->out->pool,
                                      "%d stages, %d chunk%s per stage, %d micro-batches: simulated step %.2f ms, %.2f "
                                      "ms with the change",
                                      p->plan.n_stages, p->plan.n_chunks, p->plan.n_chunks == 1 ? "" : "s",
                                      p->n_micro_batches, today_ms, c->ms),
                      NULL, NULL, -1},
        err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

ek_status ek__bottleneck_bubble(ek__diagnose *d, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    if (!p->there)
        return ek__bottleneck_needs(d, "bubbles of the pipeline", "layers' times and the plan", ek__how_to_times(d),
                                    err);
    double today = fmin(p->as_it_is_ms, p->best_ms);
    if (p->plan.n_stages < 2 || !p->best.layers || !(today > 0))
        return EK_OK;
    candidate best = {.ms = today};
    ek_layers layers;
    ek_status status = searched_layers(p, &layers, err);
    if (status)
        return status;
    status = try_chunks(d, &layers, &best, err);
    if (!status)
        status = try_micro_batches(d, &layers, &best, err);
    if (!status && best.plan.layers && today - best.ms > 0)
        status = add(d, &best, today, err);
    ek_plan_clear(&best.plan);
    ek_layers_clear(&layers);
    return status;
}
