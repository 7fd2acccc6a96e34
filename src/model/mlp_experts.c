/* Builds a feed-forward layer with experts. The router chooses top_k experts for each token, tokens are copied into the
 * experts' order (permute), sent to the ranks of their experts (all-to-all), computed, sent back, put back into their
 * own order and added up with the router's weights; shared experts are an additional dense layer.
 *
 * Rows: n tokens of the rank are P = n top_k copies without a limit, or P = E C with a capacity of C = ceil(top_k n
 * capacity_factor / E) tokens for each expert, at most n, in MindFormers rounded up to a multiple of t (moe.py of
 * MindFormers r1.5.0). The all-to-all returns R of them: P with a capacity, which is a full buffer; otherwise P times
 * rules.moe_imbalance, on the fullest rank. Saved because gradients read them:
 *
 *     router     its input in the router's type (weight), the probabilities (softmax), the chosen weights
 *     permute    the indices only
 *     experts    R x H (weights of gate and up), R x I twice or R x 2I (activation and product), R x I (weight of down)
 *     combine    P x H, in MindFormers n top_k x H once in the tokens' order: the gradient of the router's weights
 *                reads their factors
 *
 * Tensor parallelism of the experts (expert_tensor ranks) cuts I. With sequence parallelism each rank routes its own
 * tokens and the group gathers its experts' tokens; only MindFormers' batched matmul gathers all tokens before the
 * router. MindFormers has both a form with indices (gather and scatter) and an older one with one-hot products; this is
 * the one with indices. The loss that balances experts is an addition to the router's workspace. Tokens that are sent
 * once to each node are also copied once per expert here; the traffic is computed elsewhere (cost/send_once.c). Not
 * handled: group-wise all-to-all, experts cut in three dimensions. */
#include <assert.h>
#include <math.h>

#include "model/layer.h"

/* Primitives of the router and around the experts, below the cell of the routed ones. */
typedef struct expert_names {
    const char *cast, *router, *router_weight, *probabilities, *top_k, *permute, *send, *back, *unpermute, *weigh, *sum;
} expert_names;

/* Names below a feed-forward cell: matrices' cells, then primitives. */
typedef struct matrix_names {
    const char *up, *gate, *down, *activation, *product, *fused;
} matrix_names;

static const expert_names llama = {
    .cast = "router.cast",
    .router = "router.dense.matmul",
    .router_weight = "router.dense",
    .probabilities = "router.router.softmax",
    .top_k = "router.router.topk",
    .permute = "router.router.dispatch_gather",
    .send = "alltoall",
    .back = "alltoall_back",
    .unpermute = "router.router.combine_gather",
    .weigh = "router.router.mul_router_coeff",
    .sum = "router.router.sum_router_coeff",
};
/* MoEV3; the inside of its ffn is one custom operator in graph mode, so those names are our own. */
static const expert_names llama_grouped = {
    .cast = "cast",
    .router = "router_dense.matmul",
    .router_weight = "router_dense",
    .probabilities = "gating_activation",
    .top_k = "topk",
    .permute = "gather_sort",
    .send = "ffn.alltoall",
    .back = "ffn.alltoall_back",
    .unpermute = "gather_unsort",
    .weigh = "mul_router_coeff",
    .sum = "sum_router_coeff",
};
static const expert_names megatron = {
    .cast = "router.cast",
    .router = "router.gating",
    .router_weight = "router",
    .probabilities = "router.softmax",
    .top_k = "router.topk",
    .permute = "token_dispatcher.permute",
    .send = "token_dispatcher.all_to_all",
    .back = "token_dispatcher.all_to_all_back",
    .unpermute = "token_dispatcher.unpermute",
};
static const matrix_names llama_matrices = {"w1", "w3", "w2", "w1.activation.silu", "mul", "swiglu"};
static const matrix_names megatron_matrices = {"linear_fc1",      "linear_fc1",      "linear_fc2",
                                               "activation_func", "activation_func", "activation_func"};

typedef struct experts {
    const ek__layer_builder *b;
    const expert_names *name;
    const char *cell;         /* of the routed experts */
    bool mindformers;         /* its operators; otherwise Megatron's */
    bool gathered;            /* all T tokens are routed on each rank */
    bool group_gathers;       /* ranks of an expert gather each other's tokens */
    int64_t tokens, copies;   /* n, P */
    int64_t received, hidden; /* R, H */
    int64_t etp;              /* tensor ranks of an expert */
    int64_t local, inner;     /* experts on the rank, I over etp */
} experts;

