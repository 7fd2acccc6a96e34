/* `evenkeel trace merge`: merges the traces of several ranks into one, on one clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#include "evenkeel/trace.h"
#include "evenkeel/trace_edit.h"

#include "cmd.h"
#include "files.h"
#include "options.h"
#include "progress.h"

enum { MAX_PATHS = 4096 };

typedef struct command {
    const char *path[MAX_PATHS];
    int n_paths;
    const char *output;
    bool no_align;
    ek_trace_options reading;
    cli_progress progress;
    ek_trace_clocks clocks;
    ek_trace_written *written;
} command;

static const cli_option options[] = {
    {"o|output", "FILE", "where to write the trace; - is standard output", "output", CLI_OUTPUT(command, output)},
    {"no-align", NULL, "do not adjust the clocks of hosts", NULL, CLI_FLAG(command, no_align)},
    {"threads", "N", "threads that read ({})", NULL, CLI_INT(command, reading.n_threads, 1, 1024),
     .otherwise = "all cores"},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel trace merge PATH... -o FILE",
    .summary = "Writes the traces of all ranks below each PATH as one Chrome trace, for Perfetto, chrome://tracing or\n"
               "MindStudio Insight. Clocks of hosts differ; a collective of ranks on two hosts ends for both within\n"
               "microseconds, from which the difference follows. Processes are named after their rank.\n"
               "\n"
               "Exit status: 0 done, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel trace merge profile -o all.json\n"
                "  evenkeel trace merge rank_0 rank_8 -o two.json\n"
                "  evenkeel trace merge profile -o - | gzip >all.json.gz\n",
    .operand = "PATH",
    .max_operands = MAX_PATHS,
    .options = options,
};

static bool check_options(command *c)
{
    while (c->n_paths < MAX_PATHS && c->path[c->n_paths])
        c->n_paths++;
    if (c->n_paths == 0)
        cli_error(NULL, "no traces: give the folder that the profiler wrote, for example `evenkeel trace merge profile "
                        "-o all.json`");
    else if (!c->output)
        cli_error(NULL, "give -o FILE for the merged trace; -o - writes it to standard output");
    else
        return true;
    return false;
}

static ek_status write_trace(const void *user, FILE *out, ek_error *err)
{
    static const ek_trace_selection all = {0};
    const command *c = user;
    return ek_trace_write(c->path, c->n_paths, &all, c->no_align ? NULL : &c->clocks, &c->reading,
                          &c->progress.listener, out, c->written, err);
}

static void describe_clock(const ek_trace_clock *clock, char *text, size_t size)
{
    size_t n = 0;
    if (clock->host)
        n += (size_t)snprintf(text, size, "host %.80s, ", clock->host);
    n += (size_t)snprintf(text + n, size - n, clock->n_ranks == 1 ? "rank" : "ranks");
    for (int i = 0; i < clock->n_ranks && n + 24 < size; i++) {
        if (i == 8) {
            snprintf(text + n, size - n, " and %d more", clock->n_ranks - i);
            return;
        }
        if (clock->rank[i] == EK_TRACE_NO_RANK)
            n += (size_t)snprintf(text + n, size - n, " (number not known)");
        else
            n += (size_t)snprintf(text + n, size - n, "%s %d", i > 0 ? "," : "", clock->rank[i]);
    }
}

/* The time added to each rank's times, and its uncertainty. */
static void note_clocks(const ek_trace_clocks *clocks)
{
    for (int i = 1; i < clocks->n; i++) {
        const ek_trace_clock *clock = &clocks->clock[i];
        char whose[256];
        describe_clock(clock, whose, sizeof whose);
        if (!clock->known) {
            cli_note("%s: shares no communication with the others; its clock is not adjusted", whose);
            continue;
        }
        cli_note("%s: %+.3f us added to its times (%lld matches, half of them within %.3f us%s)", whose,
                 (double)clock->offset / 1000, (long long)clock->n_matches, (double)clock->deviation / 1000,
                 llabs(clock->drift) > 4 * clock->deviation + 1000 ? "; the clocks drift apart, so that ends of the "
                                                                     "trace are less exact"
                                                                   : "");
    }
}

static int merge(command *c)
{
    ek_error err;
    cli_progress_begin_trace(&c->progress, &c->reading);
    if (!c->no_align && ek_trace_clocks_read(c->path, c->n_paths, &c->reading, NULL, &c->clocks, &err)) {
        cli_progress_end(&c->progress);
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    bool fine = cli_write_file(c->output, write_trace, c);
    cli_progress_end(&c->progress);
    if (fine) {
        note_clocks(&c->clocks);
        cli_note("%s: %lld events of %d ranks", cli_output_name(c->output), (long long)c->written->n_written,
                 c->written->n_ranks);
    }
    ek_trace_clocks_clear(&c->clocks);
    return fine ? EXIT_DONE : EXIT_WRONG;
}

int cli_trace_merge(int argc, char **argv)
{
    ek_trace_written written = {0};
    command c = {.written = &written};
    int parsed = cli_parse(&spec, argc, argv, &c, c.path);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    return check_options(&c) ? merge(&c) : EXIT_WRONG;
}
