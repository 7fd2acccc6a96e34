/* `evenkeel balance`: the drop-in replacement of the original tool's command line. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "cmd.h"
#include "files.h"
#include "model.h"

/* clang-format off */
static const cli_option options[] = {
    CLI_MODEL_OPTIONS,
    CLI_PIPELINE_OPTIONS,
    {"mem|max-memory|max_memory", "MB", "memory limit of every stage, in MB of 2^20 bytes (56000)", "limits"},
    {"min-layers", "N", "least layers of a chunk (1); 0 allows chunks without any", NULL},
    {"t|time-limit|time_limit", "SECONDS", "end the search after this long, fractions too (90)", NULL},
    {"solver", "NAME", "staged (default), anneal, branch, milp or exhaustive; see docs/balance.md", "search"},
    {"threads", "N", "threads of the search (all cores); the answer does not depend on it", NULL},
    {"seed", "N", "seed of the search (1)", NULL},
    {"naive|simulate-naive|simulate_naive", "0|1", "compare with the even split, without and with all recomputation", "compare"},
    {"manual|manual-config|manual_config", "FILE", "compare with the plans in FILE", NULL},
    CLI_OUTPUT_OPTIONS,
    {"O|optimization-level|optimization_level", "N", NULL, NULL},
    {"exec", "0|1", NULL, NULL},
    {"dump|dump-layer|dump_layer", "0|1", NULL, NULL},
    {"cm|compute-memory|compute_memory", "0|1", NULL, NULL},
    {"mf|memory-folder|memory_folder", "DIR", NULL, NULL},
    {"guide", NULL, NULL, NULL},
};
/* clang-format on */

static const cli_spec spec = {
    .usage = "evenkeel balance [OPTIONS] FILE\n       evenkeel balance [OPTIONS] --init FILE",
    .summary =
        "Chooses for every pipeline stage (and every virtual chunk) how many layers it holds and how many of them\n"
        "recompute what, so that the simulated step is as short as possible and no stage exceeds its memory.\n"
        "FILE is an init file (YAML) or a layer file (JSON). Options take one dash or two.\n\n"
        "Exit status: 0 done, 1 nothing fits, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel balance init.yaml -s 16 -i 3 -mb 16 -mem 56000 -lm 1\n"
                "  evenkeel balance init.yaml -s 16 -mb 32 --time head=0.1,body=3.1,tail=3.5 --format json\n"
                "  evenkeel balance layers.json -s 8 -i 2 -mb 32 -naive 1 -manual mine.yaml -o pictures\n",
    .operand = "FILE",
    .options = options,
    .n_options = sizeof options / sizeof *options,
};

typedef struct command {
    cli_model model;
    ek_balance_options search;
    bool naive, guide, execute;
    const char *manual;
    bool terminal; /* a progress line is wanted */
    bool progress_shown;
} command;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile int interrupted;
static volatile double interrupted_at;

/* The first Ctrl-C ends the search, a later one the program. One that follows at once is the same one: a terminal or
 * `timeout` may signal both the process and its group. */
static void interrupt(int signal_number)
{
    if (!interrupted) {
        interrupted_at = now();
        interrupted = 1;
    } else if (now() - interrupted_at > 0.5) {
        _exit(128 + signal_number);
    }
}

