/* Replaces a job's patterns by those of sets. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/job_internal.h"
#include "recompute/sets.h"

/* One of a set's patterns, for no layer; excluding patterns apply to all that recompute. */
static ek_status add(ek_job *job, const ek_set_pattern *pattern, ek_pattern_kind list, const int *no_layer,
                     ek_error *err)
{
    const bool excludes = pattern->kind != EK_PATTERN_SELECT && pattern->kind != EK_PATTERN_COMM;
    ek_status status = ek__job_add_pattern(job, pattern->text, pattern->kind, excludes ? NULL : no_layer, false,
                                           (ek_origin){.file = job->path}, err);
    if (!status && !excludes)
        job->pattern[job->n_patterns - 1].other_list = pattern->kind != list;
    return status;
}

/* The patterns of a set that another does not have. */
static ek_status add_set(ek_job *job, const ek_recompute_set *set, const ek_recompute_set *but, ek_pattern_kind list,
                         ek_error *err)
{
    const size_t n = (size_t)job->plan.n_stages * (size_t)job->plan.n_chunks;
    int *no_layer = ek__alloc(n, sizeof *no_layer);
    ek_status status = no_layer ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < set->n_patterns && !status; i++)
        if (!but || !ek_recompute_set_has(but, &set->pattern[i]))
            status = add(job, &set->pattern[i], list, no_layer, err);
    free(no_layer);
    return status;
}

static ek_status keep_excluding(const ek_job *job, ek_job *out, ek_error *err)
{
    ek_status status = EK_OK;
    ek__job_drop_patterns(out);
    for (int i = 0; i < job->n_patterns && !status; i++)
        if (!ek__set_replaces(job, &job->pattern[i]))
            status = ek__job_add_like(out, &job->pattern[i], job->pattern[i].layers, err);
    ek__job_sum_patterns(out);
    return status;
}

/* torchtitan's policy separates operators that its compiler otherwise fuses. */
static void distinguish(const ek_recompute_set *small, ek_job *job)
{
    const bool compiled = job->run.launch == EK_LAUNCH_COMPILED;
    if (job->framework == EK_TORCHTITAN)
        job->model.fused_swiglu = job->model.gate_apart = small->n_patterns == 0 && compiled;
}

static ek_status fill(const ek_job *job, const ek_recompute_set *small, const ek_recompute_set *large, ek_job *out,
                      ek_error *err)
{
    ek_status status = keep_excluding(job, out, err);
    if (!status)
        status = add_set(out, small, NULL, EK_PATTERN_SELECT, err);
    if (!status && large)
        status = add_set(out, large, small, EK_PATTERN_COMM, err);
    if (!status)
        ek__job_sum_patterns(out);
    distinguish(small, out);
    return status;
}

ek_status ek_job_use_recompute_sets(const ek_job *job, const ek_recompute_set *small, const ek_recompute_set *large,
                                    ek_job *out, ek_error *err)
{
    ek_job copy;
    if (large && !ek_recompute_set_has_all(large, small))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the larger set of operators to recompute lacks one of the smaller set; give sets of which one "
                        "contains the other");
    ek_status status = ek_job_copy(job, &copy, err);
    if (status)
        return status;
    status = fill(job, small, large, &copy, err);
    if (status)
        ek_job_clear(&copy);
    else
        *out = copy;
    return status;
}

bool ek__set_replaces(const ek_job *job, const ek_pattern *pattern)
{
    return pattern->kind == EK_PATTERN_SELECT || pattern->kind == EK_PATTERN_COMM || job->framework == EK_TORCHTITAN;
}
