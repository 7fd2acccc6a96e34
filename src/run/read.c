/* Reads the files of a training run as input of a diagnosis: settings, logs of dry runs, graphs, the training log,
 * traces. Files that were named must be good; those found by a search are left out when they are not. */
#include "evenkeel/compute.h"
#include "evenkeel/ir.h"
#include "evenkeel/memory.h"
#include "evenkeel/run.h"
#include "evenkeel/run_files.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

void ek_run_evidence_clear(ek_run_evidence *f)
{
    ek_trace_run_clear(&f->trace);
    ek_job_clear(&f->job);
    if (f->owns_device)
        ek_device_clear(&f->device);
    ek_collection_clear(&f->dry_runs);
    ek_train_log_clear(&f->log);
    for (int i = 0; i < f->n_ir; i++) {
        ek_ir_report_clear(&f->report[i]);
        ek_ir_free(f->ir[i]);
    }
    f->n_ir = 0;
}

/* A file that was named must be good; one found by a search may not belong to the run, but an error in settings may be
 * an option that has precedence over them. */
static bool is_fatal(const ek_run_reading *c, const ek_run_file *file, const ek_error *err)
{
    bool gives_up = !file->found || (file->kind == EK_RUN_CONFIG && c->has_overrides) || err->status == EK_ERR_MEMORY;
    if (!gives_up && !c->quiet)
        ek__warn(c->notes, EK__NOWHERE, "%s is left out as %s: %s", file->path, ek_run_kind_name[file->kind],
                 err->message);
    return gives_up;
}

/* A relevant failure, or EK_OK where the file is left out. */
static ek_status judge(const ek_run_reading *c, const ek_run_file *file, ek_status status, const ek_error *why,
                       ek_error *err)
{
    if (!is_fatal(c, file, why))
        return EK_OK;
    if (err)
        *err = *why;
    return status;
}

static void note_taken(const ek_run_reading *c, const ek_run_file *file)
{
    if (!c->quiet)
        ek__warn(c->notes, EK__NOWHERE, "%s: %s", ek_run_kind_name[file->kind], file->path);
}

static void note_all_taken(const ek_run_reading *c, ek_run_kind kind)
{
    for (int i = 0; i < c->files->n; i++)
        if (c->files->file[i].kind == kind)
            note_taken(c, &c->files->file[i]);
}

/* A job has one file. */
static ek_status read_job(const ek_run_reading *c, ek_run_evidence *f, ek_error *err)
{
    const ek_run_file *taken = NULL;
    ek_error why;
    for (int i = 0; i < c->files->n; i++) {
        const ek_run_file *file = &c->files->file[i];
        if (file->kind != EK_RUN_CONFIG)
            continue;
        if (taken && !(file->found && !taken->found))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "'%s' and '%s' are both settings of a job; give one of them, with --config", taken->path,
                            file->path);
        if (taken)
            continue;
        ek_status status = ek_job_read(file->path, c->overrides, c->warnings, &f->job, &why);
        if (status == EK_OK) {
            taken = file;
            note_taken(c, file);
        } else if ((status = judge(c, file, status, &why, err)) != EK_OK) {
            return status;
        }
    }
    if (taken)
        f->input.job = &f->job;
    return EK_OK;
}

static ek_status read_dry_runs(const ek_run_reading *c, ek_run_evidence *f, ek_error *err)
{
    const ek_run_file *first = ek_run_files_first(c->files, EK_RUN_DRY_RUN);
    ek_error why;
    if (!first)
        return EK_OK;
    const char **source = ek__alloc((size_t)c->files->n, sizeof *source);
    if (!source)
        return ek__no_memory(err);
    int n = ek_run_files_of(c->files, EK_RUN_DRY_RUN, source), stages = f->input.job ? f->job.parallel.pipeline : 0;
    ek_status status = ek_collection_read(source, n, stages, c->warnings, &f->dry_runs, &why);
    free(source);
    if (status)
        return judge(c, first, status, &why, err);
    note_all_taken(c, EK_RUN_DRY_RUN);
    f->input.dry_runs = &f->dry_runs;
    return EK_OK;
}

