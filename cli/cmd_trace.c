/* `evenkeel trace`: reports where the time of a training step went, from profilers' files. */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/compute.h"
#include "evenkeel/trace_index.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/view_files.h"

#include "cmd.h"
#include "files.h"
#include "options.h"
#include "page.h"
#include "plot.h"
#include "progress.h"
#include "team.h"
#include "timeline.h"

enum { MAX_PATHS = 1 << 24, MAX_DROP = 1000000, MAX_TOP = 100000 };

typedef struct command {
    const char **path; /* [n_paths], followed by NULL */
    int n_paths;
    cli_texts head, body, tail, receive, collective;
    ek_trace_options options;
    ek_trace_view view;
    const char *partial, *jsonl;
    bool combines;
    const char *format, *csv, *svg, *html, *layers, *lang, *device, *database, *query;
    bool drops; /* --drop-first is given */
    cli_plot plot;
} command;

static const cli_option options[] = {
    {"drop-first", "N", "steps at the start that are left out of means and findings (warm-up is found; 0: none)",
     "steps", CLI_INT(command, options.drop_first_steps, 0, MAX_DROP), CLI_GIVEN(command, drops), .otherwise = "found",
     .manual = "steps at the start that are left out of means, layers and findings; 0 leaves out none"},
    {"step", "NAME", "show only this step, by its number in the trace", NULL, CLI_TEXT(command, view.step),
     .otherwise = "all"},
    {"raw", NULL, "from the events of the device, even if the profiler wrote an overlap layer", NULL,
     CLI_FLAG(command, options.from_raw_events),
     .manual = "compute from the device's events, also where the profiler drew an Overlap Analysis layer"},
    {"receive", "TEXT",
     "beginning of the names that wait for another stage (docs/trace.md lists those known); may be "
     "repeated",
     NULL, CLI_TEXTS(command, receive), .otherwise = "[list](trace.md#pipeline-wait)",
     .manual = "beginning of the names that wait for another stage; may be repeated"},
    {"collective", "TEXT", "text in the names of further GPU kernels that communicate; may be repeated", NULL,
     CLI_TEXTS(command, collective), .otherwise = "[list](trace.md#kernels-that-communicate)",
     .manual = "text in the names of GPU kernels that communicate, in addition to the known ones: NCCL, RCCL, DeepEP, "
               "NVSHMEM, MSCCL++, symmetric memory, custom and fused all-reduces; may be repeated"},
    {"host-bound-share", "SHARE", "idle time for the host from which a rank counts as host bound ({})", NULL,
     CLI_DOUBLE(command, options.host_bound_share, 0.0001, 1), .otherwise = "0.1",
     .manual = "idle time for the host, as a share of the step, from which a rank is host bound"},
    {"stages", "N", "pipeline stages, if the files do not contain them: ranks are split in order", "ranks",
     CLI_INT(command, options.stages, 1, EK_MAX_STAGES), .otherwise = "from the files",
     .manual = "ranks are split into that many stages in order"},
    {"rank", "N", "show only this rank, in full", NULL, CLI_INT(command, view.rank, 0, 1 << 24), .otherwise = "all"},
    {"head", "NAME", "layer before the body, by a part of its path (found by itself); may be repeated", "layers",
     CLI_TEXTS(command, head), .otherwise = "found",
     .manual = "layer before the body: a whole path element, or its part after `N-`; may be repeated"},
    {"body", "NAME", "kind of body layers, as LLamaDecodeLayer of 0-LLamaDecodeLayer; may be repeated", NULL,
     CLI_TEXTS(command, body), .otherwise = "found",
     .manual = "kind of body layers, as `LLamaDecodeLayer` of `0-LLamaDecodeLayer`; may be repeated"},
    {"tail", "NAME", "layer after the body; may be repeated", NULL, CLI_TEXTS(command, tail), .otherwise = "found"},
    {"mb|micro-batches", "N", "micro-batches of a step ({})", NULL,
     CLI_INT(command, options.n_micro_batches, 1, EK_MAX_MICRO_BATCHES), .otherwise = "counted"},
    {"layers-out", "FILE", "write the layers' times as a layer file for evenkeel balance", NULL,
     CLI_OUTPUT(command, layers),
     .manual = "write the times of layers as a [layer file](formats.md#layer-file) for `evenkeel balance`"},
    {"sapp-compatible", NULL,
     "also compute the output of MindFormers' ComputationAnalyzer for these files (in the JSON)", NULL,
     CLI_FLAG(command, options.sapp_compatible),
     .manual =
         "also the output of MindFormers' ComputationAnalyzer for these files, including its faults; in the JSON"},
    {"device", "NAME|FILE", "compare operators with this device's peaks and curves (docs/device-files.md)", "operators",
     CLI_TEXT(command, device), .otherwise = "none",
     .manual = "compare operators with the peaks and curves of this [device](device-files.md), a name or a file"},
    {"format", "text|json|csv", "summary for people, docs/trace-json.md, or a row for every step", "output",
     CLI_WORD(command, format), .must = "text, json or csv", .hint = "; a picture is --svg FILE"},
    {"csv", "DIR", "folder for tables, one a topic", NULL, CLI_OUTPUT_FOLDER(command, csv),
     .manual = "folder for 22 tables, one a topic: steps, anatomy, path_parts, path, ranks, layers, operators, shapes, "
               "kernels, outliers, collectives, calls, waits, links, idle, memory, block_sites, blocks, stages, "
               "cluster, sources, findings"},
    {"database", "FILE", "these tables as a database of SQLite, times in nanoseconds", NULL,
     CLI_OUTPUT(command, database),
     .manual = "the tables of `--csv` as a [database of SQLite](trace.md#queries), times in whole nanoseconds"},
    {"query", "SQL", "answer a query over these tables as comma-separated values, instead of the summary", NULL,
     CLI_TEXT(command, query),
     .manual =
         "answer a [query](trace.md#queries) over these tables as comma-separated values, instead of the summary"},
    {"svg", "FILE", "picture: a bar for every rank", NULL, CLI_OUTPUT(command, svg)},
    {"html", "FILE",
     "page for a browser: the timeline and all figures of all ranks; - for standard output, instead of "
     "the summary",
     NULL, CLI_OUTPUT(command, html),
     .manual = "[page for a browser](trace.md#a-page-for-a-browser), in one file that needs no network, with the "
               "timeline of the events and all figures of all ranks; `-` for standard output, instead of the "
               "summary. Traces of more than 96 MB of events are refused: `evenkeel view --serve` shows them"},
    CLI_LANG_ROW(command, lang),
    {"jsonl", "FILE",
     "JSON with a line for the run and one for each rank, for runs with a JSON too large to load; - for standard "
     "output, instead of the summary",
     NULL, CLI_OUTPUT(command, jsonl),
     .manual =
         "the JSON as lines: the first has all but the ranks, each of the others a rank; `-` for standard output, "
         "instead of the summary"},
    CLI_PLOT_OPTIONS(command, plot),
    {"partial", "FILE",
     "write the results of these ranks, some KB each, to combine them with others; prints nothing else", "many ranks",
     CLI_OUTPUT(command, partial),
     .manual = "write the results of these ranks as a [partial result](cluster.md#partial-results), some KB for each, "
               "instead of a report; `--combine` merges partial results into one report"},
    {"combine", NULL, "every PATH is a partial result, or a folder of some (they may also be mixed with profiles)",
     NULL, CLI_FLAG(command, combines),
     .manual = "every PATH is a partial result or a folder of some, and anything else is refused; without it they may "
               "be mixed with profiles"},
    {"local", NULL, "started by mpirun or srun: every process reads the files on its own disks", NULL,
     CLI_FLAG(command, options.local),
     .manual = "[started by a launcher](cluster.md): every process reads the files below the paths on its own disks; "
               "without it processes share the files that process 0 finds"},
    CLI_PATIENCE_ROW(command, options.patience),
    {"top", "N", "rows of a list in the summary ({})", NULL, CLI_INT(command, view.top, 1, MAX_TOP), .otherwise = "10"},
    {"threads", "N", "threads ({})", NULL, CLI_INT(command, options.n_threads, 1, 1024), .otherwise = "all cores",
     .manual = "threads; the answer does not depend on it"},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel trace [OPTIONS] PATH...\n"
             "       evenkeel trace merge PATH... -o FILE    (--help for details)\n"
             "       evenkeel trace cut PATH... -o FILE      (--help for details)",
    .summary = "Reads profiler files below each PATH (torch_npu, MindSpore, CANN msprof, PyTorch on GPU), plain or "
               "compressed,\n"
               "and reports where the time of a training step went on every rank, the times of layers, and recommended "
               "changes. Options take one dash or two.\n"
               "\n"
               "Exit status: 0 done, 1 nothing usable (no device events and no table), 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel trace profile\n"
                "  evenkeel trace profile --rank 3\n"
                "  evenkeel trace profile --format json >trace.json\n"
                "  evenkeel trace profile --svg ranks.svg --csv tables\n"
                "  evenkeel trace profile --query 'SELECT name, sum(duration_ns)/1e6 ms FROM kernels GROUP BY name'\n"
                "  evenkeel trace profile --layers-out layers.json\n"
                "  evenkeel trace profile --html profile.html\n"
                "  evenkeel trace profile/rank_3 --partial parts/3.ekr\n"
                "  evenkeel trace --combine parts --format json >trace.json\n"
                "  mpirun -n 16 evenkeel-mpi trace profile --jsonl trace.jsonl\n",
    .operand = "PATH",
    .max_operands = MAX_PATHS,
    .options = options,
};

