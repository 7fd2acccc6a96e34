/* Finds cuts that contradict each other or the shapes: (a) a value produced in one cut and taken in another without
 * redistribution, (b) cuts that do not fit the devices of a stage, (c) shapes before slicing that, divided by the cut,
 * differ from the shapes in the file, (d) the same for a weight, (e) operands that share a dimension but not its cut.
 * Unreadable strategies and operators with layouts that do not follow from them are skipped. */
#include <inttypes.h>

#include "ir/check.h"

typedef struct node_cuts {
    uint32_t node;
    ek__ir_cuts cuts;
    const char *strategy;
} node_cuts;

static ek_ir_finding *sight(ek__ir_context *c, const node_cuts *of, ek_ir_severity severity, uint64_t key,
                            uint32_t maker)
{
    ek__ir_occurrence s = {.check = "shard-mismatch",
                           .severity = severity,
                           .key = ek__ir_mix(key, c->ir->node[of->node].in_strategy),
                           .node = of->node,
                           .bytes = -1};
    if (maker != EK_IR_NONE)
        s.chain[s.n_chain++] = maker;
    s.chain[s.n_chain++] = of->node;
    return ek__ir_sight(c, &s);
}

/* (a) */
static void check_neighbours(ek__ir_context *c, const node_cuts *of, bool partitioned)
{
    for (int k = 0; k < of->cuts.n; k++) {
        uint32_t maker = ek__ir_maker(c, of->node, (uint32_t)k);
        ek__ir_tuple produced;
        char out_text[128], in_text[128];
        if (maker == EK_IR_NONE || !ek__ir_layout_of(c, maker, &produced) || produced.n != of->cuts.input[k].n ||
            ek__ir_tuple_equal(&produced, &of->cuts.input[k]))
            continue;
        if ((c->ir->node[of->node].flags | c->ir->node[maker].flags) & EK_IR_NO_REDISTRIBUTION)
            continue;
        uint64_t key = ek__ir_mix(ek__ir_mix(1, (uint64_t)k), c->ir->node[maker].primitive);
        ek_ir_finding *f = sight(c, of, partitioned ? EK_IR_WARNING : EK_IR_NOTE, key, maker);
        if (!f)
            continue;
        f->text = ek__ir_say(c, "%s produces a value with sharding %s and %s uses it with sharding %s, %s",
                             ek__ir_name(c, maker), ek__ir_tuple_text(out_text, &produced), ek__ir_name(c, of->node),
                             ek__ir_tuple_text(in_text, &of->cuts.input[k]),
                             partitioned ? "without redistribution between them"
                                         : "so the framework will insert communication here");
        f->advice = ek__ir_say(c, "shard operand %d of %s as %s in its in_strategy, or the operator before it as %s",
                               k + 1, ek__ir_name(c, of->node), out_text, in_text);
    }
}

/* (b) */
static void check_devices(ek__ir_context *c, const node_cuts *of)
{
    int n = c->options.n_devices;
    for (int k = 0; n > 0 && k < of->cuts.n; k++) {
        int64_t product = ek__ir_tuple_product(&of->cuts.input[k]);
        char text[128];
        if (product <= n && n % product == 0)
            continue;
        ek_ir_finding *f = sight(c, of, EK_IR_ERROR, ek__ir_mix(2, (uint64_t)k), EK_IR_NONE);
        if (!f)
            continue;
        f->text = ek__ir_say(c, "%s shards operand %d as %s into %" PRId64 " parts, which %s the %d devices of a stage",
                             ek__ir_name(c, of->node), k + 1, ek__ir_tuple_text(text, &of->cuts.input[k]), product,
                             product > n ? "exceed" : "do not divide", n);
        f->advice =
            "make the product of the sharding a divisor of the devices of a stage, or set the right number of devices";
    }
}

/* A parameter, its Load and Cast looked through. */
static const ek_ir_parameter *weight_of(const ek__ir_context *c, uint32_t node, uint32_t k)
{
    const ek_ir_input *input = ek__ir_operand(c, node, k);
    for (int i = 0; input && i < 8; i++) {
        if (input->kind == EK_IR_INPUT_PARAMETER && input->index < c->ir->n_parameters) {
            const ek_ir_parameter *parameter = &c->ir->parameter[input->index];
            return ek__ir_is_weight(c->ir, parameter) ? parameter : NULL;
        }
        if (input->kind != EK_IR_INPUT_NODE || input->index >= c->ir->n_nodes)
            return NULL;
        uint8_t op = c->op[input->index];
        if (op != EK__IR_OP_LOAD && op != EK__IR_OP_CAST && op != EK__IR_OP_DEPEND)
            return NULL;
        input = ek__ir_operand(c, input->index, 0);
    }
    return NULL;
}

