/* `evenkeel simulate`: simulates given plans under a schedule. */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "cmd.h"
#include "files.h"
#include "model.h"
#include "progress.h"
#include "uniform.h"

typedef struct command {
    cli_model model;
    const char *uniform;
} command;

/* clang-format off */
static const cli_option options[] = {
    CLI_MODEL_OPTIONS(command, model),
    CLI_PIPELINE_OPTIONS(command, model),
    CLI_CLUSTER_OPTIONS(command, model.cluster),
    {"uniform", "TIMES", "equal stages instead of a model and a plan: times of one stage and micro-batch, as "
     "forward=2,backward=4 or forward=2,backward_input=2,backward_weight=2; weight_activation=0.5 is the share of the "
     "activations held until the weight gradient", "without a model",
     CLI_TEXT(command, uniform),
     .manual = "equal stages instead of a model and a plan. `TIMES` are those of one stage and one micro-batch, as"
               " `forward=2,backward=4` or `forward=2,backward_input=2,backward_weight=2`; each of several chunks "
               "takes its share. `weight_activation=0.5` adds the share of the activations that is held until the "
               "weight gradient"},
    {"mem|max-memory|max_memory", "MB", "memory limit to compare the peaks with, in MB of 2^20 bytes", "limits",
     CLI_DOUBLE(command, model.memory_mb, 1, 1e9), CLI_GIVEN(command, model.memory_given)},
    CLI_OUTPUT_OPTIONS(command, model),
    CLI_END,
};
/* clang-format on */

static const cli_spec spec = {
    .usage = "evenkeel simulate [OPTIONS] PLAN --init FILE\n       evenkeel simulate [OPTIONS] PLAN --layers FILE\n"
             "       evenkeel simulate [OPTIONS] --schedule NAME --uniform TIMES\n"
             "       evenkeel simulate --list-schedules",
    .summary = "Runs given plans through a schedule: step time, bubble, memory peaks, timeline. PLAN is an\n"
               "output of `balance --format yaml` (or json), or a file of named strategies. Stages and interleaving "
               "come from\n"
               "the plan; micro-batches from the plan unless -mb is given (4 if neither sets them). With --uniform a "
               "schedule\n"
               "runs without a model, on equal stages: step, bubble, and live activations in micro-batches of a stage. "
               "Options take one dash or two.\n"
               "\n"
               "Exit status: 0 done, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel balance init.yaml -s 16 -mb 16 --format yaml > plan.yaml\n"
                "  evenkeel simulate plan.yaml --init init.yaml -mem 56000\n"
                "  evenkeel simulate mine.yaml --layers layers.json -mb 32 --p2p-time 0.4 --format json\n"
                "  evenkeel simulate --schedule interleaved -s 8 -mb 24 -i 3 --uniform forward=18522,backward=27423 "
                "--p2p-time 601\n",
    .operand = "PLAN",
    .options = options,
};

static int run(int argc, char **argv)
{
    static ek_cases cases; /* too large for the stack */
    command c = {0};
    const char *plan = NULL;
    cli_model_init(&c.model);
    int parsed = cli_parse(&spec, argc, argv, &c, &plan);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (c.model.list_schedules)
        return cli_print_schedules(&c.model);
    if (!cli_plot_check(&c.model.plot, c.model.format, NULL))
        return EXIT_WRONG;
    if (c.uniform && plan) {
        cli_error(NULL, "--uniform needs no plan; leave '%s' out, or --uniform", plan);
        return EXIT_WRONG;
    }
    if (c.uniform)
        return cli_run_uniform(&c.model, c.uniform);
    if (!plan) {
        cli_error(NULL, "no plan: give a plan file, for example `evenkeel simulate plan.yaml --init init.yaml`");
        return EXIT_WRONG;
    }
    ek_layers layers;
    if (!cli_model_load(&c.model, NULL, &layers))
        return EXIT_WRONG;
    cli_progress progress;
    cli_progress_follow(&progress);
    bool fine = cli_cases_add_file(&cases, &c.model, &layers, true, plan, &cli_listener);
    cli_progress_end(&progress);
    fine = fine && cli_cases_report(&cases, &c.model, &layers, c.model.memory_given ? c.model.memory_mb : 0);
    ek_cases_clear(&cases);
    ek_layers_clear(&layers);
    return fine ? EXIT_DONE : EXIT_WRONG;
}

const ek_cmd cmd_simulate = {"simulate", "simulate a given plan under a schedule", run, false, CLI_GROUP_PIPELINE};
