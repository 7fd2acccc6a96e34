/* Finds chains of communication that the framework inserted because two neighbours cut a value differently. A chain is
 * followed from its first redistribution_op through slices, splits and the tuples between them to the operator that
 * takes the result; if both layouts are known, the finding names the cut to change. At a branch, the other branch is a
 * separate chain. Chains without communication cost almost nothing and are omitted, as are those of the backward pass,
 * which follow from the forward ones. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

enum { MAX_CHAIN = 32 };

typedef struct chain {
    uint32_t from, to; /* the producer and the consumer; EK_IR_NONE */
    uint32_t operand;  /* of the consumer */
    int n, n_comms;
    uint32_t node[MAX_CHAIN];
    int64_t traffic; /* -1 not known */
    uint64_t key;
} chain;

static bool is_inserted(const ek__ir_context *c, uint32_t node)
{
    return node != EK_IR_NONE && strstr(ek_ir_text(c->ir, c->ir->node[node].instance), "redistribution_op");
}

static bool is_plumbing(const ek__ir_context *c, uint32_t node)
{
    uint8_t op = c->op[node];
    return op == EK__IR_OP_TUPLE_GET_ITEM || op == EK__IR_OP_MAKE_TUPLE || op == EK__IR_OP_DEPEND;
}

/* The producer of the value that an inserted operator takes; tuples between are looked through. */
static uint32_t maker_of(const ek__ir_context *c, uint32_t node)
{
    uint32_t maker = ek__ir_maker(c, node, 0);
    for (int i = 0; i < 4 && maker != EK_IR_NONE && is_plumbing(c, maker); i++)
        maker = ek__ir_maker(c, maker, 0);
    return maker;
}

/* The next operator that takes the value, an inserted one first; *operand: the index of the operand. */
static uint32_t next_of(ek__ir_context *c, uint32_t node, uint32_t *operand)
{
    uint32_t best = EK_IR_NONE, n;
    const ek__ir_use *use = ek__ir_uses(c, node, &n);
    for (uint32_t u = 0; u < n; u++) {
        if (c->op[use[u].node] == EK__IR_OP_UPDATE_STATE)
            continue;
        bool first = best == EK_IR_NONE, better = !first && is_inserted(c, use[u].node) && !is_inserted(c, best);
        if (first || better) {
            best = use[u].node;
            *operand = use[u].operand;
        }
    }
    return best;
}

static void add(ek__ir_context *c, chain *out, uint32_t node)
{
    const ek_ir_comm *comm = ek__ir_comm_of(c, node);
    out->node[out->n++] = node;
    out->key = ek__ir_mix(out->key, c->ir->node[node].primitive);
    if (!comm)
        return;
    out->n_comms++;
    if (comm->traffic < 0 || out->traffic < 0 || __builtin_add_overflow(out->traffic, comm->traffic, &out->traffic))
        out->traffic = -1;
}

static void walk(ek__ir_context *c, uint32_t first, bool *seen, chain *out)
{
    *out = (chain){.from = maker_of(c, first), .to = EK_IR_NONE};
    uint32_t at = first;
    for (int i = 0; i < MAX_CHAIN && is_inserted(c, out->from); i++) /* a branch of another chain */
        out->from = maker_of(c, out->from);
    for (int steps = 0; steps < 2 * MAX_CHAIN && at != EK_IR_NONE && out->n < MAX_CHAIN; steps++) {
        if (is_inserted(c, at)) {
            if (seen[at])
                return;
            add(c, out, at);
            seen[at] = true;
        } else if (!is_plumbing(c, at)) {
            if (!(c->ir->node[at].flags & EK_IR_RETURN))
                out->to = at;
            return;
        }
        at = next_of(c, at, &out->operand);
    }
}

/* "AllGather, Split, Concat" */
static const char *steps_text(const ek__ir_context *c, const chain *ch, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < ch->n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 ek_ir_text(c->ir, c->ir->node[ch->node[i]].primitive));
    return out;
}

/* The operator's own communication keeps the row and column cuts of its MatMul. */
static bool produced_layout(const ek__ir_context *c, uint32_t node, ek__ir_tuple *out)
{
    const ek_ir_comm *comm = node == EK_IR_NONE ? NULL : ek__ir_comm_of(c, node);
    if (comm && comm->kind == EK_IR_ALL_REDUCE)
        node = ek__ir_maker(c, node, 0);
    return node != EK_IR_NONE && ek__ir_layout_of(c, node, out);
}

