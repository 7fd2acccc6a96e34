/* Finds the first answer, while the whole space is being bounded. It is the job's current layout with the best plan of
 * its layers; for other numbers of devices the layout with the least bound among some of the space's groups, with one
 * chunk per stage. The groups depend only on the space, so the answer is the same for any number of threads. If a
 * framework has rules of recomputation, each needs a separate search: here the first rule with a plan is sufficient,
 * and the layout is balanced again later. */
#include <math.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/frameworks.h"
#include "layout/rule.h"
#include "layout/search.h"

enum { MOST_SAMPLED = 256, MOST_TRIED = 4 };
enum { MOST_PASSES = 1024 }; /* stages x micro-batches: beyond this, balancing a layout takes long */

typedef struct sample {
    size_t group;
    double bound;
} sample;

/* @return the group of the job's own layout; n_groups if the space does not have it */
static size_t find_today(const ek__layout_search *s, ek_layout *out)
{
    ek_layout today = ek_layout_of(s->job);
    today.sequence_parallel = today.sequence_parallel && today.value[EK_AXIS_TENSOR] > 1;
    for (size_t i = 0; i < s->space.n_groups; i++) {
        const ek__layout_group *group = &s->space.group[i];
        ek_layout layout = group->layout;
        layout.value[EK_AXIS_CHUNKS] = today.value[EK_AXIS_CHUNKS];
        layout.schedule = today.schedule;
        *out = layout;
        if (ek_layout_equal(&layout, &today))
            return ek__space_allows(&s->space, group, today.value[EK_AXIS_CHUNKS], today.schedule) ? i
                                                                                                   : s->space.n_groups;
    }
    return s->space.n_groups;
}

static bool is_small(const ek_layout *layout)
{
    return layout->value[EK_AXIS_PIPELINE] * layout->n_micro_batches <= MOST_PASSES;
}

/* The first schedule that runs the group with one chunk; NULL. */
static const ek_schedule *plain_schedule(const ek__layout_search *s, size_t group)
{
    for (int i = 0; i < s->options.n_schedules; i++)
        if (ek__space_allows(&s->space, &s->space.group[group], 1, s->options.schedule[i]))
            return s->options.schedule[i];
    return NULL;
}

/* @param out  bound within the memory limit; INFINITY if the group does not fit or does not run */
static ek_status bound_of(const ek__layout_search *s, size_t group, int n_chunks, const ek_schedule *schedule,
                          ek_cost_cache *cache, double *out, ek_error *err)
{
    ek_job job;
    ek__bound_figures figures;
    *out = INFINITY;
    ek_status status = ek__layout_job_on(s->job, s->device, &s->space.group[group].layout, &job, err);
    if (status)
        return status == EK_ERR_INPUT ? EK_OK : status;
    if (!ek__framework_objection(&job)) {
        status = ek__bound_figures_of(&job, s->device, cache, true, &figures, err);
        if (!status && (job.limit_mb <= 0 || (float)ek__bound_peak_mb(&figures, n_chunks, schedule) <= job.limit_mb))
            *out = ek__bound_within(&figures, n_chunks, schedule);
    }
    ek_job_clear(&job);
    return status;
}

/* Order the samples by bound, the least first. */
static int insert(sample *best, int n, sample one)
{
    if (n == MOST_TRIED && best[n - 1].bound <= one.bound)
        return n;
    int i = n < MOST_TRIED ? n++ : n - 1;
    for (; i > 0 && best[i - 1].bound > one.bound; i--)
        best[i] = best[i - 1];
    best[i] = one;
    return n;
}

static ek_status add_samples(const ek__layout_search *s, ek_cost_cache *cache, sample *best, int *n_best, ek_error *err)
{
    size_t n = s->space.n_groups, step = n / MOST_SAMPLED + 1;
    ek_status status = EK_OK;
    *n_best = 0;
    for (size_t i = step / 2; i < n && !status && !ek__layout_over(s); i += step) {
        const ek_schedule *schedule = plain_schedule(s, i);
        sample one = {.group = i, .bound = INFINITY};
        if (schedule && is_small(&s->space.group[i].layout))
            status = bound_of(s, i, 1, schedule, cache, &one.bound, err);
        if (!status && isfinite(one.bound))
            *n_best = insert(best, *n_best, one);
    }
    return status;
}

static ek_status try_layout(ek__layout_search *s, size_t group, const ek_layout *layout, bool whole,
                            ek_cost_cache *cache, ek_error *err)
{
    ek__split split = {.seconds = INFINITY, .bound = INFINITY};
    bool legal;
    ek_status status = ek__layout_balance(s, layout, INFINITY, whole ? EK__EFFORT_WHOLE : EK__EFFORT_ANY, NULL, cache,
                                          &split, &legal, err);
    if (status || !legal || !split.found || split.over) {
        ek__split_clear(&split);
        return status;
    }
    s->first = (ek__first){.group = group, .layout = *layout, .whole = whole, .split = split};
    s->first_at = ek__now();
    return EK_OK;
}

ek_status ek__layout_first(ek__layout_search *s, ek_cost_cache *cache, ek_error *err)
{
    sample best[MOST_TRIED];
    ek_layout layout;
    int n = 0;
    double bound = INFINITY;
    ek__recompute_rule rule;
    ek_status status = EK_OK;
    bool lists = ek__recompute_rule_at(s->job, s->job->model.n_layers, 0, &rule) > 0 && rule.kind == EK__RULE_LISTS;
    size_t today = find_today(s, &layout);
    if (today < s->space.n_groups)
        status = bound_of(s, today, layout.value[EK_AXIS_CHUNKS], layout.schedule, cache, &bound, err);
    if (!status && isfinite(bound))
        status = try_layout(s, today, &layout, lists, cache, err);
    if (!status && !s->first.split.found)
        status = add_samples(s, cache, best, &n, err);
    for (int i = 0; i < n && !status && !s->first.split.found; i++) {
        layout = s->space.group[best[i].group].layout;
        layout.schedule = plain_schedule(s, best[i].group);
        status = try_layout(s, best[i].group, &layout, lists, cache, err);
    }
    return status;
}
