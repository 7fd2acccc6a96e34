/* The best plan of a layout over all rules of recomputation that its framework takes: lists by stage are one rule,
 * whose lists the search chooses; elsewhere each rule is a search of its own, over the layers alone. A rule that
 * recomputes more takes longer for the same layers, so that rules are tried from little to much, and those behind one
 * under which memory binds nowhere are not needed. */
#include "layout/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/label_setting.h"
#include "base/error.h"
#include "job/job_internal.h"
#include "layout/bound.h"

void ek__split_clear(ek__split *split)
{
    if (split->estimated)
        ek_estimate_clear(&split->estimate);
    ek_job_clear(&split->job);
    free(split->actual);
    *split = (ek__split){.seconds = INFINITY, .bound = INFINITY};
}

ek_status ek__split_offer(const ek_job *job, const int64_t *actual, const ek_device *device, ek_cost_cache *cache,
                          ek__split *best, double *seconds, ek_error *err)
{
    ek_step step;
    ek_status status = ek_cost_step(job, device, cache, &step, err);
    if (status)
        return status;
    *seconds = step.seconds;
    ek_step_clear(&step);
    if (best->found && *seconds >= best->seconds)
        return EK_OK;
    ek_job copy;
    int64_t *peaks = actual ? ek__alloc((size_t)job->plan.n_stages, sizeof *peaks) : NULL;
    status = actual && !peaks ? ek__no_memory(err) : ek_job_copy(job, &copy, err);
    if (status) {
        free(peaks);
        return status;
    }
    if (peaks)
        memcpy(peaks, actual, (size_t)job->plan.n_stages * sizeof *peaks);
    ek_job_clear(&best->job);
    free(best->actual);
    best->job = copy;
    best->actual = peaks;
    best->found = true;
    best->seconds = *seconds;
    return EK_OK;
}

ek_status ek__split_estimate(const ek__split *split, const ek_device *device, ek_estimate *out, ek_error *err)
{
    const ek_memory_options options = {.actual_peak = split->actual};
    ek_estimate e = {.job = &split->job, .device = device};
    if (!split->actual || !isfinite(split->seconds) || split->job.limit_mb <= 0) /* a device's limit comes into it */
        return ek_estimate_of(&split->job, device, 0, out, err);
    ek_status status = ek_cost_step(&split->job, device, NULL, &e.step, err);
    if (!status)
        status = ek_memory_predict(&split->job, &options, &e.memory, err);
    if (!status)
        status = ek_estimate_conclude(&e, err);
    if (status)
        ek_estimate_clear(&e);
    else
        *out = e;
    return status;
}

bool ek__split_over(const ek__split_options *options)
{
    return (options->interrupt && *options->interrupt) || ek__clock() >= options->deadline;
}

static bool is_over(void *user)
{
    return ek__split_over(user);
}

ek__stop ek__split_stop(const ek__split_options *options)
{
    return (ek__stop){.over = is_over, .user = (void *)options};
}

static bool is_single(const ek_job *job)
{
    return job->plan.n_chunks == 1 && !job->schedule->splits_backward && !job->schedule->arrange &&
           job->schedule->placement == EK_PLACE_WRAP && job->parallel.n_pieces <= 1;
}

int ek__split_most_layers(const ek_job *job)
{
    int n = job->model.n_layers + job->model.n_prediction_layers;
    return n - (job->plan.n_stages - 1) * job->plan.n_chunks;
}

/* Layers that some stage has where a rule differs from those before it, since the first n of chunks of fewer are those
 * of another rule, and every n-th of a stage with fewer is none; -1: none can. */
static int layers_told_by(const ek_job *job, ek__recompute_rule rule)
{
    int others = job->plan.n_chunks - 1, most = ek__split_most_layers(job); /* a layer at least in each */
    int wanted = rule.kind == EK__RULE_FIRST ? rule.n + others : rule.kind == EK__RULE_EVERY ? rule.n : 0;
    return wanted <= most ? wanted : -1;
}

double ek__split_bound_under(const ek__bound_figures *f, const ek_job *job, ek__recompute_rule rule)
{
    const ek__rule_says says = ek__rule_says_of(rule);
    int v = job->plan.n_chunks, told = layers_told_by(job, rule);
    ek__bound_figures under;
    if (told < 0 || !ek__bound_under(f, &says, &under))
        return INFINITY;
    return fmax(f->m * told * f->least, ek__bound_within_rule(&under, v, job->schedule));
}

ek_status ek__split_layout(const ek_job *job, const ek_device *device, ek_cost_cache *cache,
                           const ek__split_options *options, ek__split *out, ek_error *err)
{
    ek__split best = {.seconds = INFINITY, .bound = INFINITY};
    ek__recompute_rule rule;
    ek__bound_figures figures;
    bool left_out = false;
    ek_status status = ek__bound_figures_of(job, device, cache, true, &figures, err);
    for (int i = 0; !status && !best.free && !best.over && !left_out &&
                    i < ek__recompute_rule_at(job, ek__split_most_layers(job), i, &rule);
         i++) {
        double bound = INFINITY;
        ek__split_options with = *options;
        with.upper = fmin(options->upper, best.seconds);
        double least = ek__split_bound_under(&figures, job, rule);
        if (least >= with.upper) {
            best.bound = fmin(best.bound, least);
            continue;
        }
        status =
            (is_single(job) ? ek__split_single : ek__split_chunks)(job, device, cache, rule, &with, &best, &bound, err);
        /* What picks operators may take longer than a few whole layers. */
        best.free = best.free && rule.kind != EK__RULE_SELECT && rule.kind != EK__RULE_PRODUCTS;
        best.bound = fmin(best.bound, bound);
        left_out = options->effort == EK__EFFORT_ANY && best.found;
    }
    if (best.over || left_out)
        best.bound = 0; /* rules were left out */
    if (best.found)     /* a file need not say what is recomputed nowhere */
        ek__job_drop_idle_patterns(&best.job);
    if (status)
        ek__split_clear(&best);
    else
        *out = best;
    return status;
}
