/* Reads the runs of a page from files. Each kind of file is processed as by its own command with that command's
 * defaults: traces are read and indexed, and diagnosed when there are further files; plans are simulated; settings are
 * predicted from. */
#include "evenkeel/trace_index.h"
#include "evenkeel/view_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/view.h"

static const char *first_of(const ek_view_files *set, ek_run_kind kind)
{
    const ek_run_file *file = set ? ek_run_files_first(&set->files, kind) : NULL;
    return file ? file->path : NULL;
}

/* ---- a training run ---- */

/* For a page, unless the set has one already. */
static ek_status open_index(const ek_view_reading *how, ek_view_files *set, ek_error *err)
{
    if (set->index || !set->evidence.input.trace)
        return EK_OK;
    const char **path = ek__alloc((size_t)set->files.n, sizeof *path);
    if (!path)
        return ek__no_memory(err);
    int n = ek_run_files_of(&set->files, EK_RUN_TRACE, path);
    const ek_trace_index_options options = {.n_threads = how->run.n_threads,
                                            .progress = how->run.progress,
                                            .user = how->run.user,
                                            .interrupt = how->run.interrupt};
    ek_status status = ek_view_index_open(path, n, &set->evidence.trace, &options, &set->index, err);
    free(path);
    return status;
}

static ek_status diagnose(const ek_view_reading *how, ek_view_files *set, ek_error *err)
{
    const ek_diagnose_options options = {.n_threads = how->run.n_threads, .interrupt = how->run.interrupt};
    return ek_diagnose(&set->evidence.input, &options, &set->diagnosis, err);
}

/* The files of a training run. Traces or settings without other files are shown directly; together with other files
 * they are diagnosed. */
static ek_status read_training_run(const ek_view_reading *how, ek_view_files *set, ek_error *err)
{
    const ek_run_input *input = &set->evidence.input;
    ek_run_reading reading = how->run;
    reading.files = &set->files;
    ek_status status = ek_run_read(&reading, &set->evidence, err);
    int n_kinds = (input->trace != NULL) + (input->job != NULL) + (input->dry_runs != NULL) + (input->log != NULL) +
                  (input->n_ir > 0);
    if (status || n_kinds == 0)
        return status;
    bool alone = n_kinds == 1 && (input->trace || input->job);
    status = open_index(how, set, err);
    if (status == EK_OK && !alone)
        status = diagnose(how, set, err);
    if (status == EK_OK && input->job)
        status = ek_prediction_of(input->job, input->device, &set->memory, err);
    if (status == EK_OK)
        set->run[set->n_runs++] = (ek_view_run){.name = set->name,
                                                .trace = input->trace,
                                                .index = set->index,
                                                .diagnosis = alone ? NULL : &set->diagnosis,
                                                .memory = input->job ? &set->memory.report : NULL};
    return status;
}

/* ---- plans ---- */

/* The model of plans: the named one, else a file in the plan's folder, else that of the other set. */
static ek_status find_model(const ek_view_files *other, const ek_view_files *set, const char *plan,
                            ek_model_files *model, ek_error *err)
{
    const ek_view_files *const sets[] = {set, other};
    for (int i = 0; i < 2 && !model->layers && !model->init; i++) {
        model->layers = first_of(sets[i], EK_RUN_LAYERS);
        model->init = model->layers ? NULL : first_of(sets[i], EK_RUN_INIT);
    }
    if (model->layers || model->init)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "'%s' is a plan, which contains the split of a model but not the costs of its layers; give its "
                    "init file or layer file, too, for example `evenkeel view %s init.yaml`",
                    plan, plan);
}

static ek_status check_models(const ek_view_files *set, ek_error *err)
{
    const char *layers = first_of(set, EK_RUN_LAYERS), *init = first_of(set, EK_RUN_INIT);
    const char *first = layers ? layers : init;
    if (!first || first_of(set, EK_RUN_PLAN))
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "'%s' contains the costs of a model, but not its split; give a plan, too, or let balance find one: "
                    "`evenkeel balance %s --html FILE`",
                    first, first);
}

static ek_status read_model(const ek_view_reading *how, const ek_view_files *other, const char *plan,
                            ek_view_files *set, ek_dryrun_run *run, ek_error *err)
{
    ek_model_files files = how->model;
    ek_file_model model;
    ek_times times;
    ek_error why;
    ek_status status = find_model(other, set, plan, &files, err);
    if (status)
        return status;
    if (how->times && (status = ek_times_parse(how->times, &times, &why)) != EK_OK)
        return ek__fail(err, status, EK__NOWHERE, "--time: %s", why.message);
    if (how->times)
        files.times = &times;
    if (!files.name)
        files.name = "model_name";
    status = ek_model_files_read(&files, how->plan_warnings, how->run.notes, &model, err);
    if (status)
        return status;
    set->layers = model.layers;
    *run = model.run;
    ek_layers_add_constant(&set->layers, 0, run->constant_mb, how->run.notes);
    return EK_OK;
}

