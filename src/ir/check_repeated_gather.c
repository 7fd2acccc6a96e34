/* Finds repeated communication: the same value sent by the same operator over the same group more than once, found by
 * hashing operand, group and attributes, and one communication directly after another that makes it useless. Copies for
 * recomputation and values marked with recompute_comm_op are sent again on purpose and give no finding. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

typedef struct sent {
    uint64_t key;
    uint32_t comm;
} sent;

static int by_key(const void *a, const void *b)
{
    const sent *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->comm > y->comm) - (x->comm < y->comm);
}

/* A value by its producer: Depend is looked through, and two Loads of a parameter in the same state are one. */
static uint64_t value_key(const ek__ir_context *c, uint32_t node)
{
    uint32_t maker = ek__ir_maker(c, node, 0);
    const ek_ir_input *input = ek__ir_source(c, node, 0);
    uint32_t graph = c->ir->node[node].graph;
    if (maker != EK_IR_NONE && c->op[maker] != EK__IR_OP_LOAD)
        return ek__ir_mix(1, maker);
    if (maker != EK_IR_NONE) {
        const ek_ir_input *parameter = ek__ir_operand(c, maker, 0), *state = ek__ir_operand(c, maker, 1);
        uint64_t key = parameter ? ek__ir_mix(ek__ir_mix(2, parameter->kind), parameter->index) : maker;
        return state ? ek__ir_mix(ek__ir_mix(key, state->kind), state->index) : key;
    }
    return input ? ek__ir_mix(ek__ir_mix(ek__ir_mix(3, graph), input->kind), input->index) : 0;
}

/* The rest of the key; later releases store some of it as operands. */
static uint64_t attributes_key(const ek_ir *ir, const ek_ir_comm *comm)
{
    static const char *const keys[] = {"op", "split_dim", "concat_dim", "gather_dim", "split_count"};
    const ek_ir_node *node = &ir->node[comm->node];
    uint64_t key = ek__ir_mix(ek__ir_mix(node->graph, node->primitive), ek__ir_hash_text(comm->group));
    for (uint32_t k = 1; k < node->n_inputs; k++)
        key =
            ek__ir_mix(ek__ir_mix(key, ir->input[node->first_input + k].kind), ir->input[node->first_input + k].index);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = ek_ir_attribute_of(ir, node, keys[i]);
        key = ek__ir_mix(key, text ? ek__ir_hash_text(text) : 0);
    }
    return ek__ir_mix(key, ek__ir_hash_type(ir, node->type));
}

static bool may_repeat(const ek__ir_context *c, const ek_ir_comm *comm)
{
    const ek_ir_node *node = &c->ir->node[comm->node];
    uint32_t maker = ek__ir_maker(c, comm->node, 0);
    uint32_t flags = node->flags | (maker == EK_IR_NONE ? 0 : c->ir->node[maker].flags & EK_IR_RECOMPUTE_COMM);
    return comm->group && comm->n_ranks != 1 && comm->kind <= EK_IR_ALL_TO_ALL && node->n_inputs > 0 &&
           ek__ir_sends_operand(c, comm->node) && !(flags & (EK_IR_DAMAGED | EK_IR_DUPLICATED | EK_IR_RECOMPUTE_COMM));
}

static const char *advice_for(const ek_ir_comm *first, const ek_ir_comm *again)
{
    if (again->role == EK_IR_ROLE_OPTIMIZER)
        return "a sharded weight is gathered for every micro-batch, or for forward and backward each: if memory "
               "allows, gather it once a step (optimizer_level: level1 or level2 instead of level3)";
    if (again->backward && !first->backward)
        return "this is intended if it saves memory, as with select_comm_recompute in the settings; otherwise use the "
               "first result in the backward pass";
    return "use one result in both operators: with equal sharding of this value, or one operator before both";
}

static void sight_repeated(ek__ir_context *c, const ek_ir_comm *first, const ek_ir_comm *again)
{
    ek__ir_occurrence s = {.check = "repeated-gather",
                           .severity = again->role == EK_IR_ROLE_OPTIMIZER ? EK_IR_NOTE : EK_IR_WARNING,
                           .key = ek__ir_hash_type(c->ir, c->ir->node[again->node].type),
                           .node = again->node,
                           .n_chain = 2,
                           .chain = {first->node, again->node},
                           .bytes = again->traffic,
                           .bytes_of = "sent by each device"};
    ek_ir_finding *f = ek__ir_sight(c, &s);
    char bytes[32];
    if (!f)
        return;
    f->text = ek__ir_say(c, "%s sends the same value as %s, over the same group %.80s: %s sent by each device",
                         ek__ir_name(c, again->node), ek__ir_name(c, first->node), again->group,
                         ek__ir_bytes_text(bytes, again->traffic));
    f->advice = advice_for(first, again);
}

