/* `evenkeel ir diff`: reports the effect of changed settings on a graph. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/ir_report.h"

#include "cmd.h"
#include "files.h"
#include "ir.h"
#include "options.h"

enum { MAX_TOP = 100000, MAX_DEVICES = 1 << 24, MAX_ALIVE = 65535 };

typedef struct command {
    const char *path[2];
    bool json, quiet;
    ek_ir_view view;
    ek_ir_check_options check;
} command;

static const cli_option options[] = {
    {"format", "text|json", "for people, or docs/ir-json.md", NULL, CLI_WORD(command, json), .must = "text or json",
     .otherwise = "text"},
    {"top", "N", "rows of a list for people ({})", NULL, CLI_INT(command, view.top, 1, MAX_TOP), .otherwise = "10"},
    {"devices", "N", "devices of a stage, as for evenkeel ir", NULL, CLI_INT(command, check.n_devices, 1, MAX_DEVICES)},
    {"alive", "N", "micro-batches with saved activations at the same time ({})", NULL,
     CLI_INT(command, check.alive, 1, MAX_ALIVE), .otherwise = "1"},
    {"q|quiet", NULL, "the sums only, and nothing of damaged places", NULL, CLI_FLAG(command, quiet)},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel ir diff [OPTIONS] BEFORE AFTER",
    .summary = "Compares two graphs, before and after a change of settings: recomputation, what the backward pass\n"
               "keeps, communication, parameters, operators by their number, and those that only one of them has.\n"
               "Each is a file, or a folder as for evenkeel ir. Options take one dash or two.\n\n"
               "Exit status: 0 done, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel ir diff before.ir after.ir\n"
                "  evenkeel ir diff graphs_old/rank_0 graphs_new/rank_0 --format json\n",
    .operand = "file",
    .max_operands = 2,
    .options = options,
};

static bool compare(const command *c, const cli_ir *before, const cli_ir *after)
{
    ek_ir_difference difference;
    ek_error err;
    ek_status status = ek_ir_compare(&before->report, &after->report, &difference, &err);
    if (status) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    const ek_ir_difference_report report = {&before->report, &after->report, &difference, &c->view};
    bool fine = cli_print(ek_output_of_ir_difference(&report), c->json ? "json" : "text");
    ek_ir_difference_clear(&difference);
    return fine;
}

int cli_ir_difference(int argc, char **argv)
{
    command c = {.view = {.layer = -1}};
    cli_ir before, after;
    int parsed = cli_parse(&spec, argc, argv, &c, c.path);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (!c.path[0] || !c.path[1]) {
        cli_error(NULL, "two files are compared: give the graph before the change and the one after it, for example "
                        "`evenkeel ir diff before.ir after.ir`");
        return EXIT_WRONG;
    }
    if (strcmp(c.path[0], "-") == 0 && strcmp(c.path[1], "-") == 0) {
        cli_error(NULL, "standard input (-) can be read once; save one of the graphs to a file");
        return EXIT_WRONG;
    }
    c.view.verdict_only = c.quiet;
    c.view.color = cli_color(STDOUT_FILENO);
    if (!cli_ir_read(c.path[0], &c.check, c.quiet, &before))
        return EXIT_WRONG;
    bool fine = cli_ir_read(c.path[1], &c.check, c.quiet, &after);
    if (fine) {
        fine = compare(&c, &before, &after);
        cli_ir_clear(&after);
    }
    cli_ir_clear(&before);
    return fine ? EXIT_DONE : EXIT_WRONG;
}
