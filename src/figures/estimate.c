/* Figures of an estimate: the step by part and by stage, memory, the comparison with a measured run, and the job. */
#include <math.h>

#include "evenkeel/estimate.h"
#include "evenkeel/estimate_report.h"
#include "figures/estimate_figures.h"
#include "figures/memory_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

static const ek_estimate_report *report_of(const ek__owner *of)
{
    return of->result;
}

static const ek_estimate *estimate_of(const ek__owner *of)
{
    return report_of(of)->estimate;
}

/* ---- parts of the step ---- */

/* A part's seconds in the array of its stage. The owner's number is the part; in the CSV it continues over the stages.
 */
#define EK__T double
#define STEP  (&estimate_of(of)->step)
#define PART  (of->number % EK_N_STEP_PARTS)
#define STAGE (of->number / EK_N_STEP_PARTS)
GETTER(part_name, text, ek_step_part_name[PART]);
GETTER(part_title, text, ek_step_part_title[PART]);
GETTER(part_seconds, real, *it);
GETTER(part_share, real, STEP->seconds > 0 ? *it / STEP->seconds : 0);
GETTER(part_percent, real, 100 * *it / STEP->seconds);
GETTER(part_basis, text, ek_cost_basis_name[STEP->basis[PART]]);
GETTER(part_error, real, STEP->error[PART]);
GETTER(stage_number, number, STAGE);
GETTER(stage_error, real, STAGE == STEP->slowest ? STEP->error[PART] : NAN);
GETTER(stage_peak, number, ek__memory_peak(&estimate_of(of)->memory.stage[STAGE]));
static const ek__member part[] = {
    {NULL, GET(COUNT, stage_number), NULL, CSV(1, "stage")},
    {"name", GET(TEXT, part_name), "one of [these](#parts)", CSV(2, "part")},
    {NULL, GET(TEXT, part_title), NULL, PAGE(1, "part", "Part")},
    {"seconds", GET(SECONDS, part_seconds), "time of the slowest stage for it", PAGE(2, "time", "Time", EK__LESS)},
    {NULL, GET(SECONDS, part_seconds), NULL, CSV(3, "seconds"), DECIMALS(9)},
    {NULL, GET(SHARE, part_share), NULL, CSV(4, "share"), DECIMALS(6)},
    {NULL, GET(PERCENT, part_percent), NULL, PAGE(3, "share", "Of the step")},
    {"basis", GET(TEXT, part_basis),
     "the weakest figure that the part rests on: `measured`, `fitted`, `derived` or `assumed`; `derived` if the job "
     "has no such part, `assumed` for an `input` that is not in the device file",
     CSV(5), PAGE(5, "basis", "Rests on")},
    {"standard_error_s", GET(SECONDS, part_error),
     "from the errors of the constants in the device file, as far as they have one; null, never 0, if none is known",
     PAGE(4, "error", "Standard error"), .positive = true},
    {NULL, GET(SECONDS, stage_error), NULL, CSV(6, "standard_error_s"), DECIMALS(9), .positive = true},
    {NULL, GET(BYTES_MB, stage_peak), NULL, CSV(7, "stage_peak_mb")},
};
static const ek__fields parts = {
    FIELDS(part, "parts[]", "Every part, in this order, also those of 0 s. They add up to `step_time_s`.")};
#undef EK__T

#define EK__R ek_estimate_report
static int n_cells(const ek_step *step)
{
    return step->n_stages * EK_N_STEP_PARTS;
}

static const double *slowest_part(const ek_step *step, int i)
{
    return &step->stage[step->slowest].seconds[i];
}

ITEMS(cell, n_cells(&r->estimate->step), &STEP->stage[STAGE].seconds[PART]);
ITEMS(part_there, EK_N_STEP_PARTS, *slowest_part(&r->estimate->step, i) > 0 ? slowest_part(STEP, i) : NULL);

#define EK__T ek_step_stage
GETTER(number, number, of->number);
static const ek__member stage[] = {
    {"stage", GET(COUNT, number), "from 0 on"},
    {"parts_s", BY_WORD(SECONDS, seconds, ek__step_part_name, EK_N_STEP_PARTS),
     "seconds of every part by its name; they add up to `step_time_s`"},
    {"hidden_data_s", SECONDS(hidden_data), "gradients and weights overlapped with computing, in no part"},
    {"hidden_tensor_s", SECONDS(hidden_tensor),
     "communication of tensor parallel groups overlapped with computing, in no part"},
};
static const ek__fields stages = {FIELDS(stage, "stages[]", NULL)};
#undef EK__T

