/* Builds attention with fewer heads of keys and values than of queries: projections, rotary positions, scores, output
 * projection. With flash attention scores never exist; its gradient reads q, k, v, its output and the statistics of the
 * softmax. Without it, scores and probabilities are saved. Grouped means [tokens x heads] on each tensor rank: with
 * fewer key heads than ranks, each rank has one. */
#include "model/layer.h"

#include <assert.h>
#include <string.h>

/* Sizes on one rank. */
typedef struct heads {
    int64_t n, n_kv;   /* of queries; of keys */
    int64_t q, k, v;   /* width of all queries, keys, values */
    int64_t out;       /* of the output */
    int64_t dim, wide; /* of one query, of one value */
} heads;

static heads heads_of(const ek__layer_builder *b)
{
    const ek_job_model *m = &b->job->model;
    assert(m->kv_lora_rank == 0 && m->n_heads % b->t == 0);
    heads h = {.n = m->n_heads / b->t, .n_kv = m->n_kv_heads / b->t, .dim = m->head_dim, .wide = m->value_dim};
    h.n_kv = h.n_kv > 0 ? h.n_kv : 1;
    h.q = h.n * h.dim;
    h.k = h.n_kv * h.dim;
    h.v = h.n_kv * h.wide;
    h.out = h.n * h.wide;
    assert(h.n >= h.n_kv && h.dim > 0 && h.wide > 0);
    return h;
}

static const char *path(const ek__layer_builder *b, const char *rest)
{
    return ek__op_path(b, EK__CELL_ATTENTION, rest);
}

/* A matrix of a family: a Linear with a primitive `matmul`, or a module of Megatron, which is the operator itself. */
static int build_linear(const ek__layer_builder *b, const char *cell, int x, int64_t in, int64_t out, bool bias)
{
    bool module = b->job->family == EK_FAMILY_MEGATRON;
    int y = ek__build_matmul(b, module ? cell : ek__path_join(cell, "matmul"), cell, x, b->tokens, in, out, bias, 1);
    return ek__build_reshape_out(b, cell, y);
}

/* q, k, v cut from the output of one matrix. */
static void build_split(const ek__layer_builder *b, int x, const heads *h, int qkv[3])
{
    static const char *const names[] = {"q", "k", "v"};
    const int64_t width[] = {h->q, h->k, h->v};
    assert(b->graph->tensor[x].dim[1] == h->q + h->k + h->v);
    ek__op *op = ek__add_op(b->graph, path(b, "split_qkv"), EK__OP_ELEMENTWISE);
    ek__op_in(b->graph, op, x);
    for (int i = 0; i < 3; i++) {
        qkv[i] = ek__add_tensor(b->graph, names[i], b->compute, 2, (int64_t[]){b->tokens, width[i]});
        ek__op_out(b->graph, op, qkv[i]);
    }
    ek__op_done(b, op);
}

static void build_projections(const ek__layer_builder *b, int x, const heads *h, int qkv[3])
{
    const ek_job_model *m = &b->job->model;
    static const char *const one[] = {"w_qkv", "query_key_value", "linear_qkv"};
    static const char *const three[] = {"wq", "wk", "wv"};
    bool bias = m->qkv_bias || m->linear_bias;
    if (m->qkv_concat || b->job->family == EK_FAMILY_MEGATRON) {
        const char *cell = path(b, one[b->job->family]);
        int y = build_linear(b, cell, ek__build_reshape_in(b, cell, x), m->hidden, h->q + h->k + h->v, bias);
        build_split(b, y, h, qkv);
        return;
    }
    const int64_t width[] = {h->q, h->k, h->v};
    for (int i = 0; i < 3; i++) {
        const char *cell = path(b, three[i]);
        qkv[i] = build_linear(b, cell, ek__build_reshape_in(b, cell, x), m->hidden, width[i], bias);
    }
}

