/* Finds an AllReduce after which every device keeps one of as many parts as there are ranks: a ReduceScatter gives the
 * same result for half the traffic. An AllGather that is sliced back to the size of its input is useless when the slice
 * is the rank's own part, which is not visible in one rank's graph. Only values with a single use count: any other use
 * needs the whole value. */
#include "ir/check.h"

/* The one dimension in which `part` is 1 / n of `whole` while all others are equal; -1 if there is none. */
static int cut_dimension(const ek_ir *ir, const ek_ir_type *whole, const ek_ir_type *part, int n)
{
    int found = -1;
    if (!whole->tensor || !part->tensor || whole->rank != part->rank)
        return -1;
    for (uint32_t d = 0; d < whole->rank; d++) {
        int64_t w = ir->dim[whole->first_dim + d], p = ir->dim[part->first_dim + d];
        if (w == p)
            continue;
        if (found >= 0 || p < 1 || w / p != n || w % p != 0)
            return -1;
        found = (int)d;
    }
    return found;
}

/* The type of the kept part: the output of a slice, the one used part of a Split. */
static const ek_ir_type *kept_part(ek__ir_context *c, uint32_t slice)
{
    const ek_ir_type *type = ek__ir_type_of_node(c, slice);
    if (c->op[slice] == EK__IR_OP_STRIDED_SLICE)
        return type;
    uint32_t item = c->op[slice] == EK__IR_OP_SPLIT ? ek__ir_only_taker(c, slice) : EK_IR_NONE;
    if (item == EK_IR_NONE || c->op[item] != EK__IR_OP_TUPLE_GET_ITEM)
        return NULL;
    return ek__ir_type_of_node(c, item);
}

static void sight(ek__ir_context *c, const ek_ir_comm *comm, uint32_t slice, const ek_ir_type *whole,
                  const ek_ir_type *part)
{
    bool reduce = comm->kind == EK_IR_ALL_REDUCE;
    uint32_t maker = ek__ir_maker(c, comm->node, 0);
    ek__ir_occurrence s = {.check = "allreduce-then-slice",
                           .severity = EK_IR_WARNING,
                           .key = ek__ir_mix(comm->kind, ek__ir_hash_type(c->ir, c->ir->node[comm->node].type)),
                           .node = comm->node,
                           .bytes = comm->traffic,
                           .bytes_of = "sent by each device"};
    if (maker != EK_IR_NONE)
        s.chain[s.n_chain++] = maker;
    s.chain[s.n_chain++] = comm->node;
    s.chain[s.n_chain++] = slice;
    ek_ir_finding *f = ek__ir_sight(c, &s);
    char whole_text[64], part_text[64], now[32], then[32];
    if (!f)
        return;
    ek_ir_type_text(c->ir, (uint32_t)(whole - c->ir->type), whole_text, sizeof whole_text);
    ek_ir_type_text(c->ir, (uint32_t)(part - c->ir->type), part_text, sizeof part_text);
    f->text = ek__ir_say(
        c,
        reduce ? "%s sums %s over %d ranks, of which %s uses only 1/%d, %s: each device sends %s, a ReduceScatter "
                 "would send %s"
               : "%s gathers %s over %d ranks, of which %s uses only 1/%d, %s: each device sends %s, and %s is "
                 "necessary if that is the rank's own part",
        ek__ir_name(c, comm->node), whole_text, comm->n_ranks, ek__ir_name(c, slice), comm->n_ranks, part_text,
        ek__ir_bytes_text(now, comm->traffic),
        reduce ? ek__ir_bytes_text(then, ek_ir_ring_traffic(EK_IR_REDUCE_SCATTER, comm->n_ranks, comm->bytes))
               : "nothing");
    f->advice = reduce ? "give the MatMul before it an out_strategy that is sharded like the slice, so that the "
                         "framework uses ReduceScatter; the tensor after it also becomes smaller"
                       : "use the same sharding of this value in the operators on both sides; then neither gather nor "
                         "slice is inserted";
}

ek_status ek__ir_check_allreduce_then_slice(ek__ir_context *context, ek_error *err)
{
    for (int i = 0; i < context->report->n_comms; i++) {
        const ek_ir_comm *comm = &context->report->comm[i];
        if ((comm->kind != EK_IR_ALL_REDUCE && comm->kind != EK_IR_ALL_GATHER) || comm->n_ranks < 2)
            continue;
        uint32_t slice = ek__ir_only_taker(context, comm->node);
        const ek_ir_type *whole = ek__ir_type_of_node(context, comm->node);
        const ek_ir_type *part = slice == EK_IR_NONE ? NULL : kept_part(context, slice);
        if (!whole || !part)
            continue;
        int cut = cut_dimension(context->ir, whole, part, comm->n_ranks);
        /* only a slice in the gathered dimension undoes the gather */
        const ek_ir_type *before = ek__ir_type_of_operand(context, comm->node, 0);
        bool undone = before && cut >= 0 && ek__ir_sends_operand(context, comm->node) &&
                      cut_dimension(context->ir, whole, before, comm->n_ranks) == cut;
        if (cut >= 0 && (comm->kind == EK_IR_ALL_REDUCE || undone))
            sight(context, comm, slice, whole, part);
    }
    return ek__ir_check_end(context, err);
}