/* ---- memory ---- */

#define EK__T ek_memory_stage
GETTER(peak, number, ek__memory_peak(it));
static const ek__member memory_stage[] = {
    {"stage", GET(COUNT, number), "from 0 on"},
    {"peak_mb", GET(BYTES_MB, peak), "with fragments"},
    {"used_peak_mb", BYTES_MB(used_peak), "without"},
};
static const ek__fields memory_stages = {FIELDS(memory_stage, "memory.stages[]", NULL)};
#undef EK__T

#define EK__T ek_memory
GETTER(fullest_peak, number, ek__memory_peak(&it->stage[it->fullest]));
GETTER(limit_from, text, it->limit <= 0 ? NULL : estimate_of(of)->limit_of_device ? "device" : "job");
static const ek__member memory[] = {
    {"peak_mb", GET(BYTES_MB, fullest_peak), "of the fullest stage, as `evenkeel memory` predicts it"},
    {"limit_mb", BYTES_MB(limit), "of a device; null: none is known", .positive = true},
    {"limit_from", GET(TEXT, limit_from), "`job`: the file or `--mem`; `device`: all that the device has; null"},
    {"fits", FLAG(fits), "every stage is within the limit"},
    {"fullest_stage", NUMBER(fullest), "the stage with the largest peak"},
    {"stages", SHORT_LIST(n_stages, stage, memory_stages), "every stage"},
};
static const ek__fields memories = {FIELDS(memory, "memory", NULL)};
#undef EK__T

/* ---- a measured run ---- */

typedef char text_of_estimate[EK_ESTIMATE_TEXT];
#define EK__T text_of_estimate
static const ek__member sentence[] = {{"", EK__KIND_TEXT, .in_place = true, .about = "a sentence"}};
static const ek__fields sentences = {FIELDS(sentence, NULL, NULL)};
#undef EK__T

/* Parts by number; on the page one more is the complete step. */
#define EK__T ek_against
#define WHOLE (of->number == EK_N_AGAINST_PARTS)
static double measured_of(const ek_against *a, const ek__owner *of)
{
    return WHOLE ? a->seconds : a->part[of->number];
}

static double predicted_of(const ek_against *a, const ek__owner *of)
{
    return WHOLE ? STEP->seconds : a->predicted[of->number];
}

GETTER(pair_name, text, ek_against_name[of->number]);
GETTER(pair_title, text, WHOLE ? "the whole" : ek_against_title[of->number]);
GETTER(measured, real, measured_of(it, of));
GETTER(predicted, real, predicted_of(it, of));
GETTER(off, real, measured_of(it, of) > 0 ? 100 * (predicted_of(it, of) / measured_of(it, of) - 1) : (double)NAN);
static const ek__member pair[] = {
    {"name", GET(TEXT, pair_name), "`compute`, `exposed`, `pipeline`, `idle`"},
    {NULL, GET(TEXT, pair_title), NULL, PAGE(1, "what", "Of the step")},
    {"measured_s", GET(SECONDS, measured), "in the trace", PAGE(2, "measured", "Measured")},
    {"predicted_s", GET(SECONDS, predicted), "of the parts of the step that it is held against",
     PAGE(3, "predicted", "Predicted")},
    {NULL, GET(PERCENT, off), NULL, PAGE(4, "error", "Error")},
};
static const ek__fields pairs = {FIELDS_BY_NUMBER(pair, "against.parts[]", "Each side adds up to its step.")};

static bool is_there(const ek_against *a, int i)
{
    return i == EK_N_AGAINST_PARTS || (a->has_parts && (a->part[i] > 0 || a->predicted[i] > 0));
}

ITEMS(pair_there, EK_N_AGAINST_PARTS + 1, is_there(r->against, i) ? r->against : NULL);

GETTER(source, text, report_of(of)->against_source);
GETTER(whole_predicted, real, STEP->seconds);
GETTER(worst, text, it->has_parts ? ek_against_name[it->worst] : NULL);
COUNTER(n_pairs, it->has_parts ? EK_N_AGAINST_PARTS : 0);
static const ek__member against[] = {
    {"source", GET(TEXT, source), "the log or trace"},
    {"what", CHARS(words), "description of its step: \"median of 40 steps, warm-up left out\""},
    {"measured_s", SECONDS(seconds), "its step"},
    {"predicted_s", GET(SECONDS, whole_predicted), "`step_time_s`"},
    {"error", SHARE(error), "predicted over measured, minus 1"},
    {"parts", NUMBERED(n_pairs, pairs), "of a trace; empty for a log", .lines = true},
    {"differs_most", GET(TEXT, worst), "the part with the largest difference in seconds; null for a log"},
    {"remarks", ARRAY(texts.n, texts.text, sentences),
     "the constants that it points to, and where the run is not the job"},
};
static const ek__fields measured_run = {FIELDS(against, "against", "With `--against`; null without."), .lines = true};
#undef EK__T

