/* The overview: the files, the job or the run that they are of, the sentence, the commands that follow. */
#include "evenkeel/overview.h"

#include <assert.h>

#include "base/error.h"
#include "overview/overview_internal.h"

/* The job that figures are of: a training file before a model, the first of several. */
static ek_status add_job(ek__overview *o, ek_error *err)
{
    const ek_overview_part *part = ek__overview_part(o->out, EK_OVERVIEW_JOB);
    if (!part)
        part = ek__overview_part(o->out, EK_OVERVIEW_MODEL);
    if (!part || (part->n_files > 1 && o->out->folder))
        return EK_OK; /* none, or a collection */
    ek_error why;
    ek_status status = ek__overview_job(o, part, &why);
    o->job = status == EK_OK ? o->out->job : NULL;
    if (status == EK_OK && part->n_files > 1)
        return ek__overview_note(
            o, ek__pool_format(o->pool, "%d %s; the job is that of %s", part->n_files, part->what, part->path), err);
    if (status == EK_OK)
        return EK_OK;
    o->out->job = NULL;
    o->out->layout = NULL;
    /* One of a folder may be another's, or damaged: the rest is worth knowing. */
    if (o->out->folder && status == EK_ERR_INPUT)
        return ek__overview_note(o, ek__pool_format(o->pool, "%s was not read: %s", part->path, why.message), err);
    if (err)
        *err = why;
    return status;
}

static ek_status add_run(ek__overview *o, ek_error *err)
{
    bool any = ek__overview_part(o->out, EK_OVERVIEW_TRACE) || ek__overview_part(o->out, EK_OVERVIEW_LOG);
    return any && !ek__overview_is_collection(o->out) ? ek__overview_run(o, err) : EK_OK;
}

static ek_status note_assumptions(ek__overview *o, ek_error *err)
{
    const ek_overview_job *f = o->job;
    const ek_overview_layout *best = o->out->layout;
    ek_status status = EK_OK;
    if (f && f->device && f->device_assumed)
        status = ek__overview_note(
            o, ek__pool_format(o->pool, "no device was given: %s is taken; --device NAME sets another", f->device),
            err);
    if (status == EK_OK && f && !f->has_layout && o->options->seq_length == 0)
        status = ek__overview_note(o,
                                   ek__pool_format(o->pool,
                                                   "the file does not say how long training sequences are: %d tokens "
                                                   "are taken; --seq-length N sets another",
                                                   f->seq_length),
                                   err);
    if (status == EK_OK && best && best->batch_assumed)
        status = ek__overview_note(o,
                                   ek__pool_format(o->pool,
                                                   "no global batch was given: %lld sequences of %d tokens are taken, "
                                                   "about 4 million tokens a step; --global-batch N sets another",
                                                   (long long)best->global_batch, f->seq_length),
                                   err);
    return status;
}

static ek_status make(ek__overview *o, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < o->out->n_paths && status == EK_OK; i++)
        status = ek__overview_add(o, o->out->path[i], err);
    if (status == EK_OK)
        status = add_job(o, err);
    if (status == EK_OK)
        status = add_run(o, err);
    if (status == EK_OK)
        status = note_assumptions(o, err);
    if (status == EK_OK)
        status = ek__overview_say(o, err);
    return status ? status : ek__overview_next(o, err);
}

ek_status ek_overview_of(const char *const *path, int n_paths, const ek_overview_options *options, ek_overview *out,
                         ek_error *err)
{
    static const ek_overview_options usual = {.device = NULL};
    ek_overview overview = {.n_paths = n_paths, .pool = ek__pool_new()};
    assert(path && n_paths >= 1 && n_paths <= EK_MAX_OVERVIEW_PATHS);
    if (!overview.pool)
        return ek__no_memory(err);
    for (int i = 0; i < n_paths; i++)
        overview.path[i] = path[i];
    ek__overview o = {.out = &overview, .pool = overview.pool, .options = options ? options : &usual};
    ek_status status = make(&o, err);
    if (status)
        ek__pool_free(overview.pool);
    else
        *out = overview;
    return status;
}

void ek_overview_clear(ek_overview *overview)
{
    ek__pool_free(overview->pool);
    *overview = (ek_overview){.n_paths = 0};
}