/* ---- two in succession ---- */

typedef struct useless_pair {
    ek_ir_comm_kind first, then;
    const char *why, *advice;
} useless_pair;

static const useless_pair pairs[] = {
    {EK_IR_ALL_REDUCE, EK_IR_ALL_REDUCE, "sums an already summed value, which multiplies it by the number of ranks",
     "remove one of the two: check the strategies of the adjacent operators"},
    {EK_IR_ALL_REDUCE, EK_IR_REDUCE_SCATTER, "sums an already summed value", "a slice is sufficient here"},
    {EK_IR_ALL_REDUCE, EK_IR_ALL_GATHER, "gathers a value that every rank has already",
     "nothing needs to be sent here"},
    {EK_IR_ALL_GATHER, EK_IR_ALL_GATHER, "gathers a value that every rank of this group has already",
     "nothing needs to be sent here"},
    {EK_IR_ALL_GATHER, EK_IR_ALL_REDUCE, "sums a value that every rank has already", "nothing needs to be sent here"},
    {EK_IR_ALL_GATHER, EK_IR_REDUCE_SCATTER, "splits a value that was just gathered",
     "neither is needed: use the same sharding in the operators on both sides"},
    {EK_IR_ALL_TO_ALL, EK_IR_ALL_TO_ALL, "exchanges a value again that was just exchanged over the same group",
     "make the sharding before and after the two equal, or join them into one"},
};

static const useless_pair *find_pair(ek_ir_comm_kind first, ek_ir_comm_kind then)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].first == first && pairs[i].then == then)
            return &pairs[i];
    return NULL;
}

/* The communication directly before, with at most a Reshape between. */
static const ek_ir_comm *comm_before(const ek__ir_context *c, uint32_t node)
{
    uint32_t maker = ek__ir_maker(c, node, 0);
    if (maker != EK_IR_NONE && c->op[maker] == EK__IR_OP_RESHAPE)
        maker = ek__ir_maker(c, maker, 0);
    return maker == EK_IR_NONE ? NULL : ek__ir_comm_of(c, maker);
}

static void check_behind(ek__ir_context *c, const ek_ir_comm *then)
{
    const ek_ir_comm *first = comm_before(c, then->node);
    const useless_pair *pair = first ? find_pair(first->kind, then->kind) : NULL;
    char bytes[32];
    if (!pair || !ek__ir_sends_operand(c, first->node) || !ek__ir_sends_operand(c, then->node))
        return;
    if (!first->group || !then->group || strcmp(first->group, then->group) != 0 || then->n_ranks == 1)
        return;
    ek__ir_occurrence s = {.check = "repeated-gather",
                           .severity = EK_IR_WARNING,
                           .key = ek__ir_mix(first->kind, then->kind),
                           .node = then->node,
                           .n_chain = 2,
                           .chain = {first->node, then->node},
                           .bytes = then->traffic,
                           .bytes_of = "sent by each device"};
    ek_ir_finding *f = ek__ir_sight(c, &s);
    if (!f)
        return;
    f->text = ek__ir_say(c, "%s, directly after %s of the same group %.80s, %s: %s sent by each device",
                         ek__ir_name(c, then->node), ek__ir_name(c, first->node), then->group, pair->why,
                         ek__ir_bytes_text(bytes, then->traffic));
    f->advice = pair->advice;
}

ek_status ek__ir_check_repeated_gather(ek__ir_context *context, ek_error *err)
{
    const ek_ir_report *report = context->report;
    size_t n = 0;
    sent *list = ek__pool_alloc(context->scratch, (size_t)report->n_comms, sizeof *list);
    if (!list)
        return ek__no_memory(err);
    for (int i = 0; i < report->n_comms; i++) {
        const ek_ir_comm *comm = &report->comm[i];
        if (may_repeat(context, comm))
            list[n++] =
                (sent){ek__ir_mix(value_key(context, comm->node), attributes_key(context->ir, comm)), (uint32_t)i};
        check_behind(context, comm);
    }
    if (n > 1)
        qsort(list, n, sizeof *list, by_key);
    for (size_t i = 1, first = 0; i < n; i++) {
        if (list[i].key != list[first].key)
            first = i;
        else
            sight_repeated(context, &report->comm[list[first].comm], &report->comm[list[i].comm]);
    }
    return ek__ir_check_end(context, err);
}
