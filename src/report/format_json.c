/* The versioned machine contract (docs/json.md). Built with jansson and dumped one top-level field a line, so that a
 * plan's lists stay readable; reals carry 15 significant digits, and what is not a finite number is null. */
#include <assert.h>
#include <jansson.h>
#include <math.h>

#include "base/error.h"
#include "evenkeel/cases.h"
#include "report/json.h"
#include "report/report_internal.h"

static json_t *bubble_object(ek__json *b, const ek_bubble *bubble)
{
    json_t *object = json_object();
    ek__json_put(b, object, "real", ek__json_number(bubble->real));
    ek__json_put(b, object, "ideal", ek__json_number(bubble->ideal));
    ek__json_put(b, object, "imba", ek__json_number(bubble->imba));
    ek__json_put(b, object, "recompute", ek__json_number(bubble->recompute));
    return object;
}

static json_t *numbers(ek__json *b, const double *value, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        ek__json_append(b, array, ek__json_number(value[i]));
    return array;
}

static json_t *stage_objects(ek__json *b, const ek_report *report, const ek_case *c)
{
    json_t *stages = json_array();
    for (int s = 0; s < c->plan->n_stages; s++) {
        json_t *stage = json_object();
        double peak = c->timeline->peak_mb[s];
        int layers = 0;
        for (int i = 0; i < c->plan->n_chunks; i++)
            layers += c->plan->layers[i * c->plan->n_stages + s];
        ek__json_put(b, stage, "layers", json_integer(layers));
        ek__json_put(b, stage, "peak_memory_mb", ek__json_number(peak));
        ek__json_put(b, stage, "headroom_mb",
                     report->memory_limit_mb > 0 ? ek__json_number(ek__stage_limit(report, s) - peak) : json_null());
        ek__json_put(b, stage, "static_memory_mb", ek__json_number(c->timeline->static_mb[s]));
        ek__json_put(b, stage, "busy", ek__json_number(c->timeline->busy[s]));
        ek__json_append(b, stages, stage);
    }
    return stages;
}

static void put_case(ek__json *b, json_t *object, const ek_report *report, const ek_case *c)
{
    const ek_timeline *timeline = c->timeline;
    json_t *shape = json_object();
    int stage;
    double peak = ek_timeline_peak(timeline, &stage);
    ek__json_put(b, shape, "stages", json_integer(timeline->shape.n_stages));
    ek__json_put(b, shape, "chunks", json_integer(timeline->shape.n_chunks));
    ek__json_put(b, shape, "micro_batches", json_integer(ek__micro_batches(&timeline->shape)));
    ek__json_put(b, object, "name", ek__json_string(c->name));
    ek__json_put(b, object, "step_time", ek__json_number(timeline->step_time));
    ek__json_put(b, object, "bubble", bubble_object(b, &timeline->bubble));
    ek__json_put(b, object, "peak_memory_mb", ek__json_number(peak));
    ek__json_put(b, object, "peak_stage", json_integer(stage));
    ek__json_put(b, object, "fits",
                 report->memory_limit_mb > 0 ? json_boolean(!ek__any_over_limit(report, timeline)) : json_null());
    ek__json_put(b, object, "shape", shape);
    if (ek__shape_pieces(&timeline->shape) > 1)
        ek__json_put(b, object, "seq", json_integer(ek__shape_pieces(&timeline->shape)));
    ek__json_put(b, object, "schedule", ek__json_string(timeline->schedule->name));
    if (timeline->schedule->splits_backward) {
        ek__json_put(b, object, "backward_split", ek__json_string(report->layers->split_known ? "given" : "assumed"));
        ek__json_put(b, object, "weight_share", ek__json_number(timeline->weight_share));
    }
    ek__json_put(b, object, "p2p_time", ek__json_number(timeline->comm.p2p_time));
    ek__json_put(b, object, "p2p_blocking", json_boolean(timeline->comm.blocking));
    if (timeline->comm.edge_time)
        ek__json_put(b, object, "p2p_edges", numbers(b, timeline->comm.edge_time, timeline->shape.n_stages));
    if (report->stage_speed)
        ek__json_put(b, object, "stage_speed", numbers(b, report->stage_speed, timeline->shape.n_stages));
    if (report->layers->recompute_transient)
        ek__json_put(b, object, "recompute_transient", json_true());
    if (report->micro_batch_cost)
        ek__json_put(b, object, "micro_batch_cost",
                     numbers(b, report->micro_batch_cost, ek__micro_batches(&timeline->shape)));
    ek__json_put(b, object, "stages", stage_objects(b, report, c));
    json_t *plan = ek__json_plan(b, c->plan, report->layers->n_layers);
    /* What a plan file says besides the lists, so that reading the plan back repeats this very run. */
    ek__json_put(b, plan, "interleave_num", json_integer(timeline->shape.n_chunks));
    ek__json_put(b, plan, "micro_batch_num", json_integer(ek__micro_batches(&timeline->shape)));
    ek__json_put(b, plan, "less_memory", json_boolean(ek__less_memory(timeline)));
    ek__json_put(b, object, "plan", plan);
}

