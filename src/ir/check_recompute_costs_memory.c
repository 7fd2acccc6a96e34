/* Finds recomputed Casts to a narrower type: the copy takes the wider input, which is kept in memory instead of the
 * output. No finding if the input is kept anyway: a weight, a recomputed value, or a value kept for another
 * operator. */
#include "base/error.h"
#include "ir/check.h"

/* Does the backward pass use the value except for the Cast? Walked once for each value. */
static bool is_held_anyway(ek__ir_context *c, uint32_t maker, uint8_t *answer)
{
    enum { NOT_ASKED, YES, NO };
    uint32_t n;
    if (answer[maker] != NOT_ASKED)
        return answer[maker] == YES;
    const ek__ir_use *use = ek__ir_uses(c, maker, &n);
    answer[maker] = NO;
    for (uint32_t u = 0; u < n && answer[maker] == NO; u++)
        if (ek__ir_is_backward(c, use[u].node) && c->op[use[u].node] != EK__IR_OP_CAST)
            answer[maker] = YES;
    return answer[maker] == YES;
}

/* Is the wide value kept for other reasons? */
static bool is_there_anyway(ek__ir_context *c, uint32_t cast, uint8_t *answer)
{
    const ek_ir_input *input = ek__ir_source(c, cast, 0);
    if (!input || input->kind == EK_IR_INPUT_LITERAL)
        return true;
    if (input->kind == EK_IR_INPUT_PARAMETER) { /* in a called graph it represents a value of the caller */
        const ek_ir_type *type = ek__ir_type(c, input->type);
        return c->ir->parameter[input->index].graph == EK_IR_NONE || (type && type->reference);
    }
    if (input->kind != EK_IR_INPUT_NODE)
        return false;
    uint32_t maker = input->index;
    if (c->op[maker] == EK__IR_OP_LOAD || (c->ir->node[maker].flags & (EK_IR_RECOMPUTE | EK_IR_DUPLICATED)))
        return true;
    return is_held_anyway(c, maker, answer);
}

static void sight(ek__ir_context *c, uint32_t node, const ek_ir_type *in, const ek_ir_type *out)
{
    char wide[32], narrow[32];
    bool known = in->bytes >= 0 && out->bytes >= 0;
    ek__ir_occurrence s = {.check = "recompute-costs-memory",
                           .severity = EK_IR_WARNING,
                           .key = ek__ir_hash_type(c->ir, c->ir->node[node].type),
                           .node = node,
                           .n_chain = 1,
                           .chain = {node},
                           .bytes = known ? ek__ir_while_alive(c, in->bytes - out->bytes) : -1,
                           .bytes_of = "held",
                           .one_micro = true};
    uint32_t maker = ek__ir_maker(c, node, 0);
    if (maker != EK_IR_NONE) {
        s.chain[s.n_chain++] = node;
        s.chain[0] = maker;
    }
    ek_ir_finding *f = ek__ir_sight(c, &s);
    if (!f)
        return;
    f->text = ek__ir_say(c,
                         "%s, from %s to %s, is recomputed in the wrong direction: its input of %s is saved for every "
                         "micro-batch instead of its output of %s",
                         ek__ir_name(c, node), ek_ir_dtype_name[in->dtype], ek_ir_dtype_name[out->dtype],
                         ek__ir_bytes_text(wide, in->bytes), ek__ir_bytes_text(narrow, out->bytes));
    f->advice = "remove this Cast from select_recompute (or add it to select_recompute_exclude), or also request the "
                "operator that computes its input";
}

ek_status ek__ir_check_recompute_costs_memory(ek__ir_context *context, ek_error *err)
{
    uint8_t *answer = ek__pool_alloc(context->scratch, context->ir->n_nodes, 1);
    if (!answer)
        return ek__no_memory(err);
    for (int k = 0; k < context->report->n_recompute; k++) {
        uint32_t i = context->report->recompute[k].node;
        if (context->op[i] != EK__IR_OP_CAST)
            continue;
        const ek_ir_type *in = ek__ir_type_of_operand(context, i, 0), *out = ek__ir_type_of_node(context, i);
        if (!in || !out || ek__ir_element_bytes(out->dtype) == 0)
            continue;
        if (ek__ir_element_bytes(in->dtype) > ek__ir_element_bytes(out->dtype) && !is_there_anyway(context, i, answer))
            sight(context, i, in, out);
    }
    return ek__ir_check_end(context, err);
}