/* Tokens x heads transposed to heads x tokens, a copy. */
static int build_transpose(const ek__layer_builder *b, int x, const char *name)
{
    if (!b->job->rules.token_order_copy)
        return x;
    const ek__tensor of = b->graph->tensor[x];
    int view = ek__build_view(b, path(b, "reshape"), x, of.n_dims, of.dim);
    return ek__build_like(b, path(b, "transpose"), name, b->compute, view);
}

static int build_head_norm(const ek__layer_builder *b, const char *rest, int x, int64_t n_heads, int64_t dim)
{
    int out = ek__build_norm(b, path(b, rest), x, b->tokens * n_heads, dim, (int)b->t);
    b->graph->tensor[out].dim[0] = b->tokens;
    b->graph->tensor[out].dim[1] = n_heads * dim;
    return out;
}

/* x cos + rotated(x) sin. The gradient needs only the tables, which are constants. */
static int build_rotary(const ek__layer_builder *b, int x, const char *name)
{
    ek_dtype type = b->job->types.rotary;
    const ek__tensor of = b->graph->tensor[x];
    if (b->job->family == EK_FAMILY_MEGATRON)
        return ek__build_like(b, path(b, "rotary_pos_emb"), name, b->compute, x);
    if (type != b->compute)
        x = ek__build_like(b, path(b, "apply_rotary_emb.cast"), "output", type, x);
    int straight = ek__build_like(b, path(b, "apply_rotary_emb.mul"), "output", type, x);
    int swapped = ek__build_like(b, path(b, "apply_rotary_emb.bmm_swap"), "output", type, x);
    int turned = ek__build_like(b, path(b, "apply_rotary_emb.mul"), "output", type, swapped);
    x = ek__build_elementwise(b, path(b, "apply_rotary_emb.add"), name, type, of.n_dims, of.dim, straight, turned,
                              false);
    return type == b->compute ? x : ek__build_like(b, path(b, "apply_rotary_emb.cast"), name, b->compute, x);
}

/* Context parallelism: inside a Ulysses group heads are cut instead of tokens, and the remaining ranks of the group
 * gather keys and values or pass them in a ring. */
static int64_t ulysses_ranks(const ek__layer_builder *b)
{
    const ek_job_parallel *p = &b->job->parallel;
    if (b->cp == 1)
        return 1;
    assert(p->ulysses >= 1 && b->cp % p->ulysses == 0);
    return p->ulysses == 1 && p->context_algorithm == EK_CONTEXT_ULYSSES ? b->cp : p->ulysses;
}

static int build_exchange(const ek__layer_builder *b, int x, const char *name)
{
    const ek__tensor of = b->graph->tensor[x];
    return ek__build_comm(b, path(b, "alltoall"), EK__COMM_ALLTOALL, EK__GROUP_CONTEXT, x, name, of.n_dims, of.dim, -1);
}

static void build_context(const ek__layer_builder *b, int qkv[3])
{
    static const char *const names[] = {"q", "k of all context ranks", "v of all context ranks"};
    int64_t ulysses = ulysses_ranks(b);
    if (ulysses > 1)
        for (int i = 0; i < 3; i++)
            qkv[i] = build_exchange(b, qkv[i], i == 0 ? "q" : i == 1 ? "k" : "v");
    if (b->cp / ulysses == 1 || b->job->parallel.context_algorithm == EK_CONTEXT_RING)
        return;
    for (int i = 1; i < 3; i++) {
        const ek__tensor of = b->graph->tensor[qkv[i]];
        const int64_t dim[] = {of.dim[0] * (b->cp / ulysses), of.dim[1]};
        qkv[i] = ek__build_comm(b, path(b, "gather"), EK__COMM_GATHER, EK__GROUP_CONTEXT, qkv[i], names[i], 2, dim, -1);
    }
}

