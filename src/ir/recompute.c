/* Finds the outcome of every request for recomputation. A node's copy carries the same recompute_sub_graph and
 * recompute_id; where these are not printed, primitive, instance, operands' types and scope must agree. The edges show
 * whether the request is in effect: the backward pass must take the copy, and neither the original nor the output of a
 * Reshape, Cast, Transpose or Depend of it, since that would be kept instead. Values that reach the backward pass
 * through other operators are separate values. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

enum { MAX_WALK = 32, SETTING_BYTES = 256 };

/* A copy under the key that pairs it with its original. */
typedef struct copy {
    uint64_t key;
    uint32_t graph;
    int32_t micro;
    uint32_t node;
} copy;

typedef struct copies {
    size_t n;
    copy *copy;      /* [n] sorted */
    size_t *n_given; /* [n] of the equal copies that begin there, the number already assigned */
    bool *asked_for; /* [n] of the first with a key: a request in the file has it */
} copies;

static int compare(const copy *a, const copy *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->graph != b->graph)
        return a->graph < b->graph ? -1 : 1;
    return a->micro != b->micro ? (a->micro < b->micro ? -1 : 1) : 0;
}

static int by_key(const void *a, const void *b)
{
    const copy *x = a, *y = b;
    int order = compare(x, y);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* 0: no key to pair it by. */
static uint64_t pair_key(ek__ir_context *c, uint32_t i)
{
    const ek_ir_node *node = &c->ir->node[i];
    if (node->recompute_graph >= 0 && node->recompute_id >= 0)
        return ek__ir_mix(ek__ir_mix(node->primitive, (uint32_t)node->recompute_graph), (uint32_t)node->recompute_id);
    if (node->scope == EK_IR_NONE)
        return 0;
    uint64_t key = ek__ir_mix(ek__ir_hash_scope(c->ir->text[node->scope], true), node->primitive);
    key = ek__ir_mix(ek__ir_mix(key, node->instance), ek__ir_hash_type(c->ir, node->type));
    for (uint32_t k = 0; k < node->n_inputs; k++)
        key = ek__ir_mix(key, ek__ir_hash_type(c->ir, c->ir->input[node->first_input + k].type));
    return key;
}

static bool collect(ek__ir_context *c, copies *out)
{
    const ek_ir *ir = c->ir;
    size_t n = 0;
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        n += (ir->node[i].flags & EK_IR_DUPLICATED) != 0;
    out->n = 0;
    out->copy = ek__pool_alloc(c->scratch, n, sizeof *out->copy);
    out->n_given = ek__pool_alloc(c->scratch, n, sizeof *out->n_given);
    out->asked_for = ek__pool_alloc(c->scratch, n, sizeof *out->asked_for);
    if (!out->copy || !out->n_given || !out->asked_for)
        return false;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        uint64_t key = ir->node[i].flags & EK_IR_DUPLICATED ? pair_key(c, i) : 0;
        if (key && !(ir->node[i].flags & EK_IR_DAMAGED))
            out->copy[out->n++] = (copy){key, ir->node[i].graph, ir->node[i].micro, i};
    }
    if (out->n > 1)
        qsort(out->copy, out->n, sizeof *out->copy, by_key);
    return true;
}

