/* `evenkeel balance`: the drop-in replacement of the original tool's command line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "auto.h"
#include "cases.h"
#include "cmd.h"
#include "emit.h"
#include "evenkeel/job.h"
#include "files.h"
#include "interactive.h"
#include "model.h"
#include "named_files.h"
#include "overview.h"
#include "page.h"
#include "progress.h"
#include "quick.h"
#include "search.h"
#include "sweep.h"
#include "team.h"
#include "warnings.h"

/* Time to simulate and account for one block, measured with `evenkeel simulate --uniform` of 2^24 blocks on one core of
 * a virtual machine. Fewer blocks than MANY_BLOCKS run without a notice. */
#define BLOCK_SECONDS 1e-7
enum { MANY_BLOCKS = 2000000 };

typedef struct command {
    cli_model model;
    cli_search search;
    cli_open open;
    bool naive, guide, automatic, execute, quick, unused;
    int level; /* of the original, unused */
    bool dual; /* DualPipe-V, as the original names it */
    const char *manual, *sweep, *from, *unused_text;
    bool limited;              /* -t or --gap is given */
    const ek_emitter *emitter; /* NULL: a report */
} command;

static bool read_solver(const cli_option *option, const char *text, void *place)
{
    const char *name, *summary;
    (void)option;
    for (int i = 0; ek_solver_at(i, &name, &summary); i++)
        if (strcmp(name, text) == 0) {
            *(const char **)place = name;
            return true;
        }
    char names[128] = "";
    for (int i = 0; ek_solver_at(i, &name, &summary); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    cli_error(NULL, "no solver is called '%s'; there are %s", text, names);
    return false;
}

static bool read_seed(const cli_option *option, const char *text, void *place)
{
    int seed = 0;
    bool fine = cli_int(option, text, &seed);
    *(uint64_t *)place = (uint64_t)seed;
    return fine;
}

/* -cm of the original. */
static bool read_memory_from_logs(const cli_option *option, const char *text, void *place)
{
    bool *on = place;
    if (!cli_switch(option, text, on))
        return false;
    if (*on)
        cli_error(NULL, "-cm 1 (memory from logs) is a separate command; run `evenkeel collect DIR --init FILE`, and "
                        "give the file with --init");
    return !*on;
}

/* clang-format off */
static const cli_option options[] = {
    CLI_MODEL_OPTIONS(command, model),
    CLI_PIPELINE_OPTIONS(command, model),
    CLI_CLUSTER_OPTIONS(command, model.cluster),
    {"mem|max-memory|max_memory", "MB", "memory limit of every stage, in MB of 2^20 bytes ({})", "limits",
     CLI_DOUBLE(command, model.memory_mb, 1, 1e9), CLI_GIVEN(command, model.memory_given), .otherwise = "56000",
     .manual = "memory limit of every stage's peak, in MB of 2^20 bytes. `simulate` compares the peaks with it, "
               "and has no default"},
    {"min-layers", "N", "least layers of a chunk ({}); 0 allows chunks without any", NULL,
     CLI_INT(command, search.options.min_layers, 0, EK_MAX_LAYERS),
     .manual = "least body layers of a chunk; 0 allows chunks without any"},
    CLI_CHOICE_OPTIONS(command, model.cluster),
    {"t|time-limit|time_limit", "SECONDS", "end the search after this long, fractions too ({})", NULL,
     CLI_DOUBLE(command, search.options.time_limit, 0.001, 1e7), CLI_GIVEN(command, limited),
     .manual = "end the search after this long, reading included, fractions too. It usually ends sooner by its own"
               " criterion"},
    {"gap", "SHARE", "end it when the step is proved to be within this share of the best possible ({})", NULL,
     CLI_DOUBLE(command, search.options.gap, 0, 1), CLI_GIVEN(command, limited),
     .manual = "end the [proof](balance.md#how-good-the-answer-is) when the step is shown to be within this share "
               "of the best possible; 0 goes on to `optimal`. Without this and `-t` the proof ends 4 seconds after"
               " the search, else at the time limit"},
    {"solver", "staged|anneal|branch|milp|exhaustive", "way of searching ({}); see docs/balance.md", "search",
     CLI_CALL(command, search.options.solver, read_solver), .otherwise = "staged",
     .manual = "way of searching: `staged`, `anneal` (only annealing), `branch` (to a proof or the time limit), `milp` (the original's linear method) or `exhaustive` (every plan; tiny cases only)"},
    {"threads", "N", "threads of the search ({}); the answer does not depend on it", NULL,
     CLI_INT(command, search.options.n_threads, 1, 256), .otherwise = "all cores"},
    CLI_PATIENCE_ROW(command, search.patience),
    {"seed", "N", "seed of the search ({})", NULL,
     CLI_CALL(command, search.options.seed, read_seed), CLI_RANGE(0, 2147483647), .otherwise = "1"},
    {"sweep", "KEY=VALUES", "balance for several values of an option: mem=48000:62000:2000 (from:to:step) or mem=48000,52000; keys mem, i, mb, s and seq", "what if",
     CLI_TEXT(command, sweep),
     .manual = "balance for each value instead, in parallel, and print a table and a picture of step time against "
               "it, see [sweeps](balance.md#sweeps). `KEY` is `mem`, `i`, `mb`, `s` or `seq`; `VALUES` are "
               "from:to:step or a list with commas, at most 200"},
    {"quick", NULL, "a rule of thumb instead of the search, explained step by step: only full recomputation, 2 to 8 stages, one chunk each; with its cost compared with the search", NULL,
     CLI_FLAG(command, quick),
     .manual = "use a rule of thumb instead of the search, explained step by step, see [quick tuning](balance.md#quick-tuning): 2 to 8 stages, one chunk each, only full recomputation. Ends with the lists to paste and the cost of the rule compared with the search"},
    {"naive|simulate-naive|simulate_naive", "0|1", "compare with the even split, without and with all recomputation", "compare",
     CLI_SWITCH(command, naive),
     .otherwise = "0",
     .manual = "1: compare with the even split without recomputation and with all of it: the first of full, both, "
               "comm, select that the model knows"},
    {"manual|manual-config|manual_config", "FILE", "compare with the plans in FILE", NULL,
     CLI_TEXT(command, manual),
     .manual = "compare with the plans of a file ([formats.md](formats.md#plan-file)), which may be a log with "
               "printed lists; at most 64 plans together with the answer"},
    {"from", "FILE", "start from the current plan of a training file (YAML, launch script or TOML): defaults of -s, -i, -mb and the schedule come from it, and its plan is compared with the answer", NULL,
     CLI_TEXT(command, from),
     .manual = "start from the current plan of a [training file](formats.md#training-file), a YAML, launch script or TOML: defaults of `-s`, `-i`, `-mb` and the schedule come from it, its plan `today` is compared with the answer, and a note reports the gain"},
    {"emit", "mindformers|mindspeed|megatron|torchtitan", "print settings of a training framework instead of a report: mindformers, mindspeed, megatron or "
     "torchtitan; see evenkeel convert", "settings",
     CLI_CALL(command, emitter, cli_take_emitter),
     .manual = "print the answer as settings of a training framework instead of the report, as "
               "[convert](convert.md) does; not with `--format` or `--sweep`"},
    CLI_OUTPUT_OPTIONS(command, model),
    {"O|optimization-level|optimization_level", "N", NULL, NULL,
     CLI_INT(command, level, 0, 2)},
    {"exec", "0|1", NULL, NULL,
     CLI_SWITCH(command, execute)},
    {"dump|dump-layer|dump_layer", "0|1", NULL, NULL,
     CLI_SWITCH(command, unused)},
    {"cm|compute-memory|compute_memory", "0|1", NULL, NULL,
     CLI_CALL(command, unused, read_memory_from_logs)},
    {"mf|memory-folder|memory_folder", "DIR", NULL, NULL,
     CLI_TEXT(command, unused_text)},
    {"dual|dualpipe-v|dualpipe_v", "0|1", NULL, NULL,
     CLI_SWITCH(command, dual)},
    {"auto", NULL, NULL, NULL,
     CLI_FLAG(command, automatic)},
    {"guide", NULL, NULL, NULL,
     CLI_FLAG(command, guide)},
    CLI_END,
};
/* clang-format on */

extern const ek_cmd cmd_guide;

bool cli_balance_option(const char *word)
{
    return cli_has_option(options, word);
}

static const cli_spec spec = {
    .usage = "evenkeel balance [OPTIONS] FILE\n       evenkeel balance [OPTIONS] --init FILE\n       evenkeel balance",
    .summary =
        "Chooses the layers and the recomputation of every pipeline stage (and every virtual chunk) such that the\n"
        "simulated step is as short as possible and no stage exceeds its memory.\n"
        "FILE is an init file (YAML) or a layer file (JSON). Options take one dash or two.\n"
        "Without arguments on a terminal it prompts for all input.\n"
        "--schedule and -i also take `auto` or several values with commas: each is tried, and all are ranked.\n"
        "\n"
        "Exit status: 0 done, 1 nothing fits, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel balance init.yaml -s 16 -i 3 -mb 16 -mem 56000 -lm 1\n"
                "  evenkeel balance init.yaml -s 16 -mb 32 --time head=0.1,body=3.1,tail=3.5 --format json\n"
                "  evenkeel balance layers.json -s 8 -i 2 -mb 32 -naive 1 -manual mine.yaml -o pictures\n"
                "  evenkeel balance layers.json -s 8 -mb 32 --schedule auto -i auto -t 60\n"
                "  evenkeel balance init.yaml -s 16 -i 3 -mb 16 --sweep mem=48000:62000:2000\n",
    .operand = "FILE",
    .options = options,
};

/* The even split without recomputation, and with as much as the model supports. */
static bool add_naive(const command *c, const ek_layers *layers, ek_cases *cases)
{
    static const ek_recompute most[] = {EK_RECOMPUTE_FULL, EK_RECOMPUTE_BOTH, EK_RECOMPUTE_COMM, EK_RECOMPUTE_SELECT};
    const struct {
        const char *name, *file;
        bool recompute;
    } naive[] = {{"naive_no_recomp", "result_naive_no_recomp.svg", false},
                 {"naive_all_recomp", "result_naive_all_recomp.svg", true}};
    for (int i = 0; i < 2; i++) {
        ek_recompute kind = EK_RECOMPUTE_NONE;
        for (size_t k = 0; naive[i].recompute && k < sizeof most / sizeof *most && kind == EK_RECOMPUTE_NONE; k++)
            if (layers->modelled[most[k]])
                kind = most[k];
        if (!layers->modelled[kind] || (naive[i].recompute && kind == EK_RECOMPUTE_NONE)) {
            cli_note("no %s comparison: no dry run used that recomputation", naive[i].name);
            continue;
        }
        ek_error err;
        ek_plan plan;
        if (ek_plan_even(layers, c->model.n_stages, c->model.n_chunks, kind, &plan, &err)) {
            cli_error(NULL, "%s", err.message);
            return false;
        }
        bool fine = cli_cases_add(cases, &c->model, layers, naive[i].name, naive[i].file, &plan,
                                  c->model.n_micro_batches, c->model.less_memory);
        ek_plan_clear(&plan);
        if (!fine)
            return false;
    }
    return true;
}

/* Values of the current training file for options that the command line does not set. */
static bool read_today(command *c)
{
    ek_error err;
    ek_job job;
    cli_model *model = &c->model;
    if (!c->from)
        return true;
    if (ek_job_read_part(c->from, EK_JOB_PLAN, &cli_listener, &job, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    if (job.no_layout) {
        err = (ek_error){.file = ""};
        snprintf(err.file, sizeof err.file, "%s", job.path);
        cli_error(&err, "a config.json has no layout, so there is no plan to start from; remove --from, and give the "
                        "stages and micro-batches with -s N and -mb N");
        ek_job_clear(&job);
        return false;
    }
    bool choice = c->open.schedules || c->open.chunks;
    model->n_stages = model->n_stages ? model->n_stages : job.plan.n_stages;
    model->n_micro_batches = model->n_micro_batches ? model->n_micro_batches : job.parallel.n_micro_batches;
    if (!model->n_chunks && !model->schedule && !choice && job.schedule && !job.schedule->pieces &&
        model->less_memory < 0 && model->n_pieces == 1)
        model->schedule = job.schedule;
    if (!model->n_chunks && !choice)
        model->n_chunks = job.plan.n_chunks;
    ek_job_clear(&job);
    return true;
}

/* The gain over the current plan, which is the last case. */
static void note_gain(const command *c, const ek_cases *cases, double limit)
{
    const ek_timeline *now = &cases->timelines[cases->n - 1], *best = &cases->timelines[0];
    int stage;
    double peak = ek_timeline_peak(now, &stage);
    if (!c->from)
        return;
    if (limit > 0 && peak > limit)
        cli_note("the current plan takes %.6g and needs %.0f MB on stage %d, above the limit of %.0f MB; this one fits "
                 "and takes %.6g (%+.2f %%)",
                 now->step_time, peak, stage, limit, best->step_time, 100 * (best->step_time / now->step_time - 1));
    else
        cli_note("today's plan takes %.6g, this one %.6g: %.2f %% %s", now->step_time, best->step_time,
                 100 * (1 - best->step_time / now->step_time) * (best->step_time > now->step_time ? -1 : 1),
                 best->step_time > now->step_time ? "more" : "less");
}

/* Effect of a time limit on a default search, where the proof ends after some seconds. */
static void note_more_time(const command *c, const ek_balance_result *result)
{
    const ek_balance_options *search = &c->search.options;
    if (result->status == EK_BALANCE_FEASIBLE && isfinite(search->proof_limit) && result->lower_bound > 0 &&
        result->gap > search->gap)
        cli_note(
            "the search for plans is done, its proof ended after %g s with a gap of %.2f %%: -t %g may show a higher "
            "bound, and seldom finds a shorter step on the way",
            search->proof_limit, 100 * result->gap, search->time_limit);
}

/* The requested schedule and interleave, as a choice with one candidate. */
static bool balance_one(command *c, const ek_layers *layers, ek_choice *out)
{
    const cli_model *model = &c->model;
    ek_error err;
    ek_shape shape = cli_model_shape(model, model->n_stages, model->n_chunks, model->n_micro_batches);
    *out = (ek_choice){.schedule = cli_model_schedule(model, model->n_chunks, model->less_memory),
                       .n_chunks = model->n_chunks};
    ek_status status = cli_search_run(&c->search, layers, out->schedule, &shape, &model->comm,
                                      cli_search_left(&c->search), &out->order, &out->result, &err);
    if (status)
        cli_error(&err, "%s", err.message);
    return status == EK_OK;
}

/* The answer as the settings of a framework. */
static bool emit_answer(const command *c, const ek_report *report, const ek_order *order)
{
    ek_telling told;
    const ek_emission emission = {.name = report->cases[0].name,
                                  .plan = report->cases[0].plan,
                                  .n_layers = report->layers->n_layers,
                                  .schedule = ek_order_schedule(order),
                                  .n_micro_batches = c->model.n_micro_batches,
                                  .n_pieces = c->model.n_pieces,
                                  .layers = report->layers,
                                  .order = order,
                                  .comm = &report->cases[0].timeline->comm,
                                  .memory_limit_mb = report->memory_limit_mb,
                                  .stage_memory_mb = report->stage_memory_mb};
    return cli_emit(c->emitter, &emission, NULL, &told);
}

/* Report or settings; of a search without a plan only the report. */
static bool print_answer(const command *c, ek_report *report, const ek_order *order)
{
    if (!c->emitter)
        return cli_print_report(&c->model, report);
    return report->n_cases == 0 || emit_answer(c, report, order);
}

/* Simulates the answer and the plans compared with it, block by block. After a Ctrl-C that ended the search, another
 * one ends the program at any moment. */
static bool simulate_all(const command *c, const ek_layers *layers, const ek_choice *choice, ek_cases *cases)
{
    cli_progress progress;
    size_t n_blocks = ek_order_n_blocks(choice->order);
    if (ek_interrupted(&cli_interrupt) && n_blocks > MANY_BLOCKS)
        cli_note("the search has ended; what is printed is simulated from %zu blocks, which takes about %.0f s; Ctrl-C "
                 "again ends it without an answer",
                 n_blocks, ceil(BLOCK_SECONDS * (double)n_blocks));
    cli_progress_follow(&progress);
    bool fine =
        cli_cases_add_run(cases, &c->model, layers, "result", NULL, &choice->result.plan, choice->order) &&
        (!c->naive || add_naive(c, layers, cases)) &&
        (!c->manual || cli_cases_add_file(cases, &c->model, layers, false, c->manual, &cli_listener)) &&
        (!c->from || cli_cases_add_file(cases, &c->model, layers, false, c->from, NULL)); /* its warnings are out */
    cli_progress_end(&progress);
    return fine;
}

static int run_model(command *c, const ek_layers *layers)
{
    static ek_cases cases; /* too large for the stack */
    ek_choice choice;
    int code = EXIT_WRONG;
    bool open = c->open.schedules || c->open.chunks;
    if (!(open ? cli_choose(&c->open, &c->model, layers, &c->search, &choice) : balance_one(c, layers, &choice)))
        return EXIT_WRONG;
    const ek_balance_result *result = &choice.result;
    cli_stages stages = {0};
    ek_error err;
    if (open) {
        /* Plans that are compared with the answer run under the same settings. */
        c->model.schedule = choice.schedule;
        c->model.n_chunks = choice.n_chunks;
    }
    bool feasible = result->status != EK_BALANCE_INFEASIBLE;
    if (!cli_cluster_lay_out(&c->model.cluster, &c->model.comm, ek_order_shape(choice.order), &stages, &err)) {
        cli_error(&err, "%s", err.message);
        goto done;
    }
    if (feasible && !simulate_all(c, layers, &choice, &cases))
        goto done;
    ek_report report = {.layers = layers,
                        .memory_limit_mb = c->search.options.memory_limit_mb,
                        .train_file = c->model.n_pieces > 1 ? c->model.train : NULL,
                        .n_cases = cases.n,
                        .cases = cases.cases,
                        .search = result,
                        .ranking = open ? &choice.ranking : NULL};
    cli_stages_report(&stages, &c->model.cluster, c->model.n_stages, &report);
    if (!print_answer(c, &report, choice.order) || !cli_write_pictures(&c->model, &report, cases.file_names))
        goto done;
    if (!result->proved_optimal)
        cli_warn_absent(EK_FEATURE_LINEAR_PROGRAMS, &cli_listener);
    note_more_time(c, result);
    if (feasible)
        note_gain(c, &cases, stages.memory_mb ? 0 : c->search.options.memory_limit_mb);
    if (!feasible && stages.memory_mb)
        cli_error(NULL, "%s the stages' limits; every one would have to grow by %.0f MB%s, stage %d to %.0f MB",
                  result->smallest_limit_exact ? "nothing fits into" : "found no plan within",
                  ceil(result->shortfall_mb), result->smallest_limit_exact ? "" : " or less", result->bottleneck_stage,
                  ceil(result->smallest_limit_mb));
    else if (!feasible)
        cli_error(NULL, "%s %g MB; the smallest limit %s is %.0f MB, which stage %d reaches",
                  result->smallest_limit_exact ? "nothing fits into" : "found no plan within",
                  c->search.options.memory_limit_mb, result->smallest_limit_exact ? "that fits" : "found",
                  ceil(result->smallest_limit_mb), result->bottleneck_stage);
    code = feasible ? EXIT_DONE : EXIT_NO;
done:
    ek_cases_clear(&cases);
    cli_stages_clear(&stages);
    ek_choice_clear(&choice);
    return code;
}

/* As the original: without a search, report only the given plans. */
static int run_manual(const command *c, const ek_layers *layers)
{
    static ek_cases cases;
    bool fine = cli_cases_add_file(&cases, &c->model, layers, false, c->manual, &cli_listener) &&
                cli_cases_report(&cases, &c->model, layers, c->search.options.memory_limit_mb);
    ek_cases_clear(&cases);
    return fine ? EXIT_DONE : EXIT_WRONG;
}

/* -dual 1 is a schedule here. */
static bool read_dual(command *c)
{
    const ek_schedule *dual = ek_schedule_of(EK_SCHEDULE_DUALPIPE, EK_PLACE_V);
    if (!c->dual)
        return true;
    if (c->open.schedules || (c->model.schedule && c->model.schedule != dual)) {
        cli_error(NULL, "-dual 1 is --schedule %s; leave out one of them", dual->name);
        return false;
    }
    c->model.schedule = dual;
    return true;
}

/* The original's -auto makes the dry runs itself, which needs the framework. Without a model, explain how to make them
 * here. */
static bool check_auto(const command *c, const char *operand)
{
    if (!c->automatic || operand || c->model.init || c->model.layers || c->model.layer_folder)
        return true;
    cli_error(NULL, "-auto makes dry runs with the framework, which this program does not start; make them with "
                    "`evenkeel guide --apply TRAIN.yaml --init-out init.yaml`, `evenkeel dryrun-script` and `evenkeel "
                    "collect DIR --init init.yaml`, then give --init init.yaml");
    return false;
}

/* Options of a single plan have no meaning for several values. */
static bool check_sweep(const command *c)
{
    const char *other = c->open.schedules                                        ? "--schedule with a choice"
                        : c->open.chunks                                         ? "-i with a choice"
                        : c->emitter                                             ? "--emit"
                        : c->naive                                               ? "-naive 1"
                        : c->manual                                              ? "-manual"
                        : c->from                                                ? "--from"
                        : c->model.cluster.memory && cli_sweeps(c->sweep, "mem") ? "--stage-memory"
                                                                                 : NULL;
    if (other)
        cli_error(NULL, "--sweep does not go with %s; leave one of them out", other);
    return !other;
}

static bool check_quick(const command *c)
{
    const char *other = c->sweep ? "--sweep" : c->naive ? "-naive 1" : c->manual ? "-manual" : NULL;
    if (other)
        cli_error(NULL, "--quick does not go with %s; leave one of them out", other);
    return !other && cli_check_quick(&c->model, &c->open);
}

static int run(int argc, char **argv)
{
    command c = {.execute = true};
    const char *operand = NULL;
    cli_model_init(&c.model);
    cli_search_init(&c.search);
    c.model.open = &c.open;
    int parsed = cli_parse(&spec, argc, argv, &c, &operand);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (cli_team() && !c.sweep) {
        cli_error(NULL,
                  "%d processes share the values of --sweep; one balance has nothing to share: leave out the launcher, "
                  "or give --sweep",
                  cli_team()->size);
        return EXIT_WRONG;
    }
    if (!cli_check_shared(operand) || !cli_check_shared(c.model.init) || !cli_check_shared(c.model.layers))
        return EXIT_WRONG;
    if (c.limited) /* a requested time or gap is used in full; otherwise the proof ends after some seconds */
        c.search.options.proof_limit = INFINITY;
    if (c.guide) /* the original's option that lists the dry runs to make */
        return cmd_guide.run(1, (char *[]){"guide", NULL});
    char layer_file[4096];
    if (argc == 1 && cli_can_ask() &&
        !cli_interactive(&c.model, &c.search.options.memory_limit_mb, layer_file, sizeof layer_file))
        return EXIT_WRONG;
    if (c.model.list_schedules)
        return cli_print_schedules(&c.model);
    const char *undrawn = c.sweep ? "--sweep" : c.quick ? "--quick" : c.emitter ? "--emit" : NULL;
    if (!cli_plot_check(&c.model.plot, c.model.format, undrawn))
        return EXIT_WRONG;
    if (!read_dual(&c) || !check_auto(&c, operand) || !read_today(&c))
        return EXIT_WRONG;
    if (c.sweep && !check_sweep(&c))
        return EXIT_WRONG;
    if (c.quick && !check_quick(&c))
        return EXIT_WRONG;
    if (c.sweep && cli_sweeps(c.sweep, "seq"))
        c.model.n_pieces = 1;
    if (c.emitter && cli_stdout_taken()) {
        cli_error(NULL, "--emit prints to standard output; give the picture or the page a file instead of -");
        return EXIT_WRONG;
    }
    if (c.emitter && c.model.format_given) {
        cli_error(NULL, "--emit prints settings instead of a report, so it does not go with --format; leave one out");
        return EXIT_WRONG;
    }
    if (c.emitter)
        c.model.format = "yaml"; /* no pictures unless requested, and no picture named on stdout */
    c.search.cluster = c.model.cluster;
    ek_layers layers;
    if (!cli_model_load(&c.model, operand, &layers))
        return EXIT_WRONG;
    cli_model_take_run(&c.model, c.open.chunks || c.open.schedules);
    bool stages_open = c.sweep && cli_sweeps(c.sweep, "s");
    if (!c.model.n_stages && !stages_open && c.model.dry_run_stages && c.model.dry_run_stages != 4)
        cli_note("balancing for 4 stages, the default; the dry run had %d (-s %d)", c.model.dry_run_stages,
                 c.model.dry_run_stages);
    c.model.n_stages = c.model.n_stages ? c.model.n_stages : 4;
    c.model.n_micro_batches = c.model.n_micro_batches ? c.model.n_micro_batches : 4;
    /* A schedule for several chunks does not use the default of one. */
    bool open = c.open.schedules || c.open.chunks;
    if (!c.model.n_chunks && !open)
        c.model.n_chunks = c.model.schedule ? c.model.schedule->min_chunks : 1;
    if (c.model.memory_given)
        c.search.options.memory_limit_mb = c.model.memory_mb;
    c.search.options.activation_limit = cli_activation_limit(&c.model, c.model.n_stages);

    int code = !c.execute ? (c.manual ? run_manual(&c, &layers) : EXIT_DONE)
               : c.quick  ? cli_run_quick(&c.model, &layers, &c.search)
               : c.sweep  ? cli_run_sweep(&c.model, &layers, &c.search, c.sweep)
                          : run_model(&c, &layers);
    ek_layers_clear(&layers);
    return code;
}

const ek_cmd cmd_balance = {"balance", "find the layers and the recomputation of every pipeline stage (as SAPP)", run,
                            true, CLI_GROUP_PIPELINE};
