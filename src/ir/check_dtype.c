/* Finds work in more bits than its data has: MatMuls in float32 in a graph that has others in 16 bits, communication of
 * values that were just widened or are narrowed right after, and casts that undo each other. Sums in float32 may be
 * intended, for accuracy, so such communication is a note; communication that only moves data is a warning. */
#include <stdio.h>

#include "base/c_locale.h"
#include "ir/check.h"

static bool is_short_float(ek_ir_dtype dtype)
{
    return dtype == EK_IR_FLOAT16 || dtype == EK_IR_BFLOAT16;
}

static ek_ir_dtype dtype_of(const ek_ir_type *type)
{
    return type && type->tensor ? type->dtype : EK_IR_DTYPE_UNKNOWN;
}

/* ---- MatMul ---- */

/* The common format of both operands. */
static ek_ir_dtype matmul_dtype(const ek__ir_context *c, uint32_t node)
{
    ek_ir_dtype a = dtype_of(ek__ir_type_of_operand(c, node, 0)), b = dtype_of(ek__ir_type_of_operand(c, node, 1));
    return a == b ? a : EK_IR_DTYPE_UNKNOWN;
}

/* 2 m n k; 0 when a dimension is unknown. */
static double matmul_flops(const ek__ir_context *c, uint32_t node)
{
    const ek_ir_type *a = ek__ir_type_of_operand(c, node, 0), *out = ek__ir_type_of_node(c, node);
    double flops = 2;
    if (!a || !out || !out->tensor || a->rank < 2)
        return 0;
    for (uint32_t d = 0; d < out->rank; d++)
        flops *= (double)c->ir->dim[out->first_dim + d];
    uint32_t k = ek__ir_transposed(c, node, 0) ? a->rank - 2 : a->rank - 1;
    flops *= (double)c->ir->dim[a->first_dim + k];
    return flops > 0 ? flops : 0;
}

static void check_matmul(ek__ir_context *c, uint32_t node)
{
    ek__ir_occurrence s = {.check = "dtype",
                           .severity = EK_IR_NOTE,
                           .key = ek__ir_mix(1, ek__ir_hash_type(c->ir, c->ir->node[node].type)),
                           .node = node,
                           .n_chain = 1,
                           .chain = {node},
                           .bytes = -1};
    ek_ir_finding *f = ek__ir_sight(c, &s);
    char cost[48] = "";
    if (!f)
        return;
    if (matmul_flops(c, node) > 0)
        ek__snprintf(cost, sizeof cost, ", %.3g GFLOP", matmul_flops(c, node) / 1e9);
    f->text =
        ek__ir_say(c, "%s multiplies in float32%s, other MatMuls of this graph in 16 bits", ek__ir_name(c, node), cost);
    f->advice = "cast its operands to compute_dtype unless the accuracy is needed here, as in a router or a loss";
}

/* ---- communication ---- */

/* The Cast between 16 and 32 bits next to it, at most a Reshape between; EK_IR_NONE. */
static uint32_t widened_before(const ek__ir_context *c, uint32_t node)
{
    uint32_t maker = ek__ir_maker(c, node, 0);
    if (maker != EK_IR_NONE && c->op[maker] == EK__IR_OP_RESHAPE)
        maker = ek__ir_maker(c, maker, 0);
    bool widens = maker != EK_IR_NONE && c->op[maker] == EK__IR_OP_CAST &&
                  is_short_float(dtype_of(ek__ir_type_of_operand(c, maker, 0)));
    return widens ? maker : EK_IR_NONE;
}

static uint32_t narrowed_after(ek__ir_context *c, uint32_t node)
{
    uint32_t taker = ek__ir_only_taker(c, node);
    if (taker != EK_IR_NONE && c->op[taker] == EK__IR_OP_RESHAPE)
        taker = ek__ir_only_taker(c, taker);
    bool narrows = taker != EK_IR_NONE && c->op[taker] == EK__IR_OP_CAST &&
                   is_short_float(dtype_of(ek__ir_type_of_node(c, taker)));
    return narrows ? taker : EK_IR_NONE;
}

