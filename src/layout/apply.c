/* Applies a layout to a job: sets degrees and batches, spreads layers evenly without recomputation, and then updates
 * the values that the framework derives (job/settings.h). Patterns of selective recomputation are kept, for no layer,
 * so that plans can use them; a job without patterns gets its framework's default ones. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/settings.h"
#include "layout/layout.h"

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

static void set_degrees(const ek_layout *layout, ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    const int *v = layout->value;
    /* MindSpore accumulates gradients without a pipeline differently than with one. */
    bool accumulates = is_mindformers(job) && v[EK_AXIS_PIPELINE] == 1;
    p->data = v[EK_AXIS_DATA];
    p->tensor = v[EK_AXIS_TENSOR];
    p->context = v[EK_AXIS_CONTEXT];
    p->expert = v[EK_AXIS_EXPERT];
    p->pipeline = v[EK_AXIS_PIPELINE];
    p->batch = v[EK_AXIS_BATCH];
    p->n_batch_interleave = v[EK_AXIS_COPIES];
    p->n_micro_batches = accumulates ? 1 : layout->n_micro_batches;
    p->n_accumulation = accumulates ? layout->n_micro_batches : 1;
    p->sequence_parallel = layout->sequence_parallel;
    p->chunk_group = 0;
    p->fine_grain = p->tensor > 1 ? v[EK_AXIS_FINE] : 1;
}

/* Set the ranks that share the states. If fewer ranks share than could: groups of MindFormers, instances of
 * Megatron. */
static void set_shard(const ek_layout *layout, ek_job *job)
{
    ek_job_states *s = &job->states;
    int group = job->parallel.data * job->parallel.context, n = layout->value[EK_AXIS_SHARD];
    s->shard_optimizer = n > 1;
    s->shard_size = -1;
    s->instances = 1;
    if (is_mindformers(job)) {
        s->shard_weight = n > 1;
        s->gathered = n > 1 ? s->weight : 0;
        s->shard_size = n > 1 && n < group ? n : -1;
    } else if (job->framework == EK_TORCHTITAN) {
        s->shard_size = n < group ? n : -1;
    } else if (n > 1 && n < group) {
        s->instances = group / n;
    }
}

/* Set the sharding of the table and of the summed gradients, after the values derived from the degrees. */
static void set_shared(const ek_layout *layout, ek_job *job)
{
    ek_job_states *s = &job->states;
    if (ek__layout_has_table(job))
        s->shard_table = layout->value[EK_AXIS_TABLE] > 1; /* nothing if states are whole */
    if (!ek__layout_has_sums(job))
        return;
    s->shard_gradient = s->shard_optimizer && layout->value[EK_AXIS_SUMS] > 1;
    job->run.sums_every_micro_batch = s->shard_gradient && s->gradient > 0;
}

static bool is_list(ek_pattern_kind kind)
{
    return kind == EK_PATTERN_SELECT || kind == EK_PATTERN_COMM;
}

/* The patterns of the job on no layer of the new plan. */
static ek_status add_patterns(const ek_job *job, ek_job *to, ek_error *err)
{
    static const ek_pattern_kind kinds[] = {EK_PATTERN_SELECT, EK_PATTERN_COMM};
    bool has[2] = {false, false};
    ek_status status = EK_OK;
    if (to->framework == EK_TORCHTITAN)
        return EK_OK; /* its rules add their own */
    int *none = ek__alloc((size_t)to->plan.n_stages * (size_t)to->plan.n_chunks, sizeof *none);
    if (!none)
        return ek__no_memory(err);
    for (int i = 0; i < job->n_patterns && !status; i++) {
        const ek_pattern *p = &job->pattern[i];
        if (!is_list(p->kind))
            continue;
        has[ek_pattern_list(p) == EK_PATTERN_COMM] = true;
        status = ek__job_add_like(to, p, none, err);
    }
    for (int k = 0; k < 2 && !status; k++)
        for (const char *const *text = ek__job_usual_patterns(to, kinds[k]); *text && !has[k] && !status; text++)
            status = ek__job_add_pattern(to, *text, kinds[k], none, true, (ek_origin){.file = to->path}, err);
    free(none);
    return status;
}

static ek_status respread(const ek_job *job, const ek_layout *layout, ek_job *to, ek_error *err)
{
    to->schedule = layout->schedule;
    ek_status status = ek__job_spread(to, layout->value[EK_AXIS_CHUNKS], err);
    if (!status)
        status = add_patterns(job, to, err);
    if (!status)
        ek__job_settle_run(to);
    return status;
}

static ek_status fill(const ek_job *job, const ek_layout *layout, ek_job *to, ek_error *err)
{
    if (job->path && !(to->path = ek__strdup(job->path)))
        return ek__no_memory(err);
    set_degrees(layout, to);
    set_shard(layout, to);
    ek_status status = respread(job, layout, to, err);
    if (!status)
        status = ek__job_follow(job, to, err);
    set_shared(layout, to);
    if (!status)
        status = ek__job_spread_own(to, err);
    return status ? status : ek_job_check(to, err);
}

ek_status ek_layout_job(const ek_job *job, const ek_layout *layout, ek_job *out, ek_error *err)
{
    ek_job to = *job;
    to.path = NULL;
    to.pattern = NULL;
    to.n_patterns = 0;
    to.plan = (ek_plan){0};
    to.full_group = 1;
    ek_status status = fill(job, layout, &to, err);
    if (status)
        ek_job_clear(&to);
    else
        *out = to;
    return status;
}

ek_status ek__layout_job_on(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_job *out,
                            ek_error *err)
{
    ek_status status = ek_layout_job(job, layout, out, err);
    ek_job_run *run = &out->run;
    if (status || !run->full_batch || device->input_gbs <= 0)
        return status;
    run->full_batch = false;
    for (; run->n_inputs == 0 || run->n_inputs < run->n_columns; run->n_inputs++)
        run->input_cut[run->n_inputs][1] = 1; /* tokens */
    for (int i = 0; i < run->n_inputs; i++)
        if (run->input_cut[i][0] >= 0)
            run->input_cut[i][0] = out->parallel.data;
    return EK_OK;
}
