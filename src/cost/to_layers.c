/* Makes the job's layers for the balancer. Each kind of layer is compiled once for every recompute kind: the saved
 * tensors of a micro-batch are its activation, its parameters' bytes its parameter memory, and its operators' times its
 * times. Layers of one kind that follow one another in the model are one body kind; where kinds alternate more often
 * than bodies are allowed, all from the first change on are one body of their mean.
 *
 * Temporary memory has to become constant for the balancer. The temporary memory of a layer's backward pass is on every
 * stage; recomputed activations are counted by ek_layers.recompute_transient, as the difference of two kinds; the
 * loss's memory beyond that of a layer is added to the tail's parameters. So a stage's peak is met where its last
 * layers, which run backward first, are not recomputed, and is a little high where they are. Not handled: the first
 * chunk's mask where chunks differ in layers, which is spread evenly over them. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/cost.h"
#include "evenkeel/memory.h"
#include "layers/layers.h"
#include "memory/program.h"
#include "model/recompute_kind.h"

#define BYTES_PER_MB 1048576.0

/* A kind of layer, all figures of one micro-batch. */
typedef struct kind_cost {
    bool there;
    char name[EK_NAME_SIZE];
    double parameter, kept[EK_N_RECOMPUTE], transient; /* MB; the last without recomputation */
    ek_layer_times times;
} kind_cost;

typedef struct maker {
    const ek_job *job; /* with patterns */
    const ek_device *device;
    ek__job_programs *programs; /* of the unchanged job */
    kind_cost kind[EK__N_GRAPH_KINDS];
    ek_error *err;
} maker;

/* ---- kinds ---- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Copies of a batch that run side by side. */
static double copies_of(const ek_job *job)
{
    return job->parallel.n_batch_interleave > 1 ? job->parallel.n_batch_interleave : 1;
}

/* Weights' gradients that stay when there is no buffer for them: the first backward pass makes them. */
static int64_t stays(const ek__program *program)
{
    int64_t bytes = 0;
    for (int k = EK_BACKWARD; k < EK_N_BLOCK_KINDS; k++)
        bytes += program->first[k].end - program->profile[k].end;
    assert(bytes >= 0);
    return bytes;
}

static ek_status compile(const maker *m, const ek__graph *graph, ek_recompute kind, ek__program **out)
{
    bool recomputed[EK__MAX_OPS] = {false};
    ek__recompute what = ek__recompute_of_kind(m->job, kind);
    ek__graph_recomputed(m->job, graph, what, recomputed);
    return ek__program_compile(m->job, graph, recomputed, what.full ? EK__HOLD_INPUT : EK__HOLD_NEEDED,
                               m->job->schedule->splits_backward, m->programs->border, out, m->err);
}

/* Most memory above the saved tensors: in a backward pass, or in the forward pass that makes them. */
static int64_t transient_of(const ek__program *program)
{
    int64_t most = program->profile[EK_FORWARD].peak - program->kept;
    for (int k = EK_BACKWARD; k < EK_N_BLOCK_KINDS; k++)
        if (program->profile[k].peak > most)
            most = program->profile[k].peak;
    return most > 0 ? most : 0;
}

static ek_status measure_kind(maker *m, ek__graph_kind kind)
{
    assert((unsigned)kind < EK__N_GRAPH_KINDS && m->programs->graph[kind]);
    const ek__graph *graph = m->programs->graph[kind];
    const ek__persistent_bytes *bytes = &m->programs->bytes[kind];
    kind_cost *cost = &m->kind[kind];
    cost->there = true;
    memcpy(cost->name, graph->name, sizeof cost->name);
    int64_t parameter = bytes->weight + bytes->gathered + bytes->gradient + bytes->optimizer;
    bool body = kind != EK__GRAPH_EMBEDDING && kind != EK__GRAPH_HEAD;
    for (int k = 0; k < (body ? EK_N_RECOMPUTE : 1); k++) {
        ek__program *program;
        ek_status status = compile(m, graph, (ek_recompute)k, &program);
        if (status)
            return status;
        cost->kept[k] = copies_of(m->job) * (double)program->kept / BYTES_PER_MB;
        if (k == 0) {
            cost->transient = (double)transient_of(program) / BYTES_PER_MB;
            parameter += stays(program);
        }
        ek__program_free(program);
    }
    cost->parameter = (double)parameter / BYTES_PER_MB;
    return EK_OK;
}

