/* Figures of a run's use of its devices, each with its basis: "given" comes from the user, "measured" from a log or a
 * trace, "log" and "model file" name the source of a size, "counted" comes from the model's shapes, "derived" from the
 * others by its formula, and "assumed" means that it depends on a figure that no product sheet has. */
#include <math.h>
#include <string.h>

#include "evenkeel/metrics.h"
#include "evenkeel/train_log.h"
#include "figures/metrics_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

/* ---- the basis of a figure ---- */

/* The basis of a rate: the input value is measured or given, the others are derived. */
static const char *rate_basis(const ek_metrics_report *r, double put_in)
{
    if (isnan(put_in) || put_in == 0)
        return "derived";
    return r->log || r->n_trace_steps > 0 ? "measured" : "given";
}

/* Of a size of the run. */
static const char *size_basis(const ek_metrics_report *r, double put_in, bool of_log)
{
    bool given = !isnan(put_in) && put_in != 0;
    return r->input->job ? "model file" : of_log ? "log" : given ? "given" : "derived";
}

static bool is_assumed(const ek_metrics_input *in)
{
    return in->device && !in->device->certain && !(in->peak_tflops > 0);
}

static const char *peak_basis(const ek_metrics_input *in)
{
    return in->peak_tflops > 0 ? "given" : is_assumed(in) ? "assumed" : "data sheet";
}

static const char *share_basis(const ek_metrics_input *in)
{
    return is_assumed(in) ? "assumed" : "derived";
}

static const char *flops_basis(const ek_metrics *m)
{
    return m->flops_source == EK_FLOPS_COUNTED ? "counted" : m->flops_source == EK_FLOPS_GIVEN ? "given" : "derived";
}

/* ---- the figures, and the table for people ---- */

/* Key, value, sentence; for text title, unit, decimals, scale, its basis in a report r, formula. */
#define FIGURES(X)                                                                                                     \
    X("step_seconds", SECONDS(step_seconds), "time of a step", "step time", brief ? "ms" : "s", 3, brief ? 1e3 : 1,    \
      rate_basis(r, in->step_seconds), "GBS / samples/s")                                                              \
    X("global_batch", POSITIVE(global_batch), "sequences of a step", "global batch GBS", "sequences", 0, 1,            \
      size_basis(r, in->global_batch, r->log_batch), "d B m")                                                          \
    X("n_devices", SIZE(n_devices), "all devices", "devices D", "", 0, 1,                                              \
      size_basis(r, in->n_devices, r->log_devices), "d t p cp")                                                        \
    X("seq_length", SIZE(seq_length), "tokens of a sequence", "sequence length S", "tokens", 0, 1,                     \
      size_basis(r, in->seq_length, r->log_length), "")                                                                \
    X("samples_per_second", REAL(samples_per_second), "samples/s of the cluster", "throughput", "samples/s", 3, 1,     \
      rate_basis(r, in->samples_per_second), "GBS / step time")                                                        \
    X("samples_per_second_per_device", REAL(samples_per_second_per_device), "samples/s over all devices",              \
      "samples/s/p, p all devices", "samples/s", 5, 1, "derived", "GBS / (step time D)")                               \
    X("tokens_per_second", REAL(tokens_per_second), "tokens/s of the cluster", "tokens of the cluster", "tokens/s", 0, \
      1, "derived", "GBS S / step time")                                                                               \
    X("tokens_per_second_per_device", REAL(tokens_per_second_per_device), "tokens/s of a device",                      \
      "tokens of a device", "tokens/s/p", 1, 1, rate_basis(r, in->tokens_per_second_per_device),                       \
      "GBS S / (step time D)")                                                                                         \
    X("model_flops_per_token", REAL(model_flops_per_token), "FLOP, forward and backward", "model FLOPs of a token",    \
      "GFLOP", 3, 1e-9, flops_basis(m), m->flops_source == EK_FLOPS_SIX_P ? "6 P" : "3 forward")                       \
    X("hardware_flops_per_token", REAL(hardware_flops_per_token), "FLOP, including recomputation",                     \
      "... with recomputation", "GFLOP", 3, 1e-9, flops_basis(m), "3 forward + recomputed")                            \
    X("achieved_tflops", REAL(achieved_tflops), "TFLOP/s of a device, by model FLOPs", "achieved, model FLOPs",        \
      "TFLOP/s/p", 1, 1, "derived", "model FLOPs * tokens/s/p")                                                        \
    X("hardware_tflops", REAL(hardware_tflops), "TFLOP/s of a device, by hardware FLOPs",                              \
      "achieved, with recomputation", "TFLOP/s/p", 1, 1, "derived", "hardware FLOPs * tokens/s/p")                     \
    X("peak_tflops", REAL(peak_tflops), "TFLOP/s of a device", "peak of a device", "TFLOP/s", 1, 1, peak_basis(in),    \
      "")                                                                                                              \
    X("mfu", SHARE(mfu), "share of the peak by model FLOPs, 1 is all of it", "MFU", "%", 1, 100, share_basis(in),      \
      "achieved, model FLOPs / peak")                                                                                  \
    X("hfu", SHARE(hfu), "the same by hardware FLOPs", "HFU", "%", 1, 100, share_basis(in),                            \
      "achieved, with recomputation / peak")                                                                           \
    X("linearity", SHARE(linearity), "samples/s of a device over that of the baseline", "linearity", "%", 1, 100,      \
      "derived", "samples/s/p / that of the baseline")
