/* Builds a layer of multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2). The hidden state and the next
 * token's embedding, each normed, are concatenated, projected from 2 H to H, and passed through a decoder layer to the
 * layer's own norm, head and loss. It is between the last decoder layer and the model's head; its output is that of its
 * decoder, which has the size of the head's input.
 *
 * The head's matrix is the model's, on the same stage, and so is the last norm in MindFormers (Megatron-LM has one for
 * each such layer); neither is counted here. The table is a copy if the stage is not the first; several such layers
 * share it, and each counts its part. Not handled: a full recomputation that excludes the head and the loss. */
#include "model/layer.h"

#include <assert.h>

static bool is_megatron(const ek__layer_builder *b)
{
    return b->job->family == EK_FAMILY_MEGATRON;
}

/* The embedding of the tokens shifted by one. */
static int build_lookup(const ek__layer_builder *b)
{
    ek__graph *g = b->graph;
    const ek_job *job = b->job;
    ek__build_embedding(b);
    assert(g->n_parameters > 0 && g->parameter[0].table);
    if (job->parallel.pipeline > 1) {
        g->parameter[0].elements /= job->model.n_prediction_layers > 1 ? job->model.n_prediction_layers : 1;
        return g->output;
    }
    /* The table is the embedding's, on the same stage. */
    g->n_parameters = 0;
    for (int i = 0; i < g->n_ops; i++)
        g->op[i].parameter = -1;
    return g->output;
}

static int norm(const ek__layer_builder *b, const char *mindformers, const char *megatron, int x)
{
    return ek__build_norm(b, is_megatron(b) ? megatron : mindformers, x, b->local_tokens, b->job->model.hidden,
                          (int)b->t);
}

/* The projection, whole on every rank on its own tokens in MindFormers, cut over t in Megatron. */
static int project(const ek__layer_builder *b, int x)
{
    ek__graph *g = b->graph;
    const int64_t hidden = b->job->model.hidden;
    assert(g->tensor[x].dim[0] == b->local_tokens && g->tensor[x].dim[1] == 2 * hidden);
    if (!is_megatron(b) || b->t == 1)
        return ek__build_matmul(b, is_megatron(b) ? "mtp.eh_proj" : "mtp_hidden_fusers.dense.matmul",
                                is_megatron(b) ? "mtp.eh_proj" : "mtp_hidden_fusers.dense", x, b->local_tokens,
                                2 * hidden, hidden, false, (int)b->t);
    const int64_t wide[] = {b->tokens, 2 * hidden}, all[] = {b->tokens, hidden}, own[] = {b->local_tokens, hidden};
    if (b->local_tokens < b->tokens)
        x = ek__build_comm(b, "mtp.eh_proj.gather", EK__COMM_GATHER, EK__GROUP_TENSOR, x, "gathered", 2, wide,
                           g->tensor[x].producer);
    x = ek__build_matmul(b, "mtp.eh_proj", "mtp.eh_proj", x, b->tokens, 2 * hidden, hidden / b->t, false, 1);
    x = ek__build_comm(b, "mtp.gather_output", EK__COMM_GATHER, EK__GROUP_TENSOR, x, "output", 2, all,
                       g->tensor[x].producer);
    g->op[g->tensor[x].producer].always_recomputed = false; /* no gradient reads it */
    if (b->local_tokens == b->tokens)
        return x;
    return ek__build_elementwise(b, "mtp.slice", "output", b->compute, 2, own, x, -1, false);
}

/* Norm, head and loss; parameters of the model's own head are removed again. */
static void build_own_head(const ek__layer_builder *b, int x)
{
    ek__graph *g = b->graph;
    int first_op = g->n_ops, first_parameter = g->n_parameters;
    ek__build_head(b, x);
    for (int i = first_op; i < g->n_ops; i++) {
        ek__op *op = &g->op[i];
        if (op->parameter < first_parameter)
            continue;
        assert(op->parameter < g->n_parameters);
        if (op->kind == EK__OP_MATMUL)
            g->n_parameters = op->parameter;
        else if (is_megatron(b))
            continue;
        op->parameter = -1;
    }
    if (!is_megatron(b))
        g->n_parameters = first_parameter;
    g->output = x;
}

void ek__build_prediction(const ek__layer_builder *b)
{
    ek__graph *g = b->graph;
    const ek_job *job = b->job;
    const int64_t hidden = job->model.hidden, own[] = {b->local_tokens, hidden}, wide[] = {b->local_tokens, 2 * hidden};
    int embedding = build_lookup(b);
    g->input = ek__add_tensor(g, "layer input", job->types.residual, 2, own);
    int state = norm(b, "mtp_hidden_fusers.norm.norm", "mtp.hnorm", g->input);
    embedding = norm(b, "mtp_hidden_fusers.norm_emb.norm", "mtp.enorm", embedding);
    const char *concat = is_megatron(b) ? "mtp.concat" : "mtp_hidden_fusers.concat";
    int both = ek__build_elementwise(b, concat, "state and embedding", b->compute, 2, wide, state, embedding, false);
    int x = project(b, both);
    if (job->types.residual != b->compute)
        x = ek__build_like(b, "mtp_hidden_fusers.cast", "output", job->types.residual, x);
    g->output = x;
    assert(g->tensor[x].dim[0] == b->local_tokens && g->tensor[x].dim[1] == hidden);
    ek__build_decoder(b, job->model.n_experts > 0);
    build_own_head(b, g->output);
}
