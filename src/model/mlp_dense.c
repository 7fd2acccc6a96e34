/* Builds the dense feed-forward part: silu(x w1) * (x w3) times w2, or two matrices with GELU between. Columns of the
 * first matrices and rows of the last are cut over the tensor ranks. */
#include "model/layer.h"

#include <assert.h>

static const char *path(const ek__layer_builder *b, const char *rest)
{
    return ek__op_path(b, EK__CELL_MLP, rest);
}

/* A family's names. */
typedef struct words {
    const char *first, *second, *both, *last; /* matrices' cells; `both` is first and second in one */
    const char *silu, *gelu, *mul;            /* primitives */
} words;

static words words_of(const ek__layer_builder *b)
{
    switch (b->job->family) {
    case EK_FAMILY_GLM:
        return (words){"dense_left",
                       "dense_right",
                       "dense_h_to_4h",
                       "dense_4h_to_h",
                       "activation_func.silu.silu",
                       "activation_func.gelu.gelu",
                       "activation_func.mul"};
    case EK_FAMILY_MEGATRON: /* one module: its product is part of it */
        return (words){"linear_fc1",      "linear_fc1",      "linear_fc1",     "linear_fc2",
                       "activation_func", "activation_func", "activation_func"};
    case EK_FAMILY_LLAMA:
        break;
    }
    /* With both inputs from one matrix the activation is a separate cell. */
    const char *silu = b->job->model.qkv_concat ? "activate.silu" : "w1.activation.silu";
    return (words){"w1", "w3", "w_gate_hidden", "w2", silu, "w1.activation.gelu", "mul"};
}

static int build_matrix(const ek__layer_builder *b, const char *cell, int x, int64_t in, int64_t out)
{
    const char *whole = path(b, cell);
    bool module = b->job->family == EK_FAMILY_MEGATRON;
    return ek__build_matmul(b, module ? whole : ek__path_join(whole, "matmul"), whole, x, b->tokens, in, out,
                            b->job->model.linear_bias, 1);
}

static int build_first(const ek__layer_builder *b, const char *cell, int x, int64_t out)
{
    return build_matrix(b, cell, ek__build_reshape_in(b, path(b, cell), x), b->job->model.hidden, out);
}

static int build_activation(const ek__layer_builder *b, const char *rest, int x, int64_t width)
{
    const int64_t dim[] = {b->tokens, width};
    return ek__build_elementwise(b, path(b, rest), "output", b->compute, 2, dim, x, -1, true);
}

static int build_mul(const ek__layer_builder *b, const words *w, int gate, int up, int64_t width)
{
    const int64_t dim[] = {b->tokens, width};
    return ek__build_elementwise(b, path(b, w->mul), "product", b->compute, 2, dim, gate, up, true);
}

/* Gate and up as two matrices. Linear runs its activation inside, before the reshape of its output. */
static int build_two(const ek__layer_builder *b, const words *w, int x, int64_t width)
{
    int gate = build_first(b, w->first, x, width);
    bool inside = b->job->family == EK_FAMILY_LLAMA;
    if (!inside)
        gate = ek__build_reshape_out(b, path(b, w->first), gate);
    gate = build_activation(b, w->silu, gate, width);
    int silu = b->graph->n_ops - 1;
    assert(b->graph->tensor[gate].producer == silu);
    if (inside) {
        int before = b->graph->n_ops;
        gate = ek__build_reshape_out(b, path(b, w->first), gate);
        b->graph->op[silu].requires = b->graph->n_ops > before ? before : -1;
    }
    int up = ek__build_reshape_out(b, path(b, w->second), build_first(b, w->second, x, width));
    return build_mul(b, w, gate, up, width);
}

/* Two matrices, and one operator for activation and product. */
static int build_apart(const ek__layer_builder *b, const words *w, int x, int64_t width)
{
    int gate = build_first(b, w->first, x, width), up = build_first(b, w->second, x, width);
    return build_mul(b, w, gate, up, width);
}

/* Gate and up cut from the output of one matrix: copies, except in Megatron, which works on the halves in place. */
static int build_one(const ek__layer_builder *b, const words *w, int x, int64_t width)
{
    ek__graph *g = b->graph;
    const ek_job_model *m = &b->job->model;
    bool megatron = b->job->family == EK_FAMILY_MEGATRON;
    int both = ek__build_reshape_out(b, path(b, w->both), build_first(b, w->both, x, 2 * width));
    const int64_t dim[] = {b->tokens, width};
    if (m->fused_swiglu)
        return ek__build_elementwise(b, path(b, megatron ? w->mul : "swiglu"), "product", b->compute, 2, dim, both, -1,
                                     true);
    if (megatron) {
        int silu = build_activation(b, w->silu, both, width);
        return build_mul(b, w, silu, both, width);
    }
    ek__op *op = ek__add_op(g, path(b, "split"), EK__OP_ELEMENTWISE);
    ek__op_in(g, op, both);
    int half[2];
    for (int i = 0; i < 2; i++) {
        half[i] = ek__add_tensor(g, i == 0 ? "gate" : "up", b->compute, 2, dim);
        ek__op_out(g, op, half[i]);
    }
    ek__op_done(b, op);
    for (int i = 0; i < 2; i++)
        half[i] = ek__build_reshape_out(b, path(b, ""), half[i]);
    return build_mul(b, w, build_activation(b, w->silu, half[0], width), half[1], width);
}

int ek__build_mlp_dense(const ek__layer_builder *b, int x, int intermediate)
{
    ek__graph *g = b->graph;
    const ek_job_model *m = &b->job->model;
    words w = words_of(b);
    const int64_t width = intermediate / b->t;
    assert(width >= 1 && intermediate % b->t == 0);
    assert(g->tensor[x].dim[0] == b->tokens && g->tensor[x].dim[1] == m->hidden);
    bool one = m->qkv_concat || m->fused_swiglu || b->job->family == EK_FAMILY_MEGATRON;
    if (!m->gated) {
        x = build_activation(b, w.gelu, build_first(b, w.first, x, width), width);
        x = ek__build_reshape_out(b, path(b, w.first), x);
    } else {
        x = m->gate_apart ? build_apart(b, &w, x, width)
            : one         ? build_one(b, &w, x, width)
                          : build_two(b, &w, x, width);
    }
    x = ek__build_reshape_last(b, path(b, w.last), x);
    int out = build_matrix(b, w.last, x, width, m->hidden);
    if (m->linear_bias)
        g->parameter[g->n_parameters - 1].copies = (int)b->t;
    return ek__build_reshape_out(b, path(b, w.last), out);
}
