/* A feed-forward layer with experts, as operators: the router chooses top_k experts for each token, tokens are copied
 * into the experts' order (permute), sent to the ranks of their experts (all-to-all), computed, sent back, put into
 * their own order again and added up with the router's weights; shared experts are a dense layer beside.
 *
 * Rows: n tokens of the rank are P = n top_k copies without a limit, or P = E C with a capacity of
 * C = ceil(top_k n capacity_factor / E) tokens for each expert, at most n, in MindFormers rounded up to a multiple of t
 * (moe.py of MindFormers r1.5.0). R of them come back from the all-to-all: P with a capacity, which is a full buffer;
 * P times rules.moe_imbalance without, on the fullest rank. Kept, by what gradients read:
 *
 *     router     its input in the router's type (weight), the probabilities (softmax), the chosen weights
 *     permute    the indices only
 *     experts    R x H (weights of gate and up), R x I twice or R x 2I (activation and product), R x I (weight of down)
 *     combine    P x H, in MindFormers n top_k x H once in the tokens' order: the gradient of the router's weights
 *                reads what they multiply
 *
 * Tensor parallelism of the experts (expert_tensor ranks) cuts I. With sequence parallelism each rank routes its own
 * tokens and the group gathers what its experts got; only MindFormers' batched matmul gathers all tokens before the
 * router. MindFormers has both a form with indices (gather and scatter) and an older one with one-hot products; this is
 * the one with indices. The loss that balances experts is an addition to the router's workspace. Not handled: group-wise
 * all-to-all, experts cut in three dimensions, tokens sent once per node. */
#include <math.h>

#include "memory/layer.h"

/* Paths below the feed-forward cell. */
typedef struct expert_names {
    const char *cast, *router, *probabilities, *top_k, *permute, *send, *gather, *scatter, *back, *unpermute, *weigh, *sum;
    const char *up, *gate, *activation, *product, *fused, *down; /* of routed experts */
    const char *up_weight, *gate_weight, *down_weight, *router_weight;
    const char *shared_up, *shared_gate, *shared_activation, *shared_product, *shared_fused, *shared_down;
    const char *shared_up_weight, *shared_gate_weight, *shared_down_weight, *shared_gather, *shared_scatter, *add;
} expert_names;

#define SHARED_LLAMA                                                                                                   \
    .shared_up = "shared_experts.w1.matmul", .shared_gate = "shared_experts.w3.matmul",                                \
    .shared_activation = "shared_experts.w1.activation.silu", .shared_product = "shared_experts.mul",                  \
    .shared_fused = "shared_experts.swiglu", .shared_down = "shared_experts.w2.matmul",                                \
    .shared_up_weight = "shared_experts.w1.weight", .shared_gate_weight = "shared_experts.w3.weight",                  \
    .shared_down_weight = "shared_experts.w2.weight", .shared_gather = "shared_experts.gather",                        \
    .shared_scatter = "shared_experts.scatter", .add = "add"
#define ROUTED_LLAMA(r)                                                                                                \
    .cast = r "router.cast", .router = r "router.dense.matmul", .probabilities = r "router.router.softmax",            \
    .top_k = r "router.router.topk", .permute = r "router.router.dispatch_gather", .send = r "alltoall",               \
    .gather = r "ffn.gather", .scatter = r "ffn.scatter", .back = r "alltoall_back",                                   \
    .unpermute = r "router.router.combine_gather", .weigh = r "router.router.mul_router_coeff",                        \
    .sum = r "router.router.sum_router_coeff", .up = r "ffn.w1.matmul", .gate = r "ffn.w3.matmul",                     \
    .activation = r "ffn.w1.activation.silu", .product = r "ffn.mul", .fused = r "ffn.swiglu",                         \
    .down = r "ffn.w2.matmul", .up_weight = r "ffn.w1.weight", .gate_weight = r "ffn.w3.weight",                       \
    .down_weight = r "ffn.w2.weight", .router_weight = r "router.dense.weight"
