/* `evenkeel FILE...`: files and folders described, with figures that take seconds at most, and the commands to type
 * next. */
#include <string.h>
#include <unistd.h>

#include "evenkeel/overview.h"

#include "cmd.h"
#include "files.h"
#include "job_options.h"
#include "options.h"
#include "overview.h"
#include "progress.h"
#include "search.h"

typedef struct command {
    ek_overview_options options;
    const char *format;
    int global_batch;
    bool quiet;
} command;

static const cli_option options[] = {
    {"device", "NAME|FILE", "device for the step and the memory limit (`evenkeel metrics --devices-list` names all)",
     "the job", CLI_TEXT(command, options.device), .otherwise = "the usual one of the framework, where one is needed"},
    {"devices", "N", "look for the best layout on so many devices, where the file has none or another", NULL,
     CLI_INT(command, options.n_devices, 1, EK_MAX_RANKS)},
    {"global-batch", "N", "sequences of a step of that layout", NULL, CLI_INT(command, global_batch, 1, 1 << 24),
     .otherwise = "the file's, or about 4 million tokens"},
    {"seq-length", "N", "tokens of a sequence", NULL, CLI_INT(command, options.seq_length, 1, 1 << 28),
     .otherwise = "the file's"},
    {"mem|max-memory", "MB", "memory limit of a device: MB, or with a unit as 58GB", NULL,
     CLI_CALL(command, options.limit_mb, cli_take_memory), .otherwise = "the file's or the device's"},
    {"t|time-limit", "SECONDS", "time for the search of a layout ({})", NULL,
     CLI_DOUBLE(command, options.seconds, 0.001, 1e6), .otherwise = "15"},
    {"threads", "N", "threads ({})", NULL, CLI_INT(command, options.n_threads, 1, 256), .otherwise = "all cores"},
    {"format", "text|json", "for people, or docs/overview.md", "output", CLI_WORD(command, format)},
    {"q|quiet", NULL, "no warnings of the files' readers", NULL, CLI_FLAG(command, quiet)},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel [OPTIONS] FILE|FOLDER...",
    .summary =
        "Recognises files by their content and prints in a few lines what they are: of a training file the model, its\n"
        "devices, whether it fits and how long a step takes; of a config.json with --devices the best layout; of a\n"
        "folder of traces the step and the first causes of lost time. The commands to type next follow, ready to "
        "paste.\n"
        "Several paths are the files of one run. Options take one dash or two.\n\n"
        "Exit status: 0 done, 1 the job does not fit or nothing was recognised, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel train.yaml\n"
                "  evenkeel config.json --devices 64 --device H100\n"
                "  evenkeel profile/\n"
                "  evenkeel train.yaml profile/ worker_0.log --format json\n",
    .operand = "FILE or FOLDER",
    .max_operands = EK_MAX_OVERVIEW_PATHS,
    .options = options,
};

bool cli_overview_option(const char *word)
{
    return cli_has_option(options, word);
}

static int answer(const command *c, const ek_overview *overview)
{
    ek_output output = ek_output_of_overview(overview);
    const ek_overview_job *job = overview->job;
    const ek_overview_layout *layout = overview->layout;
    output.color = cli_color(STDOUT_FILENO);
    if (!cli_answer(output, c->format))
        return EXIT_WRONG;
    if (overview->n_parts == 0 || overview->part[0].kind == EK_OVERVIEW_OTHER)
        return EXIT_NO;
    if (layout)
        return layout->found ? EXIT_DONE : EXIT_NO;
    return job && job->has_layout && job->limit > 0 && !job->fits ? EXIT_NO : EXIT_DONE;
}

static int look(command *c, const char *const *path)
{
    ek_overview overview;
    ek_error err;
    int n = 0;
    while (n < EK_MAX_OVERVIEW_PATHS && path[n])
        n++;
    if (n == 0) {
        cli_error(NULL, "no file: give a training file, a config.json or a folder, for example `evenkeel train.yaml`");
        return EXIT_WRONG;
    }
    for (int i = 0; i < n; i++)
        if (strcmp(path[i], "-") == 0) {
            cli_error(NULL, "files are recognised by their content and read several times; save standard input (-) to "
                            "a file");
            return EXIT_WRONG;
        }
    c->options.global_batch = c->global_batch;
    c->options.warnings = c->quiet ? NULL : &cli_listener;
    c->options.interrupt = &cli_interrupt;
    cli_catch_interrupt();
    ek_status status = ek_overview_of(path, n, &c->options, &overview, &err);
    cli_release_interrupt();
    if (status) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    int code = answer(c, &overview);
    ek_overview_clear(&overview);
    return code;
}

static int run(int argc, char **argv)
{
    command c = {.format = "text"};
    const char *path[EK_MAX_OVERVIEW_PATHS] = {NULL};
    int parsed = cli_parse(&spec, argc, argv, &c, path);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    return look(&c, path);
}

const ek_cmd cmd_overview = {
    "overview", "recognise files and folders, and print the commands to type next; `evenkeel FILE` does the same", run,
    false, CLI_GROUP_FIRST};