/* ---- the job ---- */

#define EK__T ek_job
GETTER(devices, number, estimate_of(of)->metrics.n_devices);
GETTER(schedule, text, it->schedule->name);
static const ek__member job[] = {
    {"name", CHARS(name), "of the model"},
    {"framework", WORD(framework, ek__framework_name), "framework of the file"},
    {"n_layers", COUNT(model.n_layers), "without those of multi-token prediction"},
    {"hidden", COUNT(model.hidden), "hidden size"},
    {"devices", GET(COUNT, devices), "all of them"},
    {"data", COUNT(parallel.data), "data parallel degree"},
    {"tensor", COUNT(parallel.tensor), "tensor parallel degree"},
    {"pipeline", COUNT(parallel.pipeline), "stages"},
    {"context", COUNT(parallel.context), "context parallel degree"},
    {"expert", COUNT(parallel.expert), "expert parallel degree"},
    {"n_chunks", COUNT(plan.n_chunks), "of a stage"},
    {"n_micro_batches", COUNT(parallel.n_micro_batches), "of a step"},
    {"batch", COUNT(parallel.batch), "sequences of a micro-batch"},
    {"seq_length", COUNT(parallel.seq_length), "tokens of a sequence"},
    {"schedule", GET(TEXT, schedule), "of the pipeline"},
};
static const ek__fields jobs = {FIELDS(job, "job", NULL)};
#undef EK__T

#define EK__T ek_job_run
static const ek__member run[] = {
    {"launch", WORD(launch, ek__launch_name), "`eager`, `compiled`, `graph`"},
    {"overlap_gradients", FLAG(overlap_gradients), "gradient reduction is overlapped with computing"},
    {"overlap_weights", FLAG(overlap_weights), "weight gathering is overlapped with computing"},
    {"overlap_tensor", FLAG(overlap_tensor), "tensor parallel communication is overlapped with computing"},
    {"overlap_tensor_gradients", FLAG(overlap_tensor_gradients), "the same, of backward passes only"},
    {"overlap_expert", FLAG(overlap_expert), "expert parallel communication is overlapped with computing"},
    {"send_once", FLAG(send_once), "tokens go once to each node"},
    {"overlap_p2p", FLAG(overlap_p2p), "sends and receives of stages are overlapped with computing"},
    {"bucket_bytes", REAL(bucket_bytes), "of gradients; 0: all at once"},
    {"fp8", WORD(fp8, ek__fp8_name), "`none`, `delayed`, `tensorwise`, `rowwise`, `blockwise`"},
};
static const ek__fields runs = {FIELDS(run, "run", "How the framework runs the step.")};
#undef EK__T

#define EK__T ek_device
GETTER(error_basis, text, it->error > 0 ? ek_error_basis_name[it->error_basis] : NULL);
static const ek__member device[] = {
    {"name", CHARS(name), "of the device"},
    {"source", CHARS(source), "where its figures are from"},
    {"certain", FLAG(certain), "false: a figure is not from a product sheet"},
    {"error", SHARE(error), "standard error of a step; null where none is known", .positive = true},
    {"error_basis", GET(TEXT, error_basis),
     "`fit`: of the runs fitted; `leave_one_out`, `leave_group_out`: of runs or groups left out of the fit; `assumed`; "
     "null where there is no error"},
};
static const ek__fields the_devices = {FIELDS(device, "device", NULL)};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_estimate
static const char *warning_of(const ek_estimate_report *r, int i)
{
    int n = r->estimate->warnings.n;
    return i < n ? r->estimate->warnings.text[i] : r->warning[i - n].message;
}

GETTER(warning_text, text, warning_of(report_of(of), of->number));
static const ek__member warning[] = {{"", GET(TEXT, warning_text), "a sentence"}};
static const ek__fields warnings = {FIELDS_BY_NUMBER(warning, NULL, NULL)};

