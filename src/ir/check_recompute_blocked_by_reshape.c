/* Finds operators requested for recomputation with a value that reaches the backward pass through a Reshape, Cast,
 * Transpose or Depend that was not requested: that output is kept in memory and the request saves nothing. Uses the
 * fact recompute, which walks the edges; the pattern that removes the block consists of the names in its scope. If one
 * value makes several requests useless (the gate's and the product's), all are counted, its bytes once. */
#include "base/error.h"
#include "ir/check.h"

static void say(ek__ir_context *c, const ek_ir_recompute *r, ek_ir_finding *f)
{
    char text[32];
    f->text = ek__ir_say(c,
                         "%s requests recomputation, but the backward pass uses the output of %s, which does not: %s "
                         "uses it, %s saved for every micro-batch",
                         ek__ir_name(c, r->node), ek__ir_name(c, r->blocked_by), ek__ir_name(c, r->consumer),
                         ek__ir_bytes_text(text, r->bytes));
    f->advice = r->setting ? ek__ir_say(c, "add '%s' to select_recompute, with the same layers", r->setting)
                           : "the operator between them was inserted by the framework and matches no pattern: make the "
                             "layouts before and after it equal";
}

ek_status ek__ir_check_recompute_blocked_by_reshape(ek__ir_context *context, ek_error *err)
{
    bool *counted = ek__pool_alloc(context->scratch, context->ir->n_nodes, sizeof *counted);
    if (!counted)
        return ek__no_memory(err);
    for (int i = 0; i < context->report->n_recompute; i++) {
        const ek_ir_recompute *r = &context->report->recompute[i];
        if (r->in_effect != EK_IR_NO || r->by_design || r->blocked_by == EK_IR_NONE)
            continue;
        int64_t bytes = counted[r->held] ? 0 : ek__ir_while_alive(context, r->bytes);
        const ek_ir_node *block = &context->ir->node[r->blocked_by];
        ek__ir_occurrence s = {.check = "recompute-blocked-by-reshape",
                               .severity = EK_IR_WARNING,
                               .key = ek__ir_mix(ek__ir_mix(block->primitive, block->instance),
                                                 ek__ir_place_of(context, r->blocked_by)->hash),
                               .node = r->node,
                               .n_chain = 3,
                               .chain = {r->node, r->blocked_by, r->consumer},
                               .bytes = bytes,
                               .bytes_of = "held",
                               .one_micro = true};
        if (r->held != r->blocked_by) {
            s.chain[2] = r->held;
            s.chain[s.n_chain++] = r->consumer;
        }
        counted[r->held] = true;
        ek_ir_finding *f = ek__ir_sight(context, &s);
        if (f)
            say(context, r, f);
    }
    return ek__ir_check_end(context, err);
}
