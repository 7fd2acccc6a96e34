/* Rules on compositions of small operators for which MindSpore has one fused operator: rotary positions, SwiGLU, norms,
 * a product with a bias, attention. A composition is known by the calls of a function and the order they come in; a
 * program that uses the fused operator, or a function that names it, chooses between the two and is not reported. */
#include <string.h>

#include "base/c_locale.h"
#include "lint/hot.h"
#include "lint/rules.h"

#define PYTHON (1U << EK_LINT_PYTHON)
#define GUIDE  "MindSpore's tuning guide for dynamic graphs, programming checklist: fused operators of large models"

static bool has_part(const char *name, const char *part)
{
    for (size_t n = strlen(part); *name; name++)
        if (ek__strncasecmp(name, part, n) == 0)
            return true;
    return false;
}

/* Is a name with one of the parts in tokens [begin, end)? */
static bool names_any(const ek__python *p, int begin, int end, const char *const *parts)
{
    for (int i = begin; i < end; i++)
        for (int k = 0; parts[k] && p->token[i].symbol >= 0; k++)
            if (has_part(ek__python_name(p, i), parts[k]))
                return true;
    return false;
}

static ek_status report_call(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                             const ek__python_call *call, const char *message)
{
    const ek__python_token *t = &file->python->token[call->token];
    return ek__lint_report(run, entry, file, t->line, t->column, ek__python_end_column(file->python, call->token), NULL,
                           "%s", message);
}

