/* Predicts gradients, weights and the optimizer of one stage. The routes come from the job's states (data_routes.c),
 * the exposed time of each pass from buckets.c and gather.c; here they become times of a step: the pass of every
 * micro-batch, and the additional time of the last backward and the first forward.
 *
 * Two constants of the device correct a perfect overlap: of the hideable time the share overlap_share is hidden; while
 * that runs, computing is slower by overlap_slowdown, so that h hidden seconds cost (overlap_slowdown - 1) h more. */
#include <math.h>

#include "base/error.h"
#include "cost/data_internal.h"

typedef struct cost {
    double exposed, hidden, slower;
} cost;

static cost settle(const ek_device *device, ek__overlap overlap)
{
    double could = fmax(0, overlap.traffic - overlap.exposed), hidden = could * device->overlap_share;
    return (cost){overlap.exposed + could - hidden, hidden, hidden * (device->overlap_slowdown - 1)};
}

static cost sum_of(cost a, cost b, double factor)
{
    return (cost){a.exposed + factor * b.exposed, a.hidden + factor * b.hidden, a.slower + factor * b.slower};
}

static ek__overlap backward_of(ek__data_plan *plan, bool each, bool once)
{
    if (!each && !once && !plan->gathers_layers)
        return (ek__overlap){0, 0};
    return plan->gathers_layers ? ek__gather_backward(plan, each, once) : ek__reduce_buckets(plan, each, once);
}

static void add_gradients(ek__data_plan *plan, ek__data_times *out)
{
    const ek_device *device = plan->device;
    cost every = settle(device, backward_of(plan, plan->sums_each, false));
    cost last = sum_of(settle(device, backward_of(plan, true, true)), every, -1);
    double tied = ek__tied_seconds(plan);
    out->backward = every.exposed + every.slower;
    out->reduction = fmax(0, last.exposed) + tied;
    out->slowdown += last.slower;
    out->hidden += plan->stage->n_micro_batches * every.hidden + last.hidden;
}

static void add_weights(ek__data_plan *plan, ek__data_times *out)
{
    if (!plan->cut)
        return;
    cost pass = settle(plan->device, plan->gathers_layers ? ek__gather_forward(plan) : ek__gather_buckets(plan));
    if (plan->gathers_layers) {
        out->forward = pass.exposed + pass.slower;
        out->hidden += plan->stage->n_micro_batches * pass.hidden;
    } else {
        out->first_forward = pass.exposed;
        out->slowdown += pass.slower;
        out->hidden += pass.hidden;
    }
}

static void add_norm(ek__data_plan *plan, ek__data_times *out)
{
    ek__route all = {.on = true,
                     .what = EK_COLLECTIVE_ALL_REDUCE,
                     .ranks = ek__placement(plan->job, plan->device, EK__DIM_WORLD),
                     .part = 1};
    all.on = all.ranks.n > 1;
    out->norm = ek__norm_read_seconds(plan) + ek__route_seconds(plan, &all, sizeof(float));
}

/* By the standard errors of the two constants, t = b / share + us: d t = -(b / share) d log share + d us. */
static double update_error(const ek__data_plan *plan, double streamed)
{
    const ek_device *device = plan->device;
    return hypot((streamed + ek__norm_read_seconds(plan)) * device->optimizer_error, device->optimizer_us_error * 1e-6);
}

ek_status ek__data_parallel(const ek_job *job, const ek_device *device, const ek__data_stage *stage,
                            ek__data_times *out, ek_error *err)
{
    if (!(device->memory_gbs > 0) || !(device->optimizer_share > 0))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "device '%s' has no rate of its memory for the optimizer; give it memory_gbs and "
                        "optimizer_share above 0",
                        device->name);
    ek__data_plan plan = ek__data_plan_of(job, device, stage);
    ek__data_times times = {.optimizer_basis = device->optimizer_basis};
    if (job->run.offload_optimizer)
        times.optimizer_basis = EK_COST_ASSUMED; /* host_gbs */
    add_gradients(&plan, &times);
    add_weights(&plan, &times);
    ek__optimizer_time update = ek__optimizer_seconds(&plan);
    times.optimizer = update.seconds;
    times.basis = plan.basis;
    times.error = plan.error;
    add_norm(&plan, &times);
    times.optimizer_error = update_error(&plan, update.streamed);
    *out = times;
    return EK_OK;
}

ek__data_traffic ek__data_traffic_of(const ek_job *job, const ek_device *device, const ek__data_layer *layer, double n)
{
    const ek__data_stage stage = {.layer = layer, .n_layers = 1, .n_micro_batches = 1};
    ek__data_plan plan = ek__data_plan_of(job, device, &stage);
    ek__data_traffic out = {.gathers_layers = plan.gathers_layers && plan.cut,
                            .gathers_once = plan.cut && !plan.gathers_layers,
                            .keeps = plan.keeps,
                            .sums_each = plan.sums_each};
    ek__data_times times = {0};
    add_norm(&plan, &times);
    out.update_constant = times.norm - ek__norm_read_seconds(&plan) + device->optimizer_us * 1e-6;
    out.update = times.norm + ek__optimizer_seconds(&plan).seconds - out.update_constant;
    for (int i = 0; i < EK__N_CLASSES; i++) {
        ek__data_class c = (ek__data_class)i;
        double bytes = n * ek__class_elements(&plan, c, layer) * plan.reduce_bytes;
        out.gather += ek__route_seconds(&plan, &plan.of[c].gather, n * ek__class_gather_bytes(&plan, c, layer)) / n;
        out.each += ek__route_seconds(&plan, &plan.of[c].each, bytes) / n;
        out.once += ek__route_seconds(&plan, &plan.of[c].once, bytes) / n;
    }
    return out;
}