#define ROUTED_LLAMA_GROUPED(r)                                                                                        \
    .cast = r "cast", .router = r "router_dense.matmul", .probabilities = r "gating_activation", .top_k = r "topk",    \
    .permute = r "gather_sort", .send = r "ffn.alltoall", .gather = r "ffn.gather", .scatter = r "ffn.scatter",        \
    .back = r "ffn.alltoall_back", .unpermute = r "gather_unsort", .weigh = r "mul_router_coeff",                      \
    .sum = r "sum_router_coeff", .up = r "ffn.w1.matmul", .gate = r "ffn.w3.matmul",                                   \
    .activation = r "ffn.w1.activation.silu", .product = r "ffn.mul", .fused = r "ffn.swiglu",                         \
    .down = r "ffn.w2.matmul", .up_weight = r "ffn.w1", .gate_weight = r "ffn.w3", .down_weight = r "ffn.w2",          \
    .router_weight = r "router_dense.weight"

/* With shared experts the layer is a cell around both (LlamaFeedForwardWithMoE), else the experts' cell itself. Names
 * inside the grouped form's ffn, which is one custom operator in graph mode, are ours. */
static const expert_names llama = {ROUTED_LLAMA(""), SHARED_LLAMA};
static const expert_names llama_shared = {ROUTED_LLAMA("routed_experts."), SHARED_LLAMA};
static const expert_names llama_grouped = {ROUTED_LLAMA_GROUPED(""), SHARED_LLAMA};
static const expert_names llama_grouped_shared = {ROUTED_LLAMA_GROUPED("routed_experts."), SHARED_LLAMA};
static const expert_names megatron = {
    .cast = "router.cast",
    .router = "router.gating",
    .probabilities = "router.softmax",
    .top_k = "router.topk",
    .permute = "token_dispatcher.permute",
    .send = "token_dispatcher.all_to_all",
    .gather = "token_dispatcher.gather",
    .scatter = "token_dispatcher.scatter",
    .back = "token_dispatcher.all_to_all_back",
    .unpermute = "token_dispatcher.unpermute",
    .weigh = "token_dispatcher.weigh",
    .sum = "token_dispatcher.sum",
    .up = "experts.linear_fc1",
    .gate = "experts.linear_fc1_gate",
    .activation = "experts.activation_func",
    .product = "experts.mul",
    .fused = "experts.activation_func",
    .down = "experts.linear_fc2",
    .up_weight = "experts.linear_fc1.weight",
    .gate_weight = "experts.linear_fc1_gate.weight",
    .down_weight = "experts.linear_fc2.weight",
    .router_weight = "router.weight",
    .shared_up = "shared_experts.linear_fc1",
    .shared_gate = "shared_experts.linear_fc1_gate",
    .shared_activation = "shared_experts.activation_func",
    .shared_product = "shared_experts.mul",
    .shared_fused = "shared_experts.activation_func",
    .shared_down = "shared_experts.linear_fc2",
    .shared_up_weight = "shared_experts.linear_fc1.weight",
    .shared_gate_weight = "shared_experts.linear_fc1_gate.weight",
    .shared_down_weight = "shared_experts.linear_fc2.weight",
    .shared_gather = "shared_experts.gather",
    .shared_scatter = "shared_experts.scatter",
    .add = "add",
};

typedef struct experts {
    const ek__layer_builder *b;
    const expert_names *name;
    bool gathered;            /* all T tokens are routed on each rank */
    bool group_gathers;       /* ranks of an expert gather what each of them got */
    bool one_input;           /* gate and up are one matmul, and its output one tensor */
    int64_t tokens, copies;   /* n, P */
    int64_t received, hidden; /* R, H */
    int64_t local, inner;     /* experts on the rank, I over expert_tensor */
} experts;

/* ---- small things ---- */

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

static const char *path(const experts *e, const char *rest)
{
    return ek__path(e->b, EK__CELL_MLP, rest);
}

static int tensor_of(const experts *e, const char *name, ek_dtype dtype, int64_t rows, int64_t columns)
{
    const int64_t dim[] = {rows, columns};
    return ek__add_tensor(e->b->graph, name, dtype, 2, dim);
}

static int64_t bytes_of(const experts *e, int tensor)
{
    return e->b->graph->tensor[tensor].bytes;
}

/* An operator that reads memory and writes it: its gradient moves about as much. */
static ek__op *stream(const experts *e, const char *where, int in, int out)
{
    ek__graph *g = e->b->graph;
    ek__op *op = ek__add_op(g, path(e, where), EK__OP_ELEMENTWISE);
    ek__op_in(g, op, in);
    ek__op_out(g, op, out);
    op->bytes_moved = op->backward_bytes_moved = (double)bytes_of(e, in) + (double)bytes_of(e, out);
    return op;
}

