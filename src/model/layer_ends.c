/* Builds the graphs of the model's ends: the table's lookup before the first layer; the last norm, the head's matrix
 * and the loss after the last one. The loss is the softmax over the vocabulary with its logarithm, in fp32, on logits
 * cut over the tensor ranks if the vocabulary is. The number of tensors of the logits' size that it holds at once is a
 * rule (loss_buffers), since it depends on the fusion of a dozen small operators. */
#include "model/layer.h"

#include <assert.h>

/* Names in a family. */
typedef struct words {
    const char *table, *lookup, *norm, *head, *head_matmul;
} words;

static words words_of(const ek__layer_builder *b)
{
    static const words all[] = {
        [EK_FAMILY_LLAMA] = {"tok_embeddings", "tok_embeddings.gather", "norm_out.norm", "lm_head", "lm_head.matmul"},
        [EK_FAMILY_GLM] = {"embedding.word_embeddings", "embedding.word_embeddings.gather",
                           "encoder.final_layernorm.norm", "output_layer", "output_layer.matmul"},
        [EK_FAMILY_MEGATRON] = {"embedding.word_embeddings", "embedding.word_embeddings", "final_layernorm",
                                "output_layer", "output_layer"},
    };
    return all[b->job->family];
}

/* Context ranks also share a table that is cut over them; the code that shards parameters handles this. */
static int table_copies(const ek__layer_builder *b)
{
    int64_t split = b->job->parallel.table_split;
    assert(split >= 0);
    return split > 1 && split < b->t ? (int)(b->t / split) : split > 1 ? 1 : (int)b->t;
}

static void add_table(const ek__layer_builder *b, const char *cell)
{
    const ek_job_model *m = &b->job->model;
    int64_t split = b->job->parallel.table_split > 1 ? b->job->parallel.table_split : 1;
    int64_t rows = (m->vocab + split - 1) / split;
    assert(rows >= 1);
    int p = ek__add_parameter(b->graph, ek__path_join(cell, "weight"), rows * m->hidden, rows, b->job->types.embedding,
                              table_copies(b));
    b->graph->parameter[p].table = true;
}

/* Learned positions are added to the words, and dropout follows. */
static int build_positions(const ek__layer_builder *b, int x)
{
    ek__graph *g = b->graph;
    const ek_job_model *m = &b->job->model;
    if (m->position_table) {
        ek__add_parameter(g, "embedding.position_embeddings.weight", (int64_t)m->max_position * m->hidden,
                          m->max_position, b->job->types.embedding, (int)b->t);
        x = ek__build_like(b, "embedding.add", "words and positions", g->tensor[x].dtype, x);
    }
    return x;
}

void ek__build_embedding(const ek__layer_builder *b)
{
    ek__graph *g = b->graph;
    const ek_job *job = b->job;
    words w = words_of(b);
    assert(g->n_ops == 0 && g->n_tensors == 0 && g->n_parameters == 0);
    const int64_t whole[] = {b->tokens, job->model.hidden}, local[] = {b->local_tokens, job->model.hidden};
    add_table(b, w.table);
    ek__op *op = ek__add_op(g, w.lookup, EK__OP_LOOKUP);
    op->parameter = 0;
    int x = ek__add_tensor(g, "output", job->types.embedding, 2, whole);
    ek__op_out(g, op, x);
    ek__op_done(b, op);
    int lookup = g->n_ops - 1;
    if (job->types.embedding != job->types.residual)
        x = ek__build_like(b, "cast", "output", job->types.residual, x);
    x = build_positions(b, x);
    /* Each tensor rank finds only its own words, and the ranks' parts are summed. A table that is whole on each rank
     * needs no sum, and cutting the sequence is then a slice. */
    bool summed = b->t > 1 && job->parallel.table_split > 1, cut = b->t > 1 && job->parallel.sequence_parallel;
    if (summed)
        x = ek__build_comm(b, ek__path_join(w.table, cut ? "scatter" : "reduce"),
                           cut ? EK__COMM_SCATTER : EK__COMM_REDUCE, EK__GROUP_TENSOR, x,
                           cut ? "scattered" : "sum over ranks", 2, local, lookup);
    else if (cut)
        x = ek__build_elementwise(b, ek__path_join(w.table, "slice"), "output", job->types.residual, 2, local, x, -1,
                                  false);
    g->output = ek__build_dropout(b, "embedding.dropout", "output", b->job->model.hidden_dropout, x);
    assert(g->tensor[g->output].dim[0] == (cut ? b->local_tokens : b->tokens));
}

/* The last norm. MindFormers does not cut it over the tensor ranks: the sequence is gathered before it. */
static int build_last_norm(const ek__layer_builder *b, const char *path, int x)
{
    const ek_job *job = b->job;
    const int64_t whole[] = {b->tokens, job->model.hidden};
    bool cut = b->t > 1 && job->parallel.sequence_parallel;
    bool first = cut && (job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE);
    const char *gather = "output_layer.gather";
    if (first)
        x = ek__build_comm(b, gather, EK__COMM_GATHER, EK__GROUP_TENSOR, x, "gathered", 2, whole, -1);
    x = ek__build_norm(b, path, x, cut && !first ? b->local_tokens : b->tokens, job->model.hidden, (int)b->t);
    if (cut && !first)
        x = ek__build_comm(b, gather, EK__COMM_GATHER, EK__GROUP_TENSOR, x, "gathered", 2, whole, b->graph->n_ops - 1);
    if (cut && !first)
        b->graph->tensor[x].elsewhere = job->rules.gather_buffer && job->rules.regather;
    return x;
}

