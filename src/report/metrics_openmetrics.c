/* Writes the metrics of a run in the text format of OpenMetrics 1.0, which Prometheus and its exporters read: a family
 * of samples for each known figure, in base units, which are the suffixes of the names. Figures of the run and of the
 * predicted step are samples of one family, distinguished by the label `of`. There are only gauges and counters, so
 * that readers of Prometheus' older text format can parse it too: for them units and the end are comments, and they do
 * not know the type `info`. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/digits.h"
#include "base/print.h"
#include "base/utf8.h"
#include "evenkeel/evenkeel.h"
#include "figures/metrics_figures.h"
#include "report/report_internal.h"
#include "report/writers.h"

/* ---- samples ---- */

typedef enum sample_type { GAUGE, COUNTER } sample_type;

typedef struct family {
    const char *name, *unit; /* without evenkeel_ and without the unit; "": no unit */
    const char *help;
    sample_type type;
} family;

typedef struct label {
    const char *name, *value; /* NULL: unknown, and omitted */
} label;

typedef struct stream {
    FILE *out;
    const family *open; /* the family being printed */
} stream;

/* A backslash, a quote or the end of a line would end a label's value or a line. */
static void print_escaped(const char *text, FILE *out)
{
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        if (code == '\\' || code == '"')
            fprintf(out, "\\%c", (int)code);
        else if (code == '\n')
            fputs("\\n", out);
        else
            ek__utf8_print(code, out);
    }
}

static void print_name(const family *f, FILE *out)
{
    fprintf(out, "evenkeel_%s%s%s", f->name, *f->unit ? "_" : "", f->unit);
}

static void print_head(const family *f, FILE *out)
{
    static const char *const word[] = {[GAUGE] = "gauge", [COUNTER] = "counter"};
    fputs("# HELP ", out);
    print_name(f, out);
    fputc(' ', out);
    print_escaped(f->help, out);
    fputs("\n# TYPE ", out);
    print_name(f, out);
    fprintf(out, " %s\n", word[f->type]);
    if (*f->unit) {
        fputs("# UNIT ", out);
        print_name(f, out);
        fprintf(out, " %s\n", f->unit);
    }
}

/* A sample, unless its value is unknown. Those of a family are contiguous. */
static void print_sample(stream *s, const family *f, double value, const label *labels, int n)
{
    static const char *const suffix[] = {[GAUGE] = "", [COUNTER] = "_total"};
    const char *between = "{";
    if (!isfinite(value))
        return;
    if (s->open != f)
        print_head(f, s->out);
    s->open = f;
    print_name(f, s->out);
    fputs(suffix[f->type], s->out);
    for (int i = 0; i < n; i++)
        if (labels[i].value) {
            fprintf(s->out, "%s%s=\"", between, labels[i].name);
            print_escaped(labels[i].value, s->out);
            fputc('"', s->out);
            between = ",";
        }
    fprintf(s->out, "%s %s\n", *between == ',' ? "}" : "", ek__real(value).text);
}

#define SAMPLE(s, f, value, ...)                                                                                       \
    print_sample(s, f, value, (const label[]){__VA_ARGS__}, sizeof((label[]){__VA_ARGS__}) / sizeof(label))

/* ---- figures of the run, and of the predicted step ---- */

static const char of_run[] = "run", of_prediction[] = "prediction";

