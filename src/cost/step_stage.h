/* cost/step_stage.h - predicts the times of one stage of a job, for searches over splits of the layers: the same sums
 * as ek_cost_step(), one stage at a time. One chunk a stage. */
#ifndef EK_COST_STEP_STAGE_H
#define EK_COST_STEP_STAGE_H

#include "evenkeel/cost.h"
#include "model/graph.h"
#include "simulate/order.h"

typedef struct ek__stage_pricer ek__stage_pricer;

/* Seconds of a stage. */
typedef struct ek__stage_price {
    ek_status status;
    double forward, backward; /* one micro-batch (all that are accumulated, with one stage), with its wait for weights
                                 and gradients */
    double weight;            /* the part of backward that is the gradient of the weights */
    double after;             /* after its last backward pass, before the norm's barrier */
    double update;            /* after the barrier */
} ek__stage_price;

/* @param job  borrowed; its plan's lists may change between calls, the rest may not
 * @param cache  of the device; it outlives the pricer, and is used for no other job meanwhile */
ek_status ek__stage_pricer_new(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__stage_pricer **out,
                               ek_error *err);
void ek__stage_pricer_free(ek__stage_pricer *pricer);
const ek_order *ek__stage_pricer_order(const ek__stage_pricer *pricer);
const ek__delays *ek__stage_pricer_delays(const ek__stage_pricer *pricer);

/* The stage with the layers and recomputation that the job's plan has for it, of which `first` are before it.
 * O(layers of the stage x operators' parts). */
ek__stage_price ek__stage_price_of(ek__stage_pricer *pricer, int stage, int first);

/* One chunk of a stage, one micro-batch, seconds: its layers, and its wait for weights and gradients. */
typedef struct ek__chunk_price {
    double forward, backward, wait_forward, wait_backward;
} ek__chunk_price;

/* The same of a stage with several chunks that follow one another in the model (EK_PLACE_WRAP).
 * @param first  [n_chunks] layers before each
 * @param chunk  [n_chunks] filled; forward, backward and weight of the result are 0 */
ek__stage_price ek__stage_price_chunks(ek__stage_pricer *pricer, int stage, int n_chunks, const int *first,
                                       ek__chunk_price *chunk);

/* Milliseconds of one layer and micro-batch, without its wait for weights and gradients; those of a job's layers add
 * up. */
ek_layer_times ek__stage_pricer_layer(ek__stage_pricer *pricer, ek__graph_kind kind);
/* Bytes that it saves of a micro-batch. */
ek_status ek__stage_pricer_kept(ek__stage_pricer *pricer, ek__graph_kind kind, ek_recompute recompute, int64_t *kept,
                                ek_error *err);
/* Seconds that an activation takes from each stage to the next, [n_stages]. */
const double *ek__stage_pricer_edges(const ek__stage_pricer *pricer);

/* The step for these times of pipeline, norm and update, with the costs once a step. Not decreasing. */
double ek__stage_pricer_whole(ek__stage_pricer *pricer, double step);

#endif
