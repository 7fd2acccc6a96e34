/* `evenkeel metrics`: reports how well a run uses its devices, from a log, a trace or numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/metrics.h"
#include "evenkeel/metrics_report.h"

#include "cmd.h"
#include "files.h"
#include "gates.h"
#include "job_options.h"
#include "options.h"
#include "progress.h"
#include "run_read.h"

enum { MAX_PATHS = 1024 };

typedef struct command {
    cli_job_options job;
    ek_metrics_input input;
    const char *operand[MAX_PATHS];
    const char *log, *model, *device, *format;
    int n_traces;
    const char *trace[2 * MAX_PATHS];
    bool list_devices;
    cli_texts fail_on;
    ek_gates *gates;
} command;

static bool read_baseline(const cli_option *option, const char *text, void *place)
{
    ek_metrics_input *input = place;
    (void)option;
    char *end = NULL, *stop = NULL;
    double rate = strtod(text, &end);
    long n = *end == '/' ? strtol(end + 1, &stop, 10) : 0;
    if (end == text || !(rate > 0 && isfinite(rate)) || n < 1 || n > EK_MAX_RANKS || stop == end + 1 || *stop) {
        cli_error(NULL,
                  "--baseline is samples/s and the devices they were measured on, as 3.5/8, both above 0 (got '%s')",
                  text);
        return false;
    }
    input->baseline = rate;
    input->baseline_devices = (int)n;
    return true;
}

static bool add_trace(command *c, const char *path)
{
    if (c->n_traces == 2 * MAX_PATHS) {
        cli_error(NULL, "more than %d traces; give their folder", 2 * MAX_PATHS);
        return false;
    }
    c->trace[c->n_traces++] = path;
    return true;
}

static bool parse_trace(const cli_option *option, const char *text, void *place)
{
    (void)option;
    return add_trace(place, text);
}

_Static_assert(EK_ATTENTION_CAUSAL == 0 && EK_ATTENTION_NONE == 2, "words in the order of the enum");

static const cli_option options[] = {
    {"log", "FILE", "training log of MindFormers, MindSpeed, Megatron-LM or torchtitan; - is standard input",
     "what was measured", CLI_TEXT(command, log)},
    {"trace", "DIR|FILE", "profiler trace; may be repeated", NULL, CLI_CALL_ALL(parse_trace)},
    {"step-seconds", "S", "time of a step", NULL, CLI_DOUBLE(command, input.step_seconds, 1e-9, 1e18)},
    {"samples-per-second", "X", "of the whole cluster", NULL, CLI_DOUBLE(command, input.samples_per_second, 1e-9, 1e18),
     .manual = "samples/s of the whole cluster"},
    {"tokens-per-second-per-device", "X", "tokens/s/p", NULL,
     CLI_DOUBLE(command, input.tokens_per_second_per_device, 1e-9, 1e18), .manual = "tokens/s of one device"},
    {"baseline", "X/N", "samples/s of N devices that linearity is against", NULL,
     CLI_CALL(command, input, read_baseline)},
    {"model", "FILE", "training YAML, launch script or config.json, as `evenkeel memory` reads", "the model",
     CLI_TEXT(command, model),
     .manual = "training YAML, TOML of torchtitan, launch script or `config.json`, as `evenkeel memory` reads"},
    {"parameters", "P", "without a model file: the rule 6 P for FLOPs, as 38e9 or 38B", NULL,
     CLI_AMOUNT(command, input.parameters),
     .manual = "without a model file: 6 P FLOPs a token. P is 38e9 or 38B, 560M, 1.2T"},
    {"flops-per-token", "X", "model FLOPs of a token, forward and backward", NULL,
     CLI_DOUBLE(command, input.model_flops_per_token, 1e-9, 1e18)},
    {"attention", "causal|full|none", "how much of the score matrix counts ({})", NULL,
     CLI_WORD(command, input.attention)},
    {"devices", "N", "all devices of the run", NULL, CLI_INT(command, input.n_devices, 1, EK_MAX_RANKS)},
    {"GBS|global-batch", "N", "sequences of a step, of all devices", NULL,
     CLI_DOUBLE(command, input.global_batch, 1e-9, 1e18)},
    {"device", "NAME|FILE", "device with the peak for MFU; a file describes another one", NULL,
     CLI_TEXT(command, device)},
    {"peak-tflops", "X", "the peak, instead of a device's", NULL, CLI_DOUBLE(command, input.peak_tflops, 1e-9, 1e18)},
    {"devices-list", NULL, "list the devices with their figures' sources, and end", NULL,
     CLI_FLAG(command, list_devices)},
    CLI_JOB_OPTIONS(command, job),
    {"rule", "NAME=VALUE", "set a rule of the framework; may be repeated", NULL, CLI_CALL(command, job, cli_take_rule)},
    {"format", "text|json|openmetrics", "for people, docs/metrics-json.md, or for Prometheus (OpenMetrics)", "output",
     CLI_WORD(command, format),
     .manual =
         "for people, [metrics-json.md](metrics-json.md), or [OpenMetrics](interfaces.md#openmetrics) for Prometheus"},
    CLI_GATES_ROW(command, fail_on, NULL, "mfu<40%,bubble.share>5%"),
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel metrics [OPTIONS] [PATH...]",
    .summary =
        "Computes how well a training run uses its devices: throughput, FLOPs of a token term by term, MFU and HFU,\n"
        "linearity, bubbles; with a model file and a device also the predicted step. PATHs are logs, traces and model\n"
        "files, or the folder of a run, recognised by content; numbers without files are enough, too.\n"
        "Options take one dash or two.\n"
        "\n"
        "Exit status: 0 done, 1 a condition of --fail-on holds, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel metrics --model train.yaml --log worker_0.log --device A800\n"
                "  evenkeel metrics --model train.yaml --tokens-per-second-per-device 1860 --peak-tflops 360\n"
                "  evenkeel metrics --step-seconds 11.5 -dp 4 -tp 8 -pp 4 --vpp 4 -mb 32 --batch 2 --seq-length 4096\n"
                "  evenkeel metrics config.json profile/ -dp 8 -tp 2 -mb 32 --device H100 --format json\n"
                "  evenkeel metrics train.yaml worker_0.log --device 910B --format openmetrics >evenkeel.prom\n"
                "  evenkeel metrics train.yaml worker_0.log --device 910B --fail-on 'mfu<40%,step_seconds>9.5'\n"
                "  evenkeel metrics --devices-list\n",
    .operand = "PATH",
    .max_operands = MAX_PATHS,
    .options = options,
};

typedef struct found {
    ek_job job;
    ek_device device;
    bool owns_device; /* read from a file: its tables are ours */
    ek_train_log log;
    ek_train_log_summary summary;
    bool has_job, has_log, has_summary, log_batch, log_devices, log_length;
    ek_metrics metrics;
    ek_metrics_prediction predicted;
    bool has_prediction;
    char not_predicted[256]; /* why, where a job and a device are known */
    int n_trace_steps;
    char trace_step[EK_TRACE_STEP_WORDS];
    const char *source;
    ek_run_files files; /* of folders */
} found;