#define BUBBLES(X, OF)                                                                                                 \
    X(OF "share", SHARE(bubble_share), "idle over step, (p-1)/(v m + p-1)", "bubble, idle / step", "%", 2, 100,        \
      "derived", "(p-1) / (v m + p-1)")                                                                                \
    X(OF "ratio", SHARE(bubble_ratio), "idle over useful, (p-1)/(v m)", "bubble, idle / useful (SAPP)", "%", 2, 100,   \
      "derived", "(p-1) / (v m)")
#define POSITIVE(m)                     REAL(m), .positive = true
#define MEMBER(key, value, about_, ...) {key, value, .about = about_},
#define LINE(key, value, about_, ...)   {{key, value, .about = about_}, __VA_ARGS__},
#define KEY(key, ...)                   key,

#define EK__T ek_metrics
static const ek__member figure[] = {FIGURES(MEMBER)};
static const ek__fields figures = {FIELDS(figure, NULL, NULL)};
static const ek__member bubble[] = {
    BUBBLES(MEMBER, "") /* as of the table */
    {"n_stages", SIZE(n_stages), "p"},
    {"n_chunks", SIZE(n_chunks), "v, of a stage"},
    {"n_micro_batches", SIZE(n_micro_batches), "m"},
};
static const ek__fields bubbles = {FIELDS(bubble, "bubble", "Without communication.")};

void ek__metrics_lines(const ek_metrics_report *r, ek__metrics_line out[EK__N_METRICS_LINES])
{
    const ek_metrics *m = r->metrics;
    const ek_metrics_input *in = r->input;
    bool brief = m->step_seconds < 1;
    const ek__metrics_line all[EK__N_METRICS_LINES] = {FIGURES(LINE) BUBBLES(LINE, "bubble_")};
    memcpy(out, all, sizeof all);
}
#undef EK__T

double ek__metrics_value(const ek__metrics_line *line, const ek_metrics *m)
{
    const ek__reading value = ek__member_value(&line->figure, m, NULL);
    if (!ek__kind_is_whole(line->figure.kind))
        return value.real;
    return value.number == INT64_MIN ? (double)NAN : (double)value.number;
}

/* ---- the prediction ---- */

#define EK__T ek_metrics_prediction
static const ek__member prediction[] = {
    {"step_seconds", SECONDS(step.seconds), "the step"},
    {"standard_error_seconds", SECONDS(step.standard_error), "of it; null: not known", .positive = true},
    {"tokens_per_second_per_device", REAL(metrics.tokens_per_second_per_device), "tokens/s of a device"},
    {"mfu", SHARE(metrics.mfu), "share of the peak by model FLOPs"},
    {"hfu", SHARE(metrics.hfu), "the same by hardware FLOPs"},
    {"error", SHARE(error), "over the measured step, minus 1; null where none was"},
    {"basis", BY_WORD(SHARE, basis_share, ek__cost_basis_name, EK_N_COST_BASES),
     "shares of the step that rest on `measured`, `fitted`, `derived`, `assumed` figures"},
};
static const ek__fields predictions = {
    FIELDS(prediction, "predicted", "The step that is predicted of the model file on the device."), .lines = true};
