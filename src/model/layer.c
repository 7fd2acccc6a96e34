/* Helpers shared by the builders of layers: paths of operators in the words of each family, and the common operators of
 * layers. Paths and names live as long as the process: they are combinations of the literals in the builders, a few
 * hundred in total, interned in a table of fixed size. */
#include "model/layer.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum { MAX_PATHS = 1024, PATH_BYTES = 64 << 10, LONGEST_PATH = 96 };

static struct {
    pthread_mutex_t lock;
    const char *path[MAX_PATHS]; /* open addressing */
    int n;
    size_t used;
    char text[PATH_BYTES];
} paths = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned hash(const char *text)
{
    unsigned h = 2166136261U; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619U;
    return h;
}

static const char *intern(const char *text)
{
    pthread_mutex_lock(&paths.lock);
    unsigned at = hash(text) % MAX_PATHS;
    while (paths.path[at] && strcmp(paths.path[at], text) != 0)
        at = (at + 1) % MAX_PATHS;
    if (!paths.path[at]) {
        size_t size = strlen(text) + 1;
        assert(paths.n < MAX_PATHS - 1 && paths.used + size <= PATH_BYTES);
        memcpy(paths.text + paths.used, text, size);
        paths.path[at] = paths.text + paths.used;
        paths.used += size;
        paths.n++;
    }
    const char *path = paths.path[at];
    pthread_mutex_unlock(&paths.lock);
    return path;
}

const char *ek__path_join(const char *cell, const char *rest)
{
    char text[LONGEST_PATH];
    size_t size = strlen(cell), tail = strlen(rest);
    assert(size + tail + 1 < sizeof text);
    memcpy(text, cell, size + 1);
    if (size > 0 && tail > 0)
        text[size++] = '.';
    memcpy(text + size, rest, tail + 1);
    return intern(text);
}

const char *ek__op_path(const ek__layer_builder *b, ek__cell cell, const char *rest)
{
    assert((unsigned)cell < EK__N_CELLS);
    static const char *const names[][EK__N_CELLS] = {
        [EK_FAMILY_LLAMA] = {"attention_norm", "attention", "ffn_norm", "feed_forward"},
        [EK_FAMILY_GLM] = {"input_layernorm", "self_attention", "post_attention_layernorm", "mlp"},
        [EK_FAMILY_MEGATRON] = {"input_layernorm", "self_attention", "pre_mlp_layernorm", "mlp"},
    };
    assert((unsigned)b->job->family <= EK_FAMILY_MEGATRON);
    const char *name = names[b->job->family][cell];
    /* Megatron's settings name modules; its norms have no inner operators. */
    bool norm = cell == EK__CELL_ATTENTION_NORM || cell == EK__CELL_MLP_NORM;
    if (b->job->family == EK_FAMILY_MEGATRON && norm && strcmp(rest, "norm") == 0)
        rest = "";
    return ek__path_join(name, rest);
}

/* The cell of a primitive: "attention_norm.norm" -> "attention_norm", "attention_norm.REST" with a rest. A path that
 * does not end in `last` is a cell itself. */
static const char *beside(const char *path, const char *last, const char *rest)
{
    char cell[LONGEST_PATH];
    size_t size = strlen(path), tail = strlen(last);
    assert(size < sizeof cell);
    memcpy(cell, path, size + 1);
    if (size > tail && path[size - tail - 1] == '.' && strcmp(path + size - tail, last) == 0)
        cell[size - tail - 1] = '\0';
    return ek__path_join(cell, rest);
}

