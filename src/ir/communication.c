/* Determines kind, number of ranks, bytes and purpose of communication operators. The number of ranks comes from one of
 * several attributes or from a group's name such as "4-6301..."; otherwise from the shapes of a gather or scatter.
 * Traffic is that of a ring; other algorithms of a library change latency, not the order of magnitude. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

const char *const ek__ir_comm_kind_name[EK_N_IR_COMM_KINDS] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll",
                                                               "Send",      "Receive",   "Broadcast",     "other"};
const char *const *const ek_ir_comm_kind_name = ek__ir_comm_kind_name;
const char *const ek__ir_comm_role_name[EK_N_IR_COMM_ROLES] = {"redistribution", "forward",  "gradient",
                                                               "optimizer",      "pipeline", "other"};
const char *const *const ek_ir_comm_role_name = ek__ir_comm_role_name;

enum { MIN_HASH_DIGITS = 5 };

int64_t ek_ir_ring_traffic(ek_ir_comm_kind kind, int n_ranks, int64_t bytes)
{
    int64_t n = n_ranks, times = kind == EK_IR_ALL_REDUCE ? 2 * (n - 1) : n - 1, whole, rest;
    if (bytes < 0 || kind == EK_IR_OTHER_COMM)
        return -1;
    if (kind == EK_IR_SEND || kind == EK_IR_RECEIVE || kind == EK_IR_BROADCAST)
        return bytes;
    if (n < 1)
        return -1;
    /* times / n * bytes without overflow: whole parts first, then the rest of the division, rounded down */
    if (__builtin_mul_overflow(bytes / n, times, &whole) || __builtin_mul_overflow(bytes % n, times, &rest) ||
        __builtin_add_overflow(whole, rest / n, &whole))
        return -1;
    return whole;
}

/* The n of "n-hash", MindSpore's name for a group of n ranks; 0 for other names. */
static int ranks_in_name(const char *group)
{
    char *end;
    long n = strtol(group, &end, 10);
    if (end == group || *end != '-' || n < 1 || n > INT32_MAX)
        return 0;
    size_t digits = strspn(end + 1, "0123456789");
    return digits >= MIN_HASH_DIGITS && end[1 + digits] == '\0' ? (int)n : 0;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* For InnerComm and DistComm operators and those that also calculate, the group is a literal operand. */
static const char *operand_group(ek__ir_context *c, const ek_ir_node *node)
{
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const ek_ir_input *input = &c->ir->input[node->first_input + k];
        const char *text = input->kind == EK_IR_INPUT_LITERAL ? ek_ir_text(c->ir, input->index) : "";
        size_t size = strlen(text);
        if (size < 2 || text[0] != '"' || text[size - 1] != '"')
            continue;
        const char *name = ek__ir_say(c, "%.*s", (int)size - 2, text + 1);
        if (ranks_in_name(name) > 0 || has(name, "group"))
            return name;
    }
    return NULL;
}

static int told_ranks(const ek_ir *ir, const ek_ir_node *node, const char *group)
{
    static const struct {
        const char *key;
        char separator;
    } lists[] = {{"group_ranks", '-'}, {"rank_list", ','}, {"group_rank_ids", ','}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *text = ek_ir_attribute_of(ir, node, lists[i].key);
        int n = text ? ek__ir_count_numbers(text, lists[i].separator) : 0;
        if (n > 0)
            return n;
    }
    const char *size = ek_ir_attribute_of(ir, node, "rank_size");
    if (size && atoi(size) > 0)
        return atoi(size);
    return group ? ranks_in_name(group) : 0;
}

/* Bytes of the operands that are tensors; -1 when one of them is unknown or there are none. */
static int64_t operand_bytes(const ek__ir_context *c, uint32_t node)
{
    int64_t sum = 0;
    bool any = false;
    for (uint32_t k = 0; k < c->ir->node[node].n_inputs; k++) {
        const ek_ir_type *type = ek__ir_type_of_operand(c, node, k);
        if (!type || type->bytes == 0)
            continue;
        if (type->bytes < 0 || __builtin_add_overflow(sum, type->bytes, &sum))
            return -1;
        any = true;
    }
    return any ? sum : -1;
}

