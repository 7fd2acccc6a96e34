/* Builds multi-head latent attention (DeepSeek-V2, arXiv 2405.04434). Queries, keys and values come from two narrow
 * vectors of a token, made by two down-projections, normed, and widened by up-projections; a part of each query and one
 * key shared by all heads are rotated. Tensor parallelism cuts the heads, and so the up-projections and the output's
 * matrix; the down-projections and the norms between are whole on every rank, and with sequence parallelism they work
 * on the rank's own tokens, so that only the narrow vectors are gathered (DeepSeekV2Attention of MindFormers r1.5.0;
 * Megatron-LM's MLASelfAttention).
 *
 * Saved because gradients read them: the input (down-projections), both narrow vectors before and after their norm
 * (norm, up-projections), q and k of head_dim, v, the attention's output and statistics, the output in token order
 * (output's weight). Rotations, concatenations and slices read only constants. MindFormers gives v zeros up to head_dim
 * for its flash attention, so v and the output are saved at that width, and slices the output; Megatron's kernels take
 * v without padding. In MindFormers the part to be rotated and the rest are separate matrices (l2q_nope_proj,
 * l2q_pe_proj; before r1.5.0 one, l2q_proj), elsewhere slices of one product. Not handled: merging matrices, which only
 * inference does; a bias. */
#include "model/layer.h"

#include <assert.h>

typedef struct latent {
    const ek__layer_builder *b;
    bool mindformers;
    int64_t heads, tokens, keys; /* heads on the rank; rows of q; rows of k and v inside the attention */
    int64_t nope, rope, head, value, kept_value;
} latent;

static const char *path(const latent *l, const char *rest)
{
    return ek__op_path(l->b, EK__CELL_ATTENTION, rest);
}

static int tensor_of(const latent *l, const char *name, int64_t rows, int64_t columns)
{
    return ek__add_tensor(l->b->graph, name, l->b->compute, 2, (int64_t[]){rows, columns});
}

/* Slices and concatenations: a copy of `columns` per row from x and, unless -1, y. */
static int copy(const latent *l, const char *where, const char *name, int x, int y, int64_t columns)
{
    const int64_t dim[] = {l->tokens, columns};
    return ek__build_elementwise(l->b, path(l, where), name, l->b->compute, 2, dim, x, y, false);
}

/* A matrix of the cell `cell`, [in x out] on this rank. */
static int project(const latent *l, const char *cell, int x, int64_t rows, int64_t in, int64_t out, int copies)
{
    const char *at = path(l, cell);
    x = ek__build_reshape_in(l->b, at, x);
    /* Megatron's names are those of modules, MindFormers' those of primitives inside cells. */
    const char *where = l->b->job->family == EK_FAMILY_MEGATRON ? at : ek__path_join(at, "matmul");
    int y = ek__build_matmul(l->b, where, at, x, rows, in, out, false, copies);
    return ek__build_reshape_out(l->b, at, y);
}

/* Down-projection to `width`, on the rank's tokens. */
static int down(const latent *l, const char *cell, int x, int64_t width)
{
    return project(l, cell, x, l->b->graph->tensor[x].dim[0], l->b->job->model.hidden, width, (int)l->b->t);
}

static int gather(const latent *l, const char *cell, int x)
{
    const ek__graph *g = l->b->graph;
    const ek__tensor of = g->tensor[x];
    if (of.dim[0] == l->tokens)
        return x;
    const int64_t dim[] = {l->tokens, of.dim[1]};
    return ek__build_comm(l->b, ek__path_join(path(l, cell), "gather"), EK__COMM_GATHER, EK__GROUP_TENSOR, x,
                          "gathered", 2, dim, of.producer);
}

static int norm(const latent *l, const char *cell, int x, int64_t width)
{
    bool module = l->b->job->family == EK_FAMILY_MEGATRON;
    const char *at = path(l, cell);
    return ek__build_norm(l->b, module ? at : ek__path_join(at, "norm"), x, l->b->graph->tensor[x].dim[0], width,
                          (int)l->b->t);
}