/* By key of the figure's description. */
static const struct {
    const char *key;
    double scale;
    family family;
} figures[] = {
    {"step_seconds", 1, {"step_time", "seconds", "Time of a step.", GAUGE}},
    {"global_batch", 1, {"global_batch", "sequences", "Sequences of a step.", GAUGE}},
    {"n_devices", 1, {"run", "devices", "All devices of the run.", GAUGE}},
    {"seq_length", 1, {"sequence_length", "tokens", "Tokens of a sequence.", GAUGE}},
    {"samples_per_second", 1, {"run_throughput", "samples_per_second", "Sequences a second of the run.", GAUGE}},
    {"samples_per_second_per_device",
     1,
     {"device_throughput", "samples_per_second", "Sequences a second over all devices.", GAUGE}},
    {"tokens_per_second", 1, {"run_throughput", "tokens_per_second", "Tokens a second of the run.", GAUGE}},
    {"tokens_per_second_per_device",
     1,
     {"device_throughput", "tokens_per_second", "Tokens a second of a device.", GAUGE}},
    {"model_flops_per_token", 1, {"model", "flops_per_token", "FLOP of a token, forward and backward.", GAUGE}},
    {"hardware_flops_per_token", 1, {"hardware", "flops_per_token", "FLOP of a token including recomputation.", GAUGE}},
    {"achieved_tflops", 1e12, {"device_model", "flops_per_second", "FLOP/s of a device, by model FLOPs.", GAUGE}},
    {"hardware_tflops", 1e12, {"device_hardware", "flops_per_second", "FLOP/s of a device, by hardware FLOPs.", GAUGE}},
    {"peak_tflops", 1e12, {"device_peak", "flops_per_second", "FLOP/s of a device at most.", GAUGE}},
    {"mfu", 1, {"model_flops_utilization", "ratio", "Share of the peak by model FLOPs (MFU).", GAUGE}},
    {"hfu", 1, {"hardware_flops_utilization", "ratio", "Share of the peak by hardware FLOPs (HFU).", GAUGE}},
    {"linearity", 1, {"linearity", "ratio", "Samples/s of a device over that of the baseline.", GAUGE}},
    {"bubble_share",
     1,
     {"bubble_of_step", "ratio", "Bubble of the pipeline: idle over step, (p-1)/(v m + p-1).", GAUGE}},
    {"bubble_ratio",
     1,
     {"bubble_of_work", "ratio", "Bubble of the pipeline: idle over useful work, (p-1)/(v m).", GAUGE}},
};
enum { N_FIGURES = sizeof figures / sizeof *figures };
_Static_assert((int)N_FIGURES == (int)EK__N_METRICS_LINES, "a name for every figure");

/* The figure of the prediction with that key; NAN: there is none. */
static double predicted_value(const ek_metrics_prediction *p, const char *key)
{
    if (!p)
        return NAN;
    if (strcmp(key, "step_seconds") == 0)
        return p->step.seconds;
    if (strcmp(key, "tokens_per_second_per_device") == 0)
        return p->metrics.tokens_per_second_per_device;
    if (strcmp(key, "mfu") == 0)
        return p->metrics.mfu;
    return strcmp(key, "hfu") == 0 ? p->metrics.hfu : (double)NAN;
}

/* In the order of the description, which is also that of the table. */
static void print_figures(stream *s, const ek_metrics_report *r)
{
    ek__metrics_line line[EK__N_METRICS_LINES];
    ek__metrics_lines(r, line);
    for (int i = 0; i < EK__N_METRICS_LINES; i++) {
        assert(strcmp(line[i].figure.key, figures[i].key) == 0);
        SAMPLE(s, &figures[i].family, figures[i].scale * ek__metrics_value(&line[i], r->metrics), {"of", of_run});
        SAMPLE(s, &figures[i].family, figures[i].scale * predicted_value(r->predicted, figures[i].key),
               {"of", of_prediction});
    }
}

/* The basis of each figure of the run. */
static void print_bases(stream *s, const ek_metrics_report *r)
{
    static const family basis = {"figure_info", "", "Basis of a figure of the run, by its key in the JSON.", GAUGE};
    ek__metrics_line line[EK__N_METRICS_LINES];
    ek__metrics_lines(r, line);
    for (int i = 0; i < EK__N_METRICS_LINES; i++)
        if (!isnan(ek__metrics_value(&line[i], r->metrics)))
            SAMPLE(s, &basis, 1, {"figure", line[i].figure.key}, {"basis", line[i].basis});
}

static void print_prediction(stream *s, const ek_metrics_prediction *p)
{
    static const family doubt = {"prediction_standard_error", "seconds", "Standard error of the predicted step.",
                                 GAUGE},
                        error = {"prediction_error", "ratio", "Predicted over measured step, minus 1.", GAUGE},
                        basis = {"prediction_basis", "ratio", "Share of the predicted step that rests on such figures.",
                                 GAUGE};
    if (!p)
        return;
    SAMPLE(s, &doubt, p->step.standard_error > 0 ? p->step.standard_error : (double)NAN, {NULL, NULL});
    SAMPLE(s, &error, p->error, {NULL, NULL});
    for (int i = 0; i < EK_N_COST_BASES; i++)
        SAMPLE(s, &basis, p->basis_share[i], {"basis", ek_cost_basis_name[i]});
}

/* ---- sources ---- */