static bool is_mindspore(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

ek__layer_builder ek__layer_builder_for(const ek_job *job, ek__graph *graph)
{
    const ek_job_parallel *p = &job->parallel;
    int64_t pieces = p->n_pieces > 1 ? p->n_pieces : 1;
    assert(p->context >= 1 && p->tensor >= 1);
    int64_t tokens = (int64_t)p->batch * p->seq_length / (p->context * pieces);
    assert(tokens >= 1 && (!p->sequence_parallel || tokens >= p->tensor));
    return (ek__layer_builder){
        .job = job,
        .graph = graph,
        .tokens = tokens,
        .local_tokens = p->sequence_parallel ? tokens / p->tensor : tokens,
        .t = p->tensor,
        .cp = p->context,
        .compute = job->types.compute,
    };
}

/* Bytes moved by an operator without relevant FLOPs: forward all that it reads and writes; backward the gradients of
 * its outputs, its saved inputs, and the gradients of its inputs. */
static void set_traffic(const ek__graph *graph, ek__op *op)
{
    double in = 0, out = 0, needs = 0;
    for (int i = 0; i < op->n_in; i++)
        in += (double)graph->tensor[op->in[i]].bytes;
    for (int i = 0; i < op->n_out; i++)
        out += (double)graph->tensor[op->out[i]].bytes;
    for (int i = 0; i < op->n_needs; i++)
        needs += (double)graph->tensor[op->needs[i]].bytes;
    op->bytes_moved = in + out;
    op->backward_bytes_moved = in + out + needs;
}

void ek__op_done(const ek__layer_builder *b, ek__op *op)
{
    if (op->kind != EK__OP_VIEW)
        set_traffic(b->graph, op);
}

int ek__build_elementwise(const ek__layer_builder *b, const char *path, const char *name, ek_dtype dtype, int n_dims,
                          const int64_t *dim, int x, int y, bool needs_inputs)
{
    assert(y >= -1);
    ek__op *op = ek__add_op(b->graph, path, EK__OP_ELEMENTWISE);
    ek__op_in(b->graph, op, x);
    if (y >= 0)
        ek__op_in(b->graph, op, y);
    int out = ek__add_tensor(b->graph, name, dtype, n_dims, dim);
    ek__op_out(b->graph, op, out);
    for (int i = 0; needs_inputs && i < op->n_in; i++)
        ek__op_need(b->graph, op, op->in[i]);
    ek__op_done(b, op);
    return out;
}

int ek__build_like(const ek__layer_builder *b, const char *path, const char *name, ek_dtype dtype, int x)
{
    const ek__tensor of = b->graph->tensor[x];
    return ek__build_elementwise(b, path, name, dtype, of.n_dims, of.dim, x, -1, false);
}

int ek__build_dropout(const ek__layer_builder *b, const char *path, const char *name, double share, int x)
{
    ek__graph *g = b->graph;
    const ek__tensor of = g->tensor[x];
    assert(share >= 0 && share <= 1);
    if (!(share > 0))
        return x;
    int out = ek__build_like(b, path, name, of.dtype, x);
    ek__op *op = &g->op[g->n_ops - 1];
    int mask = ek__add_bytes(g, "dropout mask", of.bytes / ek_dtype_bytes(of.dtype), true);
    ek__op_out(g, op, mask);
    ek__op_need(g, op, mask);
    ek__op_done(b, op);
    return out;
}

int ek__build_view(const ek__layer_builder *b, const char *path, int x, int n_dims, const int64_t *dim)
{
    const ek__tensor of = b->graph->tensor[x];
    ek__op *op = ek__add_op(b->graph, path, EK__OP_VIEW);
    ek__op_in(b->graph, op, x);
    int out = ek__add_tensor(b->graph, of.name, of.dtype, n_dims, dim);
    assert(b->graph->tensor[out].bytes == of.bytes);
    ek__op_out(b->graph, op, out);
    return out;
}

static int add_norm_parameter(const ek__layer_builder *b, const char *path, const char *what, int64_t width, int copies)
{
    ek_dtype dtype = is_mindspore(b->job) ? b->job->types.norm : b->job->types.param;
    int p = ek__add_parameter(b->graph, beside(path, "norm", what), width, width, dtype, copies);
    b->graph->parameter[p].exempt = is_mindspore(b->job);
    return p;
}

int ek__build_norm(const ek__layer_builder *b, const char *path, int x, int64_t tokens, int64_t width, int copies)
{
    ek__graph *g = b->graph;
    const int64_t dim[] = {tokens, width};
    ek_dtype inside = b->job->types.norm, given = g->tensor[x].dtype;
    assert(g->tensor[x].bytes == tokens * width * ek_dtype_bytes(given));
    /* MindFormers casts around the norm; elsewhere the kernel works in fp32 registers. The cast is recomputed, so that
     * the smaller tensor is saved. */
    bool casts = is_mindspore(b->job);
    if (casts && inside != given) {
        x = ek__build_elementwise(b, beside(path, "norm", "cast"), "output", inside, 2, dim, x, -1, false);
        g->op[g->n_ops - 1].always_recomputed = ek_dtype_bytes(inside) > ek_dtype_bytes(given);
    }
    ek__op *op = ek__add_op(g, path, EK__OP_NORM);
    ek__op_in(g, op, x);
    ek_dtype made = casts ? inside : b->compute;
    int out = ek__add_tensor(g, "output", made, 2, dim);
    ek__op_out(g, op, out);
    ek__op_need(g, op, x);
    if (b->job->rules.norm_statistics_bytes > 0) {
        int statistics = ek__add_bytes(g, "statistics", b->job->rules.norm_statistics_bytes * tokens, true);
        ek__op_out(g, op, statistics);
        ek__op_need(g, op, statistics);
    }
    op->parameter = add_norm_parameter(b, path, "weight", width, copies);
    if (b->job->model.layer_norm)
        add_norm_parameter(b, path, "bias", width, copies);
    ek__op_done(b, op);
    if (made != b->compute)
        out = ek__build_elementwise(b, beside(path, "norm", "rcast"), "output", b->compute, 2, dim, out, -1, false);
    return out;
}

int ek__build_matmul(const ek__layer_builder *b, const char *path, const char *weight, int x, int64_t tokens,
                     int64_t in, int64_t out, bool bias, int copies)
{
    ek__graph *g = b->graph;
    assert(g->tensor[x].bytes == tokens * in * ek_dtype_bytes(g->tensor[x].dtype));
    ek__op *op = ek__add_op(g, path, EK__OP_MATMUL);
    ek__op_in(g, op, x);
    int y = ek__add_tensor(g, "output", b->compute, 2, (int64_t[]){tokens, out});
    ek__op_out(g, op, y);
    ek__op_need(g, op, x);
    op->parameter =
        ek__add_parameter(g, beside(weight, "weight", "weight"), in * out, out, b->job->types.param, copies);
    g->parameter[op->parameter].rows = out;
    g->parameter[op->parameter].columns = in;
    double size = ek_dtype_bytes(b->compute), n = (double)tokens;
    op->flops = 2 * n * (double)in * (double)out;
    op->backward_flops = op->weight_flops = op->flops;
    op->bytes_moved = size * (n * (double)(in + out) + (double)in * (double)out);
    op->backward_bytes_moved = op->bytes_moved;
    if (!bias)
        return y;
    ek__add_parameter(g, beside(weight, "weight", "bias"), out, out, b->job->types.param, copies);
    /* Added inside the kernel if there is one for it; MindSpore's Linear has a separate operator. */
    if (!is_mindspore(b->job))
        return y;
    return ek__build_like(b, beside(path, "matmul", "bias_add"), "output", b->compute, y);
}

int ek__build_comm(const ek__layer_builder *b, const char *path, ek__comm comm, ek__group group, int x,
                   const char *name, int n_dims, const int64_t *dim, int comm_after)
{
    ek__graph *g = b->graph;
    assert(comm_after >= -1 && comm_after < g->n_ops);
    ek__op *op = ek__add_op(g, path, EK__OP_COMM);
    ek__op_in(g, op, x);
    int out = ek__add_tensor(g, name, g->tensor[x].dtype, n_dims, dim);
    assert(comm != EK__COMM_GATHER || g->tensor[out].bytes >= g->tensor[x].bytes);
    assert(comm != EK__COMM_SCATTER || g->tensor[out].bytes <= g->tensor[x].bytes);
    assert(comm != EK__COMM_REDUCE || g->tensor[out].bytes == g->tensor[x].bytes);
    ek__op_out(g, op, out);
    op->comm = comm;
    op->group = group;
    op->comm_after = comm_after;
    op->comm_bytes = (double)g->tensor[comm == EK__COMM_GATHER ? out : x].bytes;
    op->always_recomputed = comm == EK__COMM_GATHER && b->job->rules.regather;
    return out;
}

static bool has_reshapes(const ek__layer_builder *b)
{
    return is_mindspore(b->job) && b->job->family != EK_FAMILY_MEGATRON && b->job->parallel.fine_grain <= 1;
}

static int build_reshape(const ek__layer_builder *b, const char *cell, int x, bool again)
{
    if (!has_reshapes(b))
        return x;
    const ek__tensor of = b->graph->tensor[x];
    int out = ek__build_view(b, ek__path_join(cell, "reshape"), x, of.n_dims, of.dim);
    b->graph->op[b->graph->n_ops - 1].always_recomputed = again;
    return out;
}

int ek__build_reshape_in(const ek__layer_builder *b, const char *cell, int x)
{
    return build_reshape(b, cell, x, true);
}

int ek__build_reshape_out(const ek__layer_builder *b, const char *cell, int x)
{
    return build_reshape(b, cell, x, false);
}

int ek__build_reshape_last(const ek__layer_builder *b, const char *cell, int x)
{
    int out = build_reshape(b, cell, x, false), made = b->graph->tensor[x].producer;
    if (out != x && made >= 0)
    b->graph->op[made].requires = b->graph->tensor[out].producer;
    return out;
}