static ek_status measure_times(maker *m, ek__graph_kind kind)
{
    static const ek_layer_place places[EK__N_GRAPH_KINDS] = {
        [EK__GRAPH_EMBEDDING] = EK_LAYER_HEAD,  [EK__GRAPH_DENSE] = EK_LAYER_DENSE,
        [EK__GRAPH_EXPERTS] = EK_LAYER_EXPERTS, [EK__GRAPH_PREDICTION] = EK_LAYER_PREDICTION,
        [EK__GRAPH_HEAD] = EK_LAYER_TAIL,
    };
    if (!m->device)
        return EK_OK;
    return ek_cost_layer(m->job, m->device, places[kind], &m->kind[kind].times, m->err);
}

/* Each micro-batch's mask is held by the stage's chunk 0: a part for each of its layers. */
static void spread_masks(maker *m)
{
    const ek_plan *plan = &m->job->plan;
    double layers = 0;
    for (int s = 0; s < plan->n_stages; s++)
        layers += plan->layers[s];
    if (layers <= 0)
        return;
    double part = copies_of(m->job) * (double)m->programs->mask / BYTES_PER_MB * plan->n_stages / layers;
    for (int k = EK__GRAPH_DENSE; k <= EK__GRAPH_PREDICTION; k++)
        for (int r = 0; r < EK_N_RECOMPUTE; r++)
            m->kind[k].kept[r] += part;
}

static ek_status measure(maker *m)
{
    ek_status status = EK_OK;
    for (int k = 0; k < EK__N_GRAPH_KINDS && !status; k++) {
        if (!m->programs->graph[k])
            continue;
        status = measure_kind(m, (ek__graph_kind)k);
        if (!status)
            status = measure_times(m, (ek__graph_kind)k);
    }
    if (!status)
        spread_masks(m);
    return status;
}

/* ---- layers ---- */

static void set_layer(ek_layer *layer, const kind_cost *cost)
{
    assert(cost->there && cost->parameter >= 0);
    memcpy(layer->name, cost->name, sizeof layer->name);
    layer->forward_time = cost->times.forward;
    layer->weight_time = cost->times.weight;
    layer->parameter_mb = cost->parameter;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        layer->backward_time[k] = cost->times.backward[k];
        layer->activation_mb[k] = cost->kept[k];
    }
}

/* Add `share` of a kind to a mean. */
static void add_share(ek_layer *layer, const kind_cost *cost, double share)
{
    assert(cost->there && share > 0 && share <= 1);
    layer->forward_time += share * cost->times.forward;
    layer->weight_time += share * cost->times.weight;
    layer->parameter_mb += share * cost->parameter;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        layer->backward_time[k] += share * cost->times.backward[k];
        layer->activation_mb[k] += share * cost->kept[k];
    }
}

/* Layers from `from` on as one body of their mean. */
static void set_mixed(const maker *m, ek_layer *layer, int from, int n_layers)
{
    int n = n_layers - from;
    assert(from >= 0 && n >= 1);
    *layer = (ek_layer){.n_layers = n};
    snprintf(layer->name, sizeof layer->name, "decoder, mixed");
    for (int i = from; i < n_layers; i++)
        add_share(layer, &m->kind[ek__layer_graph_kind(m->job, i)], 1.0 / n);
}

static void make_body(const maker *m, ek_layers *out)
{
    int n_layers = m->job->model.n_layers + m->job->model.n_prediction_layers, n_runs = 1;
    for (int i = 1; i < n_layers; i++)
        n_runs += ek__layer_graph_kind(m->job, i) != ek__layer_graph_kind(m->job, i - 1);
    out->n_layers = n_layers;
    for (int i = 0; i < n_layers;) {
        assert(out->n_body < EK_MAX_BODY_KINDS);
        ek_layer *body = &out->body[out->n_body++];
        if (n_runs > EK_MAX_BODY_KINDS && out->n_body > 1) {
            set_mixed(m, body, i, n_layers);
            return;
        }
        ek__graph_kind kind = ek__layer_graph_kind(m->job, i);
        set_layer(body, &m->kind[kind]);
        while (i < n_layers && ek__layer_graph_kind(m->job, i) == kind) {
            body->n_layers++;
            i++;
        }
        assert(body->n_layers >= 1);
    }
}

