/* evenkeel/plan.h - a plan: the number of layers in each chunk of each stage, and their recomputation.
 *
 * ek_plan is the second central type. A plan is stored in the framework's own terms (three recompute lists per chunk),
 * so that the framework can express every plan: each list applies to the first layers of a chunk.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_PLAN_H
#define EVENKEEL_PLAN_H

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/placement.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Layers and recompute lists of every chunk, each array [n_chunks][n_stages] (chunk-major: index i * n_stages + s).
 *  The model runs through the chunks in the order of the schedule's ek_placement; ek_cell_at() has the index of a model
 *  position. With EK_PLACE_BOTH_WAYS there is one chunk for each position, and two stages hold it. */
typedef struct ek_plan {
    int n_stages; /**< p */
    int n_chunks; /**< v, virtual chunks per stage (interleave) */
    int *layers;
    int *full;   /**< `recompute` */
    int *select; /**< `select_recompute` */
    int *comm;   /**< `select_comm_recompute` */
} ek_plan;

/** Layers of one chunk by recompute kind. */
typedef struct ek_chunk_mix {
    int n[EK_N_RECOMPUTE];
} ek_chunk_mix;

/** The cost of one chunk: one micro-batch's times, and memory. Head and tail are included in their chunks. */
typedef struct ek_chunk_cost {
    double forward_time;
    double backward_time;
    double recompute_time; /**< the part of backward_time that recomputation adds */
    double weight_time;    /**< the part of backward_time that is the gradient of the weights */
    double parameter_mb;
    double activation_mb; /**< one micro-batch */
    double transient_mb;  /**< added during the backward pass: the recomputed activations of one layer, the most of any
                               layer; 0 unless ek_layers.recompute_transient */
} ek_chunk_cost;

/**
 * Allocate a plan of zeros.
 *
 * @param plan  ek_plan_clear() frees it; untouched on failure
 * @return EK_OK, EK_ERR_MEMORY, or EK_ERR_INPUT outside the limits of layers.h. O(stages x chunks).
 */
ek_status ek_plan_init(ek_plan *plan, int n_stages, int n_chunks, ek_error *err);
/**
 * A copy that is cleared on its own.
 *
 * @param to  untouched on failure
 * @return as ek_plan_init(). O(stages x chunks).
 */
ek_status ek_plan_copy(const ek_plan *from, ek_plan *to, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_plan_clear(ek_plan *plan);

/**
 * Kinds of a chunk's layers from the three lists (docs/models.md):
 *     FULL = full, BOTH = max(min(select, comm) - full, 0), SELECT = max(select - full - BOTH, 0),
 *     COMM = max(comm - full - BOTH, 0), NONE = the rest.
 */
ek_chunk_mix ek_plan_mix(const ek_plan *plan, int chunk, int stage);

/** Offset of a chunk: its layers minus floor(n_layers / (n_stages x n_chunks)). */
int ek_plan_offset(const ek_plan *plan, int n_layers, int chunk, int stage);

/**
 * Does the plan place this number of layers, each once, with lists within their chunks?
 * @return EK_OK; EK_ERR_INPUT naming stage and chunk, or for numbers of stages and chunks outside the limits of
 *         layers.h. O(stages x chunks).
 */
ek_status ek_plan_check_layers(const ek_plan *plan, int n_layers, ek_error *err);

/**
 * Is the plan one of this model: every layer placed once, lists within the chunk, only modelled kinds?
 * @return as ek_plan_check_layers(). O(stages x chunks).
 */
ek_status ek_plan_check(const ek_plan *plan, const ek_layers *layers, ek_error *err);

/**
 * Cost of every chunk.
 *
 * Forward = sum of the layers' forward times (+ head at the first position of the model, + tail at the last); backward
 * likewise with each layer's recompute kind; with several body kinds a chunk's layers are those that follow the chunks
 * before it in the model. Layer j of a chunk is FULL for j < full, else BOTH for j < min(select, comm), ...
 *
 * @param plan       passes ek_plan_check()
 * @param placement  the schedule's
 * @param cost       [n_chunks][n_stages]
 * O(stages x chunks x body kinds), no allocation, thread-safe.
 */
void ek_plan_costs(const ek_plan *plan, const ek_layers *layers, ek_placement placement, ek_chunk_cost *cost);

/**
 * The number of layers of each body kind and recompute kind in each chunk, as ek_plan_costs() sums their costs.
 *
 * @param plan       passes ek_plan_check()
 * @param placement  the schedule's
 * @param count      out: [n_chunks][n_stages][n_body][EK_N_RECOMPUTE]
 * O(stages x chunks x body kinds), no allocation.
 */
void ek_plan_counts(const ek_plan *plan, const ek_layers *layers, ek_placement placement, int *count);

/**
 * Even split of a model with every layer recomputed as `kind`: floor(L / (p v)) layers a chunk, the first L mod (p v)
 * chunks one more. The two naive strategies of the original.
 *
 * @return as ek_plan_init(). O(stages x chunks).
 */
ek_status ek_plan_even(const ek_layers *layers, int n_stages, int n_chunks, ek_recompute kind, ek_plan *out,
                       ek_error *err);

EK_END_DECLS
#endif