static void print_run(stream *s, const ek_metrics_report *r)
{
    static const family run = {"run_info", "", "The run of the figures.", GAUGE};
    const ek_metrics_input *in = r->input;
    SAMPLE(s, &run, 1, {"evenkeel", EK_VERSION}, {"source", r->source},
           {"log", r->log ? ek_train_log_kind_name[r->log->kind] : NULL},
           {"device", in->device ? in->device->name : NULL},
           {"flops_source", ek_flops_source_name[r->metrics->flops_source]},
           {"attention", ek_attention_count_name[in->attention]});
}

static void print_flops(stream *s, const ek_flops *flops)
{
    static const family term = {"term", "flops_per_token", "FLOP of a token by term.", GAUGE},
                        counted = {"model", "parameters", "Parameters of the model.", GAUGE},
                        active = {"model_active", "parameters", "Parameters that a token meets.", GAUGE};
    for (int i = 0; i < flops->n; i++) {
        SAMPLE(s, &term, flops->term[i].forward, {"term", flops->term[i].name}, {"pass", "forward"});
        SAMPLE(s, &term, flops->term[i].recomputed, {"term", flops->term[i].name}, {"pass", "recomputed"});
    }
    if (flops->n == 0)
        return;
    SAMPLE(s, &counted, flops->parameters, {NULL, NULL});
    SAMPLE(s, &active, flops->active_parameters, {NULL, NULL});
}

static void print_log(stream *s, const ek_metrics_report *r)
{
    static const family steps = {"log_steps", "", "Steps that the training log prints.", COUNTER},
                        used = {"log_counted", "steps", "Steps of the log that figures are over.", GAUGE},
                        time = {"log_step_time", "seconds", "Time of the log's steps that count.", GAUGE},
                        loss = {"log_loss", "", "Loss that the log prints.", GAUGE},
                        peak = {"log_peak_memory", "bytes", "Largest memory that the log prints.", GAUGE};
    const ek_train_log *log = r->log;
    if (!log)
        return;
    SAMPLE(s, &steps, log->n, {NULL, NULL});
    if (r->summary) {
        SAMPLE(s, &used, r->summary->n, {NULL, NULL});
        SAMPLE(s, &time, r->summary->median_seconds, {"statistic", "median"});
        SAMPLE(s, &time, r->summary->mean_seconds, {"statistic", "mean"});
        SAMPLE(s, &time, r->summary->deviation_seconds, {"statistic", "standard deviation"});
        SAMPLE(s, &time, r->summary->worst_seconds, {"statistic", "longest"});
    }
    SAMPLE(s, &loss, log->step[0].loss, {"step", "first"});
    SAMPLE(s, &loss, log->step[log->n - 1].loss, {"step", "last"});
    SAMPLE(s, &peak, log->peak_mb * EK__MB, {NULL, NULL});
}

static void print_trace(stream *s, const ek_metrics_report *r)
{
    static const family steps = {"trace", "steps", "Steps that the trace's time is the mean of.", GAUGE};
    if (r->n_trace_steps > 0)
        SAMPLE(s, &steps, r->n_trace_steps, {"definition", r->trace_step});
}

static void print_device(stream *s, const ek_device *device)
{
    static const family memory = {"device_memory", "bytes", "Memory of a device.", GAUGE},
                        rate = {"device_memory", "bytes_per_second", "Rate of a device's memory.", GAUGE},
                        link = {"device_link", "bytes_per_second", "Rate of a device's links, per direction.", GAUGE};
    const double giga = 1e9, gib = 1024 * EK__MB;
    if (!device)
        return;
    const ek_tier *last = &device->tier[device->n_tiers - 1];
    SAMPLE(s, &memory, device->memory_gib * gib, {NULL, NULL});
    SAMPLE(s, &rate, device->memory_gbs * giga, {NULL, NULL});
    SAMPLE(s, &link, device->tier[0].gbs / device->tier[0].devices_per_card * giga, {"to", "node"});
    SAMPLE(s, &link, last->gbs / last->devices_per_card * giga, {"to", "cluster"});
}

ek_status ek__metrics_write_openmetrics(const ek_metrics_report *report, FILE *out, ek_error *err)
{
    stream s = {out, NULL};
    print_run(&s, report);
    print_figures(&s, report);
    print_bases(&s, report);
    print_prediction(&s, report->predicted);
    print_flops(&s, &report->metrics->flops);
    print_log(&s, report);
    print_trace(&s, report);
    print_device(&s, report->input->device);
    fputs("# EOF\n", out);
    return ek__finish(out, err);
}
