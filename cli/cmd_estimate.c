/* `evenkeel estimate`: predicts the step time of a training job on a device, and whether it fits, from the job's file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/estimate.h"
#include "evenkeel/estimate_report.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/run.h"

#include "cmd.h"
#include "files.h"
#include "gates.h"
#include "job_options.h"
#include "memory.h"
#include "model.h"
#include "options.h"
#include "page.h"
#include "plot.h"
#include "progress.h"
#include "warnings.h"

typedef struct command {
    const char *source, *device, *cluster, *against, *format, *svg, *html, *lang;
    cli_job_options job;
    double tokens;
    cli_plot plot;
    bool quiet;
    cli_texts fail_on;
    ek_gates *gates;
} command;

static const cli_option options[] = {
    {"device", "NAME|FILE", "device to run on, with its links; a file describes one of your own", "the machine",
     CLI_TEXT(command, device)},
    {"cluster", "FILE", "device file with the tiers of a cluster, as evenkeel calibrate writes it", NULL,
     CLI_TEXT(command, cluster)},
    CLI_JOB_OPTIONS(command, job),
    CLI_READING_OPTIONS(command, job),
    {"rule", "NAME=VALUE", "set a rule of the framework; may be repeated (`evenkeel memory --rules` lists them)", NULL,
     CLI_CALL(command, job, cli_take_rule)},
    {"against", "LOG|TRACE", "compare with a measured run: a training log, or the file or folder of a profiler trace",
     "output", CLI_TEXT(command, against)},
    {"tokens", "N", "days that training on so many tokens takes, as 1T or 300B", NULL, CLI_AMOUNT(command, tokens),
     .manual = "days that training on so many tokens takes, as 1e12, 1T or 300B"},
    {"format", "text|json|csv", "for people, docs/estimate-json.md, or a row for every stage and part", NULL,
     CLI_WORD(command, format)},
    CLI_GATES_ROW(command, fail_on, NULL, "step_time_s>12s,mfu<40%"),
    {"svg", "FILE", "picture: how every stage spends the step", NULL, CLI_OUTPUT(command, svg)},
    {"html", "FILE", "page for a browser: the step and the memory; - for standard output, instead of the report", NULL,
     CLI_OUTPUT(command, html)},
    CLI_LANG_ROW(command, lang),
    CLI_PLOT_OPTIONS(command, plot),
    {"q|quiet", NULL, "one line, and no warnings", NULL, CLI_FLAG(command, quiet)},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel estimate [OPTIONS] --device NAME|FILE JOB",
    .summary =
        "Predicts the step time of a training job on a device, part by part, with tokens/s, MFU and HFU, whether its\n"
        "memory fits, the expected error, and the measurements that reduce it. JOB is any file that\n"
        "`evenkeel memory` reads; - is standard input. Options take one dash or two.\n"
        "\n"
        "Exit status: 0 it fits (or no limit is known), 1 it does not, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel estimate train.yaml --device 910B\n"
                "  evenkeel estimate train.yaml --cluster ours.yaml --against worker_0.log\n"
                "  evenkeel estimate config.json --device H100 --dp 8 --tp 2 -mb 16 --format json\n"
                "  evenkeel estimate pretrain.sh --device A100-80 --tokens 1T --html estimate.html --svg estimate.svg\n"
                "  evenkeel metrics --devices-list\n",
    .operand = "JOB",
    .options = options,
};

typedef struct found {
    cli_spool spool;
    cli_warnings warnings;
    ek_job job;
    ek_device device;
    bool owns_device; /* read from a file: its tables are ours */
    ek_estimate estimate;
    ek_memory_course course;
    ek_against against;
} found;

static void clear_found(found *f)
{
    ek_memory_course_clear(&f->course);
    ek_estimate_clear(&f->estimate);
    if (f->owns_device)
        ek_device_clear(&f->device);
    ek_job_clear(&f->job);
    cli_spool_remove(&f->spool);
    free(f->warnings.at);
}

/* ---- options ---- */

static bool check_options(const command *c)
{
    if (!c->source)
        cli_error(NULL, "no job: give a training file, for example `evenkeel estimate train.yaml --device A100-80`");
    else if (!c->device && !c->cluster)
        cli_error(NULL, "no device: the step time depends on it; give --device NAME (`evenkeel metrics --devices-list` "
                        "names them) or --cluster FILE");
    else if (c->device && c->cluster)
        cli_error(NULL, "--cluster FILE brings its device with it; leave --device out");
    else if (cli_on_stdout(c->source) && cli_on_stdout(c->against))
        cli_error(NULL, "standard input (-) can be read once; save the job or the log to a file");
    else
        return cli_plot_check(&c->plot, c->format, NULL);
    return false;
}

