/* `evenkeel trace cut`: writes a part of a trace as a trace. */
#include <math.h>
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

enum { MAX_PATHS = 4096, MAX_RANKS = 1024 };

typedef struct command {
    const char *path[MAX_PATHS];
    int n_paths;
    const char *output;
    int rank[MAX_RANKS];
    const char *layer[EK_TRACE_MAX_NAMES];
    ek_trace_selection selection;
    ek_trace_options reading;
    cli_progress progress;
    ek_trace_written *written;
} command;

/* "20ms" as nanoseconds. */
static bool read_time(const cli_option *option, const char *text, void *place)
{
    int64_t *ns = place;
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e3}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"ns", 1}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end > text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && isfinite(value) && value >= 0 && value * units[i].ns < 1e18) {
            *ns = llround(value * units[i].ns);
            return true;
        }
    cli_error(NULL, "--%s must be a time after the first event, such as 1.5s, 20ms or 300 (us); got '%s'",
              option->names, text);
    return false;
}

static bool read_rank(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    if (c->selection.n_ranks == MAX_RANKS) {
        cli_error(NULL, "at most %d times --rank", MAX_RANKS);
        return false;
    }
    return cli_int(option, text, &c->rank[c->selection.n_ranks++]);
}

static bool read_layer(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    (void)option;
    if (c->selection.n_layers == EK_TRACE_MAX_NAMES || !*text) {
        cli_error(NULL, "--layer takes a name, at most %d times (got '%s')", EK_TRACE_MAX_NAMES, text);
        return false;
    }
    c->layer[c->selection.n_layers++] = text;
    return true;
}

static const cli_option options[] = {
    {"from", "TIME", "begin of the range: time after the first event, in us, or with a unit (1.5s, 20ms, 300us)",
     "what to keep", CLI_CALL(command, selection.from, read_time), CLI_GIVEN(command, selection.from_given),
     .manual = "begin of the range: time after the first event of all, a number of us, or with `ns`, `us`, `ms`, `s`. "
               "Events that overlap the range are kept whole"},
    {"to", "TIME", "end of the range: later events are left out", NULL, CLI_CALL(command, selection.to, read_time),
     CLI_GIVEN(command, selection.to_given)},
    {"step", "NAME", "only this step, by its number in the trace", NULL, CLI_TEXT(command, selection.step),
     .manual = "the window of this step, host and device, by its number in the trace"},
    {"rank", "N", "this rank; may be repeated", NULL, CLI_CALL_ALL(read_rank), CLI_RANGE(0, 1 << 24)},
    {"layer", "NAME",
     "events of this layer: an element of operators' paths (3-LLamaDecodeLayer, or LLamaDecodeLayer for all) or a "
     "module "
     "of PyTorch (LlamaDecoderLayer_3); may be repeated",
     NULL, CLI_CALL_ALL(read_layer),
     .manual = "events of this layer: an element of operators' paths (`3-LLamaDecodeLayer`, or `LLamaDecodeLayer` for "
               "all of them), or events inside a module of PyTorch (`LlamaDecoderLayer_3`) and the kernels launched "
               "there; may be repeated"},
    {"o|output", "FILE", "where to write the trace; - is standard output", "output", CLI_OUTPUT(command, output)},
    {"threads", "N", "threads that read ({})", NULL, CLI_INT(command, reading.n_threads, 1, 1024),
     .otherwise = "all cores"},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel trace cut PATH... [--from TIME] [--to TIME] [--step NAME] [--rank N] [--layer NAME] -o FILE",
    .summary = "Writes the requested part of traces as one Chrome trace: small enough for a viewer or a colleague.\n"
               "Events are copied unchanged. Events that overlap the range are kept whole; names of processes are "
               "always kept.\n"
               "\n"
               "Exit status: 0 done, 2 wrong usage or input, or nothing is in the range.",
    .examples = "examples:\n"
                "  evenkeel trace cut profile --rank 3 --step 12 -o step12.json\n"
                "  evenkeel trace cut trace_view.json --from 1.2s --to 1.25s -o part.json\n"
                "  evenkeel trace cut profile --layer 0-LLamaDecodeLayer -o layer0.json\n",
    .operand = "PATH",
    .max_operands = MAX_PATHS,
    .options = options,
};

static bool check_options(command *c)
{
    const ek_trace_selection *s = &c->selection;
    while (c->n_paths < MAX_PATHS && c->path[c->n_paths])
        c->n_paths++;
    c->selection.rank = c->rank;
    c->selection.layer = c->layer;
    if (c->n_paths == 0)
        cli_error(NULL, "no trace: give the file or the folder that the profiler wrote");
    else if (!c->output)
        cli_error(NULL, "give -o FILE for the part; -o - writes it to standard output");
    else if (!s->from_given && !s->to_given && !s->step && s->n_ranks == 0 && s->n_layers == 0)
        cli_error(NULL, "no range: give --from and --to, --step, --rank or --layer");
    else if (s->from_given && s->to_given && s->from >= s->to)
        cli_error(NULL, "--from must be before --to");
    else
        return true;
    return false;
}

static ek_status write_trace(const void *user, FILE *out, ek_error *err)
{
    const command *c = user;
    return ek_trace_write(c->path, c->n_paths, &c->selection, NULL, &c->reading, &c->progress.listener, out, c->written,
                          err);
}

static int cut(command *c)
{
    cli_progress_begin_trace(&c->progress, &c->reading);
    bool fine = cli_write_file(c->output, write_trace, c);
    cli_progress_end(&c->progress);
    if (!fine)
        return EXIT_WRONG;
    cli_note("%s: %lld of %lld events", cli_output_name(c->output), (long long)c->written->n_written,
             (long long)c->written->n_read);
    return EXIT_DONE;
}

int cli_trace_cut(int argc, char **argv)
{
    ek_trace_written written = {0};
    command c = {.written = &written};
    int parsed = cli_parse(&spec, argc, argv, &c, c.path);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    return check_options(&c) ? cut(&c) : EXIT_WRONG;
}
