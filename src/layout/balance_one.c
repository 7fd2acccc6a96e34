/* Balances and bounds a single layout: its best plan, as found by the search, and its bounds. */
#include <math.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/layout.h"
#include "layout/mix.h"
#include "layout/split.h"

void ek__layout_plan_move(ek_layout_plan *from, ek_layout_plan *to)
{
    *to = *from;
    to->estimate.job = &to->job;
    *from = (ek_layout_plan){0};
}

static ek_status split(const ek_job *job, const ek_device *device, const ek_layout *layout, ek__split *out,
                       ek_error *err)
{
    const ek__split_options options = {.upper = INFINITY, .deadline = INFINITY};
    ek_job spread;
    ek_status status = ek__layout_job_on(job, device, layout, &spread, err);
    if (status)
        return status;
    ek_cost_cache *cache = ek_cost_cache_new(device);
    status = cache ? ek__split_layout(&spread, device, cache, &options, out, err) : ek__no_memory(err);
    ek_cost_cache_free(cache);
    ek_job_clear(&spread);
    return status;
}

ek_status ek_layout_balance(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_layout_plan *out,
                            ek_error *err)
{
    ek__split found = {.seconds = INFINITY, .bound = INFINITY};
    ek_status status = split(job, device, layout, &found, err);
    if (status)
        return status;
    ek_layout_plan plan = {.layout = *layout, .lower_bound = fmin(found.bound, found.seconds), .group = -1};
    if (found.found) {
        plan.job = found.job;
        found.job = (ek_job){0};
        status = ek_estimate_of(&plan.job, device, 0, &plan.estimate, err);
    }
    ek__split_clear(&found);
    if (status)
        ek_layout_plan_clear(&plan);
    else
        ek__layout_plan_move(&plan, out);
    return status;
}

static bool never(void *user)
{
    (void)user;
    return false;
}

enum { NODES = 100, FEW_CELLS = 32 }; /* nodes of the tree, for pipelines that need seconds at most */
#define FAR 4                         /* times a bound: no relevant plan is as long */

/* With several chunks per stage, the bound of the layout's own mix of paths, then with whole layers. */
static ek_status look_at_mix(const ek__bound_figures *figures, const ek_device *device, const ek_layout *layout,
                             double *seconds, ek_error *err)
{
    int v = layout->value[EK_AXIS_CHUNKS];
    ek__mixes *mixes;
    ek__mix *mix = NULL;
    double bound = 0;
    if (v == 1 || !ek__mixes_apply(layout->schedule) || figures->job->parallel.n_pieces > 1)
        return EK_OK;
    ek_status status = ek__mixes_new(layout->schedule, figures->p, v, figures->m, &mixes, err);
    if (status)
        return status;
    status = ek__mixes_look(mixes, figures, device, INFINITY, true, never, NULL, &mix, &bound, err);
    *seconds = fmax(*seconds, bound);
    if (!status && isfinite(*seconds) && figures->p * v <= FEW_CELLS) {
        const ek__branch_options options = {.upper = FAR * *seconds, .n_nodes = NODES, .over = never};
        status = ek__mixes_branch(mixes, figures, device, &options, &bound, err);
        *seconds = fmax(*seconds, bound);
    }
    ek__mix_free(mix);
    ek__mixes_free(mixes);
    return status;
}

static ek_status find_seconds(const ek__bound_figures *figures, const ek_device *device, const ek_layout *layout,
                              double *seconds, ek_error *err)
{
    int v = layout->value[EK_AXIS_CHUNKS];
    *seconds = fmax(ek__bound_seconds(figures, v, layout->schedule), ek__bound_within(figures, v, layout->schedule));
    return isfinite(*seconds) ? look_at_mix(figures, device, layout, seconds, err) : EK_OK;
}

/* @param all  false: only memory */
static ek_status bound_of(const ek_job *job, const ek_device *device, const ek_layout *layout, bool all,
                          ek_layout_bound *out, ek_error *err)
{
    ek_layout one = *layout;
    ek_job spread;
    ek__bound_figures figures;
    one.value[EK_AXIS_CHUNKS] = 1;
    one.schedule = ek_schedule_default(1, 0);
    ek_status status = ek__layout_job_on(job, device, &one, &spread, err);
    if (status)
        return status;
    ek_cost_cache *cache = ek_cost_cache_new(device);
    status = cache ? ek__bound_figures_of(&spread, device, cache, true, &figures, err) : ek__no_memory(err);
    if (!status)
        out->peak_mb = ek__bound_peak_mb(&figures, layout->value[EK_AXIS_CHUNKS], layout->schedule);
    if (!status && all)
        status = find_seconds(&figures, device, layout, &out->seconds, err);
    ek_cost_cache_free(cache);
    ek_job_clear(&spread);
    return status;
}

ek_status ek_layout_bound_of(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_layout_bound *out,
                             ek_error *err)
{
    return bound_of(job, device, layout, true, out, err);
}

ek_status ek__layout_least_mb(const ek_job *job, const ek_device *device, const ek_layout *layout, double *mb,
                              ek_error *err)
{
    ek_layout_bound bound;
    ek_status status = bound_of(job, device, layout, false, &bound, err);
    if (!status)
        *mb = bound.peak_mb;
    return status;
}
