/* Layouts as values: of a job, compared, in words. */
#include "evenkeel/layout.h"

#include <stdio.h>
#include <string.h>

#include "layout/layout.h"

const char *const ek_layout_axis_name[EK_N_LAYOUT_AXES] = {
    "data", "tensor", "context", "expert", "pipeline", "chunks", "micro_batch", "optimizer_shard", "copies"};
const char *const ek_layout_axis_option[EK_N_LAYOUT_AXES] = {"dp",  "tp",    "cp",    "ep",    "pp",
                                                             "vpp", "batch", "shard", "copies"};
const char *const ek_layout_fate_name[EK_N_LAYOUT_FATES] = {"plan",     "illegal", "memory", "bound",
                                                            "balanced", "no_plan", "open"};

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
    return (ek_layout){.value = {[EK_AXIS_DATA] = p->data,
                                 [EK_AXIS_TENSOR] = p->tensor,
                                 [EK_AXIS_CONTEXT] = p->context,
                                 [EK_AXIS_EXPERT] = p->expert,
                                 [EK_AXIS_PIPELINE] = p->pipeline,
                                 [EK_AXIS_CHUNKS] = job->plan.n_chunks,
                                 [EK_AXIS_BATCH] = p->batch,
                                 [EK_AXIS_SHARD] = shard_of(job),
                                 [EK_AXIS_COPIES] = p->n_batch_interleave},
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
