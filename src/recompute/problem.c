/* Prices the layers of a job with sets of choices. If choices are operators, a layer's graph is the same for every set
 * and only the recomputation differs; otherwise each set is put into the job and its layers are built and priced again,
 * since modules and policies change a layer's operators. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/job_internal.h"
#include "memory/program.h"
#include "recompute/sets.h"

#define MS_PER_S     1e3
#define BYTES_PER_MB 1048576.0

/* ---- the bare job ---- */

/* A pattern that names nothing represents later ones: without flash attention the framework recomputes scores as soon
 * as there is one. */
static ek_status make_bare(ek__set_problem *p)
{
    const ek_recompute_set none = {0};
    ek_status status = ek_job_use_recompute_sets(p->job, &none, NULL, &p->bare, p->err);
    bool mindformers = p->job->framework == EK_MINDFORMERS || p->job->framework == EK_MINDFORMERS_MCORE;
    if (!status && mindformers && p->bare.n_patterns < EK_MAX_PATTERNS)
        status = ek__job_add_pattern(&p->bare, "-", EK_PATTERN_SELECT, p->bare.plan.comm, false, EK__NOWHERE, p->err);
    return status;
}

/* ---- layers ---- */

/* Both passes with the host's part. A policy may also change the forward pass: it separates operators. */
static double seconds_of(const ek__set_problem *p, const ek__layer_cost *layer, const ek__pass *again)
{
    ek__pass forward = layer->forward, backward = layer->backward;
    if (again)
        ek__pass_add(&backward, again, 1);
    ek__pass_launch(p->job, p->device, layer, &forward);
    ek__pass_launch(p->job, p->device, layer, &backward);
    return ek__pass_seconds(&forward) + ek__pass_seconds(&backward);
}

static ek_status add_layer(ek__set_problem *p, ek__graph_kind kind)
{
    ek__set_layer *layer = &p->layer[p->n_layers];
    const int n = p->job->model.n_layers + p->job->model.n_prediction_layers;
    for (int i = 0; i < n; i++)
        layer->n_layers += ek__layer_graph_kind(p->job, i) == kind;
    if (layer->n_layers == 0)
        return EK_OK;
    layer->kind = kind;
    layer->copies = p->job->parallel.n_batch_interleave > 1 ? p->job->parallel.n_batch_interleave : 1;
    ek_status status = ek__layer_cost_of(&p->bare, p->device, kind, &layer->cost, p->err);
    if (status)
        return status;
    layer->seconds = seconds_of(p, &layer->cost, NULL);
    p->n_layers++;
    return EK_OK;
}

ek_status ek__set_problem_init(const ek_job *job, const ek_device *device, ek__set_problem *out, ek_error *err)
{
    static const ek__graph_kind kinds[EK_MAX_SET_LAYERS] = {EK__GRAPH_DENSE, EK__GRAPH_EXPERTS, EK__GRAPH_PREDICTION};
    *out = (ek__set_problem){.job = job, .device = device, .err = err};
    out->choice = ek__alloc(EK__MAX_CHOICES, sizeof *out->choice);
    if (!out->choice)
        return ek__no_memory(err);
    ek_status status = make_bare(out);
    for (int k = 0; k < EK_MAX_SET_LAYERS && !status; k++)
        status = add_layer(out, kinds[k]);
    return status ? status : ek__set_choices(out);
}

void ek__set_problem_clear(ek__set_problem *p)
{
    for (int k = 0; k < p->n_layers; k++)
        ek__layer_cost_clear(&p->layer[k].cost);
    ek_job_clear(&p->bare);
    free(p->choice);
}

/* ---- figures ---- */

double ek__set_extra_ms(const ek__set_problem *p, const ek__set_layer *layer, const ek__pass *run)
{
    ek__pass again;
    ek__layer_finish_again(&p->bare, p->device, &layer->cost, run, &again);
    return MS_PER_S * (seconds_of(p, &layer->cost, &again) - layer->seconds);
}

int64_t ek__set_bytes(const ek_job *job, const ek__graph *graph, const bool *kept)
{
    int64_t bytes = 0;
    for (int t = 0; t < graph->n_tensors; t++)
        if (kept[t] && !graph->tensor[t].elsewhere)
            bytes += ek__kept_bytes(job, graph->tensor[t].bytes);
    return bytes;
}

/* Of a graph with the recomputation in `what`. */
static void measure_as(const ek__set_problem *p, const ek_job *job, ek__layer_cost *cost, ek__recompute what,
                       const ek__set_layer *layer, int64_t *kept, double *ms)
{
    bool recomputed[EK__MAX_OPS], stays[EK__MAX_TENSORS];
    ek__graph_recomputed(job, cost->graph, what, recomputed);
    ek__graph_keep(cost->graph, recomputed, stays);
    *kept = ek__set_bytes(job, cost->graph, stays);
    *ms = MS_PER_S * (seconds_of(p, cost, ek__layer_again(job, p->device, cost, what)) - layer->seconds);
}

