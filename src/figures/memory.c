/* Figures of a prediction of memory: the verdict, the job, one layer of each kind, its times, rules, warnings. Stages
 * are in memory_stages.c, what is there when asked for in memory_asked.c, tables in memory_tables.c. */
#include <string.h>

#include "figures/memory_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

/* ---- the job ---- */

#define EK__T ek_job
GETTER(n_devices, number, ek_job_devices(it));
GETTER(schedule, text, it->schedule->name);
static const ek__member model[] = {
    {"name", CHARS(name), "of the model, as its file has it"},
    {"framework", WORD(framework, ek_framework_name), "whose file it is"},
    {"n_layers", COUNT(model.n_layers), "without embedding and head"},
    {"n_prediction_layers", COUNT(model.n_prediction_layers), "layers of multi-token prediction"},
    {"hidden", COUNT(model.hidden), "its hidden size"},
    {"n_heads", COUNT(model.n_heads), "heads of attention"},
    {"n_kv_heads", COUNT(model.n_kv_heads), "heads of keys and values"},
    {"intermediate", COUNT(model.intermediate), "size between the matrices of the feed-forward part"},
    {"vocab", COUNT(model.vocab), "size of the vocabulary"},
    {"n_experts", COUNT(model.n_experts), "experts of a layer"},
    {"flash_attention", FLAG(model.flash_attention), "attention is one fused operator"},
    {"compute_type", WORD(types.compute, ek_dtype_name), "that layers compute in"},
    {"parameter_type", WORD(types.param, ek_dtype_name), "of the weights"},
    {"residual_type", WORD(types.residual, ek_dtype_name), "of a layer's input as it is kept"},
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
    {"kept_mb", BY_WORD(BYTES_MB, kept, ek_recompute_name, EK_N_RECOMPUTE),
     "MB kept for one micro-batch, by recomputation: `none`, `select`, `comm`, `both`, `full`"},
    {NULL, GET(BYTES_MB, kept), NULL, PAGE(3, "kept", "Kept for a micro-batch", EK__LESS)},
    {"transient_mb", BY_WORD(BYTES_MB, transient, ek_recompute_name, EK_N_RECOMPUTE),
     "the most its backward pass holds besides, MB, by the same"},
    {NULL, GET(BYTES_MB, transient), NULL, PAGE(4, "transient", "On top while backward runs", EK__LESS)},
};
const ek__fields ek__memory_layer = {FIELDS(layer, "layer_kinds[]", "One layer.")};
#undef EK__T

#define EK__T ek_memory_time
COMPOSER(time_name, EK_NAME_SIZE + 64, "%s, %s", it->name, ek_recompute_name[of->number % EK_N_RECOMPUTE]);
GETTER(backward, real, it->ms.backward[of->number % EK_N_RECOMPUTE]);
static const ek__member times[] = {
    {NULL, COMPOSE(time_name), NULL, PAGE(1, "layer", "Layer, recomputing")},
    {"name", TEXT(name), "`embedding`, `decoder`, ..."},
    {"forward", MS(ms.forward), "forward pass", PAGE(2, "forward", "Forward", EK__LESS)},
    {"backward", BY_WORD(MS, ms.backward, ek_recompute_name, EK_N_RECOMPUTE),
     "ms of the backward pass, by recomputation: `none`, `select`, `comm`, `both`, `full`"},
    {NULL, GET(MS, backward), NULL, PAGE(3, "backward", "Backward", EK__LESS)},
    {"weight", MS(ms.weight), "the part of backward that is the gradient of the weights",
     PAGE(4, "weight", "Of it gradients of weights", EK__LESS)},
};
const ek__fields ek__memory_times = {FIELDS(times, "times_ms[]", "One layer and micro-batch, modelled.")};
#undef EK__T

#define EK__T ek_device
static const ek__member device[] = {
    {"name", CHARS(name), "as `--device` says it, or its file"},
    {"source", CHARS(source), "where its figures are from"},
    {"certain", FLAG(certain), "false: a figure is not from a product sheet"},
};
static const ek__fields devices = {FIELDS(device, "device", "With `--device`.")};
#undef EK__T

