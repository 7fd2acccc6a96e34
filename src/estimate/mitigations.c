/* Computes the mitigations of a job: settings that could be changed and the effect of each. Every entry of a list is
 * applied to a copy of the job, the copy is checked and predicted like any job, and so is its step (ek_cost_step())
 * where a device is given. One change at a time: the effect of two together is not the sum of both. */
#include "estimate/mitigations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/watch.h"
#include "evenkeel/cost.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "job/settings.h"

static double largest_mb(const ek_memory *memory)
{
    assert(memory->fullest >= 0 && memory->fullest < memory->n_stages);
    return (double)memory->stage[memory->fullest].actual_peak * 0x1p-20;
}

/* ---- less recomputation ---- */

typedef struct search {
    const ek_job *job;
    const ek_device *device;
    ek_cost_cache *cache; /* NULL: no device */
    ek_memory today;
    double today_seconds; /* of a step; NAN */
    bool relieves;        /* search for less recomputation? */
    ek_error *err;
} search;

/* ---- step time ---- */

/* Step of a job; NAN without a device, or where it cannot be predicted. */
static ek_status step_time(const search *s, const ek_job *job, double *seconds)
{
    ek_step step;
    ek_error why = {0};
    *seconds = NAN;
    if (!s->device)
        return EK_OK;
    ek_status status = ek_cost_step(job, s->device, s->cache, &step, &why);
    if (!status) {
        *seconds = step.seconds;
        ek_step_clear(&step);
    } else if (status != EK_ERR_INPUT && s->err) {
        *s->err = why;
    }
    return status == EK_ERR_INPUT ? EK_OK : status;
}

static ek_status time_today(search *s)
{
    s->cache = s->device ? ek_cost_cache_new(s->device) : NULL;
    if (s->device && !s->cache)
        return ek__no_memory(s->err);
    return step_time(s, s->job, &s->today_seconds);
}

/* ---- a measure ---- */

static bool recomputes(const ek_job *job)
{
    for (int c = 0; c < job->plan.n_stages * job->plan.n_chunks; c++)
        if (job->plan.full[c] > 0 || job->plan.select[c] > 0 || job->plan.comm[c] > 0)
            return true;
    return false;
}

/* Leave out the recomputation that the mitigation makes room for; *less is set when there is any. */
static ek_status recompute_less(const search *s, ek__mitigation_try *t, const ek_layers *layers, bool *less)
{
    ek_mitigation ignored = {.possible = true};
    const ek__mitigation_try again = {t->job, t->today, t->device, &ignored, s->err};
    ek_job with_measure;
    ek_memory memory;
    double peak_mb;
    ek_status status = ek_job_copy(t->job, &with_measure, s->err);
    if (status)
        return status;
    status = ek__mitigation_recompute_less(t->job, layers, (double)s->today.limit * 0x1p-20, less, &peak_mb, s->err);
    if (!status && *less)
        status = ek__job_follow(&with_measure, t->job, s->err);
    if (!status && *less)
        status = ek__mitigation_predict(&again, &memory, less);
    if (!status && *less) {
        t->out->relieved_mb = largest_mb(&memory);
        ek_memory_clear(&memory);
    }
    ek_job_clear(&with_measure);
    return status;
}

/* Uses of the room that a mitigation makes. */
static ek_status relieve(const search *s, ek__mitigation_try *t, const ek_layers *layers)
{
    bool less;
    double seconds;
    const char *why = NULL;
    ek_mitigation *out = t->out;
    ek_status status = recompute_less(s, t, layers, &less);
    if (!status && less)
        status = ek__job_settings(s->job, t->job, out->relieved, sizeof out->relieved, &why, s->err);
    if (status || !less || why || ek__settings_are_cut(out->relieved)) { /* too long to paste */
        out->relieved[0] = '\0';
        out->relieved_mb = NAN;
        return status;
    }
    status = step_time(s, t->job, &seconds);
    out->relieved_change = seconds / s->today_seconds - 1;
    return status;
}

/* The layers' backward times decide the recomputation to leave out; without a model of these none is left out. */
static ek_status try_to_relieve(const search *s, ek__mitigation_try *t)
{
    ek_layers layers;
    ek_error why = {0};
    ek_status status = ek_memory_to_layers(t->job, s->device, &layers, &why);
    if (!status) {
        status = relieve(s, t, &layers);
        ek_layers_clear(&layers);
    } else if (status != EK_ERR_INPUT && s->err) {
        *s->err = why;
    }
    return status == EK_ERR_INPUT ? EK_OK : status;
}

