/* Sums over the selected nodes of a graph: by layer, by kind of communication, and over entries of a list that differ
 * only in their layer. All of them sort and then add up neighbours, so no input makes them slow; unknown bytes are
 * counted separately and never added. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/ir.h"
#include "report/ir_internal.h"
#include "report/trace_internal.h"

ek__ir_outcome ek__ir_outcome_of(const ek_ir_recompute *recompute)
{
    if (recompute->by_design)
        return EK__IR_BY_DESIGN;
    return recompute->in_effect == EK_IR_YES  ? EK__IR_IN_EFFECT
           : recompute->in_effect == EK_IR_NO ? EK__IR_NOT_IN_EFFECT
                                              : EK__IR_NOT_SEEN;
}

static int64_t known(int64_t bytes)
{
    return bytes < 0 ? 0 : bytes;
}

/* Does the node belong to the micro-batch of the memory sum? */
static bool counts(const ek_ir_report *report, const ek__ir_sums *sums, uint32_t node)
{
    int micro = report->ir->node[node].micro;
    return micro < 0 || micro == sums->first_micro;
}

static bool counts_kept(const ek_ir_report *report, const ek__ir_sums *sums, int i)
{
    uint32_t node = report->kept[i].node;
    return ek__ir_chosen(&sums->choice, node) && counts(report, sums, node);
}

/* ---- equal entries ---- */

typedef struct keyed {
    const char *key;
    int item, layer;
    int64_t bytes;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *p = a, *q = b;
    int order = strcmp(p->key, q->key);
    return order ? order : (p->item > q->item) - (p->item < q->item);
}

static int by_group_bytes(const void *a, const void *b)
{
    const ek__ir_group *p = a, *q = b;
    if (p->bytes != q->bytes)
        return p->bytes < q->bytes ? 1 : -1;
    return (p->first > q->first) - (p->first < q->first);
}