/* A feed-forward part: the routed experts' or the shared one's. */
typedef struct part {
    const char *cell;
    bool routed, reshapes; /* Linear's reshapes around the matrices */
    bool one_input;        /* gate and up are one matmul, and its output one tensor */
    int64_t rows, inner;
    int copies;
} part;

/* ---- small things ---- */

static const char *path(const experts *e, const char *rest)
{
    return ek__path_join(e->cell, rest);
}

static int tensor_of(const experts *e, const char *name, ek_dtype dtype, int64_t rows, int64_t columns)
{
    return ek__add_tensor(e->b->graph, name, dtype, 2, (int64_t[]){rows, columns});
}

static int64_t bytes_of(const experts *e, int tensor)
{
    return e->b->graph->tensor[tensor].bytes;
}

/* An operator that copies memory: its gradient moves about the same bytes. */
static ek__op *stream(const experts *e, const char *where, int in, int out)
{
    ek__graph *g = e->b->graph;
    ek__op *op = ek__add_op(g, where, EK__OP_ELEMENTWISE);
    ek__op_in(g, op, in);
    ek__op_out(g, op, out);
    ek__op_done(e->b, op);
    return op;
}

/* ---- a feed-forward part ---- */

/* rows x in of all experts on the rank, each row times its expert's [in x out]. */
static int grouped_matmul(const experts *e, const char *where, const char *cell, int x, int64_t rows, int64_t in,
                          int64_t out)
{
    ek__graph *g = e->b->graph;
    const ek_job *job = e->b->job;
    int64_t elements = e->local * in * out;
    assert(g->tensor[x].bytes == rows * in * ek_dtype_bytes(g->tensor[x].dtype));
    int y = tensor_of(e, "output", e->b->compute, rows, out);
    ek__op *op = stream(e, where, x, y);
    op->kind = EK__OP_MATMUL;
    op->parameter = ek__add_parameter(g, ek__path_join(cell, "weight"), elements, e->local, job->types.param,
                                      job->parallel.tensor / (int)e->etp);
    g->parameter[op->parameter].expert = true;
    g->parameter[op->parameter].rows = out;
    g->parameter[op->parameter].columns = in;
    ek__op_need(g, op, x);
    op->flops = op->backward_flops = op->weight_flops = 2.0 * (double)rows * (double)in * (double)out;
    op->bytes_moved += (double)elements * ek_dtype_bytes(e->b->compute);
    op->backward_bytes_moved = op->bytes_moved;
    return y;
}

static int matrix(const experts *e, const part *p, const char *cell, int x, int64_t in, int64_t out)
{
    const char *at = ek__path_join(p->cell, cell), *where = e->mindformers ? ek__path_join(at, "matmul") : at;
    if (p->routed)
        return grouped_matmul(e, where, at, x, p->rows, in, out);
    return ek__build_matmul(e->b, where, at, x, p->rows, in, out, false, p->copies);
}

static int reshape_in(const experts *e, const part *p, const char *cell, int x)
{
    return p->reshapes ? ek__build_reshape_in(e->b, ek__path_join(p->cell, cell), x) : x;
}

static int reshape_out(const experts *e, const part *p, const char *cell, int x)
{
    return p->reshapes ? ek__build_reshape_out(e->b, ek__path_join(p->cell, cell), x) : x;
}

static int activate(const experts *e, const part *p, const char *where, const char *name, int x, int y)
{
    const int64_t dim[] = {p->rows, p->inner};
    return ek__build_elementwise(e->b, ek__path_join(p->cell, where), name, e->b->compute, 2, dim, x, y, true);
}

/* Linear of MindFormers runs its activation inside, before the reshape of its output: recomputing one without the other
 * is optimised away. */
