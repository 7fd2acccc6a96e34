/* `evenkeel calibrate`: writes a device or cluster file from measurements on it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/calibration.h"

#include "cmd.h"
#include "files.h"
#include "job_options.h"
#include "named_files.h"
#include "options.h"
#include "page.h"
#include "progress.h"
#include "run_read.h"
#include "warnings.h"

enum { MAX_SOURCES = 1024 };

typedef struct command {
    const char *output, *start, *name, *format, *svg, *html, *lang;
    const char *operand[MAX_SOURCES];
    double holdout;
    ek_run_files files; /* of folders */
    int n;
    const char *path[MAX_SOURCES + EK_MAX_RUN_FILES];
    ek_device device;
    bool owns_device; /* read from a file: its tables are ours */
} command;

static const cli_option options[] = {
    {"o|output", "FILE", "device file to write; - is standard output, without a report", "what to make",
     CLI_OUTPUT(command, output), .otherwise = "must be given"},
    {"start", "NAME|FILE", "device to start from (the shipped one that the runs name)", NULL, CLI_TEXT(command, start),
     .otherwise = "by the runs",
     .manual = "device to start from: a shipped one or a file; else the shipped one that the runs name"},
    {"name", "NAME", "name of the device in the file ({})", NULL, CLI_TEXT(command, name),
     .otherwise = "that of the start"},
    {"holdout", "SHARE", "share of the groups of runs, 0 to 0.9, to keep back and judge by ({})", NULL,
     CLI_DOUBLE(command, holdout, 0, 0.9),
     .manual = "share of the groups of runs, 0 to 0.9, to keep back and judge by; at least one group then"},
    {"format", "text|json|csv", "of the report: for people, docs/calibrate.md, or a row for every run", "output",
     CLI_WORD(command, format), .otherwise = "text"},
    {"svg", "FILE", "picture: predicted and measured steps, and the constants", NULL, CLI_OUTPUT(command, svg),
     .manual = "picture: predicted and measured steps, the error of each, and the fitted constants; `-` is standard "
               "output, instead of the report"},
    {"html", "FILE", "page for a browser, with every run and constant", NULL, CLI_OUTPUT(command, html),
     .manual = "[page for a browser](view.md) with the same and all runs and constants as tables; `-` likewise"},
    CLI_LANG_ROW(command, lang),
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel calibrate [OPTIONS] SOURCE... -o FILE",
    .summary =
        "Fits a device or cluster to measurements, for --device of all commands. SOURCEs, in any mixture and order,\n"
        "are recognised by their content: tables of measured runs (CSV), tables of measured kernels and of rates, "
        "logs\n"
        "of nccl-tests and hccl_test, profiles (all that `evenkeel trace` reads: their operators, collectives and\n"
        "launches), a training log or a profile with its job file, or a folder of these. The report contains the "
        "error\n"
        "of the fit on runs that were left out, the constants that the runs determine and those that they do not, and\n"
        "the runs to measure next. Options take one dash or two.\n"
        "\n"
        "Exit status: 0 done, 2 wrong usage or input; then nothing is written.",
    .examples = "examples:\n"
                "  evenkeel calibrate runs.csv -o cluster.yaml --holdout 0.25\n"
                "  evenkeel calibrate all_reduce_perf.log all_gather_perf.log --start A800 -o cluster.yaml\n"
                "  evenkeel calibrate run1/ run2/ run3/ --start H100 -o cluster.yaml\n"
                "  evenkeel calibrate kernels.csv rates.csv runs.csv --start B200 -o b200.yaml --format json\n"
                "  evenkeel calibrate runs.csv -o cluster.yaml --svg fit.svg --html fit.html\n",
    .operand = "SOURCE",
    .max_operands = MAX_SOURCES,
    .options = options,
};

static bool check(const command *c)
{
    if (!c->operand[0])
        cli_error(NULL, "no source: give measurements, for example `evenkeel calibrate runs.csv -o cluster.yaml`");
    else if (!c->output)
        cli_error(NULL, "no output: give the device file to write with -o FILE");
    else if (c->name && (strlen(c->name) >= EK_NAME_SIZE || c->name[0] == '\0'))
        cli_error(NULL, "--name must have 1 to %d bytes", EK_NAME_SIZE - 1);
    else
        return true;
    return false;
}

/* ---- sources ---- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_source(const ek_run_file *file)
{
    return file->kind == EK_RUN_CONFIG || file->kind == EK_RUN_LOG || file->kind == EK_RUN_TRACE;
}

/* Of a run's files: its settings, log and profile. */
static bool read_folder(command *c, const char *path)
{
    int first = c->files.n, n = 0;
    if (!cli_run_take(&c->files, path, EK_RUN_UNKNOWN))
        return false;
    for (int i = first; i < c->files.n; i++)
        n += is_source(&c->files.file[i]);
    if (n == 0)
        cli_error(
            NULL,
            "the folder '%s' has neither a job file nor a training log nor a profile; give tables and logs by name",
            path);
    return n > 0;
}

