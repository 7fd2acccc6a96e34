/* `evenkeel ir`: reports whether recomputation is in effect in a compiled graph, its saved activations and its
 * communication, with the reasons. */
#include "ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "evenkeel/ir.h"
#include "evenkeel/ir_report.h"
#include "files.h"
#include "gates.h"
#include "named_files.h"

enum { MAX_PATHS = 256, MAX_LAYER = 1 << 20, MAX_TOP = 1 << 30, MAX_DEVICES = 1 << 24, MAX_ALIVE = 65535 };

typedef struct command {
    const char *path[MAX_PATHS];
    int n_paths;
    const char *dot;
    const char *format;
    ek_ir_view view;
    ek_ir_check_options check;
    cli_texts fail_on;
    ek_gates *gates;
} command;

static bool read_operators(const cli_option *option, const char *text, void *place)
{
    ek_error err;
    ek_ir_view *view = place;
    (void)option;
    view->operators = text;
    if (!*text)
        cli_error(NULL, "--op needs a regular expression that is not empty");
    else if (ek_ir_view_check(view, &err))
        cli_error(NULL, "--op: %s", err.message);
    else
        return true;
    return false;
}

_Static_assert(EK_IR_NOTE == 0 && EK_IR_ERROR == 2, "words in the order of the enum");

static const cli_option options[] = {
    {"layer", "N", "show the operators of this layer, one by one too", "what is shown",
     CLI_INT(command, view.layer, 0, MAX_LAYER),
     .manual = "show the operators of this layer: the lists are of them, and each follows with operands, types, "
               "attributes, scope and source",
     .otherwise = "all"},
    {"op|operators", "REGEX",
     "show operators with a primitive, instance name or scope that matches this regular expression, also one by one",
     NULL, CLI_CALL(command, view, read_operators),
     .manual = "the same for operators with a primitive, instance name or scope that matches this Perl-compatible "
               "regular expression; with `--layer` those that match both",
     .otherwise = "all"},
    {"top", "N", "rows of a list for people ({})", NULL, CLI_INT(command, view.top, 1, MAX_TOP), .otherwise = "10",
     .manual = "rows of a list in the text. The JSON has all"},
    {"least", "note|warning|error", "findings of this severity and above ({})", NULL, CLI_WORD(command, view.least),
     .must = "note, warning or error"},
    {"q|quiet", NULL, "a line for every file, and nothing of damaged places", NULL,
     CLI_FLAG(command, view.verdict_only)},
    {"devices", "N", "devices of a stage, which cuts are compared with ({})", "the run",
     CLI_INT(command, check.n_devices, 1, MAX_DEVICES), .otherwise = "not compared"},
    {"alive", "N", "micro-batches with saved activations at the same time ({})", NULL,
     CLI_INT(command, check.alive, 1, MAX_ALIVE), .otherwise = "1",
     .manual = "micro-batches with saved activations at the same time; bytes of findings are for this number"},
    {"format", "text|json|sarif", "for people, docs/ir-json.md, or findings for code review (SARIF 2.1.0)", "output",
     CLI_WORD(command, format), .must = "text, json or sarif",
     .manual = "for people, [ir-json.md](ir-json.md), or findings as [SARIF](interfaces.md#sarif) for code review"},
    CLI_GATES_ROW(command, fail_on, NULL, "warning,recompute-not-in-effect>1GB"),
    {"dot", "FILE", "the chosen operators and their neighbours as Graphviz; - is standard output, instead of the text",
     NULL, CLI_OUTPUT(command, dot),
     .manual = "the chosen operators and their neighbours as [Graphviz](ir.md#pictures); `-` is standard output, "
               "instead of the text"},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel ir [OPTIONS] FILE...\n"
             "       evenkeel ir diff BEFORE AFTER    (--help for details)",
    .summary = "Reads graphs that MindSpore writes as text (.ir) and reports: whether requested recomputation is in "
               "effect, and\n"
               "what prevents it; saved activations; communication with its cause; recommended changes. FILE may be a "
               "folder of\n"
               "graphs (the last pass is read) or - for standard input.\n"
               "Options take one dash or two.\n"
               "\n"
               "Exit status: 0 done, 1 there is a finding of severity error (with --fail-on: a condition holds), 2 "
               "wrong usage or\n"
               "input.",
    .examples = "examples:\n"
                "  evenkeel ir rank_0\n"
                "  evenkeel ir rank_0 --layer 3 --op feed_forward\n"
                "  evenkeel ir graph.ir --op 'w1.*Reshape' --dot - | dot -Tsvg >graph.svg\n"
                "  evenkeel ir graph.ir --format json >graph.json\n"
                "  evenkeel ir rank_0 --format sarif >ir.sarif\n"
                "  evenkeel ir diff before.ir after.ir\n",
    .operand = "FILE",
    .max_operands = MAX_PATHS,
    .options = options,
};

/* ---- options ---- */

static bool check_options(command *c)
{
    int from_stdin = 0;
    for (; c->n_paths < MAX_PATHS && c->path[c->n_paths]; c->n_paths++)
        from_stdin += strcmp(c->path[c->n_paths], "-") == 0;
    if (c->n_paths == 0)
        cli_error(NULL, "no file: give a graph, or the folder that MindSpore wrote them to, for example `evenkeel ir "
                        "rank_0`");
    else if (from_stdin > 1)
        cli_error(NULL, "standard input (-) can be read once; save the other graphs to files");
    else if (c->dot && c->n_paths > 1)
        cli_error(NULL, "--dot draws one graph; give one file instead of %d", c->n_paths);
    else if (c->dot && !*c->dot)
        cli_error(NULL, "--dot needs the name of a file (got ''); - is standard output");
    else if (c->dot && strcmp(c->format, "text") != 0 && strcmp(c->dot, "-") == 0)
        cli_error(NULL, "standard output takes one of --dot - and --format %s; write the picture to a file", c->format);
    else
        return true;
    return false;
}

