/* `evenkeel view`: shows a run in a browser, as a page in a file, or from a server for traces of any size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cmd.h"
#include "evenkeel/features.h"
#include "files.h"
#include "options.h"
#include "page.h"
#include "view_runs.h"
#include "view_serve.h"

enum { MAX_SOURCES = 4096, MAX_PORT = 65535 };

typedef struct command {
    const char *source[MAX_SOURCES];
    cli_view_how how;
    ek_view_files first, second;
    const char *output;
    cli_serve_options serving;
    bool serve, compares;
    const char *needs_serve; /* an option that does */
} command;

static bool read_against(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    (void)option;
    c->second.given = c->second.given ? c->second.given : text;
    return cli_run_take(&c->second.files, text, EK_RUN_UNKNOWN);
}

static const cli_option options[] = {
    {"o|out|output", "FILE",
     "write the page there (NAME.html in this folder, by the first input); - is standard output", "the page",
     CLI_OUTPUT(command, output),
     .otherwise =
         "the name of the first input with `.html`, in the current folder, unless that is a file of another kind",
     .manual = "write the page there; `-` is standard output"},
    {"title", "TEXT", "its title", NULL, CLI_TEXT(command, serving.title), .manual = "title of the page"},
    CLI_LANG_ROW(command, serving.lang),
    {"against", "FILE|DIR", "compare with this; may be repeated: the files of one other run", NULL,
     CLI_CALL_ALL(read_against), CLI_GIVEN(command, compares),
     .manual = "compare with this; may be repeated, for the files of one other run. Plans that come without a "
               "model share the first one's"},
    {"serve", NULL, "start a server on this machine instead of writing a page: for traces of any size", "serving",
     CLI_FLAG(command, serve)},
    {"port", "N", "port of the server ({})", NULL, CLI_INT(command, serving.port, 0, MAX_PORT),
     CLI_GIVEN(command, needs_serve), .otherwise = "any that is free"},
    {"index", "DIR", "folder for the index of the traces ({})", NULL, CLI_OUTPUT_FOLDER(command, how.index_folder),
     CLI_GIVEN(command, needs_serve), .otherwise = "next to them, or in the user's cache",
     .manual = "folder for the index, by default `evenkeel-index` next to the traces, or the user's cache if that is "
               "not writable"},
    {"fresh", NULL, "index and work out the figures again, even where nothing has changed", NULL,
     CLI_FLAG(command, how.fresh), CLI_GIVEN(command, needs_serve)},
    {"init", "FILE", "init file (YAML) of plans: peak memory of every stage in a dry run", "plans",
     CLI_TEXT(command, how.model.init)},
    {"layers", "FILE", "layer file (JSON) of plans: memory and time of each layer", NULL,
     CLI_TEXT(command, how.model.layers)},
    {"time", "TIMES", "forward times, for example head=0.1,body=3.1,tail=3.5; they win over the file's", NULL,
     CLI_TEXT(command, how.model.times)},
    {"schedule", "SCHEDULE", "order of the blocks (the plan's own; `evenkeel simulate --list-schedules` names all)",
     NULL, CLI_CALL(command, how.model.schedule, cli_take_schedule), CLI_GIVEN(command, how.job.given)},
    {"mb|micro-batches|micro_batch", "N", "micro-batches of a step (the plan's own)", NULL,
     CLI_INT(command, how.model.n_micro_batches, 1, EK_MAX_MICRO_BATCHES), CLI_GIVEN(command, how.job.given)},
    {"p2p-time", "TIME", "time of one send between stages, in the unit of the layer times ({})", NULL,
     CLI_DOUBLE(command, how.model.comm.p2p_time, 0, 1e12), CLI_GIVEN(command, how.model.p2p_given)},
    {"s|stages|stage", "N", "pipeline stages, if the files do not contain them", "runs",
     CLI_INT(command, how.model.n_stages, 1, EK_MAX_STAGES)},
    {"limit|mem|max-memory", "MB", "memory of a device that the framework may use: MB, or with a unit as 58GB", NULL,
     CLI_CALL(command, how.limit_mb, cli_take_memory),
     .manual = "memory of a device that the framework may use, and for plans the limit of every stage: MB, or with a "
               "unit as `58GB`"},
    {"device", "NAME|FILE", "the device, for its memory and modelled times", NULL, CLI_TEXT(command, how.device)},
    {"threads", "N", "threads ({})", NULL, CLI_INT(command, how.n_threads, 1, 1024), .otherwise = "all cores"},
    {"q|quiet", NULL, "only the name of the page or the address of the server", NULL, CLI_FLAG(command, how.quiet)},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel view [OPTIONS] FILE|DIR...\n       evenkeel view --serve [OPTIONS] FILE|DIR...",
    .summary =
        "Shows a run in a browser: timeline and memory of each stage, parts of the step, comparison of two runs. "
        "Files\n"
        "are recognised by content: traces of a profiler or their folder, a plan with the init file or layer file of\n"
        "its model, settings of a training job, logs, graphs. The page is one file that needs no network. --serve is\n"
        "for traces too large for a page: it indexes them once and sends the visible part to the browser. Options take "
        "one dash or two.\n"
        "\n"
        "Exit status: 0 done, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel view profile\n"
                "  evenkeel view profile train.yaml --out run.html\n"
                "  evenkeel view plan.yaml init.yaml --limit 56000\n"
                "  evenkeel view new.yaml layers.json --against old.yaml\n"
                "  evenkeel view train.yaml --device 910B\n"
                "  evenkeel view --serve profile\n",
    .operand = "FILE|DIR",
    .max_operands = MAX_SOURCES,
    .options = options,
};