/* Softmax statistics: columns of max and of sum, or one with their logarithm. */
static void add_statistics(const ek__layer_builder *b, ek__op *op, const heads *h)
{
    int width = b->job->rules.statistics_width;
    assert(width >= 0);
    const int64_t column = 4 * b->tokens * h->n;
    for (int i = 0; i < (width > 0 ? 2 : 1); i++) {
        const char *name = width == 0 ? "softmax statistics" : i == 0 ? "softmax max" : "softmax sum";
        int statistics = ek__add_bytes(b->graph, name, column * (width > 0 ? width : 1), true);
        ek__op_out(b->graph, op, statistics);
        ek__op_need(b->graph, op, statistics);
    }
}

static int build_flash(const ek__layer_builder *b, const int qkv[3], const heads *h)
{
    ek__graph *g = b->graph;
    bool megatron = b->job->family == EK_FAMILY_MEGATRON;
    const char *rest = megatron ? "core_attention.flash_attention" : "flash_attention.flash_attention";
    ek__op *op = ek__add_op(g, path(b, rest), EK__OP_ATTENTION);
    for (int i = 0; i < 3; i++) {
        ek__op_in(g, op, qkv[i]);
        ek__op_need(g, op, qkv[i]);
    }
    int out = ek__add_tensor(g, "output", b->compute, 2, (int64_t[]){b->tokens, h->out});
    ek__op_out(g, op, out);
    ek__op_need(g, op, out);
    add_statistics(b, op, h);
    ek__op_done(b, op);
    /* Causal: half of the scores, of q with k and of the probabilities with v. The gradient recomputes the scores. */
    double scores = (double)b->tokens * (double)b->job->parallel.seq_length * (double)h->n / 2;
    op->flops = 2 * scores * (double)(h->dim + h->wide);
    op->backward_flops = 2.5 * op->flops;
    return out;
}

/* One of the two products around the softmax. */
static int build_product(const ek__layer_builder *b, const char *rest, const char *name, int x, int y, const heads *h,
                         int64_t inner, int n_dims, const int64_t *dim)
{
    int out = ek__build_elementwise(b, path(b, rest), name, b->compute, n_dims, dim, x, y, true);
    ek__op *op = &b->graph->op[b->graph->n_ops - 1];
    op->kind = EK__OP_MATMUL;
    op->flops = 2 * (double)b->tokens * (double)b->job->parallel.seq_length * (double)(h->n * inner);
    op->backward_flops = 2 * op->flops;
    return out;
}

static int build_softmax(const ek__layer_builder *b, const char *rest, int x, ek_dtype type)
{
    ek__graph *g = b->graph;
    int out = ek__build_like(b, path(b, rest), "probabilities", type, x);
    ek__op_need(g, &g->op[g->n_ops - 1], out);
    ek__op_done(b, &g->op[g->n_ops - 1]);
    return out;
}

/* Megatron scales, masks and takes the softmax in one kernel; MindFormers runs each separately, in the softmax's type.
 */
static int build_probabilities(const ek__layer_builder *b, int scores)
{
    double share = b->job->model.attention_dropout;
    if (b->job->family == EK_FAMILY_MEGATRON)
        return ek__build_dropout(b, path(b, "core_attention.attention_dropout"), "probabilities left", share,
                                 build_softmax(b, "core_attention.softmax", scores, b->compute));
    ek_dtype type = b->job->types.softmax;
    int x = ek__build_like(b, path(b, "mul"), "scores, scaled", b->compute, scores);
    x = ek__build_like(b, path(b, "add"), "scores, masked", b->compute, x);
    if (type != b->compute)
        x = ek__build_like(b, path(b, "cast"), "scores", type, x);
    x = build_softmax(b, "softmax", x, type);
    if (type != b->compute)
        x = ek__build_like(b, path(b, "cast"), "probabilities", b->compute, x);
    return ek__build_dropout(b, path(b, "dropout"), "probabilities left", share, x);
}