static json_t *activations(ek__json *b, const ek_layer *layer)
{
    json_t *object = json_object();
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        ek__json_put(b, object, ek_recompute_name[k],
                     layer->modelled[k] ? ek__json_number(layer->activation_mb[k]) : json_null());
    return object;
}

static json_t *body_objects(ek__json *b, const ek_layers *layers)
{
    json_t *bodies = json_array();
    for (int i = 0; i < layers->n_body; i++) {
        const ek_layer *layer = &layers->body[i];
        json_t *body = json_object(), *backward = json_object();
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            ek__json_put(b, backward, ek_recompute_name[k],
                         layer->modelled[k] ? ek__json_number(layer->backward_time[k]) : json_null());
        ek__json_put(b, body, "name", ek__json_string(layer->name));
        ek__json_put(b, body, "n_layers", json_integer(layer->n_layers));
        ek__json_put(b, body, "parameter_mb", ek__json_number(layer->parameter_mb));
        ek__json_put(b, body, "activation_mb", activations(b, layer));
        ek__json_put(b, body, "forward_time", ek__json_number(layer->forward_time));
        ek__json_put(b, body, "backward_time", backward);
        ek__json_append(b, bodies, body);
    }
    return bodies;
}

static json_t *residual_objects(ek__json *b, const ek_memory_fit *fit)
{
    json_t *residuals = json_array();
    for (int i = 0; i < fit->n_residuals; i++) {
        const ek_residual *r = &fit->residual[i];
        json_t *object = json_object();
        ek__json_put(b, object, "round", json_integer(r->round));
        ek__json_put(b, object, "stage", json_integer(r->stage));
        ek__json_put(b, object, "measured_mb", ek__json_number(r->measured_mb));
        ek__json_put(b, object, "predicted_mb", ek__json_number(r->predicted_mb));
        ek__json_append(b, residuals, object);
    }
    return residuals;
}

static json_t *residual_values(ek__json *b, const ek_memory_fit *fit)
{
    json_t *values = json_array();
    for (int i = 0; i < fit->n_residuals; i++)
        ek__json_append(b, values, ek__json_number(fit->residual[i].measured_mb - fit->residual[i].predicted_mb));
    return values;
}

static json_t *memory_model(ek__json *b, const ek_layers *layers)
{
    json_t *object = json_object();
    bool fitted = layers->fit.n_residuals > 0;
    ek__json_put(b, object, "parameter_mb", ek__json_number(layers->body[0].parameter_mb));
    ek__json_put(b, object, "activation_mb", activations(b, &layers->body[0]));
    ek__json_put(b, object, "const_mb", ek__json_number(layers->const_mb));
    ek__json_put(b, object, "const_modelled", fitted ? json_boolean(layers->fit.const_modelled) : json_null());
    ek__json_put(b, object, "head_mb",
                 ek__json_number(layers->head.parameter_mb + layers->head.activation_mb[EK_RECOMPUTE_NONE]));
    ek__json_put(b, object, "tail_mb",
                 ek__json_number(layers->tail.parameter_mb + layers->tail.activation_mb[EK_RECOMPUTE_NONE]));
    ek__json_put(b, object, "condition",
                 fitted && layers->fit.condition > 0 ? ek__json_number(layers->fit.condition) : json_null());
    ek__json_put(b, object, "residual_mb", residual_values(b, &layers->fit));
    ek__json_put(b, object, "residuals", residual_objects(b, &layers->fit));
    ek__json_put(b, object, "body", body_objects(b, layers));
    return object;
}