static bool saves(const ek_layers *layers, ek_recompute kind, ek_recompute than)
{
    for (int b = 0; b < layers->n_body; b++)
        if (layers->body[b].activation_mb[kind] < layers->body[b].activation_mb[than])
            return true;
    return false;
}

/* Does the job's own plan have layers of the kind? */
static bool is_used(const ek_job *job, ek_recompute kind)
{
    for (int s = 0; s < job->plan.n_stages; s++)
        for (int i = 0; i < job->plan.n_chunks; i++)
            if (ek_plan_mix(&job->plan, i, s).n[kind] > 0)
                return true;
    return false;
}

static void set_modelled(const maker *m, ek_layers *out)
{
    bool select = saves(out, EK_RECOMPUTE_SELECT, EK_RECOMPUTE_NONE),
         comm = saves(out, EK_RECOMPUTE_COMM, EK_RECOMPUTE_NONE);
    const bool modelled[EK_N_RECOMPUTE] = {true, select, comm, select && comm, true};
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        out->modelled[k] = modelled[k] || is_used(m->job, (ek_recompute)k);
        for (int b = 0; b < out->n_body; b++)
            out->body[b].modelled[k] = out->modelled[k];
    }
}

static bool has_head(const maker *m, int stage)
{
    for (int i = 0; i < ek__stage_n_chunks(m->job); i++)
        if (m->programs->chunk[ek__stage_cell(m->job, stage, i)].n_of_kind[EK__GRAPH_HEAD] > 0)
            return true;
    return false;
}

static void make_ends(const maker *m, ek_layers *out)
{
    /* Layers of prediction have their own losses, and are on the last stage like the tail. */
    double body = larger(m->kind[EK__GRAPH_DENSE].transient, m->kind[EK__GRAPH_EXPERTS].transient),
           end = larger(m->kind[EK__GRAPH_PREDICTION].transient, m->kind[EK__GRAPH_HEAD].transient);
    int64_t other = 0, last = 0; /* of the stage with the head, which has its own buffers */
    for (int s = 0; s < m->job->plan.n_stages; s++) {
        int64_t bytes = ek__stage_other(m->job, m->programs, s);
        if (has_head(m, s) && m->job->plan.n_stages > 1)
            last = bytes;
        else
            other = bytes > other ? bytes : other;
    }
    out->const_mb = (double)other / BYTES_PER_MB + body;
    set_layer(&out->head, &m->kind[EK__GRAPH_EMBEDDING]);
    set_layer(&out->tail, &m->kind[EK__GRAPH_HEAD]);
    out->tail.parameter_mb += larger(0, end - body) + larger(0, (double)(last - other) / BYTES_PER_MB);
    ek_layer *const ends[] = {&out->head, &out->tail};
    for (int i = 0; i < 2; i++) {
        ends[i]->n_layers = 1;
        ends[i]->modelled[EK_RECOMPUTE_NONE] = true;
        /* Ends are never recomputed: their other kinds are the defaults, which files need not state. */
        double weight = ends[i]->weight_time;
        ek__layer_default_times(ends[i], ends[i]->backward_time[EK_RECOMPUTE_NONE]);
        ends[i]->weight_time = weight;
    }
}

static ek_status make_layers(const maker *m, ek_layers *out)
{
    snprintf(out->name, sizeof out->name, "%s", m->job->name[0] ? m->job->name : "model");
    out->body = ek__alloc(EK_MAX_BODY_KINDS, sizeof *out->body);
    if (!out->body)
        return ek__no_memory(m->err);
    make_body(m, out);
    make_ends(m, out);
    set_modelled(m, out);
    out->split_known = m->device != NULL;
    out->recompute_transient = true;
    return EK_OK;
}

ek_status ek_memory_to_layers(const ek_job *job, const ek_device *device, ek_layers *out, ek_error *err)
{
    ek_job copy = {0};
    ek_layers layers = {0};
    maker m = {.job = &copy, .device = device, .err = err};
    ek_status status = ek_job_copy(job, &copy, err);
    if (status)
        return status;
    status = ek__job_add_usual_patterns(&copy, err);
    if (!status)
        status = ek__job_programs_new(&copy, &m.programs, err);
    if (!status)
        status = measure(&m);
    if (!status)
        status = make_layers(&m, &layers);
    if (!status)
        *out = layers;
    else
        ek_layers_clear(&layers);
    ek__job_programs_free(m.programs);
    ek_job_clear(&copy);
    return status;
}