/* ---- files ---- */

static bool said(ek_status status, const ek_error *err)
{
    if (status)
        cli_error(err, "%s", err->message);
    return status == EK_OK;
}

/* Under a progress bar: a log of all steps may have hundreds of MB. */
static bool read_steps(const char *path, const ek_listener *listener, ek_train_log *log, ek_error *err)
{
    cli_progress progress;
    cli_progress_follow(&progress);
    ek_status status = ek_train_log_read(path, listener, log, err);
    cli_progress_end(&progress);
    return status == EK_OK;
}

static bool read_log(found *f, const char *path, ek_error *err)
{
    if (f->has_log) {
        *err = (ek_error){.status = EK_ERR_INPUT};
        snprintf(err->message, sizeof err->message,
                 "'%.256s' is a second log; give the log of one rank that prints steps", path);
        return false;
    }
    f->has_log = read_steps(path, &cli_listener, &f->log, err);
    if (f->has_log)
        f->source = path;
    return f->has_log;
}

static bool read_job(const command *c, found *f, const char *path)
{
    ek_error err;
    if (f->has_job) {
        cli_error(NULL, "'%s' is a second model file; give one", path);
        return false;
    }
    f->has_job = said(ek_job_read(path, &c->job.overrides, &cli_listener, &f->job, &err), &err);
    return f->has_job;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Of a run's files: its settings and the source of the step time, which is a log, since it covers the whole run, else
 * the trace. */
static bool read_folder(command *c, found *f, const char *path)
{
    int first = f->files.n;
    bool has_log = f->has_log, has_trace = false;
    if (!cli_run_take(&f->files, path, EK_RUN_UNKNOWN))
        return false;
    const ek_run_file *file = f->files.file;
    for (int i = first; i < f->files.n; i++) {
        has_log = has_log || file[i].kind == EK_RUN_LOG;
        has_trace = has_trace || file[i].kind == EK_RUN_TRACE;
    }
    ek_error err;
    for (int i = first; i < f->files.n; i++)
        if ((file[i].kind == EK_RUN_CONFIG && !read_job(c, f, file[i].path)) ||
            (file[i].kind == EK_RUN_LOG && !read_log(f, file[i].path, &err) && !said(EK_ERR_INPUT, &err)))
            return false;
    bool needs_trace = !has_log && (has_trace || f->files.n == first); /* its tables may be the only part present */
    return !needs_trace || add_trace(c, path);
}

/* Neither a log nor a good model file. @param why the error of reading it as a model file */
static bool read_other(command *c, const char *path, const ek_error *why)
{
    ek_run_kind kind = ek_run_kind_of(path);
    if (kind == EK_RUN_CONFIG)
        return said(EK_ERR_INPUT, why);
    if (kind == EK_RUN_TRACE)
        return add_trace(c, path);
    cli_error(NULL,
              "'%s' is neither a log with lines of steps, nor a model file, nor a trace; a log must be of a rank that "
              "prints steps; set the kind with --log, --model or --trace",
              path);
    return false;
}

/* The kind of a PATH follows from its content: a log has steps, a model file a model; a trace is recognised. */
static bool sort_path(command *c, found *f, const char *path)
{
    ek_train_log log;
    ek_job job;
    ek_error err;
    if (strcmp(path, "-") == 0) {
        cli_error(NULL, "the kind of standard input is not recognised; set it with --log - or --model -");
        return false;
    }
    if (access(path, F_OK) != 0) {
        cli_error(NULL, "'%s' is not there; give a log, a trace or a model file", path);
        return false;
    }
    if (is_folder(path))
        return read_folder(c, f, path);
    if (read_steps(path, NULL, &log, &err)) {
        ek_train_log_clear(&log);
        return read_log(f, path, &err) || said(EK_ERR_INPUT, &err);
    }
    if (ek_job_read(path, &c->job.overrides, NULL, &job, &err) == EK_OK) {
        ek_job_clear(&job);
        return read_job(c, f, path);
    }
    return read_other(c, path, &err);
}

static bool read_files(command *c, found *f)
{
    ek_error err;
    if (c->model && !read_job(c, f, c->model))
        return false;
    if (c->log && !read_log(f, c->log, &err))
        return said(EK_ERR_INPUT, &err);
    for (int i = 0; i < MAX_PATHS && c->operand[i]; i++)
        if (!sort_path(c, f, c->operand[i]))
            return false;
    return true;
}

/* ---- the trace ---- */

static bool read_step(const ek_trace_run *run, found *f, double *out)
{
    ek_trace_step_time step = ek_trace_run_step(run);
    f->n_trace_steps = step.n_steps;
    ek_trace_step_words(run, &step, f->trace_step, sizeof f->trace_step);
    if (f->n_trace_steps > 0)
        *out = (double)step.ns / 1e9;
    else
        cli_error(NULL, "the trace has no step to take a time from; profile whole steps after the warm-up");
    return f->n_trace_steps > 0;
}

static bool read_trace(command *c, found *f)
{
    ek_trace_run traces;
    ek_trace_options how = {0};
    cli_progress progress;
    ek_error err;
    if (c->n_traces == 0)
        return true;
    cli_progress_begin_trace(&progress, &how);
    ek_status status = ek_trace_run_read(c->trace, c->n_traces, &how, &progress.listener, &traces, &err);
    cli_progress_end(&progress);
    if (!said(status, &err))
        return false;
    bool fine = read_step(&traces, f, &c->input.step_seconds);
    ek_trace_run_clear(&traces);
    f->source = c->trace[0];
    return fine;
}

/* ---- inputs ---- */

static bool check_sources(const command *c, const found *f)
{
    int n = (c->n_traces > 0) + f->has_log + (c->input.step_seconds > 0);
    if (n > 1)
        cli_error(NULL, "a step time comes from one of --log, --trace and --step-seconds; leave the others out");
    else if (f->has_log && c->input.tokens_per_second_per_device > 0 && ek_train_log_token_rate(&f->log) > 0)
        cli_error(NULL, "the log prints tokens/s of a device itself; leave --tokens-per-second-per-device out");
    else if (n == 0 && !f->has_job && c->input.samples_per_second <= 0 && c->input.tokens_per_second_per_device <= 0 &&
             c->job.overrides.pipeline == 0)
        cli_error(NULL,
                  "nothing is known of a run: give a log, a trace, --step-seconds or a rate, and a model file for "
                  "FLOPs; `evenkeel metrics --help` has examples");
    else if (f->has_job && c->input.parameters > 0)
        cli_error(NULL, "--parameters is for runs without a model file; with one, parameters are counted: remove it");
    else
        return true;
    return false;
}

/* The rate that a log prints itself, where the batch for computing it from the step time is unknown. */
static void read_printed_rate(command *c, double rate)
{
    if (c->input.n_devices > 0)
        c->input.samples_per_second = rate * c->input.n_devices;
    else if (c->input.seq_length > 0)
        c->input.tokens_per_second_per_device = rate * c->input.seq_length;
}

/* Values that only the log has. */
static void read_log_sizes(command *c, found *f)
{
    const ek_train_log *log = &f->log;
    ek_metrics_input *in = &c->input;
    double batch = log->step[log->n - 1].global_batch;
    if (isnan(batch))
        batch = (double)log->global_batch;
    f->log_devices = in->n_devices == 0 && log->world_size > 0 && log->world_size <= EK_MAX_RANKS;
    f->log_batch = in->global_batch <= 0 && batch > 0;
    f->log_length = in->seq_length == 0 && log->seq_length > 0 && log->seq_length <= 1 << 28;
    if (f->log_devices)
        in->n_devices = (int)log->world_size;
    if (f->log_batch)
        in->global_batch = batch;
    if (f->log_length)
        in->seq_length = (int)log->seq_length;
}

static void parse_log(command *c, found *f)
{
    double rate = ek_train_log_token_rate(&f->log);
    if (f->has_job)
        ek_train_log_time(&f->log, &f->job);
    f->has_summary = ek_train_log_summarise(&f->log, &f->summary);
    read_log_sizes(c, f);
    if (!f->has_summary && rate > 0)
        c->input.tokens_per_second_per_device = rate;
    if (!f->has_summary)
        return;
    c->input.step_seconds = f->summary.median_seconds;
    if (!f->has_job && c->input.global_batch <= 0 && !isnan(f->summary.median_rate))
        read_printed_rate(c, f->summary.median_rate);
}

/* Without a model file only the degrees of the job are known. */
static bool read_degrees(command *c)
{
    const ek_job_overrides *o = &c->job.overrides;
    ek_metrics_input *in = &c->input;
    in->seq_length = in->seq_length > 0 ? in->seq_length : o->seq_length;
    in->n_stages = o->pipeline;
    in->n_chunks = o->pipeline > 0 && o->n_chunks == 0 ? 1 : o->n_chunks;
    in->n_micro_batches = o->n_micro_batches;
    const int degree[] = {o->data, o->tensor, o->pipeline, o->context};
    double devices = 1;
    bool told = false;
    for (int i = 0; i < 4; i++) {
        devices *= degree[i] > 0 ? degree[i] : 1;
        told |= degree[i] > 0;
    }
    if (devices > EK_MAX_RANKS || (told && in->n_devices > 0 && devices > in->n_devices)) {
        cli_error(NULL, "-dp, -tp, -pp and -cp come to %.0f devices, but there are %d; correct one", devices,
                  in->n_devices > 0 ? in->n_devices : EK_MAX_RANKS);
        return false;
    }
    if (told && in->n_devices == 0)
        in->n_devices = (int)devices;
    double batch = (double)o->data * o->batch * o->n_micro_batches;
    if (batch > 0 && in->global_batch > 0 && batch != in->global_batch) {
        cli_error(NULL, "-dp %d, --batch %d and -mb %d come to %.0f sequences a step, but -GBS is %.0f; correct one",
                  o->data, o->batch, o->n_micro_batches, batch, in->global_batch);
        return false;
    }
    if (batch > 0)
        in->global_batch = batch;
    return true;
}

static bool find_device(command *c, found *f)
{
    ek_error err;
    if (!c->device)
        return true;
    if (!said(ek_device_open(c->device, &cli_listener, &f->device, &f->owns_device, &err), &err))
        return false;
    c->input.device = &f->device;
    return true;
}

/* ---- the whole ---- */

/* @return exit code of the command */
static int print(const command *c, const found *f)
{
    const ek_metrics_report report = {.input = &c->input,
                                      .metrics = &f->metrics,
                                      .predicted = f->has_prediction ? &f->predicted : NULL,
                                      .not_predicted = f->not_predicted[0] ? f->not_predicted : NULL,
                                      .source = f->source,
                                      .log = f->has_log ? &f->log : NULL,
                                      .summary = f->has_summary ? &f->summary : NULL,
                                      .log_batch = f->log_batch,
                                      .log_devices = f->log_devices,
                                      .log_length = f->log_length,
                                      .n_trace_steps = f->n_trace_steps,
                                      .trace_step = f->n_trace_steps > 0 ? f->trace_step : NULL,
                                      .color = cli_color(STDOUT_FILENO)};
    bool fine = cli_print(ek_output_of_metrics(&report), c->format);
    return cli_gates_check(c->gates, ek_output_of_metrics(&report), fine ? EXIT_DONE : EXIT_WRONG);
}

static bool list_devices(const command *c)
{
    if (c->fail_on.n > 0) {
        cli_error(NULL, "--fail-on is for the figures of a run; leave --devices-list out");
        return false;
    }
    if (!ek_can_write(EK_OUTPUT_DEVICES, c->format)) {
        cli_error(NULL, "--devices-list has no format '%s'; take text or json", c->format);
        return false;
    }
    return cli_print(ek_output_of_devices(NULL), c->format);
}

/* A job that cannot be predicted is measured nevertheless. */
static bool predict(const command *c, found *f)
{
    ek_error err;
    if (!c->input.job || !c->input.device)
        return true;
    ek_status status = ek_metrics_predict(&c->input, &f->predicted, &err);
    f->has_prediction = status == EK_OK;
    if (status != EK_ERR_INPUT)
        return said(status, &err);
    snprintf(f->not_predicted, sizeof f->not_predicted, "%.*s", (int)sizeof f->not_predicted - 1, err.message);
    return true;
}

static int answer(command *c, found *f)
{
    ek_error err;
    if (!cli_gates_open(&c->fail_on, EK_OUTPUT_METRICS, &c->gates) || !read_files(c, f) || !check_sources(c, f) ||
        !read_trace(c, f) || !find_device(c, f))
        return EXIT_WRONG;
    if (!f->has_job && !read_degrees(c))
        return EXIT_WRONG;
    if (f->has_log)
        parse_log(c, f);
    c->input.job = f->has_job ? &f->job : NULL;
    return said(ek_metrics_compute(&c->input, &f->metrics, &err), &err) && predict(c, f) ? print(c, f) : EXIT_WRONG;
}

static int run(int argc, char **argv)
{
    command *c = calloc(1, sizeof *c);
    found *f = calloc(1, sizeof *f);
    int code = EXIT_WRONG;
    if (!c || !f) {
        cli_error(NULL, "out of memory");
    } else {
        cli_job_options_init(&c->job);
        c->format = "text";
        f->source = "given";
        int parsed = cli_parse(&spec, argc, argv, c, c->operand);
        if (parsed == CLI_HELP)
            code = EXIT_DONE;
        else if (parsed == CLI_OK)
            code = !c->list_devices ? answer(c, f) : list_devices(c) ? EXIT_DONE : EXIT_WRONG;
        ek_gates_free(c->gates);
        ek_job_clear(&f->job);
        if (f->has_prediction)
            ek_metrics_prediction_clear(&f->predicted);
        ek_train_log_clear(&f->log);
        if (f->owns_device)
            ek_device_clear(&f->device);
        ek_run_files_clear(&f->files);
    }
    free(c);
    free(f);
    return code;
}

const ek_cmd cmd_metrics = {"metrics", "compute throughput, MFU, HFU, linearity and bubble of a run", run, false,
                            CLI_GROUP_RUN};