static ek_status judge(const search *s, const ek__mitigation_kind *kind, ek__mitigation_try *t)
{
    ek_memory memory;
    bool fine;
    double seconds;
    ek_status status = ek__mitigation_predict(t, &memory, &fine);
    if (status || !fine)
        return status;
    t->out->after_mb = largest_mb(&memory);
    t->out->saved_mb = largest_mb(&s->today) - t->out->after_mb;
    t->out->fits = memory.fits;
    ek_memory_clear(&memory);
    status = step_time(s, t->job, &seconds);
    t->out->step_change = seconds / s->today_seconds - 1;
    if (!status && kind->makes_room && s->relieves && s->today.limit > 0 && recomputes(t->job))
        status = try_to_relieve(s, t);
    return status;
}

/* Further effects of the change on a reader of the file, and the settings that the file needs. */
static ek_status settle(const search *s, ek__mitigation_try *t)
{
    ek_status status = ek__job_follow(s->job, t->job, s->err);
    if (status)
        return status;
    const char *why;
    status = ek__job_settings(s->job, t->job, t->out->setting, sizeof t->out->setting, &why, s->err);
    if (!status && why) {
        t->out->possible = false;
        t->out->setting[0] = '\0';
        snprintf(t->out->why, sizeof t->out->why, "%s", why);
    }
    return status;
}

/* @param changed   the job with the mitigation, to be cleared, where it is possible; NULL: not wanted */
static ek_status try_measure(const search *s, const ek__mitigation_kind *kind, ek_mitigation *out, ek_job *changed)
{
    ek_job copy;
    ek_status status = ek_job_copy(s->job, &copy, s->err);
    if (status)
        return status;
    *out = (ek_mitigation){.possible = true,
                           .after_mb = NAN,
                           .saved_mb = NAN,
                           .step_change = NAN,
                           .effort = kind->effort,
                           .relieved_change = NAN,
                           .relieved_mb = NAN};
    snprintf(out->name, sizeof out->name, "%s", kind->name);
    ek__mitigation_try t = {&copy, &s->today, s->device, out, s->err};
    status = kind->change(&t);
    if (!status && out->possible)
        status = settle(s, &t);
    if (!status && out->possible)
        status = judge(s, kind, &t);
    if (!status && changed && out->possible)
        *changed = copy;
    else
        ek_job_clear(&copy);
    return status;
}

/* Largest saving first, impossible ones last; equal ones in the order of the list. */
static bool comes_before(const ek_mitigation *a, const ek_mitigation *b)
{
    if (a->possible != b->possible)
        return a->possible;
    return a->possible && a->saved_mb > b->saved_mb;
}

static void insert(ek_mitigation *out, int n, const ek_mitigation *measure)
{
    int at = n;
    assert(n >= 0 && n < EK_MAX_MEASURES);
    for (; at > 0 && comes_before(measure, &out[at - 1]); at--)
        out[at] = out[at - 1];
    out[at] = *measure;
}

ek_status ek_memory_mitigations(const ek_job *job, const struct ek_device *device, ek_mitigation out[EK_MAX_MEASURES],
                                int *n, ek_error *err)
{
    const ek_memory_options options = {.without_top = true};
    search s = {.job = job, .device = device, .relieves = true, .err = err};
    ek_mitigation *found = ek__alloc(EK_MAX_MEASURES, sizeof *found);
    if (!found)
        return ek__no_memory(err);
    ek_status status = ek_memory_predict(job, &options, &s.today, err);
    if (status) {
        free(found);
        return status;
    }
    int n_found = 0, n_kinds = 0;
    while (ek__mitigation_kinds[n_kinds].name)
        n_kinds++;
    status = time_today(&s);
    for (const ek__mitigation_kind *kind = ek__mitigation_kinds; kind->name && !status; kind++) {
        ek_mitigation one;
        assert(n_found < EK_MAX_MEASURES);
        ek__watch_step("trying measures", n_found, n_kinds);
        status = try_measure(&s, kind, &one, NULL);
        if (!status)
            insert(found, n_found++, &one);
    }
    ek__watch_step(NULL, 0, 0);
    if (!status) {
        memcpy(out, found, (size_t)n_found * sizeof *out);
        *n = n_found;
    }
    ek_memory_clear(&s.today);
    ek_cost_cache_free(s.cache);
    free(found);
    return status;
}

/* ---- one after the other ---- */

typedef struct chain {
    const ek__mitigation_kind *kind[EK_MAX_MEASURES];
    int n;
} chain;

/* Cheap ones are applied together before other degrees are considered. */
static int class_of(const ek_mitigation *m)
{
    assert(m->effort >= 0 && m->effort <= 4);
    return m->effort <= 1 ? 0 : m->effort;
}

