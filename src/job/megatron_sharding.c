/* Megatron's ways to share more than the optimizer's states: PyTorch's FSDP, its own FSDP, and DeepSpeed's ZeRO under
 * Megatron-DeepSpeed, with DeepSpeed's JSON where the script names one that is at hand. Of that JSON the stage, the
 * offloading, the overlap, the bucket and what stage 3 keeps gathered are read. Not modelled: stage 1's buckets in
 * memory, which some of its versions have and others have not, a part of the parameters on the host. */
#include <string.h>

#include "job/megatron_run.h"
#include "job/sharding.h"

static ek_status refuse(const ek__arguments *a, const char *name, const char *why)
{
    return ek__fail(a->source->err, EK_ERR_INPUT, ek__argument_at(a, name), "%s", why);
}

/* ---- PyTorch's FSDP ---- */

/* The model is in 16 bits before it is sharded, so shards are, too, and the optimizer keeps fp32 copies of its own; it
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

/* ---- levels ---- */

/* What a level shares besides the one before it. */
static void share(ek__sharding level, ek_job *job)
{
    ek_job_states *states = &job->states;
    states->shard_optimizer = level >= EK__SHARE_OPTIMIZER;
    states->shard_gradient = level >= EK__SHARE_GRADIENTS;
    states->shard_weight = level >= EK__SHARE_WEIGHTS;
    job->run.sums_every_micro_batch = states->shard_gradient;
    if (!states->shard_weight)
        return;
    states->gathered = states->weight;
    states->gathered_ahead = 1;
    job->rules.weight_gather = EK_GATHER_LAYER;
    job->run.overlap_weights = true;
}

/* ---- Megatron's own FSDP ---- */

/* Gradients that are shared are summed in a layer's bucket of the buffer's type, and reduced from there while the next
 * layer's is filled: two of them. */
static ek_status read_own(const ek__arguments *a, ek_job *job)
{
    static const char *const levels[] = {"no_shard", "optim", "optim_grads", "optim_grads_params", NULL};
    int level = 0;
    ek_status status = ek__argument_word(a, "data-parallel-sharding-strategy", levels, &level);
    if (status)
        return status;
    if (level == EK__SHARE_NOTHING && job->states.shard_optimizer)
        level = EK__SHARE_OPTIMIZER;
    share((ek__sharding)level, job);
    if (level >= EK__SHARE_GRADIENTS) {
        job->states.scattered_bytes = 2 * job->states.gradient;
        job->run.overlap_gradients = job->run.layer_buckets = true;
        job->run.bucket_bytes = ek__job_layer_elements(job) * job->run.reduce_bytes;
    }
    job->run.first_stage_buckets = false;
    return EK_OK;
}

/* ---- DeepSpeed ---- */

typedef struct zero {
    int stage;
    bool offloads, overlaps, overlap_said, copies;
    double bucket, reuse, prefetch, live; /* elements */
} zero;

static ek_status read_host(const ek__in *in, const ek__node *map, const char *key, bool *out)
{
    const ek__node *section = NULL;
    ek_status status = ek__optional_map(in, map, key, &section);
    const ek__node *device = status == EK_OK && section ? ek__get(section, "device") : NULL;
    *out = device && device->kind == EK__SCALAR && strcmp(device->text, "none") != 0;
    return status;
}

/* Launchers write "auto" where the trainer has to say it. */
static ek_status read_elements(const ek__in *in, const ek__node *map, zero *z)
{
    const struct {
        const char *key;
        double min, *out;
    } counts[] = {{"reduce_bucket_size", 1, &z->bucket},
                  {"stage3_max_reuse_distance", 0, &z->reuse},
                  {"stage3_prefetch_bucket_size", 0, &z->prefetch},
                  {"stage3_max_live_parameters", 0, &z->live}};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == EK_OK; i++) {
        const ek__node *node = ek__get(map, counts[i].key);
        if (node && !(node->kind == EK__SCALAR && strcmp(node->text, "auto") == 0))
            status = ek__number(in, node, counts[i].min, 1e15, "it is a number of elements", counts[i].out);
    }
    return status;
}