/* rows x in of all experts on the rank, each row times its expert's [in x out]. */
static int grouped_matmul(const experts *e, const char *where, const char *weight, const char *name, int x,
                          int64_t rows, int64_t in, int64_t out)
{
    ek__graph *g = e->b->graph;
    const ek_job *job = e->b->job;
    int64_t elements = e->local * in * out;
    int parameter = ek__add_parameter(g, path(e, weight), elements, e->local, job->types.param,
                                      job->parallel.tensor / job->parallel.expert_tensor);
    g->parameter[parameter].expert = true;
    int y = tensor_of(e, name, e->b->compute, rows, out);
    ek__op *op = stream(e, where, x, y);
    op->kind = EK__OP_MATMUL;
    op->parameter = parameter;
    ek__op_need(g, op, x);
    op->flops = op->backward_flops = op->weight_flops = 2.0 * (double)rows * (double)in * (double)out;
    op->bytes_moved += (double)elements * ek_dtype_bytes(e->b->compute);
    op->backward_bytes_moved = op->bytes_moved;
    return y;
}

/* ---- activation between the matmuls ---- */

typedef struct act_names {
    const char *activation, *product, *fused;
} act_names;

/* SwiGLU of gate and up (or of the one tensor of both), or GELU. */
static int activate(const experts *e, const act_names *name, int up, int gate, int64_t rows, int64_t inner)
{
    ek__graph *g = e->b->graph;
    bool fused = e->one_input || !e->b->job->model.gated;
    if (fused) {
        int y = tensor_of(e, "activation", e->b->compute, rows, inner);
        ek__op_need(g, stream(e, e->b->job->model.gated ? name->fused : name->activation, up, y), up);
        return y;
    }
    int silu = tensor_of(e, "SiLU output", e->b->compute, rows, inner);
    ek__op_need(g, stream(e, name->activation, up, silu), up);
    int y = tensor_of(e, "product", e->b->compute, rows, inner);
    ek__op *mul = stream(e, name->product, silu, y);
    ek__op_in(g, mul, gate);
    ek__op_need(g, mul, silu);
    ek__op_need(g, mul, gate);
    mul->bytes_moved += (double)bytes_of(e, gate);
    mul->backward_bytes_moved = mul->bytes_moved;
    return y;
}

/* ---- router ---- */

/* The router's probabilities and each token's top_k weights; `indices` are kept for the scatters backward. */
static int route(const experts *e, int x, int *indices)
{
    const ek__layer_builder *b = e->b;
    ek__graph *g = b->graph;
    const ek_job_model *m = &b->job->model;
    ek_dtype type = b->job->types.router;
    int in = x;
    if (type != b->compute) {
        in = tensor_of(e, "router input", type, e->tokens, e->hidden);
        ek__op *cast = stream(e, e->name->cast, x, in);
        /* Megatron's router keeps its input and casts again; MindSpore's graph keeps the cast's output. */
        cast->always_recomputed = !is_mindformers(b->job);
    }
    int logits = ek__build_matmul(b, path(e, e->name->router), path(e, e->name->router_weight), in, e->tokens,
                                  e->hidden, m->n_experts, false, b->job->parallel.tensor);
    g->tensor[logits].dtype = type;
    g->tensor[logits].bytes = e->tokens * m->n_experts * ek_dtype_bytes(type);
    ek__op *matmul = &g->op[g->tensor[logits].producer];
    if (matmul->parameter >= 0)
        g->parameter[matmul->parameter].dtype = type;
    int probabilities = tensor_of(e, "router probabilities", type, e->tokens, m->n_experts);
    ek__op_need(g, stream(e, e->name->probabilities, logits, probabilities), probabilities);
    int weights = tensor_of(e, "router weights", type, e->tokens, m->top_k);
    *indices = ek__add_bytes(g, "expert indices", 4 * e->tokens * m->top_k, true);
    ek__op *top_k = stream(e, e->name->top_k, probabilities, weights);
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
    int y = tensor_of(e, "permuted tokens", e->b->compute, e->copies, e->hidden);
    ek__op *op = stream(e, e->name->permute, x, y);
    ek__op_in(g, op, indices);
    ek__op_need(g, op, indices);
    /* A row of zeros stands before the tokens, for empty places. */
    if (is_mindformers(e->b->job) && e->b->job->model.capacity_factor > 0)
        op->workspace = bytes_of(e, x);
    return y;
}