static ek_status read_graphs(const ek_run_reading *c, ek_run_evidence *f, ek_error *err)
{
    ek_error why;
    for (int i = 0; i < c->files->n; i++) {
        const ek_run_file *file = &c->files->file[i];
        if (file->kind != EK_RUN_IR)
            continue;
        if (f->n_ir == EK_MAX_RUN_GRAPHS) {
            ek__warn(c->notes, EK__NOWHERE, "%s and later graphs are left out: the limit is %d graphs", file->path,
                     EK_MAX_RUN_GRAPHS);
            break;
        }
        ek_ir **ir = &f->ir[f->n_ir];
        ek_ir_report *report = &f->report[f->n_ir];
        ek_status status = ek_ir_read(file->path, NULL, c->warnings, ir, &why);
        if (status == EK_OK && (status = ek_ir_check(*ir, NULL, report, &why)) != EK_OK)
            ek_ir_free(*ir);
        if (status == EK_OK) {
            note_taken(c, file);
            f->reports[f->n_ir++] = report;
        } else if ((status = judge(c, file, status, &why, err)) != EK_OK) {
            return status;
        }
    }
    f->input.ir = f->reports;
    f->input.n_ir = f->n_ir;
    return EK_OK;
}

/* All ranks print the same steps, the last stage's log also has the loss: the last of the found logs is used. */
static ek_status read_log(const ek_run_reading *c, ek_run_evidence *f, ek_error *err)
{
    const ek_run_file *taken = NULL;
    ek_error why;
    for (int i = 0; i < c->files->n; i++)
        if (c->files->file[i].kind == EK_RUN_LOG && (!taken || taken->found || !c->files->file[i].found))
            taken = &c->files->file[i];
    if (!taken)
        return EK_OK;
    ek_status status = ek_train_log_read(taken->path, c->warnings, &f->log, &why);
    if (status)
        return judge(c, taken, status, &why, err);
    note_taken(c, taken);
    if (f->input.job)
        ek_train_log_time(&f->log, &f->job);
    f->input.log = &f->log;
    return EK_OK;
}

static ek_status read_traces(const ek_run_reading *c, ek_run_evidence *f, ek_error *err)
{
    const ek_run_file *first = ek_run_files_first(c->files, EK_RUN_TRACE);
    int stages = c->stages;
    ek_error why;
    if (!first)
        return EK_OK;
    const char **path = ek__alloc((size_t)c->files->n, sizeof *path);
    if (!path)
        return ek__no_memory(err);
    int n = ek_run_files_of(c->files, EK_RUN_TRACE, path);
    /* All stages are present: their order is that of the ranks. */
    if (stages == 0 && f->input.job && c->files->n_traces % f->job.parallel.pipeline == 0 && c->files->n_traces > 0)
        stages = f->job.parallel.pipeline;
    const ek_trace_options how = {.stages = stages,
                                  .n_threads = c->n_threads,
                                  .measure = true,
                                  .progress = c->progress,
                                  .user = c->user,
                                  .interrupt = c->interrupt};
    if (c->traces_begin)
        c->traces_begin(c->user);
    ek_status status = ek_trace_run_read(path, n, &how, c->warnings, &f->trace, &why);
    free(path);
    if (status == EK_OK)
        status = ek_compute_make(&f->trace, f->input.device, &why);
    bool interrupted = ek_interrupted(c->interrupt);
    if (status && interrupted && err)
        *err = why;
    if (status)
        return interrupted ? status : judge(c, first, status, &why, err);
    note_all_taken(c, EK_RUN_TRACE);
    f->input.trace = &f->trace;
    return EK_OK;
}

ek_status ek_run_read(const ek_run_reading *c, ek_run_evidence *f, ek_error *err)
{
    assert(c->files);
    ek_status status = EK_OK;
    if (c->device) {
        status = ek_device_open(c->device, c->warnings, &f->device, &f->owns_device, err);
        if (status)
            return status;
        f->input.device = &f->device;
    }
    status = read_job(c, f, err);
    if (status == EK_OK)
        status = read_dry_runs(c, f, err);
    /* The pool of a dry run's log comes before the device. */
    if (status == EK_OK && f->input.job && f->input.device && !f->input.dry_runs)
        ek_memory_limit_by_device(&f->job, &f->device);
    if (status == EK_OK)
        status = read_graphs(c, f, err);
    if (status == EK_OK)
        status = read_log(c, f, err);
    if (status == EK_OK)
        status = read_traces(c, f, err);
    return status;
}
