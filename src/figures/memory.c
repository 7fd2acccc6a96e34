/* Figures of a prediction of memory: the verdict, the job, one layer of each kind, its times, rules, warnings; the
 * tables of page and CSV. Stages are in memory_stages.c, optional parts in memory_asked.c. */
#include <math.h>

#include "figures/memory_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

/* ---- the job ---- */

#define EK__T ek_job
GETTER(n_devices, number, ek_job_devices(it));
GETTER(schedule, text, it->schedule->name);
static const ek__member model[] = {
    {"name", CHARS(name), "of the model, as its file has it"},
    {"framework", WORD(framework, ek__framework_name), "framework of the file"},
    {"n_layers", COUNT(model.n_layers), "without embedding and head"},
    {"n_prediction_layers", COUNT(model.n_prediction_layers), "layers of multi-token prediction"},
    {"hidden", COUNT(model.hidden), "its hidden size"},
    {"n_heads", COUNT(model.n_heads), "heads of attention"},
    {"n_kv_heads", COUNT(model.n_kv_heads), "heads of keys and values"},
    {"intermediate", COUNT(model.intermediate), "size between the matrices of the feed-forward part"},
    {"vocab", COUNT(model.vocab), "size of the vocabulary"},
    {"n_experts", COUNT(model.n_experts), "experts of a layer"},
    {"flash_attention", FLAG(model.flash_attention), "attention is one fused operator"},
    {"compute_type", WORD(types.compute, ek__dtype_name), "that layers compute in"},
    {"parameter_type", WORD(types.param, ek__dtype_name), "of the weights"},
    {"residual_type", WORD(types.residual, ek__dtype_name), "of a layer's saved input"},
};
static const ek__fields models = {FIELDS(model, "model", NULL)};
static const ek__member parallel[] = {
    {"devices", GET(COUNT, n_devices), "of the run"},
    {"data", COUNT(parallel.data), "data parallel degree"},
    {"tensor", COUNT(parallel.tensor), "tensor parallel degree"},
    {"pipeline", COUNT(parallel.pipeline), "pipeline stages"},
    {"context", COUNT(parallel.context), "context parallel degree"},
    {"expert", COUNT(parallel.expert), "expert parallel degree"},
    {"n_chunks", COUNT(plan.n_chunks), "chunks of a stage"},
    {"n_micro_batches", COUNT(parallel.n_micro_batches), "micro-batches of a step"},
    {"batch", COUNT(parallel.batch), "sequences of a micro-batch"},
    {"seq_length", COUNT(parallel.seq_length), "tokens of a sequence"},
    {"sequence_parallel", FLAG(parallel.sequence_parallel), "is it on?"},
    {"schedule", GET(TEXT, schedule), "the order of blocks"},
};
static const ek__fields parallels = {FIELDS(parallel, "parallel", NULL)};
#undef EK__T

/* ---- a layer ---- */

#define EK__T ek_memory_layer
/* On the page it has a row for each kind of recomputation. */
COMPOSER(layer_name, EK_NAME_SIZE + 64, "%s, %s", it->name, ek_recompute_name[of->number % EK_N_RECOMPUTE]);
GETTER(kept, number, it->kept[of->number % EK_N_RECOMPUTE]);
GETTER(transient, number, it->transient[of->number % EK_N_RECOMPUTE]);
static const ek__member layer[] = {
    {NULL, COMPOSE(layer_name), NULL, PAGE(1, "layer", "Layer, recomputing")},
    {"name", CHARS(name), "`decoder`, `decoder with experts`, `prediction`, ..."},
    {"parameter_mb", BYTES_MB(parameter_bytes), "parameters of one layer, with gradients and optimizer",
     PAGE(2, "parameters", "Parameters, gradients and states", EK__LESS)},
    {"kept_mb", BY_WORD(BYTES_MB, kept, ek__recompute_name, EK_N_RECOMPUTE),
     "MB kept for one micro-batch, by recomputation: `none`, `select`, `comm`, `both`, `full`"},
    {NULL, GET(BYTES_MB, kept), NULL, PAGE(3, "kept", "Kept for a micro-batch", EK__LESS)},
    {"transient_mb", BY_WORD(BYTES_MB, transient, ek__recompute_name, EK_N_RECOMPUTE),
     "largest additional memory of its backward pass, MB, by the same kinds"},
    {NULL, GET(BYTES_MB, transient), NULL, PAGE(4, "transient", "On top while backward runs", EK__LESS)},
};
static const ek__fields layer_kinds = {FIELDS(layer, "layer_kinds[]", "One layer.")};
#undef EK__T