static int build_gated(const experts *e, const part *p, const matrix_names *n, int x)
{
    ek__graph *g = e->b->graph;
    if (p->one_input) {
        int both = matrix(e, p, n->up, x, e->hidden, 2 * p->inner);
        if (e->b->job->model.fused_swiglu || e->mindformers)
            return activate(e, p, n->fused, "product", both, -1);
        return activate(e, p, n->product, "product", activate(e, p, n->activation, "output", both, -1), both);
    }
    int up = matrix(e, p, n->up, reshape_in(e, p, n->up, x), e->hidden, p->inner);
    up = activate(e, p, n->activation, "output", up, -1);
    int silu = g->n_ops - 1;
    up = reshape_out(e, p, n->up, up);
    g->op[silu].requires = g->n_ops - 1 > silu ? silu + 1 : -1;
    int gate = matrix(e, p, n->gate, reshape_in(e, p, n->gate, x), e->hidden, p->inner);
    return activate(e, p, n->product, "product", up, reshape_out(e, p, n->gate, gate));
}

static int build_part(const experts *e, const part *p, int x)
{
    ek__graph *g = e->b->graph;
    const matrix_names *n = e->mindformers ? &llama_matrices : &megatron_matrices;
    int y = e->b->job->model.gated
                ? build_gated(e, p, n, x)
                : activate(e, p, n->activation, "output", matrix(e, p, n->up, x, e->hidden, p->inner), -1);
    int made = g->tensor[y].producer, before = g->n_ops;
    y = reshape_in(e, p, n->down, y);
    if (g->n_ops > before) {
        /* Its input is saved unless the operator itself is recomputed. */
        g->op[before].always_recomputed = false;
        g->op[made].requires = before;
    }
    return reshape_out(e, p, n->down, matrix(e, p, n->down, y, p->inner, e->hidden));
}

static bool has_one_input(const experts *e, bool routed)
{
    const ek_job_model *m = &e->b->job->model;
    return m->gated && (m->fused_swiglu || m->qkv_concat || !e->mindformers || (routed && m->grouped_matmul));
}

/* ---- router ---- */

/* The router's probabilities and each token's top_k weights; `indices` are saved for the backward scatters. */
static int route(const experts *e, int x, int *indices)
{
    const ek__layer_builder *b = e->b;
    ek__graph *g = b->graph;
    const ek_job_model *m = &b->job->model;
    ek_dtype type = b->job->types.router;
    int in = x;
    if (type != b->compute) {
        in = tensor_of(e, "router input", type, e->tokens, e->hidden);
        ek__op *cast = stream(e, path(e, e->name->cast), x, in);
        /* Megatron's router saves its input and casts again; MindSpore's graph saves the cast's output. */
        cast->always_recomputed = !e->mindformers;
    }
    int logits = ek__build_matmul(b, path(e, e->name->router), path(e, e->name->router_weight), in, e->tokens,
                                  e->hidden, m->n_experts, false, b->job->parallel.tensor);
    g->tensor[logits].dtype = type;
    g->tensor[logits].bytes = e->tokens * m->n_experts * ek_dtype_bytes(type);
    assert(g->tensor[logits].producer >= 0);
    ek__op *matmul = &g->op[g->tensor[logits].producer];
    if (matmul->parameter >= 0) {
        g->parameter[matmul->parameter].dtype = type;
        g->parameter[matmul->parameter].rows = g->parameter[matmul->parameter].columns = 0;
    }
    int probabilities = tensor_of(e, "router probabilities", type, e->tokens, m->n_experts);
    ek__op_need(g, stream(e, path(e, e->name->probabilities), logits, probabilities), probabilities);
    int weights = tensor_of(e, "router weights", type, e->tokens, m->top_k);
    *indices = ek__add_bytes(g, "expert indices", 4 * e->tokens * m->top_k, true);
    ek__op *top_k = stream(e, path(e, e->name->top_k), probabilities, weights);
    ek__op_out(g, top_k, *indices);
    ek__op_need(g, top_k, *indices);
    /* Each expert's positions and the balancing loss come from a one-hot of the choices. */
    top_k->workspace = 4 * e->tokens * m->top_k * m->n_experts;
    return weights;
}

/* ---- sending ---- */

static int permute(const experts *e, int x, int indices)
{
    ek__graph *g = e->b->graph;
    assert(g->tensor[x].dim[0] == e->tokens);
    int y = tensor_of(e, "permuted tokens", e->b->compute, e->copies, e->hidden);
    ek__op *op = stream(e, path(e, e->name->permute), x, y);
    ek__op_in(g, op, indices);
    ek__op_need(g, op, indices);
    /* A row of zeros before the tokens is for empty places. */
    if (e->mindformers && e->b->job->model.capacity_factor > 0)
        op->workspace = bytes_of(e, x);
    return y;
}

