/* Helpers shared by the searches for a layout's best split: offering a plan, the end of the time, the maximum layers of
 * a stage, the bound under a rule. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/split.h"

bool ek__split_over(const ek__split_options *options)
{
    return ek_interrupted(options->interrupt) || ek__now() >= options->deadline;
}

static bool is_over(void *user)
{
    return ek__split_over(user);
}

ek__stop ek__split_stop(const ek__split_options *options)
{
    return (ek__stop){.over = is_over, .user = (void *)options};
}

int ek__split_most_layers(const ek_job *job)
{
    int n = job->model.n_layers + job->model.n_prediction_layers;
    return n - (job->plan.n_stages - 1) * job->plan.n_chunks;
}

/* The least layers of some stage with which a rule differs from earlier ones: in smaller chunks the first n equal
 * another rule's, and a stage with fewer layers has no n-th one; -1: impossible. */
static int layers_told_by(const ek_job *job, ek__recompute_rule rule)
{
    int others = job->plan.n_chunks - 1, most = ek__split_most_layers(job); /* at least one layer in each */
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