static int send(const experts *e, const char *where, const char *name, int x, int64_t rows, ek__comm comm,
                ek__group group)
{
    const int64_t dim[] = {rows, e->hidden};
    ek__graph *g = e->b->graph;
    int y = ek__build_comm(e->b, path(e, where), comm, group, x, name, 2, dim, g->tensor[x].producer);
    /* What experts compute on is kept as it came: sending it again is no part of any framework's rules. */
    g->op[g->tensor[y].producer].always_recomputed = false;
    return y;
}

/* Down's partial sums, over the ranks of an expert. */
static int reduce(const experts *e, int x)
{
    if (e->group_gathers)
        return send(e, e->name->scatter, "expert output", x, e->received, EK__COMM_SCATTER, EK__GROUP_TENSOR);
    if (e->b->job->parallel.expert_tensor > 1)
        return send(e, e->name->scatter, "expert output", x, e->received, EK__COMM_REDUCE, EK__GROUP_TENSOR);
    return x;
}

static int compute(const experts *e, int x)
{
    const ek_job_model *m = &e->b->job->model;
    int64_t rows = e->received;
    if (e->group_gathers) {
        rows *= e->b->job->parallel.expert_tensor;
        x = send(e, e->name->gather, "gathered tokens", x, rows, EK__COMM_GATHER, EK__GROUP_TENSOR);
    }
    int up = grouped_matmul(e, e->name->up, e->name->up_weight, "experts' up", x, rows, e->hidden,
                            e->one_input ? 2 * e->inner : e->inner);
    int gate = -1;
    if (m->gated && !e->one_input)
        gate = grouped_matmul(e, e->name->gate, e->name->gate_weight, "experts' gate", x, rows, e->hidden, e->inner);
    const act_names names = {e->name->activation, e->name->product, e->name->fused};
    int product = activate(e, &names, up, gate, rows, e->inner);
    int down = grouped_matmul(e, e->name->down, e->name->down_weight, "experts' down", product, rows, e->inner,
                              e->hidden);
    return reduce(e, down);
}

/* Back into the tokens' order, each token's copies summed with its weights. */
static int combine(const experts *e, int x, int weights, int indices)
{
    ek__graph *g = e->b->graph;
    int64_t chosen = e->tokens * e->b->job->model.top_k;
    int sum = tensor_of(e, "experts' sum", e->b->compute, e->tokens, e->hidden);
    if (!is_mindformers(e->b->job)) {
        ek__op *op = stream(e, e->name->unpermute, x, sum);
        ek__op_in(g, op, weights);
        ek__op_in(g, op, indices);
        ek__op_need(g, op, x);
        ek__op_need(g, op, weights);
        ek__op_need(g, op, indices);
        return sum;
    }
    int back = tensor_of(e, "experts' output by token", e->b->compute, chosen, e->hidden);
    ek__op *gather = stream(e, e->name->unpermute, x, back);
    ek__op_in(g, gather, indices);
    ek__op_need(g, gather, indices);
    if (e->b->job->model.capacity_factor > 0)
        gather->workspace = bytes_of(e, x);
    int weighed = tensor_of(e, "weighed output", e->b->compute, chosen, e->hidden);
    ek__op *mul = stream(e, e->name->weigh, back, weighed);
    ek__op_in(g, mul, weights);
    ek__op_need(g, mul, back);
    ek__op_need(g, mul, weights);
    stream(e, e->name->sum, weighed, sum);
    return sum;
}

/* ---- shared experts ---- */

/* A dense layer on all tokens. With sequence parallelism MindFormers leaves it whole on every rank and computes the
 * rank's own tokens (LlamaFeedForwardWithMoE.shard of r1.5.0); else it is cut over t like any other. */
