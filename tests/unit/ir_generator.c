/* Generates graphs of transformer training with a known truth. Nodes are numbered as they are written; for each its
 * bytes and users are noted, and the truth follows from these. A graph is generated twice, the first time without
 * output, since the header has counts of the rest. */
#include "ir_generator.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 4096, SEQUENCE = 2048, FFN = 11008, TP = 4, N_WEIGHTS = 9, SHORT = 512 };

typedef enum shape_name {
    S_X,
    S_X_PART,
    S_HEADS,
    S_SCORES,
    S_FFN,
    S_WQ,
    S_WO,
    S_W1,
    S_W1_PART,
    S_W2,
    S_NORM
} shape_name;

static const struct shape {
    int rank, dim[4];
} shapes[] = {
    [S_X] = {3, {1, SEQUENCE, HIDDEN}},
    [S_X_PART] = {3, {1, SEQUENCE / TP, HIDDEN}},
    [S_HEADS] = {4, {1, 32 / TP, SEQUENCE, 128}},
    [S_SCORES] = {4, {1, 32 / TP, SEQUENCE, SEQUENCE}},
    [S_FFN] = {3, {1, SEQUENCE, FFN / TP}},
    [S_WQ] = {2, {HIDDEN / TP, HIDDEN}},
    [S_WO] = {2, {HIDDEN, HIDDEN / TP}},
    [S_W1] = {2, {FFN / TP, HIDDEN}},
    [S_W1_PART] = {2, {FFN / TP / 2, HIDDEN}},
    [S_W2] = {2, {HIDDEN, FFN / TP}},
    [S_NORM] = {1, {HIDDEN}},
};

typedef enum phase { FORWARD, COPY, BACKWARD } phase;
typedef enum literal { L_NONE, L_MATMUL, L_LIST, L_MONAD } literal;

typedef struct value {
    shape_name shape;
    bool forward, backward_takes, copy_takes;
} value;

typedef struct generator {
    FILE *out;
    const ir_shape *shape;
    ir_truth *truth;
    int64_t n_cnodes; /* for the header */
    value *value;
    int64_t n, capacity;
    int micro, layer;
    phase phase;
} generator;

/* The parts of a node to write; operands are numbers of nodes, or -1 - weight. */
typedef struct spec {
    const char *primitive, *instance, *cell;
    shape_name shape;
    int64_t input[3];
    int n_inputs;
    literal literal;
    const char *strategy;
    const char *attributes; /* of a communication, as text */
    bool requested, copied; /* requests recomputation; its copy is made */
    int64_t original;       /* of a copy; of a backward node the forward one */
} spec;