/* Keys and values repeated for each head of queries. */
static int build_tiled(const ek__layer_builder *b, int x, const heads *h, int64_t dim, const char *name)
{
    if (h->n == h->n_kv)
        return x;
    assert(b->graph->tensor[x].dim[1] == h->n_kv * dim);
    const int64_t whole[] = {b->graph->tensor[x].dim[0], h->n * dim};
    return ek__build_elementwise(b, path(b, "tile_kv"), name, b->compute, 2, whole, x, -1, false);
}

/* Does the job's file? Patterns that were added to show the effect of a selection are not in the file. */
static bool selects_anything(const ek_job *job)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (job->pattern[i].kind == EK_PATTERN_SELECT &&
            !(job->pattern[i].by_default && job->pattern[i].origin.line == 0))
            return true;
    return false;
}

static int build_scores(const ek__layer_builder *b, const int qkv[3], const heads *h, int first_rotary)
{
    ek__graph *g = b->graph;
    bool megatron = b->job->family == EK_FAMILY_MEGATRON;
    int k = build_tiled(b, qkv[1], h, h->dim, "k"), v = build_tiled(b, qkv[2], h, h->wide, "v");
    const int64_t square[] = {h->n, b->tokens, b->job->parallel.seq_length}, out[] = {b->tokens, h->out};
    int x = build_product(b, megatron ? "core_attention.scores" : "batch_matmul", "scores", qkv[0], k, h, h->dim, 3,
                          square);
    x = build_probabilities(b, x);
    /* MindFormers without flash attention recomputes from the rotary positions on as soon as select_recompute is not
     * false, for any layers in it. */
    for (int i = first_rotary; !megatron && selects_anything(b->job) && i < g->n_ops; i++)
        g->op[i].always_recomputed = true;
    return build_product(b, megatron ? "core_attention.context" : "batch_matmul", "output", x, v, h, h->wide, 2, out);
}

int ek__build_attention_grouped(const ek__layer_builder *b, int x)
{
    const ek_job_model *m = &b->job->model;
    heads h = heads_of(b);
    int qkv[3];
    assert(b->graph->tensor[x].dim[0] == b->tokens && b->graph->tensor[x].dim[1] == m->hidden);
    static const char *const back[] = {"wo", "dense", "linear_proj"};
    bool megatron = b->job->family == EK_FAMILY_MEGATRON;
    build_projections(b, x, &h, qkv);
    for (int i = 0; i < 3; i++)
        qkv[i] = build_transpose(b, qkv[i], i == 0 ? "q" : i == 1 ? "k" : "v");
    if (m->qk_norm) {
        qkv[0] = build_head_norm(b, megatron ? "q_layernorm" : "q_norm.norm", qkv[0], h.n, h.dim);
        qkv[1] = build_head_norm(b, megatron ? "k_layernorm" : "k_norm.norm", qkv[1], h.n_kv, h.dim);
    }
    int first_rotary = b->graph->n_ops;
    if (!m->position_table) {
        qkv[0] = build_rotary(b, qkv[0], "q after RoPE");
        qkv[1] = build_rotary(b, qkv[1], "k after RoPE");
    }
    build_context(b, qkv);
    int out = m->flash_attention ? build_flash(b, qkv, &h) : build_scores(b, qkv, &h, first_rotary);
    if (ulysses_ranks(b) > 1)
        out = build_exchange(b, out, "output");
    if (b->job->rules.token_order_copy && b->cp == 1)
        out = ek__build_like(b, path(b, "merger_head_transpose"), "output in token order", b->compute, out);
    assert(b->graph->tensor[out].dim[0] == b->tokens && b->graph->tensor[out].dim[1] == h.out);
    const char *last = path(b, back[b->job->family]);
    out = build_linear(b, last, ek__build_reshape_last(b, last, out), h.out, m->hidden, m->linear_bias);
    if (m->linear_bias)
        b->graph->parameter[b->graph->n_parameters - 1].copies = (int)b->t;
    return out;
}
