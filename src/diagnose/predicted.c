/* Finds large parts of the predicted step: each remedy of a large part is applied to a copy of the job, the copy is
 * checked, its memory and its step are predicted, and the remedy with the shortest step that fits is reported. One
 * change at a time. */
#include "diagnose/predicted.h"

#include <math.h>

#include "base/error.h"
#include "evenkeel/memory.h"

/* Of a step, from which a part is reported even without a remedy. */
static const double large = 0.1;

typedef struct trial {
    const ek__remedy *remedy; /* NULL: none brings anything */
    char setting[EK__REMEDY_SETTING];
    double seconds, peak_mb;
} trial;

/* EK_ERR_INPUT is an answer here: not a job that runs. */
static ek_status unless_refused(ek_status status, const ek_error *why, ek_error *err)
{
    if (status && status != EK_ERR_INPUT && err)
        *err = *why;
    return status == EK_ERR_INPUT ? EK_OK : status;
}

/* A job that fits must still fit; one that does not must not grow. */
static ek_status fits(const ek__diagnose *d, const ek_job *job, double *peak_mb, bool *fine, ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    const ek__pipeline *p = &d->pipeline;
    ek_memory memory = {0};
    ek_error why = {0};
    *fine = false;
    ek_status status = ek_job_check(job, &why);
    if (!status)
        status = ek_memory_predict(job, &options, &memory, &why);
    if (!status) {
        *peak_mb = (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
        *fine = !p->memory_known || *peak_mb <= p->limit_mb;
        ek_memory_clear(&memory);
    }
    return unless_refused(status, &why, err);
}

static ek_status predict(const ek__diagnose *d, ek_job *job, const ek__remedy *remedy, trial *best, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    trial one = {.remedy = remedy};
    ek_step step;
    ek_error why = {0};
    bool fine = false, applies;
    ek_status status = ek__remedy_apply(remedy, p->device, job, one.setting, &applies, err);
    if (!status && applies)
        status = fits(d, job, &one.peak_mb, &fine, err);
    if (status || !fine)
        return status;
    status = ek_cost_step(job, p->device, p->cache, &step, &why);
    if (!status) {
        one.seconds = step.seconds;
        ek_step_clear(&step);
        if (one.seconds < best->seconds)
            *best = one;
    }
    return unless_refused(status, &why, err);
}

static ek_status find_best(const ek__diagnose *d, ek_step_part part, trial *best, ek_error *err)
{
    ek_status status = EK_OK;
    *best = (trial){.seconds = d->pipeline.step.seconds};
    for (const ek__remedy *r = ek__remedies; r->change_job && !status; r++) {
        ek_job job;
        if (r->part != part)
            continue;
        status = ek_job_copy(d->pipeline.job, &job, err);
        if (status)
            return status;
        status = predict(d, &job, r, best, err);
        ek_job_clear(&job);
    }
    return status;
}

static ek_status fill_remedy(const ek__diagnose *d, const trial *best, ek_bottleneck *b, ek_error *err)
{
    const char *peak = d->pipeline.memory_known ? ek__pipeline_peak(&d->pipeline, best->peak_mb, d->out->pool) : NULL;
    if (d->pipeline.memory_known && !peak)
        return ek__no_memory(err);
    b->gain_seconds = d->pipeline.step.seconds - best->seconds;
    b->setting = ek__pool_format(d->out->pool, "%s", best->setting);
    b->change = best->remedy->change;
    b->peak_mb = best->peak_mb;
    b->caution = peak ? ek__pool_format(d->out->pool, "%s %c%s.", best->remedy->caution, peak[0] - 'a' + 'A', peak + 1)
                      : best->remedy->caution;
    b->rests_on = "the predicted step of the current settings less that of the changed settings; memory as predicted "
                  "from the settings";
    return b->caution ? EK_OK : ek__no_memory(err);
}

static ek_status show_part(const ek__diagnose *d, ek_step_part part, ek_bottleneck *b, ek_error *err)
{
    const ek_step *step = &d->pipeline.step;
    const ek_step_stage *stage = &step->stage[step->slowest];
    const char *text = ek__pool_format(
        d->out->pool,
        "predicted for stage %d, with the longest computing time: %s takes %.2f ms of a step of %.2f ms (%s)",
        step->slowest, ek_step_part_title[part], 1e3 * stage->seconds[part], 1e3 * step->seconds,
        ek_cost_basis_name[step->basis[part]]);
    return ek__bottleneck_show(b, (ek_evidence){text, d->input->job->path, NULL, -1}, err);
}

ek_status ek__predicted_part(ek__diagnose *d, ek_step_part part, const char *id, ek_diagnose_topic topic,
                             const char *title, const char *otherwise, ek_error *err)
{
    const ek_step *step = &d->pipeline.step;
    if (!d->pipeline.there || step->n_stages == 0)
        return EK_OK;
    double seconds = step->stage[step->slowest].seconds[part], share = seconds / step->seconds;
    if (share < d->options->least_share)
        return EK_OK;
    trial best;
    ek_status status = find_best(d, part, &best, err);
    bool helps = best.remedy && step->seconds - best.seconds >= d->options->least_share * step->seconds;
    if (status || (!helps && share < large))
        return status;
    ek_bottleneck b = {.id = id,
                       .topic = topic,
                       .basis = EK_BASIS_ASSUMED,
                       .cost_seconds = seconds,
                       .gain_seconds = NAN,
                       .setting = "none known",
                       .change = otherwise,
                       .rests_on = "the predicted step of the current settings"};
    b.title = ek__pool_format(d->out->pool, "%s is predicted to take %.2f ms of a step, %.1f %%.", title, 1e3 * seconds,
                              100e9 * seconds / d->step_ns);
    if (helps)
        status = fill_remedy(d, &best, &b, err);
    if (!status)
        status = show_part(d, part, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}
