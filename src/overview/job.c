/* The job of an overview: read, its memory predicted, its step estimated where a device is known, and the settings that
 * would make it fit where it does not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "evenkeel/estimate.h"
#include "evenkeel/layout.h"
#include "evenkeel/memory.h"
#include "evenkeel/metrics.h"
#include "overview/kind.h"
#include "overview/overview_internal.h"

const char *ek__overview_usual_device(ek_framework framework)
{
    bool mindspore = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE || framework == EK_MINDSPEED;
    return mindspore ? "910B" : "H100";
}

/* A job with all that its figures are worked out on. */
typedef struct subject {
    ek__overview *o;
    ek_overview_job *f; /**< the figures */
    ek_job job;
    ek_device device;
    bool has_device, owns_device;
    ek_memory memory;
    ek_estimate estimate;
    bool has_estimate;
} subject;

static void clear(subject *s)
{
    if (s->has_estimate)
        ek_estimate_clear(&s->estimate);
    else
        ek_memory_clear(&s->memory);
    if (s->owns_device)
        ek_device_clear(&s->device);
    ek_job_clear(&s->job);
}

/* ---- the file ---- */

static ek_status describe(subject *s, const char *path, ek_error *err)
{
    const char *what;
    ek_overview_job *f = s->f;
    const ek_job *job = &s->job;
    (void)ek__overview_recognise(path, &what);
    ek_status status = ek_job_count_parameters(job, &f->parameters, &f->active_parameters, err);
    const char *name = job->name[0] ? job->name : "model";
    f->name = ek__pool_text(s->o->pool, name, strlen(name));
    if (status == EK_OK && !f->name)
        status = ek__no_memory(err);
    f->format = what ? what : "a training file";
    f->framework = job->framework;
    f->n_layers = job->model.n_layers + job->model.n_prediction_layers;
    f->seq_length = job->parallel.seq_length;
    f->has_layout = !job->no_layout;
    f->n_devices = ek_job_devices(job);
    f->global_batch = ek_job_sequences(job);
    f->data = job->parallel.data;
    f->tensor = job->parallel.tensor;
    f->context = job->parallel.context;
    f->expert = job->parallel.expert;
    f->pipeline = job->parallel.pipeline;
    f->n_chunks = job->plan.n_chunks;
    f->reserved = job->rules.allocation == EK_ALLOCATION_CACHING;
    f->state_mb = f->parameters * (job->states.weight + job->states.gradient + job->states.optimizer) / EK__MB;
    return status;
}

/* ---- the device ---- */

/* The one that was given, or the usual one where a figure needs one: a verdict without a limit, a search. */
static ek_status find_device(subject *s, ek_error *err)
{
    ek__overview *o = s->o;
    const char *name = o->options->device;
    s->f->device_assumed = !name;
    if (!name && s->job.limit_mb > 0 && o->options->n_devices == 0)
        return EK_OK;
    if (!name && !s->f->has_layout && o->options->n_devices == 0)
        return EK_OK; /* the model is all there is to say */
    name = name ? name : ek__overview_usual_device(s->job.framework);
    ek_status status = ek_device_open(name, o->options->warnings, &s->device, &s->owns_device, err);
    s->has_device = status == EK_OK;
    if (status == EK_OK && !(s->f->device = ek__pool_text(o->pool, name, strlen(name))))
        status = ek__no_memory(err);
    return status;
}

/* ---- the figures ---- */

static void take_memory(ek_overview_job *f, const ek_memory *memory)
{
    f->limit = memory->limit;
    f->fits = memory->fits;
    f->fullest = memory->fullest;
    f->peak = memory->stage[memory->fullest].actual_peak;
}