/* ---- options ---- */

static bool check_options(command *c)
{
    while (c->path[c->n_paths])
        c->n_paths++;
    if (c->n_paths == 0) {
        cli_error(NULL, "no files: give the folder that the profiler wrote, for example `evenkeel trace profile`");
        return false;
    }
    for (int i = 0; i < c->n_paths; i++)
        if (strcmp(c->path[i], "-") == 0) {
            cli_error(NULL, "traces cannot be read from standard input; save them to a file");
            return false;
        }
    if (c->partial && (c->csv || c->svg || c->html || c->layers || c->database || c->query || c->jsonl || c->device)) {
        cli_error(NULL, "--partial writes only a partial result: request figures together with --combine");
        return false;
    }
    c->options.parts_only = c->combines;
    c->options.ranks_only = c->partial;
    c->options.team = cli_team();
    if (c->options.local && !c->options.team) {
        cli_error(NULL, "--local is for several processes: start evenkeel-mpi with mpirun or srun");
        return false;
    }
    if (!cli_plot_check(&c->plot, c->format, NULL))
        return false;
    if (c->drops && c->options.drop_first_steps == 0)
        c->options.drop_first_steps = -1; /* none */
    c->options.head = c->head.at, c->options.n_head = c->head.n;
    c->options.body = c->body.at, c->options.n_body = c->body.n;
    c->options.tail = c->tail.at, c->options.n_tail = c->tail.n;
    c->options.receive = c->receive.at, c->options.n_receives = c->receive.n;
    c->options.collective = c->collective.at, c->options.n_collectives = c->collective.n;
    return true;
}

