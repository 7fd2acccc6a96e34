/* metrics/flops.h - the terms of a token's FLOPs, and the recomputed share of each. */
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
    EK__TERM_EXPERTS, /* routed experts of a token */
    EK__TERM_SHARED,  /* shared experts */
    EK__TERM_HEAD,
    EK__N_TERMS
} ek__term;

/* The term of an operator in a layer's graph; -1: not a matrix product. Found by the product's position, not by its
 * name, which differs between families. Filled for every operator of the graph. O(operators). */
void ek__graph_terms(const ek__graph *graph, ek__graph_kind kind, int term[EK__MAX_OPS]);

/* Sums over the model's layers of the share of each term's products that the job computes again in the backward pass:
 * again[kind][term] is between 0 and the number of layers of the kind, n_layers[kind]. O(layers + ways to recompute x
 * operators x patterns). */
ek_status ek__recomputed_layers(const ek_job *job, int n_layers[EK__N_GRAPH_KINDS],
                                double again[EK__N_GRAPH_KINDS][EK__N_TERMS], ek_error *err);

/* Parameters of the whole model, and those used to compute a token: all except the experts that the token is not sent
 * to. Shared matrices count once. O(operators). */
ek_status ek__job_parameters(const ek_job *job, double *all, double *active, ek_error *err);

#endif
