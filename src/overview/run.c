/* A measured run of an overview: its files read together and diagnosed, as `evenkeel diagnose` does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/run.h"
#include "evenkeel/run_files.h"
#include "overview/overview_internal.h"

static const int64_t most_trace_bytes = INT64_C(1) << 30;

static ek_status take(ek__overview *o, const ek_run_evidence *evidence, const ek_diagnosis *d, ek_error *err)
{
    ek_overview_run *run = ek__pool_alloc(o->pool, 1, sizeof *run);
    if (!run)
        return ek__no_memory(err);
    int n_ranks = evidence->input.trace ? evidence->trace.n_ranks : 0;
    *run = (ek_overview_run){.n_ranks = n_ranks,
                             .producer = n_ranks > 0 ? evidence->trace.rank[0].producer : EK_PRODUCER_UNKNOWN,
                             .step_seconds = d->step_seconds,
                             .n_bottlenecks = d->n_bottlenecks};
    if (d->step_source && !(run->step_source = ek__pool_text(o->pool, d->step_source, strlen(d->step_source))))
        return ek__no_memory(err);
    for (int i = 0; i < d->n_bottlenecks && run->n_causes < EK_MAX_OVERVIEW_CAUSES; i++) {
        const ek_bottleneck *b = &d->bottleneck[i];
        const char *title = ek__pool_text(o->pool, b->title, strlen(b->title));
        if (!title)
            return ek__no_memory(err);
        run->cause[run->n_causes++] = (ek_overview_cause){title, b->gain_seconds, b->gain_share};
    }
    o->out->run = run;
    return EK_OK;
}

static bool has_anything(const ek_run_input *input)
{
    return input->trace || input->log;
}

static ek_status diagnose(ek__overview *o, const ek_run_files *files, ek_run_evidence *evidence, ek_error *err)
{
    ek_diagnosis diagnosis;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.limit_mb = o->options->limit_mb;
    const ek_run_reading how = {.files = files,
                                .overrides = &overrides,
                                .device = o->options->device,
                                .n_threads = o->options->n_threads,
                                .quiet = true,
                                .warnings = o->options->warnings,
                                .interrupt = o->options->interrupt};
    ek_status status = ek_run_read(&how, evidence, err);
    if (status || !has_anything(&evidence->input))
        return status;
    const ek_diagnose_options options = {.n_threads = o->options->n_threads, .interrupt = o->options->interrupt};
    status = ek_diagnose(&evidence->input, &options, &diagnosis, err);
    if (status)
        return status;
    status = take(o, evidence, &diagnosis, err);
    ek_diagnosis_clear(&diagnosis);
    return status;
}

/* Only files that a run has: a page and a plan beside them are no evidence. */
static ek_status add_files(const ek__overview *o, ek_run_files *files, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < o->out->n_paths && status == EK_OK; i++)
        status = ek_run_files_add(files, o->out->path[i], EK_RUN_UNKNOWN, NULL, err);
    return status;
}

ek_status ek__overview_run(ek__overview *o, ek_error *err)
{
    int64_t most = o->options->trace_bytes > 0 ? o->options->trace_bytes : most_trace_bytes;
    if (o->trace_bytes > most)
        return ek__overview_note(o, "the traces are large, so they were counted and not read", err);
    ek_run_files files = {0};
    ek_run_evidence *evidence = ek__alloc(1, sizeof *evidence);
    if (!evidence)
        return ek__no_memory(err);
    ek_error why;
    ek_status status = add_files(o, &files, &why);
    if (status == EK_OK)
        status = diagnose(o, &files, evidence, &why);
    ek_run_evidence_clear(evidence);
    free(evidence);
    ek_run_files_clear(&files);
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    if (status == EK_OK)
        return EK_OK;
    /* The list of files is useful also where one of them is damaged. */
    const char *note = ek__pool_format(o->pool, "the run was not diagnosed: %s", why.message);
    return note ? ek__overview_note(o, note, err) : ek__no_memory(err);
}
