/* `evenkeel diagnose`: finds out what slows a training run down, from any of its files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/trace_index.h"
#include "evenkeel/view_files.h"

#include "cmd.h"
#include "files.h"
#include "gates.h"
#include "job_options.h"
#include "memory.h"
#include "options.h"
#include "page.h"
#include "run_read.h"
#include "search.h"
#include "timeline.h"

enum { MAX_SOURCES = 256 };

typedef struct command {
    const char *source[MAX_SOURCES];
    ek_run_files files;
    cli_job_options job;
    ek_diagnose_options options;
    const char *device, *output, *html, *lang;
    double limit_mb;
    const char *format;
    int top, stages;
    bool quiet;
    cli_texts fail_on;
    ek_gates *gates;
} command;

static bool read_file(const cli_option *option, const char *text, void *place)
{
    static const struct {
        const char *name;
        ek_run_kind kind;
    } kinds[] = {{"trace", EK_RUN_TRACE},
                 {"config", EK_RUN_CONFIG},
                 {"dryrun", EK_RUN_DRY_RUN},
                 {"ir", EK_RUN_IR},
                 {"log", EK_RUN_LOG}};
    size_t i = 0;
    while (!cli_is(option, kinds[i].name))
        i++;
    return cli_run_take(place, text, kinds[i].kind);
}

static const cli_option options[] = {
    {"trace", "DIR|FILE", "this is a profile, whatever is in it; may be repeated",
     "files of the run that are not recognised by content", CLI_CALL(command, files, read_file)},
    {"config", "FILE", "settings of the job: a training YAML, a Megatron script or arguments, a config.json", NULL,
     CLI_CALL(command, files, read_file),
     .manual = "settings of the job: a training YAML, a script or arguments of Megatron, a TOML of torchtitan, a "
               "`config.json`"},
    {"dryrun", "DIR|FILE", "logs of a dry run, or a listing of their peaks; may be repeated: rounds", NULL,
     CLI_CALL(command, files, read_file)},
    {"ir", "FILE", "a graph as text; may be repeated", NULL, CLI_CALL(command, files, read_file),
     .manual = "a graph of MindSpore as text; may be repeated, up to 64"},
    {"log", "FILE", "the training log", NULL, CLI_CALL(command, files, read_file)},
    CLI_JOB_OPTIONS(command, job),
    {"device", "NAME|FILE", "the device, for its memory and modelled times", "limits", CLI_TEXT(command, device),
     .manual = "the device: its memory is the default limit, and the step is predicted on it"},
    {"limit|mem|max-memory", "MB", "memory of a device that the framework may use: MB, or with a unit as 58GB", NULL,
     CLI_CALL(command, limit_mb, cli_take_memory), .otherwise = "the file's"},
    {"s|stages|stage", "N", "pipeline stages of the trace: ranks are split in order (those of the job)", NULL,
     CLI_INT(command, stages, 1, EK_MAX_STAGES), .otherwise = "the job's, when all stages are there",
     .manual = "ranks of the trace are split into that many stages in order"},
    {"least", "SHARE", "of a step, below which nothing is reported ({})", NULL,
     CLI_DOUBLE(command, options.least_share, 1e-6, 1), .otherwise = "0.01",
     .manual = "share of a step below which nothing is reported"},
    {"seconds", "S", "for the search of a better balance ({})", NULL, CLI_DOUBLE(command, options.seconds, 0.01, 1e6),
     .otherwise = "5", .manual = "time for the search of a better balance"},
    {"threads", "N", "threads ({})", NULL, CLI_INT(command, options.n_threads, 1, 1024), .otherwise = "all cores"},
    {"format", "text|json|html|sarif",
     "for people, docs/diagnose.md, one page for a browser, or for code review (SARIF 2.1.0)", "output",
     CLI_WORD(command, format),
     .manual = "for people, for scripts (docs/diagnose.md), one page for a browser, or [SARIF](interfaces.md#sarif)"},
    {"html", "FILE",
     "also a page: findings, timeline and figures of the trace, memory; - for standard output, instead of the report",
     NULL, CLI_OUTPUT(command, html)},
    CLI_LANG_ROW(command, lang),
    {"o|output", "FILE", "write there instead of standard output", NULL, CLI_OUTPUT(command, output),
     .otherwise = "standard output"},
    {"top", "N", "show only the first N bottlenecks", NULL, CLI_INT(command, top, 1, 1000), .otherwise = "all"},
    {"q|quiet", NULL, "one line: the first bottleneck, without remarks on the files found", NULL,
     CLI_FLAG(command, quiet),
     .manual = "one line: the first bottleneck, or that there is none, without remarks on the files found"},
    CLI_GATES_ROW(command, fail_on, NULL, "bubble>10%,data-loading>50ms,memory"),
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel diagnose [OPTIONS] RUN...",
    .summary =
        "Finds out what slows a training run down, ranked by the gain of a change: slow operators, exposed\n"
        "communication, redistribution, recomputation and memory, data loading, the host, bubbles, load balance. Each\n"
        "RUN is a folder or file of the run: its profile, settings, dry-run logs, graph (.ir), training log. Missing\n"
        "files are listed with the way to get them. Options take one dash or two.\n"
        "\n"
        "Exit status: 0 done, 1 nothing of a run was found, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel diagnose run\n"
                "  evenkeel diagnose profile train.yaml output_dryrun\n"
                "  evenkeel diagnose run --device 910B --limit 58GB --format html -o diagnosis.html\n"
                "  evenkeel diagnose --trace profile --config train.yaml --ir graphs/rank_0/18_validate.ir\n"
                "  evenkeel diagnose run -q\n",
    .operand = "RUN",
    .max_operands = MAX_SOURCES,
    .options = options,
};

/* ---- options ---- */