/* ---- output ---- */

static int highest_layer(const ek_ir *ir)
{
    int highest = -1;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        int layer = ek_ir_layer(ir, &ir->node[i]);
        highest = layer > highest ? layer : highest;
    }
    return highest;
}

/* Does the choice match anything? One that matches nothing is mistyped. */
static bool anything_shown(const command *c, const ek_ir *ir)
{
    uint32_t n;
    ek_error err;
    if (ek_ir_view_count(ir, &c->view, &n, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    if (n > 0 || (c->view.layer < 0 && !c->view.operators))
        return true;
    int highest = highest_layer(ir);
    if (c->view.operators && c->view.layer >= 0)
        cli_error(NULL, "%s: no operator of layer %d has a match of '%s' in its primitive, instance name or scope",
                  ir->path, c->view.layer, c->view.operators);
    else if (c->view.operators)
        cli_error(NULL, "%s: no operator has a match of '%s' in its primitive, instance name or scope", ir->path,
                  c->view.operators);
    else if (highest < 0)
        cli_error(NULL, "%s: no scope names a layer (as 0-LlamaDecodeLayer does), so there is no layer %d", ir->path,
                  c->view.layer);
    else
        cli_error(NULL, "%s: no operator lies in layer %d; the last layer in this graph is %d", ir->path, c->view.layer,
                  highest);
    return false;
}

static bool has_errors(const ek_ir_reports *all)
{
    for (int i = 0; i < all->n; i++)
        for (int k = 0; k < all->report[i]->n_findings; k++)
            if (all->report[i]->finding[k].severity == EK_IR_ERROR)
                return true;
    return false;
}

/* Of two exit codes the one that matters more. */
static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* Errors make the exit status 1, whatever part is shown, unless gates define the condition. Gates see the chosen
 * operators of one file at a time, since the text report has one file at a time. */
static int judge(const command *c, const ek_ir_reports *all)
{
    ek_ir_view view = c->view;
    int code = !c->gates && has_errors(all) ? EXIT_NO : EXIT_DONE;
    view.least = EK_IR_NOTE;
    for (int i = 0; c->gates && i < all->n; i++) {
        const ek_ir_reports one = {all->report + i, 1, &view};
        code = worse(code, cli_gates_check(c->gates, ek_output_of_ir(&one), EXIT_DONE));
    }
    return code;
}

static bool draw(const command *c, const cli_ir *graph)
{
    const ek_ir_report *report = &graph->report;
    const ek_ir_reports one = {&report, 1, &c->view};
    return cli_save(c->dot, ek_output_of_ir(&one), "dot");
}

/* One graph at a time, so that only one is in memory. */
static int run_text(const command *c)
{
    bool to_stdout = !cli_stdout_taken();
    int code = EXIT_DONE;
    for (int i = 0; i < c->n_paths; i++) {
        cli_ir graph;
        const ek_ir_report *report = &graph.report;
        const ek_ir_reports one = {&report, 1, &c->view};
        if (!cli_ir_read(c->path[i], &c->check, c->view.verdict_only, &graph))
            return EXIT_WRONG;
        bool fine = anything_shown(c, graph.ir);
        if (fine && to_stdout) {
            if (i > 0 && !c->view.verdict_only)
                putchar('\n');
            fine = cli_print(ek_output_of_ir(&one), "text");
        }
        fine = fine && draw(c, &graph);
        code = worse(code, fine ? judge(c, &one) : EXIT_WRONG);
        cli_ir_clear(&graph);
        if (code == EXIT_WRONG)
            return code;
    }
    return code;
}

/* @return exit code of the command */
static int print_all(const command *c, const cli_ir *graph)
{
    const ek_ir_report *report[MAX_PATHS];
    const ek_ir_reports all = {report, c->n_paths, &c->view};
    for (int i = 0; i < c->n_paths; i++)
        report[i] = &graph[i].report;
    bool fine = cli_print(ek_output_of_ir(&all), c->format) && draw(c, &graph[0]);
    return fine ? judge(c, &all) : EXIT_WRONG;
}

/* One document for all graphs, so all of them are in memory. */
static int run_together(const command *c)
{
    bool fine = true;
    int n = 0;
    cli_ir *graph = calloc((size_t)c->n_paths, sizeof *graph);
    if (!graph) {
        cli_error(NULL, "out of memory");
        return EXIT_WRONG;
    }
    for (; n < c->n_paths && fine; n++)
        fine = cli_ir_read(c->path[n], &c->check, c->view.verdict_only, &graph[n]) && anything_shown(c, graph[n].ir);
    int code = fine ? print_all(c, graph) : EXIT_WRONG;
    for (int i = 0; i < n; i++)
        cli_ir_clear(&graph[i]);
    free(graph);
    return code;
}

static int run(int argc, char **argv)
{
    command c = {.format = "text", .view = {.layer = -1}};
    if (argc > 1 && strcmp(argv[1], "diff") == 0)
        return cli_ir_difference(argc - 1, argv + 1);
    int parsed = cli_parse(&spec, argc, argv, &c, c.path);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (!check_options(&c) || !cli_gates_open(&c.fail_on, EK_OUTPUT_IR, &c.gates))
        return EXIT_WRONG;
    c.view.color = cli_color(STDOUT_FILENO);
    int code = strcmp(c.format, "text") == 0 ? run_text(&c) : run_together(&c);
    ek_gates_free(c.gates);
    return code;
}

const ek_cmd cmd_ir = {"ir", "check compiled graphs (.ir) of MindSpore: recomputation and communication", run, false,
                       CLI_GROUP_RUN};