#undef EK__T

/* ---- FLOPs ---- */

#define EK__T ek_flops_term
static const ek__member term[] = {
    {"name", CHARS(name), "\"attention scores\""},
    {"formula", CHARS(formula), "of forward, in the letters of [models.md](models.md)"},
    {"forward", REAL(forward), "FLOP a token"},
    {"recomputed", REAL(recomputed), "FLOP a token, of the second forward pass"},
};
static const ek__fields terms = {FIELDS(term, "terms[]", NULL)};
#undef EK__T

#define EK__T ek_flops
static const ek_metrics_input *input_of(const ek__owner *of)
{
    return ((const ek_metrics_report *)of->result)->input;
}

static double given(double parameters)
{
    return parameters > 0 ? parameters : (double)NAN;
}

GETTER(forward, real, it->n > 0 ? it->forward : (double)NAN);
GETTER(recomputed, real, it->n > 0 ? it->recomputed : (double)NAN);
GETTER(parameters, real, it->n > 0 ? it->parameters : given(input_of(of)->parameters));
GETTER(active_parameters, real, it->n > 0 ? it->active_parameters : (double)NAN);
static const ek__member flop[] = {
    {"forward_flops_per_token", GET(REAL, forward), "FLOP, of the terms"},
    {"recomputed_flops_per_token", GET(REAL, recomputed), "the same, of recomputation"},
    {"parameters", GET(REAL, parameters), "of the model"},
    {"active_parameters", GET(REAL, active_parameters), "those that a token meets"},
    {"terms", ARRAY(n, term, terms), "of the FLOPs; empty without a model file"},
};
static const ek__fields flops = {FIELDS(flop, NULL, NULL)};
#undef EK__T

/* ---- sources ---- */

#define EK__T ek_metrics_input
static const ek__member baseline[] = {
    {"samples_per_second", REAL(baseline), "samples/s of its devices together"},
    {"n_devices", COUNT(baseline_devices), "its devices"},
};
static const ek__fields baselines = {FIELDS(baseline, "baseline", "Null without one.")};
#undef EK__T

#define EK__T ek_train_log_summary
static const ek_train_log_summary no_summary = {0, 0, NAN, NAN, NAN, NAN, NAN, NAN};
static const ek__member summary[] = {
    {"n_left_out_at_start", COUNT(first), "slow or earlier ones at the start"},
    {"n_counted", COUNT(n), "steps that the figures are over"},
    {"median_seconds", SECONDS(median_seconds), "of a step"},
    {"mean_seconds", SECONDS(mean_seconds), "of a step"},
    {"deviation_seconds", SECONDS(deviation_seconds), "standard deviation of a step"},
    {"worst_seconds", SECONDS(worst_seconds), "the longest step"},
    {"median_samples_per_second_per_device", REAL(median_rate), "samples/s over all devices, as the log prints it"},
    {"median_tflops", REAL(median_tflops), "TFLOP/s of a device, as the log prints it"},
};
static const ek__fields summaries = {FIELDS(summary, NULL, NULL)};
#undef EK__T

#define EK__T ek_train_log
static const ek_train_log_summary *summary_of(const ek_metrics_report *r)
{
    return r->summary ? r->summary : &no_summary;
}

FINDER(the_summary, summary_of(of->result));
GETTER(first_loss, real, it->step[0].loss);
GETTER(last_loss, real, it->step[it->n - 1].loss);
static const ek__member train_log[] = {
    {"framework", WORD(kind, ek__train_log_kind_name), "that wrote it"},
    {"n_steps", COUNT(n), "that it prints"},
    {NULL, FOUND_PARTS(the_summary, summaries)},
    {"first_loss", GET(REAL, first_loss), "of the first step"},
    {"last_loss", GET(REAL, last_loss), "of the last step"},
    {"peak_mb", MB(peak_mb), "largest memory that it prints"},
};
static const ek__fields logs = {FIELDS(train_log, "log", "Null without one.")};
#undef EK__T

#define EK__T ek_device
static double rate_of(const ek_tier *tier)
{
    return tier->gbs / tier->devices_per_card;
}