static int send(const experts *e, const char *where, const char *name, int x, int64_t rows, ek__comm comm,
                ek__group group)
{
    const int64_t dim[] = {rows, e->hidden};
    ek__graph *g = e->b->graph;
    int y = ek__build_comm(e->b, path(e, where), comm, group, x, name, 2, dim, g->tensor[x].producer);
    /* The experts' input is saved as received: no framework sends it again. */
    g->op[g->tensor[y].producer].always_recomputed = false;
    return y;
}

/* Down's partial sums, over the ranks of an expert. */
static int reduce(const experts *e, int x)
{
    if (e->group_gathers)
        return send(e, "ffn.scatter", "expert output", x, e->received, EK__COMM_SCATTER, EK__GROUP_TENSOR);
    if (e->etp > 1)
        return send(e, "ffn.reduce", "expert output", x, e->received, EK__COMM_REDUCE, EK__GROUP_TENSOR);
    return x;
}

static int compute(const experts *e, int x)
{
    part p = {.cell = path(e, e->mindformers ? "ffn" : "experts"),
              .routed = true,
              .reshapes = !e->b->job->model.grouped_matmul,
              .one_input = has_one_input(e, true),
              .rows = e->received,
              .inner = e->inner};
    if (e->group_gathers) {
        p.rows *= e->etp;
        x = send(e, "ffn.gather", "gathered tokens", x, p.rows, EK__COMM_GATHER, EK__GROUP_TENSOR);
    }
    return reduce(e, build_part(e, &p, x));
}

/* Back into the tokens' order, each token's copies summed with its weights. */
static int combine(const experts *e, int x, int weights, int indices)
{
    ek__graph *g = e->b->graph;
    int64_t chosen = e->tokens * e->b->job->model.top_k;
    assert(g->tensor[x].dim[0] == e->copies);
    int sum = tensor_of(e, "experts' sum", e->b->compute, e->tokens, e->hidden);
    if (!e->mindformers) {
        ek__op *op = stream(e, path(e, e->name->unpermute), x, sum);
        ek__op_in(g, op, weights);
        ek__op_in(g, op, indices);
        ek__op_need(g, op, x);
        ek__op_need(g, op, weights);
        ek__op_need(g, op, indices);
        return sum;
    }
    int back = tensor_of(e, "experts' output by token", e->b->compute, chosen, e->hidden);
    ek__op *gather = stream(e, path(e, e->name->unpermute), x, back);
    ek__op_in(g, gather, indices);
    ek__op_need(g, gather, indices);
    if (e->b->job->model.capacity_factor > 0)
        gather->workspace = bytes_of(e, x);
    int weighed = tensor_of(e, "weighed output", e->b->compute, chosen, e->hidden);
    ek__op *mul = stream(e, path(e, e->name->weigh), back, weighed);
    ek__op_in(g, mul, weights);
    ek__op_need(g, mul, back);
    ek__op_need(g, mul, weights);
    stream(e, path(e, e->name->sum), weighed, sum);
    return sum;
}

/* ---- shared experts ---- */

/* A dense layer on all tokens. With sequence parallelism MindFormers keeps it whole on every rank and computes the
 * rank's own tokens (LlamaFeedForwardWithMoE.shard of r1.5.0); otherwise it is cut over t like any other. */
static int build_shared(const experts *e, int x)
{
    const ek__layer_builder *b = e->b;
    bool splits = b->local_tokens < b->tokens, whole = e->mindformers && splits, cut = b->t > 1 && !whole;
    part p = {.cell = ek__op_path(b, EK__CELL_MLP, "shared_experts"),
              .reshapes = true,
              .one_input = has_one_input(e, false),
              .rows = whole ? b->local_tokens : b->tokens,
              .inner = b->job->model.shared_intermediate / (cut ? b->t : 1),
              .copies = whole ? (int)b->t : 1};
    const int64_t all[] = {b->tokens, e->hidden}, own[] = {b->local_tokens, e->hidden};
    if (cut && splits)
        x = ek__build_comm(b, ek__path_join(p.cell, "gather"), EK__COMM_GATHER, EK__GROUP_TENSOR, x, "gathered input",
                           2, all, b->graph->tensor[x].producer);
    int y = build_part(e, &p, x);
    if (!cut)
        return y;
    return ek__build_comm(b, ek__path_join(p.cell, splits ? "scatter" : "reduce"),
                          splits ? EK__COMM_SCATTER : EK__COMM_REDUCE, EK__GROUP_TENSOR, y, "shared output", 2,
                          splits ? own : all, b->graph->tensor[y].producer);
}