/* Bytes of the first or the last operand that is a tensor. */
static int64_t one_operand_bytes(const ek__ir_context *c, uint32_t node, bool last)
{
    int64_t bytes = -1;
    for (uint32_t k = 0; k < c->ir->node[node].n_inputs; k++) {
        const ek_ir_type *type = ek__ir_type_of_operand(c, node, k);
        if (!type || type->bytes == 0)
            continue;
        bytes = type->bytes;
        if (!last)
            break;
    }
    return bytes;
}

static int64_t output_bytes(const ek__ir_context *c, uint32_t node)
{
    const ek_ir_type *type = ek__ir_type_of_node(c, node);
    return type && type->bytes > 0 ? type->bytes : -1;
}

/* Of several outputs the first. */
static int64_t first_output_bytes(const ek__ir_context *c, uint32_t node)
{
    const ek_ir_type *type = ek__ir_type_of_node(c, node);
    if (type && type->n_parts > 0)
        type = ek__ir_type(c, c->ir->part[type->first_part]);
    return type && type->bytes > 0 ? type->bytes : -1;
}

static int ratio(int64_t large, int64_t small)
{
    return large > 0 && small > 0 && large % small == 0 && large / small <= INT32_MAX ? (int)(large / small) : 0;
}

static int64_t times(int64_t bytes, int n_ranks)
{
    int64_t product;
    return bytes < 0 || n_ranks == 0 || __builtin_mul_overflow(bytes, n_ranks, &product) ? -1 : product;
}

static bool calculates(const char *primitive)
{
    return has(primitive, "MatMul") || has(primitive, "Matmul") || has(primitive, "Qbmm");
}

/* The first operand of DistComm operators is the destination of the result. */
static bool takes_result(const char *primitive)
{
    return strncmp(primitive, "DistComm", strlen("DistComm")) == 0;
}

bool ek__ir_sends_operand(const ek__ir_context *context, uint32_t node)
{
    const char *primitive = ek_ir_text(context->ir, context->ir->node[node].primitive);
    return !calculates(primitive) && !takes_result(primitive);
}

/* A product with a summed result or a gathered operand: the message is that result or operand, not all inputs and
 * outputs. */
static void measure_product(const ek__ir_context *c, ek_ir_comm *comm)
{
    int64_t in = one_operand_bytes(c, comm->node, false), out = first_output_bytes(c, comm->node);
    if (comm->kind == EK_IR_ALL_REDUCE)
        comm->bytes = out;
    else if (comm->kind == EK_IR_ALL_GATHER)
        comm->bytes = times(in, comm->n_ranks);
    else
        comm->bytes = comm->kind == EK_IR_REDUCE_SCATTER ? times(out, comm->n_ranks) : -1;
}

/* Ranks and bytes of the message; if the file has only one of them, the other is derived from it. */
static void measure(const ek__ir_context *c, ek_ir_comm *comm)
{
    bool gather = comm->kind == EK_IR_ALL_GATHER, scatter = comm->kind == EK_IR_REDUCE_SCATTER;
    bool input_counts = scatter || comm->kind == EK_IR_SEND || comm->kind == EK_IR_ALL_TO_ALL;
    bool into = takes_result(ek_ir_text(c->ir, c->ir->node[comm->node].primitive));
    int64_t in = into ? one_operand_bytes(c, comm->node, true) : operand_bytes(c, comm->node), small;
    int64_t out = into && (gather || scatter) ? one_operand_bytes(c, comm->node, false) : output_bytes(c, comm->node);
    comm->bytes = input_counts ? in : out;
    small = scatter ? out : in;
    if (comm->n_ranks == 0 && (gather || scatter))
        comm->n_ranks = ratio(comm->bytes, small);
    if (comm->bytes >= 0)
        return;
    if (gather || scatter)
        comm->bytes = times(small, comm->n_ranks);
    else if (comm->kind != EK_IR_RECEIVE)
        comm->bytes = input_counts ? out : in; /* an AllReduce's are the same */
}

