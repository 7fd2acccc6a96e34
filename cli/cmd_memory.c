/* `evenkeel memory`: predicts the peak memory of every stage of a training job from its YAML. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/prediction.h"
#include "evenkeel/recompute_sets.h"

#include "cmd.h"
#include "files.h"
#include "gates.h"
#include "job_options.h"
#include "memory.h"
#include "model.h"
#include "options.h"
#include "page.h"
#include "progress.h"
#include "warnings.h"

typedef struct command {
    const char *source;
    cli_job_options job;
    char allocation[64];
    const char *calibrate, *calibrate_stages, *device, *format, *svg, *html, *lang, *log_dir, *layers, *trace;
    ek_times times;
    int stage;
    bool times_given, list_rules, tensors, measures, quiet, used_peaks, peak_given;
    cli_texts fail_on;
    ek_gates *gates;
} command;

static bool read_allocation(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    if (cli_word(option, text) < 0)
        return false;
    snprintf(c->allocation, sizeof c->allocation, "allocation=%s", text);
    return cli_take_rule(option, c->allocation, &c->job);
}

static bool read_times(const cli_option *option, const char *text, void *place)
{
    ek_error err;
    ek_times *times = place;
    (void)option;
    if (ek_times_parse(text, times, &err) == EK_OK)
        return true;
    cli_error(NULL, "--time: %s", err.message);
    return false;
}

static const cli_option options[] = {
    CLI_JOB_OPTIONS(command, job),
    CLI_READING_OPTIONS(command, job),
    {"rule", "NAME=VALUE", "set a rule of the framework; may be repeated", "the model",
     CLI_CALL(command, job, cli_take_rule),
     .manual = "set a [rule](memory.md#rules) of the framework; may be repeated"},
    {"rules", NULL, "list the rules with their values and the basis of each, and exit", NULL,
     CLI_FLAG(command, list_rules),
     .manual = "list the rules with their values and the basis of each, and exit; without FILE those of MindFormers"},
    {"allocation", "whole|blocks|pages|caching|offline", "allocator (short for --rule allocation=)", NULL,
     CLI_CALL_ALL(read_allocation), .manual = "allocator, short for `--rule allocation=`"},
    {"calibrate", "SOURCE",
     "fit underivable constants to measured peaks: a folder of logs or a listing, as for `evenkeel collect`, or lines "
     "`stage,mb`",
     NULL, CLI_TEXT(command, calibrate),
     .manual = "[fit](memory.md#calibration) underivable constants to measured peaks: a folder of logs or a listing, "
               "as for `evenkeel collect`, or lines `stage,mb`"},
    {"calibrate-stages", "LIST", "fit to these stages, as 0,3-5, and judge by the others", NULL,
     CLI_TEXT(command, calibrate_stages)},
    {"peak", "actual|used", "the measured peaks are with fragments (the default) or without", NULL,
     CLI_WORD(command, used_peaks), CLI_GIVEN(command, peak_given), .otherwise = "actual",
     .manual = "the measured peaks are with fragments or without"},
    {"device", "NAME|FILE",
     "predict step times on this device; its memory is the default limit. A file describes another device", NULL,
     CLI_TEXT(command, device),
     .manual = "predict step times on this device, for `--measures` and `--layers-out`; its whole memory is the limit "
               "if neither the file nor `--mem` sets one, as for [`evenkeel estimate`](estimate.md); an unknown name "
               "prints the list. A file describes another device ([formats.md](formats.md))"},
    {"stage", "N", "details of this stage instead of the fullest", "output",
     CLI_INT(command, stage, 0, EK_MAX_STAGES - 1), .otherwise = "the fullest",
     .manual = "details of this stage: parts, chunks, place of the peak, largest tensors"},
    {"tensors", NULL,
     "every tensor that one layer keeps, why, the pattern that removes it; with --device which are worth recomputing",
     NULL, CLI_FLAG(command, tensors),
     .manual = "[every saved activation of one layer](memory.md#what-a-layer-keeps), its cause, the recompute pattern "
               "that removes it, and with `--device` the operators worth recomputing"},
    {"measures", NULL, "saving of each memory-saving setting, and its cost with --device", NULL,
     CLI_FLAG(command, measures),
     .manual = "[saving of each memory-saving setting](memory.md#measures), and with `--device` its cost"},
    {"format", "text|json|csv", "for people, docs/memory-json.md, or a row for every stage", NULL,
     CLI_WORD(command, format)},
    CLI_GATES_ROW(command, fail_on, NULL, "stages[].margin_mb<2GB"),
    {"svg", "FILE", "picture: a bar for every stage", NULL, CLI_OUTPUT(command, svg),
     .manual = "picture: a stacked bar for every stage, with the limit"},
    {"html", "FILE",
     "page for a browser: stages, also block by block, and all requested sections; - for standard output, instead of "
     "the report",
     NULL, CLI_OUTPUT(command, html),
     .manual =
         "[page for a browser](memory.md#a-page-for-a-browser), in one file that needs no network: memory of stages at "
         "the peak and block by block, and all requested sections; `-` for standard output, instead of the report"},
    CLI_LANG_ROW(command, lang),
    {"log-dir", "DIR", "write dry-run logs that `evenkeel collect` reads", NULL, CLI_OUTPUT_FOLDER(command, log_dir),
     .manual = "logs as a dry run leaves them, `stage_S_rank_R/mindformer.log`, which [collect](collect.md) reads."
               " A log that a real run wrote is not overwritten"},
    {"layers-out", "FILE", "write a layer file for evenkeel balance (times: --device, --trace or --time)", NULL,
     CLI_OUTPUT(command, layers),
     .manual = "a [layer file](formats.md#layer-file) for [balance](balance.md); its times are those of "
               "`--device`, `--trace` or `--time`"},
    {"trace", "DIR|FILE",
     "with --layers-out: measured times, from a profile of the run or a layer file that `evenkeel trace` wrote; they "
     "win over --device",
     NULL, CLI_TEXT(command, trace),
     .manual = "measured times for the layer file: a [profile](trace.md) of the run, or a layer file that "
               "`evenkeel trace --layers-out` wrote; they win over those of `--device`"},
    {"time", "TIMES",
     "with --layers-out: measured forward times, as head=0.1,body=3.1,tail=3.5; they win over all others", NULL,
     CLI_CALL(command, times, read_times), CLI_GIVEN(command, times_given),
     .manual = "measured forward times for the layer file, in ms, as `head=0.1,body=3.1,tail=3.5`; they win over "
               "all others. Without others a backward pass takes twice its forward"},
    {"q|quiet", NULL, "one line, and no warnings", NULL, CLI_FLAG(command, quiet),
     .manual = "only the verdict, without warnings"},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel memory [OPTIONS] FILE",
    .summary =
        "Predicts the peak memory of every pipeline stage of a training job, in milliseconds and without the "
        "framework. FILE is a training YAML of MindFormers, MindSpeed, NeMo,\n"
        "Megatron-Bridge or LLaMA-Factory, arguments of Megatron or of transformers' Trainer, a configuration of\n"
        "InternEvo, a TOML of torchtitan, or a Hugging Face config.json; - is standard input. Options take one dash "
        "or\n"
        "two.\n"
        "\n"
        "Exit status: 0 it fits (or no limit is known), 1 it does not, 2 wrong usage or input. If the\n"
        "verdict depends on an assumed rule, the report names the value that would change it; the status is that of "
        "the\n"
        "rules in force.",
    .examples = "examples:\n"
                "  evenkeel memory train.yaml\n"
                "  evenkeel memory train.yaml --measures --device 910B\n"
                "  evenkeel memory train.yaml --pp 8 --tp 4 --recompute full --mem 58GB\n"
                "  evenkeel memory config.json --dp 8 --tp 2 --pp 4 -mb 32 --format json\n"
                "  evenkeel memory train.yaml --calibrate output_dryrun --calibrate-stages 0,3,7,15\n"
                "  evenkeel memory train.yaml --measures --tensors --html memory.html\n"
                "  evenkeel memory train.yaml --layers-out layers.json --time head=0.1,body=3.1,tail=3.5\n",
    .operand = "FILE",
    .options = options,
};

/* ---- options ---- */