static void write_text(generator *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_text(generator *g, const char *format, ...)
{
    va_list arguments;
    if (!g->out)
        return;
    va_start(arguments, format);
    int n = vfprintf(g->out, format, arguments);
    va_end(arguments);
    g->truth->bytes += n > 0 ? n : 0;
}

static int64_t bytes_of(shape_name name)
{
    int64_t bytes = 2;
    for (int i = 0; i < shapes[name].rank; i++)
        bytes *= shapes[name].dim[i];
    return bytes;
}

/* ---- weights ---- */

static const struct weight {
    const char *name;
    shape_name shape;
} weights[N_WEIGHTS] = {
    {"attention_norm.weight", S_NORM},     {"attention.wq.weight", S_WQ},    {"attention.wk.weight", S_WQ},
    {"attention.wv.weight", S_WQ},         {"attention.wo.weight", S_WO},    {"ffn_norm.weight", S_NORM},
    {"feed_forward.w1.weight", S_W1_PART}, {"feed_forward.w2.weight", S_W2}, {"feed_forward.w3.weight", S_W1},
};

static void weight_name(const generator *g, int weight, char *out)
{
    int layer = weight / N_WEIGHTS;
    (void)g;
    snprintf(out, SHORT, "model.layers.%d.%s", layer, weights[weight % N_WEIGHTS].name);
}

static void write_dims(generator *g, shape_name name)
{
    write_text(g, "(");
    for (int i = 0; i < shapes[name].rank; i++)
        write_text(g, "%s%d", i > 0 ? ", " : "", shapes[name].dim[i]);
    write_text(g, ")");
}

static void write_type(generator *g, shape_name name)
{
    write_text(g, "<Tensor[Float16], ");
    write_dims(g, name);
    write_text(g, ">");
}

static void write_weight_type(generator *g, int weight)
{
    char name[SHORT];
    weight_name(g, weight, name);
    write_text(g, g->shape->old_release ? "<Ref[Tensor(F16)], " : "<Ref[Tensor[Float16]], ");
    write_dims(g, weights[weight % N_WEIGHTS].shape);
    write_text(g, g->shape->old_release ? ", ref_key=:%s>" : ", ref_key=%s>", name);
}

/* ---- a node ---- */

static void write_operands(generator *g, const spec *s)
{
    bool old = g->shape->old_release;
    char name[SHORT];
    for (int i = 0; i < s->n_inputs; i++) {
        write_text(g, i > 0 ? ", " : "");
        if (s->input[i] < 0) {
            weight_name(g, (int)(-1 - s->input[i]), name);
            write_text(g, "%%para%d_%s", (int)-s->input[i], name);
        } else
            write_text(g, "%%%" PRId64, s->input[i]);
    }
    if (s->literal == L_MATMUL && !old)
        write_text(g, ", Bool(0), Bool(1)");
    else if (s->literal == L_LIST) {
        write_text(g, ", (");
        for (int i = 0; i < shapes[s->shape].rank; i++)
            write_text(g, old ? "%s%d" : "%sI64(%d)", i > 0 ? ", " : "", shapes[s->shape].dim[i]);
        write_text(g, ")");
    } else if (s->literal == L_MONAD)
        write_text(g, old ? ", U" : ", UMonad[U]");
}

static void write_types(generator *g, const spec *s)
{
    bool old = g->shape->old_release;
    write_text(g, "      : (");
    for (int i = 0; i < s->n_inputs; i++) {
        write_text(g, i > 0 ? ", " : "");
        if (s->input[i] < 0)
            write_weight_type(g, (int)(-1 - s->input[i]));
        else
            write_type(g, g->value[s->input[i]].shape);
    }
    if (s->literal == L_MATMUL && !old)
        write_text(g, ", <Bool, NoShape>, <Bool, NoShape>");
    else if (s->literal == L_LIST && old)
        write_text(g, ", <Tuple[Int64*%d]>", shapes[s->shape].rank);
    else if (s->literal == L_LIST) {
        write_text(g, ", <Tuple[Int64*%d], TupleShape(", shapes[s->shape].rank);
        for (int i = 0; i < shapes[s->shape].rank; i++)
            write_text(g, i > 0 ? ", NoShape" : "NoShape");
        write_text(g, "), elements_use_flags={[const vector]{");
        for (int i = 0; i < shapes[s->shape].rank; i++)
            write_text(g, i > 0 ? ", 1" : "1");
        write_text(g, "}}>");
    } else if (s->literal == L_MONAD)
        write_text(g, old ? ", <UMonad>" : ", <UMonad, NoShape>");
    write_text(g, ") -> (");
    write_type(g, s->shape);
    write_text(g, ")\n");
}

static void write_attributes(generator *g, const spec *s)
{
    bool old = g->shape->old_release;
    const char *yes = old ? "true" : "Bool(1)";
    if (s->instance)
        write_text(g, " {instance name: %s}", s->instance);
    if (s->attributes)
        write_text(g, " primitive_attrs: {%s}", s->attributes);
    else if (s->literal == L_MATMUL)
        write_text(
            g,
            " primitive_attrs: {output_names: [output], transpose_a: %s, input_names: [x1, x2], transpose_b: %s%s%s}",
            old ? "false" : "Bool(0)", yes, s->strategy ? ", in_strategy: " : "", s->strategy ? s->strategy : "");
    write_text(g, " cnode_attrs: {checkpoint: %s", yes);
    if (!old && (s->requested || g->phase == COPY))
        write_text(g, ", recompute_sub_graph: U64(%d), recompute_id: I64(%" PRId64 ")", g->layer, s->original);
    if (s->requested || g->phase == COPY)
        write_text(g, ", %s: %s, need_cse_after_recompute: %s", g->phase == COPY ? "duplicated" : "recompute", yes,
                   yes);
    write_text(g, "}");
    if (g->phase == BACKWARD)
        write_text(g,
                   old ? " cnode_primal_attrs: {forward_node_name: %s_%" PRId64 "}"
                       : " cnode_primal_attrs: {forward_node_name: \"%s_%" PRId64 "\"",
                   s->primitive, 700000 + s->original);
    else if (!old && g->phase == FORWARD)
        write_text(g, " cnode_primal_attrs: {unique_id: \"%" PRId64 "\", ", 700000 + g->n);
    else if (!old)
        write_text(g, " cnode_primal_attrs: {");
    if (g->phase == BACKWARD && !old)
        write_text(g, ", forward_unique_id: \"%" PRId64 "\", ", 700000 + s->original);
    if (!old)
        write_text(g, "micro: I64(%d)}", g->micro);
    if (s->strategy)
        write_text(g, old ? "\n {in_strategy: %s}" : " {in_strategy: %s}\n", s->strategy);
    else
        write_text(g, "\n");
}

static void write_scope(generator *g, const spec *s)
{
    static const char *const titles[] = {"Fullname with scope", "Scope"};
    write_text(g,
               "      # %s: (%sDefault/network-MFPipelineWithLossScaleCell/network-_VirtualDatasetCell/"
               "_backbone-GradAccumulationCell/network-LlamaForCausalLM/model-LlamaModel/layers-CellList/"
               "%d-LLamaDecodeLayer/%s/%s-op%d)\n",
               titles[g->shape->old_release], g->phase == BACKWARD ? "Gradients/" : "", g->layer, s->cell, s->primitive,
               g->layer);
    if (g->shape->bare)
        return;
    static const char *const sources[] = {
        "llama_model.py:%d/        h = layer(h, freqs_cis, mask)/",
        "llama_transformer.py:%d/        h = self.attention(input_x, freqs_cis, mask)/",
        "modules/layers.py:%d/        x = self.cast(x, self.dtype)/"};
    for (int i = 0; i < 3; i++) {
        write_text(g, "      # In file /home/user/mindformers/research/llama/");
        write_text(g, sources[i], 100 + 10 * i + (int)(s->primitive[0] % 10));
        write_text(g, "\n");
    }
}

static void count(generator *g, const spec *s)
{
    ir_truth *t = g->truth;
    int64_t *const phases[] = {&t->n_forward, &t->n_copies, &t->n_backward};
    ++*phases[g->phase];
    t->n_nodes++;
    t->n_requested += s->requested;
    t->n_in_effect += s->requested && s->copied;
    t->n_strategies += s->strategy != NULL;
    for (int i = 0; i < s->n_inputs; i++)
        if (s->input[i] >= 0) {
            g->value[s->input[i]].backward_takes |= g->phase == BACKWARD;
            g->value[s->input[i]].copy_takes |= g->phase == COPY;
        }
}

static int64_t add(generator *g, spec s)
{
    if (g->n == g->capacity) {
        g->capacity = 2 * g->capacity + 1024;
        value *more = realloc(g->value, (size_t)g->capacity * sizeof *more);
        if (!more)
            abort();
        g->value = more;
    }
    if (g->phase == FORWARD)
        s.original = g->n;
    count(g, &s);
    write_text(g, "  %%%" PRId64 "(%s%" PRId64 ") = %s%s(", g->n,
               g->shape->old_release ? "[CNode]"
               : g->phase == FORWARD ? "equiv_CNode_"
                                     : "CNode_",
               900000 + g->n, g->shape->old_release ? "" : "PrimFunc_", s.primitive);
    write_operands(g, &s);
    write_text(g, ")");
    write_attributes(g, &s);
    write_types(g, &s);
    write_scope(g, &s);
    g->value[g->n] = (value){s.shape, g->phase == FORWARD, false, false};
    return g->n++;
}

static const char *const comm_primitives[EK_N_IR_COMM_KINDS] = {
    [EK_IR_ALL_REDUCE] = "AllReduce",
    [EK_IR_ALL_GATHER] = "AllGather",
    [EK_IR_REDUCE_SCATTER] = "ReduceScatter",
    [EK_IR_ALL_TO_ALL] = "AlltoAll",
    [EK_IR_SEND] = "Send",
    [EK_IR_RECEIVE] = "Receive",
};

static int64_t communicate(generator *g, spec s, ek_ir_comm_kind kind, ek_ir_comm_role role)
{
    char text[SHORT];
    bool old = g->shape->old_release;
    if (kind == EK_IR_SEND || kind == EK_IR_RECEIVE)
        snprintf(text, sizeof text,
                 old ? "sr_tag: %d, %s: %d, group: hccl_world_group"
                     : "sr_tag: I64(%d), %s: I64(%d), group: \"hccl_world_group\"",
                 g->micro, kind == EK_IR_SEND ? "dest_rank" : "src_rank", kind == EK_IR_SEND ? TP : 0);
    else
        snprintf(
            text, sizeof text,
            old ? "group: 4-6301172352641561019, fusion: %d, op: sum, group_ranks: 0-1-2-3, rank_size: 4"
                : "comm_reuse: Bool(1), group: \"4-6301172352641561019\", fusion: I64(%d), op: \"sum\", rank_list: "
                  "(0, 1, 2, 3), group_ranks: \"0-1-2-3\", rank_size: I64(4), index: I64(0), group_rank_ids: (0, 1, 2, "
                  "3), no_eliminate: Bool(1)",
            role == EK_IR_ROLE_GRADIENT ? 1 : 0);
    s.primitive = comm_primitives[kind];
    s.attributes = text;
    g->truth->n_comms[kind][role]++;
    return add(g, s);
}

/* ---- a layer ---- */

/* The values of a layer of a micro-batch that the backward pass needs. */
typedef struct layer_values {
    int64_t x, norm, gathered, q, k, v, probabilities, context, wo, h, ffn_norm, w1, silu, reshape, w3, w3_reshape, mul,
        w2, w1_weight, wq_weight, wo_weight, w2_weight, w3_weight;
} layer_values;

static const char attention[] = "attention-LLamaAttention", ffn[] = "feed_forward-LLamaFeedForward";
#define IN1(a)    {(a)}, .n_inputs = 1
#define IN2(a, b) {(a), (b)}, .n_inputs = 2

static int64_t load(generator *g, int weight, const char *cell)
{
    return add(g, (spec){.primitive = "Load",
                         .cell = cell,
                         .shape = weights[weight].shape,
                         .input = IN1(-1 - (g->layer * N_WEIGHTS + weight)),
                         .literal = L_MONAD});
}

static int64_t simple(generator *g, const char *primitive, const char *instance, const char *cell, shape_name shape,
                      int64_t a, int64_t b)
{
    return add(g, (spec){.primitive = primitive,
                         .instance = instance,
                         .cell = cell,
                         .shape = shape,
                         .input = {a, b},
                         .n_inputs = b < 0 ? 1 : 2});
}

static int64_t multiply(generator *g, const char *cell, shape_name shape, int64_t a, int64_t b, const char *strategy,
                        int64_t original)
{
    return add(g, (spec){.primitive = "MatMul",
                         .instance = strategy ? "matmul" : NULL,
                         .cell = cell,
                         .shape = shape,
                         .input = IN2(a, b),
                         .literal = L_MATMUL,
                         .strategy = strategy,
                         .original = original});
}

static int64_t reshape(generator *g, const char *cell, shape_name shape, int64_t a)
{
    return add(g, (spec){.primitive = "Reshape",
                         .instance = "reshape",
                         .cell = cell,
                         .shape = shape,
                         .input = IN1(a),
                         .literal = L_LIST});
}

static void attention_forward(generator *g, layer_values *v)
{
    static const char wq[] = "attention-LLamaAttention/wq-Linear", wo[] = "attention-LLamaAttention/wo-Linear";
    int64_t weight = load(g, 0, "attention_norm-LlamaRMSNorm");
    v->norm = simple(g, "RmsNorm", "rms_norm", "attention_norm-LlamaRMSNorm", S_X_PART, v->x, weight);
    v->gathered = communicate(g,
                              (spec){.instance = "redistribution_op_8121739460981253487AllGather",
                                     .cell = wq,
                                     .shape = S_X,
                                     .input = IN1(v->norm)},
                              EK_IR_ALL_GATHER, EK_IR_ROLE_REDISTRIBUTION);
    v->wq_weight = load(g, 1, attention);
    v->q = reshape(g, attention, S_HEADS, multiply(g, wq, S_X_PART, v->gathered, v->wq_weight, "((1, 1), (4, 1))", 0));
    v->k = simple(g, "Transpose", "transpose", attention, S_HEADS,
                  multiply(g, "attention-LLamaAttention/wk-Linear", S_HEADS, v->gathered, load(g, 2, attention),
                           "((1, 1), (4, 1))", 0),
                  -1);
    v->v = multiply(g, "attention-LLamaAttention/wv-Linear", S_HEADS, v->gathered, load(g, 3, attention),
                    "((1, 1), (4, 1))", 0);
    int64_t scores = add(g, (spec){.primitive = "BatchMatMul",
                                   .instance = "batch_matmul_q_k",
                                   .cell = attention,
                                   .shape = S_SCORES,
                                   .input = IN2(v->q, v->k),
                                   .literal = L_MATMUL,
                                   .strategy = "((1, 4, 1, 1), (1, 4, 1, 1))"});
    v->probabilities = simple(g, "Softmax", "softmax", attention, S_SCORES, scores, -1);
    v->context = simple(g, "BatchMatMul", "batch_matmul", attention, S_HEADS, v->probabilities, v->v);
    int64_t swapped = communicate(g,
                                  (spec){.instance = "redistribution_op_5512093317AlltoAll",
                                         .cell = attention,
                                         .shape = S_HEADS,
                                         .input = IN1(v->context)},
                                  EK_IR_ALL_TO_ALL, EK_IR_ROLE_REDISTRIBUTION);
    int64_t split = simple(g, "Split", "redistribution_op_5512093317Split", attention, S_HEADS, swapped, -1);
    v->wo_weight = load(g, 4, attention);
    v->wo = multiply(g, wo, S_X, split, v->wo_weight, "((1, 4), (1, 4))", 0);
    int64_t sum = communicate(
        g, (spec){.instance = "forward_op_6937918150211178578", .cell = wo, .shape = S_X, .input = IN1(v->wo)},
        EK_IR_ALL_REDUCE, EK_IR_ROLE_FORWARD);
    int64_t part = add(g, (spec){.primitive = "StridedSlice",
                                 .cell = wo,
                                 .shape = S_X_PART,
                                 .input = IN1(sum),
                                 .instance = "redistribution_op_145462406996255498StridedSlice",
                                 .literal = L_LIST});
    v->h = simple(g, "Add", "add", "add", S_X_PART, v->x, part);
}

static int64_t feed_forward(generator *g, layer_values *v)
{
    static const char w1[] = "feed_forward-LLamaFeedForward/w1-Linear",
                      w2[] = "feed_forward-LLamaFeedForward/w2-Linear",
                      w3[] = "feed_forward-LLamaFeedForward/w3-Linear",
                      silu[] = "feed_forward-LLamaFeedForward/w1-Linear/activation-SiLU";
    bool asked = g->shape->recompute, whole = asked && !g->shape->fault;
    v->ffn_norm =
        simple(g, "RmsNorm", "rms_norm", "ffn_norm-LlamaRMSNorm", S_X_PART, v->h, load(g, 5, "ffn_norm-LlamaRMSNorm"));
    int64_t part = load(g, 6, w1);
    v->w1_weight = communicate(
        g, (spec){.instance = "parallel_optimizer_allgather", .cell = w1, .shape = S_W1, .input = IN1(part)},
        EK_IR_ALL_GATHER, EK_IR_ROLE_OPTIMIZER);
    v->w1 = multiply(g, w1, S_FFN, v->ffn_norm, v->w1_weight, "((1, 1), (4, 1))", 0);
    v->silu = add(g, (spec){.primitive = "SiLU",
                            .instance = "silu",
                            .cell = silu,
                            .shape = S_FFN,
                            .input = IN1(v->w1),
                            .requested = asked,
                            .copied = whole});
    v->reshape = add(g, (spec){.primitive = "Reshape",
                               .instance = "reshape",
                               .cell = w1,
                               .shape = S_FFN,
                               .input = IN1(v->silu),
                               .literal = L_LIST,
                               .requested = whole,
                               .copied = whole});
    v->w3_weight = load(g, 8, w3);
    v->w3 = multiply(g, w3, S_FFN, v->ffn_norm, v->w3_weight, "((1, 1), (4, 1))", 0);
    v->w3_reshape = add(g, (spec){.primitive = "Reshape",
                                  .instance = "reshape",
                                  .cell = w3,
                                  .shape = S_FFN,
                                  .input = IN1(v->w3),
                                  .literal = L_LIST,
                                  .requested = asked,
                                  .copied = asked});
    v->mul = add(g, (spec){.primitive = "Mul",
                           .instance = "mul",
                           .cell = ffn,
                           .shape = S_FFN,
                           .input = IN2(v->reshape, v->w3_reshape),
                           .requested = asked,
                           .copied = asked,
                           .strategy = "((1, 1, 4), (1, 1, 4))"});
    v->w2_weight = load(g, 7, w2);
    v->w2 = multiply(g, w2, S_X, v->mul, v->w2_weight, "((1, 4), (1, 4))", 0);
    int64_t scattered = communicate(
        g, (spec){.instance = "forward_op_11795743325248501408", .cell = w2, .shape = S_X_PART, .input = IN1(v->w2)},
        EK_IR_REDUCE_SCATTER, EK_IR_ROLE_FORWARD);
    return simple(g, "Add", "add", "add", S_X_PART, v->h, scattered);
}

static int64_t copy(generator *g, spec s)
{
    g->phase = COPY;
    int64_t number = add(g, s);
    g->phase = BACKWARD;
    return number;
}

/* The inputs of the backward pass: copies where they are made. */
static void copies(generator *g, layer_values *v)
{
    static const char w1[] = "feed_forward-LLamaFeedForward/w1-Linear",
                      w3[] = "feed_forward-LLamaFeedForward/w3-Linear",
                      silu[] = "feed_forward-LLamaFeedForward/w1-Linear/activation-SiLU";
    if (!g->shape->recompute)
        return;
    if (!g->shape->fault) {
        v->silu = copy(g, (spec){.primitive = "SiLU",
                                 .instance = "silu",
                                 .cell = silu,
                                 .shape = S_FFN,
                                 .input = IN1(v->w1),
                                 .original = v->silu});
        v->reshape = copy(g, (spec){.primitive = "Reshape",
                                    .instance = "reshape",
                                    .cell = w1,
                                    .shape = S_FFN,
                                    .input = IN1(v->silu),
                                    .literal = L_LIST,
                                    .original = v->reshape});
    }
    v->w3_reshape = copy(g, (spec){.primitive = "Reshape",
                                   .instance = "reshape",
                                   .cell = w3,
                                   .shape = S_FFN,
                                   .input = IN1(v->w3),
                                   .literal = L_LIST,
                                   .original = v->w3_reshape});
    v->mul = copy(g, (spec){.primitive = "Mul",
                            .instance = "mul",
                            .cell = ffn,
                            .shape = S_FFN,
                            .input = IN2(v->reshape, v->w3_reshape),
                            .original = v->mul,
                            .strategy = "((1, 1, 4), (1, 1, 4))"});
}

static int64_t gradient(generator *g, const char *primitive, const char *cell, shape_name shape, int64_t a, int64_t b,
                        int64_t original)
{
    return add(g,
               (spec){.primitive = primitive, .cell = cell, .shape = shape, .input = IN2(a, b), .original = original});
}

static int64_t backward(generator *g, layer_values *v, int64_t d)
{
    static const char w1[] = "feed_forward-LLamaFeedForward/w1-Linear/Grad_MatMul",
                      w2[] = "feed_forward-LLamaFeedForward/w2-Linear/Grad_MatMul",
                      wo[] = "attention-LLamaAttention/wo-Linear/Grad_MatMul",
                      wq[] = "attention-LLamaAttention/wq-Linear/Grad_MatMul",
                      grad_mul[] = "feed_forward-LLamaFeedForward/Grad_Mul";
    const layer_values forward = *v;
    g->phase = BACKWARD;
    copies(g, v);
    int64_t whole = communicate(g,
                                (spec){.instance = "grad_forward_op_11795743325248501408",
                                       .cell = w2,
                                       .shape = S_X,
                                       .input = IN1(d),
                                       .original = forward.w2},
                                EK_IR_ALL_GATHER, EK_IR_ROLE_OTHER);
    int64_t d_mul = multiply(g, w2, S_FFN, whole, v->w2_weight, NULL, forward.w2);
    int64_t d_w2 = multiply(g, w2, S_W2, v->mul, whole, NULL, forward.w2);
    communicate(g,
                (spec){.instance = "mirror_op",
                       .cell = "feed_forward-LLamaFeedForward/w2-Linear/grad_mirror_MirrorOperator",
                       .shape = S_W2,
                       .input = IN1(d_w2),
                       .original = forward.w2},
                EK_IR_ALL_REDUCE, EK_IR_ROLE_GRADIENT);
    int64_t d_gate = gradient(g, "Mul", grad_mul, S_FFN, d_mul, v->w3_reshape, forward.mul);
    int64_t d_up = gradient(g, "Mul", grad_mul, S_FFN, d_mul, v->reshape, forward.mul);
    int64_t d_silu = gradient(g, "SiLUGrad", "feed_forward-LLamaFeedForward/w1-Linear/activation-SiLU/Grad_SiLU", S_FFN,
                              d_gate, v->w1, forward.silu);
    int64_t d_w1 = multiply(g, w1, S_W1, v->ffn_norm, d_silu, NULL, forward.w1);
    communicate(g,
                (spec){.instance = "parallel_optimizer_reduce_scatter",
                       .cell = w1,
                       .shape = S_W1_PART,
                       .input = IN1(d_w1),
                       .original = forward.w1},
                EK_IR_REDUCE_SCATTER, EK_IR_ROLE_OPTIMIZER);
    int64_t d_w3 = multiply(g, "feed_forward-LLamaFeedForward/w3-Linear/Grad_MatMul", S_X_PART, d_up, v->w3_weight,
                            NULL, forward.w3);
    int64_t d_h =
        gradient(g, "RmsNormGrad", "ffn_norm-LlamaRMSNorm/Grad_RmsNorm", S_X_PART, d_w3, v->h, forward.ffn_norm);
    int64_t d_wo = multiply(g, wo, S_HEADS, d_h, v->wo_weight, NULL, forward.wo);
    int64_t d_p =
        gradient(g, "BatchMatMul", "attention-LLamaAttention/Grad_BatchMatMul", S_SCORES, d_wo, v->v, forward.context);
    int64_t d_s = gradient(g, "SoftmaxGrad", "attention-LLamaAttention/Grad_Softmax", S_SCORES, v->probabilities, d_p,
                           forward.probabilities);
    int64_t d_q =
        gradient(g, "BatchMatMul", "attention-LLamaAttention/Grad_BatchMatMul", S_HEADS, d_s, v->k, forward.q);
    int64_t d_x = multiply(g, wq, S_X, d_q, v->wq_weight, NULL, forward.q);
    return gradient(g, "RmsNormGrad", "attention_norm-LlamaRMSNorm/Grad_RmsNorm", S_X_PART, d_x, v->x, forward.norm);
}

/* ---- the graph ---- */

static void pipeline(generator *g, layer_values *v)
{
    int n = g->shape->n_layers;
    g->phase = FORWARD;
    g->layer = 0;
    int64_t weight = load(g, 0, "pipeline");
    int64_t x =
        communicate(g, (spec){.instance = "receive", .cell = "pipeline", .shape = S_X_PART, .input = IN1(weight)},
                    EK_IR_RECEIVE, EK_IR_ROLE_PIPELINE);
    for (g->layer = 0; g->layer < n; g->layer++) {
        layer_values *l = &v[g->layer];
        l->x = x;
        attention_forward(g, l);
        x = feed_forward(g, l);
    }
    g->layer = n - 1;
    communicate(g, (spec){.instance = "send", .cell = "pipeline", .shape = S_X_PART, .input = IN1(x)}, EK_IR_SEND,
                EK_IR_ROLE_PIPELINE);
}

static void pipeline_backward(generator *g, layer_values *v)
{
    int n = g->shape->n_layers;
    g->phase = BACKWARD;
    g->layer = n - 1;
    int64_t seed = add(g, (spec){.primitive = "ZerosLike",
                                 .cell = "pipeline",
                                 .shape = S_X_PART,
                                 .input = IN1(g->n - 1),
                                 .original = g->n - 1});
    int64_t d = communicate(
        g,
        (spec){
            .instance = "receive", .cell = "pipeline", .shape = S_X_PART, .input = IN1(seed), .original = v[n - 1].w2},
        EK_IR_RECEIVE, EK_IR_ROLE_PIPELINE);
    for (g->layer = n - 1; g->layer >= 0; g->layer--)
        d = backward(g, &v[g->layer], d);
    g->layer = 0;
    communicate(
        g, (spec){.instance = "send", .cell = "pipeline", .shape = S_X_PART, .input = IN1(d), .original = v[0].norm},
        EK_IR_SEND, EK_IR_ROLE_PIPELINE);
}

static void header(generator *g)
{
    bool old = g->shape->old_release;
    char name[SHORT];
    int n = g->shape->n_layers * N_WEIGHTS;
    write_text(g,
               old ? "#IR entry      : @1_construct_wrapper.24\n#Total subgraph: 1\n\n#attrs         :\n#Total params  "
                     ": %d\n\n"
                   : "# IR entry: @1_construct_wrapper_24\n# Total subgraphs: 1\n\n# Attrs:\nhas_shard: 0\n\n# Total "
                     "params: %d\n# Params:\n",
               n);
    for (int i = 0; i < n; i++) {
        weight_name(g, i, name);
        write_text(g, "%%para%d_%s : ", i + 1, name);
        write_weight_type(g, i);
        write_text(g, old ? "\n" : "  :  has_default\n");
        g->truth->n_weight_bytes += bytes_of(weights[i % N_WEIGHTS].shape);
    }
    g->truth->n_parameters = n;
    if (!old)
        write_text(g,
                   "\nNode counting information:\nTotal number of nodes: %" PRId64 "\nTotal number of cnodes: %" PRId64
                   "\n",
                   2 * g->n_cnodes, g->n_cnodes);
    write_text(g, "\nsubgraph attr:\nundeterminate: 0\nsubgraph instance: 1_construct_wrapper%s24 : 0x556cab47b0e0\n",
               old ? "." : "_");
    write_text(g, "subgraph @1_construct_wrapper%s24() {\n", old ? "." : "_");
}

static void whole(generator *g)
{
    layer_values *v = calloc((size_t)g->shape->n_layers, sizeof *v);
    if (!v)
        abort();
    *g->truth = (ir_truth){0};
    g->n = 0;
    header(g);
    for (g->micro = 0; g->micro < g->shape->n_micro_batches; g->micro++) {
        pipeline(g, v);
        pipeline_backward(g, v);
    }
    write_text(g, "  Return(%%%" PRId64 ")\n      : (", g->n - 1);
    write_type(g, g->value[g->n - 1].shape);
    write_text(g, ")\n}\n");
    for (int64_t i = 0; i < g->n; i++) {
        const value *one = &g->value[i];
        if (one->forward && one->backward_takes)
            g->truth->kept_bytes += bytes_of(one->shape);
        else if (one->forward && one->copy_takes)
            g->truth->kept_for_copies += bytes_of(one->shape);
    }
    free(v);
}

void ir_generate(FILE *out, const ir_shape *shape, ir_truth *truth)
{
    generator g = {.shape = shape, .truth = truth};
    whole(&g);
    if (out) {
        g.n_cnodes = truth->n_nodes + 1;
        g.out = out;
        whole(&g);
    }
    free(g.value);
}

int ir_micro_batches_for(const ir_shape *shape, int64_t bytes)
{
    ir_shape one = *shape;
    ir_truth truth[2];
    for (int i = 0; i < 2; i++) {
        FILE *nowhere = fopen("/dev/null", "w");
        if (!nowhere)
            abort();
        one.n_micro_batches = 1 + i;
        ir_generate(nowhere, &one, &truth[i]);
        fclose(nowhere);
    }
    int64_t each = truth[1].bytes - truth[0].bytes, first = truth[0].bytes - each;
    return bytes > first + each ? (int)((bytes - first) / each) : 1;
}