static void check_comm(ek__ir_context *c, const ek_ir_comm *comm)
{
    uint32_t before = widened_before(c, comm->node), after = narrowed_after(c, comm->node);
    bool sums = comm->kind == EK_IR_ALL_REDUCE || comm->kind == EK_IR_REDUCE_SCATTER;
    if (dtype_of(ek__ir_type_of_operand(c, comm->node, 0)) != EK_IR_FLOAT32)
        return;
    if (before == EK_IR_NONE && (after == EK_IR_NONE || sums))
        return; /* a sum may need more bits than its result */
    uint32_t cast = before != EK_IR_NONE ? before : after;
    ek__ir_occurrence s = {
        .check = "dtype",
        .severity = sums ? EK_IR_NOTE : EK_IR_WARNING,
        .key = ek__ir_mix(before != EK_IR_NONE ? 2 : 3, ek__ir_hash_type(c->ir, c->ir->node[comm->node].type)),
        .node = comm->node,
        .n_chain = 2,
        .chain = {before != EK_IR_NONE ? cast : comm->node, before != EK_IR_NONE ? comm->node : cast},
        .bytes = comm->traffic,
        .bytes_of = "sent by each device"};
    ek_ir_finding *f = ek__ir_sight(c, &s);
    char now[32], half[32];
    if (!f)
        return;
    f->text = ek__ir_say(c, "%s sends float32, %s, of 16-bit data: %s %s it; in 16 bits it would be %s",
                         ek__ir_name(c, comm->node), ek__ir_bytes_text(now, comm->traffic), ek__ir_name(c, cast),
                         before != EK_IR_NONE ? "widens" : "narrows",
                         ek__ir_bytes_text(half, comm->traffic < 0 ? -1 : comm->traffic / 2));
    f->advice = sums ? "if the sum does not need the accuracy, communicate in 16 bits and cast after it"
                     : "move the cast to the other side of it: it does no arithmetic, so the result is the same";
}

/* ---- casts ---- */

static void check_casts(ek__ir_context *c, uint32_t second)
{
    uint32_t first = ek__ir_maker(c, second, 0);
    if (first == EK_IR_NONE || c->op[first] != EK__IR_OP_CAST)
        return;
    const ek_ir_type *in = ek__ir_type_of_operand(c, first, 0), *middle = ek__ir_type_of_node(c, first);
    const ek_ir_type *out = ek__ir_type_of_node(c, second);
    if (dtype_of(in) == EK_IR_DTYPE_UNKNOWN || dtype_of(in) != dtype_of(out) || dtype_of(middle) == dtype_of(in) ||
        dtype_of(middle) == EK_IR_DTYPE_UNKNOWN)
        return;
    bool loses = ek__ir_element_bytes(middle->dtype) < ek__ir_element_bytes(in->dtype);
    bool known = in->bytes >= 0 && middle->bytes >= 0 && in->bytes < INT64_MAX / 8 && middle->bytes < INT64_MAX / 8;
    ek__ir_occurrence s = {.check = "dtype",
                           .severity = EK_IR_NOTE,
                           .key = ek__ir_mix(4, ek__ir_hash_type(c->ir, c->ir->node[first].type)),
                           .node = second,
                           .n_chain = 2,
                           .chain = {first, second},
                           .bytes = known ? 2 * (in->bytes + middle->bytes) : -1,
                           .bytes_of = "read and written"};
    ek_ir_finding *f = ek__ir_sight(c, &s);
    char bytes[32];
    if (!f)
        return;
    f->text = ek__ir_say(c, "%s and %s cast from %s to %s and back: %s read and written%s", ek__ir_name(c, first),
                         ek__ir_name(c, second), ek_ir_dtype_name[in->dtype], ek_ir_dtype_name[middle->dtype],
                         ek__ir_bytes_text(bytes, s.bytes), loses ? ", and the value is rounded" : "");
    f->advice = loses ? "if the rounding is not intended, keep the format of the value in the adjacent operators"
                      : "use the value before both casts; remove the casts between the two modules";
}

ek_status ek__ir_check_dtype(ek__ir_context *context, ek_error *err)
{
    bool any_short = false;
    for (uint32_t i = 0; i < context->ir->n_nodes && !any_short; i++)
        any_short = (context->op[i] == EK__IR_OP_MATMUL || context->op[i] == EK__IR_OP_BATCH_MATMUL) &&
                    is_short_float(matmul_dtype(context, i));
    for (uint32_t i = 0; i < context->ir->n_nodes; i++) {
        uint8_t op = context->op[i];
        if ((op == EK__IR_OP_MATMUL || op == EK__IR_OP_BATCH_MATMUL) && any_short && ek__ir_is_forward(context, i) &&
            matmul_dtype(context, i) == EK_IR_FLOAT32)
            check_matmul(context, i);
        if (op == EK__IR_OP_CAST && ek__ir_is_forward(context, i))
            check_casts(context, i);
    }
    for (int i = 0; i < context->report->n_comms; i++)
        check_comm(context, &context->report->comm[i]);
    return ek__ir_check_end(context, err);
}