static ek_status predict(subject *s, ek_error *err)
{
    ek_overview_job *f = s->f;
    ek_error why;
    if (s->has_device) {
        ek_status status = ek_estimate_of(&s->job, &s->device, (double)NAN, &s->estimate, &why);
        s->has_estimate = status == EK_OK;
        if (status && !(f->device_assumed && status == EK_ERR_INPUT)) {
            if (err)
                *err = why;
            return status;
        }
    }
    if (!s->has_estimate) {
        ek_status status = ek_memory_predict(&s->job, NULL, &s->memory, err);
        if (status == EK_OK)
            take_memory(f, &s->memory);
        return status;
    }
    take_memory(f, &s->estimate.memory);
    f->step_seconds = s->estimate.step.seconds;
    f->tokens_per_second = s->estimate.metrics.tokens_per_second_per_device;
    f->mfu = s->estimate.metrics.mfu;
    return EK_OK;
}

/* The first rule without a source that the verdict hangs on, as `evenkeel memory` names it. */
static ek_status note_assumptions(subject *s, ek_error *err)
{
    const ek_memory *memory = s->has_estimate ? &s->estimate.memory : &s->memory;
    ek_memory_assumption assumption[EK_MAX_ASSUMPTIONS];
    int n = 0;
    ek_status status = ek_memory_assumptions(&s->job, memory, assumption, &n, err);
    if (status || n == 0)
        return status;
    return ek__overview_note(s->o,
                             ek__pool_format(s->o->pool, "the verdict rests on an assumed rule: with %s=%s it %s",
                                             assumption->rule, assumption->other,
                                             assumption->fits ? "fits" : "does not fit"),
                             err);
}

static ek_status find_remedies(subject *s, ek_error *err)
{
    ek_overview_job *f = s->f;
    int n = 0;
    if (f->limit == 0 || f->fits)
        return EK_OK;
    ek_mitigation *list = ek__alloc(EK_MAX_MEASURES, sizeof *list);
    if (!list)
        return ek__no_memory(err);
    ek_status status = ek_memory_measures_to_fit(&s->job, s->has_device ? &s->device : NULL, list, &n, err);
    for (int i = 0; i < n && status == EK_OK && f->n_remedies < 4; i++)
        if (!(f->remedy[f->n_remedies++] = ek__pool_text(s->o->pool, list[i].name, strlen(list[i].name))))
            status = ek__no_memory(err);
    if (status == EK_OK && n > 0) {
        f->remedies_fit = list[n - 1].fits;
        f->remedied_peak = (int64_t)llround(list[n - 1].after_mb * EK__MB);
    }
    free(list);
    return status;
}

/* ---- all of it ---- */

static ek_status read_job(subject *s, const char *path, bool is_model, ek_error *err)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.seq_length = s->o->options->seq_length;
    overrides.limit_mb = s->o->options->limit_mb;
    /* The reader warns of the run that it assumes for a model; the search chooses another. */
    const ek_listener *warnings = is_model ? NULL : s->o->options->warnings;
    ek_status status = ek_job_read(path, &overrides, warnings, &s->job, err);
    if (status == EK_OK)
        status = describe(s, path, err);
    if (status == EK_OK)
        status = find_device(s, err);
    if (status == EK_OK && s->has_device)
        (void)ek_memory_limit_by_device(&s->job, &s->device);
    return status;
}

static bool wants_search(const subject *s)
{
    int n = s->o->options->n_devices;
    return n > 0 && s->has_device && (!s->f->has_layout || n != s->f->n_devices);
}

ek_status ek__overview_job(ek__overview *o, const ek_overview_part *part, ek_error *err)
{
    ek_overview_job *f = ek__pool_alloc(o->pool, 1, sizeof *f);
    if (!f)
        return ek__no_memory(err);
    *f = (ek_overview_job){.step_seconds = (double)NAN, .tokens_per_second = (double)NAN, .mfu = (double)NAN};
    subject s = {.o = o, .f = f};
    ek_status status = read_job(&s, part->path, part->kind == EK_OVERVIEW_MODEL, err);
    if (status == EK_OK && f->has_layout)
        status = predict(&s, err);
    if (status == EK_OK && f->has_layout)
        status = note_assumptions(&s, err);
    if (status == EK_OK && f->has_layout)
        status = find_remedies(&s, err);
    if (status == EK_OK && wants_search(&s))
        status = ek__overview_search(o, &s.job, &s.device, err);
    o->out->job = f;
    clear(&s);
    return status;
}