void ek__set_measure_full(const ek__set_problem *p, ek_recompute_set *out)
{
    for (int k = 0; k < p->n_layers; k++) {
        ek__layer_cost cost = p->layer[k].cost; /* later changes stay in this copy */
        measure_as(p, &p->bare, &cost, ek__recompute_of_kind(&p->bare, EK_RECOMPUTE_FULL), &p->layer[k], &out->kept[k],
                   &out->ms[k]);
    }
}

/* Operators that a set names, except those that the job's patterns exclude. */
static void name_operators(const ek__set_problem *p, const ek__graph *graph, const ek_recompute_set *set, bool *out)
{
    bool matched[EK__MAX_OPS];
    memset(out, 0, EK__MAX_OPS * sizeof *out);
    for (int i = 0; i < set->n_patterns; i++) {
        ek__pattern_match(graph, set->pattern[i].text, set->pattern[i].kind, matched);
        for (int o = 0; o < graph->n_ops; o++)
            out[o] |= matched[o];
    }
    for (int i = 0; i < p->bare.n_patterns; i++) {
        const ek_pattern *pattern = &p->bare.pattern[i];
        ek__pattern_match(graph, pattern->text, pattern->kind, matched);
        for (int o = 0; o < graph->n_ops; o++)
            out[o] = out[o] && !matched[o];
    }
}

static void measure_operators(const ek__set_problem *p, ek_recompute_set *out)
{
    for (int k = 0; k < p->n_layers; k++) {
        const ek__set_layer *layer = &p->layer[k];
        const ek__graph *graph = layer->cost.graph;
        bool runs[EK__MAX_OPS], stays[EK__MAX_TENSORS];
        ek__pass run;
        name_operators(p, graph, out, runs);
        ek__graph_settle(graph, runs);
        ek__graph_keep(graph, runs, stays);
        out->kept[k] = ek__set_bytes(&p->bare, graph, stays);
        for (int o = 0; o < graph->n_ops; o++)
            runs[o] = runs[o] && !graph->op[o].always_recomputed;
        ek__layer_run(&p->bare, p->device, &layer->cost, runs, &run);
        out->ms[k] = ek__set_extra_ms(p, layer, &run);
    }
}

static ek_status measure_job(const ek__set_problem *p, ek_recompute_set *out)
{
    ek_job with;
    ek_status status = ek_job_use_recompute_sets(p->job, out, NULL, &with, p->err);
    if (status)
        return status;
    for (int k = 0; k < p->n_layers && !status; k++) {
        ek__layer_cost cost;
        status = ek__layer_cost_of(&with, p->device, p->layer[k].kind, &cost, p->err);
        if (status)
            break;
        measure_as(p, &with, &cost, ek__recompute_of_kind(&with, EK_RECOMPUTE_BOTH), &p->layer[k], &out->kept[k],
                   &out->ms[k]);
        ek__layer_cost_clear(&cost);
    }
    ek_job_clear(&with);
    return status;
}

static ek_status list_patterns(const ek__set_problem *p, const ek__chosen *chosen, ek_recompute_set *out)
{
    int n = 0;
    for (int i = 0; i < p->n_choices; i++)
        n += ek__is_chosen(chosen, i) ? p->choice[i].n_patterns : 0;
    out->pattern = ek__alloc((size_t)n, sizeof *out->pattern);
    if (!out->pattern)
        return ek__no_memory(p->err);
    for (int i = 0; i < p->n_choices; i++)
        for (int k = 0; ek__is_chosen(chosen, i) && k < p->choice[i].n_patterns; k++)
            out->pattern[out->n_patterns++] = p->choice[i].pattern[k];
    return EK_OK;
}

ek_status ek__set_mitigation(const ek__set_problem *p, const ek__chosen *chosen, ek_recompute_set *out)
{
    *out = (ek_recompute_set){0};
    ek_status status = list_patterns(p, chosen, out);
    if (status)
        return status;
    if (p->by_operator)
        measure_operators(p, out);
    else
        status = measure_job(p, out);
    if (status) {
        free(out->pattern);
        out->pattern = NULL;
    }
    return status;
}

void ek__set_mean(const ek__set_problem *p, const ek_recompute_set *nothing, ek_recompute_set *set)
{
    double layers = 0, bytes = 0, ms = 0;
    for (int k = 0; k < p->n_layers; k++) {
        const ek__set_layer *layer = &p->layer[k];
        layers += layer->n_layers;
        bytes += layer->n_layers * layer->copies * (double)set->kept[k];
        ms += layer->n_layers * set->ms[k];
    }
    set->kept_mb = bytes / layers / BYTES_PER_MB;
    set->extra_ms = ms / layers;
    set->saved_mb = nothing ? nothing->kept_mb - set->kept_mb : 0;
    set->saved_mb_per_ms = set->saved_mb > 0 ? set->saved_mb / set->extra_ms : 0;
}