/* A scope with N for the numbers that begin its elements, "0-LlamaDecodeLayer": equal in every layer. */
static void mask_numbers(char *scope)
{
    char *to = scope;
    for (const char *from = scope; *from;) {
        size_t digits = strspn(from, "0123456789");
        if ((from == scope || from[-1] == '/') && digits > 0 && from[digits] == '-') {
            *to++ = 'N';
            from += digits;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* The last part of a scope, "Mul-op12", is numbered through the graph, so it is omitted. */
static const char *likeness(const ek_ir *ir, uint32_t i, ek__pool *pool)
{
    const ek_ir_node *node = &ir->node[i];
    char scope[EK__IR_SCOPE];
    snprintf(scope, sizeof scope, "%s", ek_ir_text(ir, node->scope));
    mask_numbers(scope);
    return ek__pool_format(pool, "%s\n%s\n%u\n%u", scope, ek_ir_text(ir, node->instance), node->primitive, node->type);
}

/* Groups of the `n` items, most bytes first. */
static ek_status group_items(keyed *item, int n, ek__pool *pool, ek__ir_group **out, int *n_out, ek_error *err)
{
    ek__ir_group *group = ek__pool_alloc(pool, (size_t)n, sizeof *group);
    int groups = 0;
    if (!group)
        return ek__no_memory(err);
    qsort(item, (size_t)n, sizeof *item, by_key);
    for (int i = 0; i < n; i++) {
        const keyed *k = &item[i];
        if (i == 0 || strcmp(item[i - 1].key, k->key) != 0)
            group[groups++] = (ek__ir_group){.first = k->item, .first_layer = k->layer, .last_layer = k->layer};
        ek__ir_group *g = &group[groups - 1];
        g->n++;
        g->bytes = ek__sum(g->bytes, known(k->bytes));
        g->first_layer = k->layer < g->first_layer ? k->layer : g->first_layer;
        g->last_layer = k->layer > g->last_layer ? k->layer : g->last_layer;
    }
    qsort(group, (size_t)groups, sizeof *group, by_group_bytes);
    *out = group;
    *n_out = groups;
    return EK_OK;
}

static ek_status group_kept(const ek_ir_report *report, ek__ir_sums *sums, ek_error *err)
{
    keyed *item = ek__pool_alloc(sums->pool, (size_t)report->n_kept, sizeof *item);
    int n = 0;
    for (int i = 0; item && i < report->n_kept; i++) {
        const ek_ir_kept *kept = &report->kept[i];
        if (!counts_kept(report, sums, i))
            continue;
        item[n] = (keyed){likeness(report->ir, kept->node, sums->pool), i, kept->layer, kept->bytes};
        if (!item[n++].key)
            return ek__no_memory(err);
    }
    return item ? group_items(item, n, sums->pool, &sums->kept_like, &sums->n_kept_groups, err) : ek__no_memory(err);
}

static ek_status group_blocked(const ek_ir_report *report, ek__ir_sums *sums, ek_error *err)
{
    keyed *item = ek__pool_alloc(sums->pool, (size_t)report->n_recompute, sizeof *item);
    int n = 0;
    for (int i = 0; item && i < report->n_recompute; i++) {
        const ek_ir_recompute *r = &report->recompute[i];
        if (!ek__ir_chosen(&sums->choice, r->node) || ek__ir_outcome_of(r) != EK__IR_NOT_IN_EFFECT)
            continue;
        int layer = ek_ir_layer(report->ir, &report->ir->node[r->node]);
        int64_t bytes = counts(report, sums, r->node) ? r->bytes : 0;
        item[n] = (keyed){likeness(report->ir, r->node, sums->pool), i, layer, bytes};
        if (!item[n++].key)
            return ek__no_memory(err);
    }
    return item ? group_items(item, n, sums->pool, &sums->blocked, &sums->n_blocked, err) : ek__no_memory(err);
}

/* ---- communication ---- */

static int compare_groups(const char *a, const char *b)
{
    return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int by_sort_of_comm(const void *a, const void *b)
{
    const ek_ir_comm *p = *(const ek_ir_comm *const *)a, *q = *(const ek_ir_comm *const *)b;
    if (p->kind != q->kind)
        return p->kind < q->kind ? -1 : 1;
    if (p->role != q->role)
        return p->role < q->role ? -1 : 1;
    int order = compare_groups(p->group, q->group);
    return order ? order : (p > q) - (p < q);
}

static int by_traffic(const void *a, const void *b)
{
    const ek__ir_comm_sum *p = a, *q = b;
    if (p->traffic != q->traffic)
        return p->traffic < q->traffic ? 1 : -1;
    if (p->kind != q->kind)
        return p->kind < q->kind ? -1 : 1;
    if (p->role != q->role)
        return p->role < q->role ? -1 : 1;
    return compare_groups(p->group, q->group);
}

static void add_comm(ek__ir_comm_sum *sum, const ek_ir_comm *comm)
{
    sum->n++;
    sum->n_backward += comm->backward;
    sum->n_copies += comm->copy;
    sum->n_unknown += comm->bytes < 0 || comm->traffic < 0;
    sum->bytes = ek__sum(sum->bytes, known(comm->bytes));
    sum->traffic = ek__sum(sum->traffic, known(comm->traffic));
}

static ek_status sum_comms(const ek_ir_report *report, ek__ir_sums *sums, ek_error *err)
{
    const ek_ir_comm **order = ek__pool_alloc(sums->pool, (size_t)report->n_comms, sizeof *order);
    sums->comm = ek__pool_alloc(sums->pool, (size_t)report->n_comms, sizeof *sums->comm);
    int n = 0;
    if (!order || !sums->comm)
        return ek__no_memory(err);
    for (int i = 0; i < report->n_comms; i++)
        if (ek__ir_chosen(&sums->choice, report->comm[i].node))
            order[n++] = &report->comm[i];
    qsort(order, (size_t)n, sizeof *order, by_sort_of_comm);
    for (int i = 0; i < n; i++) {
        const ek_ir_comm *c = order[i], *before = i ? order[i - 1] : NULL;
        if (!before || before->kind != c->kind || before->role != c->role || compare_groups(before->group, c->group))
            sums->comm[sums->n_comms++] = (ek__ir_comm_sum){c->kind, c->role, c->group, c->n_ranks, 0, 0, 0, 0, 0, 0};
        add_comm(&sums->comm[sums->n_comms - 1], c);
        sums->traffic = ek__sum(sums->traffic, known(c->traffic));
    }
    qsort(sums->comm, (size_t)sums->n_comms, sizeof *sums->comm, by_traffic);
    return EK_OK;
}

/* ---- layers ---- */

static int by_layer(const void *a, const void *b)
{
    /* Outside layers, -1, becomes the largest. */
    unsigned p = (unsigned)((const ek__ir_layer_sum *)a)->layer, q = (unsigned)((const ek__ir_layer_sum *)b)->layer;
    return (p > q) - (p < q);
}

static void add_layer(ek__ir_layer_sum *to, const ek__ir_layer_sum *from)
{
    to->n_kept += from->n_kept;
    to->n_comms += from->n_comms;
    to->kept = ek__sum(to->kept, from->kept);
    to->traffic = ek__sum(to->traffic, from->traffic);
    for (int k = 0; k < EK__IR_N_OUTCOMES; k++)
        to->n_recompute[k] += from->n_recompute[k];
}

/* One entry for each item of a layer, then sorted and added up in place. */
static ek_status sum_layers(const ek_ir_report *report, ek__ir_sums *sums, ek_error *err)
{
    size_t most = (size_t)report->n_kept + (size_t)report->n_comms + (size_t)report->n_recompute;
    ek__ir_layer_sum *entry = ek__pool_alloc(sums->pool, most, sizeof *entry);
    size_t n = 0;
    if (!entry)
        return ek__no_memory(err);
    for (int i = 0; i < report->n_kept; i++)
        if (counts_kept(report, sums, i))
            entry[n++] =
                (ek__ir_layer_sum){.layer = report->kept[i].layer, .n_kept = 1, .kept = known(report->kept[i].bytes)};
    for (int i = 0; i < report->n_comms; i++)
        if (ek__ir_chosen(&sums->choice, report->comm[i].node))
            entry[n++] = (ek__ir_layer_sum){
                .layer = report->comm[i].layer, .n_comms = 1, .traffic = known(report->comm[i].traffic)};
    for (int i = 0; i < report->n_recompute; i++) {
        const ek_ir_recompute *r = &report->recompute[i];
        if (!ek__ir_chosen(&sums->choice, r->node))
            continue;
        entry[n] = (ek__ir_layer_sum){.layer = ek_ir_layer(report->ir, &report->ir->node[r->node])};
        entry[n++].n_recompute[ek__ir_outcome_of(r)] = 1;
    }
    qsort(entry, n, sizeof *entry, by_layer);
    for (size_t i = 0; i < n; i++)
        if (sums->n_layers > 0 && entry[sums->n_layers - 1].layer == entry[i].layer)
            add_layer(&entry[sums->n_layers - 1], &entry[i]);
        else
            entry[sums->n_layers++] = entry[i];
    sums->layer = entry;
    return EK_OK;
}

/* ---- graphs ---- */

static bool is_entry(const ek_ir *ir, uint32_t graph)
{
    return ir->entry != EK_IR_NONE && ir->graph[graph].name == ir->entry;
}

/* The list of parameters before all graphs belongs to the entry. In a fragment, nodes outside of graphs, and that list
 * if the entry is not in the file, are summed as a graph without name. */
static ek_status sum_graphs(const ek_ir *ir, ek__ir_sums *sums, ek_error *err)
{
    ek__ir_graph_sum *sum = ek__pool_alloc(sums->pool, (size_t)ir->n_graphs + 1, sizeof *sum);
    uint32_t nodes = 0, listed = 0, n = 0;
    if (!sum)
        return ek__no_memory(err);
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        nodes += ir->node[i].graph == EK_IR_NONE;
    for (uint32_t i = 0; i < ir->n_parameters; i++)
        listed += ir->parameter[i].graph == EK_IR_NONE;
    for (; n < ir->n_graphs; n++) {
        bool takes_list = listed > 0 && is_entry(ir, n);
        sum[n] = (ek__ir_graph_sum){n, ir->graph[n].n_nodes, takes_list ? listed : ir->graph[n].n_formals};
        listed = takes_list ? 0 : listed;
    }
    if (nodes + listed > 0)
        sum[n++] = (ek__ir_graph_sum){EK_IR_NONE, nodes, listed};
    sums->graph = sum;
    sums->n_graphs = (int)n;
    return EK_OK;
}

/* ---- the whole ---- */

static void count_nodes(const ek_ir *ir, ek__ir_sums *sums)
{
    sums->first_micro = sums->last_micro = -1;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *node = &ir->node[i];
        if ((node->flags & EK_IR_RETURN) || !ek__ir_chosen(&sums->choice, i))
            continue;
        if (node->flags & EK_IR_DUPLICATED)
            sums->n_copies++;
        else if (node->flags & EK_IR_BACKWARD)
            sums->n_backward++;
        else
            sums->n_forward++;
        if (node->micro >= 0 && (sums->first_micro < 0 || node->micro < sums->first_micro))
            sums->first_micro = node->micro;
        sums->last_micro = node->micro > sums->last_micro ? node->micro : sums->last_micro;
    }
}

static void count(const ek_ir_report *report, ek__ir_sums *sums)
{
    count_nodes(report->ir, sums);
    for (int i = 0; i < report->n_recompute; i++) {
        const ek_ir_recompute *r = &report->recompute[i];
        ek__ir_outcome k = ek__ir_outcome_of(r);
        if (!ek__ir_chosen(&sums->choice, r->node))
            continue;
        sums->n_outcome[k]++;
        if (counts(report, sums, r->node))
            sums->outcome[k] = ek__sum(sums->outcome[k], known(r->bytes));
    }
    for (int i = 0; i < report->n_kept; i++)
        if (counts_kept(report, sums, i)) {
            sums->n_kept++;
            sums->kept = ek__sum(sums->kept, known(report->kept[i].bytes));
        }
    for (int i = 0; i < report->n_findings; i++)
        sums->n_findings[report->finding[i].severity]++;
}

ek_status ek__ir_sum(const ek_ir_report *report, const ek_ir_view *view, ek__ir_sums *out, ek_error *err)
{
    ek__ir_sums sums = {.pool = ek__pool_new()};
    ek_status status = sums.pool ? ek__ir_choose(report->ir, view, &sums.choice, err) : ek__no_memory(err);
    if (status == EK_OK) {
        count(report, &sums);
        status = sum_comms(report, &sums, err);
        status = status ? status : sum_layers(report, &sums, err);
        status = status ? status : sum_graphs(report->ir, &sums, err);
        status = status ? status : group_kept(report, &sums, err);
        status = status ? status : group_blocked(report, &sums, err);
    }
    if (status)
        ek__ir_sums_clear(&sums);
    else
        *out = sums;
    return status;
}

void ek__ir_sums_clear(ek__ir_sums *sums)
{
    ek__ir_choice_clear(&sums->choice);
    ek__pool_free(sums->pool);
    *sums = (ek__ir_sums){0};
}

/* ---- consumers ---- */

ek_status ek__ir_find_takers(const ek_ir *ir, ek__ir_takers *out, ek_error *err)
{
    ek__ir_takers uses = {ek__alloc((size_t)ir->n_nodes + 2, sizeof *uses.first),
                          ek__alloc(ir->n_inputs, sizeof *uses.consumer)};
    if (!uses.first || !uses.consumer) {
        ek__ir_takers_clear(&uses);
        return ek__no_memory(err);
    }
    /* Counting sort by producer: first[p + 2] counts, then first[p + 1] is the place of p's next consumer. */
    for (uint32_t k = 0; k < ir->n_inputs; k++)
        if (ir->input[k].kind == EK_IR_INPUT_NODE)
            uses.first[(size_t)ir->input[k].index + 2]++;
    for (uint32_t i = 2; i < ir->n_nodes + 2; i++)
        uses.first[i] += uses.first[i - 1];
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        for (uint32_t k = 0; k < ir->node[i].n_inputs; k++) {
            const ek_ir_input *input = &ir->input[ir->node[i].first_input + k];
            if (input->kind == EK_IR_INPUT_NODE)
                uses.consumer[uses.first[(size_t)input->index + 1]++] = i;
        }
    *out = uses;
    return EK_OK;
}

void ek__ir_takers_clear(ek__ir_takers *uses)
{
    free(uses->first);
    free(uses->consumer);
    *uses = (ek__ir_takers){0};
}
