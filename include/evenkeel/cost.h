/* evenkeel/cost.h - predicts the step time of a job on a device or cluster, part by part, and the time of a layer
 * (docs/models.md).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_COST_H
#define EVENKEEL_COST_H

#include "evenkeel/decls.h"
#include "evenkeel/device.h"
#include "evenkeel/simulate.h"

EK_BEGIN_DECLS

/** Milliseconds of one layer and micro-batch, of all copies of the batch that run side by side. */
typedef struct ek_layer_times {
    double forward;
    double backward[EK_N_RECOMPUTE]; /**< with recomputation */
    double weight;                   /**< the part of backward that is the gradient of the weights */
} ek_layer_times;

/** The layer of the times. */
typedef enum ek_layer_place {
    EK_LAYER_HEAD,
    EK_LAYER_DENSE,
    EK_LAYER_EXPERTS,
    EK_LAYER_PREDICTION,
    EK_LAYER_TAIL
} ek_layer_place;

/**
 * Times of a layer by its operators: each kernel on the device, at least the host's time to launch them, and exposed
 * communication.
 *
 * @param place  which layer; of EK_LAYER_EXPERTS and EK_LAYER_PREDICTION only where the job has one
 * @return EK_OK; EK_ERR_INPUT where the device lacks a figure that the job needs; EK_ERR_MEMORY. O(operators).
 */
ek_status ek_cost_layer(const ek_job *job, const ek_device *device, ek_layer_place place, ek_layer_times *out,
                        ek_error *err);

/* ---- a step ---- */

/** Parts of a step. */
typedef enum ek_step_part {
    EK_STEP_MATRIX,    /**< matrix products */
    EK_STEP_ATTENTION, /**< fused attention */
    EK_STEP_GROUPED,   /**< experts' products */
    EK_STEP_MEMORY,    /**< operators that are bound by memory */
    EK_STEP_RECOMPUTE, /**< anything that runs again */
    EK_STEP_TENSOR,    /**< exposed communication of tensor parallel groups */
    EK_STEP_CONTEXT,
    EK_STEP_EXPERT,
    EK_STEP_BUBBLE, /**< of the pipeline: a stage waits for others */
    EK_STEP_P2P,    /**< sends and receives while nothing is computed */
    EK_STEP_DATA,   /**< exposed reduction of gradients and gathering of weights */
    EK_STEP_OPTIMIZER,
    EK_STEP_HOST, /**< the device waits for launches */
    EK_STEP_INPUT,
} ek_step_part;
enum { EK_N_STEP_PARTS = 14 };
extern const char *const *const ek_step_part_name;  /**< "matrix", ... as in JSON */
extern const char *const *const ek_step_part_title; /**< "matrix products", ... for people */

/** How one stage spends the step; its parts add up to the step. */
typedef struct ek_step_stage {
    double seconds[EK_N_STEP_PARTS];
    double hidden_data;   /**< seconds of gradients and weights hidden by computing */
    double hidden_tensor; /**< likewise, of tensor parallel groups */
} ek_step_stage;

/** A step. */
typedef struct ek_step {
    double seconds;
    int n_stages;
    ek_step_stage *stage;                 /**< [n_stages] */
    int slowest;                          /**< the stage that computes longest; its parts are the step's */
    ek_cost_basis basis[EK_N_STEP_PARTS]; /**< the weakest figure that a part rests on */
    double error[EK_N_STEP_PARTS]; /**< standard error of each part of the slowest stage, seconds; 0: not known */
    double standard_error;         /**< of the step, seconds; 0: not known */
    double nearest;                /**< distance to the nearest measured shape or layer, in powers of e; NAN: none
                                        is measured */
    double micro_batch_seconds;    /**< forward and backward of the slowest stage, one micro-batch */
} ek_step;

/** Layers that were priced before, for searches over layouts: NULL, or one for a device. Not shared by threads. */
typedef struct ek_cost_cache ek_cost_cache;
/** An empty cache of a device, which is borrowed; NULL when memory is out. */
ek_cost_cache *ek_cost_cache_new(const ek_device *device);
/** Free a cache and its contents. NULL is fine. */
void ek_cost_cache_free(ek_cost_cache *cache);
/** Forget results that depend on the device, keep the others (layers' graphs, schedules that were laid out): for a fit,
 *  which predicts the same jobs on many devices. O(layers in it). */
void ek_cost_cache_reset(ek_cost_cache *cache, const ek_device *device);

/**
 * The step of a job on a cluster. The source of a job's time in every command; ek_metrics_compute() turns its seconds
 * into tokens/s, MFU and HFU.
 *
 * @param cache  of the same device, or NULL
 * @param out    ek_step_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT where the device lacks a figure that the job needs or the framework would not run the
 *         job; EK_ERR_MEMORY. O(operators + stages x chunks x micro-batches).
 */
ek_status ek_cost_step(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek_step *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_step_clear(ek_step *step);

/** Work after the last block of a stage: ends, seconds from the begin of the step. */
typedef struct ek_step_tail {
    double blocks;    /**< of the last block */
    double gradients; /**< reduced, with the computing slowed down by it */
    double barrier;   /**< every stage has arrived: the gradient norm can be summed */
    double update;    /**< norm and optimizer */
    double weights;   /**< gathered for the next forward pass */
} ek_step_tail;

/** A step as it runs. */
typedef struct ek_step_run {
    ek_timeline pipeline; /**< seconds; memory is not followed in it (ek_memory_moments()). Borrows `edge` */
    double *edge;         /**< [n_stages] */
    int repeats;          /**< times that the pipeline runs: accumulated micro-batches of one stage */
    ek_step_tail *tail;   /**< [n_stages] */
    double seconds;       /**< of the step: the last tail, and the costs once a step */
} ek_step_run;

/** Bytes that a stage sends the next one for a micro-batch or sequence piece: its residual stream, each tensor rank its
 *  part with sequence parallelism or where parts are sent and gathered inside the node, which is far faster. */
double ek_cost_border_bytes(const ek_job *job);

/**
 * The step of ek_cost_step(), block by block: `seconds` is the same number. Arguments as there.
 *
 * @param out  ek_step_run_clear() frees it; untouched on failure
 * @return as ek_cost_step(). O(operators + stages x chunks x micro-batches).
 */
ek_status ek_cost_step_run(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek_step_run *out,
                           ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_step_run_clear(ek_step_run *run);

/** Shares of the slowest stage's step by the basis of its parts; they add up to 1. */
void ek_step_basis_share(const ek_step *step, double share[EK_N_COST_BASES]);

EK_END_DECLS
#endif
