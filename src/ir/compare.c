/* Compares two checked graphs: operators and communication by count, and operators without a counterpart in the other
 * graph. Numbers of nodes change with every change of settings, so operators match when scope, primitive, type,
 * micro-batch and pass are equal; if one graph has more of them, the last ones are the surplus. The mark of whole
 * recomputation in a scope is ignored, so that enabling it shows only the copies as differences. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

typedef struct keyed {
    uint64_t key;
    uint32_t node;
} keyed;

typedef struct side {
    const ek_ir_report *report;
    size_t n;
    keyed *node;   /* [n] operators by key, then in file order */
    int64_t *n_of; /* [n_texts] by primitive */
    int64_t *bytes_of;
} side;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int64_t add_bytes(int64_t sum, int64_t bytes)
{
    return bytes <= 0 ? sum : sum > INT64_MAX - bytes ? INT64_MAX : sum + bytes;
}

static uint64_t text_key(const ek_ir *ir, uint64_t *cache, uint32_t text, bool scope)
{
    if (text == EK_IR_NONE)
        return 11;
    if (!cache[text])
        cache[text] = scope ? ek__ir_hash_scope(ir->text[text], true) : ek__ir_hash_text(ir->text[text]);
    return cache[text];
}

static bool make_side(ek__pool *scratch, const ek_ir_report *report, side *out)
{
    const ek_ir *ir = report->ir;
    uint64_t *scope = ek__pool_alloc(scratch, ir->n_texts, sizeof *scope);
    uint64_t *text = ek__pool_alloc(scratch, ir->n_texts, sizeof *text);
    uint64_t *type = ek__pool_alloc(scratch, ir->n_types, sizeof *type);
    *out = (side){.report = report, .node = ek__pool_alloc(scratch, ir->n_nodes, sizeof *out->node)};
    out->n_of = ek__pool_alloc(scratch, ir->n_texts, sizeof *out->n_of);
    out->bytes_of = ek__pool_alloc(scratch, ir->n_texts, sizeof *out->bytes_of);
    if (!scope || !text || !type || !out->node || !out->n_of || !out->bytes_of)
        return false;
    for (uint32_t t = 0; t < ir->n_types; t++)
        type[t] = ek__ir_hash_type(ir, t);
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *node = &ir->node[i];
        if ((node->flags & EK_IR_RETURN) || node->primitive == EK_IR_NONE)
            continue;
        const ek_ir_type *output = node->type < ir->n_types ? &ir->type[node->type] : NULL;
        uint64_t key = ek__ir_mix(text_key(ir, scope, node->scope, true), text_key(ir, text, node->primitive, false));
        key = ek__ir_mix(ek__ir_mix(key, output ? type[node->type] : 0), (uint32_t)node->micro);
        key = ek__ir_mix(key, node->flags & (EK_IR_DUPLICATED | EK_IR_BACKWARD));
        out->node[out->n++] = (keyed){key, i};
        out->n_of[node->primitive]++;
        out->bytes_of[node->primitive] = add_bytes(out->bytes_of[node->primitive], output ? output->bytes : 0);
    }
    if (out->n > 1)
        qsort(out->node, out->n, sizeof *out->node, by_key);
    return true;
}

/* ---- counts ---- */