/* ---- what it rests on ---- */

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
     "what the default rests on: `derived`, `documented`, `measured`, `assumed`, `calibrated`",
     PAGE(4, "basis", "Rests on")},
    {"alternatives", GET(TEXT, rule_alternatives), "of an assumed rule, commas between them; else null"},
    {"what", GET(TEXT, rule_help), "what it says", PAGE(5, "what", "What it is")},
};
const ek__fields ek__memory_rule = {FIELDS(rule, "rules[]", NULL)};
#undef EK__T

#define EK__T ek_memory_assumption
static const ek__member assumption[] = {
    {"rule", TEXT(rule), "its name"},
    {"value", CHARS(value), "as predicted"},
    {"alternative", CHARS(other), "the value with which the answer is the other one"},
    {"fits", FLAG(fits), "with that; the opposite of `fits` of the whole"},
    {"stage", COUNT(stage), "where a measured peak tells which of the two it is"},
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
    {"message", CHARS(message), "what is wrong"},
};
static const ek__fields warnings = {FIELDS(warning, "warnings[]", NULL)};
#undef EK__T

/* ---- the whole ---- */

#define EK__T ek_memory
GETTER(margin, number, it->limit > 0 ? it->margin : INT64_MIN);
static const ek__member verdict[] = {
    {"fits", FLAG(fits), "every stage's peak is within the limit; true when no limit is known"},
    {"limit_mb", BYTES_MB(limit), "what the framework may take of a device; null: not known", .positive = true},
    {"margin_mb", GET(BYTES_MB, margin),
     "limit minus the largest peak, negative when it does not fit; null without a limit"},
    {"fullest_stage", COUNT(fullest), "the stage with the largest peak"},
};
static const ek__fields verdicts = {FIELDS(verdict, NULL, NULL)};
static const ek__member prediction[] = {
    {"stages", LIST(n_stages, stage, ek__memory_stage), "one object a stage"},
    {"layer_kinds", ARRAY(n_layer_kinds, layer_kind, ek__memory_layer), "what one layer holds, by kind"},
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
     "assumed rules that decide `fits`, each changed alone; empty where none turns the answer, without a limit, and "
     "after `--calibrate`"},
    {"model", FOUND(job_of, models), "what is trained"},
    {"parallel", FOUND(job_of, parallels), "on how many devices, and how"},
    {NULL, EK__KIND_PARTS, .fields = &predictions, .find = memory_of},
    {"reading", GET(TEXT, reading),
     "what the reading of the file took for granted, where it may be read in two ways; else null"},
    {"literal", GET(FLAG, literal), "the file was read without that (`--literal`)"},
    {"basis", GET(TEXT, basis), "what the figures rest on"},
    {"rules", FOUND_LIST(first_rule, n_rules, ek__memory_rule), "what the framework does and a file does not say"},
    {"device", FOUND(device_of, devices), "with `--device`: what times are of", WHEN(has_device)},
    {"times_ms", LIST(n_times, time, ek__memory_times), "with `--device`: times of layers", WHEN(has_device)},
    {"measures", LIST(n_measures, measure, ek__memory_measure), "with `--measures`: what each alone would bring",
     WHEN(has_measures)},
    {"kept_tensors", LIST(n_kept, kept, ek__memory_kept_kind), "with `--tensors`: what one layer keeps",
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
    {"framework", GET(TEXT, framework), "whose defaults are meant"},
    {"rules", FOUND_LIST(first_rule, n_rules, ek__memory_rule), "the rules"},
};
const ek__fields ek__memory_rules_alone = {FIELDS(rules_alone, NULL, NULL), .lines = true};
#undef EK__T

static const ek__rows *next_table(const ek__rows *last)
{
    return ek__next_of(ek__memory_table, EK__N_MEMORY_TABLES, last);
}

const ek__result ek__result_memory = {"memory", "memory-json.md", &fields, next_table};