#define EK__T ek_memory_time
COMPOSER(time_name, EK_NAME_SIZE + 64, "%s, %s", it->name, ek_recompute_name[of->number % EK_N_RECOMPUTE]);
GETTER(backward, real, it->ms.backward[of->number % EK_N_RECOMPUTE]);
static const ek__member layer_time[] = {
    {NULL, COMPOSE(time_name), NULL, PAGE(1, "layer", "Layer, recomputing")},
    {"name", TEXT(name), "`embedding`, `decoder`, ..."},
    {"forward", MS(ms.forward), "forward pass", PAGE(2, "forward", "Forward", EK__LESS)},
    {"backward", BY_WORD(MS, ms.backward, ek__recompute_name, EK_N_RECOMPUTE),
     "ms of the backward pass, by recomputation: `none`, `select`, `comm`, `both`, `full`"},
    {NULL, GET(MS, backward), NULL, PAGE(3, "backward", "Backward", EK__LESS)},
    {"weight", MS(ms.weight), "the part of backward that is the gradient of the weights",
     PAGE(4, "weight", "Of it gradients of weights", EK__LESS)},
};
static const ek__fields layer_times = {FIELDS(layer_time, "times_ms[]", "One layer and micro-batch, modelled.")};
#undef EK__T

#define EK__T ek_device
static const ek__member device[] = {
    {"name", CHARS(name), "as in `--device`, or its file"},
    {"source", CHARS(source), "where its figures are from"},
    {"certain", FLAG(certain), "false: a figure is not from a product sheet"},
};
static const ek__fields devices = {FIELDS(device, "device", "With `--device`.")};
#undef EK__T

/* ---- the basis of the figures ---- */

typedef const char *rule_name;
#define EK__T rule_name
static ek__rule_value value_of(const rule_name *name, const ek__owner *of)
{
    const ek_job *job = ek__memory_report_of(of)->job;
    return ek__rule_value_of(&job->rules, job->framework, *name);
}

COMPOSER(rule_value, 64, "%s", value_of(it, of).text);
COMPOSER(rule_usual, 64, "%s", value_of(it, of).usual);
GETTER(rule_changed, number, value_of(it, of).changed);
GETTER(rule_basis, text, ek_rule_basis[of->number]);
GETTER(rule_alternatives, text, *ek_rule_alternatives[of->number] ? ek_rule_alternatives[of->number] : NULL);
GETTER(rule_help, text, ek_rule_help[of->number]);
static const ek__member rule[] = {
    {"name", EK__KIND_TEXT, .size = sizeof(rule_name), .about = "for `--rule NAME=VALUE`", PAGE(1, "rule", "Rule")},
    {"value", COMPOSE(rule_value), "in force", PAGE(2, "value", "Value")},
    {"default", COMPOSE(rule_usual), "of the framework", PAGE(3, "usual", "Usually")},
    {"changed", GET(FLAG, rule_changed), "`value` is not `default`"},
    {"basis", GET(TEXT, rule_basis),
     "basis of the default: `derived`, `documented`, `measured`, `assumed`, `calibrated`",
     PAGE(4, "basis", "Rests on")},
    {"alternatives", GET(TEXT, rule_alternatives), "of an assumed rule, commas between them; else null"},
    {"what", GET(TEXT, rule_help), "its meaning", PAGE(5, "what", "Meaning")},
};
static const ek__fields all_rules = {FIELDS(rule, "rules[]", NULL)};
#undef EK__T

#define EK__T ek_memory_assumption
static const ek__member assumption[] = {
    {"rule", TEXT(rule), "its name"},
    {"value", CHARS(value), "as predicted"},
    {"alternative", CHARS(other), "the value with which the answer is the other one"},
    {"fits", FLAG(fits), "with that; the opposite of `fits` of the whole"},
    {"stage", COUNT(stage), "whether a measured peak decides between the two"},
    {"peak_mb", MB(mb), "its peak as predicted", DECIMALS(3)},
    {"alternative_peak_mb", MB(other_mb), "its peak with the alternative", DECIMALS(3)},
};
static const ek__fields assumptions = {FIELDS(assumption, "assumptions[]", NULL)};
#undef EK__T

