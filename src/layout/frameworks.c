/* The layouts that each framework supports: one row per framework; its schedules are in the table of
 * src/schedule/frameworks.c. The facts are those of docs/plan-legal.md, with source and version. If versions differ, a
 * row follows the current one: a search must not propose a layout that stops there, while ek_job_check() rejects only
 * layouts that no version runs. */
#include "layout/frameworks.h"

#include <assert.h>

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"

static const ek__framework_space spaces[EK_N_FRAMEWORKS] = {
    [EK_MINDFORMERS] = {.tensor = true,
                        .context = true,
                        .expert = true,
                        .experts_with_context = true,
                        .pipeline = true,
                        .chunks = true,
                        .sequence_parallel_choice = true,
                        .shard_groups = true,
                        .shard_choice = true,
                        .batch_interleave = true,
                        .fine_grain = true,
                        .pieces = true,
                        .sequence_parts = 1,
                        .split = EK__SPLIT_ANY,
                        .least_at_ends = 1,
                        .least_between = 1,
                        .recompute = EK__RECOMPUTE_LISTS},
    [EK_MINDFORMERS_MCORE] = {.tensor = true,
                              .context = true,
                              .expert = true,
                              .experts_with_context = true,
                              .pipeline = true,
                              .chunks = true,
                              .experts_on_tensor = true,
                              .sequence_parallel_choice = true,
                              .experts_need_sequence_parallel = true,
                              .shard_groups = true,
                              .shard_choice = true,
                              .batch_interleave = true,
                              .pieces = true,
                              .sequence_parts = 1,
                              .split = EK__SPLIT_ANY,
                              .least_at_ends = 1,
                              .least_between = 1,
                              .recompute = EK__RECOMPUTE_LISTS},
    [EK_MINDSPEED] = {.tensor = true,
                      .context = true,
                      .expert = true,
                      .pipeline = true,
                      .chunks = true,
                      .sequence_parallel_choice = true,
                      .shard_choice = true,
                      .sequence_parts = 2,
                      .split = EK__SPLIT_ANY,
                      .least_at_ends = 1,
                      .least_between = 1,
                      .recompute = EK__RECOMPUTE_LISTS},
    [EK_MEGATRON] = {.tensor = true,
                     .context = true,
                     .expert = true,
                     .experts_with_context = true,
                     .pipeline = true,
                     .chunks = true,
                     .expert_tensor = true,
                     .experts_on_tensor = true,
                     .sequence_parallel_choice = true,
                     .experts_need_sequence_parallel = true,
                     .shard_groups = true,
                     .shard_choice = true,
                     .head_copies = true,
                     .sequence_parts = 2,
                     .split = EK__SPLIT_ANY,
                     .recompute = EK__RECOMPUTE_FIRST},
    [EK_TORCHTITAN] = {.tensor = true,
                       .context = true,
                       .expert = true,
                       .experts_with_context = true,
                       .pipeline = true,
                       .chunks = true,
                       .expert_tensor = true,
                       .experts_on_tensor = true,
                       .experts_over_context = true,
                       .shard_groups = true,
                       .sequence_parts = 2,
                       .split = EK__SPLIT_ANY,
                       .least_between = 1,
                       .recompute = EK__RECOMPUTE_MODE},
};

const ek__framework_space *ek__framework_space_of(ek_framework framework)
{
    assert((int)framework >= 0 && (int)framework < EK_N_FRAMEWORKS);
    return &spaces[framework];
}

const ek__framework_schedule *ek__framework_schedule_of(ek_framework framework, const ek_schedule *schedule)
{
    const ek__framework_schedule *entry = ek__schedule_in(schedule, framework);
    return entry && entry->offered ? entry : NULL;
}

