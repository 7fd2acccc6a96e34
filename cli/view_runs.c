/* Reads a page's files with the options of the command line and a progress bar. */
#include "view_runs.h"

#include "progress.h"

static void begin_traces(void *user)
{
    cli_progress_begin(user);
}

static ek_view_reading reading_of(const cli_view_how *how, const ek_job_overrides *overrides, cli_progress *progress)
{
    const cli_model *model = &how->model;
    return (ek_view_reading){.run = {.overrides = overrides,
                                     .has_overrides = how->job.given,
                                     .device = how->device,
                                     .stages = how->stages,
                                     .n_threads = how->n_threads,
                                     .quiet = how->quiet,
                                     .warnings = how->quiet ? NULL : &progress->listener,
                                     .notes = &progress->notes,
                                     .traces_begin = begin_traces,
                                     .progress = cli_progress_show,
                                     .user = progress},
                             .plan_warnings = &cli_listener,
                             .model = {.init = model->init, .layers = model->layers, .name = model->name},
                             .times = model->times,
                             .plans = {.n_stages = model->n_stages,
                                       .n_micro_batches = model->n_micro_batches,
                                       .n_pieces = model->n_pieces,
                                       .less_memory = model->less_memory,
                                       .same_chunks = true,
                                       .schedule = model->schedule,
                                       .comm = model->comm,
                                       .memory_limit_mb = model->memory_given ? model->memory_mb : 0},
                             .p2p_given = model->p2p_given};
}

bool cli_view_read(const cli_view_how *how, const ek_view_files *other, ek_view_files *set)
{
    cli_progress progress;
    cli_job_options job = how->job;
    ek_error err;
    cli_progress_init(&progress);
    job.overrides.limit_mb = how->limit_mb;
    const ek_view_reading reading = reading_of(how, &job.overrides, &progress);
    ek_status status = ek_view_files_read(&reading, other, set, &err);
    if (progress.begun)
        cli_progress_end(&progress);
    if (status)
        cli_error(&err, "%s", err.message);
    return status == EK_OK;
}
