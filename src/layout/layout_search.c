/* Runs the search for layouts: lists the space, bounds it, searches best first, and evaluates the result. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/settings.h"
#include "layout/bound.h"
#include "layout/none_legal.h"
#include "layout/search.h"
#include "layout/together.h"

enum { USUAL_TOKENS = 1 << 22 }; /* of a step */
#define EQUAL 1e-9               /* of a step: rounding of sums */

void ek_layout_options_init(ek_layout_options *options)
{
    *options = (ek_layout_options){.sequence_parallel = -1, .n_best = 10, .time_limit = 120};
}

int64_t ek_layout_default_batch(int seq_length, int n_devices)
{
    assert(seq_length > 0 && n_devices > 0);
    int64_t each = llround((double)USUAL_TOKENS / seq_length / n_devices);
    return (each > 0 ? each : 1) * n_devices;
}

/* Every framework runs 1F1B, plain and interleaved. */
static void choose_schedules(ek_layout_options *options)
{
    if (options->n_schedules > 0)
        return;
    options->schedule[options->n_schedules++] = ek_schedule_default(1, 0);
    options->schedule[options->n_schedules++] = ek_schedule_default(2, 0);
}

static ek_status check_axes(const ek_layout_options *o, ek_error *err)
{
    if (o->n_schedules < 0 || o->n_schedules > EK_MAX_LAYOUT_SCHEDULES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "schedules to try must be 0 to %d (got %d)",
                        EK_MAX_LAYOUT_SCHEDULES, o->n_schedules);
    for (int i = 0; i < o->n_schedules; i++)
        if (!o->schedule[i])
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "schedule %d of those to try is NULL, as of an unknown name", i + 1);
    for (int a = 0; a < EK_N_LAYOUT_AXES; a++)
        if (o->range[a].least < 0 || o->range[a].most < 0)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the range of %s must be 0 or more (got %d to %d)",
                            ek_layout_axis_option[a], o->range[a].least, o->range[a].most);
    return EK_OK;
}

static ek_status check_options(const ek_layout_options *o, ek_error *err)
{
    if (o->n_devices < 1 || o->n_devices > EK_MAX_RANKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "devices must be 1 to %d (got %d)", EK_MAX_RANKS, o->n_devices);
    if (o->n_best < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "plans to find must be 1 or more (got %d)", o->n_best);
    if (isnan(o->time_limit))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the time limit must be a number of seconds (got %g)",
                        o->time_limit);
    if (o->global_batch < 0 || o->sequence_parallel < -1 || o->sequence_parallel > 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the global batch must be 0 or more and sequence_parallel -1, 0 or 1 (got %lld and %d)",
                        (long long)o->global_batch, o->sequence_parallel);
    ek_status status = check_axes(o, err);
    return status ? status : ek__threads_check(o->n_threads, err);
}

/* ---- after the search ---- */

static void count_fates(ek__layout_search *s)
{
    for (int h = 0; h < EK__N_HEAPS; h++)
        for (size_t i = 0; i < s->heap[h].n; i++)
            if (s->candidate[s->heap[h].at[i]].bound < ek__layout_upper(s))
                s->candidate[s->heap[h].at[i]].fate = EK_FATE_OPEN;
    for (int i = 0; i < s->n_best; i++)
        s->candidate[s->best_at[i]].fate = EK_FATE_PLAN;
    for (size_t i = 0; i < s->n; i++)
        s->counts.fate[s->candidate[i].fate]++;
    s->counts.fate[EK_FATE_ILLEGAL] += s->counts.all - s->counts.legal;
}

/* Lower bounds of all layouts and of those outside the best. */
static void conclude_proof(const ek__layout_search *s, ek_layout_result *out)
{
    double upper = s->n_best > 0 ? s->best[s->n_best - 1].estimate.step.seconds : INFINITY, others = INFINITY,
           all = INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        const ek__candidate *c = &s->candidate[i];
        if (c->fate == EK_FATE_MEMORY || c->fate == EK_FATE_NO_PLAN || c->fate == EK_FATE_ILLEGAL)
            continue;
        all = fmin(all, c->bound);
        if (c->fate != EK_FATE_PLAN)
            others = fmin(others, c->bound);
    }
    /* Bounds of splits may be open, which the gap shows; no other layout is among these. */
    out->proved = s->n_best > 0 && s->bounded_all && others >= upper * (1 - EQUAL);
    out->lower_bound = s->n_best > 0 ? fmin(all, s->best[0].estimate.step.seconds) : 0;
    out->gap = s->n_best > 0 ? fmax(0, 1 - out->lower_bound / s->best[0].estimate.step.seconds) : 1;
    if (out->gap < EQUAL)
        out->gap = 0;
}

static ek_status find_closest(const ek__layout_search *s, ek_layout_result *out)
{
    double least = 0;
    const ek__candidate *closest = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (s->candidate[i].fate != EK_FATE_ILLEGAL && (!closest || s->candidate[i].peak_mb < closest->peak_mb))
            closest = &s->candidate[i];
    if (!closest)
        return EK_OK;
    out->closest = ek__candidate_layout(s, closest);
    ek_status status = ek__layout_least_mb(s->job, s->device, &out->closest, &least, s->err);
    out->closest_mb = fmax(closest->peak_mb, least);
    return status == EK_ERR_INPUT ? EK_OK : status; /* chunks that a check rejects */
}

static const ek_job *file_of(const ek__layout_search *s)
{
    return s->options.file ? s->options.file : s->job;
}

/* The unchanged job, if it is for this number of devices. Priced before the search, which ends when its time is over:
 * the longest pipelines take a tenth of a second. */
