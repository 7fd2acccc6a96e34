/* cost/layer.h - predicts the passes of one layer as parts of a step. */
#ifndef EK_COST_LAYER_H
#define EK_COST_LAYER_H

#include "evenkeel/cost.h"
#include "model/recompute_kind.h"

/* One pass of a layer over one micro-batch on one rank. */
typedef struct ek__pass {
    double part[EK_N_STEP_PARTS];  /* seconds; kernels and exposed communication, EK_STEP_HOST once it is known */
    double error[EK_N_STEP_PARTS]; /* standard error, seconds; kernels of one kind err together */
    ek_cost_basis basis[EK_N_STEP_PARTS]; /* the weakest basis in a part */
    double hidden_tensor;                 /* seconds of tensor parallel groups hidden by computing */
    double kernels;                       /* that the host launches */
    double near, weight;                  /* sums over kernels with measured neighbours: distance x seconds, seconds */
} ek__pass;

enum { EK__MAX_AGAIN = 12 };

/* A layer. */
typedef struct ek__layer_cost {
    ek__graph_kind kind;
    ek__graph *graph;
    ek__pass forward, backward; /* backward with the gradients of inputs and weights, without recomputation */
    ek__pass weight;            /* the part of backward that is the gradient of the weights */
    int n_again;                /* recomputations priced so far */
    struct {
        ek__recompute what;
        ek__pass pass;
    } again[EK__MAX_AGAIN];
    double factor; /* of all that computes, by the device's measured layers; 1: none */
} ek__layer_cost;

/* Price a layer's graph. O(operators). @param out  ek__layer_cost_clear() frees it. @return EK_OK; EK_ERR_INPUT where
 * the device has no peak or link for it; EK_ERR_MEMORY */
ek_status ek__layer_cost_of(const ek_job *job, const ek_device *device, ek__graph_kind kind, ek__layer_cost *out,
                            ek_error *err);
/* Likewise of an existing graph of the caller: such a layer is not cleared. */
ek_status ek__layer_cost_with(const ek_job *job, const ek_device *device, ek__graph_kind kind, ek__graph *graph,
                              ek__layer_cost *out, ek_error *err);
void ek__layer_cost_clear(ek__layer_cost *layer);
/* The operators that a recomputation runs again in the backward pass. Borrowed from the layer. O(operators) for the
 * first call. */
const ek__pass *ek__layer_again(const ek_job *job, const ek_device *device, ek__layer_cost *layer, ek__recompute what);

/* The two halves of it, for searches over operators. Forward passes of the operators in runs[], summed, before anything
 * is hidden; additive. */
void ek__layer_run(const ek_job *job, const ek_device *device, const ek__layer_cost *layer, const bool *runs,
                   ek__pass *out);
/* Turn such a sum into a recomputation: communication hidden, copies of the batch, the layer's factor; all of it in
 * EK_STEP_RECOMPUTE. */
void ek__layer_finish_again(const ek_job *job, const ek_device *device, const ek__layer_cost *layer,
                            const ek__pass *run, ek__pass *out);

/* Micro-batches of a step, relative to all, with weight gradients that a separate kernel adds to the buffer. */
double ek__layer_gradients_added(const ek_job *job);

/* Add `times` of a pass. */
void ek__pass_add(ek__pass *sum, const ek__pass *pass, double times);
/* Seconds of all its parts. */
double ek__pass_seconds(const ek__pass *pass);
/* Add the device's wait for the host, by ek_device.host times the layer's factor, to EK_STEP_HOST. The embedding and
 * the head are a few operators, not a layer's modules: they have only their kernels' launches. */
void ek__pass_launch(const ek_job *job, const ek_device *device, const ek__layer_cost *layer, ek__pass *pass);

#endif