#define EK__T ek_error
static const ek__member warning[] = {
    {"file", NAME(file), "null without a place"},
    {"line", COUNT(line), "null without a place", .positive = true},
    {"column", COUNT(column), "null without a place", .positive = true},
    {"message", CHARS(message), "the problem"},
};
static const ek__fields warnings = {FIELDS(warning, "warnings[]", NULL)};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_memory
GETTER(margin, number, it->margin);
static const ek__member verdict[] = {
    {"fits", FLAG(fits), "every stage's peak is within the limit; true when no limit is known"},
    {"limit_mb", BYTES_MB(limit), "memory of a device that the framework may use; null: not known", .positive = true},
    {"margin_mb", GET(BYTES_MB, margin),
     "limit minus the largest peak, negative when it does not fit; null without a limit"},
    {"fullest_stage", COUNT(fullest), "the stage with the largest peak"},
};
static const ek__fields verdicts = {FIELDS(verdict, NULL, NULL)};
static const ek__member prediction[] = {
    {"stages", LIST(n_stages, stage, ek__memory_stage), "one object a stage"},
    {"layer_kinds", ARRAY(n_layer_kinds, layer_kind, layer_kinds), "memory of one layer, by kind"},
};
static const ek__fields predictions = {FIELDS(prediction, NULL, NULL)};
#undef EK__T

#define EK__T ek_memory_report
FINDER(job_of, it->job);
FINDER(memory_of, it->memory);
FINDER(device_of, it->device);
FINDER(worth_of, it->worth);
FINDER(calibration_of, it->calibration);
FINDER(first_rule, ek_rule_names);
CONDITION(has_device, it->device != NULL);
CONDITION(has_measures, it->measure != NULL);
CONDITION(has_kept, it->kept != NULL);
CONDITION(has_worth, it->worth != NULL);
CONDITION(has_calibration, it->calibration != NULL);
GETTER(version, number, 1);
GETTER(reading, text, it->job->reading[0] ? it->job->reading : NULL);
GETTER(literal, number, it->job->literal);
GETTER(basis, text, ek__memory_basis);
GETTER(framework, text, ek_framework_name[it->job->framework]);
static int n_rules(const void *record, const ek__owner *of)
{
    int n = 0;
    (void)record;
    (void)of;
    while (ek_rule_names[n])
        n++;
    return n;
}

static const ek__member report[] = {
    {"version", GET(COUNT, version), "1"},
    {NULL, EK__KIND_PARTS, .fields = &verdicts, .find = memory_of},
    {"assumptions", LIST(n_assumptions, assumption, assumptions),
     "assumed rules that decide `fits`, each changed by itself; empty if none changes the answer, without a limit, and "
     "after `--calibrate`"},
    {"model", FOUND(job_of, models), "the model"},
    {"parallel", FOUND(job_of, parallels), "on how many devices, and how"},
    {NULL, EK__KIND_PARTS, .fields = &predictions, .find = memory_of},
    {"reading", GET(TEXT, reading), "assumption of the reader, if the file is ambiguous; else null"},
    {"literal", GET(FLAG, literal), "the file was read without that (`--literal`)"},
    {"basis", GET(TEXT, basis), "basis of the figures"},
    {"rules", FOUND_LIST(first_rule, n_rules, all_rules), "behaviour of the framework that is not in a file"},
    {"device", FOUND(device_of, devices), "with `--device`: the device of the times", WHEN(has_device)},
    {"times_ms", LIST(n_times, time, layer_times), "with `--device`: times of layers", WHEN(has_device)},
    {"measures", LIST(n_measures, measure, ek__memory_measure), "with `--measures`: the saving of each by itself",
     WHEN(has_measures)},
    {"kept_tensors", LIST(n_kept, kept, ek__memory_kept_kind), "with `--tensors`: saved activations of one layer",
     WHEN(has_kept)},
    {"worth_recomputing", FOUND(worth_of, ek__memory_worth),
     "with `--tensors` and `--device`: which operators are worth recomputing", WHEN(has_worth)},
    {"calibration", FOUND(calibration_of, ek__memory_calibration), "with `--calibrate`: how it went",
     WHEN(has_calibration)},
    {"warnings", LIST(n_warnings, warning, warnings), "of the reading; the same go to standard error"},
};
static const ek__fields fields = {FIELDS(report, NULL, NULL), .lines = true};

static const ek__member rules_alone[] = {
    {"version", GET(COUNT, version), "1"},
    {"framework", GET(TEXT, framework), "framework of the defaults"},
    {"rules", FOUND_LIST(first_rule, n_rules, all_rules), "the rules"},
};
const ek__fields ek__memory_rules_alone = {FIELDS(rules_alone, NULL, NULL), .lines = true};
#undef EK__T

/* ---- tables ---- */

#define EK__R ek_memory_report

