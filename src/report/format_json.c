/* The versioned machine contract (docs/json.md). Built with jansson and dumped one top-level field a line, so that a
 * plan's lists stay readable; reals carry 15 significant digits, and what is not a finite number is null. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/report_internal.h"

enum { JSON_VERSION = 1 };

/* jansson reports a failed allocation as NULL or -1 at every call; one flag collects them. */
typedef struct builder {
    bool failed;
} builder;

static void put(builder *b, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        b->failed = true;
}

static void append(builder *b, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        b->failed = true;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* A name cut at EK_NAME_SIZE may end inside a character, which jansson refuses: such bytes become U+FFFD. */
static json_t *string(const char *text)
{
    char clean[3 * 256 + 8];
    size_t n = 0;
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)) && n + 4 < sizeof clean; text += length)
        n += (size_t)ek__utf8_put(code, clean + n);
    return json_stringn(clean, n);
}

static json_t *matrix(builder *b, const ek_plan *plan, const int *values, int base)
{
    json_t *rows = json_array();
    for (int i = 0; i < plan->n_chunks; i++) {
        json_t *row = json_array();
        for (int s = 0; s < plan->n_stages; s++)
            append(b, row, json_integer(values[i * plan->n_stages + s] - base));
        append(b, rows, row);
    }
    return rows;
}

static json_t *plan_object(builder *b, const ek_plan *plan, int n_layers)
{
    json_t *object = json_object();
    /* An offset is the layers less the even split, the same for every chunk. */
    int base = plan->layers[0] - ek_plan_offset(plan, n_layers, 0, 0);
    put(b, object, "offset", matrix(b, plan, plan->layers, base));
    put(b, object, "recompute", matrix(b, plan, plan->full, 0));
    put(b, object, "select_recompute", matrix(b, plan, plan->select, 0));
    put(b, object, "select_comm_recompute", matrix(b, plan, plan->comm, 0));
    put(b, object, "layers", matrix(b, plan, plan->layers, 0));
    return object;
}

static json_t *bubble_object(builder *b, const ek_bubble *bubble)
{
    json_t *object = json_object();
    put(b, object, "real", number(bubble->real));
    put(b, object, "ideal", number(bubble->ideal));
    put(b, object, "imba", number(bubble->imba));
    put(b, object, "recompute", number(bubble->recompute));
    return object;
}

static json_t *stage_objects(builder *b, const ek_report *report, const ek_case *c)
{
    json_t *stages = json_array();
    for (int s = 0; s < c->plan->n_stages; s++) {
        json_t *stage = json_object();
        double peak = c->timeline->peak_mb[s];
        int layers = 0;
        for (int i = 0; i < c->plan->n_chunks; i++)
            layers += c->plan->layers[i * c->plan->n_stages + s];
        put(b, stage, "layers", json_integer(layers));
        put(b, stage, "peak_memory_mb", number(peak));
        put(b, stage, "headroom_mb",
            report->memory_limit_mb > 0 ? number(report->memory_limit_mb - peak) : json_null());
        put(b, stage, "static_memory_mb", number(c->timeline->static_mb[s]));
        put(b, stage, "busy", number(c->timeline->busy[s]));
        append(b, stages, stage);
    }
    return stages;
}

static void put_case(builder *b, json_t *object, const ek_report *report, const ek_case *c)
{
    const ek_timeline *timeline = c->timeline;
    json_t *shape = json_object();
    int stage;
    double peak = ek_timeline_peak(timeline, &stage);
    put(b, shape, "stages", json_integer(timeline->shape.n_stages));
    put(b, shape, "chunks", json_integer(timeline->shape.n_chunks));
    put(b, shape, "micro_batches", json_integer(ek__micro_batches(&timeline->shape)));
    put(b, object, "name", string(c->name));
    put(b, object, "step_time", number(timeline->step_time));
    put(b, object, "bubble", bubble_object(b, &timeline->bubble));
    put(b, object, "peak_memory_mb", number(peak));
    put(b, object, "peak_stage", json_integer(stage));
    put(b, object, "fits", report->memory_limit_mb > 0 ? json_boolean(!ek__over_limit(report, peak)) : json_null());
    put(b, object, "shape", shape);
    if (ek__pieces(&timeline->shape) > 1)
        put(b, object, "seq", json_integer(ek__pieces(&timeline->shape)));
    put(b, object, "schedule", string(timeline->schedule->name));
    if (timeline->schedule->splits_backward) {
        put(b, object, "backward_split", string(report->layers->split_known ? "given" : "assumed"));
        put(b, object, "weight_share", number(timeline->weight_share));
    }
    put(b, object, "p2p_time", number(timeline->comm.p2p_time));
    put(b, object, "p2p_blocking", json_boolean(timeline->comm.blocking));
    put(b, object, "stages", stage_objects(b, report, c));
    json_t *plan = plan_object(b, c->plan, report->layers->n_layers);
    /* What a plan file says besides the lists, so that reading the plan back repeats this very run. */
    put(b, plan, "interleave_num", json_integer(timeline->shape.n_chunks));
    put(b, plan, "micro_batch_num", json_integer(ek__micro_batches(&timeline->shape)));
    put(b, plan, "less_memory", json_boolean(ek__less_memory(timeline)));
    put(b, object, "plan", plan);
}

static json_t *activations(builder *b, const ek_layer *layer)
{
    json_t *object = json_object();
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        put(b, object, ek_recompute_name[k], layer->modelled[k] ? number(layer->activation_mb[k]) : json_null());
    return object;
}

