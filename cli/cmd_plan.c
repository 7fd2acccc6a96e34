/* `evenkeel plan`: finds the layouts of a training job over a number of devices with the shortest step, proved. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/layout_report.h"

#include "axes.h"
#include "cmd.h"
#include "files.h"
#include "memory.h"
#include "page.h"
#include "plan.h"
#include "plot.h"
#include "search.h"
#include "team.h"

typedef cli_plan_command command;

static bool read_schedules(const cli_option *option, const char *text, void *place)
{
    ek_layout_options *o = place;
    (void)option;
    o->n_schedules = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        const ek_schedule *schedule = cli_find_schedule(at, length);
        if (!schedule)
            return false;
        if (o->n_schedules == EK_MAX_LAYOUT_SCHEDULES) {
            cli_error(NULL, "--schedules takes at most %d", EK_MAX_LAYOUT_SCHEDULES);
            return false;
        }
        o->schedule[o->n_schedules++] = schedule;
        at += length;
        if (*at == '\0')
            return true;
    }
}

/* The requested axes; the others are settled later. */
static bool read_explain(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    ek_layout_options all = c->layout;
    c->explain_option = option;
    c->explain = text;
    return cli_take_axes(option, text, &all);
}

static const cli_option options[] = {
    {"devices", "N", "number of devices; by default that of the job file", "the machine",
     CLI_INT(command, layout.n_devices, 1, EK_MAX_RANKS),
     .manual = "number of devices. By default the product of the degrees in the file, with a note"},
    {"device", "NAME|FILE", "device with its links; a file describes another one", NULL, CLI_TEXT(command, device),
     .manual =
         "device with its links, as for [`evenkeel estimate`](estimate.md#the-machine); a file describes another one"},
    {"cluster", "FILE", "device file with the tiers of a cluster, as evenkeel calibrate writes it", NULL,
     CLI_TEXT(command, cluster)},
    {"mem|memory|max-memory", "MB", "memory of a device that the framework may use: MB, or with a unit as 58GB", NULL,
     CLI_CALL(command, job.overrides.limit_mb, cli_take_memory),
     .manual = "memory of a device that the framework may use: MB, or with a unit as `58GB`; by default the limit of "
               "the file, else all memory of the device"},
    {"global-batch", "N", "sequences of a step; those of the job, or about 4 million tokens", "the job",
     CLI_INT(command, global_batch, 1, 1 << 30),
     .manual = "sequences of a step of all devices; by default those of the file, else about 4 million tokens"},
    {"seq-length", "N", "tokens of a sequence; overrides the file", NULL,
     CLI_INT(command, job.overrides.seq_length, 1, 1 << 28)},
    {"num-layers", "N", "decoder layers, likewise", NULL, CLI_INT(command, job.overrides.n_layers, 1, EK_MAX_LAYERS)},
    {"literal", NULL, "keys that the framework ignores are ignored, also where they look like a slip", NULL,
     CLI_FLAG(command, job.overrides.literal)},
    {"rule", "NAME=VALUE", "set a rule of the framework; may be repeated (`evenkeel memory --rules` lists them)", NULL,
     CLI_CALL(command, job, cli_take_rule)},
    {"fix", "AXIS=N,...",
     "only layouts with these values: dp, tp, cp, ep, pp, vpp, batch, shard, copies, fine, table, grads, sp=on|off",
     "the layouts", CLI_CALL(command, layout, cli_take_axes),
     .manual = "only layouts with these values. An axis is `dp`, `tp`, `cp`, `ep`, `pp`, `vpp`, `batch`, `shard`, "
               "`copies`, `fine`, `table`, `grads`, or `sp` with `on` or `off`; may be repeated"},
    {"range", "AXIS=A:B,...", "layouts from A to B, both included and each may be left out: pp=1:16", NULL,
     CLI_CALL(command, layout, cli_take_axes)},
    {"schedules", "LIST", "schedules to try, commas between them; those that the framework runs", NULL,
     CLI_CALL(command, layout, read_schedules), .otherwise = "`1f1b` and `interleaved`",
     .manual = "schedules to try, commas between them, of those that the framework runs"},
    {"top", "N", "plans to find and prove (default 10; 20 with --trials)", "the search",
     CLI_INT(command, layout.n_best, 1, 1000), .otherwise = "10; 20 with `--trials`",
     .manual = "plans to find and to prove"},
    {"t|time-limit", "SECONDS", "end after so long with the best so far and its gap (default {})", NULL,
     CLI_DOUBLE(command, layout.time_limit, 0.001, 1e7), .otherwise = "120",
     .manual = "end after so long with the best so far and its gap; with `--explain` or `--way`, a quarter of it "
               "is for that"},
    {"threads", "N", "threads (default: all cores); the answer is the same", NULL,
     CLI_INT(command, layout.n_threads, 1, 256), .otherwise = "all cores",
     .manual = "threads; the answer is the same for any number"},
    CLI_PATIENCE_ROW(command, layout.patience),
    {"explain", "AXIS=N,...", "why the best layout with these values is not the best of all", "questions",
     CLI_CALL_ALL(read_explain),
     .manual = "[why](plan.md#why-not-this-layout) the best layout with these values is not the best of all"},
    {"way", NULL, "from the current layout to the best, one change at a time, the most effective first", NULL,
     CLI_FLAG(command, way),
     .manual = "[the way](plan.md#the-way-from-today) from the current layout to the best, one change at a time, the "
               "most effective first, each with its settings"},
    {"trials", "N", "the N runs that identify the best plan, with their probabilities", NULL,
     CLI_INT(command, n_trials, 1, EK_MAX_LAYOUT_TRIALS),
     .manual = "[the N runs](plan.md#which-runs-to-try) that identify the best plan, with their probabilities"},
    {"tried", "FILE",
     "runs that were measured (CSV, as evenkeel calibrate reads it): is the best plan surely shorter than them?", NULL,
     CLI_TEXT(command, tried),
     .manual = "[measured runs](plan.md#which-runs-to-try), the CSV that `evenkeel calibrate` reads: is the best "
               "plan surely shorter than the best of them?"},
    {"start", "NAME|FILE", "with --tried, the device that the calibration began with (the shipped one of that name)",
     NULL, CLI_TEXT(command, start)},
    {"sweep", "WHAT=A:B[:STEP]",
     "the best layout over devices, memory or global-batch, doubled without a step; or "
     "values with commas",
     NULL, CLI_CALL(command, values, cli_plan_take_sweep),
     .manual = "[the best layout](plan.md#sweeps) over `devices`, `memory` or `global-batch`, doubled without a "
               "step; or values with commas"},
    {"grow-batch", NULL, "a sweep of devices: the global batch grows with them", NULL, CLI_FLAG(command, batch_grows)},
    {"step", "SECONDS", "a sweep: the smallest number of devices with a step of at most this", NULL,
     CLI_DOUBLE(command, wanted_seconds, 1e-6, 1e6)},
    {"format", "text|json|csv", "for people, docs/plan-json.md, or a row for every plan", "output",
     CLI_WORD(command, format)},
    CLI_GATES_ROW(command, fail_on, NULL, "gap>2%,plans[0].step_time_s>95s"),
    {"write", "DIR", "files of the plans in the job's own words: plan_1.yaml and so on; with --trials trial_1.yaml",
     NULL, CLI_OUTPUT_FOLDER(command, write),
     .manual = "[files](plan.md#files-of-the-plans) of the plans in the format of the job: `plan_1.yaml` and so on; "
               "with `--trials` `trial_1.yaml`. Existing files are kept"},
    {"svg", "FILE", "picture: step against memory of all layouts, those near the best enlarged", NULL,
     CLI_OUTPUT(command, svg),
     .manual = "[picture](plan.md#picture-and-page): step against memory of all layouts, those near the best "
               "enlarged"},
    {"html", "FILE",
     "page for a browser: all layouts, and a timeline of each plan; - for standard output, instead of "
     "the report",
     NULL, CLI_OUTPUT(command, html),
     .manual = "[page for a browser](plan.md#picture-and-page): all layouts, and a timeline of each plan; `-` for "
               "standard output, instead of the report"},
    CLI_LANG_ROW(command, lang),
    CLI_PLOT_OPTIONS(command, plot),
    {"q|quiet", NULL, "one line, and no warnings", NULL, CLI_FLAG(command, quiet),
     .manual = "only the first line, without warnings"},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel plan [OPTIONS] --devices N --device NAME|FILE JOB",
    .summary =
        "Chooses the layout of a training job: data, tensor, context, expert and pipeline degrees, chunks, "
        "micro-batch,\n"
        "sharding of the optimizer, and the layers and the recomputation of every stage. It computes a lower bound "
        "for\n"
        "every layout that the framework accepts and balances the promising ones until no other can be among the best. "
        "JOB is any file that `evenkeel memory` reads; - is standard input. Options take one dash or two.\n"
        "\n"
        "Exit status: 0 plans, 1 nothing fits (or a condition of --fail-on holds), 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel plan train.yaml --devices 64 --device 910B\n"
                "  evenkeel plan config.json --devices 256 --cluster ours.yaml --global-batch 512 --seq-length 8192\n"
                "  evenkeel plan pretrain.sh --device H100 --fix tp=8,sp=on --range pp=1:8 --top 5 --format json\n",
    .operand = "JOB",
    .options = options,
};