static bool wanted_layout(const ek__ir_context *c, const chain *ch, ek__ir_tuple *out)
{
    ek__ir_cuts cuts;
    if (ch->to == EK_IR_NONE || !ek__ir_cuts_of(c, ch->to, &cuts) || (int)ch->operand >= cuts.n)
        return false;
    *out = cuts.input[ch->operand];
    return true;
}

static bool takes_any_cut(const ek__ir_context *c, uint32_t node)
{
    return node != EK_IR_NONE && (c->op[node] == EK__IR_OP_ELEMENTWISE || c->op[node] == EK__IR_OP_CAST);
}

static void report(ek__ir_context *c, const chain *ch, ek_ir_finding *f)
{
    char steps[200], bytes[32], produced_text[128], wanted_text[128];
    ek__ir_tuple produced, wanted;
    bool knows_from = produced_layout(c, ch->from, &produced), knows_to = wanted_layout(c, ch, &wanted);
    const char *from = ch->from == EK_IR_NONE ? "an operator outside this file" : ek__ir_name(c, ch->from);
    const char *to = ch->to == EK_IR_NONE ? "an operator outside this file" : ek__ir_name(c, ch->to);
    if (knows_from)
        ek__ir_tuple_text(produced_text, &produced);
    if (knows_to)
        ek__ir_tuple_text(wanted_text, &wanted);
    f->text = ek__ir_say(c,
                         "%s produces a value with sharding %s and %s uses it with sharding %s: %s inserted between "
                         "them, %s sent by each device",
                         from, knows_from ? produced_text : "that is not shown", to,
                         knows_to ? wanted_text : "that is not shown", steps_text(c, ch, steps, sizeof steps),
                         ek__ir_bytes_text(bytes, ch->traffic));
    if (!knows_from || !knows_to)
        f->advice = "compare the strategies given to shard() of these two operators; with equal sharding of this value "
                    "there is no communication";
    else if (takes_any_cut(c, ch->to) || !takes_any_cut(c, ch->from))
        f->advice = ek__ir_say(c, "shard operand %u of %s as %s in its in_strategy, as its producer does",
                               (unsigned)ch->operand + 1, to, produced_text);
    else
        f->advice = ek__ir_say(c, "shard %s as %s in its in_strategy, as the next operator does", from, wanted_text);
}

static void sight(ek__ir_context *c, const chain *ch)
{
    ek__ir_occurrence s = {.check = "redistribution",
                           .severity = EK_IR_WARNING,
                           .node = ch->node[0],
                           .bytes = ch->traffic,
                           .bytes_of = "sent by each device"};
    s.key = ch->key;
    const uint32_t ends[2] = {ch->from, ch->to};
    for (int i = 0; i < 2; i++)
        if (ends[i] != EK_IR_NONE) {
            const ek_ir_node *node = &c->ir->node[ends[i]];
            s.key = ek__ir_mix(ek__ir_mix(s.key, node->primitive), ek__ir_place_of(c, ends[i])->hash);
            s.key = ek__ir_mix(ek__ir_mix(s.key, node->in_strategy), node->out_strategy);
        }
    if (ch->from != EK_IR_NONE)
        s.chain[s.n_chain++] = ch->from;
    for (int i = 0; i < ch->n && s.n_chain < EK_IR_MAX_CHAIN - 1; i++)
        s.chain[s.n_chain++] = ch->node[i];
    if (ch->to != EK_IR_NONE)
        s.chain[s.n_chain++] = ch->to;
    ek_ir_finding *f = ek__ir_sight(c, &s);
    if (f)
        report(c, ch, f);
}

ek_status ek__ir_check_redistribution(ek__ir_context *context, ek_error *err)
{
    bool *seen = ek__pool_alloc(context->scratch, context->ir->n_nodes, sizeof *seen);
    if (!seen)
        return ek__no_memory(err);
    for (uint32_t i = 0; i < context->ir->n_nodes; i++) {
        chain ch;
        if (seen[i] || !is_inserted(context, i) || !ek__ir_is_forward(context, i))
            continue;
        walk(context, i, seen, &ch);
        if (ch.n_comms > 0)
            sight(context, &ch);
    }
    return ek__ir_check_end(context, err);
}