static bool read_sources(command *c)
{
    for (int i = 0; i < MAX_SOURCES && c->source[i]; i++) {
        if (strcmp(c->source[i], "-") == 0) {
            cli_error(NULL, "a run cannot be read from standard input; give its folder or files");
            return false;
        }
        if (!cli_run_take(&c->files, c->source[i], EK_RUN_UNKNOWN))
            return false;
    }
    return true;
}

/* ---- output ---- */

/* The setting when it is one line, else one sentence on its effect: a block of settings needs all its lines. */
static const char *short_change(const ek_bottleneck *b)
{
    bool one_line = b->setting && !strchr(b->setting, '\n');
    return one_line || !b->change ? b->setting : b->change;
}

static void print_line(const command *c, const ek_diagnosis *d)
{
    double least = c->options.least_share > 0 ? c->options.least_share : 0.01;
    if (d->n_bottlenecks == 0) {
        printf("nothing above %g %% of a step\n", 100 * least);
        return;
    }
    const ek_bottleneck *b = &d->bottleneck[0];
    size_t length = strlen(b->title);
    printf("%.*s", (int)(length > 0 && b->title[length - 1] == '.' ? length - 1 : length), b->title);
    if (!isnan(b->gain_seconds))
        printf(" (gain %.1f ms, %.1f %%)", 1e3 * b->gain_seconds, 100 * b->gain_share);
    const char *change = short_change(b);
    if (change)
        printf("; %.*s", (int)strcspn(change, "\n"), change);
    putchar('\n');
}

/* ---- the page ---- */

/* Further parts of a page: the trace's events, and the memory of the stages as predicted from the job. */
typedef struct more {
    ek_trace_index *index;
    bool has_memory;
    ek_prediction memory;
} more;

/* A page is written also without its timeline. */
static bool open_timeline(const command *c, const ek_run_evidence *f, more *m)
{
    const char *path[EK_MAX_RUN_FILES];
    int n = 0;
    int64_t bytes = ek_view_event_bytes(&f->trace);
    for (int i = 0; i < c->files.n; i++)
        if (c->files.file[i].kind == EK_RUN_TRACE)
            path[n++] = c->files.file[i].path;
    if (bytes > EK_VIEW_MAX_TRACE_BYTES) {
        cli_note("the page has no timeline: the traces have %lld MB of events, and the limit of a page is %d MB; "
                 "`evenkeel view --serve` shows them",
                 (long long)(bytes >> 20), EK_VIEW_MAX_TRACE_BYTES >> 20);
        return true;
    }
    return cli_timeline_open(path, n, &f->trace, c->options.n_threads, &m->index);
}

static void predict_memory(const command *c, const ek_run_evidence *f, more *m)
{
    ek_error err;
    m->has_memory = ek_prediction_of(&f->job, f->input.device, &m->memory, &err) == EK_OK;
    if (!m->has_memory && !c->quiet)
        cli_note("the page has no prediction of memory: %s", err.message);
}

