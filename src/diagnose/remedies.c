/* Lists changes that make a part of a step smaller, one function each: it changes a copy of the job, or returns that
 * there is nothing to change; job/settings.h derives the other members and the settings of the change, so that a change
 * without a setting of the framework is skipped. A new one is such a function and a line in the table. Degrees and
 * layers are not among them: `evenkeel memory --measures` compares those. */
#include "cost/collective.h"
#include "diagnose/predicted.h"
#include "job/megatron_run.h"
#include "job/settings.h"

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

static int group_of(const ek_job *job)
{
    return job->parallel.data * job->parallel.context;
}

/* ---- data parallel ---- */

/* Gradients are cut into buckets once they overlap. */
static void overlap_gradients(ek_job *job)
{
    job->run.overlap_gradients = true;
    if (job->run.bucket_bytes <= 0)
        job->run.bucket_bytes = ek__megatron_bucket(job) * job->run.reduce_bytes;
}

static bool change_overlap_gradients(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->run.overlap_gradients || group_of(job) == 1)
        return false;
    overlap_gradients(job);
    return true;
}

static bool change_overlap_weights(ek_job *job, const ek_device *device)
{
    (void)device;
    bool sharded = job->states.shard_optimizer || job->states.shard_weight;
    if (job->run.overlap_weights || group_of(job) == 1 || !sharded)
        return false;
    overlap_gradients(job);
    job->run.overlap_weights = true;
    return true;
}

static bool change_sum_once(ek_job *job, const ek_device *device)
{
    (void)device;
    int times = job->parallel.n_micro_batches * job->parallel.n_accumulation;
    if (!job->states.shard_gradient || !is_mindformers(job) || times == 1 || group_of(job) == 1)
        return false;
    job->states.shard_gradient = job->run.sums_every_micro_batch = false;
    return true;
}

/* Of MindFormers' models with layers that may gather again for the backward pass. */
static bool change_gather_once(ek_job *job, const ek_device *device)
{
    (void)device;
    bool again = job->states.shard_weight && job->rules.weight_gather == EK_GATHER_LAYER;
    if (!is_mindformers(job) || !again || group_of(job) == 1)
        return false;
    job->rules.weight_gather = EK_GATHER_STEP;
    return true;
}

/* States shared among the group's ranks of one node, copies of them on the others. */
static bool change_share_inside_node(ek_job *job, const ek_device *device)
{
    ek_job_states *s = &job->states;
    int group = group_of(job), inside = device->devices_per_node / job->parallel.tensor;
    bool whole = s->shard_size <= 0 && s->instances <= 1;
    if (!s->shard_optimizer || !whole || inside < 2 || inside >= group || group % inside != 0)
        return false;
    if (job->framework == EK_MEGATRON)
        s->instances = group / inside;
    else
        s->shard_size = inside;
    return true;
}

/* Fewer and longer messages. */
static bool change_larger_buckets(ek_job *job, const ek_device *device)
{
    const double times = 4;
    (void)device;
    if (is_mindformers(job) || !job->run.overlap_gradients || job->run.bucket_bytes <= 0 || job->run.reduce_bytes <= 0)
        return false;
    job->run.bucket_bytes *= times;
    return true;
}

/* ---- groups inside layers ---- */

static bool change_overlap_tensor(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->run.overlap_tensor || job->parallel.tensor == 1)
        return false;
    job->run.overlap_tensor = true;
    if (!is_mindformers(job)) /* it has to be cut over the sequence */
        job->parallel.sequence_parallel = true;
    return true;
}

static bool change_overlap_tensor_gradients(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->run.overlap_tensor_gradients || job->parallel.tensor == 1)
        return false;
    job->run.overlap_tensor_gradients = true;
    return true;
}

static bool change_overlap_experts(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->run.overlap_expert || job->parallel.expert == 1)
        return false;
    job->run.overlap_expert = true;
    return true;
}

static bool change_overlap_shared(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->run.overlap_shared || job->parallel.expert == 1 || job->model.n_shared_experts == 0)
        return false;
    job->run.overlap_shared = true;
    return true;
}

/* Where nothing leaves a node, there is nothing to spare. */
static bool change_send_once(ek_job *job, const ek_device *device)
{
    const ek__ranks experts = ek__placement(job, device, EK__DIM_EXPERT);
    if (job->run.send_once || job->framework != EK_MEGATRON || experts.in[0] >= experts.n)
        return false;
    job->run.send_once = true;
    return true;
}

/* ---- the optimizer ---- */

static bool change_fused_optimizer(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->run.fused_optimizer || job->run.offload_optimizer)
        return false;
    job->run.fused_optimizer = true;
    return true;
}

static bool change_share_states(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->states.shard_optimizer || group_of(job) == 1)
        return false;
    job->states.shard_optimizer = true;
    if (is_mindformers(job)) {
        job->states.shard_weight = true;
        job->states.gathered = job->states.weight;
    }
    return true;
}