/* The calls of a block: they are sorted by place. The first from token `from` on. */
static int first_call(const ek__python *p, int from)
{
    int low = 0, high = p->n_calls;
    while (low < high) {
        int middle = (low + high) / 2;
        if (p->call[middle].open < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first call of one of the names in tokens [begin, end); NULL. */
static const ek__python_call *call_of(const ek__python *p, int begin, int end, const char *const *names)
{
    for (int i = first_call(p, begin); i < p->n_calls && p->call[i].open < end; i++)
        for (int k = 0; names[k]; k++)
            if (strcmp(p->call[i].name, names[k]) == 0)
                return &p->call[i];
    return NULL;
}

/* A function that holds no other one: only the innermost is looked at. */
static bool is_innermost(const ek__python *p, int block)
{
    if (p->block[block].kind != EK__PYTHON_FUNCTION)
        return false;
    for (int i = block + 1; i < p->n_blocks && p->block[i].header < p->block[block].end; i++)
        if (p->block[i].kind == EK__PYTHON_FUNCTION)
            return false;
    return true;
}

/* Does the program use an operator of MindSpore's with the part in its name, by an import or a call? Then it chooses
 * between the two, and the composition is for other devices. */
static bool uses_fused(const ek__python *p, const char *part)
{
    for (int i = 0; i < p->n_symbols; i++)
        if (p->alias[i] && strncmp(p->alias[i], "mindspore.", 10) == 0 && has_part(p->alias[i], part))
            return true;
    for (int i = 0; i < p->n_calls; i++)
        if (p->call[i].imported && p->call[i].callee && strncmp(p->call[i].callee, "mindspore.", 10) == 0 &&
            has_part(p->call[i].callee, part))
            return true;
    return false;
}

typedef const ek__python_call *find_composition(const ek__python *p, const ek__python_block *function);

/* Report each function of a program for MindSpore in which the composition is found, at the call that it gives. */
static ek_status check_functions(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                                 find_composition *find, const char *fused, const char *message)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    if (!ek__python_is_mindspore(p) || uses_fused(p, fused))
        return EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_blocks; i++) {
        const ek__python_call *call = is_innermost(p, i) ? find(p, &p->block[i]) : NULL;
        if (call)
            status = report_call(run, entry, file, call, message);
    }
    return status;
}

/* ---- rotary positions ---- */

static const ek__python_call *find_rope(const ek__python *p, const ek__python_block *b)
{
    static const char *const turns[] = {"rotate_half", "_rotate_half", "rotate_every_two", "rotate_interleaved", NULL};
    static const char *const fused[] = {"rotary_position_embedding", "rotaryposemb", "applyrotary", "npu_rotary", NULL};
    static const char *const cosine[] = {"cos", NULL}, *const sine[] = {"sin", NULL},
                             *const mul[] = {"mul", "Mul", NULL};
    const ek__python_call *turn = call_of(p, b->body, b->end, turns);
    if (!turn || names_any(p, b->body, b->end, fused) || !names_any(p, b->header, b->end, cosine) ||
        !names_any(p, b->header, b->end, sine))
        return NULL;
    for (int i = b->body; i < b->end; i++)
        if (ek__python_is(p, i, "*"))
            return turn;
    return call_of(p, b->body, b->end, mul) ? turn : NULL;
}

static ek_status check_rope(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return check_functions(
        run, entry, file, find_rope, "rotary",
        "rotary positions from small operators: halves, a concatenation, two products and a sum, each "
        "of which writes a tensor as large as its input; ops.rotary_position_embedding(x, cos, sin, "
        "mode) is one operator");
}

/* ---- SwiGLU ---- */

/* Is the call a factor of a product, by a sign beside it or as an argument of mul()? */
static bool is_factor(const ek__python *p, const ek__python_call *call)
{
    int first = p->token[call->close].primary;
    if (ek__python_is(p, call->close + 1, "*"))
        return true;
    if (first > 0 && ek__python_is(p, first - 1, "*"))
        return true;
    for (int i = first - 1; i > 0; i--) { /* mul(silu(..), y), mul(y, silu(..)) */
        if (ek__python_is(p, i, ")") || ek__python_is(p, i, "]"))
            i = p->token[i].partner;
        else if (ek__python_is(p, i, "("))
            return has_part(ek__python_name(p, i - 1), "mul") && !has_part(ek__python_name(p, i - 1), "matmul");
        else if (p->token[i].kind == EK__PYTHON_NEWLINE || ek__python_is(p, i, "="))
            return false;
    }
    return false;
}

static const ek__python_call *find_swiglu(const ek__python *p, const ek__python_block *b)
{
    static const char *const fused[] = {"swiglu", NULL};
    if (names_any(p, b->body, b->end, fused))
        return NULL;
    for (int i = first_call(p, b->body); i < p->n_calls && p->call[i].open < b->end; i++)
        if ((strcmp(p->call[i].name, "silu") == 0 || strcmp(p->call[i].name, "SiLU") == 0) &&
            p->call[i].n_arguments > 0 && is_factor(p, &p->call[i]))
            return &p->call[i];
    return NULL;
}

static ek_status check_swiglu(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return check_functions(run, entry, file, find_swiglu, "swiglu",
                           "silu() and a product apart: the activation is written, kept for the backward pass and read "
                           "again; the fused Swiglu operator takes both halves as one tensor and keeps neither product "
                           "nor activation");
}

/* ---- norms ---- */

static const ek__python_call *find_norm(const ek__python *p, const ek__python_block *b)
{
    static const char *const roots[] = {"rsqrt", "Rsqrt", NULL}, *const means[] = {"mean", "ReduceMean", NULL},
                             *const squares[] = {"square", "Square", "pow", NULL},
                             *const variances[] = {"var", "std", NULL},
                             *const fused[] = {"rms_norm", "rmsnorm", "layer_norm", "layernorm", NULL};
    const ek__python_call *root = call_of(p, b->body, b->end, roots);
    if (!root || !call_of(p, b->body, b->end, means) || call_of(p, b->body, b->end, variances) ||
        names_any(p, b->body, b->end, fused))
        return NULL;
    if (call_of(p, b->body, b->end, squares))
        return root;
    for (int i = b->body; i < b->end; i++)
        if (ek__python_is(p, i, "**"))
            return root;
    return NULL;
}

static ek_status check_norm(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return check_functions(run, entry, file, find_norm, "rms_norm",
                           "an RMS norm from small operators: square, mean, rsqrt and two products, with the input in "
                           "high precision kept for each; ops.rms_norm(x, weight, eps)[0] is one operator");
}

/* ---- product and bias ---- */

static const ek__python_call *find_bias(const ek__python *p, const ek__python_block *b)
{
    for (int i = first_call(p, b->body); i < p->n_calls && p->call[i].open < b->end; i++) {
        const ek__python_call *call = &p->call[i];
        int last = call->close + 2;
        if (strcmp(call->name, "matmul") != 0 || !ek__python_is(p, call->close + 1, "+"))
            continue;
        while (ek__python_is(p, last + 1, ".") && p->token[last + 2].symbol >= 0)
            last += 2;
        bool whole = !ek__python_is(p, last + 1, "(") && !ek__python_is(p, last + 1, "[");
        if (whole && strcmp(ek__python_name(p, last), "bias") == 0)
            return call;
    }
    return NULL;
}

static ek_status check_bias(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return check_functions(run, entry, file, find_bias, "functional.linear",
                           "a product and its bias apart: the product is written and read again for the sum; "
                           "mint.nn.functional.linear(x, weight, bias) adds the bias in the same operator, with the "
                           "weight as [out, in]");
}

/* ---- attention ---- */

static const ek__python_call *find_attention(const ek__python *p, const ek__python_block *b)
{
    static const char *const soft[] = {"softmax", NULL};
    const ek__python_call *weights = call_of(p, b->body, b->end, soft);
    bool before = false, after = false; /* a product that ends before the softmax does, and one that ends later */
    for (int i = weights ? first_call(p, b->body) : p->n_calls; i < p->n_calls && p->call[i].open < b->end; i++) {
        const char *name = p->call[i].name;
        bool product = strcmp(name, "matmul") == 0 || strcmp(name, "bmm") == 0 || strcmp(name, "batch_matmul") == 0;
        before |= product && p->call[i].close < weights->close;
        after |= product && p->call[i].close > weights->close;
    }
    return before && after ? weights : NULL;
}

static ek_status check_attention(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const fused[] = {"flash", "fused", "prompt_fa", "scaled_dot_product", NULL};
    if (names_any(file->python, 0, file->python->n_tokens, fused)) /* elsewhere in the file: it chooses */
        return EK_OK;
    return check_functions(
        run, entry, file, find_attention, "flash_attention",
        "attention from two products and softmax(): the scores of all heads, S x S each, are written, "
        "kept for the backward pass and read again; ops.flash_attention_score() keeps none of them");
}

#define CELL "from mindspore import mint, nn, ops\nclass Net(nn.Cell):\n"

/* clang-format off */
const ek__lint_entry ek__lint_fused[] = {
    {
        .about = {.id = "rope-unfused", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "Rotary positions are put together from small operators",
                  .why = "Turning the halves of a head takes slices, a negation, a concatenation, two products and a sum. Each reads and "
                         "writes queries or keys as a whole. The fused operator reads them once.",
                  .cost = "About 10 times the bytes of queries and keys as traffic in each layer instead of 2, and 6 launches instead of 1.",
                  .fix = "ops.rotary_position_embedding(x, cos, sin, mode): mode 0 turns halves, 1 neighbours.",
                  .source = GUIDE ", RotaryPositionEmbedding; MindSpore's interface ops.rotary_position_embedding; the factor is counted from the "
                            "operators",
                  .bad = CELL "    def construct(self, x, cos, sin):\n        return x * cos + rotate_half(x) * sin\n",
                  .good = CELL "    def construct(self, x, cos, sin):\n        return ops.rotary_position_embedding(x, cos, sin, 0)\n"},
        .check = {[EK_LINT_PYTHON] = check_rope},
    },
    {
        .about = {.id = "swiglu-unfused", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "SwiGLU is put together from silu() and a product",
                  .why = "The activation and the product are two operators, with a tensor of the feed-forward width between them that is kept "
                         "for the backward pass. The fused operator takes gate and value as one tensor and computes the activation again.",
                  .cost = "Of each layer and micro-batch b S I elements more that are kept, 2 bytes each in half precision, and their traffic.",
                  .fix = "The Swiglu operator of MindSpore's generated interfaces, on gate and value as one tensor.",
                  .source = GUIDE ", Swiglu; MindFormers, use of Swiglu in its feed-forward layer; the bytes are counted from the operators",
                  .bad = CELL "    def construct(self, x):\n        return self.w2(mint.nn.functional.silu(self.w1(x)) * self.w3(x))\n",
                  .good = CELL "    def construct(self, x):\n        return self.w2(self.swiglu(self.w13(x)))\n"},
        .check = {[EK_LINT_PYTHON] = check_swiglu},
    },
    {
        .about = {.id = "norm-unfused", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "An RMS norm is put together from small operators",
                  .why = "Square, mean, rsqrt and products are five operators, most of which read and write the whole input, usually in high "
                         "precision. The fused operator reads it once.",
                  .cost = "About 8 times the bytes of the input as traffic instead of 2, and 5 launches instead of 1.",
                  .fix = "ops.rms_norm(x, weight, eps)[0].",
                  .source = GUIDE "; MindSpore's interface ops.rms_norm; the factor is counted from the operators",
                  .bad = CELL "    def construct(self, x):\n"
                              "        return x * mint.rsqrt(mint.mean(mint.square(x), -1, True) + self.eps) * self.weight\n",
                  .good = CELL "    def construct(self, x):\n        return ops.rms_norm(x, self.weight, self.eps)[0]\n"},
        .check = {[EK_LINT_PYTHON] = check_norm},
    },
    {
        .about = {.id = "bias-unfused", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "A bias is added apart from the product",
                  .why = "The product is written and read again for the sum. An operator with a bias adds it before it writes.",
                  .cost = "The bytes of the product as traffic twice more, and a launch.",
                  .fix = "mint.nn.functional.linear(x, weight, bias).",
                  .source = GUIDE "; MindSpore's interface mint.nn.functional.linear; the factor is counted from the operators",
                  .bad = CELL "    def construct(self, x):\n        return mint.matmul(x, self.weight) + self.bias\n",
                  .good = CELL "    def construct(self, x):\n        return mint.nn.functional.linear(x, self.weight, self.bias)\n"},
        .check = {[EK_LINT_PYTHON] = check_bias},
    },
    {
        .about = {.id = "attention-unfused", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "Attention is put together from products and softmax()",
                  .why = "The scores have a row of S values for each token and head. Fused attention computes them in parts and keeps none. A "
                         "program that names a fused attention anywhere is not reported.",
                  .cost = "B N S^2 elements kept in each layer: 1024 MB for 32 heads and 4096 tokens in half precision.",
                  .fix = "ops.flash_attention_score(q, k, v, head_num, ..).",
                  .source = "MindFormers performance guide, computing bottleneck: fusion operators; MindSpore's interface "
                            "ops.flash_attention_score; the bytes are counted from the shapes",
                  .bad = CELL "    def construct(self, q, k, v):\n"
                              "        scores = mint.nn.functional.softmax(mint.matmul(q, k) * self.scale, -1)\n"
                              "        return mint.matmul(scores, v)\n",
                  .good = CELL "    def construct(self, q, k, v):\n"
                               "        return ops.flash_attention_score(q, k, v, self.heads, scalar_value=self.scale)\n"},
        .check = {[EK_LINT_PYTHON] = check_attention},
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