static bool write_page(const command *c, const ek_run_evidence *f, const ek_diagnosis *d, const char *path)
{
    char name[256], title[300];
    more m = {0};
    bool fine = !f->input.trace || open_timeline(c, f, &m);
    if (fine && f->input.job)
        predict_memory(c, f, &m);
    ek_view_name_of(c->source[0] ? c->source[0] : c->files.file[0].path, name, sizeof name);
    snprintf(title, sizeof title, "Diagnosis of %s", name);
    const ek_view_run run = {.name = name,
                             .memory = m.has_memory ? &m.memory.report : NULL,
                             .trace = f->input.trace,
                             .index = m.index,
                             .diagnosis = d};
    fine = fine && cli_write_page(path, title, c->lang, &run, 1);
    ek_trace_index_close(m.index);
    ek_prediction_clear(&m.memory);
    return fine;
}

/* ---- all of it ---- */

static bool print(const command *c, const ek_run_evidence *f, const ek_diagnosis *d)
{
    ek_output output = ek_output_of_diagnosis(d);
    if (c->quiet)
        print_line(c, d);
    if (!c->output && (c->quiet || cli_on_stdout(c->html)))
        return cli_printed(EK_OK, NULL);
    const char *path = c->output ? c->output : "-";
    output.color = cli_on_stdout(path) && cli_color(STDOUT_FILENO);
    return strcmp(c->format, "html") == 0 ? write_page(c, f, d, path) : cli_save(path, output, c->format);
}

static int answer(const command *c, const ek_run_evidence *f, ek_diagnosis *d)
{
    int all = d->n_bottlenecks;
    if (c->top > 0 && c->top < all)
        d->n_bottlenecks = c->top;
    bool fine = print(c, f, d) && (!c->html || write_page(c, f, d, c->html));
    d->n_bottlenecks = all;
    return cli_gates_check(c->gates, ek_output_of_diagnosis(d), fine ? EXIT_DONE : EXIT_WRONG);
}

static bool has_anything(const ek_run_input *input)
{
    return input->trace || input->job || input->dry_runs || input->n_ir > 0 || input->log;
}

static int diagnose(command *c, ek_run_evidence *f)
{
    ek_diagnosis diagnosis;
    ek_error err;
    if (!has_anything(&f->input)) {
        cli_error(NULL, "nothing of a training run was found there: neither a profile, nor settings, logs or graphs");
        return EXIT_NO;
    }
    cli_catch_interrupt();
    c->options.interrupt = &cli_interrupt;
    ek_status status = ek_diagnose(&f->input, &c->options, &diagnosis, &err);
    cli_release_interrupt();
    if (status) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    int code = answer(c, f, &diagnosis);
    ek_diagnosis_clear(&diagnosis);
    return code;
}

static bool read_run(command *c, ek_run_evidence *f)
{
    const cli_run_reading how = {.files = &c->files,
                                 .job = &c->job,
                                 .has_overrides = c->job.given,
                                 .device = c->device,
                                 .limit_mb = c->limit_mb,
                                 .stages = c->stages,
                                 .n_threads = c->options.n_threads,
                                 .quiet = c->quiet};
    return cli_run_read(&how, f);
}

static bool check(const command *c)
{
    if (cli_on_stdout(c->html) && c->quiet) {
        cli_error(NULL, "standard output (-) takes one of --html and the line of --quiet; write the page to a file");
        return false;
    }
    if (c->source[0] || c->files.n > 0)
        return true;
    cli_error(NULL, "no run: give its folder or files, for example `evenkeel diagnose profile train.yaml`");
    return false;
}

static int run(int argc, char **argv)
{
    command c = {.format = "text"};
    ek_run_evidence *f = calloc(1, sizeof *f);
    int code = EXIT_WRONG;
    cli_job_options_init(&c.job);
    int parsed = f ? cli_parse(&spec, argc, argv, &c, c.source) : CLI_WRONG;
    if (!f)
        cli_error(NULL, "out of memory");
    else if (parsed == CLI_HELP)
        code = EXIT_DONE;
    else if (parsed == CLI_OK && check(&c) && cli_gates_open(&c.fail_on, EK_OUTPUT_DIAGNOSIS, &c.gates) &&
             read_sources(&c) && read_run(&c, f))
        code = diagnose(&c, f);
    if (f)
        ek_run_evidence_clear(f);
    free(f);
    ek_gates_free(c.gates);
    ek_run_files_clear(&c.files);
    return code;
}

const ek_cmd cmd_diagnose = {"diagnose", "find what slows a training run down, the largest gain first", run, false,
                             CLI_GROUP_RUN};