/* Is the first candidate better to continue with? See ek_memory_measures_to_fit(). */
static bool goes_before(const ek_mitigation *a, const ek_mitigation *b)
{
    if (class_of(a) != class_of(b))
        return class_of(a) < class_of(b);
    if (a->fits != b->fits)
        return a->fits;
    if (a->effort != b->effort)
        return a->effort < b->effort;
    if (!a->fits)
        return a->saved_mb > b->saved_mb;
    if (isnan(a->step_change) || isnan(b->step_change)) /* the least recomputation needed costs least */
        return a->saved_mb < b->saved_mb;
    return a->step_change < b->step_change;
}

/* Apply the best next mitigation to the job. @return *kind NULL where no mitigation saves enough */
static ek_status choose_next(search *s, ek_job *job, const ek__mitigation_kind **kind)
{
    ek_job with = {0};
    ek_mitigation best = {.effort = 0};
    ek_status status = EK_OK;
    double least_mb = 0.1 * (largest_mb(&s->today) - (double)s->today.limit * 0x1p-20);
    *kind = NULL;
    for (const ek__mitigation_kind *k = ek__mitigation_kinds; k->name && !status; k++) {
        ek_mitigation one;
        ek_job changed;
        status = try_measure(s, k, &one, &changed);
        if (status || !one.possible)
            continue;
        if (one.saved_mb > least_mb && (!*kind || goes_before(&one, &best))) {
            ek_job_clear(&with);
            with = changed;
            best = one;
            *kind = k;
        } else {
            ek_job_clear(&changed);
        }
    }
    if (!status && *kind) {
        ek_job_clear(job);
        *job = with;
    } else {
        ek_job_clear(&with);
    }
    return status;
}

/* Apply mitigations until the job fits, or none saves enough. */
static ek_status make_chain(search *s, const ek_job *job, chain *c)
{
    const ek_memory_options options = {.without_top = true};
    ek_job now;
    bool more = true;
    ek_status status = ek_job_copy(job, &now, s->err);
    if (status)
        return status;
    s->job = &now; /* cppcheck-suppress autoVariables ; the end of this function sets it back */
    assert(c->n == 0);
    while (!status && more && c->n < EK_MAX_MEASURES) {
        status = ek_memory_predict(&now, &options, &s->today, s->err);
        if (status)
            break;
        const ek__mitigation_kind *kind = NULL;
        if (!s->today.fits)
            status = choose_next(s, &now, &kind);
        more = !status && kind;
        if (more)
            c->kind[c->n++] = kind;
        ek_memory_clear(&s->today);
    }
    s->job = job;
    ek_job_clear(&now);
    return status;
}

/* The combined effect of a chain's mitigations except one; without: -1 for all. */
static ek_status follow(search *s, const ek_job *job, const chain *c, int without, ek_mitigation *out, int *n,
                        bool *fits)
{
    const ek_memory_options options = {.without_top = true};
    ek_job now;
    ek_status status = ek_job_copy(job, &now, s->err);
    if (status)
        return status;
    s->job = &now; /* cppcheck-suppress autoVariables ; the end of this function sets it back */
    *n = 0;
    *fits = false;
    for (int i = 0; i < c->n && !status; i++) {
        ek_job changed;
        if (i == without)
            continue;
        assert(*n < EK_MAX_MEASURES);
        status = ek_memory_predict(&now, &options, &s->today, s->err);
        if (status)
            break;
        status = try_measure(s, c->kind[i], &out[*n], &changed);
        ek_memory_clear(&s->today);
        if (status || !out[*n].possible) /* it needed the one that was left out */
            break;
        ek_job_clear(&now);
        now = changed;
        *fits = out[(*n)++].fits;
    }
    s->job = job;
    ek_job_clear(&now);
    return status;
}

/* Leave out mitigations that are not needed in the end. */
static ek_status shorten(search *s, const ek_job *job, chain *c, ek_mitigation *out, int *n)
{
    bool fits = false;
    ek_status status = follow(s, job, c, -1, out, n, &fits);
    for (int i = 0; i < c->n && !status && fits;) {
        bool still = false;
        status = follow(s, job, c, i, out, n, &still);
        if (!still) {
            i++;
            continue;
        }
        assert(i < c->n);
        c->n--;
        memmove(c->kind + i, c->kind + i + 1, (size_t)(c->n - i) * sizeof *c->kind);
    }
    return status ? status : follow(s, job, c, -1, out, n, &fits);
}

ek_status ek_memory_measures_to_fit(const ek_job *job, const struct ek_device *device,
                                    ek_mitigation out[EK_MAX_MEASURES], int *n, ek_error *err)
{
    search s = {.job = job, .device = device, .err = err};
    chain c = {.n = 0};
    int n_taken = 0;
    ek_status status = time_today(&s);
    if (!status)
        status = make_chain(&s, job, &c);
    if (!status && c.n > 0)
        status = shorten(&s, job, &c, out, &n_taken);
    if (!status)
        *n = n_taken;
    ek_cost_cache_free(s.cache);
    return status;
}