static bool check_options(const command *c)
{
    if (!c->source && !c->list_rules)
        cli_error(NULL, "no file: give a training YAML, for example `evenkeel memory train.yaml`");
    else if (c->fail_on.n > 0 && c->list_rules)
        cli_error(NULL, "--fail-on is for the figures of a job; leave --rules out");
    else if (c->calibrate_stages && !c->calibrate)
        cli_error(NULL, "--calibrate-stages chooses from the peaks of --calibrate SOURCE; give that too");
    else if (c->peak_given && !c->calibrate)
        cli_error(NULL, "--peak sets the kind of peaks of --calibrate SOURCE; add --calibrate");
    else if (c->times_given && !c->layers)
        cli_error(NULL, "--time is for the layer file; give --layers-out FILE too");
    else if (c->trace && !c->layers)
        cli_error(NULL, "--trace is for the times of the layer file; give --layers-out FILE too");
    else if (c->layers && !c->device && !c->trace && isnan(c->times.body))
        cli_error(NULL, "--layers-out writes times too: measured ones with --trace DIR or --time "
                        "head=..,body=..,tail=.., or modelled ones with --device");
    else if (c->log_dir && !*c->log_dir)
        cli_error(NULL, "--log-dir needs the name of a folder (got ''); . is this one");
    else if (c->calibrate && c->source && strcmp(c->calibrate, "-") == 0 && strcmp(c->source, "-") == 0)
        cli_error(NULL, "standard input (-) can be read once; save the job or the peaks to a file");
    else
        return true;
    return false;
}