/* ---- queries ---- */

/* The whole product of the heads' queries, cut into its two parts if it is one. */
static void build_query_parts(const latent *l, int x, int *q_nope, int *q_rope)
{
    const ek_job_model *m = &l->b->job->model;
    const char *down_cell = l->mindformers ? "q2l_proj" : "linear_q_down_proj";
    int64_t in = m->hidden;
    int from = x;
    if (m->q_lora_rank > 0) {
        in = m->q_lora_rank;
        from = gather(l, l->mindformers ? "lq_norm" : "q_layernorm",
                      norm(l, l->mindformers ? "lq_norm" : "q_layernorm", down(l, down_cell, x, in), in));
    } else {
        from = gather(l, l->mindformers ? "q_proj" : "linear_q_proj", x);
    }
    if (l->mindformers && m->q_lora_rank > 0) {
        *q_nope = project(l, "l2q_nope_proj", from, l->tokens, in, l->heads * l->nope, 1);
        *q_nope = copy(l, "transpose", "q without rotation", *q_nope, -1, l->heads * l->nope);
        *q_rope = project(l, "l2q_pe_proj", from, l->tokens, in, l->heads * l->rope, 1);
        *q_rope = copy(l, "transpose", "q to rotate", *q_rope, -1, l->heads * l->rope);
        return;
    }
    const char *cell = m->q_lora_rank > 0 ? "linear_q_up_proj" : l->mindformers ? "q_proj" : "linear_q_proj";
    int q = project(l, cell, from, l->tokens, in, l->heads * l->head, 1);
    *q_nope = copy(l, "slice_qkv", "q without rotation", q, -1, l->heads * l->nope);
    *q_rope = copy(l, "slice_qkv", "q to rotate", q, -1, l->heads * l->rope);
}

/* ---- keys and values ---- */

typedef struct parts {
    int k_nope, k_rope, v;
} parts;

static parts build_key_parts_split(const latent *l, int x)
{
    const ek_job_model *m = &l->b->job->model;
    parts out;
    out.k_rope = gather(l, "kv2l_k_pe", down(l, "kv2l_k_pe", x, l->rope));
    out.k_rope = copy(l, "tile_kv", "k to rotate", out.k_rope, -1, l->heads * l->rope);
    int narrow = norm(l, "lkv_norm", down(l, "kv2l_latent_kv", x, m->kv_lora_rank), m->kv_lora_rank);
    narrow = gather(l, "lkv_norm", narrow);
    out.k_nope = project(l, "lkv2kv_k_nope", narrow, l->tokens, m->kv_lora_rank, l->heads * l->nope, 1);
    out.k_nope = copy(l, "transpose", "k without rotation", out.k_nope, -1, l->heads * l->nope);
    out.v = project(l, "lkv2kv_v", narrow, l->tokens, m->kv_lora_rank, l->heads * l->value, 1);
    out.v = copy(l, "transpose", "v", out.v, -1, l->heads * l->value);
    return out;
}

static parts build_key_parts_joint(const latent *l, int x)
{
    const ek_job_model *m = &l->b->job->model;
    parts out;
    const latent own = {.b = l->b, .tokens = l->b->graph->tensor[x].dim[0]};
    int both = down(l, "linear_kv_down_proj", x, m->kv_lora_rank + l->rope);
    int narrow = copy(&own, "split_kv", "narrow k and v", both, -1, m->kv_lora_rank);
    out.k_rope = gather(l, "k_pos_emb", copy(&own, "split_kv", "k to rotate", both, -1, l->rope));
    narrow = gather(l, "kv_layernorm", norm(l, "kv_layernorm", narrow, m->kv_lora_rank));
    int wide = project(l, "linear_kv_up_proj", narrow, l->tokens, m->kv_lora_rank, l->heads * (l->nope + l->value), 1);
    out.k_nope = copy(l, "split_kv_up", "k without rotation", wide, -1, l->heads * l->nope);
    out.v = copy(l, "split_kv_up", "v", wide, -1, l->heads * l->value);
    return out;
}