/* Every stage has the same number of places for tensors. */
static const ek_memory_tensor *top_of(const ek_memory_stage *stage, int i)
{
    return i < stage->n_top ? &stage->top[i] : NULL;
}

/* Every mitigation has two rows: with its second one it is its own parent. */
static const ek_mitigation *measure_row(const ek_mitigation *m, bool second, ek__owner *of)
{
    of->parent = second ? m : NULL;
    return second && (!m->possible || !m->relieved[0]) ? NULL : m;
}

static const ek_memory_error *error_of(const ek_memory_calibration *c, int i)
{
    const ek_memory_error *const error[] = {&c->fit->before, &c->fit->after, &c->fit->left_out, c->judged};
    return error[i] && isfinite(error[i]->mean) ? error[i] : NULL;
}

/* A rule that changes nothing in the job has no row. */
static const char *const *rule_of(const ek_job *job, int i)
{
    const char *const *name = &ek_rule_names[i];
    bool changed = ek__rule_value_of(&job->rules, job->framework, *name).changed;
    return changed || ek__rule_matters(job, *name) ? name : NULL;
}

ITEMS(stages, r->memory->n_stages, &r->memory->stage[i]);
ITEMS(tensors, EK_N_TOP * r->memory->n_stages, top_of(&r->memory->stage[i / EK_N_TOP], i % EK_N_TOP));
ITEMS(measures, r->measure ? 2 * r->n_measures : 0, measure_row(&r->measure[i / 2], i % 2 == 1, of));
ITEMS(peaks, r->calibration ? r->calibration->n_peaks : 0, &r->calibration->peak[i]);
ITEMS(errors, r->calibration ? 4 : 0, error_of(r->calibration, i));
ITEMS(rules, ek_rule_names[i] ? i + 1 : i, rule_of(r->job, i));
ITEMS(layers, EK_N_RECOMPUTE * r->memory->n_layer_kinds, &r->memory->layer_kind[i / EK_N_RECOMPUTE]);
ITEMS(times, EK_N_RECOMPUTE * r->n_times, &r->time[i / EK_N_RECOMPUTE]);
ITEMS(cells, r->job->plan.n_chunks * r->job->plan.n_stages, &r->job->plan.layers[i]);
#undef EK__R

#define EK__R ek_kept
const ek__rows ek__memory_table[EK__N_MEMORY_TABLES] = {
    [EK__MEMORY_STAGES] = {"stages", "memory", "stages", "The peak of every stage, part by part",
                           .fields = &ek__memory_stage, RESULT_ITEMS(stages)},
    [EK__MEMORY_TENSORS] = {NULL, "memory", "tensors", "Largest tensors alive at the peak of each stage",
                            .fields = &ek__memory_top, RESULT_ITEMS(tensors)},
    [EK__MEMORY_MEASURES] = {NULL, "memory", "measures", "Saving of each setting by itself",
                             .fields = &ek__memory_measure, RESULT_ITEMS(measures)},
    [EK__MEMORY_KEPT] = {NULL, "memory", "kept", "Saved activations of one layer without recomputation",
                         .fields = &ek__memory_kept_tensor, RESULT_LIST(n, tensor), .sort = 1},
    [EK__MEMORY_PEAKS] = {NULL, "memory", "calibration", "Calibration to measured peaks",
                          .fields = &ek__memory_calibration_peak, RESULT_ITEMS(peaks)},
    [EK__MEMORY_ERRORS] = {NULL, "memory", "errors", "How well the calibrated model does",
                           .fields = &ek__memory_calibration_error, RESULT_ITEMS(errors)},
    [EK__MEMORY_RULES] = {NULL, "memory", "rules", "Rules of the framework that the prediction goes by",
                          .fields = &all_rules, RESULT_ITEMS(rules)},
    [EK__MEMORY_LAYERS] = {NULL, "layers", "layers", "Memory of one layer", .fields = &layer_kinds,
                           RESULT_ITEMS(layers)},
    [EK__MEMORY_TIMES] = {NULL, "layers", "times", "Times of one layer and micro-batch", .fields = &layer_times,
                          RESULT_ITEMS(times)},
    [EK__MEMORY_PLAN] = {NULL, "plan", "plan", "Layers of every stage by recomputation", .fields = &ek__memory_cell,
                         RESULT_ITEMS(cells), .most = EK_MAX_STAGES * EK_MAX_CHUNKS},
};

static const ek__rows *next_table(const ek__rows *last)
{
    return ek__next_of(ek__memory_table, EK__N_MEMORY_TABLES, last);
}

const ek__result ek__result_memory = {"memory", "memory-json.md", &fields, next_table, NULL};