/* ---- predicting ---- */

/* Everything that is found out, cleared by clear_found(). */
typedef struct found {
    cli_spool spool;
    cli_warnings warnings;
    ek_job job, literal_job;
    ek_memory memory, literal;
    bool has_literal, has_device;
    ek_device device;
    bool owns_device; /* read from a file: its tables are ours */
    int n_times, n_measures, n_kept, n_assumptions;
    ek_memory_assumption assumption[EK_MAX_ASSUMPTIONS];
    ek_memory_time time[EK_MAX_MEMORY_TIMES];
    ek_mitigation measure[EK_MAX_MEASURES];
    ek_kept kept[EK_MAX_KEPT];
    ek_recompute_set_list worth;
    ek_measured_peaks peaks;
    ek_memory_fit_result fit;
    ek_memory_contradiction contradicted;
    ek_memory_error judged;
    double *predicted_mb;
    ek_memory_calibration calibration;
    ek_memory_course course;
} found;

static void clear_found(found *f)
{
    cli_spool_remove(&f->spool);
    free(f->warnings.at);
    ek_job_clear(&f->job);
    ek_job_clear(&f->literal_job);
    ek_memory_clear(&f->memory);
    ek_memory_clear(&f->literal);
    ek_memory_course_clear(&f->course);
    for (int i = 0; i < f->n_kept; i++)
        ek_kept_clear(&f->kept[i]);
    ek_recompute_set_list_clear(&f->worth);
    if (f->owns_device)
        ek_device_clear(&f->device);
    ek_measured_peaks_clear(&f->peaks);
    free(f->predicted_mb);
}

/* Reads the file, and reads it again without the assumptions of the first reading. */
static bool read_jobs(const command *c, found *f)
{
    ek_error err;
    if (!cli_read_job(c->source, &c->job.overrides, &f->spool, &f->warnings, &f->job))
        return false;
    if (f->job.reading[0] && !f->job.literal) {
        const char *path = f->spool.path[0] ? f->spool.path : c->source;
        ek_job_overrides literal = c->job.overrides;
        literal.literal = true;
        if (!cli_said(&f->spool, ek_job_read(path, &literal, NULL, &f->literal_job, &err), &err))
            return false;
        f->has_literal = true;
    }
    if (c->stage >= f->job.parallel.pipeline) {
        cli_error(NULL, "--stage %d is not there: the job has %d stage%s, 0 to %d", c->stage, f->job.parallel.pipeline,
                  f->job.parallel.pipeline == 1 ? "" : "s", f->job.parallel.pipeline - 1);
        return false;
    }
    return true;
}

static bool find_device(const command *c, found *f)
{
    ek_error err;
    const ek_listener listener = {cli_take_warning, &f->warnings};
    f->has_device = c->device != NULL;
    return !c->device ||
           cli_said(&f->spool, ek_device_open(c->device, &listener, &f->device, &f->owns_device, &err), &err);
}

/* Both readings of the file have the same limit. */
static void read_limit(found *f)
{
    if (!f->has_device)
        return;
    ek_memory_limit_by_device(&f->literal_job, &f->device);
    if (!ek_memory_limit_by_device(&f->job, &f->device))
        return;
    ek_error remark = {0};
    snprintf(remark.message, sizeof remark.message,
             "the limit is all the memory of %.60s, but driver and communication use a part of it: set the framework's "
             "share with --mem",
             f->device.name);
    cli_take_warning(&f->warnings, &remark);
}

