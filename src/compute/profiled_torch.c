/* Turns PyTorch's operators into kernels, by name: the operands of a product, queries and keys of attention, the bytes
 * that a memory-bound operator reads and writes. The result of those has the shape that its inputs broadcast to. Layout
 * is read off the strides: PyTorch's product of x (m x k) and a weight stored as n x k reads both along k (TN), the
 * input's gradient reads the weight as stored (NN), the weight's gradient reads both across k (NT). Without strides
 * libraries' kernels have it in their names. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "compute/profiled.h"

typedef ek__profile_tensor tensor;

typedef struct call {
    const ek_trace_shaped *op;
    int n;
    tensor at[EK__PROFILE_MAX_TENSORS];
} call;

static bool is_tensor(const call *c, int i, int n_dims)
{
    return i < c->n && c->at[i].n == n_dims && c->at[i].elements > 0;
}

/* ---- products ---- */

/* The last two dimensions are stored in reverse order. */
static bool is_turned(const tensor *t)
{
    double rows = t->stride[t->n - 2], columns = t->stride[t->n - 1];
    return rows == 1 && columns != 1 && t->dim[t->n - 1] > 1;
}

/* "..._tn_...", "..._NNT" in the name of a kernel. @return 0 to 2, -1 without */
static int layout_in_name(const char *name)
{
    static const char *const word[] = {"_tn", "_nn", "_nt"};
    for (const char *at = name; *at; at++)
        for (int i = 0; i < 3; i++) {
            if (at[0] != '_' || ek__to_lower((unsigned char)at[1]) != word[i][1] ||
                ek__to_lower((unsigned char)at[2]) != word[i][2])
                continue;
            const char *behind = at + 3;
            behind += *behind == 'n' || *behind == 't' || *behind == 'N' || *behind == 'T'; /* of the result */
            if (!ek__is_alnum((unsigned char)*behind))
                return i;
        }
    return -1;
}

static ek_pass pass_of(const call *c, const tensor *a, const tensor *b, ek__profile_doubt *doubt)
{
    if (a->has_strides && b->has_strides)
        return is_turned(a) ? EK_PASS_WEIGHT : is_turned(b) ? EK_PASS_FORWARD : EK_PASS_INPUT;
    int named = layout_in_name(c->op->kernel);
    doubt->layout = named < 0;
    return named < 0 ? EK_PASS_FORWARD : (ek_pass)named;
}

/* 32-bit products on tensor cores round their operands to TF32, which has a different peak. */
static bool is_tf32(const call *c, int type)
{
    static const char *const word[] = {"tf32", "tensorop_s1688", "tf32f32", "s1688gemm"};
    for (size_t i = 0; i < sizeof word / sizeof *word && type == EK_FP32; i++)
        if (strstr(c->op->kernel, word[i]))
            return true;
    return false;
}

static ek_profile_left read_product(const call *c, int first, ek_kernel *out, ek__profile_doubt *doubt)
{
    const tensor *a = &c->at[first], *b = &c->at[first + 1];
    int n = first + 1 < c->n ? a->n : 0;
    if ((n != 2 && n != 3) || !is_tensor(c, first, n) || !is_tensor(c, first + 1, n) ||
        a->dim[n - 1] != b->dim[n - 2] || a->type < 0 || (n == 3 && a->dim[0] != b->dim[0]))
        return EK_PROFILE_UNCLEAR;
    if (is_tf32(c, a->type))
        return EK_PROFILE_NO_PEAK;
    *out = (ek_kernel){.kind = EK_KERNEL_MATMUL,
                       .pass = pass_of(c, a, b, doubt),
                       .type = a->type,
                       .groups = n == 3 ? a->dim[0] : 1,
                       .m = a->dim[n - 2],
                       .n = b->dim[n - 1],
                       .k = a->dim[n - 1]};
    /* _scaled_mm(a, b, scale of a, ...): one for each row or block, or one for all */
    out->fine_scales = a->type == EK_TYPE_FP8 && first + 2 < c->n && c->at[first + 2].elements > 1;
    ek__profile_product(out, a->size > 1 ? a->size : 2);
    return EK_PROFILE_TAKEN;
}

/* _grouped_mm(a, b, offsets): tokens by experts' weights, or the gradient of those weights. Tokens are spread evenly.
 */
static ek_profile_left read_grouped(const call *c, ek_kernel *out, ek__profile_doubt *doubt)
{
    const tensor *a = &c->at[0], *b = &c->at[1];
    if (c->n < 3 || a->type < 0 || !is_tensor(c, 0, 2) || a->elements <= 0 || b->elements <= 0)
        return EK_PROFILE_UNCLEAR;
    *out = (ek_kernel){.kind = EK_KERNEL_GROUPED, .type = a->type};
    if (b->n == 3 && a->dim[1] == b->dim[1]) {
        out->pass = pass_of(c, a, b, doubt);
        out->groups = b->dim[0];
        out->m = a->dim[0] / out->groups;
        out->n = b->dim[2];
        out->k = a->dim[1];
    } else if (b->n == 2 && a->dim[1] == b->dim[0] && is_tensor(c, 2, 1)) {
        out->pass = EK_PASS_WEIGHT;
        out->groups = c->at[2].dim[0];
        out->m = a->dim[0];
        out->n = b->dim[1];
        out->k = a->dim[1] / out->groups;
    } else
        return EK_PROFILE_UNCLEAR;
    ek__profile_product(out, a->size > 1 ? a->size : 2);
    return EK_PROFILE_TAKEN;
}

