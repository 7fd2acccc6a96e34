/* `simulate --uniform`: simulates equal stages of given times under a schedule. */
#include "uniform.h"

#include <stdio.h>

#include "cmd.h"
#include "evenkeel/cases.h"
#include "evenkeel/uniform.h"
#include "files.h"
#include "page.h"
#include "progress.h"

enum { DEFAULT_SIZE = 4 }; /* of -s and -mb, as everywhere */

/* Options of a model or a plan file have no meaning without one. */
static bool check_options(const cli_model *model)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {{"--init", model->init != NULL},
                   {"--layers", model->layers != NULL},
                   {"-lf", model->layer_folder != NULL},
                   {"--time", model->times != NULL},
                   {"--train", model->train != NULL},
                   {"-seq", model->n_pieces > 1},
                   {"-mem", model->memory_given},
                   {"--stage-memory", model->cluster.memory != NULL},
                   {"--stage-speed", model->cluster.speed != NULL},
                   {"--p2p-edges", model->cluster.edges != NULL},
                   {"--stages-per-node", model->cluster.stages_per_node > 0},
                   {"--micro-batch-cost", model->cluster.costs != NULL}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given) {
            cli_error(NULL, "%s is not for --uniform, which needs no model; leave one of them out", options[i].name);
            return false;
        }
    return cli_check_format(model, EK_OUTPUT_UNIFORM, "--uniform");
}

/* Its one case, which `one` is filled with. */
static ek_report report_of(const ek_uniform_run *run, ek_case *one)
{
    *one = (ek_case){run->timeline.schedule->name, &run->plan, &run->timeline};
    return (ek_report){.layers = &run->layers,
                       .memory_limit_mb = run->activation_limit,
                       .memory_unit = "micro-batches",
                       .n_cases = 1,
                       .cases = one};
}

static bool draw(const cli_model *model, const ek_uniform_run *run)
{
    ek_case one;
    ek_report report = report_of(run, &one);
    report.plot = cli_plot_of(&model->plot, model->format, model->output != NULL);
    report.color = report.plot.color;
    return report.plot.columns == 0 || cli_answer(ek_output_of_balance(&report), "plot");
}

static bool write_pictures(cli_model *model, const ek_uniform_run *run)
{
    ek_case one;
    const ek_report report = report_of(run, &one);
    char file[EK_NAME_SIZE];
    snprintf(file, sizeof file, "%s.svg", one.name);
    const char *const names[] = {file};
    model->no_default_folder = true;
    return cli_write_pictures(model, &report, names);
}

bool cli_simulate_uniform(cli_model *model, const char *text, ek_uniform_run *out)
{
    ek_error err;
    ek_uniform times;
    if (!check_options(model))
        return false;
    if (ek_uniform_parse(text, &times, &err)) {
        cli_error(NULL, "--uniform: %s", err.message);
        return false;
    }
    int p = model->n_stages ? model->n_stages : DEFAULT_SIZE;
    int m = model->n_micro_batches ? model->n_micro_batches : DEFAULT_SIZE;
    const ek_schedule *schedule = cli_model_schedule(model, model->n_chunks ? model->n_chunks : 1, model->less_memory);
    ek_shape shape = cli_model_shape(model, p, model->n_chunks ? model->n_chunks : schedule->min_chunks, m);
    cli_progress progress;
    cli_progress_follow(&progress);
    ek_status status =
        ek_uniform_simulate(schedule, &shape, &times, &model->comm, cli_activation_limit(model, p), out, &err);
    cli_progress_end(&progress);
    if (status)
        cli_error(NULL, "%s", err.message);
    return status == EK_OK;
}

int cli_run_uniform(cli_model *model, const char *text)
{
    ek_uniform_run run;
    if (!cli_simulate_uniform(model, text, &run))
        return EXIT_WRONG;
    bool fine =
        cli_answer(ek_output_of_uniform(&run), model->format) && draw(model, &run) && write_pictures(model, &run);
    ek_uniform_run_clear(&run);
    return fine ? EXIT_DONE : EXIT_WRONG;
}