/* Fit the rules of both readings to the peaks. */
static bool calibrate(const command *c, found *f)
{
    ek_error err;
    if (!c->calibrate)
        return true;
    if (!cli_peaks_read(c->calibrate, c->calibrate_stages, f->job.parallel.pipeline, !c->used_peaks, &f->peaks))
        return false;
    ek_memory_peak *chosen = calloc((size_t)f->peaks.n, sizeof *chosen);
    f->predicted_mb = calloc((size_t)f->peaks.n, sizeof *f->predicted_mb);
    int n = 0;
    if (!chosen || !f->predicted_mb) {
        free(chosen);
        cli_error(NULL, "out of memory");
        return false;
    }
    for (int i = 0; i < f->peaks.n; i++)
        if (f->peaks.fitted[i])
            chosen[n++] = f->peaks.peak[i];
    bool fine =
        cli_said(&f->spool, ek_memory_calibrate(&f->job, chosen, n, !c->used_peaks, &f->fit, &err), &err) &&
        cli_said(&f->spool, ek_memory_contradicted(&f->job, chosen, n, !c->used_peaks, &f->contradicted, &err), &err);
    free(chosen);
    if (fine) {
        f->job.rules = f->fit.rules;
        f->literal_job.rules = f->fit.rules;
    }
    return fine;
}

/* How the calibrated model does on the peaks. */
static bool judge(const command *c, found *f)
{
    int n = 0;
    ek_memory_peak *others = calloc((size_t)f->peaks.n, sizeof *others);
    if (!others) {
        cli_error(NULL, "out of memory");
        return false;
    }
    for (int i = 0; i < f->peaks.n; i++) {
        const ek_memory_stage *stage = &f->memory.stage[f->peaks.peak[i].stage];
        f->predicted_mb[i] = (double)(c->used_peaks ? stage->used_peak : stage->actual_peak) / 1048576.0;
        if (!f->peaks.fitted[i])
            others[n++] = f->peaks.peak[i];
    }
    if (n > 0)
        f->judged = ek_memory_compare(&f->memory, others, n, !c->used_peaks);
    free(others);
    f->calibration = (ek_memory_calibration){.fit = &f->fit,
                                             .actual = !c->used_peaks,
                                             .n_peaks = f->peaks.n,
                                             .peak = f->peaks.peak,
                                             .fitted = f->peaks.fitted,
                                             .predicted_mb = f->predicted_mb,
                                             .judged = n > 0 ? &f->judged : NULL,
                                             .contradicted = f->contradicted.rule ? &f->contradicted : NULL};
    return true;
}

static bool predict(const command *c, found *f)
{
    ek_error err;
    if (!cli_said(&f->spool, ek_memory_predict(&f->job, NULL, &f->memory, &err), &err))
        return false;
    if (f->has_literal && !cli_said(&f->spool, ek_memory_predict(&f->literal_job, NULL, &f->literal, &err), &err))
        return false;
    /* A measured peak has settled the assumption. */
    return c->calibrate
               ? judge(c, f)
               : cli_said(&f->spool, ek_memory_assumptions(&f->job, &f->memory, f->assumption, &f->n_assumptions, &err),
                          &err);
}

static bool find_more(const command *c, found *f)
{
    ek_error err;
    const ek_device *device = f->has_device ? &f->device : NULL;
    if (c->measures &&
        !cli_said(&f->spool, ek_memory_mitigations(&f->job, device, f->measure, &f->n_measures, &err), &err))
        return false;
    if (c->html && !cli_said(&f->spool, ek_memory_course_of(&f->job, &f->course, &err), &err))
        return false;
    if (c->tensors && !cli_said(&f->spool, ek_memory_kept(&f->job, f->kept, &f->n_kept, &err), &err))
        return false;
    if (c->tensors && device && !cli_said(&f->spool, ek_recompute_sets(&f->job, device, 2, &f->worth, &err), &err))
        return false;
    return !device || cli_said(&f->spool, ek_memory_times(&f->job, device, f->time, &f->n_times, &err), &err);
}

/* ---- output ---- */

static bool write_page(const command *c, const found *f, const ek_memory_report *report)
{
    char title[EK_NAME_SIZE + 64];
    const char *name = f->job.name[0] ? f->job.name : "model";
    snprintf(title, sizeof title, "Predicted memory of %s", name);
    const ek_view_run run = {.name = name, .memory = report};
    return cli_write_page(c->html, title, c->lang, &run, 1);
}

static bool write_files(const command *c, const found *f, const ek_memory_report *report)
{
    double device_mb = f->has_device ? f->device.memory_gib * 1024 : 0;
    if (!cli_save(c->svg, ek_output_of_memory(report), "svg"))
        return false;
    if (c->html && !write_page(c, f, report))
        return false;
    if (c->log_dir && !cli_memory_logs(c->log_dir, &f->job, &f->memory, device_mb))
        return false;
    const ek_job_layer_times times = {f->has_device ? &f->device : NULL, c->trace, c->times};
    return !c->layers || cli_memory_layers(c->layers, &f->job, &times);
}

