/* Finds peaks of memory over the limit or within a few per cent of it, from the logs of a dry run, else predicted from
 * the settings; and memory that is reserved but not used. None of it is time, so no gain is reported, but a run over
 * its limit cannot work, so this finding comes first. The remedies are the measures that `evenkeel memory` predicts,
 * one after the other until the job fits: switches and other lists first, other degrees last. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"
#include "evenkeel/collect.h"
#include "evenkeel/memory.h"

static const double near_limit = 0.97;         /* of it */
static const double least_fragmentation = 0.2; /* of the reserved memory */
static const double least_fragment_mb = 1024;

typedef struct peak {
    double mb;
    int stage;
    const char *file; /* NULL: predicted */
} peak;

static peak logged_peak(const ek_collection *logs)
{
    peak most = {NAN, -1, NULL};
    for (int r = 0; logs && r < logs->n_rounds; r++)
        for (int i = 0; i < logs->round[r].n; i++) {
            const ek_stage_log *log = &logs->round[r].stage[i];
            double mb = ek_stage_log_peak(log, EK_PEAK_ACTUAL);
            if (!isnan(mb) && !(mb <= most.mb))
                most = (peak){mb, log->stage, log->path};
        }
    return most;
}

static ek_status predicted_peak(const ek_job *job, peak *out, ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    ek_memory memory;
    ek_error why = {0};
    *out = (peak){NAN, -1, NULL};
    ek_status status = ek_memory_predict(job, &options, &memory, &why);
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    *out = (peak){(double)memory.stage[memory.fullest].actual_peak * 0x1p-20, memory.fullest, NULL};
    ek_memory_clear(&memory);
    return EK_OK;
}

static double limit_of(const ek_run_input *in)
{
    if (in->job && in->job->limit_mb > 0)
        return in->job->limit_mb;
    for (int r = 0; in->dry_runs && r < in->dry_runs->n_rounds; r++)
        for (int i = 0; i < in->dry_runs->round[r].n; i++)
            if (in->dry_runs->round[r].stage[i].log.framework_mb > 0)
                return in->dry_runs->round[r].stage[i].log.framework_mb;
    return in->device && in->device->memory_gib > 0 ? in->device->memory_gib * 1024 : NAN;
}

/* A switch before another plan, another plan before other degrees; then the one that costs least time. */
static const ek_mitigation *best_measure(const ek_mitigation *list, int n)
{
    const ek_mitigation *best = NULL;
    for (int i = 0; i < n; i++) {
        const ek_mitigation *m = &list[i];
        if (!m->possible || !(m->saved_mb > 0))
            continue;
        if (!best || m->effort < best->effort || (m->effort == best->effort && m->step_change < best->step_change))
            best = m;
    }
    return best;
}

/* A job that fits, near the limit: the cheapest measure that makes room. */
static ek_status find_room(const ek__diagnose *d, ek_mitigation *list, int *n, ek_error *err)
{
    ek_status status = ek_memory_mitigations(d->input->job, d->input->device, list, n, err);
    const ek_mitigation *best = status ? NULL : best_measure(list, *n);
    if (best)
        list[0] = *best;
    *n = best != NULL;
    return status;
}

/* "share the embedding table too, then move a layer ... (3 times)" and the settings; where one is taken again its last
 * setting holds. */
static void report_measures(const ek__diagnose *d, const ek_mitigation *list, int n, double limit, ek_bottleneck *b)
{
    struct ek__pool *pool = d->out->pool;
    const ek_mitigation *last = &list[n - 1];
    const char *names = "";
    b->setting = "";
    for (int i = 0, times = 1; i < n && names && b->setting; i++, times++) {
        if (i + 1 < n && strcmp(list[i].name, list[i + 1].name) == 0)
            continue;
        names = ek__pool_format(pool, "%s%s%s", names, *names ? ", then " : "", list[i].name);
        if (names && times > 1)
            names = ek__pool_format(pool, "%s (%d times)", names, times);
        b->setting = ek__pool_format(pool, "%s%s%s", b->setting, *b->setting ? "\n" : "", list[i].setting);
        times = 0;
    }
    b->peak_mb = last->after_mb;
    b->change =
        names
            ? ek__pool_format(pool, "%c%s%s.", names[0] - 'a' + 'A', names + 1,
                              last->after_mb > limit ? "; this is not sufficient, and no other setting saves much" : "")
            : NULL;
    b->caution =
        isnan(last->step_change)
            ? ek__pool_format(pool, "The largest predicted peak is then %.0f MB of %.0f.", last->after_mb, limit)
            : ek__pool_format(
                  pool, "The largest predicted peak is then %.0f MB of %.0f, and the predicted step %.1f %% %s.",
                  last->after_mb, limit, 100 * fabs(last->step_change), last->step_change < 0 ? "shorter" : "longer");
}

/* Layers and recomputation distributed again: the shortest step of all measures that change nothing else. */
static void report_plan(const ek__diagnose *d, ek_bottleneck *b)
{
    const ek__pipeline *p = &d->pipeline;
    const ek__edit_oracle today = ek__pipeline_today(p);
    b->setting = ek__pipeline_settings(p, &p->best, &today, ek__framework_of(d), d->out->pool);
    b->peak_mb = p->best_peak_mb;
    b->change = "Redistribute the layers and their recomputation over the stages.";
    b->caution = ek__pool_format(
        d->out->pool, "The largest predicted peak is then %.0f MB of %.0f, and the predicted step %.1f %% %s.",
        p->best_peak_mb, p->limit_mb, 100 * fabs(p->best_ms / p->today_ms - 1),
        p->best_ms < p->today_ms ? "shorter" : "longer");
}

