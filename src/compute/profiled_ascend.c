/* Turns Ascend's operators into kernels, from shapes of inputs and outputs. Tables do not list which operands of a
 * product are transposed: that follows from the output's shape; where a square leaves several layouts, the layout of a
 * weight's product comes first. Operands in FRACTAL_NZ are tiles (columns / c, rows / r, r, c), padded to whole ones.
 * Attention in BSH lacks the number of heads: it comes from the maxima of its softmax, batch x heads x queries x 8. */
#include <math.h>
#include <string.h>

#include "compute/profiled.h"

typedef ek__profile_tensor tensor;

typedef struct call {
    const ek_trace_shaped *op;
    int n, n_out;
    tensor in[EK__PROFILE_MAX_TENSORS], out[EK__PROFILE_MAX_TENSORS];
} call;

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}
#define IS_ONE_OF(name, list) is_one_of((name), (list), sizeof(list) / sizeof *(list))

/* ---- products ---- */

/* The format of the i-th operand. */
static bool is_tiled(const char *formats, int i)
{
    const char *at = formats + strspn(formats, "\" ");
    for (; i > 0 && *at; i--) {
        at += strcspn(at, ";");
        at += *at == ';';
    }
    size_t n = strcspn(at, ";\"");
    static const char ending[] = "FRACTAL_NZ";
    return n >= sizeof ending - 1 && strncmp(at + n - (sizeof ending - 1), ending, sizeof ending - 1) == 0;
}

/* Rows and columns of a matrix as stored; false when it is none. */
static bool matrix_of(const call *c, int i, double *batch, double *rows, double *columns)
{
    const tensor *t = &c->in[i];
    bool tiled = is_tiled(c->op->layout, i);
    int own = tiled ? 4 : 2;
    if (i >= c->n || t->n < own || !(t->elements > 0))
        return false;
    const double *d = t->dim + t->n - own;
    *rows = tiled ? d[1] * d[2] : d[0];
    *columns = tiled ? d[0] * d[3] : d[1];
    *batch = t->elements / (*rows * *columns);
    return true;
}

/* Tiles are padded to 16, or 32 bytes. */
static bool fits(double kept, double length, bool tiled)
{
    return kept == length || (tiled && kept > length && kept - length < 32);
}

/* The output is m x n. Are the operands, turned or not, m x k and k x n? */
static bool try_layout(const call *c, ek_pass pass, ek_kernel *k)
{
    double batch[2], rows[2], columns[2];
    bool turned[2] = {pass == EK_PASS_WEIGHT, pass == EK_PASS_FORWARD}, tiled[2];
    for (int i = 0; i < 2; i++) {
        tiled[i] = is_tiled(c->op->layout, i);
        if (!matrix_of(c, i, &batch[i], &rows[i], &columns[i]))
            return false;
    }
    double m = turned[0] ? columns[0] : rows[0], inner = turned[0] ? rows[0] : columns[0];
    double n = turned[1] ? rows[1] : columns[1], other = turned[1] ? columns[1] : rows[1];
    if (!fits(m, k->m, tiled[0]) || !fits(n, k->n, tiled[1]) ||
        !(fits(inner, other, tiled[0]) || fits(other, inner, tiled[1])))
        return false;
    k->pass = pass;
    k->k = fmin(inner, other);
    return true;
}

/* A square leaves more than one layout; the first is taken then. */
static ek_profile_left read_product(const call *c, ek_kernel *out, ek__profile_doubt *doubt)
{
    static const ek_pass order[] = {EK_PASS_FORWARD, EK_PASS_INPUT, EK_PASS_WEIGHT};
    const tensor *result = &c->out[0];
    int fitting = 0;
    if (c->n < 2 || c->n_out < 1 || result->n < 2 || !(result->elements > 0) || c->in[0].type < 0)
        return EK_PROFILE_UNCLEAR;
    ek_kernel k = {.kind = EK_KERNEL_MATMUL,
                   .type = c->in[0].type,
                   .m = result->dim[result->n - 2],
                   .n = result->dim[result->n - 1]};
    k.groups = result->elements / (k.m * k.n);
    for (int i = 2; i >= 0; i--)
        fitting += try_layout(c, order[i], &k);
    if (fitting == 0)
        return EK_PROFILE_UNCLEAR;
    doubt->layout = fitting > 1;
    ek__profile_product(&k, result->size > 0 ? result->size : c->in[0].size);
    *out = k;
    return EK_PROFILE_TAKEN;
}

