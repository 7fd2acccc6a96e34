/* metrics/flops.h - the terms that the FLOPs of a token are made of, and how much of each is computed a second time. */
#ifndef EK_METRICS_FLOPS_H
#define EK_METRICS_FLOPS_H

#include "model/graph.h"

/* Matrix products of a model. The order is that of a layer. */
typedef enum ek__term {
    EK__TERM_JOIN,   /* of a prediction layer: state and embedding, 2 H, to H */
    EK__TERM_QKV,    /* queries, keys and values, with the narrow matrices of latent attention */
    EK__TERM_SCORES, /* queries times keys, weights times values */
    EK__TERM_OUTPUT, /* of the attention */
    EK__TERM_DENSE,  /* feed-forward part of a dense layer */
    EK__TERM_ROUTER,
    EK__TERM_EXPERTS, /* routed ones, those a token goes to */
    EK__TERM_SHARED,  /* shared experts */
    EK__TERM_HEAD,
    EK__N_TERMS
} ek__term;

/* Which term an operator of a layer's graph belongs to; -1: it is no matrix product. Found by where the product stands,
 * not by its name, which differs from family to family. Filled for every operator of the graph. O(operators). */
void ek__graph_terms(const ek__graph *graph, ek__graph_kind kind, int term[EK__MAX_OPS]);

/* Sums over the model's layers of the share of each term's products that the job computes again in the backward pass:
 * again[kind][term] is between 0 and the number of layers of the kind, n_layers[kind]. O(layers + ways to recompute x
 * operators x patterns). */
ek_status ek__recomputed_layers(const ek_job *job, int n_layers[EK__N_GRAPH_KINDS],
                                double again[EK__N_GRAPH_KINDS][EK__N_TERMS], ek_error *err);

/* Parameters of the whole model, and those that take part in computing a token: all but the experts it does not go to.
 * Shared matrices count once. O(operators). */
ek_status ek__job_parameters(const ek_job *job, double *all, double *active, ek_error *err);

#endif