static bool change_states_on_device(ek_job *job, const ek_device *device)
{
    (void)device;
    if (!job->run.offload_optimizer)
        return false;
    job->run.offload_optimizer = false;
    return true;
}

/* ---- the host ---- */

static bool change_graphs(ek_job *job, const ek_device *device)
{
    (void)device;
    if (job->run.launch == EK_LAUNCH_GRAPH)
        return false;
    job->run.launch = EK_LAUNCH_GRAPH;
    return true;
}

static bool change_larger_micro_batch(ek_job *job, const ek_device *device)
{
    ek_job_parallel *p = &job->parallel;
    bool accumulates = is_mindformers(job) && p->pipeline == 1;
    int *n = accumulates ? &p->n_accumulation : &p->n_micro_batches;
    (void)device;
    if (*n % 2 || (p->pipeline > 1 && *n / 2 < p->pipeline))
        return false;
    *n /= 2;
    p->batch *= 2;
    return true;
}

/* ---- the table ---- */

#define BESIDE "Collectives slow down overlapped computing by their share of the memory bandwidth."

const ek__remedy ek__remedies[] = {
    {EK_STEP_DATA, "Reduce gradients bucket by bucket during the backward passes of the last micro-batch.", BESIDE,
     change_overlap_gradients},
    {EK_STEP_DATA,
     "Reduce gradients during the last backward passes and gather weights during the first forward passes.",
     "Weights gathered ahead need memory.", change_overlap_weights},
    {EK_STEP_DATA, "Reduce gradients once a step instead of after each micro-batch; their buffer is then not sharded.",
     "The gradient buffer is then as large as the weights.", change_sum_once},
    {EK_STEP_DATA, "Gather weights once a step instead of for every pass of every micro-batch.",
     "Gathered weights then stay in memory for the whole step.", change_gather_once},
    {EK_STEP_DATA, "Shard the optimizer states only within a node, and replicate them across nodes.",
     "Each rank has a larger part of the states.", change_share_inside_node},
    {EK_STEP_DATA, "Use four times larger buckets: fewer and longer messages.",
     "The last bucket, which is exposed, grows.", change_larger_buckets},
    {EK_STEP_TENSOR,
     "Split matrix products of tensor parallel groups into parts and overlap the communication of each part with the "
     "next one.",
     "Smaller products are less efficient.", change_overlap_tensor},
    {EK_STEP_TENSOR, "Overlap the exchange of input gradients with the matrix products of the weight gradients.",
     BESIDE, change_overlap_tensor_gradients},
    {EK_STEP_EXPERT, "Exchange tokens of one micro-batch while another is computed.",
     "Two micro-batches have more live activations.", change_overlap_experts},
    {EK_STEP_EXPERT, "Exchange tokens while the shared experts are computed.", BESIDE, change_overlap_shared},
    {EK_STEP_EXPERT, "Send each token once to each node, and from there to the ranks of its experts (DeepEP).",
     "DeepEP is a separate library for CUDA devices and uses some of their multiprocessors.", change_send_once},
    {EK_STEP_OPTIMIZER, "Update the states in one operator, which reads and writes them once.",
     "Rounding differs in the last digits.", change_fused_optimizer},
    {EK_STEP_OPTIMIZER, "Shard the optimizer states over the data-parallel ranks: each updates its part.",
     "Weights are gathered after every update.", change_share_states},
    {EK_STEP_OPTIMIZER, "Keep the optimizer's states on the device.", "They need device memory.",
     change_states_on_device},
    {EK_STEP_HOST, "Launch whole graphs instead of single kernels.",
     "Graphs need constant shapes and additional memory; CUDA graphs need a CUDA device.", change_graphs},
    {EK_STEP_HOST, "Double the micro-batch and halve their number: kernels get longer, and there are fewer of them.",
     "A larger micro-batch needs more memory, and fewer micro-batches lengthen the pipeline bubble, which the gain "
     "includes.",
     change_larger_micro_batch},
    {EK_STEP_HOST, NULL, NULL, NULL},
};

ek_status ek__remedy_apply(const ek__remedy *remedy, const ek_device *device, ek_job *job,
                           char setting[EK__REMEDY_SETTING], bool *applies, ek_error *err)
{
    ek_job was;
    ek_status status = ek_job_copy(job, &was, err);
    if (status)
        return status;
    *applies = remedy->change_job(job, device);
    if (*applies)
        status = ek__job_follow(&was, job, err);
    const char *why = NULL;
    if (!status && *applies) {
        status = ek__job_settings(&was, job, setting, EK__REMEDY_SETTING, &why, err);
        *applies = !why && setting[0] && !ek__settings_are_cut(setting);
    }
    ek_job_clear(&was);
    return status;
}