/* ---- options ---- */

static bool read_sources(command *c)
{
    c->first.given = c->source[0];
    for (int i = 0; i < MAX_SOURCES && c->source[i]; i++) {
        if (strcmp(c->source[i], "-") == 0) {
            cli_error(NULL, "a run cannot be read from standard input; give its folder or files");
            return false;
        }
        if (!cli_run_take(&c->first.files, c->source[i], EK_RUN_UNKNOWN))
            return false;
    }
    return true;
}

static bool has_kind(const ek_view_files *set, ek_run_kind kind)
{
    return ek_run_files_first(&set->files, kind) != NULL;
}

static bool check(const command *c)
{
    if (!c->source[0])
        cli_error(NULL, "nothing to look at: give files or a folder, for example `evenkeel view profile`");
    else if (c->serve && ek_feature_absent(EK_FEATURE_SERVER))
        cli_error(NULL, "%s", ek_feature_absent(EK_FEATURE_SERVER));
    else if (ek_feature_absent(EK_FEATURE_PAGE))
        cli_error(NULL, "%s", ek_feature_absent(EK_FEATURE_PAGE));
    else if (c->serve && c->output)
        cli_error(NULL, "--serve starts a server and writes no page; leave --out or --serve out");
    else if (!c->serve && c->needs_serve)
        cli_error(NULL, "--%s is for the server; give --serve too", c->needs_serve);
    else if (c->output && !*c->output)
        cli_error(NULL, "--out needs the name of a file (got ''); - is standard output");
    else if (c->how.index_folder && !*c->how.index_folder)
        cli_error(NULL, "--index needs the name of a folder (got ''); . is this one");
    else
        return true;
    return false;
}

/* --serve shows events of traces; plans always fit into a page. */
static bool check_served(const command *c)
{
    if (!has_kind(&c->first, EK_RUN_TRACE))
        cli_error(NULL, "there is no trace to serve; without --serve the other files become a page");
    else if (c->compares && !has_kind(&c->second, EK_RUN_TRACE))
        cli_error(NULL, "the path of --against has no trace to compare with");
    else if (has_kind(&c->first, EK_RUN_PLAN) || has_kind(&c->second, EK_RUN_PLAN))
        cli_error(NULL, "--serve shows traces; leave the plans out, or make a page of them without --serve");
    else
        return true;
    return false;
}

/* ---- the page ---- */

