/* Finds large weights that every device holds whole: an operator takes them uncut and no communication gathers them.
 * Weights are skipped if their users have no strategy in the graph, or if they are small. */
#include "ir/check.h"

typedef struct verdict {
    bool whole, sharded;
    int n_visits;
    uint32_t taker;
} verdict;

/* Does this operator's strategy cut the operand, leave it whole, or not mention it? */
static void judge(const ek__ir_context *c, ek__ir_use use, verdict *out)
{
    ek__ir_cuts cuts;
    if (ek__ir_comm_of(c, use.node)) {
        out->sharded = true;
        return;
    }
    if (!ek__ir_cuts_of(c, use.node, &cuts) || (int)use.operand >= cuts.n)
        return;
    bool whole = ek__ir_tuple_product(&cuts.input[use.operand]) == 1;
    if (whole && !out->whole)
        out->taker = use.node;
    out->whole |= whole;
    out->sharded |= !whole;
}

/* Through Load, Cast and Depend to the operators that use the weight. */
static void find_verdict(ek__ir_context *c, uint32_t value, int depth, verdict *out)
{
    enum { MAX_PASSED = 64, MAX_VISITS = 4096 };
    uint32_t n, passed[MAX_PASSED], n_passed = 0;
    const ek__ir_use *use = ek__ir_uses(c, value, &n);
    for (uint32_t u = 0; u < n; u++) {
        uint8_t op = c->op[use[u].node];
        bool through = op == EK__IR_OP_LOAD || op == EK__IR_OP_DEPEND || op == EK__IR_OP_CAST;
        if (through && use[u].operand == 0 && n_passed < MAX_PASSED)
            passed[n_passed++] = use[u].node;
        if (op != EK__IR_OP_LOAD && op != EK__IR_OP_DEPEND && ek__ir_is_forward(c, use[u].node))
            judge(c, use[u], out);
    }
    for (uint32_t i = 0; i < n_passed && depth < 4 && out->n_visits++ < MAX_VISITS; i++)
        find_verdict(c, passed[i], depth + 1, out);
}

static void sight(ek__ir_context *c, const ek_ir_parameter *weight, const ek_ir_type *type, uint32_t taker)
{
    bool table = c->op[taker] == EK__IR_OP_GATHER;
    ek__ir_occurrence s = {.check = "parameters",
                           .severity = EK_IR_WARNING,
                           .key = ek__ir_mix(weight->name, 0),
                           .node = taker,
                           .n_chain = 1,
                           .chain = {taker},
                           .bytes = type->bytes,
                           .bytes_of = "in parameters"};
    ek_ir_finding *f = ek__ir_sight(c, &s);
    char bytes[32], shape[80];
    if (!f)
        return;
    ek_ir_type_text(c->ir, weight->type, shape, sizeof shape);
    f->text = ek__ir_say(c, "every device has all %s of %.160s, %s: %s uses it unsharded and nothing gathers it",
                         ek__ir_bytes_text(bytes, type->bytes), ek_ir_text(c->ir, weight->name), shape,
                         ek__ir_name(c, taker));
    f->advice = table ? "set parallel_optimizer: True in the model's configuration, which shards the table and its "
                        "optimizer states over data parallel ranks, or shard it with vocab_emb_dp: False"
                      : "shard it: enable_parallel_optimizer: True with a threshold below its size, or a sharded "
                        "dimension in the strategy of its operator";
}

ek_status ek__ir_check_parameters(ek__ir_context *context, ek_error *err)
{
    const ek_ir *ir = context->ir;
    for (uint32_t i = 0; i < ir->n_parameters; i++) {
        const ek_ir_parameter *parameter = &ir->parameter[i];
        const ek_ir_type *type = ek__ir_type(context, parameter->type);
        verdict v = {.taker = EK_IR_NONE};
        if (!type || type->bytes < context->options.large_bytes || !ek__ir_is_weight(ir, parameter))
            continue;
        find_verdict(context, ir->n_nodes + i, 0, &v);
        if (v.whole && !v.sharded)
            sight(context, parameter, type, v.taker);
    }
    return ek__ir_check_end(context, err);
}
