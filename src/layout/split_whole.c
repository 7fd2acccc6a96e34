/* Finds the exact best plan with several chunks per stage: branch and bound over whole layers (mix_branch.c), with
 * solutions judged as plans (whole_plans.c), for each rule of recomputation that could give a shorter plan. */
#include <math.h>

#include "base/error.h"
#include "job/job_internal.h"
#include "layout/split.h"
#include "layout/whole_plans.h"

#define ROUGHLY      3e-3 /* of the step */
#define MORE_ROUGHLY 1e-2 /* to begin with */
enum { NEAR_NODES = 40, QUICK_SOLVES = 100, QUICK_CHOICES = 600000, FEW_CELLS = 24 };

static bool is_over(void *user)
{
    return ek__split_over(user);
}

/* @param quick        find a plan without proof
 * @param most_layers  of a chunk, 0: any */
static ek_status search_rule(const ek__split_chunked *of, ek__recompute_rule rule, const ek__bound_figures *under,
                             bool quick, int most_layers, const ek__split_options *options, ek__split *best,
                             double *bound, ek_error *err)
{
    ek__whole_plans *plans;
    ek_status status = ek__whole_plans_new(of->job, of->device, of->cache, rule, under, of->mixes, options,
                                           quick ? QUICK_CHOICES : INT64_MAX, best, &plans, err);
    if (status)
        return status;
    const ek__whole_judge judge = {ek__whole_plans_judge, plans};
    const ek__branch_options how = {.upper = fmin(options->upper, best->seconds),
                                    .n_nodes = of->n_nodes,
                                    .most_layers = most_layers,
                                    .too_long = !quick            ? 0
                                                : of->n_nodes > 1 ? ROUGHLY
                                                                  : MORE_ROUGHLY,
                                    .judge = &judge,
                                    .near = quick,
                                    .n_solves = quick ? QUICK_SOLVES : 0,
                                    .over = is_over,
                                    .user = (void *)options};
    status = ek__mixes_branch_rule(of->mixes, under, of->device, &how, bound, err);
    ek__whole_plans_free(plans);
    return status;
}

bool ek__split_whole_applies(const ek_job *job)
{
    return job->plan.n_chunks > 1 && ek__mixes_apply(job->schedule) && job->parallel.n_pieces <= 1;
}

/* For a long pipeline with two chunk sizes the tree takes seconds. */
static bool is_nearly_even(int n_layers, int cells)
{
    int odd = n_layers % cells;
    return cells <= FEW_CELLS || odd <= cells / 16 || odd >= cells - cells / 16;
}

ek_status ek__split_near(const ek__split_chunked *of, ek__recompute_rule rule, const ek__split_options *options,
                         ek__split *best, ek_error *err)
{
    const ek__rule_says says = ek__rule_says_of(rule);
    int n = of->figures->n_layers, cells = of->mixes->n_cells;
    ek__bound_figures under;
    double bound;
    if (!ek__bound_under(of->figures, &says, &under))
        return EK_OK;
    bool even = is_nearly_even(n, cells);
    ek__split_chunked with = *of;
    with.n_nodes = even ? NEAR_NODES : 1;
    return search_rule(&with, rule, &under, true, even ? n / cells + 1 : 0, options, best, &bound, err);
}

ek_status ek__split_whole(const ek__split_chunked *of, const ek__split_options *options, ek__split *best, double *bound,
                          ek_error *err)
{
    const ek_job *job = of->job;
    int most = ek__split_most_layers(job);
    ek__recompute_rule rule;
    ek_status status = EK_OK;
    *bound = fmin(options->upper, best->seconds);
    for (int i = 0; !status && i < ek__recompute_rule_at(job, most, i, &rule); i++) {
        const ek__rule_says says = ek__rule_says_of(rule);
        ek__bound_figures under;
        double one = INFINITY;
        if (ek__split_bound_under(of->figures, job, rule) >= *bound)
            continue;
        if (ek__bound_under(of->figures, &says, &under))
            status = search_rule(of, rule, &under, false, 0, options, best, &one, err);
        *bound = fmin(*bound, one);
    }
    if (best->found) /* a file need not list patterns that are used nowhere */
        ek__job_drop_idle_patterns(&best->job);
    return status;
}
