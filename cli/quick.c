/* Compares quick tuning with an equally restricted search: one chunk a stage, 1F1B, only full recomputation. */
#include "quick.h"

#include <math.h>
#include <stdio.h>

#include "cases.h"
#include "cmd.h"
#include "evenkeel/quick.h"
#include "files.h"
#include "page.h"

#define SEARCH_SECONDS 5.0 /* for the comparison; with one chunk a stage an exact method usually takes none of them */

bool cli_check_quick(const cli_model *model, const cli_open *open)
{
    const cli_cluster *cluster = &model->cluster;
    const struct {
        const char *name;
        bool given;
    } options[] = {
        {"-i above 1", model->n_chunks > 1 || open->chunks},
        {"another --schedule", (model->schedule && model->schedule != ek_schedule_default(1, 0)) || open->schedules},
        {"-seq above 1", model->n_pieces > 1},
        {"--stage-memory", cluster->memory},
        {"--stage-speed", cluster->speed},
        {"--p2p-edges", cluster->edges},
        {"--stages-per-node", cluster->stages_per_node > 0},
        {"--micro-batch-cost", cluster->costs},
        {"--recompute-transient", cluster->recompute_transient},
        {"--fix", cluster->n_fixes > 0},
        {"--forbid", cluster->any_forbidden}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given) {
            cli_error(
                NULL,
                "--quick is a rule of thumb for one chunk per stage under 1f1b, with stages all alike; it does not "
                "go with %s: leave one of them out",
                options[i].name);
            return false;
        }
    return cli_check_format(model, EK_OUTPUT_QUICK, "--quick");
}

/* The same as the search sees it. */
static ek_status search_too(const cli_model *model, const ek_layers *layers, cli_search *search, const ek_shape *shape,
                            ek_balance_result *out, ek_error *err)
{
    ek_order *order;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        search->cluster.forbidden[k] = k != EK_RECOMPUTE_NONE && k != EK_RECOMPUTE_FULL;
    ek_status status = cli_search_run(search, layers, ek_schedule_default(1, 0), shape, &model->comm,
                                      fmin(cli_search_left(search), SEARCH_SECONDS), &order, out, err);
    if (status == EK_OK)
        ek_order_free(order);
    return status;
}

/* Of both answers, where an option requests them. */
static bool write_pictures(cli_model *model, const ek_layers *layers, const cli_search *search,
                           const ek_quick_report *quick)
{
    static ek_cases cases; /* too large for the stack */
    int m = quick->quick->n_micro_batches;
    bool fine = cli_cases_add(&cases, model, layers, "quick", NULL, &quick->quick->step[EK_QUICK_MOVED].plan, m, -1) &&
                (quick->search->status == EK_BALANCE_INFEASIBLE ||
                 cli_cases_add(&cases, model, layers, "result", NULL, &quick->search->plan, m, -1));
    const ek_report report = {
        .layers = layers, .memory_limit_mb = search->options.memory_limit_mb, .n_cases = cases.n, .cases = cases.cases};
    model->no_default_folder = true;
    fine = fine && cli_write_pictures(model, &report, cases.file_names);
    ek_cases_clear(&cases);
    return fine;
}

int cli_run_quick(cli_model *model, const ek_layers *layers, cli_search *search)
{
    ek_error err;
    ek_order *order = NULL;
    ek_quick quick = {0};
    ek_balance_result result = {0};
    int code = EXIT_WRONG;
    const ek_shape shape = cli_model_shape(model, model->n_stages, 1, model->n_micro_batches);
    const ek_balance_options *options = &search->options;
    ek_status status = ek_order_new(ek_schedule_default(1, 0), &shape, &order, &err);
    if (status == EK_OK)
        status =
            ek_quick_tune(layers, order, &model->comm, options->memory_limit_mb, options->min_layers, &quick, &err);
    if (status == EK_OK && quick.feasible)
        status = search_too(model, layers, search, &shape, &result, &err);
    if (status) {
        cli_error(&err, "%s", err.message);
        goto done;
    }
    const ek_quick_report report = {layers, &quick, quick.feasible ? &result : NULL};
    /* Without a plan nothing else goes to standard output. */
    bool answered = quick.feasible ? cli_answer(ek_output_of_quick(&report), model->format)
                                   : cli_print(ek_output_of_quick(&report), model->format);
    if (!answered || (quick.feasible && !write_pictures(model, layers, search, &report)))
        goto done;
    if (!quick.feasible)
        cli_error(NULL, "nothing fits into %g MB; stage %d would need %.0f MB, %.0f MB more", quick.memory_limit_mb,
                  quick.bottleneck_stage, ceil(quick.needed_mb), ceil(quick.needed_mb - quick.memory_limit_mb));
    code = quick.feasible ? EXIT_DONE : EXIT_NO;
done:
    ek_balance_result_clear(&result);
    ek_quick_clear(&quick);
    ek_order_free(order);
    return code;
}
