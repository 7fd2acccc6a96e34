/* Predicts the overlap of ZeRO-3 and FSDP: weights are gathered layer by layer in a pass, the next layer's while one
 * computes; in the backward pass again, and each layer's gradients are reduced after its backward. One stream carries
 * all of it, in the order of the requests: the next layer's weights as a layer starts, its gradients as it ends. */
#include <math.h>

#include "cost/data_internal.h"

/* Current times of computing and of the stream. */
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

static double gather_seconds(ek__data_plan *plan, int i, bool backward)
{
    if (i < 0 || i >= plan->stage->n_layers)
        return 0;
    bool kept = plan->keeps || (plan->job->states.gathered_ends && plan->stage->layer[i].end);
    return backward && kept ? 0 : traffic_of(plan, i)->gather;
}

typedef struct pass {
    clock k;
    bool backward;
    double there; /* when the weights of the next layer are, where they are fetched ahead */
    double computed;
} pass;

/* Layer i starts once its weights are gathered; then the next one's are requested, unless prefetching is off. */
static void run_layer(ek__data_plan *plan, pass *p, int i)
{
    const ek__data_layer *layer = &plan->stage->layer[i];
    bool ahead = plan->job->run.overlap_weights;
    double seconds = p->backward ? layer->backward : layer->forward;
    p->k.now = fmax(p->k.now, ahead ? p->there : send(&p->k, gather_seconds(plan, i, p->backward)));
    p->there = ahead ? send(&p->k, gather_seconds(plan, p->backward ? i - 1 : i + 1, p->backward)) : 0;
    p->k.now += seconds;
    p->computed += seconds;
}

static pass start(ek__data_plan *plan, bool backward)
{
    pass p = {.backward = backward};
    if (plan->job->run.overlap_weights)
        p.there = send(&p.k, gather_seconds(plan, backward ? plan->stage->n_layers - 1 : 0, backward));
    return p;
}

ek__overlap ek__gather_forward(ek__data_plan *plan)
{
    pass p = start(plan, false);
    for (int i = 0; i < plan->stage->n_layers; i++)
        run_layer(plan, &p, i);
    return (ek__overlap){p.k.traffic, p.k.now - p.computed};
}

ek__overlap ek__gather_backward(ek__data_plan *plan, bool each, bool once)
{
    pass p = start(plan, true);
    double behind = 0; /* seconds of gradients that wait for the end of the pass */
    for (int i = plan->stage->n_layers - 1; i >= 0; i--) {
        run_layer(plan, &p, i);
        const ek__layer_traffic *traffic = traffic_of(plan, i);
        double seconds = (each ? traffic->each : 0) + (once ? traffic->once : 0);
        if (plan->job->run.overlap_gradients)
            send(&p.k, seconds);
        else
            behind += seconds;
    }
    return (ek__overlap){p.k.traffic + behind, fmax(p.k.now, p.k.sent) + behind - p.computed};
}
