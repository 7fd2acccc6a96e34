/* model/layer.h - the interface between the builders of layers: the decoder's skeleton (layer_decoder.c) calls one
 * builder for the attention and one for the feed-forward part. */
#ifndef EK_MODEL_LAYER_H
#define EK_MODEL_LAYER_H

#include "model/graph.h"

/* Values that builders need often. */
typedef struct ek__layer_builder {
    const ek_job *job;
    ek__graph *graph;
    int64_t tokens;       /* T = B S / cp, of one sequence piece with a sequence pipeline; at least 1 */
    int64_t local_tokens; /* Ts = T / t with sequence parallel, otherwise T; at least 1 */
    int64_t t, cp;        /* at least 1 */
    ek_dtype compute;
} ek__layer_builder;

ek__layer_builder ek__layer_builder_for(const ek_job *job, ek__graph *graph);

/* Names of a family's cells and primitives: "attention_norm" or "input_layernorm". The enum lists the names common to
 * several families; a builder for a single family writes its paths itself. */
typedef enum ek__cell {
    EK__CELL_ATTENTION_NORM,
    EK__CELL_ATTENTION,
    EK__CELL_MLP_NORM,
    EK__CELL_MLP,
    EK__N_CELLS
} ek__cell;
/* "CELL.REST" in the job's family, valid as long as the graph is used (interned for the process or in static tables).
 */
const char *ek__op_path(const ek__layer_builder *b, ek__cell cell, const char *rest);

/* "CELL.REST" for a cell outside of the enum; only the cell if rest is "". Kept for the process. */
const char *ek__path_join(const char *cell, const char *rest);

/* Each takes the normed, gathered input (tensor of T x H; MLA takes it before gathering) and returns the tensor of T x
 * H before it is scattered (or summed over t): the skeleton adds the norms, the gathers and scatters, and the residual
 * sums. */
int ek__build_attention_grouped(const ek__layer_builder *b, int x);
int ek__build_attention_latent(const ek__layer_builder *b, int x);
int ek__build_mlp_dense(const ek__layer_builder *b, int x, int intermediate);
/* Takes the normed input before gathering (Ts x H, or T x H without sequence parallel) and returns its output in the
 * same form, since each rank sends its own tokens to experts; shared experts are included. */
int ek__build_mlp_experts(const ek__layer_builder *b, int x);

/* Shorthands on top of graph.h. */

/* Norm of `x`, which has tokens x width elements: gammas as a parameter of `copies`, statistics, and in MindFormers
 * casts to the norm's type and back. `path` is the primitive's, "attention_norm.norm"; the casts and the gammas are
 * next to it. */
int ek__build_norm(const ek__layer_builder *b, const char *path, int x, int64_t tokens, int64_t width, int copies);
/* x, of tokens x in elements, times a matrix [in x out] -> [tokens x out], with the weight's parameter and, if
 * requested, its bias. FLOPs, bytes, needs (x for the gradient of the weight) are set. `weight` is the cell,
 * "attention.wq", with or without the suffix ".weight". */
int ek__build_matmul(const ek__layer_builder *b, const char *path, const char *weight, int x, int64_t tokens,
                     int64_t in, int64_t out, bool bias, int copies);
/* A collective on `x` with the given bytes of output; EK__COMM_GATHER saves only its input if rules.regather. A
 * gather's output has at least the bytes of its input, a scatter's at most, a reduction's the same number.
 * @param comm_after  operator of the graph that patterns name for it; -1: none */
int ek__build_comm(const ek__layer_builder *b, const char *path, ek__comm comm, ek__group group, int x,
                   const char *name, int n_dims, const int64_t *dim, int comm_after);

/* An operator on whole tensors with a given output: on x, and on y unless that is -1. `needs_inputs`: its gradient
 * reads them. */
int ek__build_elementwise(const ek__layer_builder *b, const char *path, const char *name, ek_dtype dtype, int n_dims,
                          const int64_t *dim, int x, int y, bool needs_inputs);
/* The same with x's shape, and a gradient without inputs: casts, copies, rotations by constants. */
int ek__build_like(const ek__layer_builder *b, const char *path, const char *name, ek_dtype dtype, int x);
/* x with some elements set to 0, and the mask of a byte per element that the gradient reads; x itself if `share` is 0.
 * @param share  of the elements, 0 to 1 */
int ek__build_dropout(const ek__layer_builder *b, const char *path, const char *name, double share, int x);
/* A reshape: the same bytes as x. */
int ek__build_view(const ek__layer_builder *b, const char *path, int x, int n_dims, const int64_t *dim);
/* Sets the bytes moved by an operator from its inputs, outputs and needs. */
void ek__op_done(const ek__layer_builder *b, ek__op *op);
/* Linear of MindFormers works on two dimensions: with three there are reshapes around its matmul. The first one is made
 * again in the backward pass; the second one is between its output and the readers. Returns x if there are none
 * (fine-grained interleave is on, or another framework). */
int ek__build_reshape_in(const ek__layer_builder *b, const char *cell, int x);
int ek__build_reshape_out(const ek__layer_builder *b, const char *cell, int x);
/* Before the last matrix of a block: its input stays saved unless the matrix itself is recomputed, so recomputing the
 * maker of that input `requires` it. */
int ek__build_reshape_last(const ek__layer_builder *b, const char *cell, int x);

/* The decoder's skeleton, from graph->output on, or from its own input if that is -1; sets graph->output. Used by
 * ek__graph_build and by the layer of multi-token prediction. */
void ek__build_decoder(const ek__layer_builder *b, bool experts);
/* A norm of the decoder, followed by a gather if sequence parallelism needs one and `gathered` is set. */
int ek__build_gathered_norm(const ek__layer_builder *b, ek__cell cell, int x, bool gathered);
/* Apply products in 8 bits to tensors, inputs of gradients and casts, if the job runs any (products_8_bits.c). */
void ek__graph_put_8_bits(const ek_job *job, ek__graph *graph);
/* The table's lookup, from an empty graph to graph->output. */
void ek__build_embedding(const ek__layer_builder *b);
/* Last norm, lm_head and loss after tensor `x`. */
void ek__build_head(const ek__layer_builder *b, int x);
/* The layer of multi-token prediction: norms of the hidden state and of the next token's embedding, their projection [2
 * H x H], a decoder layer, and its own head and loss. */
void ek__build_prediction(const ek__layer_builder *b);

#endif
