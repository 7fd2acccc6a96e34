/* Runs of a page. Each kind of file goes the way of its own command with that command's defaults: traces are read and
 * indexed, and diagnosed where there is more than traces; plans are simulated; settings are predicted from. */
#include "view_runs.h"

#include <stdio.h>
#include <string.h>

#include "progress.h"
#include "search.h"

static bool said(ek_status status, const ek_error *err)
{
    if (status != EK_OK)
        cli_error(err, "%s", err->message);
    return status == EK_OK;
}

void cli_view_name(const char *path, char *out, size_t size)
{
    static const char *const endings[] = {".gz", ".json", ".yaml", ".yml", ".sh", ".html"};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *begin = path + n;
    while (begin > path && begin[-1] != '/')
        begin--;
    n = (size_t)(path + n - begin);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (n > length && memcmp(begin + n - length, endings[i], length) == 0)
            n -= length;
    }
    bool nameless = n == 0 || strspn(begin, "./") >= n;
    snprintf(out, size, "%.*s", nameless ? 13 : (int)n, nameless ? "evenkeel-view" : begin);
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

bool cli_view_open_index(const cli_view_how *how, cli_view_set *set, bool temporary, ek_trace_index_made *made)
{
    const char *path[CLI_MAX_RUN_FILES];
    int n = cli_view_traces(set, path);
    ek_error err;
    cli_progress progress;
    cli_progress_begin(&progress);
    const ek_trace_index_options options = {.folder = how->index_folder,
                                            .temporary = temporary,
                                            .fresh = how->fresh,
                                            .n_threads = how->n_threads,
                                            .progress = cli_progress_show,
                                            .user = &progress,
                                            .interrupt = &progress.interrupted};
    ek_status status =
        ek_trace_index_open(path, n, &options, how->quiet ? NULL : &progress.listener, &set->index, made, &err);
    cli_progress_end(&progress);
    return said(status, &err);
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
            !cli_cases_add_file(&set->cases, &model, &set->layers, true, set->files.file[i].path))
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

/* ---- memory ---- */

static bool predict(const ek_run_input *input, cli_view_memory *m)
{
    ek_error err;
    if (!said(ek_memory_predict(input->job, NULL, &m->memory, &err), &err) ||
        !said(ek_memory_measures(input->job, input->device, m->measure, &m->n_measures, &err), &err) ||
        !said(ek_memory_kept(input->job, m->kept, &m->n_kept, &err), &err))
        return false;
    if (input->device && !said(cli_memory_times(input->job, input->device, m->time, &m->n_times, &err), &err))
        return false;
    m->report = (ek_memory_report){.job = input->job,
                                   .memory = &m->memory,
                                   .device = input->device,
                                   .n_times = m->n_times,
                                   .time = m->time,
                                   .n_measures = m->n_measures,
                                   .measure = m->measure,
                                   .n_kept = m->n_kept,
                                   .kept = m->kept,
                                   .stage = -1};
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
    const cli_run_reading reading = {.files = &set->files,
                                     .job = &job,
                                     .has_overrides = how->has_overrides,
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
    ek_view_run run = {.name = set->name, .trace = input->trace, .index = set->index};
    bool alone = n_kinds == 1 && (input->trace || input->job);
    if (!alone && !diagnose(how, set))
        return false;
    run.diagnosis = alone ? NULL : &set->diagnosis;
    if (input->job && !predict(input, &set->memory))
        return false;
    run.memory = input->job ? &set->memory.report : NULL;
    set->run[set->n_runs++] = run;
    return true;
}

bool cli_view_read(const cli_view_how *how, const cli_view_set *other, cli_view_set *set)
{
    cli_view_name(set->files.n > 0 ? set->files.file[0].path : "", set->name, sizeof set->name);
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
    ek_memory_clear(&set->memory.memory);
    for (int i = 0; i < set->memory.n_kept; i++)
        ek_kept_clear(&set->memory.kept[i]);
    ek_diagnosis_clear(&set->diagnosis);
    ek_trace_index_close(set->index);
    cli_cases_clear(&set->cases);
    ek_layers_clear(&set->layers);
    cli_run_evidence_clear(&set->evidence);
}