/* The first copy not before `wanted`, or NULL. */
static const copy *not_before(const copies *all, copy wanted)
{
    size_t low = 0, high = all->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&all->copy[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->n ? &all->copy[low] : NULL;
}

/* The place of the first copy with a key; n when there is none. */
static size_t first_of(const copies *all, uint64_t key)
{
    const copy *found = key ? not_before(all, (copy){key, 0, INT32_MIN, 0}) : NULL;
    return found && found->key == key ? (size_t)(found - all->copy) : all->n;
}

/* If several copies are equal, such as those of micro-batches without numbers, the k-th is assigned to the k-th
 * request; EK_IR_NONE when all are assigned. */
static uint32_t next_alike(const copies *all, size_t first)
{
    size_t at = first + all->n_given[first];
    if (at >= all->n || compare(&all->copy[at], &all->copy[first]) != 0)
        return EK_IR_NONE;
    all->n_given[first]++;
    return all->copy[at].node;
}

/* The copy of the same graph and micro-batch, otherwise one without a micro-batch, otherwise any of the graph or
 * file. */
static uint32_t copy_of(ek__ir_context *c, const copies *all, uint32_t i)
{
    const ek_ir_node *node = &c->ir->node[i];
    uint64_t key = pair_key(c, i);
    const copy wanted[] = {{key, node->graph, node->micro, 0}, {key, node->graph, -1, 0}, {key, 0, INT32_MIN, 0}};
    size_t first = first_of(all, key);
    if (first == all->n)
        return EK_IR_NONE;
    all->asked_for[first] = true;
    for (int w = 0; w < 3; w++) {
        const copy *found = not_before(all, wanted[w]);
        bool same = found && found->key == key && (w == 2 || found->graph == node->graph);
        bool usable = same && (w > 0 || found->micro == node->micro);
        uint32_t given = usable ? next_alike(all, (size_t)(found - all->copy)) : EK_IR_NONE;
        if (given != EK_IR_NONE)
            return given;
    }
    return EK_IR_NONE;
}

/* ---- values kept for the backward pass ---- */

static bool is_transparent(const ek__ir_context *c, ek__ir_use use)
{
    uint8_t op = c->op[use.node];
    return use.operand == 0 &&
           (op == EK__IR_OP_RESHAPE || op == EK__IR_OP_CAST || op == EK__IR_OP_TRANSPOSE || op == EK__IR_OP_DEPEND);
}

typedef struct step {
    uint32_t node, blocked_by;
} step;

/* Breadth first over the outputs of Reshape, Cast, Transpose and Depend of the value. */
static void find_held(ek__ir_context *c, ek_ir_recompute *r)
{
    step queue[MAX_WALK] = {{r->node, EK_IR_NONE}};
    int n = 1;
    for (int q = 0; q < n; q++) {
        uint32_t n_uses;
        const ek__ir_use *use = ek__ir_uses(c, queue[q].node, &n_uses);
        for (uint32_t u = 0; u < n_uses; u++) {
            if (ek__ir_is_backward(c, use[u].node)) {
                r->held = queue[q].node;
                r->consumer = use[u].node;
                r->blocked_by = queue[q].blocked_by;
                return;
            }
            if (!is_transparent(c, use[u]) || n == MAX_WALK)
                continue;
            bool requested = c->ir->node[use[u].node].flags & EK_IR_RECOMPUTE;
            uint32_t blocked = queue[q].blocked_by;
            if (blocked == EK_IR_NONE && !requested)
                blocked = use[u].node;
            queue[n++] = (step){use[u].node, blocked};
        }
    }
}

/* Of a cell recomputed whole the output values are saved. */
static bool leaves_its_cell(ek__ir_context *c, uint32_t i)
{
    const ek_ir_node *node = &c->ir->node[i];
    uint32_t n;
    if (!(node->flags & EK_IR_CELL_RECOMPUTE))
        return false;
    const ek__ir_use *use = ek__ir_uses(c, i, &n);
    for (uint32_t u = 0; u < n; u++) {
        const ek_ir_node *taker = &c->ir->node[use[u].node];
        if (ek__ir_is_backward(c, use[u].node) || c->op[use[u].node] == EK__IR_OP_UPDATE_STATE)
            continue;
        bool inside = (taker->flags & (EK_IR_RECOMPUTE | EK_IR_CELL_RECOMPUTE)) &&
                      (taker->recompute_graph < 0 || taker->recompute_graph == node->recompute_graph) &&
                      ek__ir_place_of(c, use[u].node)->layer == ek__ir_place_of(c, i)->layer;
        if (!inside)
            return true;
    }
    return false;
}

static bool is_taken_backward(ek__ir_context *c, uint32_t node)
{
    uint32_t n;
    const ek__ir_use *use = ek__ir_uses(c, node, &n);
    for (uint32_t u = 0; u < n; u++)
        if (ek__ir_is_backward(c, use[u].node))
            return true;
    return false;
}

/* The name of an operator in select_recompute: its modules from the layer down and its own name there. Operators
 * inserted by the framework have no such name. */
static const char *setting_for(ek__ir_context *c, uint32_t node)
{
    char path[SETTING_BYTES];
    const char *instance = ek_ir_text(c->ir, c->ir->node[node].instance);
    if (!*instance || strstr(instance, "redistribution_op") || strstr(instance, "forward_op"))
        return NULL;
    if (!ek__ir_module_path(c, node, "\\.", path, sizeof path))
        return NULL;
    return ek__ir_say(c, "%s%s%s", path, *path ? "\\." : "", instance);
}

static void judge(ek__ir_context *c, const copies *all, ek_ir_recompute *r)
{
    const ek_ir_node *node = &c->ir->node[r->node];
    if (node->flags & EK_IR_DAMAGED)
        return;
    r->copy = copy_of(c, all, r->node);
    r->by_design = leaves_its_cell(c, r->node);
    find_held(c, r);
    if (r->held != EK_IR_NONE) {
        const ek_ir_type *type = ek__ir_type_of_node(c, r->held);
        r->in_effect = EK_IR_NO;
        r->bytes = type ? type->bytes : -1;
        if (r->blocked_by != EK_IR_NONE)
            r->setting = setting_for(c, r->blocked_by);
    } else if (r->copy != EK_IR_NONE) {
        r->in_effect = is_taken_backward(c, r->copy) ? EK_IR_YES : EK_IR_UNSEEN;
    } else if (c->report->has_backward && node->graph < c->ir->n_graphs && c->whole_graph[node->graph]) {
        r->in_effect = EK_IR_NO;
        r->by_design |=
            (node->flags & EK_IR_CELL_RECOMPUTE) != 0; /* the request is for the cell, not for this operator */
    }
}

/* ---- all requests ---- */

static ek_ir_recompute *add(ek__ir_context *c, uint32_t node)
{
    ek_ir_report *report = c->report;
    ek_ir_recompute *grown = ek__pool_push(report->pool, report->recompute, report->n_recompute, sizeof *grown);
    if (!grown) {
        c->out_of_memory = true;
        return NULL;
    }
    report->recompute = grown;
    grown[report->n_recompute] = (ek_ir_recompute){.node = node,
                                                   .in_effect = EK_IR_UNSEEN,
                                                   .copy = EK_IR_NONE,
                                                   .held = EK_IR_NONE,
                                                   .consumer = EK_IR_NONE,
                                                   .blocked_by = EK_IR_NONE};
    return &grown[report->n_recompute++];
}

/* A part of a graph may contain a requested copy without its original; then the copy represents both.
 */
static bool is_lone_copy(ek__ir_context *c, const copies *all, uint32_t i)
{
    const uint32_t wanted = EK_IR_RECOMPUTE | EK_IR_DUPLICATED, flags = c->ir->node[i].flags;
    if ((flags & wanted) != wanted || (flags & EK_IR_DAMAGED))
        return false;
    size_t first = first_of(all, pair_key(c, i));
    return first < all->n && !all->asked_for[first];
}

static void judge_lone_copy(ek__ir_context *c, ek_ir_recompute *r)
{
    r->copy = r->node;
    r->in_effect = is_taken_backward(c, r->copy) ? EK_IR_YES : EK_IR_UNSEEN;
}

static int by_node(const void *a, const void *b)
{
    const ek_ir_recompute *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

ek_status ek__ir_fact_recompute(ek__ir_context *context, ek_error *err)
{
    const ek_ir *ir = context->ir;
    ek_ir_report *report = context->report;
    copies all;
    if (!collect(context, &all))
        return ek__no_memory(err);
    for (uint32_t i = 0; i < ir->n_nodes && !context->out_of_memory; i++) {
        bool asks = (ir->node[i].flags & EK_IR_RECOMPUTE) && ek__ir_is_forward(context, i);
        ek_ir_recompute *r = asks ? add(context, i) : NULL;
        if (r)
            judge(context, &all, r);
    }
    int n_requests = report->n_recompute;
    for (uint32_t i = 0; i < ir->n_nodes && !context->out_of_memory; i++) {
        ek_ir_recompute *r = is_lone_copy(context, &all, i) ? add(context, i) : NULL;
        if (r)
            judge_lone_copy(context, r);
    }
    if (n_requests < report->n_recompute)
        qsort(report->recompute, (size_t)report->n_recompute, sizeof *report->recompute, by_node);
    return context->out_of_memory ? ek__no_memory(err) : ek__ir_excuse_namesakes(context, err);
}
