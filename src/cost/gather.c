/* ZeRO-3 and FSDP: weights are gathered layer by layer through a pass, the next layer's while one computes; in the
 * backward pass again, and each layer's gradients are reduced behind its backward. One stream carries all of it, in the
 * order in which it is asked for: the next layer's weights as a layer starts, its gradients as it ends. */
#include <math.h>

#include "cost/data_internal.h"

/* Where computing and the stream stand. */
typedef struct clock {
    double now, sent, traffic;
} clock;

/* @return when it is there */
static double send(clock *k, double seconds)
{
    if (seconds <= 0)
        return k->now;
    k->traffic += seconds;
    return k->sent = fmax(k->sent, k->now) + seconds;
}

static bool alike(const ek__data_layer *a, const ek__data_layer *b)
{
    return a->dense == b->dense && a->expert == b->expert && a->whole == b->whole &&
           a->whole_expert == b->whole_expert && a->wide == b->wide;
}

static ek__layer_traffic price(ek__data_plan *plan, const ek__data_layer *layer)
{
    ek__layer_traffic sum = {.of = layer};
    for (int i = 0; i < EK__N_CLASSES; i++) {
        ek__data_class c = (ek__data_class)i;
        double bytes = ek__class_elements(plan, c, layer) * plan->reduce_bytes;
        sum.gather += ek__route_seconds(plan, &plan->of[c].gather, ek__class_gather_bytes(plan, c, layer));
        sum.each += ek__route_seconds(plan, &plan->of[c].each, bytes);
        sum.once += ek__route_seconds(plan, &plan->of[c].once, bytes);
    }
    return sum;
}

static const ek__layer_traffic *traffic_of(ek__data_plan *plan, int i)
{
    const ek__data_layer *layer = &plan->stage->layer[i];
    for (int k = 0; k < EK__LAYERS_KEPT && plan->layer[k].of; k++)
        if (alike(plan->layer[k].of, layer))
            return &plan->layer[k];
    ek__layer_traffic *slot = &plan->layer[plan->next_layer];
    *slot = price(plan, layer);
    plan->next_layer = (plan->next_layer + 1) % EK__LAYERS_KEPT;
    return slot;
}

static double gather_seconds(ek__data_plan *plan, int i)
{
    return i >= 0 && i < plan->stage->n_layers ? traffic_of(plan, i)->gather : 0;
}

/* Layer i starts once its weights are there; then the next one's are asked for, unless nothing is fetched ahead.
 * @param there  when those of layer i are, where they were fetched ahead; out: likewise of the next one */
static void run_layer(ek__data_plan *plan, clock *k, int i, int next, double seconds, double *there)
{
    bool ahead = plan->job->run.overlap_weights;
    k->now = fmax(k->now, ahead ? *there : send(k, gather_seconds(plan, i)));
    *there = ahead ? send(k, gather_seconds(plan, next)) : 0;
    k->now += seconds;
}

ek__overlap ek__gather_forward(ek__data_plan *plan)
{
    clock k = {0};
    double computed = 0, there = plan->job->run.overlap_weights ? send(&k, gather_seconds(plan, 0)) : 0;
    for (int i = 0; i < plan->stage->n_layers; i++) {
        run_layer(plan, &k, i, i + 1, plan->stage->layer[i].forward, &there);
        computed += plan->stage->layer[i].forward;
    }
    return (ek__overlap){k.traffic, k.now - computed};
}

ek__overlap ek__gather_backward(ek__data_plan *plan, bool each, bool once)
{
    clock k = {0};
    int last = plan->stage->n_layers - 1;
    double computed = 0, kept = 0, there = plan->job->run.overlap_weights ? send(&k, gather_seconds(plan, last)) : 0;
    bool behind = plan->job->run.overlap_gradients;
    for (int i = last; i >= 0; i--) {
        run_layer(plan, &k, i, i - 1, plan->stage->layer[i].backward, &there);
        computed += plan->stage->layer[i].backward;
        const ek__layer_traffic *traffic = traffic_of(plan, i);
        double seconds = (each ? traffic->each : 0) + (once ? traffic->once : 0);
        if (behind)
            send(&k, seconds);
        else
            kept += seconds;
    }
    return (ek__overlap){k.traffic + kept, fmax(k.now, k.sent) + kept - computed};
}
