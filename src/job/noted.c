/* Lists the settings that are recorded because they constrain others, and finds which of them a file has. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "job/settings.h"

const char *const ek__job_noted[] = {
    /* Megatron, and MindSpeed-Core-MS with other dashes */
    "world",
    "data-parallel-size",
    "global-batch-size",
    "micro-batch-num",
    "sequence-parallel",
    "expert-tensor-parallel-size",
    "moe-tp-extend-ep",
    "ulysses-degree-in-cp",
    "attention-backend",
    "overlap-param-gather",
    "tp-comm-overlap",
    "num-layers-per-virtual-pipeline-stage",
    "num-virtual-stages-per-pipeline-rank",
    "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers",
    "account-for-embedding-in-pipeline-split",
    "account-for-loss-in-pipeline-split",
    "num-layer-list",
    "pipeline-model-parallel-layout",
    "noop-layers",
    "schedules-method",
    "zero-bubble-v-schedule",
    "zero-bubble-v-schedule-mem-setup",
    "uniform",
    "recompute-granularity",
    "recompute-method",
    "recompute-num-layers",
    "recompute-modules",
    "recompute-activations",
    "recompute-activation-function",
    "moe-layer-recompute",
    "recompute-config",
    "select-recompute",
    "select-comm-recompute",
    "checkpoint-activations",
    "checkpoint-num-layers",
    "num-distributed-optimizer-instances",
    "use-distributed-optimizer",
    "no-async-tensor-model-parallel-allreduce",
    "optimizer-cpu-offload",
    "deepspeed",
    "transformers-trainer",
    /* MindFormers */
    "lists",
    "shares",
    "shares-gradients",
    "expert-model-parallel",
    /* torchtitan */
    "module-fqns-per-model-part",
    "pipeline-parallel-split-points",
    "pipeline-parallel-layers-per-stage",
    "pipeline-parallel-first-stage-less-layers",
    "pipeline-parallel-last-stage-less-layers",
    "pipeline-parallel-microbatches",
    "fsdp-reshard-after-forward",
    "context-parallel-load-balancer",
    "pipeline-runs", /* of one step, several */
    NULL,
};

/* Does a key equal the name, with any kind of dashes? */
static bool is_name(const char *key, const char *name)
{
    for (; *key && *name; key++, name++)
        if (*key != *name && !(*key == '_' && *name == '-'))
            return false;
    return !*key && !*name;
}

static int index_of(const char *name)
{
    for (int i = 0; ek__job_noted[i]; i++)
        if (strcmp(ek__job_noted[i], name) == 0)
            return i;
    return -1;
}

void ek__job_note(ek_job *job, const char *name)
{
    int i = index_of(name);
    assert(i >= 0 && i < 64);
    job->noted |= UINT64_C(1) << i;
}

void ek__job_note_known(ek_job *job, const char *name)
{
    int i = index_of(name);
    assert(i < 64);
    if (i >= 0)
        job->noted |= UINT64_C(1) << i;
}

void ek__job_forget(ek_job *job, const char *name)
{
    int i = index_of(name);
    assert(i >= 0 && i < 64);
    job->noted &= ~(UINT64_C(1) << i);
}

bool ek__job_has(const ek_job *job, const char *name)
{
    int i = index_of(name);
    assert(i >= 0 && i < 64);
    return job->noted >> i & 1;
}

static void note_below(const ek__node *node, ek_job *job)
{
    for (const ek__node *inner = node->first; inner; inner = inner->next) {
        for (int i = 0; inner->key && ek__job_noted[i]; i++)
            if (is_name(inner->key, ek__job_noted[i]) && !ek__node_is_null(inner))
                ek__job_note(job, ek__job_noted[i]);
        note_below(inner, job);
    }
}

void ek__job_note_keys(const ek__config_tree *doc, ek_job *job)
{
    note_below(ek__config_root(doc), job);
}
