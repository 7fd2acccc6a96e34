/* Reads the settings with which Megatron shards more than the optimizer's states: PyTorch's FSDP, Megatron's FSDP, and
 * DeepSpeed's ZeRO under Megatron-DeepSpeed, with DeepSpeed's JSON if the script names a readable one. */
#include <string.h>

#include "job/deepspeed.h"
#include "job/megatron_run.h"
#include "job/sharding.h"

static ek_status refuse(const ek__arguments *a, const char *name, const char *why)
{
    return ek__fail(a->source->err, EK_ERR_INPUT, ek__argument_at(a, name), "%s", why);
}

/* ---- PyTorch's FSDP ---- */

/* The model is in 16 bits before it is sharded, so shards are, too, and the optimizer keeps its own fp32 copies; it
 * makes fp32 copies of the gradients' shards, as it does of 16-bit gradients (megatron.c). */
static ek_status read_torch(const ek__arguments *a, ek_job *job)
{
    static const char name[] = "use-torch-fsdp2";
    if (job->parallel.pipeline > 1)
        return refuse(a, name, "--use-torch-fsdp2 does not go with pipeline stages; leave one of them out");
    if (job->parallel.expert > 1)
        return refuse(a, name, "--use-torch-fsdp2 does not go with expert parallelism; leave one of them out");
    if (job->states.shard_optimizer)
        return refuse(a, name,
                      "--use-torch-fsdp2 does not go with --use-distributed-optimizer; leave that out, the "
                      "states are shared anyway");
    ek_dtype weight = job->types.param;
    const ek__fsdp fsdp = {.stored = weight,
                           .gathered = weight,
                           .reduced = weight,
                           .optimizer = weight == EK_FP32 ? 8 : 16,
                           .keeps = ek__argument_given(a, "torch-fsdp2-no-reshard-after-forward"),
                           .shard_size = -1};
    ek__job_fsdp(&fsdp, job);
    return EK_OK;
}

/* ---- Megatron's own FSDP ---- */

/* Sharded gradients are summed in a layer's bucket of the buffer's type, and reduced from there while the next layer's
 * is filled: two of them. */
static ek_status read_own(const ek__arguments *a, ek_job *job)
{
    static const char *const levels[] = {"no_shard", "optim", "optim_grads", "optim_grads_params", NULL};
    int level = 0;
    ek_status status = ek__argument_word(a, "data-parallel-sharding-strategy", levels, &level);
    if (status)
        return status;
    if (level == EK__SHARE_NOTHING && job->states.shard_optimizer)
        level = EK__SHARE_OPTIMIZER;
    ek__job_share((ek__sharding)level, job);
    if (level >= EK__SHARE_GRADIENTS) {
        job->states.scattered_bytes = 2 * job->states.gradient;
        job->run.overlap_gradients = job->run.layer_buckets = true;
        job->run.bucket_bytes = ek__job_layer_elements(job) * job->run.reduce_bytes;
    }
    job->run.first_stage_buckets = false;
    return EK_OK;
}

/* ---- DeepSpeed ---- */

static ek_status read_json(const ek__arguments *a, ek__zero *z)
{
    const char *name = NULL;
    ek__config_tree *doc = NULL;
    const ek__word *word =
        ek__argument_given(a, "deepspeed_config") ? ek__argument_value(a, "deepspeed_config", 0) : NULL;
    if (!word)
        return EK_OK; /* its name is known only in a run */
    name = word->text;
    ek_status status = ek__job_read_other(a->source, name, ek__argument_at(a, "deepspeed_config"),
                                          "the stage of ZeRO is taken from --zero-stage", &doc);
    if (status || !doc)
        return status;
    const ek__in in = {doc, a->source->listener, a->source->err};
    status = ek__zero_read(&in, ek__config_root(doc), z);
    ek__config_free(doc);
    return status;
}

/* Stage 1 of bf16 sums whole fp32 gradients (BF16_Optimizer); from stage 2 on gradient shards have the weights' type,
 * and the optimizer makes fp32 copies of them. */
static ek_status read_deepspeed(const ek__arguments *a, ek_job *job)
{
    ek__zero z = ek__zero_usual();
    z.stage = 1;
    ek_job_states *states = &job->states;
    ek_status status = ek__argument_int(a, "zero-stage", 0, 3, &z.stage);
    if (status == EK_OK)
        status = read_json(a, &z);
    if (status)
        return status;
    if (z.stage >= 2 && states->weight == 2 && states->gradient == 4) {
        states->gradient = 2;
        states->optimizer += 4;
        job->run.reduce_bytes = 2;
    }
    ek__zero_share(&z, job);
    job->rules.weight_gradient_fused = job->rules.dummy_gradients = false;
    return EK_OK;
}

/* ---- which ---- */

ek_status ek__megatron_read_sharding(const ek__arguments *a, ek_job *job)
{
    static const char strategy[] = "data-parallel-sharding-strategy";
    bool torch = ek__argument_given(a, "use-torch-fsdp2"), own = ek__argument_given(a, "use-megatron-fsdp");
    bool deepspeed = ek__argument_given(a, "deepspeed");
    if (torch && own)
        return refuse(a, "use-megatron-fsdp",
                      "--use-megatron-fsdp does not go with --use-torch-fsdp2; leave one of them "
                      "out");
    if (!own && ek__argument_given(a, strategy))
        ek__argument_warn_idle(a, strategy,
                               "--data-parallel-sharding-strategy does nothing without --use-megatron-fsdp");
    if (!deepspeed && ek__argument_given(a, "zero-stage"))
        ek__argument_warn_idle(a, "zero-stage", "--zero-stage does nothing without --deepspeed");
    return torch ? read_torch(a, job) : own ? read_own(a, job) : deepspeed ? read_deepspeed(a, job) : EK_OK;
}