int ek__framework_schedules(ek_framework framework, int n_stages, int n_chunks, bool all, const ek_schedule **out)
{
    int n = 0;
    assert(n_stages >= 1 && n_chunks >= 1);
    for (int i = 0; ek__schedule_row(i); i++) {
        const ek_schedule *schedule = ek__schedule_row(i);
        const ek__framework_schedule *entry = ek__framework_schedule_of(framework, schedule);
        bool fits = n_chunks >= schedule->min_chunks && n_chunks <= schedule->max_chunks;
        if (entry && fits && n_stages >= entry->least_stages && (all || entry->by_default)) {
            assert(n < EK__MOST_FRAMEWORK_SCHEDULES);
            out[n++] = schedule;
        }
    }
    return n;
}

bool ek__framework_takes(ek_framework framework, const ek_schedule *schedule, int n_stages, int n_micro_batches)
{
    const ek__framework_schedule *entry = ek__framework_schedule_of(framework, schedule);
    int p = n_stages, m = n_micro_batches;
    assert(p >= 1 && m >= 1);
    int rounds = m > p ? m / p : 1;
    if (!entry || p < entry->least_stages)
        return false;
    if (p == 1)
        return true;
    return m >= entry->least * p && (entry->micro_batches != EK__MICRO_GROUPS || m % p == 0) &&
           (entry->micro_batches != EK__MICRO_ROUNDS || m % rounds == 0);
}

int ek__framework_least_micro_batches(ek_framework framework, const ek_schedule *schedule, int n_stages, int from)
{
    const ek__framework_schedule *entry = ek__framework_schedule_of(framework, schedule);
    int m = from;
    if (!entry || n_stages < entry->least_stages)
        return 0;
    if (n_stages > 1 && m < entry->least * n_stages)
        m = entry->least * n_stages;
    while (m <= EK_MAX_MICRO_BATCHES && !ek__framework_takes(framework, schedule, n_stages, m))
        m++;
    return m <= EK_MAX_MICRO_BATCHES ? m : 0;
}

/* ---- one job ---- */

static const char *object_to_experts(const ek__framework_space *space, const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    int span = p->expert_tensor == 1 ? p->context * p->tensor : p->context;
    if (job->model.n_experts == 0)
        return NULL;
    if (space->experts_need_sequence_parallel && p->tensor > 1 && !p->sequence_parallel)
        return "experts with tensor parallelism and without sequence parallelism";
    if (!space->experts_with_context && p->expert > 1 && p->context > 1)
        return "expert and context parallelism together";
    if (space->experts_over_context && p->expert > 1 && p->expert % span != 0)
        return "experts spread over a part of the context or tensor parallel ranks";
    return NULL;
}

static const char *object_to_schedule(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    if (p->pipeline == 1 || !job->schedule)
        return NULL;
    const ek__framework_schedule *entry = ek__framework_schedule_of(job->framework, job->schedule);
    if (!entry)
        return "a schedule that the framework does not have";
    if (!ek__framework_takes(job->framework, job->schedule, p->pipeline, p->n_micro_batches))
        return "micro-batches that the schedule does not take";
    if (entry->without_context && p->context > 1)
        return "a schedule without context parallelism";
    return entry->untied && job->model.tied ? "a schedule without tied embeddings" : NULL;
}

static const char *object_to_layers(const ek__framework_space *space, const ek_job *job)
{
    const ek_plan *plan = &job->plan;
    int n = plan->n_stages * plan->n_chunks;
    ek_placement placement = job->schedule ? job->schedule->placement : EK_PLACE_WRAP;
    for (int q = 0; q < n; q++) {
        int least = q == 0 || q == n - 1 ? space->least_at_ends : space->least_between;
        if (plan->layers[ek_cell_at(placement, plan->n_stages, q)] < least)
            return "a chunk without layers";
    }
    return NULL;
}

const char *ek__framework_objection(const ek_job *job)
{
    const ek__framework_space *space = ek__framework_space_of(job->framework);
    const char *why = object_to_experts(space, job);
    if (!why && !space->sequence_parallel_choice && job->parallel.tensor > 1 && !job->parallel.sequence_parallel)
        why = "tensor parallelism without sequence parallelism";
    if (!why)
        why = object_to_schedule(job);
    return why ? why : object_to_layers(space, job);
}