/* The softmax's gradient works on one fp32 copy from the forward pass, and makes the logits' gradients in their own
 * type. */
static void build_fused_loss(const ek__layer_builder *b, int logits, const int64_t *dim)
{
    ek__graph *g = b->graph;
    ek__op *op = ek__add_op(g, "loss.cross_entropy", EK__OP_ELEMENTWISE);
    ek__op_in(g, op, logits);
    if (b->job->rules.loss_in_place) {
        op->overwrites = true;
        ek__op_need(g, op, logits);
        ek__op_out(g, op, ek__add_bytes(g, "loss", 4 * b->tokens, false));
        ek__op_done(b, op);
        return;
    }
    int softmax = ek__add_tensor(g, "softmax", EK_FP32, 2, dim);
    g->tensor[softmax].no_gradient = true;
    ek__op_out(g, op, softmax);
    ek__op_need(g, op, softmax);
    ek__op_out(g, op, ek__add_bytes(g, "loss", 4 * b->tokens, false));
    ek__op_done(b, op);
}

/* Workspace represents the part of loss_buffers that is not a tensor here: forward the logits, their logarithm and n -
 * 2 more; backward logarithm, its gradient, the logits' gradient and n - 3 more. */
static void build_loss(const ek__layer_builder *b, int logits, const int64_t *dim)
{
    ek__graph *g = b->graph;
    const ek_rules *rules = &b->job->rules;
    int x = g->tensor[logits].dtype == EK_FP32 ? logits : ek__build_like(b, "loss.cast", "logits", EK_FP32, logits);
    const int64_t bytes = g->tensor[x].bytes;
    assert(bytes == 4 * dim[0] * dim[1] && rules->loss_buffers >= 0);
    ek__op *op = ek__add_op(g, "loss.log_softmax", EK__OP_ELEMENTWISE);
    ek__op_in(g, op, x);
    int logarithm = ek__add_tensor(g, "log-softmax", EK_FP32, 2, dim);
    ek__op_out(g, op, logarithm);
    ek__op_need(g, op, logarithm);
    op->workspace = rules->loss_buffers > 2 ? (rules->loss_buffers - 2) * bytes : 0;
    op->backward_workspace = rules->loss_buffers > 3 ? (rules->loss_buffers - 3) * bytes : 0;
    ek__op_done(b, op);

    op = ek__add_op(g, "loss.one_hot", EK__OP_ELEMENTWISE);
    int labels = ek__add_tensor(g, "one-hot labels", EK_FP32, 2, dim);
    g->tensor[labels].no_gradient = true;
    ek__op_out(g, op, labels);
    op->always_recomputed = !rules->one_hot_kept;
    op->bytes_moved = (double)bytes;

    op = ek__add_op(g, "loss.nll", EK__OP_ELEMENTWISE);
    ek__op_in(g, op, logarithm);
    ek__op_in(g, op, labels);
    ek__op_need(g, op, labels);
    ek__op_out(g, op, ek__add_bytes(g, "loss", 4 * b->tokens, false));
    ek__op_done(b, op);
}

/* A head that uses the table is the same parameter: of its type, and sharded like the table. */
static void tie_matrix(const ek__layer_builder *b)
{
    ek__graph *g = b->graph;
    assert(g->op[g->n_ops - 1].kind == EK__OP_MATMUL && g->op[g->n_ops - 1].parameter >= 0);
    ek__parameter *matrix = &g->parameter[g->op[g->n_ops - 1].parameter];
    matrix->tied = true;
    matrix->dtype = b->job->types.embedding;
}

void ek__build_head(const ek__layer_builder *b, int x)
{
    ek__graph *g = b->graph;
    const ek_job *job = b->job;
    words w = words_of(b);
    int64_t split = job->parallel.head_split > 1 ? job->parallel.head_split : 1;
    int64_t columns = (job->model.vocab + split - 1) / split;
    assert(columns >= 1 && g->tensor[x].dim[1] == job->model.hidden);
    x = build_last_norm(b, w.norm, x);
    x = ek__build_reshape_in(b, w.head, x);
    int logits = ek__build_matmul(b, w.head_matmul, w.head, x, b->tokens, job->model.hidden, columns, false,
                                  (int)(b->t / split > 0 ? b->t / split : 1));
    assert(g->tensor[logits].dim[0] == b->tokens && g->tensor[logits].dim[1] == columns);
    g->tensor[logits].name = "logits";
    if (job->model.tied)
        tie_matrix(b);
    const int64_t dim[] = {b->tokens, columns};
    if (job->rules.loss_fused || job->rules.loss_in_place)
        build_fused_loss(b, logits, dim);
    else
        build_loss(b, logits, dim);
    g->output = -1;
}