static void put_search(ek__json *b, json_t *root, const ek_report *report)
{
    const ek_balance_result *search = report->search;
    ek__json_put(b, root, "status", ek__json_string(ek_balance_status_name[search->status]));
    ek__json_put(b, root, "solve_seconds", ek__json_number(search->seconds));
    if (search->status != EK_BALANCE_INFEASIBLE) {
        bool known = search->lower_bound > 0;
        ek__json_put(b, root, "lower_bound", known ? ek__json_number(search->lower_bound) : json_null());
        ek__json_put(b, root, "gap", known ? ek__json_number(search->gap) : json_null());
        ek__json_put(b, root, "proved_optimal", json_boolean(search->proved_optimal));
        return;
    }
    ek__json_put(b, root, "step_time", json_null());
    ek__json_put(b, root, "smallest_limit_mb", ek__json_number(search->smallest_limit_mb));
    if (report->stage_memory_mb)
        ek__json_put(b, root, "shortfall_mb", ek__json_number(search->shortfall_mb));
    ek__json_put(b, root, "smallest_limit_exact", json_boolean(search->smallest_limit_exact));
    ek__json_put(b, root, "bottleneck_stage", json_integer(search->bottleneck_stage));
    ek__json_put(b, root, "fit_plan",
                 search->fit_plan.n_stages > 0 ? ek__json_plan(b, &search->fit_plan, report->layers->n_layers)
                                               : json_null());
}

/* What the plan was to keep to besides the one limit. */
static void put_limits(ek__json *b, json_t *root, const ek_report *report, const ek_plan *plan)
{
    if (report->stage_memory_mb)
        ek__json_put(b, root, "stage_memory_mb", numbers(b, report->stage_memory_mb, plan->n_stages));
    if (report->fixed_layers) {
        json_t *fixed = json_array();
        for (int s = 0; s < plan->n_stages; s++)
            ek__json_append(b, fixed,
                            report->fixed_layers[s] >= 0 ? json_integer(report->fixed_layers[s]) : json_null());
        ek__json_put(b, root, "fixed_layers", fixed);
    }
    if (report->forbidden) {
        json_t *forbidden = json_array();
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (report->forbidden[k])
                ek__json_append(b, forbidden, json_string(ek_recompute_name[k]));
        ek__json_put(b, root, "forbidden", forbidden);
    }
}

/* One answer: the search if there was one, a case, and the model that both rest on. `only` keeps other cases out. */
static json_t *answer(ek__json *b, const ek_report *report, int case_index, bool only)
{
    assert(report->search || report->n_cases > 0);
    json_t *root = json_object();
    ek__json_put(b, root, "version", json_integer(EK__JSON_VERSION));
    ek__json_put(b, root, "model", ek__json_string(report->layers->name));
    if (report->search)
        put_search(b, root, report);
    if (report->ranking) {
        ek__json_put(b, root, "ranking", ek__json_ranking(b, report->ranking));
        ek__json_put(b, root, "ranking_skipped", ek__json_skipped(b, report->ranking));
    }
    ek__json_put(b, root, "memory_limit_mb",
                 report->memory_limit_mb > 0 ? ek__json_number(report->memory_limit_mb) : json_null());
    put_limits(b, root, report, report->n_cases > 0 ? report->cases[case_index].plan : &report->search->fit_plan);
    if (report->n_cases > 0)
        put_case(b, root, report, &report->cases[case_index]);
    if (!only && report->n_cases > 1) {
        json_t *others = json_array();
        for (int i = 1; i < report->n_cases; i++) {
            json_t *object = json_object();
            put_case(b, object, report, &report->cases[i]);
            ek__json_append(b, others, object);
        }
        ek__json_put(b, root, "cases", others);
    }
    ek__json_put(b, root, "memory_model", memory_model(b, report->layers));
    return root;
}

ek_status ek__json_report(const ek_report *report, FILE *out, ek_error *err)
{
    bool list = report->list || (!report->search && report->n_cases > 1);
    int n = list ? report->n_cases : 1;
    for (int i = 0; i < n; i++) {
        ek__json b = {false};
        json_t *root = answer(&b, report, i, list);
        if (!root || b.failed) {
            json_decref(root);
            return ek__no_memory(err);
        }
        fputs(!list ? "" : i == 0 ? "[\n" : ",\n", out);
        ek__json_dump(root, out);
        json_decref(root);
    }
    fputs(list ? "\n]\n" : "\n", out);
    return ek__finish(out, err);
}
