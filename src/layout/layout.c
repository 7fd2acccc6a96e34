/* Layouts as values: reads them from a job, compares and prints them. */

#include <stdio.h>
#include <string.h>

#include "layout/layout.h"

static const char *const ek__layout_axis_name[EK_N_LAYOUT_AXES] = {
    "data",        "tensor",          "context", "expert",     "pipeline",    "chunks",
    "micro_batch", "optimizer_shard", "copies",  "fine_grain", "table_shard", "gradient_shard"};
const char *const *const ek_layout_axis_name = ek__layout_axis_name;
static const char *const ek__layout_axis_option[EK_N_LAYOUT_AXES] = {
    "dp", "tp", "cp", "ep", "pp", "vpp", "batch", "shard", "copies", "fine", "table", "grads"};
const char *const *const ek_layout_axis_option = ek__layout_axis_option;
const char *const ek__layout_fate_name[EK_N_LAYOUT_FATES] = {"plan",     "illegal", "memory", "bound",
                                                             "balanced", "no_plan", "open"};
const char *const *const ek_layout_fate_name = ek__layout_fate_name;

/* Keys of LlamaConfig. DeepSeek also has the first, but its layers with experts are not modelled with it. */
bool ek__layout_has_fine(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    return job->framework == EK_MINDFORMERS && job->family == EK_FAMILY_LLAMA && m->n_experts == 0 &&
           m->kv_lora_rank == 0;
}

bool ek__layout_has_table(const ek_job *job)
{
    return ek__layout_has_fine(job);
}

bool ek__layout_has_sums(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

/* Ranks that share a dense parameter's optimizer states. */
static int shard_of(const ek_job *job)
{
    const ek_job_states *s = &job->states;
    int group = job->parallel.data * job->parallel.context;
    if (!s->shard_optimizer)
        return 1;
    if (s->shard_size > 0 && group % s->shard_size == 0)
        group = s->shard_size;
    return s->instances > 1 && group % s->instances == 0 ? group / s->instances : group;
}

ek_layout ek_layout_of(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    int shard = shard_of(job);
    return (ek_layout){.value = {[EK_AXIS_DATA] = p->data,
                                 [EK_AXIS_TENSOR] = p->tensor,
                                 [EK_AXIS_CONTEXT] = p->context,
                                 [EK_AXIS_EXPERT] = p->expert,
                                 [EK_AXIS_PIPELINE] = p->pipeline,
                                 [EK_AXIS_CHUNKS] = job->plan.n_chunks,
                                 [EK_AXIS_BATCH] = p->batch,
                                 [EK_AXIS_SHARD] = shard,
                                 [EK_AXIS_COPIES] = p->n_batch_interleave,
                                 [EK_AXIS_FINE] = p->fine_grain > 1 ? p->fine_grain : 1,
                                 [EK_AXIS_TABLE] = ek__layout_has_table(job) && job->states.shard_table ? shard : 1,
                                 [EK_AXIS_SUMS] = ek__layout_has_sums(job) && job->states.shard_gradient ? shard : 1},
                       .n_micro_batches = p->n_micro_batches * (p->n_accumulation > 1 ? p->n_accumulation : 1),
                       .sequence_parallel = p->sequence_parallel,
                       .schedule = job->schedule};
}

bool ek_layout_equal(const ek_layout *a, const ek_layout *b)
{
    return memcmp(a->value, b->value, sizeof a->value) == 0 && a->n_micro_batches == b->n_micro_batches &&
           a->sequence_parallel == b->sequence_parallel && a->schedule == b->schedule;
}

const char *ek_layout_words(const ek_layout *layout, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        if ((layout->value[i] > 1 || i == EK_AXIS_BATCH) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s %d", used ? ", " : "", ek_layout_axis_option[i],
                                     layout->value[i]);
    if (layout->sequence_parallel && layout->value[EK_AXIS_TENSOR] > 1 && used < size)
        used += (size_t)snprintf(text + used, size - used, ", sequence parallel");
    if (layout->value[EK_AXIS_PIPELINE] > 1 && used < size)
        snprintf(text + used, size - used, ", %s", layout->schedule->name);
    return text;
}

int ek__layout_n_devices(const ek_layout *l)
{
    return l->value[EK_AXIS_DATA] * l->value[EK_AXIS_TENSOR] * l->value[EK_AXIS_CONTEXT] * l->value[EK_AXIS_PIPELINE];
}

void ek_layout_plan_clear(ek_layout_plan *plan)
{
    ek_estimate_clear(&plan->estimate);
    ek_job_clear(&plan->job);
    *plan = (ek_layout_plan){0};
}
