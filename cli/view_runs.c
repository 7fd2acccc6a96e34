/* Runs of a page. Each kind of file goes the way of its own command with that command's defaults: traces are read and
 * indexed, and diagnosed where there is more than traces; plans are simulated; settings are predicted from. */
#include "view_runs.h"

#include <string.h>

#include "search.h"
#include "timeline.h"

static bool said(ek_status status, const ek_error *err)
{
    if (status != EK_OK)
        cli_error(err, "%s", err->message);
    return status == EK_OK;
}

/* ---- traces ---- */

int cli_view_traces(const cli_view_set *set, const char *path[CLI_MAX_RUN_FILES])
{
    int n = 0;
    for (int i = 0; i < set->files.n; i++)
        if (set->files.file[i].kind == CLI_RUN_TRACE)
            path[n++] = set->files.file[i].path;
    return n;
}

/* For a page, unless the set has one already. */
static bool open_timeline(const cli_view_how *how, cli_view_set *set)
{
    const char *path[CLI_MAX_RUN_FILES];
    int n = cli_view_traces(set, path);
    return set->index || !set->evidence.input.trace ||
           cli_timeline_open(path, n, &set->evidence.trace, how->n_threads, &set->index);
}

/* ---- plans ---- */

static const char *first_of(const cli_view_set *set, cli_run_kind kind)
{
    for (int i = 0; set && i < set->files.n; i++)
        if (set->files.file[i].kind == kind)
            return set->files.file[i].path;
    return NULL;
}

/* The model of plans: what an option names, else a file beside the plan, else that of the other set. */
static bool find_model(const cli_view_set *other, const cli_view_set *set, const char *plan, cli_model *model)
{
    const cli_view_set *const sets[] = {set, other};
    for (int i = 0; i < 2 && !model->layers && !model->init; i++) {
        model->layers = first_of(sets[i], CLI_RUN_LAYERS);
        model->init = model->layers ? NULL : first_of(sets[i], CLI_RUN_INIT);
    }
    if (model->layers || model->init)
        return true;
    cli_error(
        NULL,
        "'%s' is a plan, which says how a model is split but not what its layers take; give its init file or layer "
        "file too, for example `evenkeel view %s init.yaml`",
        plan, plan);
    return false;
}

static bool check_models(const cli_view_set *set)
{
    const char *layers = first_of(set, CLI_RUN_LAYERS), *init = first_of(set, CLI_RUN_INIT);
    const char *first = layers ? layers : init;
    if (!first || first_of(set, CLI_RUN_PLAN))
        return true;
    cli_error(NULL,
              "'%s' says what a model takes, but not how it is split; give a plan too, or let balance find one: "
              "`evenkeel balance %s --html FILE`",
              first, first);
    return false;
}

static bool read_plans(const cli_view_how *how, const cli_view_set *other, cli_view_set *set)
{
    const char *plan = first_of(set, CLI_RUN_PLAN);
    cli_model model = how->model;
    if (!plan)
        return true;
    if (!find_model(other, set, plan, &model) || !cli_model_load(&model, NULL, &set->layers))
        return false;
    for (int i = 0; i < set->files.n; i++)
        if (set->files.file[i].kind == CLI_RUN_PLAN &&
            !cli_cases_add_file(&set->cases, &model, &set->layers, true, set->files.file[i].path, &cli_listener))
            return false;
    set->report = (ek_report){.layers = &set->layers,
                              .memory_limit_mb = model.memory_given ? model.memory_mb : 0,
                              .n_cases = set->cases.n,
                              .cases = set->cases.cases,
                              .list = set->cases.n > 1};
    for (int i = 0; i < set->cases.n; i++)
        set->run[set->n_runs++] = (ek_view_run){.name = set->cases.names[i], .plans = &set->report, .case_index = i};
    return true;
}

/* ---- a run ---- */

static bool diagnose(const cli_view_how *how, cli_view_set *set)
{
    ek_error err;
    const ek_diagnose_options options = {.n_threads = how->n_threads, .interrupt = &cli_interrupted};
    cli_catch_interrupt();
    ek_status status = ek_diagnose(&set->evidence.input, &options, &set->diagnosis, &err);
    cli_release_interrupt();
    return said(status, &err);
}

/* What there is of a training run. Traces alone, or settings alone, speak for themselves; together with anything else
 * there is something to diagnose. */
static bool read_training_run(const cli_view_how *how, cli_view_set *set)
{
    cli_run_evidence *evidence = &set->evidence;
    const ek_run_input *input = &evidence->input;
    cli_job_options job = how->job;
    ek_error err;
    const cli_run_reading reading = {.files = &set->files,
                                     .job = &job,
                                     .has_overrides = how->job.given,
                                     .device = how->device,
                                     .limit_mb = how->limit_mb,
                                     .stages = how->stages,
                                     .n_threads = how->n_threads,
                                     .quiet = how->quiet};
    if (!cli_run_read(&reading, evidence))
        return false;
    int n_kinds = (input->trace != NULL) + (input->job != NULL) + (input->dry_runs != NULL) + (input->log != NULL) +
                  (input->n_ir > 0);
    if (n_kinds == 0)
        return true;
    if (!open_timeline(how, set))
        return false;
    ek_view_run run = {.name = set->name, .trace = input->trace, .index = set->index};
    bool alone = n_kinds == 1 && (input->trace || input->job);
    if (!alone && !diagnose(how, set))
        return false;
    run.diagnosis = alone ? NULL : &set->diagnosis;
    if (input->job && !said(cli_prediction_make(input->job, input->device, &set->memory, &err), &err))
        return false;
    run.memory = input->job ? &set->memory.report : NULL;
    set->run[set->n_runs++] = run;
    return true;
}

bool cli_view_read(const cli_view_how *how, const cli_view_set *other, cli_view_set *set)
{
    cli_timeline_name(set->given ? set->given : "run", set->name, sizeof set->name);
    if (!set->index && !cli_timeline_fits(set->files.trace_bytes))
        return false;
    if (!check_models(set) || !read_training_run(how, set) || !read_plans(how, other, set))
        return false;
    if (set->n_runs > 0)
        return true;
    cli_error(NULL, "nothing to look at was found there: neither traces, nor plans, settings, logs or graphs");
    return false;
}

void cli_view_clear(cli_view_set *set)
{
    cli_run_clear(&set->files);
    cli_prediction_clear(&set->memory);
    ek_diagnosis_clear(&set->diagnosis);
    ek_trace_index_close(set->index);
    cli_cases_clear(&set->cases);
    ek_layers_clear(&set->layers);
    cli_run_evidence_clear(&set->evidence);
}
