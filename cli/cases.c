/* Simulating the plans that a command reports. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

enum { DEFAULT_MICRO_BATCHES = 4 };

static bool picture_taken(const cli_cases *cases, int n, const char *name)
{
    bool taken = strcmp(name, "comparison.svg") == 0; /* of all cases together */
    for (int i = 0; i < n && !taken; i++)
        taken = strcmp(name, cases->files[i]) == 0;
    return taken;
}

/* The picture's file name: the plan's own, kept inside the folder, and never that of another picture. */
static void name_picture(cli_cases *cases, int i, const char *file)
{
    char *name = cases->files[i];
    size_t size = sizeof cases->files[i];
    char stem[200];
    snprintf(stem, sizeof stem, "%s", file ? file : cases->names[i]);
    for (char *c = stem; *c; c++)
        if (*c == '/')
            *c = '_';
    size_t n = strlen(stem);
    if (n > 4 && strcmp(stem + n - 4, ".svg") == 0)
        stem[n - 4] = '\0';
    snprintf(name, size, "%s.svg", stem);
    for (int copy = 2; picture_taken(cases, i, name); copy++)
        snprintf(name, size, "%s-%d.svg", stem, copy);
}

/* The order of a plan, laid out unless the last one is of the same shape and needs no plan; lives until the next call.
 * NULL after filling err. */
static const ek_order *order_of(cli_cases *cases, const ek_balance_options *options, const ek_layers *layers,
                                const ek_plan *plan, const ek_schedule *schedule, const ek_shape *shape, ek_error *err)
{
    if (cases->order && !schedule->arrange) {
        const ek_shape *last = ek_order_shape(cases->order);
        if (ek_order_schedule(cases->order) == schedule && last->n_stages == shape->n_stages &&
            last->n_chunks == shape->n_chunks && last->n_micro_batches == shape->n_micro_batches &&
            last->n_pieces == shape->n_pieces)
            return cases->order;
    }
    ek_order_free(cases->order);
    cases->order = NULL;
    return ek_order_for_plan(layers, plan, schedule, shape, options, &cases->order, err) ? NULL : cases->order;
}

/* Takes `stages` over. */
static bool add_run(cli_cases *cases, const ek_comm *comm, cli_stages *stages, const ek_layers *layers,
                    const char *name, const char *file, const ek_plan *plan, const ek_order *order)
{
    ek_error err;
    if (cases->n == CLI_MAX_CASES) {
        cli_error(NULL, "more than %d plans at once; split the file", CLI_MAX_CASES);
        cli_stages_clear(stages);
        return false;
    }
    int i = cases->n;
    cases->stages[i] = *stages;
    ek_comm own = {.p2p_time = comm->p2p_time, .blocking = comm->blocking, .edge_time = stages->edge_time};
    ek_status status = ek_plan_copy(plan, &cases->plans[i], &err);
    if (!status)
        status = ek_simulate(order, plan, layers, &own, &cases->timelines[i], &err);
    cases->n++; /* also after a failure: to be cleared */
    if (status) {
        cli_error(NULL, "plan '%s': %s", name, err.message);
        return false;
    }
    snprintf(cases->names[i], sizeof cases->names[i], "%s", name);
    name_picture(cases, i, file && *file ? file : NULL);
    cases->file_names[i] = cases->files[i];
    cases->cases[i] = (ek_case){cases->names[i], &cases->plans[i], &cases->timelines[i]};
    return true;
}

bool cli_cases_add_run(cli_cases *cases, const cli_model *model, const ek_layers *layers, const char *name,
                       const char *file, const ek_plan *plan, const ek_order *order)
{
    ek_error err;
    cli_stages stages;
    if (cli_cluster_lay_out(&model->cluster, &model->comm, ek_order_shape(order), &stages, &err))
        return add_run(cases, &model->comm, &stages, layers, name, file, plan, order);
    cli_error(&err, "%s", err.message);
    return false;
}