GETTER(error_share, real, it->step.standard_error / it->step.seconds);
GETTER(near, text, ek_near_name[it->near]);
WRITER(near_words, ek_near_words(it->step.nearest, text, room));
FINDER(slowest_parts, slowest_part(&it->step, 0));
COUNTER(n_parts, EK_N_STEP_PARTS);
FINDER(the_run_beside, report_of(of)->against);
FINDER(the_job, it->job);
FINDER(the_run, &it->job->run);
FINDER(the_device, it->device);
COUNTER(n_warnings, it->warnings.n + report_of(of)->n_warnings);
static const ek__member figure[] = {
    {"step_time_s", SECONDS(step.seconds), "a step"},
    {"standard_error_s", SECONDS(step.standard_error),
     "its standard error: the device's `error` where it has one, with its basis in `device.error_basis`; otherwise "
     "from those of its parts; null if none has one",
     .positive = true},
    {"standard_error", GET(SHARE, error_share), "the same of the step", .positive = true},
    {"tokens_per_second_per_device", REAL(metrics.tokens_per_second_per_device), "tokens/s of a device"},
    {"samples_per_second", REAL(metrics.samples_per_second), "sequences a second, of all devices"},
    {"tokens_per_step", REAL(tokens_per_step), "of all devices"},
    {"global_batch", REAL(metrics.global_batch), "sequences of a step"},
    {"mfu", SHARE(metrics.mfu),
     "model FLOPs over the peak, as [`evenkeel metrics`](metrics.md) counts them, causal attention counted half"},
    {"hfu", SHARE(metrics.hfu), "the same including recomputation"},
    {"micro_batch_s", SECONDS(step.micro_batch_seconds),
     "forward and backward pass of one micro-batch on the slowest stage"},
    {"tokens", REAL(wanted_tokens), "of the training run, as `--tokens` gives them; null without"},
    {"days", REAL(days), "how long training on them takes; null without"},
    {"nearest_measured", REAL(step.nearest),
     "distance to the nearest measured shape or layer of the device, in powers of e: 0.69 is a factor of 2; null: none "
     "is measured"},
    {"nearest", GET(TEXT, near), "`unknown`, `met` (within 5 %), `close` (within a factor of 1.5) or `new`"},
    {"nearest_words", COMPOSE(near_words), "the same as a sentence"},
    {"share_without_error", SHARE(share_without_error),
     "of the step, in parts that are neither measured nor have a standard error: in no `standard_error`"},
    {"slowest_stage", NUMBER(step.slowest), "the stage that computes longest; `parts` are its"},
    {"basis_share", BY_WORD(SHARE, basis_share, ek__cost_basis_name, EK_N_COST_BASES),
     "shares of its step by basis: `measured`, `fitted`, `derived`, `assumed`"},
    {"parts", FOUND_LIST(slowest_parts, n_parts, parts), "where the step goes"},
    {"stages", LIST(step.n_stages, step.stage, stages), "every stage"},
    {"memory", OBJECT(memory, memories), "whether it fits"},
    {"against", FOUND(the_run_beside, measured_run), "the measured run"},
    {"job", FOUND(the_job, jobs), "the job"},
    {"run", FOUND(the_run, runs), "how it runs"},
    {"device", FOUND(the_device, the_devices), "the device"},
    {"advice", ARRAY(advice.n, advice.text, sentences), "measurements that reduce the error, the most useful first"},
    {"warnings", NUMBERED(n_warnings, warnings),
     "doubtful figures, effects that are not modelled, warnings of the readers", .lines = true},
};
static const ek__fields figures = {FIELDS(figure, NULL, NULL)};
#undef EK__T

#define EK__T ek_estimate_report
GETTER(version, number, 1);
FINDER(the_estimate, it->estimate);
static const ek__member report[] = {
    {"version", GET(COUNT, version), "1"},
    {NULL, FOUND_PARTS(the_estimate, figures), NULL},
};
static const ek__fields fields = {FIELDS(report, NULL, NULL), .lines = true};
#undef EK__T

const ek__rows ek__estimate_table[] = {
    [EK__ESTIMATE_CSV] = {"stages and parts", .fields = &parts, RESULT_ITEMS(cell)},
    [EK__ESTIMATE_PARTS] = {NULL, "estimate", "parts", "Where the step goes", .fields = &parts,
                            RESULT_ITEMS(part_there)},
    [EK__ESTIMATE_ERRORS] = {NULL, "estimate", "errors", "How far the prediction is off", .fields = &pairs,
                             RESULT_ITEMS(pair_there)},
};

static const ek__rows *next_rows(const ek__rows *last)
{
    return ek__next_of(ek__estimate_table, EK__N_ESTIMATE_TABLES, last);
}

const ek__result ek__result_estimate = {"estimate", "estimate-json.md", &fields, next_rows, NULL};