static ek_status fill_measure(const ek__diagnose *d, bool over, double limit, ek_bottleneck *b, ek_error *err)
{
    b->setting = "recompute_config, parallel_config";
    b->change = "Give the training YAML, so that `evenkeel memory` predicts the saving of each setting.";
    if (!d->input->job)
        return EK_OK;
    b->change = "No known setting saves memory; use more devices or a smaller model.";
    ek_mitigation *list = ek__alloc(EK_MAX_MEASURES, sizeof *list);
    int n = 0;
    if (!list)
        return ek__no_memory(err);
    ek_error why = {0};
    ek_status status = over ? ek_memory_measures_to_fit(d->input->job, d->input->device, list, &n, &why) : EK_OK;
    if (!status && n == 0) /* a dry run may show more than is predicted */
        status = find_room(d, list, &n, &why);
    bool by_switch = n == 1 && list[0].effort == 0 && list[0].fits;
    if (!status && over && d->pipeline.best.layers && d->pipeline.memory_known && !by_switch)
        report_plan(d, b);
    else if (!status && n > 0)
        report_measures(d, list, n, limit, b);
    free(list);
    if (status == EK_ERR_MEMORY) {
        if (err)
            *err = why;
        return status;
    }
    return EK_OK;
}

static ek_status add_peak(ek__diagnose *d, const peak *p, double limit, ek_error *err)
{
    bool over = p->mb > limit;
    ek_bottleneck b = {.id = "memory",
                       .topic = EK_TOPIC_MEMORY,
                       .basis = EK_BASIS_SIMULATED,
                       .cost_seconds = NAN,
                       .gain_seconds = over ? INFINITY : NAN, /* first, and reported as not known: diagnose.c */
                       .rests_on = p->file ? "the peak of the dry run's log; savings are predicted from the settings"
                                           : "the peak predicted from the settings"};
    b.title = ek__pool_format(d->out->pool, "Stage %d %s its memory limit: %.0f of %.0f MB.", p->stage,
                              over ? "is over" : "is close to", p->mb, limit);
    ek_status status =
        ek__bottleneck_show(&b,
                            (ek_evidence){ek__pool_format(d->out->pool, "stage %d: peak of %.0f MB %s", p->stage, p->mb,
                                                          p->file ? "in the log" : "predicted"),
                                          p->file         ? p->file
                                          : d->input->job ? d->input->job->path
                                                          : NULL,
                                          NULL, -1},
                            err);
    if (!status)
        status = fill_measure(d, over, limit, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

static ek_status add_fragmentation(ek__diagnose *d, ek_error *err)
{
    const ek_trace_run *run = d->input->trace;
    const ek_trace_memory_peak *worst = NULL;
    const ek_trace_rank *at = NULL;
    double most = 0;
    for (int r = 0; run && r < run->n_ranks; r++)
        for (int k = 0; k < run->rank[r].memory.n_peaks; k++) {
            const ek_trace_memory_peak *p = &run->rank[r].memory.peak[k];
            double lost = p->reserved_mb - p->allocated_mb;
            if (lost > most && lost > least_fragment_mb && lost > least_fragmentation * p->reserved_mb) {
                most = lost;
                worst = p;
                at = &run->rank[r];
            }
        }
    if (!worst)
        return EK_OK;
    ek_framework framework = ek__framework_of(d);
    bool mindspore = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    ek_bottleneck b = {.id = "memory",
                       .topic = EK_TOPIC_MEMORY,
                       .basis = EK_BASIS_MEASURED,
                       .cost_seconds = NAN,
                       .gain_seconds = NAN,
                       .setting = mindspore ? "export MS_ALLOC_CONF=enable_vmm:True"
                                            : "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",
                       .change = "Let the allocator map memory in pages, and keep shapes equal between steps.",
                       .rests_on = "peaks of reserved and allocated memory in the trace"};
    b.title = ek__pool_format(d->out->pool, "%.0f MB are reserved but not used, %.0f %% of the reserved memory.", most,
                              100 * most / worst->reserved_mb);
    ek_status status = ek__bottleneck_show(
        &b,
        (ek_evidence){ek__pool_format(d->out->pool, "%s: %s reserved up to %.0f MB and used %.0f", ek__who_is(at).text,
                                      worst->component, worst->reserved_mb, worst->allocated_mb),
                      ek__file_of(at), NULL, at->rank},
        err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

ek_status ek__bottleneck_memory(ek__diagnose *d, ek_error *err)
{
    ek_status status = add_fragmentation(d, err);
    peak most = logged_peak(d->input->dry_runs);
    double limit = limit_of(d->input);
    if (!status && isnan(most.mb) && d->input->job)
        status = predicted_peak(d->input->job, &most, err);
    if (status)
        return status;
    if (isnan(most.mb) || isnan(limit))
        return ek__bottleneck_needs(d, "memory of the stages", "logs of a dry run, or the settings with the limit",
                                    ek__how_to_memory(d), err);
    return most.mb > near_limit * limit ? add_peak(d, &most, limit, err) : EK_OK;
}
