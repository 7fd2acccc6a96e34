/* What could make a part of a step smaller, one function each: it changes a copy of the job as the framework's reader
 * would, had the setting stood in the file. A new one is such a function and a line in the table. Degrees and layers
 * are not among them: `evenkeel memory --measures` compares those. */
#include <stdio.h>
#include <string.h>

#include "diagnose/predicted.h"
#include "job/megatron_run.h"

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

/* @param megatron  arguments; keys of MindSpeed's YAML in `mindspeed`. NULL: the framework has none
 * @return whether there is a setting */
static bool say(const ek_job *job, char *setting, const char *mindformers, const char *mindspeed, const char *megatron)
{
    const char *text = is_mindformers(job) ? mindformers : job->framework == EK_MINDSPEED ? mindspeed : megatron;
    snprintf(setting, EK__REMEDY_SETTING, "%s", text ? text : "");
    return text != NULL;
}

static int group_of(const ek_job *job)
{
    return job->parallel.data * job->parallel.context;
}

/* ---- data parallel ---- */

/* Buckets are what gradients are cut into once they overlap. */
static void overlap_gradients(ek_job *job)
{
    job->run.overlap_gradients = true;
    if (job->run.bucket_bytes <= 0)
        job->run.bucket_bytes = ek__megatron_bucket(job) * job->run.reduce_bytes;
}

static bool apply_overlap_gradients(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (job->run.overlap_gradients || group_of(job) == 1)
        return false;
    overlap_gradients(job);
    return say(job, setting, "parallel_speed_up_json: enable_grad_comm_opt: True", "overlap_grad_reduce: True",
               "--overlap-grad-reduce");
}

static bool apply_overlap_weights(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    bool sharded = job->states.shard_optimizer || job->states.shard_weight;
    if (job->run.overlap_weights || group_of(job) == 1 || !sharded)
        return false;
    overlap_gradients(job);
    job->run.overlap_weights = true;
    return say(job, setting, "parallel_speed_up_json: enable_grad_comm_opt: True, enable_opt_shard_comm_opt: True",
               "overlap_grad_reduce: True\noverlap_param_gather: True", "--overlap-grad-reduce --overlap-param-gather");
}

static bool apply_sum_once(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    int times = job->parallel.n_micro_batches * job->parallel.n_accumulation;
    if (!job->states.shard_gradient || !is_mindformers(job) || times == 1 || group_of(job) == 1)
        return false;
    job->states.shard_gradient = job->run.sums_every_micro_batch = false;
    return say(job, setting,
               "parallel.parallel_optimizer_config.gradient_accumulation_shard: False, optimizer_level: level1", NULL,
               NULL);
}

/* Of MindFormers' models whose layers may gather again for the backward pass. */
static bool apply_gather_once(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    bool again = job->states.shard_weight && job->rules.weight_gather == EK_GATHER_LAYER;
    if (!is_mindformers(job) || !again || group_of(job) == 1)
        return false;
    job->rules.weight_gather = EK_GATHER_STEP;
    return say(job, setting, "recompute_config.parallel_optimizer_comm_recompute: False", NULL, NULL);
}

/* States shared among the group's ranks of one node, copies of them on the others. */
static bool apply_share_inside_node(ek_job *job, const ek_device *device, char *setting)
{
    ek_job_states *s = &job->states;
    int group = group_of(job), inside = device->devices_per_node / job->parallel.tensor;
    bool whole = s->shard_size <= 0 && s->instances <= 1;
    if (!s->shard_optimizer || !whole || inside < 2 || inside >= group || group % inside != 0)
        return false;
    if (job->framework == EK_MEGATRON) {
        s->instances = group / inside;
        snprintf(setting, EK__REMEDY_SETTING, "--num-distributed-optimizer-instances %d", s->instances);
        return true;
    }
    s->shard_size = inside;
    snprintf(setting, EK__REMEDY_SETTING, "%s: %d",
             is_mindformers(job) ? "parallel.parallel_optimizer_config.optimizer_weight_shard_size" : "zero_shard_size",
             inside);
    return true;
}

/* Fewer and longer messages. */
static bool apply_larger_buckets(ek_job *job, const ek_device *device, char *setting)
{
    const double times = 4;
    (void)device;
    if (is_mindformers(job) || !job->run.overlap_gradients || job->run.bucket_bytes <= 0 || job->run.reduce_bytes <= 0)
        return false;
    job->run.bucket_bytes *= times;
    snprintf(setting, EK__REMEDY_SETTING, "%s%.0f",
             job->framework == EK_MINDSPEED ? "bucket_size: " : "--ddp-bucket-size ",
             job->run.bucket_bytes / job->run.reduce_bytes);
    return true;
}

/* ---- groups inside layers ---- */

static bool apply_overlap_tensor(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    bool parts = job->parallel.sequence_parallel;
    if (job->run.overlap_tensor || job->parallel.tensor == 1)
        return false;
    job->run.overlap_tensor = true;
    if (!is_mindformers(job)) /* it has to be cut over the sequence */
        job->parallel.sequence_parallel = true;
    return say(job, setting, "parallel_speed_up_json: compute_communicate_fusion_level: 3", NULL,
               parts ? "--tp-comm-overlap" : "--sequence-parallel --tp-comm-overlap");
}

static bool apply_overlap_tensor_gradients(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (job->run.overlap_tensor_gradients || job->parallel.tensor == 1)
        return false;
    job->run.overlap_tensor_gradients = true;
    return say(job, setting, "parallel_speed_up_json: matmul_grad_comm_overlap: True", NULL,
               "(without --no-async-tensor-model-parallel-allreduce)");
}

