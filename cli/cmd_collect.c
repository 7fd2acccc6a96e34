/* `evenkeel collect`: prints the peaks of a dry run's logs, or writes them into an init file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "files.h"
#include "options.h"
#include "progress.h"

enum { MAX_ROUNDS = 64 };

typedef struct command {
    const char *source[MAX_ROUNDS];
    int n_sources, n_stages;
    ek_peak which;
    bool allow_missing;
    const char *init, *output;
    const char *format;
    bool format_given;
} command;

static bool read_which(const cli_option *option, const char *text, void *place)
{
    int i = cli_word(option, text);
    *(ek_peak *)place = i == 0 ? EK_PEAK_USED : EK_PEAK_ACTUAL;
    return i >= 0;
}

static const cli_option options[] = {
    {"which", "used|actual",
     "which peak counts: actual (the default), with fragments, the memory that the device must have; or used", "logs",
     CLI_CALL(command, which, read_which), .must = "used or actual", .otherwise = "actual",
     .manual = "which peak counts: `actual`, with fragments, the memory that the device must have; or `used`. "
               "Published init files have actual peaks; a stage fits its device if its actual peak does"},
    {"s|stages|stage", "N", "stages of the dry run (those of --init, else one more than the highest that has a log)",
     NULL, CLI_INT(command, n_stages, 1, EK_MAX_STAGES),
     .otherwise = "`pipeline_num` of `--init`, else up to the highest stage with a log",
     .manual = "stages of the dry run: those without a log are missing"},
    {"allow-missing", NULL, "do with the stages that are there, if they are enough to go on with", NULL,
     CLI_FLAG(command, allow_missing)},
    {"init", "FILE", "put the peaks into this init file as its memory_usage; the file before becomes FILE.bak",
     "output", CLI_EDITED(command, init),
     .manual = "put the peaks into this init file as its `memory_usage`. The file before is kept as `FILE.bak` "
               "(`FILE.bak2` and so on when there is one)"},
    {"o|output", "NEW", "with --init: write NEW instead (- is standard output) and do not change FILE", NULL,
     CLI_OUTPUT(command, output)},
    {"format", "text|yaml|json", "without --init: text, yaml (only memory_usage) or json (docs/collect.md)", NULL,
     CLI_WORD(command, format), CLI_GIVEN(command, format_given), .must = "text, yaml or json", .otherwise = "text",
     .manual =
         "without `--init`: a table followed by the block `memory_usage`, only that block, or [JSON](collect.md#json)"},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel collect [OPTIONS] DIR...\n       evenkeel collect [OPTIONS] DIR... --init FILE [-o NEW]",
    .summary =
        "Finds the logs of a dry run below DIR and collects the peak memory of every stage, as a table and as the\n"
        "memory_usage of an init file. Logs are stage_S_rank_R/mindformer.log, stageS_R/mindformer.log or rank_R.log.\n"
        "Instead of DIR a saved listing of `grep -rn 'peak memory usage' DIR` will do; - is standard input. Several\n"
        "DIR are several rounds. Options take one dash or two.\n\n"
        "Exit status: 0 done, 1 a stage has no log or no peak, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel collect output_dryrun\n"
                "  evenkeel collect output_dryrun --init init.yaml\n"
                "  evenkeel collect round1 round2 --init init.yaml -o filled.yaml\n"
                "  evenkeel collect output_dryrun --format yaml\n"
                "  evenkeel collect round1 round2 -s 16 --which used\n"
                "  grep -rn 'peak memory usage' output_dryrun | evenkeel collect - --format json\n",
    .operand = "DIR",
    .max_operands = MAX_ROUNDS,
    .options = options,
};

static bool check_options(command *c)
{
    int n_stdin = 0;
    while (c->n_sources < MAX_ROUNDS && c->source[c->n_sources])
        n_stdin += strcmp(c->source[c->n_sources++], "-") == 0;
    if (c->n_sources == 0)
        cli_error(NULL,
                  "no folder: give the one with the dry run's logs, for example `evenkeel collect output_dryrun`");
    else if (n_stdin > 1)
        cli_error(NULL, "standard input (-) can be read once; save the listings to files");
    else if (c->output && !c->init)
        cli_error(NULL, "-o is where --init writes to; give --init FILE, or redirect the output with >");
    else if (c->init && c->format_given)
        cli_error(NULL, "--format is for printing, and --init writes a file; leave one of them out");
    else if (c->init && strcmp(c->init, "-") == 0)
        cli_error(NULL, "--init needs a file that can be written, not standard input; save it first");
    else
        return true;
    return false;
}

/* The file's own number of stages, so that missing ones are known by name. */
static bool read_stages(command *c)
{
    ek_error err;
    int n_stages, n_rounds;
    if (!c->init)
        return true;
    if (ek_dryrun_read_shape(c->init, &n_stages, &n_rounds, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    if (c->n_stages && c->n_stages != n_stages) {
        cli_error(NULL, "-s is %d, but pipeline_num of '%s' is %d; leave -s out, or correct the file", c->n_stages,
                  c->init, n_stages);
        return false;
    }
    c->n_stages = n_stages;
    return true;
}

/* ---- stages without a peak ---- */

static const char *peak_line(ek_peak which)
{
    return which == EK_PEAK_USED ? "Used peak memory usage" : "Actual peak memory usage";
}

static void note_lines(const ek_log *log)
{
    for (int i = 0; i < log->n_lines; i++)
        fprintf(stderr, "    %s\n", log->line[i]);
}

static void note_gap(const ek_round *round, const ek_stage_log *log, int stage, ek_peak which)
{
    ek_peak other = which == EK_PEAK_USED ? EK_PEAK_ACTUAL : EK_PEAK_USED;
    if (!log)
        fprintf(stderr, "stage %d: no log in %s\n", stage, round->source);
    else if (log->no_log)
        fprintf(stderr, "stage %d: no log in its folder %s\n", stage, log->path);
    else if (!isnan(ek_stage_log_peak(log, other)))
        fprintf(stderr, "stage %d: %s has no line '%s', only '%s'%s\n", stage, log->path, peak_line(which),
                peak_line(other), log->log.n_lines ? "; it ends:" : "");
    else if (log->log.n_lines == 0)
        fprintf(stderr, "stage %d: %s is empty\n", stage, log->path);
    else
        fprintf(stderr, "stage %d: %s has no peak; %s:\n", stage, log->path,
                log->log.errors ? "its last errors" : "it has no errors and ends");
    if (log)
        note_lines(&log->log);
}

static void note_gaps(const ek_collection *logs, ek_peak which)
{
    for (int r = 0; r < logs->n_rounds; r++)
        for (int s = 0; s < logs->n_stages; s++) {
            const ek_stage_log *log = ek_round_find(&logs->round[r], s);
            if (isnan(ek_stage_log_peak(log, which)))
                note_gap(&logs->round[r], log, s, which);
        }
}

/* ---- into an init file ---- */

/* "; largest fragmentation 6.4 % (stage 4)", or nothing without both peaks. */
static void describe_fragments(const ek_collection *logs, char *text, size_t size)
{
    double share = 0;
    const ek_stage_log *most = ek_collection_most_fragmented(logs, &share);
    text[0] = '\0';
    if (most)
        snprintf(text, size, "; largest fragmentation %.1f %% (stage %d)", 100 * share, most->stage);
}

static void note_written(const command *c, const ek_collection *logs, const cli_replaced *how)
{
    char fragments[96], backup[sizeof how->backup + 32] = "";
    const char *where = c->output ? c->output : c->init, *which = c->which == EK_PEAK_USED ? "used" : "actual";
    int n = logs->n_rounds * logs->n_stages - ek_collection_count_gaps(logs, c->which);
    describe_fragments(logs, fragments, sizeof fragments);
    if (c->output && strcmp(c->output, "-") == 0) {
        cli_note("the %s peaks are in%s; next: save it, and evenkeel balance FILE -s %d -mb MICRO_BATCHES -mem MB",
                 which, fragments, c->n_stages);
        return;
    }
    if (how->backup[0])
        snprintf(backup, sizeof backup, "; the file before is %s", how->backup);
    printf("%s %s the %s peaks of %d logs%s%s; next: evenkeel balance %s -s %d -mb MICRO_BATCHES -mem MB\n", where,
           how->changed ? "now holds" : "already held", which, n, backup, fragments, where, c->n_stages);
}

static int fill(const command *c, const ek_collection *logs, int gaps)
{
    ek_error err;
    char *text;
    size_t size;
    cli_replaced how;
    if (ek_dryrun_fill(c->init, logs, c->which, &cli_listener, &text, &size, &err)) {
        cli_error(&err, "%s", err.message);
        return gaps > 0 ? EXIT_NO : EXIT_WRONG;
    }
    bool fine = cli_replace_file(c->init, c->output, text, size, &how);
    free(text);
    if (fine)
        note_written(c, logs, &how);
    return fine && cli_printed(EK_OK, NULL) ? EXIT_DONE : EXIT_WRONG;
}

/* ---- the command ---- */

static int print(const command *c, const ek_collection *logs, const ek_memory_usage *usage)
{
    const ek_collected collected = {logs, c->which, usage};
    return cli_print(ek_output_of_collected(&collected), c->format) ? EXIT_DONE : EXIT_WRONG;
}

/* No output that could be mistaken for a complete file; JSON lists the missing parts itself. */
static int answer_no(const command *c, const ek_collection *logs, int gaps)
{
    ek_peak other = c->which == EK_PEAK_USED ? EK_PEAK_ACTUAL : EK_PEAK_USED;
    int n = logs->n_rounds * logs->n_stages, other_gaps = ek_collection_count_gaps(logs, other);
    note_gaps(logs, c->which);
    if (other_gaps == 0)
        cli_error(NULL, "%d of %d peaks are missing: there are only lines '%s'; --which %s reads those", gaps, n,
                  peak_line(other), other == EK_PEAK_USED ? "used" : "actual");
    else
        cli_error(NULL, "%d of %d peaks are missing; run those stages again, or take the rest with --allow-missing",
                  gaps, n);
    if (strcmp(c->format, "json") == 0 && print(c, logs, NULL) != EXIT_DONE)
        return EXIT_WRONG;
    return EXIT_NO;
}

static int print_usage(const command *c, const ek_collection *logs, int gaps)
{
    ek_error err;
    ek_memory_usage usage;
    ek_status status = ek_memory_usage_make(logs, c->which, &usage, &err);
    if (status == EK_OK) {
        int code = print(c, logs, &usage);
        ek_memory_usage_clear(&usage);
        return code;
    }
    /* Peaks of two stages are printed, but are not enough for an init file. */
    if (status != EK_ERR_MEMORY && gaps == 0 && strcmp(c->format, "yaml") != 0) {
        cli_note("no memory_usage: %s", err.message);
        return print(c, logs, NULL);
    }
    cli_error(&err, "%s", err.message);
    return gaps > 0 ? EXIT_NO : EXIT_WRONG;
}

static int answer(const command *c, const ek_collection *logs)
{
    int gaps = ek_collection_count_gaps(logs, c->which);
    if (gaps > 0 && !c->allow_missing)
        return answer_no(c, logs, gaps);
    if (gaps > 0)
        note_gaps(logs, c->which);
    return c->init ? fill(c, logs, gaps) : print_usage(c, logs, gaps);
}

static int run(int argc, char **argv)
{
    command c = {.format = "text"};
    ek_collection logs;
    ek_error err;
    int parsed = cli_parse(&spec, argc, argv, &c, c.source);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (!check_options(&c) || !read_stages(&c))
        return EXIT_WRONG;
    cli_progress progress;
    cli_progress_follow(&progress);
    ek_status status = ek_collection_read(c.source, c.n_sources, c.n_stages, &cli_listener, &logs, &err);
    cli_progress_end(&progress);
    if (status) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    int code = answer(&c, &logs);
    ek_collection_clear(&logs);
    return code;
}

const ek_cmd cmd_collect = {"collect", "read the peaks of a dry run's logs into an init file", run, false,
                            CLI_GROUP_DRYRUN};
