/* Applies a plan to a job: the result is the job of the file with the plan's settings, as ek_train_apply() and the
 * emitters write them and the framework reads them. A list of counts becomes the plan's; all patterns of the file get
 * the plan's list of their kind, and if the file names none, the framework's default ones do. Other settings do not
 * change. Not handled: lists of excluded patterns that apply to some layers, in another number of chunks, which those
 * settings leave unchanged. */
#include <stdlib.h>
#include <string.h>

#include "job/job_internal.h"

static int n_cells(const ek_plan *plan)
{
    return plan->n_stages * plan->n_chunks;
}

static bool any(const int *list, int n)
{
    for (int c = 0; c < n; c++)
        if (list[c] > 0)
            return true;
    return false;
}

/* The list that the settings give a pattern; NULL: unchanged. */
static const int *list_of(const ek_plan *plan, ek_pattern_kind kind)
{
    return kind == EK_PATTERN_SELECT ? plan->select : kind == EK_PATTERN_COMM ? plan->comm : NULL;
}

/* A pattern that the settings do not change: for all layers, or for the first layers of each chunk. */
static ek_status keep_list(const ek_job *was, const ek_pattern *pattern, const ek_plan *plan, int *out, ek_error *err)
{
    const ek_plan *old = &was->plan;
    bool all = memcmp(pattern->layers, old->layers, (size_t)n_cells(old) * sizeof *out) == 0;
    bool same_shape = old->n_stages == plan->n_stages && old->n_chunks == plan->n_chunks;
    if (!all && !same_shape)
        return ek__fail(
            err, EK_ERR_INPUT, pattern->origin,
            "'%s' counts layers of %d stages x %d chunks, which a plan for %d x %d leaves as they are; write "
            "a list for those first",
            pattern->text, old->n_stages, old->n_chunks, plan->n_stages, plan->n_chunks);
    for (int c = 0; c < n_cells(plan); c++)
        out[c] = all || pattern->layers[c] == old->layers[c] ? plan->layers[c] : pattern->layers[c];
    return EK_OK;
}

static ek_status move_patterns(const ek_job *was, const ek_plan *plan, ek_job *job, ek_error *err)
{
    int *kept = ek__alloc((size_t)n_cells(plan), sizeof *kept);
    ek_status status = kept ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < was->n_patterns && !status; i++) {
        const ek_pattern *pattern = &was->pattern[i];
        const int *list = list_of(plan, ek_pattern_list(pattern));
        if (!list) {
            status = keep_list(was, pattern, plan, kept, err);
            list = kept;
        }
        if (!status)
            status = ek__job_add_like(job, pattern, list, err);
    }
    free(kept);
    return status;
}

/* A new list means the framework's own patterns. */
static ek_status add_usual(const ek_plan *plan, ek_job *job, ek_error *err)
{
    static const ek_pattern_kind kinds[] = {EK_PATTERN_SELECT, EK_PATTERN_COMM};
    ek_status status = EK_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !status; k++) {
        const int *list = list_of(plan, kinds[k]);
        if (ek__job_has_pattern(job, kinds[k]) || !any(list, n_cells(plan)))
            continue;
        const char *const *text = ek__job_usual_patterns(job, kinds[k]);
        for (; *text && !status; text++)
            status = ek__job_add_pattern(job, *text, kinds[k], list, true, (ek_origin){job->path, 1, 1}, err);
    }
    return status;
}

static ek_status fill(const ek_job *job, const ek_job_change *change, ek_job *out, ek_error *err)
{
    const ek_plan *plan = change->plan;
    if (job->path && !(out->path = ek__strdup(job->path)))
        return ek__no_memory(err);
    ek_status status = ek_plan_copy(plan, &out->plan, err);
    if (!status)
        status = move_patterns(job, plan, out, err);
    if (!status)
        status = add_usual(plan, out, err);
    if (!status)
        ek__job_sum_patterns(out);
    out->parallel.pipeline = plan->n_stages;
    ek__job_settle_run(out);
    if (change->schedule)
        out->schedule = change->schedule;
    if (change->n_micro_batches > 0)
        out->parallel.n_micro_batches = change->n_micro_batches;
    if (change->batch > 0)
        out->parallel.batch = change->batch;
    if (job->framework == EK_MEGATRON)
        out->full_group = 1; /* its emitter's rules keep every layer's input */
    return status ? status : ek_job_check(out, err);
}

ek_status ek_job_with(const ek_job *job, const ek_job_change *change, ek_job *out, ek_error *err)
{
    ek_job copy = *job;
    copy.path = NULL;
    copy.pattern = NULL;
    copy.n_patterns = 0;
    copy.plan = (ek_plan){0};
    ek_status status = fill(job, change, &copy, err);
    if (status)
        ek_job_clear(&copy);
    else
        *out = copy;
    return status;
}
