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

static double gather_seconds(ek__data_plan *plan, int i)
{
    double sum = 0;
    for (int c = 0; c < EK__N_CLASSES && i >= 0 && i < plan->stage->n_layers; c++)
        sum += ek__route_seconds(plan, &plan->of[c].gather,
                                 ek__class_gather_bytes(plan, (ek__data_class)c, &plan->stage->layer[i]));
    return sum;
}

static double reduce_seconds(ek__data_plan *plan, int i, bool each, bool once)
{
    double sum = 0;
    for (int c = 0; c < EK__N_CLASSES; c++) {
        double bytes = ek__class_elements(plan, (ek__data_class)c, &plan->stage->layer[i]) * plan->reduce_bytes;
        sum += each ? ek__route_seconds(plan, &plan->of[c].each, bytes) : 0;
        sum += once ? ek__route_seconds(plan, &plan->of[c].once, bytes) : 0;
    }
    return sum;
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
        double seconds = reduce_seconds(plan, i, each, once);
        if (behind)
            send(&k, seconds);
        else
            kept += seconds;
    }
    return (ek__overlap){k.traffic + kept, fmax(k.now, k.sent) + kept - computed};
}
