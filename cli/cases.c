/* Simulates the plans that a command reports, with messages. */
#include "cases.h"

#include "files.h"

/* Settings of the command line for all plans. */
static ek_case_options options_of(const cli_model *model, const ek_balance_lists *lists)
{
    return (ek_case_options){.n_stages = model->n_stages,
                             .n_chunks = model->n_chunks,
                             .n_micro_batches = model->n_micro_batches,
                             .n_pieces = model->n_pieces,
                             .less_memory = model->less_memory,
                             .schedule = model->schedule,
                             .comm = model->comm,
                             .memory_limit_mb = model->memory_given ? model->memory_mb : 0,
                             .lists = lists};
}

static bool said(ek_status status, const ek_error *err)
{
    if (status)
        cli_error(err, "%s", err->message);
    return status == EK_OK;
}

bool cli_cases_add_run(ek_cases *cases, const cli_model *model, const ek_layers *layers, const char *name,
                       const char *file, const ek_plan *plan, const ek_order *order)
{
    const ek_balance_lists lists = {cli_model_fill, cli_cluster_release, model};
    const ek_case_options options = options_of(model, &lists);
    ek_error err;
    return said(ek_cases_add_run(cases, &options, layers, name, file, plan, order, &err), &err);
}

bool cli_cases_add(ek_cases *cases, const cli_model *model, const ek_layers *layers, const char *name, const char *file,
                   const ek_plan *plan, int n_micro_batches, int less_memory)
{
    const ek_balance_lists lists = {cli_model_fill, cli_cluster_release, model};
    const ek_case_options options = options_of(model, &lists);
    ek_error err;
    return said(ek_cases_add(cases, &options, layers, name, file, plan, n_micro_batches, less_memory, &err), &err);
}

bool cli_cases_add_file(ek_cases *cases, const cli_model *model, const ek_layers *layers, bool same_chunks,
                        const char *path, const ek_listener *listener)
{
    const ek_balance_lists lists = {cli_model_fill, cli_cluster_release, model};
    ek_case_options options = options_of(model, &lists);
    ek_error err;
    options.same_chunks = same_chunks;
    return said(ek_cases_add_file(cases, &options, layers, path, listener, &cli_notes, &err), &err);
}

bool cli_cases_report(ek_cases *cases, const cli_model *model, const ek_layers *layers, double memory_limit_mb)
{
    ek_report report = {.layers = layers,
                        .memory_limit_mb = memory_limit_mb,
                        .train_file = model->n_pieces > 1 ? model->train : NULL,
                        .n_cases = cases->n,
                        .cases = cases->cases,
                        .list = cases->n > 1};
    if (cases->n > 0) /* lists by stage fit every plan or none */
        cli_stages_report(cases->own[0], &model->cluster, cases->plans[0].n_stages, &report);
    return cli_print_report(model, &report) && cli_write_pictures(model, &report, cases->file_names);
}