/* A page of Evenkeel is marked as such at its beginning. */
static bool is_page(const char *path)
{
    char head[4096];
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(head, 1, sizeof head - 1, file) : 0;
    if (file)
        fclose(file);
    head[n] = '\0';
    return strncmp(head, "<!doctype html>", 15) == 0 && strstr(head, "<title>Evenkeel");
}

/* The name of the input without its ending. */
static void name_page(const char *path, char *name, size_t size)
{
    static const char *const endings[] = {".gz", ".json", ".yaml", ".yml", ".sh", ".html"};
    ek_view_name_of(path, name, size);
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (n > length && strcmp(name + n - length, endings[i]) == 0)
            name[n -= length] = '\0';
    }
}

/* The page's file: the requested one, else named after the first input, unless it would overwrite a foreign file. */
static bool choose_output(const command *c, char *path, size_t size, bool *replaces)
{
    struct stat unused;
    char name[256];
    name_page(c->source[0], name, sizeof name);
    snprintf(path, size, "%s%s", c->output ? c->output : name, c->output ? "" : ".html");
    *replaces = strcmp(path, "-") != 0 && stat(path, &unused) == 0 && S_ISREG(unused.st_mode);
    if (c->output || !*replaces || is_page(path))
        return true;
    cli_error(NULL, "'%s' is there already and is no page of Evenkeel; give the page another name with --out FILE",
              path);
    return false;
}

static bool report_page(const command *c, const char *path, bool replaces)
{
    struct stat about;
    ek_error err;
    if (strcmp(path, "-") == 0)
        return true;
    if (c->how.quiet)
        puts(path);
    else if (stat(path, &about) == 0)
        printf("%s: %.1f MB%s\n", path, 1e-6 * (double)about.st_size, replaces ? ", in place of the one before" : "");
    return cli_printed(EK_OK, &err);
}

typedef struct page {
    const command *command;
    const ek_view_files *second;
} page;

static ek_status write_page(const void *user, FILE *out, ek_error *err)
{
    const page *p = user;
    const command *c = p->command;
    return ek_view_files_write(&c->first, p->second, c->serving.title, c->serving.lang, out, err);
}

static int make_page(command *c)
{
    char path[4200];
    bool replaces;
    if (!choose_output(c, path, sizeof path, &replaces) || !cli_view_read(&c->how, NULL, &c->first) ||
        (c->compares && !cli_view_read(&c->how, &c->first, &c->second)))
        return EXIT_WRONG;
    const page whole = {c, c->compares ? &c->second : NULL};
    bool fine = cli_write_file(path, write_page, &whole) && report_page(c, path, replaces);
    return fine ? EXIT_DONE : EXIT_WRONG;
}

/* ---- running ---- */

/* One index a rank stays open: raises the limit of open files to the system's maximum. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int run_command(command *c)
{
    allow_files();
    return c->serve ? cli_view_serve(&c->how, &c->serving, &c->first, &c->second) : make_page(c);
}

/* Options that apply to plans and to jobs. */
static void share(cli_view_how *how)
{
    how->stages = how->model.n_stages;
    how->job.overrides.schedule = how->model.schedule;
    how->job.overrides.n_micro_batches = how->model.n_micro_batches;
    how->model.memory_given = how->limit_mb > 0;
    how->model.memory_mb = how->limit_mb;
}

static int run(int argc, char **argv)
{
    command *c = calloc(1, sizeof *c);
    int code = EXIT_WRONG;
    if (!c) {
        cli_error(NULL, "out of memory");
        return EXIT_WRONG;
    }
    c->first.files.models = c->second.files.models = true;
    cli_model_init(&c->how.model);
    cli_job_options_init(&c->how.job);
    int parsed = cli_parse(&spec, argc, argv, c, c->source);
    share(&c->how);
    if (parsed == CLI_HELP)
        code = EXIT_DONE;
    else if (parsed == CLI_OK && check(c) && read_sources(c) && (!c->serve || check_served(c)))
        code = run_command(c);
    ek_view_files_clear(&c->second);
    ek_view_files_clear(&c->first);
    free(c);
    return code;
}

const ek_cmd cmd_view = {"view", "show runs and plans in a browser: a page, or a server for large traces", run, false,
                         CLI_GROUP_RUN};