static bool read_sources(command *c)
{
    for (int i = 0; i < MAX_SOURCES && c->operand[i]; i++) {
        if (is_folder(c->operand[i])) {
            if (!read_folder(c, c->operand[i]))
                return false;
        } else {
            c->path[c->n++] = c->operand[i];
        }
    }
    for (int i = 0; i < c->files.n; i++)
        if (is_source(&c->files.file[i]))
            c->path[c->n++] = c->files.file[i].path;
    return true;
}

/* ---- the whole ---- */

static ek_status write_device(const void *user, FILE *out, ek_error *err)
{
    return ek_calibration_write_device(user, out, err);
}

static bool write_page(const command *c, const ek_calibration *calibration)
{
    char title[EK_NAME_SIZE + 64];
    snprintf(title, sizeof title, "Calibration of %s", calibration->device.name);
    const ek_view_run run = {.name = calibration->device.name, .calibration = calibration};
    return cli_write_page(c->html, title, c->lang, &run, 1);
}

static bool print(const command *c, const ek_calibration *calibration)
{
    ek_output output = ek_output_of_calibration(calibration);
    output.color = cli_color(STDOUT_FILENO);
    if (!cli_print(output, c->format))
        return false;
    if (strcmp(c->format, "text") != 0)
        return true;
    printf("\nwritten: %s; use it with --device %s\n", c->output, c->output);
    return cli_printed(EK_OK, NULL);
}

static bool write_all(const command *c, ek_calibration *calibration)
{
    if (c->name)
        snprintf(calibration->device.name, sizeof calibration->device.name, "%s", c->name);
    if (!cli_save(c->svg, ek_output_of_calibration(calibration), "svg") || (c->html && !write_page(c, calibration)) ||
        !cli_write_file(c->output, write_device, calibration))
        return false;
    return cli_stdout_taken() || print(c, calibration);
}

static bool find_start(command *c)
{
    ek_error err;
    if (!c->start || ek_device_open(c->start, &cli_listener, &c->device, &c->owns_device, &err) == EK_OK)
        return true;
    cli_error(&err, "%s", err.message);
    return false;
}

/* Rows of a table often name the same job file: its reader's warnings are printed once. */
typedef struct once {
    cli_warnings said;
    const ek_listener *to;
} once;

static void warn_once(void *user, const ek_error *warning)
{
    once *o = user;
    for (int i = 0; i < o->said.n; i++)
        if (o->said.at[i].line == warning->line && o->said.at[i].column == warning->column &&
            strcmp(o->said.at[i].message, warning->message) == 0 && strcmp(o->said.at[i].file, warning->file) == 0)
            return;
    cli_take_warning(&o->said, warning);
    o->to->warn(o->to->user, warning);
}

static bool answer(command *c)
{
    ek_calibration calibration;
    once heard = {.said = {.quiet = true}};
    cli_progress progress;
    ek_error err;
    if (!check(c) || !read_sources(c) || !find_start(c))
        return false;
    cli_progress_begin(&progress);
    heard.to = &progress.listener;
    const ek_listener listener = {warn_once, &heard};
    const ek_calibrate_input input = {.path = c->path,
                                      .n_paths = c->n,
                                      .start = c->start ? &c->device : NULL,
                                      .holdout = c->holdout,
                                      .listener = &listener,
                                      .progress = cli_progress_show,
                                      .progress_user = &progress};
    ek_status status = ek_calibrate(&input, &calibration, &err);
    cli_progress_end(&progress);
    free(heard.said.at);
    if (status) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    bool fine = write_all(c, &calibration);
    ek_calibration_clear(&calibration);
    return fine;
}

static int run(int argc, char **argv)
{
    command *c = calloc(1, sizeof *c);
    int code = EXIT_WRONG;
    if (!c) {
        cli_error(NULL, "out of memory");
        return code;
    }
    c->format = "text";
    int parsed = cli_parse(&spec, argc, argv, c, c->operand);
    if (parsed == CLI_HELP)
        code = EXIT_DONE;
    else if (parsed == CLI_OK)
        code = answer(c) ? EXIT_DONE : EXIT_WRONG;
    if (c->owns_device)
        ek_device_clear(&c->device);
    ek_run_files_clear(&c->files);
    free(c);
    return code;
}

const ek_cmd cmd_calibrate = {"calibrate", "fit a device file to measured runs, profiles, kernels and links", run,
                              false, CLI_GROUP_DEVICE};