static bool apply_overlap_experts(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (job->run.overlap_expert || job->parallel.expert == 1)
        return false;
    job->run.overlap_expert = true;
    return say(job, setting, NULL, NULL, "--overlap-moe-expert-parallel-comm");
}

static bool apply_overlap_shared(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (job->run.overlap_shared || job->parallel.expert == 1 || job->model.n_shared_experts == 0)
        return false;
    job->run.overlap_shared = true;
    return say(job, setting, NULL, "moe_shared_expert_overlap: True", "--moe-shared-expert-overlap");
}

/* ---- the optimizer ---- */

static bool apply_fused_optimizer(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (job->run.fused_optimizer || job->run.offload_optimizer)
        return false;
    job->run.fused_optimizer = true;
    return say(job, setting, "optimizer.use_fused: True", NULL, NULL);
}

static bool apply_share_states(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (job->states.shard_optimizer || group_of(job) == 1)
        return false;
    job->states.shard_optimizer = true;
    if (is_mindformers(job)) {
        job->states.shard_weight = true;
        job->states.gathered = job->states.weight;
    }
    return say(job, setting, "parallel.enable_parallel_optimizer: True", "use_distributed_optimizer: True",
               "--use-distributed-optimizer");
}

static bool apply_states_on_device(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (!job->run.offload_optimizer)
        return false;
    job->run.offload_optimizer = false;
    return say(job, setting, "optimizer.swap: False", NULL, "(without --optimizer-cpu-offload)");
}

/* ---- the host ---- */

static bool apply_graphs(ek_job *job, const ek_device *device, char *setting)
{
    (void)device;
    if (job->run.launch == EK_LAUNCH_GRAPH)
        return false;
    job->run.launch = EK_LAUNCH_GRAPH;
    return say(job, setting, "context.mode: 0", "context.mode: 0", "--cuda-graph-impl local");
}

static bool apply_larger_micro_batch(ek_job *job, const ek_device *device, char *setting)
{
    ek_job_parallel *p = &job->parallel;
    bool accumulates = is_mindformers(job) && p->pipeline == 1;
    int *n = accumulates ? &p->n_accumulation : &p->n_micro_batches;
    (void)device;
    if (*n % 2 || (p->pipeline > 1 && *n / 2 < p->pipeline))
        return false;
    *n /= 2;
    p->batch *= 2;
    if (!is_mindformers(job))
        snprintf(setting, EK__REMEDY_SETTING, "%s%d",
                 job->framework == EK_MINDSPEED ? "micro_batch_size: " : "--micro-batch-size ", p->batch);
    else
        snprintf(setting, EK__REMEDY_SETTING, "runner_config.batch_size: %d, %s: %d", p->batch,
                 accumulates ? "runner_config.gradient_accumulation_steps" : "parallel_config.micro_batch_num", *n);
    return true;
}

/* ---- the table ---- */

#define BESIDE "Collectives beside computing slow it by what they share of the memory's bandwidth."

const ek__remedy ek__remedies[] = {
    {EK_STEP_DATA, "Reduce gradients bucket by bucket behind the last micro-batch's backward passes.", BESIDE,
     apply_overlap_gradients},
    {EK_STEP_DATA, "Reduce gradients behind the last backward passes and gather weights behind the first forward ones.",
     "Weights gathered ahead take memory.", apply_overlap_weights},
    {EK_STEP_DATA, "Reduce gradients once a step instead of after each micro-batch; their buffer is then whole.",
     "The buffer of gradients is as large as the weights again.", apply_sum_once},
    {EK_STEP_DATA, "Gather weights once a step instead of for every pass of every micro-batch.",
     "Gathered weights then stay for the whole step.", apply_gather_once},
    {EK_STEP_DATA, "Share the optimizer's states inside a node alone, and copy them over the nodes.",
     "Each rank holds a larger part of the states.", apply_share_inside_node},
    {EK_STEP_DATA, "Four times larger buckets: fewer and longer messages.", "The last bucket, which is exposed, grows.",
     apply_larger_buckets},
    {EK_STEP_TENSOR, "Cut products of tensor parallel groups into parts whose communication runs beside the next part.",
     "Smaller products are less efficient.", apply_overlap_tensor},
    {EK_STEP_TENSOR, "Exchange gradients of inputs behind the products of the weights' gradients.", BESIDE,
     apply_overlap_tensor_gradients},
    {EK_STEP_EXPERT, "Exchange tokens of one micro-batch while another one is computed.",
     "Two micro-batches hold more activations at once.", apply_overlap_experts},
    {EK_STEP_EXPERT, "Exchange tokens while the shared experts are computed.", BESIDE, apply_overlap_shared},
    {EK_STEP_OPTIMIZER, "Update the states in one operator, which reads and writes them once.",
     "Rounding differs in the last digits.", apply_fused_optimizer},
    {EK_STEP_OPTIMIZER, "Share the optimizer's states among the data-parallel ranks: each updates its part.",
     "Weights are gathered after every update.", apply_share_states},
    {EK_STEP_OPTIMIZER, "Keep the optimizer's states on the device.", "They take memory of the device.",
     apply_states_on_device},
    {EK_STEP_HOST, "Hand whole graphs to the device instead of one kernel at a time.",
     "Graphs need shapes that stay the same, and memory of their own; CUDA graphs need a CUDA device.", apply_graphs},
    {EK_STEP_HOST, "Double the micro-batch and halve their number: kernels get longer, and there are fewer of them.",
     "A larger micro-batch takes memory, and fewer of them lengthen the pipeline's bubble, which is counted.",
     apply_larger_micro_batch},
    {EK_STEP_HOST, NULL, NULL, NULL},
};