static ek_status read_plans(const ek_view_reading *how, const ek_view_files *other, ek_view_files *set, ek_error *err)
{
    const char *plan = first_of(set, EK_RUN_PLAN);
    ek_case_options options = how->plans;
    ek_dryrun_run run = {0};
    if (!plan)
        return EK_OK;
    ek_status status = read_model(how, other, plan, set, &run, err);
    if (!how->p2p_given)
        options.comm.p2p_time = run.p2p_time;
    for (int i = 0; i < set->files.n && status == EK_OK; i++)
        if (set->files.file[i].kind == EK_RUN_PLAN)
            status = ek_cases_add_file(&set->cases, &options, &set->layers, set->files.file[i].path, how->plan_warnings,
                                       how->run.notes, err);
    set->report = (ek_report){.layers = &set->layers,
                              .memory_limit_mb = options.memory_limit_mb,
                              .n_cases = set->cases.n,
                              .cases = set->cases.cases,
                              .list = set->cases.n > 1};
    for (int i = 0; i < set->cases.n && status == EK_OK; i++)
        set->run[set->n_runs++] = (ek_view_run){.name = set->cases.names[i], .plans = &set->report, .case_index = i};
    return status;
}

/* ---- all of it ---- */

ek_status ek_view_files_read(const ek_view_reading *how, const ek_view_files *other, ek_view_files *set, ek_error *err)
{
    const ek_view_reading usual = {.plans = {.less_memory = -1, .same_chunks = true}};
    how = how ? how : &usual;
    ek_view_name_of(set->given ? set->given : "run", set->name, sizeof set->name);
    ek_status status = set->index ? EK_OK : ek_view_check_bytes(set->files.trace_bytes, err);
    if (status == EK_OK)
        status = check_models(set, err);
    if (status == EK_OK)
        status = read_training_run(how, set, err);
    if (status == EK_OK)
        status = read_plans(how, other, set, err);
    if (status == EK_OK && set->n_runs == 0)
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                          "nothing to show was found: neither traces, nor plans, settings, logs or graphs");
    return status;
}

void ek_view_files_clear(ek_view_files *set)
{
    ek_run_files_clear(&set->files);
    ek_prediction_clear(&set->memory);
    ek_diagnosis_clear(&set->diagnosis);
    ek_trace_index_close(set->index);
    ek_cases_clear(&set->cases);
    ek_layers_clear(&set->layers);
    ek_run_evidence_clear(&set->evidence);
    memset(&set->evidence, 0, sizeof set->evidence);
    set->index = NULL;
    set->n_runs = 0;
}

/* ---- the page ---- */

typedef char numbered[EK_NAME_SIZE + 16];

static bool is_taken(const ek_view_run *run, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (strcmp(run[i].name, text) == 0)
            return true;
    return false;
}

ek_status ek_view_page_write(const char *title, const char *lang, const ek_view_run *run, int n_runs, FILE *out,
                             ek_error *err)
{
    ek_view_run *own = ek__alloc((size_t)n_runs, sizeof *own);
    numbered *names = ek__alloc((size_t)n_runs, sizeof *names);
    ek_status status = own && names ? EK_OK : ek__no_memory(err);
    for (int i = 0; status == EK_OK && i < n_runs; i++) {
        own[i] = run[i];
        for (int number = 2; is_taken(own, i, own[i].name); number++) {
            snprintf(names[i], sizeof names[i], "%.*s-%d", EK_NAME_SIZE, run[i].name, number);
            own[i].name = names[i];
        }
    }
    const ek_view view = {.title = title, .lang = lang, .n_runs = n_runs, .run = own};
    if (status == EK_OK)
        status = ek__view_write_html(&view, out, err);
    free(names);
    free(own);
    return status;
}

ek_status ek_view_files_write(const ek_view_files *first, const ek_view_files *second, const char *title,
                              const char *lang, FILE *out, ek_error *err)
{
    int n = first->n_runs + (second ? second->n_runs : 0), k = 0;
    ek_view_run *run = ek__alloc((size_t)n, sizeof *run);
    if (!run)
        return ek__no_memory(err);
    run[k++] = first->run[0];
    for (int i = 0; second && i < second->n_runs; i++)
        run[k++] = second->run[i];
    for (int i = 1; i < first->n_runs; i++)
        run[k++] = first->run[i];
    ek_status status = ek_view_page_write(title ? title : run[0].name, lang, run, n, out, err);
    free(run);
    return status;
}