/* ---- attention ---- */

/* "True", or a kind of mask above 0; *known is false where the profile does not record values. */
static bool is_causal(const call *c, int at, bool *known)
{
    const char *value = at < c->n ? c->at[at].value : "";
    *known = value[0] != '\0';
    return !*known || strcmp(value, "True") == 0 || (isdigit((unsigned char)value[0]) && value[0] != '0');
}

/* @param heads_first  batch, heads, sequence, width; else batch, sequence, heads, width */
static ek_profile_left read_attention(const call *c, int query, int causal, bool heads_first, bool backward,
                                      ek_kernel *out, ek__profile_doubt *doubt)
{
    const tensor *q = &c->at[query], *k = &c->at[query + 1], *v = &c->at[query + 2];
    bool known;
    if (is_tensor(c, query, 3))
        return EK_PROFILE_PACKED;
    if (query + 2 >= c->n || !is_tensor(c, query, 4) || !is_tensor(c, query + 1, 4) || !is_tensor(c, query + 2, 4) ||
        q->type < 0 || q->dim[0] != k->dim[0] || q->dim[3] != k->dim[3])
        return EK_PROFILE_UNCLEAR;
    int sequence = heads_first ? 2 : 1, heads = heads_first ? 1 : 2;
    *out = (ek_kernel){.kind = backward ? EK_KERNEL_ATTENTION_BACKWARD : EK_KERNEL_ATTENTION_FORWARD,
                       .type = q->type,
                       .groups = 1,
                       .batch = q->dim[0],
                       .seq = q->dim[sequence],
                       .key_seq = k->dim[sequence],
                       .heads = q->dim[heads],
                       .kv_heads = k->dim[heads],
                       .qk_dim = q->dim[3],
                       .v_dim = v->dim[3]};
    bool mask = is_causal(c, causal, &known);
    doubt->causal = !known;
    ek__profile_attention(out, mask);
    return EK_PROFILE_TAKEN;
}

static const struct {
    const char *name;
    int query, causal; /* arguments */
    bool heads_first, backward;
} attentions[] = {
    {"aten::_flash_attention_forward", 0, 8, false, false},
    {"aten::_flash_attention_backward", 1, 11, false, true},
    {"aten::_scaled_dot_product_flash_attention", 0, 4, true, false},
    {"aten::_scaled_dot_product_flash_attention_backward", 1, 11, true, true},
    {"aten::_efficient_attention_forward", 0, 9, false, false},
    {"aten::_efficient_attention_backward", 1, 14, false, true},
    {"aten::_scaled_dot_product_cudnn_attention", 0, 6, true, false},
    {"aten::_cudnn_attention_forward", 0, 10, true, false},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, true, true},
    {"aten::_cudnn_attention_backward", 1, 14, true, true},
    {"flash_attn::_flash_attn_forward", 0, 5, false, false},
    {"flash_attn::_flash_attn_backward", 1, 11, false, true},
    {"FlashAttnFunc", 0, 5, false, false},
};

/* ---- memory-bound operators ---- */

/* Elements of a broadcast's result: the longest of each dimension, from the last one on. */
static double broadcast(const call *c)
{
    double product = 1;
    for (int d = 1; d <= EK__PROFILE_MAX_DIMS; d++) {
        double longest = 1;
        for (int i = 0; i < c->n; i++)
            if (c->at[i].n >= d)
                longest = fmax(longest, c->at[i].dim[c->at[i].n - d]);
        product *= longest;
    }
    return product;
}

/* Read and written by one that reads every tensor and writes a result. */
static double through(const call *c)
{
    double bytes = 0, size = 0, elements = 0;
    for (int i = 0; i < c->n; i++) {
        const tensor *t = &c->at[i];
        bytes += t->elements * t->size;
        if (t->elements > 1 && (t->type >= 0 || size == 0))
            size = fmax(size, t->size);
        elements = fmax(elements, t->elements);
    }
    return elements > 0 ? bytes + broadcast(c) * size : 0;
}

static double all_inputs(const call *c)
{
    double bytes = 0;
    for (int i = 0; i < c->n; i++)
        bytes += c->at[i].elements * c->at[i].size;
    return bytes;
}

/* Only the first argument: reductions read it, fills write it. */
static double first_alone(const call *c)
{
    return c->n > 0 ? c->at[0].elements * c->at[0].size : 0;
}

/* Both arguments, one read and one written. */
static double first_two(const call *c)
{
    return c->n > 1 ? first_alone(c) + c->at[1].elements * c->at[1].size : 0;
}

/* A list of tensors of unknown types, copied into one of its size. 2 bytes an element are those of training. */
static double listed(const call *c)
{
    return c->n > 0 ? 2 * c->at[0].elements * (c->at[0].size > 0 ? c->at[0].size : 2) : 0;
}