GETTER(inside, real, rate_of(&it->tier[0]));
GETTER(between, real, rate_of(&it->tier[it->n_tiers - 1]));
static const ek__member device[] = {
    {"name", CHARS(name), "of the device"},
    {"source", CHARS(source), "where its figures are from"},
    {"certain", FLAG(certain), "false: a figure is not from a product sheet"},
    {"peak_tflops_float32", REAL(peak_tflops[EK_FP32]), "dense, TFLOP/s; null: not there", .positive = true},
    {"peak_tflops_bfloat16", REAL(peak_tflops[EK_BF16]), "the same", .positive = true},
    {"peak_tflops_float16", REAL(peak_tflops[EK_FP16]), "the same", .positive = true},
    {"memory_gib", REAL(memory_gib), "2^30 bytes"},
    {"memory_gbs", GBPS(memory_gbs), "10^9 B/s of the memory"},
    {"intra_gbs", GET(GBPS, inside), "10^9 B/s of a device, per direction, inside a node"},
    {"inter_gbs", GET(GBPS, between), "the same between nodes"},
};
static const ek__fields devices = {FIELDS(device, "device", "Null without one.")};
#undef EK__T

#define EK__T ek__device_list
GETTER(version, number, 1);
static const ek__member device_list[] = {
    {"version", GET(COUNT, version), "1"},
    {"devices", LIST(n, device, devices), "that are known by name"},
};
const ek__fields ek__device_list_fields = {FIELDS(device_list, NULL, NULL), .lines = true};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_metrics_report
static const char *basis_of(const ek_metrics_report *r, int i)
{
    ek__metrics_line line[EK__N_METRICS_LINES];
    ek__metrics_lines(r, line);
    return isnan(ek__metrics_value(&line[i], r->metrics)) ? NULL : line[i].basis;
}

static const char *const key[] = {FIGURES(KEY) BUBBLES(KEY, "bubble_")};
FINDER(the_metrics, it->metrics);
FINDER(the_prediction, it->predicted);
FINDER(the_flops, &it->metrics->flops);
FINDER(the_baseline, it->input->baseline > 0 ? it->input : NULL);
FINDER(the_log, it->log);
FINDER(the_device, it->input->device);
GETTER(flops_source, text, ek_flops_source_name[it->metrics->flops_source]);
GETTER(attention, text, ek_attention_count_name[it->input->attention]);
GETTER(basis, text, basis_of(it, of->number));
static const ek__member report[] = {
    {"version", GET(COUNT, version), "1"},
    {NULL, FOUND_PARTS(the_metrics, figures)},
    {"not_predicted", TEXT(not_predicted), "why there is no `predicted` where a model file and a device are there"},
    {"predicted", FOUND(the_prediction, predictions), "the predicted step; null: none is"},
    {"bubble", FOUND(the_metrics, bubbles), "of the pipeline"},
    {"flops_source", GET(TEXT, flops_source), "`counted` from a model file, `given`, `6P`, `unknown`"},
    {"attention", GET(TEXT, attention), "`causal`, `full`, `none`"},
    {NULL, FOUND_PARTS(the_flops, flops)},
    {"baseline", FOUND(the_baseline, baselines), "baseline of the linearity"},
    {"source", TEXT(source), "the file that the measured time comes from, or `given`"},
    {"log", FOUND(the_log, logs), "the training log"},
    {"n_trace_steps", SIZE(n_trace_steps), "steps that the trace's time is the mean of; null without a trace"},
    {"trace_step", TEXT(trace_step),
     "which [definition of a step](trace.md#the-length-of-a-step) that is, with its numbers; null without a trace"},
    {"device", FOUND(the_device, devices), "the device"},
    {"basis", GET_BY_WORD(TEXT, basis, key, EK__N_METRICS_LINES),
     "for each figure above, `bubble_share` and `bubble_ratio` too, its basis: `given`, `measured`, `log`, `model "
     "file`, `counted`, `data sheet`, `derived`, `assumed`; null where the figure is",
     .lines = true},
};
static const ek__fields fields = {FIELDS(report, NULL, NULL), .lines = true};
#undef EK__T

const ek__result ek__result_metrics = {"metrics", "metrics-json.md", &fields, NULL, NULL};