/* ---- reading ---- */

static ek_status read_run(const command *c, ek_trace_run *run, ek_error *err)
{
    cli_progress progress;
    ek_trace_options reading = c->options; /* the progress goes with this call, the options do not */
    cli_progress_begin_trace(&progress, &reading);
    ek_status status = ek_trace_run_read(c->path, c->n_paths, &reading, &progress.listener, run, err);
    cli_progress_end(&progress);
    return status;
}

static bool compare_with_device(const command *c, ek_trace_run *run)
{
    ek_device device;
    bool owns = false;
    ek_error err;
    if (c->device && ek_device_open(c->device, &cli_listener, &device, &owns, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    ek_status status = ek_compute_make(run, c->device ? &device : NULL, &err);
    if (owns)
        ek_device_clear(&device);
    if (status)
        cli_error(&err, "%s", err.message);
    return status == EK_OK;
}

/* ---- output ---- */

/* The output of --partial. */
typedef struct part_output {
    const ek_trace_run *run;
    const ek_trace_options *options;
} part_output;

static ek_status write_layers(const void *layers, FILE *out, ek_error *err)
{
    return ek_layers_write(layers, out, err);
}

static bool write_tables(const command *c, ek_output tables)
{
    if (!cli_make_folder(c->csv))
        return false;
    for (int i = 0; i < EK_N_TRACE_TABLES; i++) {
        char path[4200];
        tables.index = i;
        snprintf(path, sizeof path, "%s/%s.csv", c->csv, ek_trace_tables[i].name);
        if (!cli_save(path, tables, "csv"))
            return false;
    }
    return true;
}

/* Sentences on the sources of the layer file, one a line. */
static void note_notes(char *notes)
{
    for (char *line = notes, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        cli_note("%s", line);
    }
}

static bool write_layer_file(const command *c, const ek_trace_run *run)
{
    ek_layers layers;
    ek_error err;
    ek_trace_role role;
    int index;
    char *notes = NULL;
    if (ek_trace_check_names(run, c->path, c->n_paths, &c->options, &role, &index, &err) ||
        ek_trace_to_layers(run, &layers, &notes, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    bool fine = cli_write_file(c->layers, write_layers, &layers);
    if (fine && notes)
        note_notes(notes);
    free(notes);
    ek_layers_clear(&layers);
    return fine;
}

static bool write_page(const command *c, const ek_trace_run *run)
{
    char name[256], title[300];
    ek_trace_index *index;
    if (!cli_timeline_open(c->path, c->n_paths, run, c->options.n_threads, &index))
        return false;
    ek_view_name_of(c->path[0], name, sizeof name);
    snprintf(title, sizeof title, "Trace of %s", name);
    const ek_view_run shown = {.name = name, .trace = run, .index = index};
    bool fine = cli_write_page(c->html, title, c->lang, &shown, 1);
    ek_trace_index_close(index);
    return fine;
}

static bool check_view(const command *c, const ek_trace_run *run)
{
    if (!ek_trace_view_has_rank(run, &c->view) && run->n_ranks == 0)
        cli_error(NULL, "no files of rank %d: the files are of the whole run", c->view.rank);
    else if (!ek_trace_view_has_rank(run, &c->view))
        cli_error(NULL, "no files of rank %d: there %s %d rank%s, of which the first is %d", c->view.rank,
                  run->n_ranks == 1 ? "is" : "are", run->n_ranks, run->n_ranks == 1 ? "" : "s", run->rank[0].rank);
    else if (!ek_trace_view_has_step(run, &c->view))
        cli_error(NULL, "no step is called '%s'; the summary lists the steps", c->view.step);
    else
        return true;
    return false;
}

/* Is there any source of figures? */
static bool usable(const ek_trace_run *run)
{
    if (run->n_cluster_rows > 0 || run->topology.n_groups > 0)
        return true;
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_rank *rank = &run->rank[i];
        if (rank->has_device_events || rank->layers.n > 0 || rank->data.n_ops > 0)
            return true;
        for (int k = 0; k < rank->n_sources; k++)
            if (strcmp(rank->source[k].type, "trace") != 0 && strncmp(rank->source[k].type, "profiler_", 9) != 0 &&
                rank->source[k].items > 0)
                return true;
    }
    return false;
}

static bool print_query(const command *c, const ek_trace_run *run)
{
    ek_error err;
    if (ek_trace_query(run, c->query, stdout, &err) == EK_OK)
        return true;
    cli_error(NULL, "--query: %s", err.message);
    return false;
}

static int answer(const command *c, const ek_trace_run *run)
{
    const ek_trace_report report = {run, &c->view};
    const ek_output output = ek_output_of_trace(&report);
    if (!check_view(c, run) || !(c->query ? print_query(c, run) : cli_answer(output, c->format)))
        return EXIT_WRONG;
    if (!cli_save(c->svg, output, "svg") || !cli_save(c->database, output, "sqlite") ||
        !cli_save(c->jsonl, output, "jsonl") || (c->csv && !write_tables(c, output)) ||
        (c->layers && !write_layer_file(c, run)) || (c->html && !write_page(c, run)))
        return EXIT_WRONG;
    if (usable(run))
        return EXIT_DONE;
    cli_error(NULL, "no device events and no tables, so the time of the device is not known; %s",
              run->n_databases > 0 ? "there are only databases of the profiler without the tables of an export: see "
                                     "the finding databases-unread"
                                   : "profile with the device's activity switched on");
    return EXIT_NO;
}

static ek_status write_part(const void *user, FILE *out, ek_error *err)
{
    const part_output *part = user;
    return ek_trace_part_write(part->run, part->options, out, err);
}

static int answer_or_part(const command *c, ek_trace_run *run)
{
    const part_output part = {run, &c->options};
    if (c->options.team && c->options.team->index > 0)
        return EXIT_DONE; /* process 0 has the answer */
    if (c->partial)
        return cli_write_file(c->partial, write_part, &part) ? EXIT_DONE : EXIT_WRONG;
    return compare_with_device(c, run) ? answer(c, run) : EXIT_WRONG;
}

static int run_trace(command *c)
{
    ek_trace_run traces;
    ek_error err;
    if (!check_options(c))
        return EXIT_WRONG;
    if (read_run(c, &traces, &err)) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    c->view.color = cli_color(STDOUT_FILENO);
    c->view.plot = cli_plot_of(&c->plot, c->format, false);
    int code = answer_or_part(c, &traces);
    ek_trace_run_clear(&traces);
    return code;
}

/* Subcommands with their own options. */
static int run_part(int (*part)(int argc, char **argv), int argc, char **argv)
{
    if (!cli_team())
        return part(argc, argv);
    cli_error(NULL, "`trace %s` runs as one process: leave out the launcher", argv[0]);
    return EXIT_WRONG;
}

static int run(int argc, char **argv)
{
    command c = {.format = "text", .view = {.rank = EK_TRACE_NO_RANK}, .options.measure = true};
    if (argc > 1 && strcmp(argv[1], "merge") == 0)
        return run_part(cli_trace_merge, argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "cut") == 0)
        return run_part(cli_trace_cut, argc - 1, argv + 1);
    c.path = cli_operands(argc);
    if (!c.path)
        return EXIT_WRONG;
    int parsed = cli_parse(&spec, argc, argv, &c, c.path);
    int code = parsed == CLI_OK ? run_trace(&c) : parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    free(c.path);
    return code;
}

const ek_cmd cmd_trace = {"trace", "analyse profiler traces: where the time of a step goes", run, true, CLI_GROUP_RUN};