static ek_status read_settings(const ek__in *in, zero *z)
{
    const ek__node *map = NULL;
    bool weights = false;
    ek_status status = ek__optional_map(in, ek__config_root(in->doc), "zero_optimization", &map);
    if (status || !map)
        return status;
    const ek__node *stage = ek__get(map, "stage"), *overlap = ek__get(map, "overlap_comm");
    const ek__node *copies = ek__get(map, "contiguous_gradients");
    if (stage)
        status = ek__int(in, stage, 0, 3, "it is the stage of ZeRO", &z->stage);
    if (status == EK_OK && overlap && !ek__node_is_null(overlap)) {
        z->overlap_said = true;
        status = ek__bool(in, overlap, "it is a switch", &z->overlaps);
    }
    if (status == EK_OK && copies)
        status = ek__bool(in, copies, "it is a switch", &z->copies);
    if (status == EK_OK)
        status = read_elements(in, map, z);
    if (status == EK_OK)
        status = read_host(in, map, "offload_optimizer", &z->offloads);
    if (status == EK_OK)
        status = read_host(in, map, "offload_param", &weights);
    if (weights)
        ek__warn_at(in, ek__get(map, "offload_param"),
                    "keeps weights on the host, which is not modelled; they are predicted on the device");
    return status;
}

static ek_status read_json(const ek__arguments *a, zero *z)
{
    const char *name = NULL;
    ek__config_tree *doc = NULL;
    const ek__word *word =
        ek__argument_given(a, "deepspeed_config") ? ek__argument_value(a, "deepspeed_config", 0) : NULL;
    if (!word)
        return EK_OK; /* its name is known to a run alone */
    name = word->text;
    ek_status status = ek__job_read_other(a->source, name, ek__argument_at(a, "deepspeed_config"),
                                          "the stage of ZeRO is taken from --zero-stage", &doc);
    if (status || !doc)
        return status;
    const ek__in in = {doc, a->source->listener, a->source->err};
    status = read_settings(&in, z);
    ek__config_free(doc);
    return status;
}

/* DeepSpeed's stages 2 and 3, as stage_1_and_2.py, stage3.py and partitioned_param_coordinator.py have them: gradients
 * are copied into a flat buffer until it is full; two buffers with overlap in stage 2. Stage 3 looks at the coming
 * modules before it lets go of a weight, and gathers ahead a number of elements, not layers. */
static void count_elements(const zero *z, ek_job_states *states)
{
    if (z->stage < 2)
        return;
    states->bucket_elements = z->copies ? z->bucket : 0;
    states->n_buckets = z->stage == 2 && z->overlaps ? 2 : 1;
    if (z->stage < 3)
        return;
    states->gathered_ahead = 0;
    states->reuse_elements = z->reuse;
    states->prefetch_elements = z->prefetch;
    states->live_elements = z->live;
}

/* Stage 1 of bf16 sums whole fp32 gradients (BF16_Optimizer); from stage 2 on shares of gradients are of the weights'
 * type, and the optimizer makes fp32 copies of them. */
static ek_status read_deepspeed(const ek__arguments *a, ek_job *job)
{
    zero z = {.stage = 1, .copies = true, .bucket = 5e8, .reuse = 1e9, .prefetch = 5e7, .live = 1e9};
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
    share((ek__sharding)z.stage, job);
    count_elements(&z, states);
    job->run.offload_optimizer = z.offloads && z.stage > 0;
    job->run.overlap_gradients = z.overlap_said ? z.overlaps : z.stage == 3;
    job->run.bucket_bytes = job->run.overlap_gradients ? z.bucket * job->run.reduce_bytes : 0;
    job->run.first_stage_buckets = false;
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