/* ---- sizes ---- */

static int64_t capacity(const experts *e)
{
    const ek_job *job = e->b->job;
    double share = (double)job->model.top_k * (double)e->tokens * job->model.capacity_factor / job->model.n_experts;
    int64_t c = (int64_t)fmin(ceil(share), (double)e->tokens), t = job->parallel.tensor;
    assert(c >= 1 && c <= e->tokens);
    return e->mindformers ? (c + t - 1) / t * t : c;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static experts make(const ek__layer_builder *b)
{
    const ek_job *job = b->job;
    const ek_job_model *m = &job->model;
    int64_t ep = larger(job->parallel.expert, 1), etp = larger(job->parallel.expert_tensor, 1);
    bool split = b->local_tokens < b->tokens;
    experts e = {.b = b,
                 .mindformers = job->family != EK_FAMILY_MEGATRON,
                 .hidden = m->hidden,
                 .etp = etp,
                 .local = m->n_experts / ep,
                 .inner = m->expert_intermediate / etp};
    e.name = !e.mindformers ? &megatron : m->grouped_matmul ? &llama_grouped : &llama;
    /* With shared experts MindFormers has a cell around both (LlamaFeedForwardWithMoE), otherwise the cell is the
     * experts'. */
    e.cell = ek__op_path(b, EK__CELL_MLP, e.mindformers && m->shared_intermediate > 0 ? "routed_experts" : "");
    e.gathered = split && etp > 1 && e.mindformers && !m->grouped_matmul;
    e.group_gathers = split && etp > 1 && !e.gathered;
    e.tokens = e.gathered ? b->tokens : b->local_tokens;
    assert(m->n_experts >= 1 && m->top_k >= 1 && m->top_k <= m->n_experts);
    assert(m->n_experts % ep == 0 && m->expert_intermediate % etp == 0);
    if (m->capacity_factor > 0) {
        e.copies = e.received = m->n_experts * capacity(&e);
    } else {
        e.copies = e.tokens * m->top_k;
        e.received = ep > 1 ? (int64_t)ceil((double)e.copies * fmax(1, job->rules.moe_imbalance)) : e.copies;
    }
    assert(e.copies >= 1 && e.received >= e.copies);
    return e;
}

/* ---- the whole ---- */

static int build_routed(const experts *e, int x)
{
    const ek__layer_builder *b = e->b;
    const int64_t all[] = {b->tokens, e->hidden};
    if (e->gathered)
        x = ek__build_comm(b, path(e, "gather"), EK__COMM_GATHER, EK__GROUP_TENSOR, x, "gathered input", 2, all,
                           b->graph->tensor[x].producer);
    int indices;
    int weights = route(e, x, &indices);
    int y = permute(e, x, indices);
    bool sends = b->job->parallel.expert > 1;
    if (sends)
        y = send(e, e->name->send, "received tokens", y, e->received, EK__COMM_ALLTOALL, EK__GROUP_EXPERT);
    y = compute(e, y);
    if (sends)
        y = send(e, e->name->back, "returned tokens", y, e->copies, EK__COMM_ALLTOALL, EK__GROUP_EXPERT);
    y = combine(e, y, weights, indices);
    if (!e->gathered)
        return y;
    int own = tensor_of(e, "own tokens", b->compute, b->local_tokens, e->hidden);
    stream(e, path(e, "own"), y, own); /* each rank has the sum of all and takes its part */
    return own;
}

int ek__build_mlp_experts(const ek__layer_builder *b, int x)
{
    const experts e = make(b);
    assert(b->graph->tensor[x].dim[0] == b->local_tokens && b->graph->tensor[x].dim[1] == e.hidden);
    int shared = b->job->model.shared_intermediate > 0 ? build_shared(&e, x) : -1;
    int y = build_routed(&e, x);
    if (shared < 0)
        return y;
    ek__graph *g = b->graph;
    int sum = tensor_of(&e, "experts' and shared output", b->compute, b->local_tokens, e.hidden);
    ek__op_in(g, stream(&e, ek__op_path(b, EK__CELL_MLP, "add"), y, sum), shared);
    return sum;
}
