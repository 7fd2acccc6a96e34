/* Computes times of a layer for the balancer: the passes of layer.c without their parts. */

#include <string.h>

#include "cost/layer.h"

#define MS_PER_S 1e3

static ek__graph_kind graph_kind(ek_layer_place place)
{
    switch (place) {
    case EK_LAYER_HEAD:
        return EK__GRAPH_EMBEDDING;
    case EK_LAYER_EXPERTS:
        return EK__GRAPH_EXPERTS;
    case EK_LAYER_PREDICTION:
        return EK__GRAPH_PREDICTION;
    case EK_LAYER_TAIL:
        return EK__GRAPH_HEAD;
    case EK_LAYER_DENSE:
    default:
        return EK__GRAPH_DENSE;
    }
}

ek_status ek_cost_layer(const ek_job *job, const ek_device *device, ek_layer_place place, ek_layer_times *out,
                        ek_error *err)
{
    ek__layer_cost layer;
    ek_status status = ek__layer_cost_of(job, device, graph_kind(place), &layer, err);
    if (status)
        return status;
    ek__pass forward = layer.forward;
    ek__pass_launch(job, device, &layer, &forward);
    out->forward = ek__pass_seconds(&forward) * MS_PER_S;
    out->weight = ek__pass_seconds(&layer.weight) * MS_PER_S;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        ek__pass backward = layer.backward;
        ek__pass_add(&backward, ek__layer_again(job, device, &layer, ek__recompute_of_kind(job, (ek_recompute)k)), 1);
        ek__pass_launch(job, device, &layer, &backward);
        out->backward[k] = ek__pass_seconds(&backward) * MS_PER_S;
    }
    ek__layer_cost_clear(&layer);
    return EK_OK;
}