/* ---- the attention ---- */

/* Over context parallel ranks: all keys and values, unless a ring passes them on. */
static int gather_context(const latent *l, const char *name, int x)
{
    const ek_job_parallel *p = &l->b->job->parallel;
    if (l->keys == l->tokens || p->context <= 1)
        return x;
    const ek__tensor of = l->b->graph->tensor[x];
    assert(of.dim[0] == l->tokens && l->keys > l->tokens);
    const int64_t dim[] = {l->keys, of.dim[1]};
    return ek__build_comm(l->b, path(l, "flash_attention.gather"), EK__COMM_GATHER, EK__GROUP_CONTEXT, x, name, 2, dim,
                          of.producer);
}

/* FLOPs of scores and weighted values; the whole matrix when `share` is 1, causal 1/2. */
static double attention_flops(const latent *l, double share)
{
    const ek_job *job = l->b->job;
    assert(share >= 0 && share <= 1);
    return 2.0 * (double)l->tokens * (double)job->parallel.seq_length * (double)l->heads *
           (double)(l->head + l->value) * share;
}

static int build_fused(const latent *l, int q, int k, int v)
{
    const ek__layer_builder *b = l->b;
    ek__graph *g = b->graph;
    ek__op *op =
        ek__add_op(g, path(l, l->mindformers ? "flash_attention.flash_attention" : "core_attention.flash_attention"),
                   EK__OP_ATTENTION);
    int out = tensor_of(l, "attention output", l->tokens, l->heads * l->kept_value);
    const int reads[] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        ek__op_in(g, op, reads[i]);
        ek__op_need(g, op, reads[i]);
    }
    ek__op_out(g, op, out);
    ek__op_need(g, op, out);
    /* Columns with a maximum and a sum, or one with the sum's logarithm. */
    int width = b->job->rules.statistics_width;
    int statistics =
        ek__add_bytes(g, "softmax statistics", 4 * (width > 0 ? 2 * width : 1) * l->tokens * l->heads, true);
    ek__op_out(g, op, statistics);
    ek__op_need(g, op, statistics);
    ek__op_done(b, op);
    op->flops = attention_flops(l, 0.5);
    op->backward_flops = 2.5 * op->flops; /* scores are computed again */
    return out;
}

/* Scores and probabilities of B (N/t) (S/cp) S elements, both saved. */
static int build_unfused(const latent *l, int q, int k, int v)
{
    const ek__layer_builder *b = l->b;
    ek__graph *g = b->graph;
    const ek_job *job = b->job;
    const int64_t dim[] = {l->tokens, l->heads, job->parallel.seq_length};
    int scores = ek__build_elementwise(b, path(l, "batch_matmul_q_k"), "scores", b->compute, 3, dim, q, k, true);
    ek__op *op = &g->op[g->n_ops - 1];
    op->kind = EK__OP_MATMUL;
    op->flops = attention_flops(l, (double)l->head / (double)(l->head + l->value));
    op->backward_flops = 2 * op->flops;
    scores = ek__build_like(b, path(l, "mul"), "scores", b->compute, scores);
    scores = ek__build_like(b, path(l, "add"), "masked scores", job->types.softmax, scores);
    int weights = ek__build_like(b, path(l, "softmax"), "attention weights", job->types.softmax, scores);
    ek__op_need(g, &g->op[g->n_ops - 1], weights);
    if (job->types.softmax != b->compute)
        weights = ek__build_like(b, path(l, "cast_attn"), "attention weights", b->compute, weights);
    const int64_t wide[] = {l->tokens, l->heads * l->value};
    int out =
        ek__build_elementwise(b, path(l, "batch_matmul"), "attention output", b->compute, 2, wide, weights, v, true);
    op = &g->op[g->n_ops - 1];
    op->kind = EK__OP_MATMUL;
    op->flops = attention_flops(l, (double)l->value / (double)(l->head + l->value));
    op->backward_flops = 2 * op->flops;
    return out;
}