static void note_next(const command *c, const found *f)
{
    const ek_job *job = &f->job;
    if (c->quiet)
        return;
    if (c->log_dir)
        cli_note("%s: %d predicted logs; next: evenkeel collect %s", c->log_dir, f->memory.n_stages, c->log_dir);
    if (c->layers && !cli_on_stdout(c->layers)) {
        char mem[48] = "MB";
        if (job->limit_mb > 0)
            snprintf(mem, sizeof mem, "%.0f", job->limit_mb);
        cli_note("%s: the layers; next: evenkeel balance --layers %s -s %d -i %d -mb %d -mem %s", c->layers, c->layers,
                 job->parallel.pipeline, job->plan.n_chunks, job->parallel.n_micro_batches, mem);
    }
}

static int answer(const command *c, const found *f)
{
    const ek_memory_report report = {.job = &f->job,
                                     .memory = &f->memory,
                                     .literal = f->has_literal ? &f->literal : NULL,
                                     .n_warnings = f->warnings.n,
                                     .warning = f->warnings.at,
                                     .device = f->has_device ? &f->device : NULL,
                                     .n_times = f->n_times,
                                     .time = f->time,
                                     .n_measures = f->n_measures,
                                     .measure = c->measures ? f->measure : NULL,
                                     .n_kept = f->n_kept,
                                     .kept = c->tensors ? f->kept : NULL,
                                     .worth = c->tensors && f->has_device ? &f->worth : NULL,
                                     .calibration = c->calibrate ? &f->calibration : NULL,
                                     .course = c->html ? &f->course : NULL,
                                     .n_assumptions = f->n_assumptions,
                                     .assumption = f->assumption,
                                     .stage = c->stage,
                                     .verdict_only = c->quiet,
                                     .color = cli_color(STDOUT_FILENO)};
    if (!write_files(c, f, &report) || !cli_answer(ek_output_of_memory(&report), c->format))
        return EXIT_WRONG;
    note_next(c, f);
    return cli_gates_check(c->gates, ek_output_of_memory(&report), f->memory.fits ? EXIT_DONE : EXIT_NO);
}

static int list_rules(const command *c, found *f)
{
    ek_rules rules = ek_rules_default(EK_MINDFORMERS);
    ek_framework framework = EK_MINDFORMERS;
    if (c->source) {
        rules = f->job.rules;
        framework = f->job.framework;
    }
    for (int i = 0; i < c->job.overrides.n_rules && !c->source; i++)
        ek_rules_set(&rules, c->job.rule[i], NULL); /* known to be fine */
    const ek_rules_report report = {&rules, framework};
    const char *format = strcmp(c->format, "json") == 0 ? "json" : "text";
    return cli_print(ek_output_of_rules(&report), format) ? EXIT_DONE : EXIT_WRONG;
}

static int run_found(const command *c, found *f)
{
    if (c->source && !read_jobs(c, f))
        return EXIT_WRONG;
    if (c->source && !calibrate(c, f))
        return EXIT_WRONG;
    if (c->list_rules)
        return list_rules(c, f);
    if (!find_device(c, f))
        return EXIT_WRONG;
    read_limit(f);
    cli_progress progress;
    cli_progress_follow(&progress);
    bool fine = predict(c, f) && find_more(c, f);
    cli_progress_end(&progress);
    if (!fine)
        return EXIT_WRONG;
    return answer(c, f);
}

static int run(int argc, char **argv)
{
    command c = {.format = "text", .stage = -1, .times = {NAN, NAN, NAN}};
    const char *operand[1] = {NULL};
    cli_job_options_init(&c.job);
    int parsed = cli_parse(&spec, argc, argv, &c, operand);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    c.source = operand[0];
    if (!check_options(&c) || !cli_gates_open(&c.fail_on, EK_OUTPUT_MEMORY, &c.gates))
        return EXIT_WRONG;
    found *f = calloc(1, sizeof *f);
    if (!f) {
        cli_error(NULL, "out of memory");
        ek_gates_free(c.gates);
        return EXIT_WRONG;
    }
    f->warnings = (cli_warnings){.spool = &f->spool, .quiet = c.quiet};
    int code = run_found(&c, f);
    clear_found(f);
    free(f);
    ek_gates_free(c.gates);
    return code;
}

const ek_cmd cmd_memory = {"memory", "predict the peak memory of every pipeline stage from a training file", run, false,
                           CLI_GROUP_JOB};
