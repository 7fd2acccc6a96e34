/* Finds requests for recomputation without effect: the backward pass takes the original's value although a copy could
 * be made, or no copy was made. Uses the fact recompute; requests with an operator in between belong to the check
 * recompute-blocked-by-reshape. Outputs of a cell recomputed whole are saved by design and give no finding. */
#include "ir/check.h"

static const char *advice_for(ek__ir_context *c, const ek_ir_recompute *r)
{
    if (!c->has_copies)
        return "this graph has no copy of any node: see the last *validate*.ir; if it has none either, check "
               "recompute_config and that its patterns match this operator";
    if (r->held == EK_IR_NONE)
        return "recomputation has no benefit here: remove it from select_recompute, so that the list contains only "
               "effective requests";
    if (r->copy != EK_IR_NONE)
        return "there is a copy, but this operator does not use it: check whether need_cse_after_recompute is missing "
               "on the pair, and request the operators between it and the one that uses the value";
    return "check that no pattern of select_recompute_exclude matches it, and request the operators after it up to the "
           "one with the gradient that uses the value";
}

static void sight(ek__ir_context *c, const ek_ir_recompute *r)
{
    bool held = r->held != EK_IR_NONE;
    int64_t bytes = ek__ir_while_alive(c, r->bytes);
    ek__ir_occurrence s = {.check = "recompute-not-in-effect",
                           .severity = held ? EK_IR_WARNING : EK_IR_NOTE,
                           .key = ek__ir_mix(held, ek__ir_hash_type(c->ir, c->ir->node[r->node].type)),
                           .node = r->node,
                           .chain = {r->node},
                           .n_chain = 1,
                           .bytes = bytes,
                           .bytes_of = held ? "held" : NULL,
                           .one_micro = true};
    if (held && r->held != r->node)
        s.chain[s.n_chain++] = r->held;
    if (held)
        s.chain[s.n_chain++] = r->consumer;
    ek_ir_finding *f = ek__ir_sight(c, &s);
    char text[32];
    if (!f)
        return;
    f->text = held ? ek__ir_say(c,
                                "%s requests recomputation, but %s uses its value of the forward pass: %s saved for "
                                "every micro-batch",
                                ek__ir_name(c, r->node), ek__ir_name(c, r->consumer), ek__ir_bytes_text(text, r->bytes))
                   : ek__ir_say(c,
                                "%s requests recomputation, but has no copy, and the backward pass does not use it: "
                                "the request has no effect",
                                ek__ir_name(c, r->node));
    f->advice = advice_for(c, r);
}

ek_status ek__ir_check_recompute_not_in_effect(ek__ir_context *context, ek_error *err)
{
    for (int i = 0; i < context->report->n_recompute; i++) {
        const ek_ir_recompute *r = &context->report->recompute[i];
        if (r->in_effect == EK_IR_NO && !r->by_design && r->blocked_by == EK_IR_NONE)
            sight(context, r);
    }
    return ek__ir_check_end(context, err);
}