static ek_status look_at_today(const ek__layout_search *s, ek_layout_plan *out, ek_error *err)
{
    const ek_job *job = file_of(s);
    const ek_layout layout = ek_layout_of(job);
    ek_layout_plan today = {.layout = layout, .lower_bound = NAN, .group = -1};
    if (ek__layout_n_devices(&layout) != s->options.n_devices)
        return EK_OK;
    ek_status status = ek_job_copy(job, &today.job, err);
    if (!status)
        status = ek_estimate_of(&today.job, s->device, 0, &today.estimate, err);
    if (status)
        ek_layout_plan_clear(&today);
    else
        *out = today;
    return status;
}

/* A plan as settings of the job's framework; "" if they cannot express it. The search for settings records in a job the
 * new settings of its file, so it gets a copy. */
static ek_status report_settings(const ek_job *was, ek_layout_plan *plan, ek_error *err)
{
    ek_job now;
    ek_status status = ek_job_copy(&plan->job, &now, err);
    if (status)
        return status;
    const char *why;
    status = ek__job_settings(was, &now, plan->settings, sizeof plan->settings, &why, err);
    if (why || ek__settings_are_cut(plan->settings))
        plan->settings[0] = '\0';
    ek_job_clear(&now);
    return status;
}

static ek_status finish(ek__layout_search *s, ek_layout_result *out)
{
    count_fates(s);
    conclude_proof(s, out);
    ek_status status = find_closest(s, out);
    for (int i = 0; i < s->n_best && !status; i++)
        status = report_settings(file_of(s), &s->best[i], s->err);
    if (!status)
        status = ek__layout_bound_by(s);
    if (!status)
        status = ek__layout_points(s, out);
    out->today = s->today;
    s->today = (ek_layout_plan){0};
    out->options = s->options;
    out->options.global_batch = s->space.global_batch;
    out->options.team = NULL; /* later questions about the result use one process */
    out->job = s->job;
    out->file = file_of(s);
    out->device = s->device;
    out->n_plans = s->n_best;
    out->plan = s->best;
    s->best = NULL;
    s->n_best = 0;
    for (int i = 0; i < out->n_plans; i++) {
        out->plan[i].estimate.job = &out->plan[i].job;
        out->plan[i].group = -1; /* not looked at */
    }
    out->today.estimate.job = out->file;
    out->counts = s->counts;
    out->ended_early = s->ended_early;
    out->seconds = ek__now() - s->start;
    out->first_seconds = s->first_at > 0 ? s->first_at - s->start : NAN;
    return status;
}

static void clear(ek__layout_search *s)
{
    ek__space_clear(&s->space);
    ek__split_clear(&s->first.split);
    free(s->candidate);
    for (int i = 0; i < EK__N_HEAPS; i++)
        free(s->heap[i].at);
    for (size_t i = 0; i < s->n_mixes; i++)
        ek__mixes_free(s->mixes[i]);
    free(s->mixes);
    for (int i = 0; i < EK__MOST_THREADS; i++)
        ek_cost_cache_free(s->cache[i]);
    for (int i = 0; i < s->n_best; i++)
        ek_layout_plan_clear(&s->best[i]);
    free(s->best);
    free(s->best_at);
    ek_layout_plan_clear(&s->today);
}

static ek_status prepare(ek__layout_search *s)
{
    ek_status status = check_options(&s->options, s->err);
    if (!status)
        status = ek_job_check(s->job, s->err);
    if (status)
        return status;
    choose_schedules(&s->options);
    s->n_threads = ek__thread_count(s->options.n_threads);
    s->best = ek__alloc((size_t)s->options.n_best + 1, sizeof *s->best);
    s->best_at = ek__alloc((size_t)s->options.n_best + 1, sizeof *s->best_at);
    if (!s->best || !s->best_at)
        return ek__no_memory(s->err);
    return ek__space_new(s->job, &s->options, &s->space, s->err);
}

/* All long-running parts. */
static ek_status run(ek__layout_search *s)
{
    ek_status status = look_at_today(s, &s->today, s->err);
    if (!status)
        status = ek__layout_bound_all(s, true);
    if (!status && s->n == 0)
        status = s->ended_early
                     ? ek__fail(s->err, EK_ERR_INPUT, EK__NOWHERE, "the search ended before its first layout")
                     : ek__layout_none_legal(s->job, &s->options, s->err);
    if (!status)
        s->bounded_all = !s->ended_early;
    if (!status)
        status = ek__layout_best_first(s);
    if (!status)
        status = ek__layout_prove(s);
    return status;
}

ek_status ek_layout_search(const ek_job *job, const ek_device *device, const ek_layout_options *options,
                           ek_layout_result *out, ek_error *err)
{
    ek__layout_search s = {.job = job, .device = device, .options = *options, .start = ek__now(), .err = err};
    ek_layout_result result = {0};
    static ek__layout_errand *const errands[EK__N_ERRANDS] = {ek__layout_errand_look, ek__layout_errand_whole,
                                                              ek__layout_errand_slab};
    const ek_team *team = options->team;
    ek_status status = prepare(&s);
    if (!status)
        status = ek__layout_together(&s, run, errands);
    if (!status && (!team || team->index == 0))
        status = finish(&s, &result);
    clear(&s);
    if (status)
        ek_layout_result_clear(&result);
    else
        *out = result;
    return status;
}

void ek_layout_result_clear(ek_layout_result *result)
{
    for (int i = 0; i < result->n_plans; i++)
        ek_layout_plan_clear(&result->plan[i]);
    free(result->plan);
    ek_layout_plan_clear(&result->today);
    free(result->point);
    *result = (ek_layout_result){0};
}
