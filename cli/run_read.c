/* Reading what there is of a training run into what a diagnosis takes: settings, logs of dry runs, graphs, the training
 * log, traces. Files that were named must be good; those that a search came across are left out when they are not. */
#include "run_read.h"

#include <string.h>

#include "memory.h"
#include "progress.h"
#include "search.h"

void cli_run_evidence_clear(cli_run_evidence *f)
{
    ek_trace_run_clear(&f->trace);
    ek_job_clear(&f->job);
    ek_collection_clear(&f->dry_runs);
    ek_train_log_clear(&f->log);
    for (int i = 0; i < f->n_ir; i++) {
        ek_ir_report_clear(&f->report[i]);
        ek_ir_free(f->ir[i]);
    }
}

static const ek_listener *listener_of(const cli_run_reading *c)
{
    return c->quiet ? NULL : &cli_listener;
}

/* A file that was named must be good; one that a search came across may turn out not to be of the run, but what is
 * wrong with settings may be an option that stands above them. */
static bool is_fatal(const cli_run_reading *c, const cli_run_file *file, const ek_error *err)
{
    bool gives_up = !file->found || (file->kind == CLI_RUN_CONFIG && c->has_overrides);
    if (gives_up)
        cli_error(err, "%s", err->message);
    else if (!c->quiet)
        cli_note("%s is left out as %s: %s", file->path, cli_run_kind_name[file->kind], err->message);
    return gives_up;
}

static void say_taken(const cli_run_reading *c, const cli_run_file *file)
{
    if (!c->quiet)
        cli_note("%s: %s", cli_run_kind_name[file->kind], file->path);
}

/* A job has one file. False after a message. */
static bool read_job(const cli_run_reading *c, cli_run_evidence *f)
{
    const cli_run_file *taken = NULL;
    ek_error err;
    for (int i = 0; i < c->files->n; i++) {
        const cli_run_file *file = &c->files->file[i];
        if (file->kind != CLI_RUN_CONFIG)
            continue;
        if (taken && !(file->found && !taken->found)) {
            cli_error(NULL, "'%s' and '%s' are both settings of a job; give one of them, with --config", taken->path,
                      file->path);
            return false;
        }
        if (taken)
            continue;
        if (ek_job_read(file->path, &c->job->overrides, listener_of(c), &f->job, &err)) {
            if (is_fatal(c, file, &err))
                return false;
            continue;
        }
        taken = file;
        say_taken(c, file);
    }
    if (taken)
        f->input.job = &f->job;
    return true;
}

static bool read_dry_runs(const cli_run_reading *c, cli_run_evidence *f)
{
    const char *source[CLI_MAX_RUN_FILES];
    const cli_run_file *first = NULL;
    int n = 0;
    ek_error err;
    for (int i = 0; i < c->files->n; i++)
        if (c->files->file[i].kind == CLI_RUN_DRY_RUN) {
            first = first ? first : &c->files->file[i];
            source[n++] = c->files->file[i].path;
        }
    if (n == 0)
        return true;
    if (ek_collection_read(source, n, f->input.job ? f->job.parallel.pipeline : 0, listener_of(c), &f->dry_runs, &err))
        return !is_fatal(c, first, &err);
    for (int i = 0; i < c->files->n; i++)
        if (c->files->file[i].kind == CLI_RUN_DRY_RUN)
            say_taken(c, &c->files->file[i]);
    f->input.dry_runs = &f->dry_runs;
    return true;
}

static bool read_graphs(const cli_run_reading *c, cli_run_evidence *f)
{
    ek_error err;
    for (int i = 0; i < c->files->n; i++) {
        const cli_run_file *file = &c->files->file[i];
        if (file->kind != CLI_RUN_IR)
            continue;
        if (f->n_ir == CLI_MAX_GRAPHS) {
            cli_note("%s and the graphs behind it are left out: %d are looked at", file->path, CLI_MAX_GRAPHS);
            break;
        }
        ek_ir **ir = &f->ir[f->n_ir];
        ek_ir_report *report = &f->report[f->n_ir];
        ek_status status = ek_ir_read(file->path, NULL, listener_of(c), ir, &err);
        if (status == EK_OK && (status = ek_ir_check(*ir, NULL, report, &err)) != EK_OK)
            ek_ir_free(*ir);
        if (status != EK_OK && is_fatal(c, file, &err))
            return false;
        if (status != EK_OK)
            continue;
        say_taken(c, file);
        f->reports[f->n_ir++] = report;
    }
    f->input.ir = f->reports;
    f->input.n_ir = f->n_ir;
    return true;
}

/* All ranks print the same steps, the last stage's log has the loss too: of those found the last one counts. */
static bool read_log(const cli_run_reading *c, cli_run_evidence *f)
{
    const cli_run_file *taken = NULL;
    ek_error err;
    for (int i = 0; i < c->files->n; i++)
        if (c->files->file[i].kind == CLI_RUN_LOG && (!taken || taken->found || !c->files->file[i].found))
            taken = &c->files->file[i];
    if (!taken)
        return true;
    if (ek_train_log_read(taken->path, listener_of(c), &f->log, &err))
        return !is_fatal(c, taken, &err);
    say_taken(c, taken);
    if (f->input.job)
        ek_train_log_time(&f->log, &f->job);
    f->input.log = &f->log;
    return true;
}

static bool read_trace(const cli_run_reading *c, cli_run_evidence *f)
{
    const char *path[CLI_MAX_RUN_FILES];
    const cli_run_file *first = NULL;
    int n = 0, stages = c->stages;
    ek_error err;
    for (int i = 0; i < c->files->n; i++)
        if (c->files->file[i].kind == CLI_RUN_TRACE) {
            first = first ? first : &c->files->file[i];
            path[n++] = c->files->file[i].path;
        }
    if (n == 0)
        return true;
    /* All stages are there: their order is that of the ranks. */
    if (stages == 0 && f->input.job && c->files->n_traces % f->job.parallel.pipeline == 0 && c->files->n_traces > 0)
        stages = f->job.parallel.pipeline;
    ek_trace_options how = {.stages = stages, .n_threads = c->n_threads};
    cli_progress progress;
    cli_progress_begin_trace(&progress, &how);
    ek_status status = ek_trace_run_read(path, n, &how, c->quiet ? NULL : &progress.listener, &f->trace, &err);
    cli_progress_end(&progress);
    if (status != EK_OK)
        return !(cli_interrupted || is_fatal(c, first, &err));
    for (int i = 0; i < c->files->n; i++)
        if (c->files->file[i].kind == CLI_RUN_TRACE)
            say_taken(c, &c->files->file[i]);
    f->input.trace = &f->trace;
    return true;
}

bool cli_run_read(const cli_run_reading *c, cli_run_evidence *f)
{
    ek_error err;
    if (c->device) {
        if (cli_find_device(c->device, listener_of(c), &f->device, &err)) {
            cli_error(&err, "%s", err.message);
            return false;
        }
        f->input.device = &f->device;
    }
    c->job->overrides.limit_mb = c->limit_mb;
    if (!read_job(c, f) || !read_dry_runs(c, f))
        return false;
    /* The pool of a dry run's log comes before the device. */
    if (f->input.job && f->input.device && !f->input.dry_runs)
        ek_memory_limit_by_device(&f->job, &f->device);
    return read_graphs(c, f) && read_log(c, f) && read_trace(c, f);
}
