/* cost/step_layers.h - caches priced layers for all layouts with the same ones, and orders of blocks for all with the
 * same shape. */
#ifndef EK_COST_STEP_LAYERS_H
#define EK_COST_STEP_LAYERS_H

#include "cost/layer.h"

typedef struct ek__step_layers ek__step_layers;

/* The cache's place for the job's layers, made when it does not exist. NULL: no memory. Valid until the cache is called
 * with other layers. */
ek__step_layers *ek__cost_cache_layers(ek_cost_cache *cache, const ek_job *job);
/* Price those kinds of layers that the job has and that are not priced yet. */
ek_status ek__step_layers_price(ek__step_layers *layers, const ek_job *job, ek_error *err);
/* A priced layer. */
ek__layer_cost *ek__step_layer(ek__step_layers *layers, ek__graph_kind kind);
/* Bytes of a priced layer, by its recomputation. */
typedef struct ek__layer_bytes {
    int64_t kept;      /* of a micro-batch: program->kept */
    int64_t transient; /* most additional memory of its backward pass, above the memory at its begin */
} ek__layer_bytes;
ek_status ek__step_layer_bytes(ek__step_layers *layers, const ek_job *job, ek__graph_kind kind, ek_recompute recompute,
                               ek__layer_bytes *out, ek_error *err);
/* An order, owned by the cache. */
ek_status ek__step_order(ek__step_layers *layers, const ek_schedule *schedule, const ek_shape *shape, ek_order **out,
                         ek_error *err);

#endif
