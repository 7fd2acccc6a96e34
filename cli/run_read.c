/* Reads a training run with messages, and a progress bar for its traces. */
#include "run_read.h"

#include "progress.h"

bool cli_run_take(ek_run_files *files, const char *path, ek_run_kind kind)
{
    ek_error err;
    if (ek_run_files_add(files, path, kind, &cli_notes, &err) == EK_OK)
        return true;
    cli_error(NULL, "%s", err.message);
    return false;
}

/* The bar is drawn from the traces on, which take long. */
static void begin_traces(void *user)
{
    cli_progress_begin(user);
}

bool cli_run_read(const cli_run_reading *c, ek_run_evidence *out)
{
    cli_progress progress;
    ek_error err;
    cli_progress_init(&progress);
    c->job->overrides.limit_mb = c->limit_mb;
    const ek_run_reading how = {.files = c->files,
                                .overrides = &c->job->overrides,
                                .has_overrides = c->has_overrides,
                                .device = c->device,
                                .stages = c->stages,
                                .n_threads = c->n_threads,
                                .quiet = c->quiet,
                                .warnings = c->quiet ? NULL : &progress.listener,
                                .notes = &progress.notes,
                                .traces_begin = begin_traces,
                                .progress = cli_progress_show,
                                .user = &progress};
    ek_status status = ek_run_read(&how, out, &err);
    if (progress.begun)
        cli_progress_end(&progress);
    if (status)
        cli_error(&err, "%s", err.message);
    return status == EK_OK;
}
