/* Makes layers for the balancer from the same graphs and passes as the step and the memory of a job. A run of layers of
 * one kind is one body kind; if kinds alternate more often than bodies are allowed, all layers from the first change on
 * are one body with the minimum (not the mean) of each figure: no plan may be judged too large. */
#include "layout/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layers/layers.h"
#include "model/recompute_kind.h"

#define BYTES_PER_MB 1048576.0

typedef struct maker {
    const ek_job *job;
    const ek__job_programs *programs;
    ek__stage_pricer *pricer;
    ek__recompute_rule rule;
    ek_layer kind[EK__N_GRAPH_KINDS];
    ek_error *err;
} maker;

static bool is_body(ek__graph_kind kind)
{
    return kind != EK__GRAPH_EMBEDDING && kind != EK__GRAPH_HEAD;
}

/* A layer's recomputation under the rule for the balancer's kind. */
static ek_recompute meant(const maker *m, ek_recompute kind)
{
    switch (m->rule.kind) {
    case EK__RULE_SELECT:
        return EK_RECOMPUTE_SELECT;
    case EK__RULE_PRODUCTS:
        return EK_RECOMPUTE_BOTH;
    case EK__RULE_FULL:
        return EK_RECOMPUTE_FULL;
    case EK__RULE_NONE:
        return EK_RECOMPUTE_NONE;
    case EK__RULE_LISTS:
    case EK__RULE_FIRST:
    case EK__RULE_EVERY:
    default:
        return kind;
    }
}

static ek_status kept_of(const maker *m, const ek__graph *graph, ek_recompute kind, double *mb)
{
    bool recomputed[EK__MAX_OPS] = {false};
    ek__program *program;
    ek__recompute what = ek__recompute_of_kind(m->job, kind);
    int copies = m->job->parallel.n_batch_interleave > 1 ? m->job->parallel.n_batch_interleave : 1;
    ek__graph_recomputed(m->job, graph, what, recomputed);
    ek_status status = ek__program_compile(m->job, graph, recomputed, what.full ? EK__HOLD_INPUT : EK__HOLD_NEEDED,
                                           m->job->schedule->splits_backward, m->programs->border, &program, m->err);
    if (status)
        return status;
    *mb = copies * (double)program->kept / BYTES_PER_MB;
    ek__program_free(program);
    return EK_OK;
}

static ek_status measure(maker *m, ek__graph_kind kind)
{
    const ek__graph *graph = m->programs->graph[kind];
    const ek__persistent_bytes *bytes = &m->programs->bytes[kind];
    const ek_layer_times times = ek__stage_pricer_layer(m->pricer, kind);
    ek_layer *layer = &m->kind[kind];
    ek_status status = EK_OK;
    snprintf(layer->name, sizeof layer->name, "%s", graph->name);
    layer->forward_time = times.forward;
    layer->weight_time = times.weight;
    layer->parameter_mb = (double)(bytes->weight + bytes->gathered + bytes->gradient + bytes->optimizer) / BYTES_PER_MB;
    for (int k = 0; k < EK_N_RECOMPUTE && !status; k++) {
        ek_recompute is = is_body(kind) ? meant(m, (ek_recompute)k) : EK_RECOMPUTE_NONE;
        layer->backward_time[k] = times.backward[is];
        status = kept_of(m, graph, is, &layer->activation_mb[k]);
    }
    return status;
}

/* Lower the figures of `least` to a layer's smaller ones. */
static void lower(const ek_layer *layer, ek_layer *least)
{
    least->forward_time = fmin(least->forward_time, layer->forward_time);
    least->weight_time = fmin(least->weight_time, layer->weight_time);
    least->parameter_mb = fmin(least->parameter_mb, layer->parameter_mb);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        least->backward_time[k] = fmin(least->backward_time[k], layer->backward_time[k]);
        least->activation_mb[k] = fmin(least->activation_mb[k], layer->activation_mb[k]);
    }
}

static void make_body(const maker *m, ek_layers *out)
{
    int n = m->job->model.n_layers + m->job->model.n_prediction_layers;
    ek_layer *body = NULL;
    out->n_layers = n;
    for (int i = 0; i < n; i++) {
        const ek_layer *layer = &m->kind[ek__layer_graph_kind(m->job, i)];
        bool another = i == 0 || ek__layer_graph_kind(m->job, i) != ek__layer_graph_kind(m->job, i - 1);
        if (another && out->n_body < EK_MAX_BODY_KINDS) {
            body = &out->body[out->n_body++];
            *body = *layer;
            body->n_layers = 0;
        }
        lower(layer, body);
        body->n_layers++;
    }
}

/* Kinds that save less than no recomputation for some layers, if the rule leaves a choice. */
static void set_modelled(const maker *m, ek_layers *out)
{
    bool all = m->rule.kind == EK__RULE_LISTS,
         whole = all || m->rule.kind == EK__RULE_FIRST || m->rule.kind == EK__RULE_EVERY;
    out->modelled[EK_RECOMPUTE_NONE] = true;
    for (int k = 1; k < EK_N_RECOMPUTE; k++)
        for (int b = 0; b < out->n_body; b++)
            if ((k == EK_RECOMPUTE_FULL ? whole : all) &&
                out->body[b].activation_mb[k] < out->body[b].activation_mb[EK_RECOMPUTE_NONE])
                out->modelled[k] = true;
    for (int b = 0; b < out->n_body; b++)
        memcpy(out->body[b].modelled, out->modelled, sizeof out->modelled);
}

static void make_ends(const maker *m, ek_layers *out)
{
    ek_layer *const ends[] = {&out->head, &out->tail};
    out->head = m->kind[EK__GRAPH_EMBEDDING];
    out->tail = m->kind[EK__GRAPH_HEAD];
    for (int i = 0; i < 2; i++) {
        double weight = ends[i]->weight_time;
        ends[i]->n_layers = 1;
        ends[i]->modelled[EK_RECOMPUTE_NONE] = true;
        ek__layer_default_times(ends[i], ends[i]->backward_time[EK_RECOMPUTE_NONE]);
        ends[i]->weight_time = weight;
    }
}

static double least_const_mb(const maker *m)
{
    int64_t least = INT64_MAX;
    for (int s = 0; s < m->job->plan.n_stages; s++) {
        int64_t bytes = ek__stage_other(m->job, m->programs, s);
        least = bytes < least ? bytes : least;
    }
    return (double)least / BYTES_PER_MB;
}

ek_status ek__layout_layers(const ek_job *job, const ek__job_programs *programs, ek__stage_pricer *pricer,
                            ek__recompute_rule rule, ek_layers *out, ek_error *err)
{
    maker m = {.job = job, .programs = programs, .pricer = pricer, .rule = rule, .err = err};
    ek_layers layers = {0};
    ek_status status = EK_OK;
    for (int k = 0; k < EK__N_GRAPH_KINDS && !status; k++)
        if (programs->graph[k])
            status = measure(&m, (ek__graph_kind)k);
    if (status)
        return status;
    layers.body = ek__alloc(EK_MAX_BODY_KINDS, sizeof *layers.body);
    if (!layers.body)
        return ek__no_memory(err);
    snprintf(layers.name, sizeof layers.name, "%s", job->name[0] ? job->name : "model");
    make_body(&m, &layers);
    make_ends(&m, &layers);
    set_modelled(&m, &layers);
    layers.const_mb = least_const_mb(&m);
    layers.split_known = true;
    *out = layers;
    return EK_OK;
}