static int build_shared(const experts *e, int x)
{
    const ek__layer_builder *b = e->b;
    bool whole = is_mindformers(b->job) && b->job->parallel.sequence_parallel, cut = b->t > 1 && !whole;
    int64_t tokens = whole ? b->local_tokens : b->tokens, inner = b->job->model.shared_intermediate / (cut ? b->t : 1);
    int copies = whole ? b->job->parallel.tensor : 1;
    const int64_t all[] = {b->tokens, e->hidden}, own[] = {b->local_tokens, e->hidden};
    if (cut && b->local_tokens < b->tokens)
        x = ek__build_comm(b, path(e, e->name->shared_gather), EK__COMM_GATHER, EK__GROUP_TENSOR, x, "gathered input",
                           2, all, b->graph->tensor[x].producer);
    int up = ek__build_matmul(b, path(e, e->name->shared_up), path(e, e->name->shared_up_weight), x, tokens, e->hidden,
                              e->one_input ? 2 * inner : inner, false, copies);
    int gate = -1;
    if (b->job->model.gated && !e->one_input)
        gate = ek__build_matmul(b, path(e, e->name->shared_gate), path(e, e->name->shared_gate_weight), x, tokens,
                                e->hidden, inner, false, copies);
    const act_names names = {e->name->shared_activation, e->name->shared_product, e->name->shared_fused};
    int product = activate(e, &names, up, gate, tokens, inner);
    int y = ek__build_matmul(b, path(e, e->name->shared_down), path(e, e->name->shared_down_weight), product, tokens,
                             inner, e->hidden, false, copies);
    if (!cut)
        return y;
    bool scatter = b->local_tokens < b->tokens;
    return ek__build_comm(b, path(e, e->name->shared_scatter), scatter ? EK__COMM_SCATTER : EK__COMM_REDUCE,
                          EK__GROUP_TENSOR, y, "shared output", 2, scatter ? own : all, b->graph->tensor[y].producer);
}

/* ---- sizes ---- */

static int64_t capacity(const experts *e)
{
    const ek_job *job = e->b->job;
    double share = (double)job->model.top_k * (double)e->tokens * job->model.capacity_factor / job->model.n_experts;
    int64_t c = (int64_t)fmin(ceil(share), (double)e->tokens), t = job->parallel.tensor;
    return is_mindformers(job) ? (c + t - 1) / t * t : c;
}

static experts make(const ek__layer_builder *b)
{
    const ek_job *job = b->job;
    const ek_job_model *m = &job->model;
    int64_t ep = job->parallel.expert, etp = job->parallel.expert_tensor;
    bool shared = m->n_shared_experts > 0 && m->shared_intermediate > 0, split = b->local_tokens < b->tokens;
    experts e = {.b = b, .hidden = m->hidden, .local = m->n_experts / ep, .inner = m->expert_intermediate / etp};
    if (job->family == EK_FAMILY_MEGATRON)
        e.name = &megatron;
    else if (m->grouped_matmul)
        e.name = shared ? &llama_grouped_shared : &llama_grouped;
    else
        e.name = shared ? &llama_shared : &llama;
    e.gathered = split && etp > 1 && is_mindformers(job) && !m->grouped_matmul;
    e.group_gathers = split && etp > 1 && !e.gathered;
    e.one_input = m->gated && (m->fused_swiglu || m->qkv_concat || m->grouped_matmul);
    e.tokens = e.gathered ? b->tokens : b->local_tokens;
    if (m->capacity_factor > 0) {
        e.copies = e.received = m->n_experts * capacity(&e);
    } else {
        e.copies = e.tokens * m->top_k;
        e.received = ep > 1 ? (int64_t)ceil((double)e.copies * fmax(1, job->rules.moe_imbalance)) : e.copies;
    }
    return e;
}

/* ---- the whole ---- */

static int build_routed(const experts *e, int x)
{
    const ek__layer_builder *b = e->b;
    const int64_t all[] = {b->tokens, e->hidden};
    if (e->gathered)
        x = ek__build_comm(b, path(e, e->name->gather), EK__COMM_GATHER, EK__GROUP_TENSOR, x, "gathered input", 2, all,
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
    stream(e, e->name->scatter, y, own); /* each rank has the sum of all and takes its part */
    return own;
}

int ek__build_mlp_experts(const ek__layer_builder *b, int x)
{
    const experts e = make(b);
    int shared = b->job->model.shared_intermediate > 0 ? build_shared(&e, x) : -1;
    int y = build_routed(&e, x);
    if (shared < 0)
        return y;
    ek__graph *g = b->graph;
    int sum = tensor_of(&e, "experts' and shared output", b->compute, b->local_tokens, e.hidden);
    ek__op_in(g, stream(&e, e.name->add, y, sum), shared);
    return sum;
}
