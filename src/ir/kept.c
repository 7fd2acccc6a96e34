/* Finds the values that the backward pass takes from the forward pass, which are alive in between. A Reshape, Depend or
 * MakeTuple makes no new tensor: its use in the backward pass counts as one of the value before it, counted once.
 * Parameters are excluded, since they are always in memory. Not checked: which micro-batches are alive together. */
#include <stdlib.h>

#include "base/error.h"
#include "ir/check.h"

/* No compiled graph has a value with more aliases, or with more uses of them; the rest is omitted. Without limits a
 * tuple of n parts, each extracted again, would cost n^2. */
enum { MAX_ALIASES = 64, MAX_DEPTH = MAX_ALIASES, MAX_VISITS = 1024, MAX_USES = 1024 };

/* The users of one value. */
typedef struct taken {
    ek_ir_kept kept;
    uint32_t last_site;
    uint32_t *counted_for; /* [nodes] 1 + the producer that a user was last counted for; it may take several aliases */
    int n_visits;
    uint32_t n_uses; /* visited through aliases */
    int64_t parts;   /* bytes of the parts of a tuple that the backward pass takes; -1: all of it */
} taken;

static bool is_alias(const ek__ir_context *c, uint32_t node)
{
    return c->op[node] == EK__IR_OP_RESHAPE || c->op[node] == EK__IR_OP_DEPEND;
}

/* Does it pass its operand on unchanged? */
static bool passes_on(const ek__ir_context *c, ek__ir_use use)
{
    return (is_alias(c, use.node) && use.operand == 0) || c->op[use.node] == EK__IR_OP_MAKE_TUPLE;
}

/* Aliases count for their source value if it is in the file, otherwise for the first alias that is. */
static bool has_root(const ek__ir_context *c, uint32_t node)
{
    for (int i = 0; i < MAX_ALIASES; i++) {
        if (c->op[node] == EK__IR_OP_LOAD || !ek__ir_is_forward(c, node))
            return true;
        if (!is_alias(c, node))
            return i > 0;
        const ek_ir_input *input = ek__ir_operand(c, node, 0);
        if (!input || input->kind == EK_IR_INPUT_LITERAL || input->kind == EK_IR_INPUT_OUTSIDE)
            return i > 0;
        if (input->kind != EK_IR_INPUT_NODE)
            return true;
        node = input->index;
    }
    return false;
}

/* A Depend is there for the order of operators only; the value has the name and the layer of the operator before it. */
static uint32_t before_depends(const ek__ir_context *c, uint32_t node)
{
    for (int i = 0; i < MAX_ALIASES && c->op[node] == EK__IR_OP_DEPEND; i++) {
        const ek_ir_input *input = ek__ir_operand(c, node, 0);
        if (!input || input->kind != EK_IR_INPUT_NODE)
            break;
        node = input->index;
    }
    return node;
}

static void count_taker(const ek__ir_context *c, ek__ir_use use, uint32_t value, taken *t)
{
    ek_ir_kept *kept = &t->kept;
    if (kept->n_consumers++ == 0) {
        kept->node = before_depends(c, value);
        kept->consumer = use.node;
        t->last_site = use.site;
    }
    if (c->position[use.site] > c->position[t->last_site])
        t->last_site = use.site;
    const ek_ir_type *part = ek__ir_type_of_node(c, use.node);
    bool known = c->op[use.node] == EK__IR_OP_TUPLE_GET_ITEM && part && part->bytes >= 0 && t->parts >= 0;
    if (!known || __builtin_add_overflow(t->parts, part->bytes, &t->parts))
        t->parts = -1;
}

static void find_takers(ek__ir_context *c, uint32_t producer, uint32_t value, int depth, taken *t)
{
    uint32_t alias[MAX_ALIASES], n_aliases = 0, n;
    const ek__ir_use *use = ek__ir_uses(c, value, &n);
    for (uint32_t u = 0; u < n && (depth == 0 || t->n_uses++ < MAX_USES); u++) {
        uint32_t taker = use[u].node;
        if (t->counted_for[taker] == producer + 1)
            continue;
        bool backward = ek__ir_is_backward(c, taker) && c->op[taker] != EK__IR_OP_UPDATE_STATE;
        bool alike = !backward && passes_on(c, use[u]) && n_aliases < MAX_ALIASES && ek__ir_is_forward(c, taker);
        if (backward || alike)
            t->counted_for[taker] = producer + 1;
        if (backward)
            count_taker(c, use[u], value, t);
        else if (alike)
            alias[n_aliases++] = taker;
    }
    for (uint32_t a = 0; a < n_aliases && depth < MAX_DEPTH && t->n_visits++ < MAX_VISITS; a++)
        find_takers(c, producer, alias[a], depth + 1, t);
}

static bool makes_a_value(const ek__ir_context *c, uint32_t node)
{
    const ek_ir_type *type = ek__ir_type_of_node(c, node);
    uint8_t op = c->op[node];
    if (!ek__ir_is_forward(c, node) || (c->ir->node[node].flags & EK_IR_DAMAGED))
        return false;
    if (op == EK__IR_OP_LOAD || op == EK__IR_OP_UPDATE_STATE || op == EK__IR_OP_MAKE_TUPLE)
        return false;
    return !(type && (type->bytes == 0 || type->reference)) && !(is_alias(c, node) && has_root(c, node));
}

static void measure(const ek__ir_context *c, uint32_t producer, taken *t)
{
    const ek_ir_type *type = ek__ir_type_of_node(c, producer);
    const ek_ir_node *node = c->ir->node, *first = &node[producer], *last = &node[t->last_site];
    t->kept.bytes = type ? type->bytes : -1;
    if (type && type->n_parts > 0 && t->parts >= 0 && t->parts < t->kept.bytes)
        t->kept.bytes = t->parts;
    uint32_t from = c->position[producer], to = c->position[t->last_site];
    t->kept.life = first->graph == last->graph && to > from ? to - from - 1 : 0;
}

static int most_bytes_first(const void *a, const void *b)
{
    const ek_ir_kept *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

ek_status ek__ir_fact_kept(ek__ir_context *context, ek_error *err)
{
    ek_ir_report *report = context->report;
    uint32_t n_nodes = context->ir->n_nodes;
    uint32_t *counted_for = ek__pool_alloc(context->scratch, n_nodes, sizeof *counted_for);
    if (!counted_for)
        return ek__no_memory(err);
    for (uint32_t i = 0; i < n_nodes; i++) {
        taken t = {.counted_for = counted_for};
        if (!makes_a_value(context, i))
            continue;
        find_takers(context, i, i, 0, &t);
        if (t.kept.n_consumers == 0)
            continue;
        ek_ir_kept *grown = ek__pool_push(report->pool, report->kept, report->n_kept, sizeof *grown);
        if (!grown)
            return ek__no_memory(err);
        measure(context, i, &t);
        t.kept.layer = ek__ir_place_of(context, t.kept.node)->layer;
        report->kept = grown;
        grown[report->n_kept++] = t.kept;
        if (t.kept.bytes > 0 && __builtin_add_overflow(report->kept_bytes, t.kept.bytes, &report->kept_bytes))
            report->kept_bytes = INT64_MAX;
    }
    if (report->n_kept > 1)
        qsort(report->kept, (size_t)report->n_kept, sizeof *report->kept, most_bytes_first);
    return ek__ir_check_end(context, err);
}
