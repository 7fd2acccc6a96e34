/* Finds the best plan of a layout over all rules of recomputation of its framework: lists by stage are one rule, with
 * lists chosen by the search; each other rule is a separate search over the layers only. A rule that recomputes more
 * takes longer for the same layers, so rules are tried from little to much recomputation, and no further rule is needed
 * after one without any binding memory limit. */
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

ek_status ek__split_estimate(const ek__split *split, const ek_device *device, ek_estimate *out, ek_error *err)
{
    const ek_memory_options options = {.actual_peak = split->actual};
    ek_estimate e = {.job = &split->job, .device = device};
    if (!split->actual || !isfinite(split->seconds) || split->job.limit_mb <= 0) /* includes a device's limit */
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

static bool is_single(const ek_job *job)
{
    return job->plan.n_chunks == 1 && !job->schedule->splits_backward && !job->schedule->arrange &&
           job->schedule->placement == EK_PLACE_WRAP && job->parallel.n_pieces <= 1;
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
        /* Recomputing selected operators may take longer than recomputing a few whole layers. */
        best.free = best.free && rule.kind != EK__RULE_SELECT && rule.kind != EK__RULE_PRODUCTS;
        best.bound = fmin(best.bound, bound);
        left_out = options->effort == EK__EFFORT_ANY && best.found;
    }
    if (best.over || left_out)
        best.bound = 0; /* rules were skipped */
    if (best.found)     /* a file need not list patterns that are used nowhere */
        ek__job_drop_idle_patterns(&best.job);
    if (status)
        ek__split_clear(&best);
    else
        *out = best;
    return status;
}
