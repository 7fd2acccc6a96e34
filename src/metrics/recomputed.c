/* Computes the recomputed share of each term. A layer's graph has the operators that its settings recompute, so the
 * share of a term is that of its operators' FLOPs; layers with equal settings are evaluated once. Products that the
 * flash-attention kernel repeats inside its own backward pass are not recomputation of the job and are not counted. */
#include <stdlib.h>

#include "base/error.h"
#include "memory/program.h"
#include "metrics/flops.h"

/* ---- terms of operators ---- */

static bool is_product(const ek__op *op)
{
    return op->flops > 0 && (op->kind == EK__OP_MATMUL || op->kind == EK__OP_ATTENTION);
}

/* Both products around an unfused softmax, or the fused kernel: neither has a weight. */
static bool is_attention(const ek__op *op)
{
    return op->kind == EK__OP_ATTENTION || op->weight_flops <= 0;
}

/* The term of a product after the attention's output. */
static ek__term feed_forward_term(const ek__graph *graph, int i, int router)
{
    const ek__op *op = &graph->op[i];
    if (router < 0)
        return EK__TERM_DENSE;
    if (i == router)
        return EK__TERM_ROUTER;
    return op->parameter >= 0 && graph->parameter[op->parameter].expert ? EK__TERM_EXPERTS : EK__TERM_SHARED;
}

/* The router is directly before the first routed expert; -1 in a dense layer. */
static int find_router(const ek__graph *graph)
{
    int last = -1;
    for (int i = 0; i < graph->n_ops; i++) {
        const ek__op *op = &graph->op[i];
        if (!is_product(op))
            continue;
        if (op->parameter >= 0 && graph->parameter[op->parameter].expert)
            return last;
        last = i;
    }
    return -1;
}

static int last_product(const ek__graph *graph)
{
    int i = graph->n_ops - 1;
    while (i >= 0 && !is_product(&graph->op[i]))
        i--;
    return i;
}

void ek__graph_terms(const ek__graph *graph, ek__graph_kind kind, int term[EK__MAX_OPS])
{
    bool predicts = kind == EK__GRAPH_PREDICTION, head = kind == EK__GRAPH_HEAD || predicts;
    int last = last_product(graph), router = find_router(graph);
    bool attended = false, put_out = false, joined = !predicts;
    for (int i = 0; i < EK__MAX_OPS; i++)
        term[i] = -1;
    for (int i = 0; i < graph->n_ops; i++) {
        const ek__op *op = &graph->op[i];
        if (!is_product(op))
            continue;
        if (head && i == last) {
            term[i] = EK__TERM_HEAD;
        } else if (!joined) {
            term[i] = EK__TERM_JOIN;
            joined = true;
        } else if (is_attention(op)) {
            term[i] = EK__TERM_SCORES;
            attended = true;
        } else if (!attended) {
            term[i] = EK__TERM_QKV;
        } else if (!put_out) {
            term[i] = EK__TERM_OUTPUT;
            put_out = true;
        } else {
            term[i] = feed_forward_term(graph, i, router);
        }
    }
}

/* ---- shares ---- */

/* The share of each term that a layer's settings recompute, 0..1. */
typedef struct way {
    ek__graph_kind kind;
    ek__recompute recompute;
    double share[EK__N_TERMS];
} way;

typedef struct counter {
    const ek_job *job;
    ek__graph *graph[EK__N_GRAPH_KINDS]; /* NULL until a layer is of the kind */
    int n_ways;
    size_t room;
    way *way;
    ek_error *err;
} counter;

static ek__recompute recompute_of(const ek_job *job, int cell, int layer)
{
    ek__recompute what = {.full = layer < job->plan.full[cell]};
    for (int i = 0; i < job->n_patterns; i++)
        if (layer < job->pattern[i].layers[cell])
            what.patterns |= UINT64_C(1) << i;
    return what;
}

static void fill_shares(const counter *c, way *w)
{
    const ek__graph *graph = c->graph[w->kind];
    bool recomputed[EK__MAX_OPS];
    int term[EK__MAX_OPS];
    double all[EK__N_TERMS] = {0};
    ek__graph_run_again(c->job, graph, w->recompute, recomputed);
    ek__graph_terms(graph, w->kind, term);
    for (int i = 0; i < graph->n_ops; i++) {
        if (term[i] < 0)
            continue;
        all[term[i]] += graph->op[i].flops;
        w->share[term[i]] += recomputed[i] ? graph->op[i].flops : 0;
    }
    for (int t = 0; t < EK__N_TERMS; t++)
        w->share[t] = all[t] > 0 ? w->share[t] / all[t] : 0;
}

static ek_status find_way(counter *c, ek__graph_kind kind, ek__recompute what, const way **out)
{
    for (int i = c->n_ways - 1; i >= 0; i--) {
        const way *w = &c->way[i];
        if (w->kind == kind && w->recompute.full == what.full && w->recompute.patterns == what.patterns) {
            *out = w;
            return EK_OK;
        }
    }
    way *grown = ek__with_room(c->way, &c->room, (size_t)c->n_ways + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(c->err);
    c->way = grown;
    if (!c->graph[kind]) {
        c->graph[kind] = ek__alloc(1, sizeof *c->graph[kind]);
        if (!c->graph[kind])
            return ek__no_memory(c->err);
        ek__graph_build(c->job, kind, c->graph[kind]);
    }
    way *made = &c->way[c->n_ways];
    *made = (way){.kind = kind, .recompute = what};
    fill_shares(c, made);
    c->n_ways++;
    *out = made;
    return EK_OK;
}

ek_status ek__recomputed_layers(const ek_job *job, int n_layers[EK__N_GRAPH_KINDS],
                                double again[EK__N_GRAPH_KINDS][EK__N_TERMS], ek_error *err)
{
    counter c = {.job = job, .err = err};
    int layer = 0, counted[EK__N_GRAPH_KINDS] = {0};
    double sum[EK__N_GRAPH_KINDS][EK__N_TERMS] = {{0}};
    ek_status status = EK_OK;
    for (int q = 0; q < job->plan.n_stages * job->plan.n_chunks && !status; q++) {
        int cell = ek_cell_at(job->schedule->placement, job->plan.n_stages, q);
        for (int j = 0; j < job->plan.layers[cell] && !status; j++) {
            const way *w = NULL;
            ek__graph_kind kind = ek__layer_graph_kind(job, layer++);
            status = find_way(&c, kind, recompute_of(job, cell, j), &w);
            for (int t = 0; t < EK__N_TERMS && !status; t++)
                sum[kind][t] += w->share[t];
            counted[kind]++;
        }
    }
    for (int k = 0; k < EK__N_GRAPH_KINDS; k++) {
        free(c.graph[k]);
        for (int t = 0; t < EK__N_TERMS && !status; t++)
            again[k][t] = sum[k][t];
        if (!status)
            n_layers[k] = counted[k];
    }
    free(c.way);
    return status;
}