/* The names of operators that MindSpore inserts; in the backward pass an operator's scope names the operator whose
 * gradient it is. */
static ek_ir_comm_role role_of(const ek_ir *ir, const ek_ir_node *node, ek_ir_comm_kind kind)
{
    const char *instance = ek_ir_text(ir, node->instance), *scope = ek_ir_text(ir, node->scope);
    const char *primitive = ek_ir_text(ir, node->primitive);
    if (kind == EK_IR_SEND || kind == EK_IR_RECEIVE)
        return EK_IR_ROLE_PIPELINE;
    if (has(instance, "redistribution_op"))
        return EK_IR_ROLE_REDISTRIBUTION;
    if (has(instance, "parallel_optimizer") || has(instance, "StepAllGather") || has(primitive, "StepAllGather") ||
        has(scope, "StepAllGather"))
        return EK_IR_ROLE_OPTIMIZER;
    if (has(instance, "mirror") || has(instance, "Mirror") || has(scope, "_Mirror") ||
        has(scope, "DistributedGradReducer"))
        return EK_IR_ROLE_GRADIENT;
    return has(instance, "forward_op") || calculates(primitive) ? EK_IR_ROLE_FORWARD : EK_IR_ROLE_OTHER;
}

const ek_ir_comm *ek__ir_comm_of(const ek__ir_context *context, uint32_t node)
{
    uint32_t index = context->comm_of[node];
    return index == EK_IR_NONE ? NULL : &context->report->comm[index];
}

static ek_ir_comm describe(ek__ir_context *c, uint32_t i)
{
    const ek_ir_node *node = &c->ir->node[i];
    bool damaged = node->flags & EK_IR_DAMAGED;
    ek_ir_comm comm = {.node = i,
                       .kind = c->comm_kind[i],
                       .group = damaged ? NULL : ek_ir_attribute_of(c->ir, node, "group"),
                       .backward = node->flags & EK_IR_BACKWARD,
                       .copy = node->flags & EK_IR_DUPLICATED,
                       .layer = ek__ir_place_of(c, i)->layer,
                       .position = c->position[i]};
    if (!damaged && !comm.group)
        comm.group = operand_group(c, node);
    comm.n_ranks = damaged ? 0 : told_ranks(c->ir, node, comm.group);
    comm.role = role_of(c->ir, node, comm.kind);
    if (calculates(ek_ir_text(c->ir, node->primitive)))
        measure_product(c, &comm);
    else
        measure(c, &comm);
    comm.traffic = ek_ir_ring_traffic(comm.kind, comm.n_ranks, comm.bytes);
    return comm;
}

ek_status ek__ir_fact_communication(ek__ir_context *context, ek_error *err)
{
    ek_ir_report *report = context->report;
    context->comm_of = ek__pool_alloc(context->scratch, context->ir->n_nodes, sizeof *context->comm_of);
    if (!context->comm_of)
        return ek__no_memory(err);
    for (uint32_t i = 0; i < context->ir->n_nodes; i++) {
        context->comm_of[i] = EK_IR_NONE;
        if (context->op[i] != EK__IR_OP_COMM)
            continue;
        ek_ir_comm *grown = ek__pool_push(report->pool, report->comm, report->n_comms, sizeof *grown);
        if (!grown)
            return ek__no_memory(err);
        report->comm = grown;
        grown[report->n_comms] = describe(context, i);
        context->comm_of[i] = (uint32_t)report->n_comms++;
    }
    return ek__ir_check_end(context, err);
}