static int largest_change_first(const void *a, const void *b)
{
    const ek_ir_count_difference *x = a, *y = b;
    int64_t p = llabs(x->n[1] - x->n[0]), q = llabs(y->n[1] - y->n[0]);
    return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

static bool push(ek__pool *pool, ek_ir_count_difference **list, int *n, ek_ir_count_difference item)
{
    ek_ir_count_difference *grown = ek__pool_push(pool, *list, *n, sizeof *grown);
    char *name = ek__pool_text(pool, item.name, strlen(item.name));
    if (!grown || !name)
        return false;
    *list = grown;
    item.name = name;
    grown[(*n)++] = item;
    return true;
}

static bool compare_primitives(const side s[2], ek_ir_difference *out)
{
    const ek_ir *a = s[0].report->ir, *b = s[1].report->ir;
    for (uint32_t t = 0; t < a->n_texts; t++) {
        uint32_t other = s[0].n_of[t] ? ek_ir_find_text(b, a->text[t]) : EK_IR_NONE;
        int64_t n = other == EK_IR_NONE ? 0 : s[1].n_of[other], bytes = other == EK_IR_NONE ? 0 : s[1].bytes_of[other];
        ek_ir_count_difference item = {a->text[t], {s[0].n_of[t], n}, {s[0].bytes_of[t], bytes}};
        if (item.n[0] > 0 && item.n[0] != n && !push(out->pool, &out->primitive, &out->n_primitives, item))
            return false;
    }
    for (uint32_t t = 0; t < b->n_texts; t++) {
        uint32_t other = s[1].n_of[t] ? ek_ir_find_text(a, b->text[t]) : 0;
        bool only = s[1].n_of[t] && (other == EK_IR_NONE || s[0].n_of[other] == 0);
        ek_ir_count_difference item = {b->text[t], {0, s[1].n_of[t]}, {0, s[1].bytes_of[t]}};
        if (only && !push(out->pool, &out->primitive, &out->n_primitives, item))
            return false;
    }
    if (out->n_primitives > 1)
        qsort(out->primitive, (size_t)out->n_primitives, sizeof *out->primitive, largest_change_first);
    return true;
}

static bool compare_comms(const side s[2], ek_ir_difference *out)
{
    ek_ir_count_difference sum[EK_N_IR_COMM_KINDS][EK_N_IR_COMM_ROLES] = {0};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < s[i].report->n_comms; k++) {
            const ek_ir_comm *comm = &s[i].report->comm[k];
            ek_ir_count_difference *item = &sum[comm->kind][comm->role];
            item->n[i]++;
            item->bytes[i] = add_bytes(item->bytes[i], comm->traffic);
            out->traffic[i] = add_bytes(out->traffic[i], comm->traffic);
        }
    for (int kind = 0; kind < EK_N_IR_COMM_KINDS; kind++)
        for (int role = 0; role < EK_N_IR_COMM_ROLES; role++) {
            ek_ir_count_difference *item = &sum[kind][role];
            if (item->n[0] == item->n[1] && item->bytes[0] == item->bytes[1])
                continue;
            item->name = ek__pool_format(out->pool, "%s (%s)", ek_ir_comm_kind_name[kind], ek_ir_comm_role_name[role]);
            if (!item->name || !push(out->pool, &out->comm, &out->n_comms, *item))
                return false;
        }
    if (out->n_comms > 1)
        qsort(out->comm, (size_t)out->n_comms, sizeof *out->comm, largest_change_first);
    return true;
}

/* ---- operators without a counterpart ---- */

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Compares runs of equal keys: the surplus of a run is its last operators. */
static bool compare_nodes(const side s[2], ek_ir_difference *out)
{
    size_t at[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        out->only[i] = ek__pool_alloc(out->pool, s[i].n, sizeof *out->only[i]);
        if (!out->only[i])
            return false;
    }
    while (at[0] < s[0].n || at[1] < s[1].n) {
        uint64_t key = UINT64_MAX;
        size_t run[2] = {0, 0};
        for (int i = 0; i < 2; i++)
            if (at[i] < s[i].n && s[i].node[at[i]].key < key)
                key = s[i].node[at[i]].key;
        for (int i = 0; i < 2; i++)
            while (at[i] + run[i] < s[i].n && s[i].node[at[i] + run[i]].key == key)
                run[i]++;
        size_t common = run[0] < run[1] ? run[0] : run[1];
        for (int i = 0; i < 2; i++) {
            for (size_t k = common; k < run[i]; k++)
                out->only[i][out->n_only[i]++] = s[i].node[at[i] + k].node;
            at[i] += run[i];
        }
    }
    for (int i = 0; i < 2; i++)
        if (out->n_only[i] > 1)
            qsort(out->only[i], (size_t)out->n_only[i], sizeof *out->only[i], by_number);
    return true;
}

static void compare_sums(const side s[2], ek_ir_difference *out)
{
    for (int i = 0; i < 2; i++) {
        const ek_ir_report *report = s[i].report;
        out->kept_bytes[i] = report->kept_bytes;
        out->n_recompute_requested[i] = report->n_recompute;
        for (int r = 0; r < report->n_recompute; r++)
            out->n_recompute_in_effect[i] += report->recompute[r].in_effect == EK_IR_YES;
        for (int p = 0; p < report->n_sums; p++)
            out->parameter_bytes[i] = add_bytes(out->parameter_bytes[i], report->sum[p].bytes);
    }
}

ek_status ek_ir_compare(const ek_ir_report *a, const ek_ir_report *b, ek_ir_difference *out, ek_error *err)
{
    ek_ir_difference difference = {.pool = ek__pool_new()};
    ek__pool *scratch = ek__pool_new();
    side s[2];
    bool done = difference.pool && scratch && make_side(scratch, a, &s[0]) && make_side(scratch, b, &s[1]) &&
                compare_primitives(s, &difference) && compare_comms(s, &difference) && compare_nodes(s, &difference);
    if (done)
        compare_sums(s, &difference);
    ek__pool_free(scratch);
    if (!done) {
        ek__pool_free(difference.pool);
        return ek__no_memory(err);
    }
    *out = difference;
    return EK_OK;
}

void ek_ir_difference_clear(ek_ir_difference *difference)
{
    ek__pool_free(difference->pool);
    *difference = (ek_ir_difference){0};
}