/* (c), (d): for one operand; false when it fits or cannot be checked. */
static bool contradicts(const ek__ir_context *c, const ek__ir_tuple *origin, const ek__ir_tuple *cut,
                        const ek_ir_type *shown)
{
    if (!shown || !shown->tensor || (uint32_t)origin->n != shown->rank || origin->n != cut->n)
        return false;
    for (int d = 0; d < origin->n; d++) {
        int64_t dim = c->ir->dim[shown->first_dim + (uint32_t)d];
        if (dim >= 0 && origin->of[d] > 0 && (origin->of[d] % cut->of[d] != 0 || origin->of[d] / cut->of[d] != dim))
            return true;
    }
    return false;
}

static void check_shapes(ek__ir_context *c, const node_cuts *of)
{
    const char *text = ek_ir_attribute_of(c->ir, &c->ir->node[of->node], "origin_input_shapes");
    ek__ir_cuts origin;
    if (!text || !ek__ir_cuts_read(text, &origin))
        return;
    for (int k = 0; k < of->cuts.n && k < origin.n; k++) {
        const ek_ir_input *input = ek__ir_operand(c, of->node, (uint32_t)k);
        char before[128], cut[128], shown[80];
        if (!input || !contradicts(c, &origin.input[k], &of->cuts.input[k], ek__ir_type(c, input->type)))
            continue;
        const ek_ir_parameter *weight = weight_of(c, of->node, (uint32_t)k);
        ek_ir_finding *f = sight(c, of, EK_IR_WARNING, ek__ir_mix(weight ? 4 : 3, (uint64_t)k), EK_IR_NONE);
        if (!f)
            continue;
        ek_ir_type_text(c->ir, input->type, shown, sizeof shown);
        f->text = ek__ir_say(c, "operand %d of %s%s%.120s was %s before slicing and has sharding %s, but is %s here",
                             k + 1, ek__ir_name(c, of->node), weight ? ", the weight " : "",
                             weight ? ek_ir_text(c->ir, weight->name) : "", ek__ir_tuple_text(before, &origin.input[k]),
                             ek__ir_tuple_text(cut, &of->cuts.input[k]), shown);
        f->advice = weight ? "the weight is not the slice of its strategy: check checkpoint slicing, "
                             "parallel_optimizer and the shape in the model"
                           : "the dimension is not divisible, or an operator between changes the shape: make each "
                             "dimension a multiple of its sharding";
    }
}

/* (e): sizes before slicing are equal if they are equal now or would be without the cuts. */
static bool differs(int64_t size_a, int64_t size_b, int64_t cut_a, int64_t cut_b)
{
    int64_t whole_a, whole_b;
    if (size_a < 2 || size_b < 2 || cut_a == cut_b)
        return false;
    return size_a == size_b || (!__builtin_mul_overflow(size_a, cut_a, &whole_a) &&
                                !__builtin_mul_overflow(size_b, cut_b, &whole_b) && whole_a == whole_b);
}

static bool operands_differ(const ek__ir_context *c, const node_cuts *of)
{
    int64_t parts[2];
    if (ek__ir_contracted(c, of->node, &of->cuts, parts))
        return parts[0] != parts[1];
    const ek_ir_type *a = ek__ir_type_of_operand(c, of->node, 0), *b = ek__ir_type_of_operand(c, of->node, 1);
    if (c->op[of->node] != EK__IR_OP_ELEMENTWISE || of->cuts.n != 2 || !a || !b || !a->tensor || !b->tensor)
        return false;
    if ((uint32_t)of->cuts.input[0].n != a->rank || (uint32_t)of->cuts.input[1].n != b->rank)
        return false;
    for (uint32_t d = 1; d <= a->rank && d <= b->rank; d++)
        if (differs(c->ir->dim[a->first_dim + a->rank - d], c->ir->dim[b->first_dim + b->rank - d],
                    of->cuts.input[0].of[a->rank - d], of->cuts.input[1].of[b->rank - d]))
            return true;
    return false;
}

static void check_operands(ek__ir_context *c, const node_cuts *of)
{
    ek_ir_finding *f = operands_differ(c, of) ? sight(c, of, EK_IR_ERROR, 5, EK_IR_NONE) : NULL;
    if (!f)
        return;
    f->text = ek__ir_say(c, "%s shards a common dimension of its operands differently: in_strategy %.160s",
                         ek__ir_name(c, of->node), of->strategy);
    f->advice = "shard the common dimension in both operands the same way";
}

ek_status ek__ir_check_shard_mismatch(ek__ir_context *context, ek_error *err)
{
    bool partitioned = context->report->n_comms > 0;
    for (uint32_t i = 0; i < context->ir->n_nodes; i++) {
        node_cuts of = {.node = i, .strategy = ek_ir_text(context->ir, context->ir->node[i].in_strategy)};
        if (!ek__ir_cuts_of(context, i, &of.cuts))
            continue;
        check_neighbours(context, &of, partitioned);
        check_devices(context, &of);
        check_shapes(context, &of);
        check_operands(context, &of);
    }
    return ek__ir_check_end(context, err);
}