/* The gradient at the output and the input in, the input's gradient out. */
static double norm_backward(const call *c)
{
    return c->n > 1 ? 3 * c->at[1].elements * c->at[1].size : 0;
}

static const struct {
    const char *name;
    double (*bytes)(const call *c);
    ek_kernel_kind kind;
} streams[] = {
    {"add", through, EK_KERNEL_MEMORY},
    {"sub", through, EK_KERNEL_MEMORY},
    {"rsub", through, EK_KERNEL_MEMORY},
    {"mul", through, EK_KERNEL_MEMORY},
    {"div", through, EK_KERNEL_MEMORY},
    {"pow", through, EK_KERNEL_MEMORY},
    {"neg", through, EK_KERNEL_MEMORY},
    {"exp", through, EK_KERNEL_MEMORY},
    {"sqrt", through, EK_KERNEL_MEMORY},
    {"rsqrt", through, EK_KERNEL_MEMORY},
    {"silu", through, EK_KERNEL_MEMORY},
    {"gelu", through, EK_KERNEL_MEMORY},
    {"relu", through, EK_KERNEL_MEMORY},
    {"sigmoid", through, EK_KERNEL_MEMORY},
    {"tanh", through, EK_KERNEL_MEMORY},
    {"clamp_min", through, EK_KERNEL_MEMORY},
    {"silu_backward", through, EK_KERNEL_MEMORY},
    {"gelu_backward", through, EK_KERNEL_MEMORY},
    {"sigmoid_backward", through, EK_KERNEL_MEMORY},
    {"tanh_backward", through, EK_KERNEL_MEMORY},
    {"threshold_backward", through, EK_KERNEL_MEMORY},
    {"native_dropout_backward", through, EK_KERNEL_MEMORY},
    {"masked_fill", through, EK_KERNEL_MEMORY},
    {"_softmax", through, EK_KERNEL_MEMORY},
    {"_softmax_backward_data", through, EK_KERNEL_MEMORY},
    {"native_layer_norm", through, EK_KERNEL_MEMORY},
    {"_fused_rms_norm", through, EK_KERNEL_MEMORY},
    {"native_layer_norm_backward", norm_backward, EK_KERNEL_MEMORY},
    {"_fused_rms_norm_backward", norm_backward, EK_KERNEL_MEMORY},
    {"copy", first_two, EK_KERNEL_MEMORY},
    {"fill", first_alone, EK_KERNEL_MEMORY},
    {"zero", first_alone, EK_KERNEL_MEMORY},
    {"sum", first_alone, EK_KERNEL_MEMORY},
    {"mean", first_alone, EK_KERNEL_MEMORY},
    {"cat", listed, EK_KERNEL_MEMORY},
    {"_log_softmax", through, EK_KERNEL_LOSS},
    {"_log_softmax_backward_data", all_inputs, EK_KERNEL_LOSS},
};

/* "aten::add_" is add, with its result in place. */
static bool is_aten(const char *name, const char *word)
{
    static const char prefix[] = "aten::";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    name += sizeof prefix - 1;
    size_t n = strlen(word);
    return strncmp(name, word, n) == 0 && (name[n] == '\0' || (name[n] == '_' && name[n + 1] == '\0'));
}

static ek_profile_left read_stream(const call *c, ek_kernel *out)
{
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        if (!is_aten(c->op->name, streams[i].name))
            continue;
        double bytes = streams[i].bytes(c);
        if (!(bytes > 0))
            return EK_PROFILE_UNCLEAR;
        /* The width decides nothing where only bytes count, so that every type's rows are of one kind. */
        *out = (ek_kernel){.kind = streams[i].kind, .type = EK_BF16, .bytes = bytes};
        return EK_PROFILE_TAKEN;
    }
    return EK_PROFILE_OTHER;
}

/* ---- all ---- */

static const struct {
    const char *name;
    int first; /* operand */
} products[] = {
    {"aten::mm", 0},
    {"aten::bmm", 0},
    {"aten::addmm", 1},
    {"aten::addmm_", 1},
    {"aten::baddbmm", 1},
    {"aten::baddbmm_", 1},
    {"aten::_addmm_activation", 1},
    {"aten::_scaled_mm", 0},
};

ek_profile_left ek__profile_torch(const ek_trace_shaped *op, ek_kernel *out, ek__profile_doubt *doubt)
{
    call c = {.op = op};
    c.n = ek__profile_arguments(op, c.at);
    *doubt = (ek__profile_doubt){.causal = false};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (strcmp(op->name, products[i].name) == 0)
            return read_product(&c, products[i].first, out, doubt);
    if (strcmp(op->name, "aten::_grouped_mm") == 0)
        return read_grouped(&c, out, doubt);
    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++)
        if (strcmp(op->name, attentions[i].name) == 0)
            return read_attention(&c, attentions[i].query, attentions[i].causal, attentions[i].heads_first,
                                  attentions[i].backward, out, doubt);
    return read_stream(&c, out);
}