static bool set_solver(command *c, const char *text)
{
    const char *name, *summary;
    for (int i = 0; ek_solver_at(i, &name, &summary); i++)
        if (strcmp(name, text) == 0) {
            c->search.solver = name;
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

static bool set_seed(command *c, const cli_option *option, const char *text)
{
    int seed;
    if (!cli_int(option, text, 0, 2147483647, &seed))
        return false;
    c->search.seed = (uint64_t)seed;
    return true;
}

/* Options of the original that mean nothing here, taken so that its command lines work. */
static bool take_original(command *c, const cli_option *option, const char *text)
{
    bool on = false;
    int level;
    if (cli_is(option, "O"))
        return cli_int(option, text, 0, 2, &level);
    if (cli_is(option, "guide")) {
        c->guide = true;
        return true;
    }
    if (cli_is(option, "mf")) /* for -cm, which is refused itself */
        return true;
    if (!cli_switch(option, text, &on))
        return false;
    if (cli_is(option, "exec"))
        c->execute = on;
    if (cli_is(option, "cm") && on) {
        cli_error(NULL, "-cm 1 (memory from logs) is not in this version; give an init file with --init");
        return false;
    }
    return true;
}

static bool handle(void *user, const cli_option *option, const char *text)
{
    command *c = user;
    int shared = cli_model_option(&c->model, option, text);
    if (shared != CLI_HELP)
        return shared == CLI_OK;
    if (cli_is(option, "min-layers"))
        return cli_int(option, text, 0, EK_MAX_LAYERS, &c->search.min_layers);
    if (cli_is(option, "t"))
        return cli_double(option, text, 0.001, 1e7, &c->search.time_limit);
    if (cli_is(option, "solver"))
        return set_solver(c, text);
    if (cli_is(option, "threads"))
        return cli_int(option, text, 1, 256, &c->search.n_threads);
    if (cli_is(option, "seed"))
        return set_seed(c, option, text);
    if (cli_is(option, "naive"))
        return cli_switch(option, text, &c->naive);
    if (cli_is(option, "manual")) {
        c->manual = text;
        return true;
    }
    return take_original(c, option, text);
}

static void show_progress(void *user, const ek_balance_progress *progress)
{
    command *c = user;
    double left = c->search.time_limit - progress->seconds;
    if (progress->done > 0.01) {
        double own = progress->seconds / progress->done - progress->seconds;
        left = own < left ? own : left;
    }
    fprintf(stderr, "\r\033[Kbalance: step %.6g, %.1f s left, last improved %.1f s ago", progress->best_step_time,
            left > 0 ? left : 0, progress->seconds - progress->best_seconds);
    fflush(stderr);
    c->progress_shown = true;
}

/* Search with Ctrl-C caught, and the time already spent on reading taken off the limit. */
static bool search(command *c, const ek_layers *layers, const ek_order *order, double begin, ek_balance_result *result)
{
    ek_error err;
    struct sigaction action = {.sa_handler = interrupt}, before;
    sigaction(SIGINT, &action, &before);
    ek_balance_options wanted = c->search;
    wanted.comm = c->model.comm;
    wanted.interrupt = &interrupted;
    wanted.user = c;
    wanted.progress = c->terminal ? show_progress : NULL;
    wanted.time_limit = fmax(wanted.time_limit - (now() - begin), 0.001);
    ek_status status = ek_balance(layers, order, &wanted, result, &err);
    sigaction(SIGINT, &before, NULL);
    if (c->progress_shown)
        fputs("\r\033[K", stderr);
    if (status)
        cli_error(NULL, "%s", err.message);
    return status == EK_OK;
}

/* The even split without recomputation, and with as much as the model knows. */
static bool add_naive(command *c, const ek_layers *layers, cli_cases *cases)
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

static int run_model(command *c, const ek_layers *layers, double begin)
{
    static cli_cases cases; /* too large for the stack */
    ek_balance_result result = {0};
    ek_error err;
    int code = EXIT_WRONG;
    ek_shape shape = cli_model_shape(&c->model, c->model.n_stages, c->model.n_chunks, c->model.n_micro_batches);
    const ek_schedule *schedule = cli_model_schedule(&c->model, shape.n_chunks, c->model.less_memory);
    const ek_order *order = cli_cases_order(&cases, schedule, &shape, &err);
    if (!order)
        cli_error(NULL, "%s", err.message);
    if (!order || !search(c, layers, order, begin, &result))
        goto done;
    bool feasible = result.status != EK_BALANCE_INFEASIBLE;
    if (feasible && !cli_cases_add(&cases, &c->model, layers, "result", NULL, &result.plan, c->model.n_micro_batches,
                                   c->model.less_memory))
        goto done;
    if (feasible && c->naive && !add_naive(c, layers, &cases))
        goto done;
    if (feasible && c->manual && !cli_cases_add_file(&cases, &c->model, layers, false, c->manual))
        goto done;
    ek_report report = {.layers = layers,
                        .memory_limit_mb = c->search.memory_limit_mb,
                        .train_file = c->model.n_pieces > 1 ? c->model.train : NULL,
                        .n_cases = cases.n,
                        .cases = cases.cases,
                        .search = &result};
    if (!cli_print_report(&c->model, &report) || !cli_write_pictures(&c->model, &report, cases.file_names))
        goto done;
    if (!feasible)
        cli_error(NULL, "%s %g MB; the smallest limit %s is %.0f MB, which stage %d reaches",
                  result.smallest_limit_exact ? "nothing fits into" : "found no plan within", c->search.memory_limit_mb,
                  result.smallest_limit_exact ? "that fits" : "found", ceil(result.smallest_limit_mb),
                  result.bottleneck_stage);
    code = feasible ? EXIT_DONE : EXIT_NO;
done:
    cli_cases_clear(&cases);
    ek_balance_result_clear(&result);
    return code;
}

static int run(int argc, char **argv)
{
    double begin = now();
    command c = {.execute = true, .terminal = isatty(STDERR_FILENO)};
    const char *operand = NULL;
    cli_model_init(&c.model);
    ek_balance_options_init(&c.search);
    int parsed = cli_parse(&spec, argc, argv, handle, &c, &operand);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (c.guide) {
        cli_error(NULL, "-guide (which dry runs to make) is not in this version");
        return EXIT_WRONG;
    }
    ek_layers layers;
    if (!cli_model_load(&c.model, operand, &layers))
        return EXIT_WRONG;
    if (!c.model.n_stages && c.model.dry_run_stages && c.model.dry_run_stages != 4)
        cli_note("balancing for 4 stages, the default; the dry run had %d (-s %d)", c.model.dry_run_stages,
                 c.model.dry_run_stages);
    c.model.n_stages = c.model.n_stages ? c.model.n_stages : 4;
    c.model.n_micro_batches = c.model.n_micro_batches ? c.model.n_micro_batches : 4;
    c.model.n_chunks = c.model.n_chunks ? c.model.n_chunks : 1;
    if (c.model.memory_given)
        c.search.memory_limit_mb = c.model.memory_mb;

    int code = c.execute ? run_model(&c, &layers, begin) : EXIT_DONE;
    ek_layers_clear(&layers);
    return code;
}

const ek_cmd cmd_balance = {"balance", "choose layers and recomputation for every pipeline stage", run};