bool cli_cases_add(cli_cases *cases, const cli_model *model, const ek_layers *layers, const char *name,
                   const char *file, const ek_plan *plan, int n_micro_batches, int less_memory)
{
    ek_error err;
    cli_stages stages;
    ek_shape shape = cli_model_shape(model, plan->n_stages, plan->n_chunks, n_micro_batches);
    const ek_schedule *schedule = cli_model_schedule(model, plan->n_chunks, less_memory);
    if (!cli_cluster_lay_out(&model->cluster, &model->comm, &shape, &stages, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    ek_balance_options options = {.comm = model->comm,
                                  .activation_limit = cli_activation_limit(model, shape.n_stages),
                                  .memory_limit_mb = model->memory_given ? model->memory_mb : 0};
    cli_stages_options(&stages, &model->cluster, &options);
    const ek_order *order = order_of(cases, &options, layers, plan, schedule, &shape, &err);
    if (order)
        return add_run(cases, &model->comm, &stages, layers, name, file, plan, order);
    cli_error(NULL, "plan '%s': %s", name, err.message);
    cli_stages_clear(&stages);
    return false;
}

/* A plan that says its schedule keeps it unless another is given. */
static cli_model with_schedule(const cli_model *model, const ek_strategy *strategy)
{
    cli_model own = *model;
    if (own.schedule || !strategy->schedule || own.less_memory >= 0)
        return own;
    if (own.n_pieces == 1 && strategy->schedule->pieces)
        cli_note("plan '%s' splits sequences; it is run without pieces (-seq N and -train FILE cut them)",
                 strategy->name);
    else
        own.schedule = strategy->schedule;
    return own;
}

bool cli_cases_add_file(cli_cases *cases, const cli_model *model, const ek_layers *layers, bool same_chunks,
                        const char *path, const ek_listener *listener)
{
    ek_error err;
    ek_strategies strategies;
    if (ek_strategies_read(path, layers, model->n_stages, listener, &strategies, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    bool fine = true;
    for (int i = 0; i < strategies.n && fine; i++) {
        const ek_strategy *s = &strategies.strategy[i];
        int m = model->n_micro_batches   ? model->n_micro_batches
                : s->n_micro_batches > 0 ? s->n_micro_batches
                                         : DEFAULT_MICRO_BATCHES;
        if (!model->n_micro_batches && s->n_micro_batches == 0)
            cli_note("plan '%s': %d micro-batches, the default (-mb)", s->name, m);
        if (model->n_stages && s->plan.n_stages != model->n_stages) {
            cli_error(NULL, "%s: plan '%s' is for %d stages, but -s is %d", path, s->name, s->plan.n_stages,
                      model->n_stages);
            fine = false;
        } else if (same_chunks && model->n_chunks && s->plan.n_chunks != model->n_chunks) {
            cli_error(NULL, "%s: plan '%s' has %d chunks per stage, but -i is %d", path, s->name, s->plan.n_chunks,
                      model->n_chunks);
            fine = false;
        } else {
            const cli_model own = with_schedule(model, s);
            fine = cli_cases_add(cases, &own, layers, s->name, s->file_name, &s->plan, m,
                                 model->less_memory >= 0 ? model->less_memory : s->less_memory);
        }
    }
    ek_strategies_clear(&strategies);
    return fine;
}

bool cli_cases_report(cli_cases *cases, const cli_model *model, const ek_layers *layers, double memory_limit_mb)
{
    ek_report report = {.layers = layers,
                        .memory_limit_mb = memory_limit_mb,
                        .train_file = model->n_pieces > 1 ? model->train : NULL,
                        .n_cases = cases->n,
                        .cases = cases->cases,
                        .list = cases->n > 1};
    if (cases->n > 0) /* lists by stage fit every plan or none */
        cli_stages_report(&cases->stages[0], &model->cluster, cases->plans[0].n_stages, &report);
    return cli_print_report(model, &report) && cli_write_pictures(model, &report, cases->file_names);
}

void cli_cases_clear(cli_cases *cases)
{
    for (int i = 0; i < cases->n; i++) {
        ek_plan_clear(&cases->plans[i]);
        ek_timeline_clear(&cases->timelines[i]);
        cli_stages_clear(&cases->stages[i]);
    }
    cases->n = 0;
    ek_order_free(cases->order);
    cases->order = NULL;
}