enum { PLANS = 10, PLANS_TO_TRY = 20 };

typedef cli_plan found;

static void clear_found(found *f)
{
    cli_plan_clear_files(f);
    cli_plan_clear_advice(f);
    ek_layout_result_clear(&f->result);
    if (f->owns_device)
        ek_device_clear(&f->device);
    ek_job_clear(&f->job);
    ek_job_clear(&f->searched);
    cli_spool_remove(&f->spool);
    free(f->warnings.at);
}

/* ---- options ---- */

static bool check_options(const command *c)
{
    if (!c->source)
        cli_error(NULL, "no job: give a training file, for example `evenkeel plan train.yaml --devices 64 --device "
                        "910B`");
    else if (!c->device && !c->cluster)
        cli_error(NULL, "no device: the step time depends on it; give --device NAME (`evenkeel metrics --devices-list` "
                        "names them) or --cluster FILE");
    else if (c->device && c->cluster)
        cli_error(NULL, "--cluster FILE brings its device with it; leave --device out");
    else if ((c->n_trials || c->tried) && ek_feature_absent(EK_FEATURE_LINEAR_ALGEBRA))
        cli_error(NULL, "%s", ek_feature_absent(EK_FEATURE_LINEAR_ALGEBRA));
    else if (c->values.n > 0 && (c->svg || c->html || c->write || c->explain || c->way || c->n_trials || c->tried))
        cli_error(
            NULL,
            "--sweep is a search for each value; --svg, --html, --write, --explain, --way, --trials and --tried are of "
            "one");
    else if (c->start && !c->tried)
        cli_error(NULL, "--start belongs to --tried");
    else if (c->values.n == 0 && (c->batch_grows || c->wanted_seconds > 0))
        cli_error(NULL, "--grow-batch and --step belong to --sweep");
    else
        return cli_plot_check(&c->plot, c->format, c->values.n > 0 ? "--sweep" : NULL) && cli_check_shared(c->source) &&
               cli_check_shared(c->device) && cli_check_shared(c->cluster) && cli_check_shared(c->tried);
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

/* A Hugging Face config.json has no settings of a run: one device, one sequence. */
static bool settle_size(command *c, const ek_job *job)
{
    int64_t devices = ek_job_devices(job), batch = ek_job_sequences(job);
    bool swept = c->values.n > 0 && c->values.what == EK_SWEEP_DEVICES;
    if (swept) /* the last member, for the next structure */
        c->layout.n_devices = (int)fmin(c->values.value[c->values.n - 1], EK_MAX_RANKS);
    if (c->layout.n_devices == 0 && devices == 1) {
        cli_error(NULL, "no number of devices: '%s' is for one; give --devices N", c->source);
        return false;
    }
    if (c->layout.n_devices == 0) {
        c->layout.n_devices = (int)devices;
        if (!c->quiet)
            cli_note("--devices is not given: %" PRId64 ", as the degrees of '%s' come to", devices, c->source);
    }
    bool batches = c->values.n > 0 && c->values.what == EK_SWEEP_BATCH;
    if (c->global_batch == 0 && batch == 1 && !batches && c->layout.n_devices > 1) {
        int64_t usual = ek_layout_default_batch(job->parallel.seq_length, c->layout.n_devices);
        c->global_batch = (int)fmin((double)usual, INT_MAX);
        if (!c->quiet)
            cli_note("--global-batch is not given: %d sequences of %d tokens, about 4 million tokens a step",
                     c->global_batch, job->parallel.seq_length);
    }
    c->layout.global_batch = c->global_batch;
    return true;
}

/* ---- the search ---- */

/* The share of the work is unknown in advance; the time limit is known. */
static void show(void *user, const ek_layout_progress *now)
{
    found *f = user;
    char text[96];
    if (!isfinite(now->best_seconds))
        snprintf(text, sizeof text, "%ld balanced, %ld left", now->n_balanced, now->n_left);
    else
        snprintf(text, sizeof text, "%ld balanced, %ld left, step %.4g s, gap %.1f %%", now->n_balanced, now->n_left,
                 now->best_seconds, 100 * now->gap);
    cli_progress_show(&f->progress, now->seconds / f->time_limit, text);
}

/* The process that has the answer. */
static bool is_first(void)
{
    return !cli_team() || cli_team()->index == 0;
}

static bool search(command *c, found *f)
{
    ek_error err;
    ek_layout_options *o = &c->layout;
    if (c->explain || c->way) /* which take time, too */
        o->time_limit *= CLI_PLAN_SEARCH_SHARE;
    f->time_limit = o->time_limit;
    o->progress = show;
    o->user = f;
    o->interrupt = &cli_interrupt;
    const ek_listener listener = {cli_take_warning, &f->warnings};
    o->listener = &listener;
    if (is_first())
        cli_warn_absent(EK_FEATURE_LINEAR_PROGRAMS, &listener);
    if (is_first())
        cli_progress_catch(&f->progress);
    ek_status status = ek_layout_search(&f->searched, &f->device, o, &f->result, &err);
    bool wanted = !c->quiet || strcmp(c->format, "json") == 0;
    if (status == EK_OK && f->result.n_plans == 0 && wanted && !f->result.ended_early && is_first())
        status = ek_layout_would_fit(&f->result, &f->fits, &err);
    cli_progress_end(&f->progress);
    o->listener = NULL;
    return cli_said(&f->spool, status, &err);
}

/* ---- output ---- */

/* The step of the first plan, block by block, for its drawing. False after a message. */
static bool run_best(const found *f, const ek_plot *plot, ek_step_run *run)
{
    ek_error err;
    const ek_layout_plan *best = f->result.plan;
    if (plot->columns == 0 || f->result.n_plans == 0 || best->layout.value[EK_AXIS_PIPELINE] < 2)
        return true;
    ek_status status = ek_cost_step_run(&best->job, &f->device, NULL, run, &err);
    if (status)
        cli_error(&err, "%s", err.message);
    return status == EK_OK;
}

/* @return exit code of the command */
static int print(const command *c, const found *f)
{
    int code = f->result.n_plans > 0 ? EXIT_DONE : EXIT_NO;
    ek_step_run run = {.repeats = 0};
    const ek_plot plot = cli_plot_of(&c->plot, c->format, c->quiet);
    if (!run_best(f, &plot, &run))
        return EXIT_WRONG;
    const ek_layout_report report = {.result = &f->result,
                                     .fits = f->result.n_plans == 0 ? &f->fits : NULL,
                                     .file = c->write && f->trials.n == 0 ? (const char *const *)f->file : NULL,
                                     .thumb = f->has_thumbs ? f->thumb : NULL,
                                     .explanation = c->explain ? &f->explanation : NULL,
                                     .way = f->has_way ? &f->way : NULL,
                                     .trials = f->trials.n > 0 ? &f->trials : NULL,
                                     .trial_file = c->write ? (const char *const *)f->trial_file : NULL,
                                     .tries = f->has_tries ? &f->tries : NULL,
                                     .n_warnings = f->warnings.n,
                                     .warning = f->warnings.at,
                                     .verdict_only = c->quiet,
                                     .color = cli_color(STDOUT_FILENO),
                                     .plot = plot,
                                     .run = run.repeats > 0 ? &run : NULL};
    if (!cli_answer(ek_output_of_layout(&report), c->format))
        code = EXIT_WRONG;
    code = cli_gates_check(c->gates, ek_output_of_layout(&report), code);
    ek_step_run_clear(&run);
    return code;
}

static bool offer_sets(command *c, found *f)
{
    ek_error err;
    ek_status status = ek_layout_offer_sets(&f->job, &f->device, &f->searched, &err);
    c->layout.file = &f->job;
    return cli_said(&f->spool, status, &err);
}

static int run_found(command *c, found *f)
{
    if (!cli_read_job(c->source, &c->job.overrides, &f->spool, &f->warnings, &f->job) || !find_device(c, f) ||
        !settle_size(c, &f->job) || !cli_plan_read_tried(c, f))
        return EXIT_WRONG;
    ek_memory_limit_by_device(&f->job, &f->device);
    if (!offer_sets(c, f))
        return EXIT_WRONG;
    c->layout.team = cli_team();
    if (c->values.n > 0)
        return cli_plan_sweep(c, f);
    if (!search(c, f))
        return EXIT_WRONG;
    if (!is_first())
        return EXIT_DONE;
    if (!cli_plan_advise(c, f))
        return EXIT_WRONG;
    bool written = cli_plan_pictures(c, f) && cli_plan_write(c, f);
    int code = print(c, f);
    return written ? code : EXIT_WRONG;
}

static int run(int argc, char **argv)
{
    command c = {.format = "text"};
    const char *operand[1] = {NULL};
    cli_job_options_init(&c.job);
    ek_layout_options_init(&c.layout);
    c.layout.n_best = 0;
    int parsed = cli_parse(&spec, argc, argv, &c, operand);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    c.source = operand[0];
    if (c.layout.n_best == 0) /* trials are chosen among more plans than are printed */
        c.layout.n_best = c.n_trials > 0 ? PLANS_TO_TRY : PLANS;
    if (!check_options(&c) ||
        !cli_gates_open(&c.fail_on, c.values.n > 0 ? EK_OUTPUT_LAYOUT_SWEEP : EK_OUTPUT_LAYOUT, &c.gates))
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

const ek_cmd cmd_plan = {"plan", "find the degrees, layer split and recomputation with the shortest step", run, true,
                         CLI_GROUP_JOB};
