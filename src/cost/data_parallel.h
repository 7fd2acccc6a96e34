/* cost/data_parallel.h - predicts gradients, weights and the optimizer of one stage: traffic of data parallel groups by
 * bucket, its part hidden by computing, and the update of the states. */
#ifndef EK_COST_DATA_PARALLEL_H
#define EK_COST_DATA_PARALLEL_H

#include "cost/collective.h"
#include "model/graph.h"

/* A layer of a stage, with the embedding and the head as layers of their own. ek__data_layer_of() fills in the
 * elements.
 */
typedef struct ek__data_layer {
    double dense, expert;       /* elements of its parameters on the rank, only the tensor parallel rank's part */
    double forward, backward;   /* seconds of one micro-batch */
    double whole, whole_expert; /* of these: in parameters that are not cut where states are shared */
    double wide;                /* of `dense` without `whole`: not gathered in 8 bits (tables, norms, biases) */
    double kept;                /* elements that are left of all of them where they are cut (ek__parameter_shards) */
    double tied;    /* of a table with a copy on the other end of the pipeline: their gradients are summed */
    double tensors; /* that `dense` and `expert` come in */
    int chunk;      /* of the stage, from 0; no bucket has layers of two */
    bool end;       /* the embedding or the head: see ek_job_states.gathered_ends */
} ek__data_layer;

/* A stage in the order of the model, all its chunks. */
typedef struct ek__data_stage {
    const ek__data_layer *layer; /* [n_layers] */
    int n_layers;
    int n_micro_batches; /* of a step, with gradient accumulation */
    bool first;          /* of the pipeline: see ek_job_run.first_stage_buckets */
    int in_a_row;        /* micro-batches that a chunk runs before another one does, where chunks interleave; 0: 1 */
} ek__data_stage;

/* Seconds. */
typedef struct ek__data_times {
    double forward, backward; /* exposed in each micro-batch: weights that are gathered layer by layer (ZeRO-3, FSDP),
                                 gradients that are reduced each time; with the slowdown of computing by overlap */
    double first_forward;     /* exposed before or during the first forward pass of the step: weights of ZeRO-1 and -2
                                 that are gathered once */
    double reduction;         /* exposed after the stage's last backward pass */
    double slowdown;          /* added to the last backward and the first forward pass by overlapped traffic */
    double norm;              /* the gradient norm's sum over all ranks, after the reduction of every stage */
    double optimizer;         /* the update of the rank's states */
    double hidden;            /* traffic hidden by computing, all micro-batches */
    ek_cost_basis basis, optimizer_basis;
    double error;           /* standard error of the logarithm; 0: not known */
    double optimizer_error; /* of norm + optimizer, seconds; 0: not known */
} ek__data_times;

/* Formulas: docs/models.md, "Data parallel work". O(layers), allocates nothing.
 * @return EK_OK; EK_ERR_INPUT where the device has no rate of its memory */
ek_status ek__data_parallel(const ek_job *job, const ek_device *device, const ek__data_stage *stage,
                            ek__data_times *out, ek_error *err);

/* Seconds of a layer's collectives, where n alike go in one of each kind and group, of which this is the n-th part: no
 * buckets of theirs take less, since a collective takes less per byte the more there are. */
typedef struct ek__data_traffic {
    double gather, each, once;
    double update, update_constant; /* norm and optimizer: of the layer, and the constant part of a stage */
    bool gathers_layers, gathers_once, keeps, sums_each; /* as ek__data_parallel() has it: gathered in every pass; once
                                              a step; stay so until the backward pass; reduced after each micro-batch */
} ek__data_traffic;
ek__data_traffic ek__data_traffic_of(const ek_job *job, const ek_device *device, const ek__data_layer *layer, double n);

/* Elements of a layer of this kind, times 0. Their cut is that of the prediction of memory for the same parameters.
 * @param has_table  the stage holds the table that a tied head uses */
ek__data_layer ek__data_layer_of(const ek_job *job, const ek__graph *graph, bool has_table);

#endif