static int attend(const latent *l, int q, int k, int v)
{
    if (l->kept_value > l->value) {
        /* Zeros after each value: the kernel requires one width for q, k and v. */
        int zeros = copy(l, "mul_zeros", "zeros", q, -1, l->heads * (l->kept_value - l->value));
        v = copy(l, "pe_concat", "v with zeros", v, zeros, l->heads * l->kept_value);
    }
    k = gather_context(l, "k of all ranks", k);
    v = gather_context(l, "v of all ranks", v);
    int out = l->b->job->model.flash_attention ? build_fused(l, q, k, v) : build_unfused(l, q, k, v);
    if (l->kept_value > l->value)
        out = copy(l, "dim_slice_4d", "attention output", out, -1, l->heads * l->value);
    if (l->b->job->rules.token_order_copy && l->b->cp == 1)
        out = copy(l, "merger_head_transpose", "output in token order", out, -1, l->heads * l->value);
    return out;
}

static latent make(const ek__layer_builder *b)
{
    const ek_job *job = b->job;
    const ek_job_model *m = &job->model;
    bool mindformers = job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
    mindformers &= job->family != EK_FAMILY_MEGATRON;
    latent l = {.b = b,
                .mindformers = mindformers,
                .heads = m->n_heads / b->t,
                .tokens = b->tokens,
                .keys = b->tokens,
                .nope = m->nope_dim,
                .rope = m->rope_dim,
                .head = m->nope_dim + m->rope_dim,
                .value = m->value_dim,
                .kept_value = m->value_dim};
    if (mindformers && m->flash_attention && l.head > l.value)
        l.kept_value = l.head;
    if (job->parallel.context_algorithm == EK_CONTEXT_GATHER)
        l.keys = b->tokens * b->cp;
    assert(m->kv_lora_rank > 0 && m->n_heads % b->t == 0);
    assert(l.nope >= 0 && l.rope >= 0 && l.value > 0 && l.kept_value >= l.value);
    return l;
}

int ek__build_attention_latent(const ek__layer_builder *b, int x)
{
    const latent l = make(b);
    assert(b->graph->tensor[x].n_dims == 2 && b->graph->tensor[x].dim[1] == b->job->model.hidden);
    assert(b->graph->tensor[x].dim[0] == b->local_tokens);
    int q_nope, q_rope;
    build_query_parts(&l, x, &q_nope, &q_rope);
    /* Without the matrices of a narrow query, x may be needed whole; keys use the same input. */
    parts kv = l.mindformers ? build_key_parts_split(&l, x) : build_key_parts_joint(&l, x);
    const char *rope = l.mindformers ? "apply_rotary_emb.add" : "rotary_pos_emb";
    q_rope = copy(&l, rope, "q rotated", q_rope, -1, l.heads * l.rope);
    int64_t rotated = b->graph->tensor[kv.k_rope].dim[1]; /* once, or already for every head */
    kv.k_rope = copy(&l, rope, "k rotated", kv.k_rope, -1, rotated);
    int q = copy(&l, "pe_concat", "q", q_nope, q_rope, l.heads * l.head);
    int k = copy(&l, "pe_concat", "k", kv.k_nope, kv.k_rope, l.heads * l.head);
    int out = attend(&l, q, k, kv.v);
    assert(b->graph->tensor[out].dim[0] == l.tokens && b->graph->tensor[out].dim[1] == l.heads * l.value);
    const char *cell = l.mindformers ? "wo" : "linear_proj";
    return project(&l, cell, out, l.tokens, l.heads * l.value, b->job->model.hidden, 1);
}
