/* Builds a decoder layer: norm, attention, sum, norm, feed-forward, sum, and the collectives of tensor parallelism
 * around them. With sequence parallelism all tensors between the blocks are cut over the tensor ranks: the normed
 * tensor is gathered and the block's output scattered; without, the output is summed over the ranks. Not handled: with
 * context parallelism MindFormers' norms on three dimensions are cut over the tensor ranks even without sequence
 * parallelism, which changes their statistics but not their saved output. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "job/job_internal.h"
#include "model/layer.h"

/* The last norm's operator, which patterns for communication name. */
static int last_norm(const ek__graph *graph)
{
    int op = graph->n_ops - 1;
    while (op >= 0 && graph->op[op].kind != EK__OP_NORM)
        op--;
    assert(op >= 0); /* the caller has just built one */
    return op;
}

static bool splits_sequence(const ek__layer_builder *b)
{
    return b->job->parallel.sequence_parallel && b->t > 1;
}

int ek__build_gathered_norm(const ek__layer_builder *b, ek__cell cell, int x, bool gathered)
{
    const int64_t hidden = b->job->model.hidden;
    int out = ek__build_norm(b, ek__op_path(b, cell, "norm"), x, b->local_tokens, hidden, (int)b->t);
    if (!gathered || !splits_sequence(b))
        return out;
    return ek__build_comm(b, ek__op_path(b, cell, "gather"), EK__COMM_GATHER, EK__GROUP_TENSOR, out, "gathered", 2,
                          (int64_t[]){b->tokens, hidden}, last_norm(b->graph));
}

/* The last matrix of a block; its output is a part of a sum over the tensor ranks. */
static const char *last_cell(const ek__layer_builder *b, ek__cell block)
{
    static const char *const attention[] = {"wo", "dense", "linear_proj"};
    static const char *const mlp[] = {"w2", "dense_4h_to_h", "linear_fc2"};
    return ek__op_path(b, block, (block == EK__CELL_ATTENTION ? attention : mlp)[b->job->family]);
}

static int build_reduced(const ek__layer_builder *b, ek__cell block, int x)
{
    if (b->t == 1)
        return x;
    ek__graph *g = b->graph;
    bool scatters = splits_sequence(b);
    const int64_t dim[] = {b->local_tokens, b->job->model.hidden};
    const char *path = ek__path_join(last_cell(b, block), scatters ? "scatter" : "reduce");
    return ek__build_comm(b, path, scatters ? EK__COMM_SCATTER : EK__COMM_REDUCE, EK__GROUP_TENSOR, x,
                          scatters ? "scattered" : "sum over ranks", 2, dim, g->n_ops - 1);
}

/* x plus the block's output, with dropout on the latter if there is any. */
static int build_sum(const ek__layer_builder *b, ek__cell block, int x, int y)
{
    ek__graph *g = b->graph;
    ek_dtype type = b->job->types.residual;
    const int64_t dim[] = {b->local_tokens, b->job->model.hidden};
    bool megatron = b->job->family == EK_FAMILY_MEGATRON;
    assert(g->tensor[x].dim[0] == dim[0] && g->tensor[x].dim[1] == dim[1]);
    assert(g->tensor[y].dim[0] == dim[0] && g->tensor[y].dim[1] == dim[1]);
    if (g->tensor[y].dtype != type && !megatron)
        y = ek__build_elementwise(b, "cast", "output", type, 2, dim, y, -1, false);
    const char *path = !megatron ? "add" : block == EK__CELL_ATTENTION ? "self_attn_bda" : "mlp_bda";
    ek__op *op = ek__add_op(g, path, EK__OP_ELEMENTWISE);
    ek__op_in(g, op, x);
    ek__op_in(g, op, y);
    int out = ek__add_tensor(g, block == EK__CELL_ATTENTION ? "x + attention" : "layer output", type, 2, dim);
    ek__op_out(g, op, out);
    if (b->job->model.hidden_dropout > 0) {
        int mask = ek__add_bytes(g, "dropout mask", dim[0] * dim[1], true);
        ek__op_out(g, op, mask);
        ek__op_need(g, op, mask);
    }
    ek__op_done(b, op);
    return out;
}

/* Without a compiler, PyTorch's selective checkpointing keeps the results named by its policy in its own cache, read or
 * not, and frees the ones that recomputation does not reach when the layer's last gradient exists: the last product's
 * whole output and its scattered part. A compiler keeps only results that some gradient reads. */
static void hold_unread(const ek__layer_builder *b, int first)
{
    ek__graph *g = b->graph;
    bool recomputed[EK__MAX_OPS], kept[EK__MAX_TENSORS];
    assert(first >= 0 && first < g->n_ops);
    if (!ek__job_keeps_products(b->job) || b->job->run.launch != EK_LAUNCH_EAGER)
        return;
    ek__graph_recomputed(b->job, g, (ek__recompute){.patterns = ~UINT64_C(0)}, recomputed);
    ek__graph_keep(g, recomputed, kept);
    for (int i = first; i < g->n_ops; i++) {
        const ek__op *op = &g->op[i];
        bool named = op->kind == EK__OP_MATMUL || (op->kind == EK__OP_COMM && op->comm == EK__COMM_SCATTER);
        if (named && !recomputed[i] && !kept[op->out[0]])
            ek__op_need(g, &g->op[first], op->out[0]);
    }
}

void ek__build_decoder(const ek__layer_builder *b, bool experts)
{
    ek__graph *g = b->graph;
    const ek_job *job = b->job;
    int x = g->output, first = g->n_ops;
    if (x < 0) {
        const int64_t dim[] = {b->local_tokens, job->model.hidden};
        x = g->input = ek__add_tensor(g, "layer input", job->types.residual, 2, dim);
    }
    int normed = ek__build_gathered_norm(b, EK__CELL_ATTENTION_NORM, x, job->model.kv_lora_rank == 0);
    assert(g->tensor[x].n_dims == 2 && g->tensor[x].dim[0] == b->local_tokens);
    int y =
        job->model.kv_lora_rank > 0 ? ek__build_attention_latent(b, normed) : ek__build_attention_grouped(b, normed);
    int h = build_sum(b, EK__CELL_ATTENTION, x, build_reduced(b, EK__CELL_ATTENTION, y));
    normed = ek__build_gathered_norm(b, EK__CELL_MLP_NORM, h, !experts);
    /* Experts receive each rank's own tokens and return them in the same form. */
    y = experts ? ek__build_mlp_experts(b, normed)
                : build_reduced(b, EK__CELL_MLP, ek__build_mlp_dense(b, normed, job->model.intermediate));
    g->output = build_sum(b, EK__CELL_MLP, h, y);
    hold_unread(b, first);
}