static json_t *body_objects(builder *b, const ek_layers *layers)
{
    json_t *bodies = json_array();
    for (int i = 0; i < layers->n_body; i++) {
        const ek_layer *layer = &layers->body[i];
        json_t *body = json_object(), *backward = json_object();
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            put(b, backward, ek_recompute_name[k], layer->modelled[k] ? number(layer->backward_time[k]) : json_null());
        put(b, body, "name", string(layer->name));
        put(b, body, "n_layers", json_integer(layer->n_layers));
        put(b, body, "parameter_mb", number(layer->parameter_mb));
        put(b, body, "activation_mb", activations(b, layer));
        put(b, body, "forward_time", number(layer->forward_time));
        put(b, body, "backward_time", backward);
        append(b, bodies, body);
    }
    return bodies;
}

static json_t *residual_objects(builder *b, const ek_memory_fit *fit)
{
    json_t *residuals = json_array();
    for (int i = 0; i < fit->n_residuals; i++) {
        const ek_residual *r = &fit->residual[i];
        json_t *object = json_object();
        put(b, object, "round", json_integer(r->round));
        put(b, object, "stage", json_integer(r->stage));
        put(b, object, "measured_mb", number(r->measured_mb));
        put(b, object, "predicted_mb", number(r->predicted_mb));
        append(b, residuals, object);
    }
    return residuals;
}

static json_t *residual_values(builder *b, const ek_memory_fit *fit)
{
    json_t *values = json_array();
    for (int i = 0; i < fit->n_residuals; i++)
        append(b, values, number(fit->residual[i].measured_mb - fit->residual[i].predicted_mb));
    return values;
}

static json_t *memory_model(builder *b, const ek_layers *layers)
{
    json_t *object = json_object();
    bool fitted = layers->fit.n_residuals > 0;
    put(b, object, "parameter_mb", number(layers->body[0].parameter_mb));
    put(b, object, "activation_mb", activations(b, &layers->body[0]));
    put(b, object, "const_mb", number(layers->const_mb));
    put(b, object, "const_modelled", fitted ? json_boolean(layers->fit.const_modelled) : json_null());
    put(b, object, "head_mb", number(layers->head.parameter_mb + layers->head.activation_mb[EK_RECOMPUTE_NONE]));
    put(b, object, "tail_mb", number(layers->tail.parameter_mb + layers->tail.activation_mb[EK_RECOMPUTE_NONE]));
    put(b, object, "condition", fitted && layers->fit.condition > 0 ? number(layers->fit.condition) : json_null());
    put(b, object, "residual_mb", residual_values(b, &layers->fit));
    put(b, object, "residuals", residual_objects(b, &layers->fit));
    put(b, object, "body", body_objects(b, layers));
    return object;
}

static void put_search(builder *b, json_t *root, const ek_report *report)
{
    const ek_balance_result *search = report->search;
    put(b, root, "status", string(ek_balance_status_name[search->status]));
    put(b, root, "solve_seconds", number(search->seconds));
    if (search->status != EK_BALANCE_INFEASIBLE)
        return;
    put(b, root, "step_time", json_null());
    put(b, root, "smallest_limit_mb", number(search->smallest_limit_mb));
    put(b, root, "smallest_limit_exact", json_boolean(search->smallest_limit_exact));
    put(b, root, "bottleneck_stage", json_integer(search->bottleneck_stage));
    put(b, root, "fit_plan",
        search->fit_plan.n_stages > 0 ? plan_object(b, &search->fit_plan, report->layers->n_layers) : json_null());
}

/* One answer: the search if there was one, a case, and the model that both rest on. `only` keeps other cases out. */
static json_t *answer(builder *b, const ek_report *report, int case_index, bool only)
{
    json_t *root = json_object();
    put(b, root, "version", json_integer(JSON_VERSION));
    put(b, root, "model", string(report->layers->name));
    if (report->search)
        put_search(b, root, report);
    put(b, root, "memory_limit_mb", report->memory_limit_mb > 0 ? number(report->memory_limit_mb) : json_null());
    if (report->n_cases > 0)
        put_case(b, root, report, &report->cases[case_index]);
    if (!only && report->n_cases > 1) {
        json_t *others = json_array();
        for (int i = 1; i < report->n_cases; i++) {
            json_t *object = json_object();
            put_case(b, object, report, &report->cases[i]);
            append(b, others, object);
        }
        put(b, root, "cases", others);
    }
    put(b, root, "memory_model", memory_model(b, report->layers));
    return root;
}

/* One top-level field a line: short to look through, and `diff` finds what changed. */
static void dump(const json_t *root, FILE *out)
{
    const size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
    const char *key, *separator = "{\n";
    json_t *value;
    /* A failed write shows in ferror(), which ek__finish() asks. */
    json_object_foreach((json_t *)root, key, value)
    {
        fprintf(out, "%s  \"%s\": ", separator, key);
        json_dumpf(value, out, flags);
        separator = ",\n";
    }
    fputs("\n}", out);
}

static ek_status write_json(const ek_report *report, FILE *out, ek_error *err)
{
    bool list = report->list || (!report->search && report->n_cases > 1);
    int n = list ? report->n_cases : 1;
    for (int i = 0; i < n; i++) {
        builder b = {false};
        json_t *root = answer(&b, report, i, list);
        if (!root || b.failed) {
            json_decref(root);
            return ek__no_memory(err);
        }
        fputs(!list ? "" : i == 0 ? "[\n" : ",\n", out);
        dump(root, out);
        json_decref(root);
    }
    fputs(list ? "\n]\n" : "\n", out);
    return ek__finish(out, err);
}

const ek_format ek__format_json = {"json", write_json};
