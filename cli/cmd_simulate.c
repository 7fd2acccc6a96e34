/* `evenkeel simulate`: run given plans through a schedule. */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "cmd.h"
#include "files.h"
#include "model.h"

/* clang-format off */
static const cli_option options[] = {
    CLI_MODEL_OPTIONS,
    CLI_PIPELINE_OPTIONS,
    {"mem|max-memory|max_memory", "MB", "memory limit to compare the peaks with, in MB of 2^20 bytes", "limits"},
    CLI_OUTPUT_OPTIONS,
};
/* clang-format on */

static const cli_spec spec = {
    .usage = "evenkeel simulate [OPTIONS] PLAN --init FILE\n       evenkeel simulate [OPTIONS] PLAN --layers FILE",
    .summary =
        "Runs given plans through a schedule: step time, bubble, memory peaks, timeline. PLAN is what\n"
        "`balance --format yaml` (or json) wrote, or a file of named strategies. Stages and interleave come from\n"
        "the plan; micro-batches from the plan unless -mb is given (4 when neither says). Options take one dash\n"
        "or two.\n\n"
        "Exit status: 0 done, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel balance init.yaml -s 16 -mb 16 --format yaml > plan.yaml\n"
                "  evenkeel simulate plan.yaml --init init.yaml -mem 56000\n"
                "  evenkeel simulate mine.yaml --layers layers.json -mb 32 --p2p-time 0.4 --format json\n",
    .operand = "PLAN",
    .options = options,
    .n_options = sizeof options / sizeof *options,
};

static bool handle(void *user, const cli_option *option, const char *text)
{
    return cli_model_option(user, option, text) == CLI_OK;
}

static int run(int argc, char **argv)
{
    static cli_cases cases; /* too large for the stack */
    cli_model model;
    const char *plan = NULL;
    cli_model_init(&model);
    int parsed = cli_parse(&spec, argc, argv, handle, &model, &plan);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (!plan) {
        cli_error(NULL, "no plan: give a plan file, for example `evenkeel simulate plan.yaml --init init.yaml`");
        return EXIT_WRONG;
    }
    ek_layers layers;
    if (!cli_model_load(&model, NULL, &layers))
        return EXIT_WRONG;
    int code = EXIT_WRONG;
    if (cli_cases_add_file(&cases, &model, &layers, true, plan)) {
        ek_report report = {.layers = &layers,
                            .memory_limit_mb = model.memory_given ? model.memory_mb : 0,
                            .train_file = model.n_pieces > 1 ? model.train : NULL,
                            .n_cases = cases.n,
                            .cases = cases.cases,
                            .list = cases.n > 1};
        if (cli_print_report(&model, &report) && cli_write_pictures(&model, &report, cases.file_names))
            code = EXIT_DONE;
    }
    cli_cases_clear(&cases);
    ek_layers_clear(&layers);
    return code;
}

const ek_cmd cmd_simulate = {"simulate", "run a given plan through a schedule", run};