/* Tokens x k by groups x k x n, spread evenly. */
static ek_profile_left read_grouped(const call *c, ek_kernel *out)
{
    const tensor *a = &c->in[0], *b = &c->in[1], *result = &c->out[0];
    if (c->n < 2 || c->n_out < 1 || a->type < 0 || a->n != 2 || result->elements <= 0)
        return EK_PROFILE_UNCLEAR;
    ek_kernel k = {.kind = EK_KERNEL_GROUPED, .type = a->type};
    if (b->n == 3 && result->n == 2 && a->dim[0] == result->dim[0]) {
        k.groups = b->dim[0];
        k.m = a->dim[0] / k.groups;
        k.k = a->dim[1];
        k.n = result->dim[1];
        k.pass = b->dim[1] == k.k ? EK_PASS_INPUT : EK_PASS_FORWARD;
    } else if (b->n == 2 && result->n == 3) {
        k.groups = result->dim[0];
        k.m = result->dim[1];
        k.n = result->dim[2];
        k.k = a->elements / k.m / k.groups;
        k.pass = EK_PASS_WEIGHT;
    } else
        return EK_PROFILE_UNCLEAR;
    ek__profile_product(&k, result->size > 0 ? result->size : a->size);
    *out = k;
    return EK_PROFILE_TAKEN;
}

/* ---- attention ---- */

/* batch x heads x queries x 8 among tensors; packed sequences have tokens x heads x 8. */
static const tensor *softmax_of(const tensor *list, int n, int first, int dims)
{
    for (int i = first; i < n; i++)
        if (list[i].n == dims && list[i].dim[dims - 1] == 8 && list[i].elements > 0)
            return &list[i];
    return NULL;
}

static ek_profile_left read_attention(const call *c, bool backward, ek_kernel *out, ek__profile_doubt *doubt)
{
    const tensor *list = backward ? c->in : c->out, *q = &c->in[0], *key = &c->in[1], *value = &c->in[2];
    int n = backward ? c->n : c->n_out, first = backward ? 3 : 0;
    const tensor *softmax = softmax_of(list, n, first, 4);
    if (!softmax && softmax_of(list, n, first, 3))
        return EK_PROFILE_PACKED;
    if (c->n < 3 || !softmax || q->type < 0 || !(q->elements > 0) || !(key->elements > 0) || !(value->elements > 0))
        return EK_PROFILE_UNCLEAR;
    ek_kernel k = {.kind = backward ? EK_KERNEL_ATTENTION_BACKWARD : EK_KERNEL_ATTENTION_FORWARD,
                   .type = q->type,
                   .groups = 1,
                   .batch = softmax->dim[0],
                   .heads = softmax->dim[1],
                   .seq = softmax->dim[2]};
    k.key_seq = k.seq;
    k.qk_dim = q->elements / (k.batch * k.heads * k.seq);
    /* As many keys as queries, as in training. */
    k.kv_heads = key->elements / (k.batch * k.key_seq * k.qk_dim);
    k.v_dim = value->elements / (k.batch * k.key_seq * k.kv_heads);
    if (k.qk_dim != floor(k.qk_dim) || k.kv_heads != floor(k.kv_heads) || k.kv_heads < 1)
        return EK_PROFILE_UNCLEAR;
    doubt->causal = true;
    ek__profile_attention(&k, true);
    *out = k;
    return EK_PROFILE_TAKEN;
}