/* ---- input ---- */

static bool find_device(const command *c, found *f)
{
    ek_error err;
    const ek_listener listener = {cli_take_warning, &f->warnings};
    ek_status status = c->cluster ? ek_device_read(c->cluster, &listener, &f->device, &err)
                                  : ek_device_open(c->device, &listener, &f->device, &f->owns_device, &err);
    f->owns_device = status == EK_OK && (c->cluster || f->owns_device);
    return cli_said(&f->spool, status, &err);
}

/* ---- the measured run ---- */

static bool compare(const command *c, found *f)
{
    ek_error err;
    if (!c->against)
        return true;
    if (cli_on_stdout(c->against) || !ek_run_is_trace(c->against)) {
        const ek_listener *listener = c->quiet ? NULL : &cli_listener;
        return cli_said(&f->spool, ek_run_against(&f->estimate, c->against, NULL, listener, &f->against, &err), &err);
    }
    ek_trace_options how = {0};
    cli_progress progress;
    cli_progress_begin_trace(&progress, &how);
    ek_status status =
        ek_run_against(&f->estimate, c->against, &how, c->quiet ? NULL : &progress.listener, &f->against, &err);
    cli_progress_end(&progress);
    return cli_said(&f->spool, status, &err);
}

/* ---- output ---- */

/* The memory has a separate tab, like a page of `evenkeel memory`. */
static bool write_page(const command *c, found *f, const ek_estimate_report *report)
{
    ek_error err;
    char title[EK_NAME_SIZE + 64];
    const char *name = f->job.name[0] ? f->job.name : "model";
    if (!cli_said(&f->spool, ek_memory_course_of(&f->job, &f->course, &err), &err))
        return false;
    const ek_memory_report memory = {.job = &f->job,
                                     .memory = &f->estimate.memory,
                                     .n_warnings = f->warnings.n,
                                     .warning = f->warnings.at,
                                     .course = &f->course,
                                     .stage = -1};
    snprintf(title, sizeof title, "Estimated step of %s", name);
    const ek_view_run run = {.name = name, .estimate = report, .memory = &memory};
    return cli_write_page(c->html, title, c->lang, &run, 1);
}

/* @return exit code of the command */
static int answer(const command *c, found *f)
{
    const ek_estimate_report report = {.estimate = &f->estimate,
                                       .against = c->against ? &f->against : NULL,
                                       .against_source = c->against,
                                       .n_warnings = f->warnings.n,
                                       .warning = f->warnings.at,
                                       .verdict_only = c->quiet,
                                       .color = cli_color(STDOUT_FILENO),
                                       .plot = cli_plot_of(&c->plot, c->format, false)};
    bool fine = cli_save(c->svg, ek_output_of_estimate(&report), "svg") && (!c->html || write_page(c, f, &report)) &&
                cli_answer(ek_output_of_estimate(&report), c->format);
    int code = !fine ? EXIT_WRONG : f->estimate.memory.fits ? EXIT_DONE : EXIT_NO;
    return cli_gates_check(c->gates, ek_output_of_estimate(&report), code);
}

static bool predict(const command *c, found *f)
{
    ek_error err;
    cli_progress progress;
    cli_progress_follow(&progress);
    ek_status status = ek_estimate_of(&f->job, &f->device, c->tokens, &f->estimate, &err);
    cli_progress_end(&progress);
    return cli_said(&f->spool, status, &err);
}

static int run_found(const command *c, found *f)
{
    if (!cli_read_job(c->source, &c->job.overrides, &f->spool, &f->warnings, &f->job) || !find_device(c, f) ||
        !predict(c, f) || !compare(c, f))
        return EXIT_WRONG;
    return answer(c, f);
}

static int run(int argc, char **argv)
{
    command c = {.format = "text"};
    const char *operand[1] = {NULL};
    cli_job_options_init(&c.job);
    int parsed = cli_parse(&spec, argc, argv, &c, operand);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    c.source = operand[0];
    if (!check_options(&c) || !cli_gates_open(&c.fail_on, EK_OUTPUT_ESTIMATE, &c.gates))
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

const ek_cmd cmd_estimate = {"estimate", "predict the time of a step on a device, and whether the memory fits", run,
                             false, CLI_GROUP_JOB};
