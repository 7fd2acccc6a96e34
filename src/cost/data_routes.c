/* Makes the routes of gradients and weights, with groups and bytes, from the job's states and run. Groups and bytes are
 * those of the prediction of memory (src/memory/persistent.c). Not modelled: two communicators running at the same
 * time. */
#include <math.h>

#include "cost/data_internal.h"

static ek__route route(const ek__data_plan *plan, ek_collective what, ek__dimension dimension)
{
    ek__ranks ranks = ek__placement(plan->job, plan->device, dimension);
    return (ek__route){.on = ranks.n > 1, .what = what, .ranks = ranks, .part = 1};
}

/* Reduce-scatter among the ranks that share states, then all-reduce of the part over its copies. */
static ek__data_routes cut_routes(const ek__data_plan *plan, bool expert)
{
    ek__data_routes r = {
        .each = route(plan, EK_COLLECTIVE_REDUCE_SCATTER, expert ? EK__DIM_EXPERT_SHARD : EK__DIM_SHARD),
        .once = route(plan, EK_COLLECTIVE_ALL_REDUCE, expert ? EK__DIM_EXPERT_REPLICATE : EK__DIM_REPLICATE),
    };
    r.gather = r.each;
    r.gather.what = EK_COLLECTIVE_ALL_GATHER;
    r.shards = fmax(1, r.each.ranks.n);
    r.once.part = 1 / r.shards;
    return r;
}

static ek__route whole_route(const ek__data_plan *plan, bool expert)
{
    return route(plan, EK_COLLECTIVE_ALL_REDUCE, expert ? EK__DIM_EXPERT_DATA : EK__DIM_DATA);
}

/* Tensors with owners: gradients are summed whole, and every rank that owns one broadcasts its part. In a ring each
 * link carries all of a broadcast after n - 1 steps, which equals a gather of n / (n - 1) times as much. */
static ek__data_routes owned_routes(const ek__data_plan *plan, bool expert)
{
    ek__data_routes r = cut_routes(plan, expert);
    double n = r.shards, tensors = 0;
    for (int i = 0; i < plan->stage->n_layers; i++)
        tensors += plan->stage->layer[i].tensors;
    r.each = whole_route(plan, expert);
    r.once.on = false;
    r.gather.part = n > 1 ? n / (n - 1) : 1;
    r.owners = tensors > 0 ? fmin(n, tensors) : n;
    return r;
}

static ek__data_routes routes_of(const ek__data_plan *plan, bool expert)
{
    if (!plan->cut)
        return (ek__data_routes){.each = whole_route(plan, expert), .shards = 1};
    return plan->job->run.owned_tensors ? owned_routes(plan, expert) : cut_routes(plan, expert);
}

static double or_else(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

static void set_bytes(ek__data_plan *plan)
{
    const ek_job_states *s = &plan->job->states;
    double compute = ek_dtype_bytes(plan->job->types.compute), weight = or_else(s->weight, compute);
    plan->reduce_bytes = or_else(plan->job->run.reduce_bytes, or_else(s->gradient, weight));
    plan->wide_bytes = weight;
    if (s->shard_weight)
        plan->wide_bytes = plan->job->rules.gather_after_cast ? compute : or_else(s->gathered, weight);
    plan->gather_bytes = plan->job->run.fp8_gather ? fmin(1, plan->wide_bytes) : plan->wide_bytes;
}

ek__data_plan ek__data_plan_of(const ek_job *job, const ek_device *device, const ek__data_stage *stage)
{
    const ek_job_states *s = &job->states;
    ek__data_plan plan = {.job = job, .device = device, .stage = stage, .basis = EK_COST_MEASURED};
    plan.cut = s->shard_optimizer || s->shard_weight;
    plan.sums_each = job->run.sums_every_micro_batch || (plan.cut && s->shard_gradient);
    /* FSDP frees a layer after its backward pass, also the ones kept gathered; unless it sums gradients whole. */
    plan.keeps = job->rules.weight_gather == EK_GATHER_STEP;
    plan.gathers_layers =
        s->shard_weight && !job->run.gathers_once &&
        (job->rules.weight_gather == EK_GATHER_LAYER || (plan.keeps && job->run.layer_buckets && plan.sums_each));
    set_bytes(&plan);
    plan.of[EK__CLASS_DENSE] = routes_of(&plan, false);
    plan.of[EK__CLASS_WHOLE] = (ek__data_routes){.once = whole_route(&plan, false), .shards = 1};
    plan.of[EK__CLASS_EXPERT] = routes_of(&plan, true);
    plan.of[EK__CLASS_WHOLE_EXPERT] = (ek__data_routes){.once = whole_route(&plan, true), .shards = 1};
    return plan;
}

double ek__route_seconds(ek__data_plan *plan, ek__route *r, double bytes)
{
    if (!r->on || bytes <= 0)
        return 0;
    for (int i = 0; i < r->n; i++)
        if (r->bytes[i] == bytes)
            return r->seconds[i];
    const ek__collective_time time = ek__collective_seconds(plan->device, r->what, &r->ranks, bytes * r->part);
    plan->basis = time.basis > plan->basis ? time.basis : plan->basis;
    plan->error = fmax(plan->error, time.error);
    r->bytes[r->next] = bytes;
    r->seconds[r->next] = time.seconds;
    r->next = (r->next + 1) % EK__ROUTE_SIZES;
    r->n += r->n < EK__ROUTE_SIZES;
    return time.seconds;
}

double ek__class_elements(const ek__data_plan *plan, ek__data_class c, const ek__data_layer *layer)
{
    bool expert = c == EK__CLASS_EXPERT || c == EK__CLASS_WHOLE_EXPERT;
    double all = expert ? layer->expert : layer->dense, whole = expert ? layer->whole_expert : layer->whole;
    if (!plan->cut)
        whole = 0;
    return c == EK__CLASS_WHOLE || c == EK__CLASS_WHOLE_EXPERT ? whole : all - whole;
}

double ek__class_gather_bytes(const ek__data_plan *plan, ek__data_class c, const ek__data_layer *layer)
{
    double n = ek__class_elements(plan, c, layer), wide = c == EK__CLASS_DENSE ? layer->wide : 0;
    return !plan->of[c].gather.on ? 0 : (n - wide) * plan->gather_bytes + wide * plan->wide_bytes;
}

double ek__tied_seconds(ek__data_plan *plan)
{
    double elements = 0;
    int p = plan->job->parallel.pipeline;
    for (int i = 0; i < plan->stage->n_layers; i++)
        elements += plan->stage->layer[i].tied;
    if (elements <= 0 || p <= 1)
        return 0;
    ek__route ends = {.on = true,
                      .what = EK_COLLECTIVE_ALL_REDUCE,
                      .ranks = ek__placement_edge(plan->job, plan->device, p - 1),
                      .part = 1};
    return ek__route_seconds(plan, &ends, elements * plan->reduce_bytes);
}