/* ---- memory-bound operators ---- */

static const char *const streams[] = {
    "Add",
    "AddV2",
    "Adds",
    "Sub",
    "Mul",
    "Muls",
    "RealDiv",
    "Div",
    "Cast",
    "Neg",
    "Exp",
    "Rsqrt",
    "Sqrt",
    "Square",
    "Pow",
    "Sigmoid",
    "SigmoidGrad",
    "Silu",
    "SiluGrad",
    "Swish",
    "SwishGrad",
    "SwiGlu",
    "SwiGluGrad",
    "Gelu",
    "GeluV2",
    "GeluGrad",
    "GeluGradV2",
    "FastGelu",
    "FastGeluGrad",
    "Relu",
    "ReluGrad",
    "RmsNorm",
    "RmsNormGrad",
    "AddRmsNorm",
    "LayerNorm",
    "LayerNormV3",
    "LayerNormV4",
    "LayerNormGrad",
    "LayerNormGradV3",
    "LayerNormXBackpropV3",
    "DropOutDoMask",
    "DropOutDoMaskV3",
    "RotaryMul",
    "RotaryMulGrad",
    "RotaryPositionEmbedding",
    "RotaryPositionEmbeddingGrad",
    "ApplyRotaryPosEmb",
    "SoftmaxV2",
    "SoftmaxGrad",
    "TransData",
    "Transpose",
    "TensorMove",
    "ViewCopy",
    "Identity",
    "ConcatD",
    "ConcatV2",
    "ConcatV2D",
    "Split",
    "SplitD",
    "SplitV",
    "SplitVD",
    "ZerosLike",
    "Fill",
    "ReduceSum",
    "ReduceSumD",
    "ReduceMean",
    "ReduceMeanD",
    "BroadcastTo",
};
static const char *const losses[] = {"LogSoftmaxV2", "LogSoftmaxGrad", "SparseSoftmaxCrossEntropyWithLogits",
                                     "SoftmaxCrossEntropyWithLogits"};

static double bytes_of(const tensor *list, int n)
{
    double bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += list[i].elements * list[i].size;
    return bytes;
}

static ek_profile_left read_stream(const call *c, ek_kernel_kind kind, ek_kernel *out)
{
    double bytes = bytes_of(c->in, c->n) + bytes_of(c->out, c->n_out);
    if (!(bytes > 0) || c->n_out == 0)
        return EK_PROFILE_UNCLEAR;
    *out = (ek_kernel){.kind = kind, .type = EK_BF16, .bytes = bytes};
    return EK_PROFILE_TAKEN;
}

ek_profile_left ek__profile_ascend(const ek_trace_shaped *op, ek_kernel *out, ek__profile_doubt *doubt)
{
    static const char *const products[] = {"MatMul",      "MatMulV2",      "MatMulV3",      "MatMulCommon",
                                           "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "BatchMatMulCommon"};
    call c = {.op = op};
    c.n = ek__profile_cells(op->shapes, op->types, c.in);
    c.n_out = ek__profile_cells(op->values, op->out_types, c.out);
    *doubt = (ek__profile_doubt){.causal = false};
    if (IS_ONE_OF(op->name, products))
        return read_product(&c, out, doubt);
    if (strcmp(op->name, "GroupedMatmul") == 0)
        return read_grouped(&c, out);
    if (strcmp(op->name, "FlashAttentionScore") == 0 || strcmp(op->name, "FlashAttentionScoreGrad") == 0)
        return read_attention(&c, strcmp(op->name, "FlashAttentionScoreGrad") == 0, out, doubt);
    if (IS_ONE_OF(op->name, losses))
        return read_stream(&c, EK_KERNEL_LOSS, out);
    return IS_ONE_OF(op->name, streams) ? read_stream(&c, EK_KERNEL_MEMORY, out) : EK_PROFILE_OTHER;
}
