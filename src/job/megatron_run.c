/* Sets how a step of Megatron-LM or MindSpeed-LLM runs (job->run). The meaning and default of an argument follow
 * validate_args() of megatron/training/arguments.py and DistributedDataParallel of Megatron Core 0.12. Combinations
 * that Megatron rejects give a warning and are assumed to be off, since memory does not depend on them. */
#include "job/megatron_run.h"

#include <stddef.h>

typedef struct switches {
    const char *name;
    size_t at; /* in ek_job_run */
    bool value;
} switches;

static const switches table[] = {
    {"overlap-grad-reduce", offsetof(ek_job_run, overlap_gradients), true},
    {"overlap-param-gather", offsetof(ek_job_run, overlap_weights), true},
    {"tp-comm-overlap", offsetof(ek_job_run, overlap_tensor), true},
    {"use-ascend-mc2", offsetof(ek_job_run, overlap_tensor), true},
    {"use-ascend-coc", offsetof(ek_job_run, overlap_tensor), true},
    {"no-async-tensor-model-parallel-allreduce", offsetof(ek_job_run, overlap_tensor_gradients), false},
    {"no-overlap-p2p-communication", offsetof(ek_job_run, overlap_p2p_interleaved), false},
    {"no-scatter-gather-tensors-in-pipeline", offsetof(ek_job_run, p2p_scattered), false},

    {"moe-shared-expert-overlap", offsetof(ek_job_run, overlap_shared), true},
    {"overlap-moe-expert-parallel-comm", offsetof(ek_job_run, overlap_expert), true},
    {"moe-fb-overlap", offsetof(ek_job_run, overlap_expert), true},
    {"moe-alltoall-overlap-comm", offsetof(ek_job_run, overlap_expert), true},
    {"moe-allgather-overlap-comm", offsetof(ek_job_run, overlap_expert), true},
};

void ek__megatron_run_defaults(ek_job *job)
{
    job->run = (ek_job_run){.launch = EK_LAUNCH_EAGER,
                            .fused_optimizer = true,
                            .reduce_bytes = job->states.gradient,
                            .overlap_tensor_gradients = true,
                            .overlap_p2p_interleaved = true,
                            .overlap_p2p = job->plan.n_chunks > 1,
                            .p2p_scattered = true,
                            .first_stage_buckets = true};
}

double ek__megatron_bucket(const ek_job *job)
{
    const double least = 40e6, of_rank = 1e6 * job->parallel.data;
    return least > of_rank ? least : of_rank;
}

static void read_switches(const ek__arguments *a, ek_job_run *run)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (ek__argument_given(a, table[i].name))
            *(bool *)((char *)run + table[i].at) = table[i].value;
    if (ek__argument_given(a, "disable-tp-comm-overlap-ag") && ek__argument_given(a, "disable-tp-comm-overlap-rs"))
        run->overlap_tensor = false;
}

/* ---- gradients and weights of the data-parallel ranks ---- */

static ek_status read_buckets(const ek__arguments *a, ek_job *job)
{
    static const char name[] = "ddp-bucket-size";
    ek_job_run *run = &job->run;
    double elements = ek__megatron_bucket(job);
    ek_status status = ek__argument_number(a, name, 1, 1e12, &elements);
    if (run->overlap_gradients)
        run->bucket_bytes = elements * run->reduce_bytes;
    else if (ek__argument_given(a, name))
        ek__argument_warn_idle(a, name,
                               "--ddp-bucket-size does nothing without --overlap-grad-reduce: all gradients are "
                               "reduced at once");
    return status;
}

static void check_weights(const ek__arguments *a, ek_job *job)
{
    ek_job_run *run = &job->run;
    if (!run->overlap_weights || ek__argument_given(a, "use-megatron-fsdp") ||
        (job->states.shard_optimizer && run->overlap_gradients))
        return;
    run->overlap_weights = false;
    ek__argument_warn_idle(a, "overlap-param-gather",
                           job->states.shard_optimizer
                               ? "--overlap-param-gather needs --overlap-grad-reduce; it is taken as not given"
                               : "--overlap-param-gather needs --use-distributed-optimizer; it is taken as not given");
}

/* ---- tensor parallel groups and stages ---- */

static void check_overlaps(const ek__arguments *a, ek_job *job)
{
    static const char tensor[] = "tp-comm-overlap", p2p[] = "overlap-p2p-communication";
    ek_job_run *run = &job->run;
    if (ek__argument_given(a, tensor) && !job->parallel.sequence_parallel) {
        run->overlap_tensor = false;
        ek__argument_warn_idle(a, tensor,
                               job->parallel.tensor > 1
                                   ? "--tp-comm-overlap needs --sequence-parallel; it is taken as not given"
                                   : "--tp-comm-overlap does nothing with one tensor-parallel rank");
    }
    run->overlap_p2p = run->overlap_p2p_interleaved && job->plan.n_chunks > 1;
    if (ek__argument_given(a, p2p) && job->plan.n_chunks == 1 && job->parallel.pipeline > 1)
        ek__argument_warn_idle(a, p2p,
                               "--overlap-p2p-communication has no effect without interleaved stages, since only their "
                               "transfers overlap with computing");
}

/* ---- 8-bit products ---- */

static ek_status read_recipe(const ek__arguments *a, ek_fp8 *out)
{
    static const char *const recipes[] = {"delayed", "tensorwise", "rowwise", "blockwise", "mxfp8", NULL};
    static const ek_fp8 kinds[] = {EK_FP8_DELAYED, EK_FP8_TENSORWISE, EK_FP8_ROWWISE, EK_FP8_BLOCKWISE,
                                   EK_FP8_BLOCKWISE};
    int which = 0;
    ek_status status = ek__argument_word(a, "fp8-recipe", recipes, &which);
    *out = kinds[which];
    return status;
}

static const char *format_argument(const ek__arguments *a)
{
    static const char *const names[] = {"fp8-format", "fp8-hybrid", "fp8-e4m3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ek__argument_given(a, names[i]))
            return names[i];
    return NULL;
}

static ek_status read_fp8(const ek__arguments *a, ek_job *job)
{
    static const char *const formats[] = {"e4m3", "hybrid", NULL};
    static const char *const implementations[] = {"transformer_engine", "inference_optimized", "local", NULL};
    const char *name = format_argument(a);
    int format = 0, implementation = 0;
    ek_fp8 recipe = EK_FP8_DELAYED;
    ek_status status = ek__argument_word(a, "fp8-format", formats, &format);
    if (status == EK_OK)
        status = read_recipe(a, &recipe);
    if (status == EK_OK)
        status = ek__argument_word(a, "transformer-impl", implementations, &implementation);
    if (status)
        return status;
    if (!name) {
        if (ek__argument_given(a, "fp8-recipe") || ek__argument_given(a, "fp8-param-gather"))
            ek__argument_warn_idle(a, ek__argument_given(a, "fp8-recipe") ? "fp8-recipe" : "fp8-param-gather",
                                   "nothing is computed in 8 bits, since --fp8-format is not given");
        return EK_OK;
    }
    if (implementation == 2) {
        ek__argument_warn_idle(a, name,
                               "8-bit products need --transformer-impl transformer_engine; they are taken as 16-bit");
        return EK_OK;
    }
    job->run.fp8 = recipe;
    job->run.fp8_gather = ek__argument_given(a, "fp8-param-gather");
    if (job->states.shard_weight)
        ek__warn(a->source->listener, ek__argument_at(a, name),
                 "--%s with sharded weights: their copies in 8 bits are predicted to be made anew for each pass", name);
    return EK_OK;
}

/* ---- the optimizer ---- */

/* All of the states on the host, or none: a part of them is not modelled. */
static ek_status read_offload(const ek__arguments *a, ek_job_run *run)
{
    static const char name[] = "optimizer-cpu-offload", part[] = "optimizer-offload-fraction";
    double fraction = 1;
    ek_status status = ek__argument_number(a, part, 0, 1, &fraction);
    run->offload_optimizer = status == EK_OK && ek__argument_given(a, name) && fraction == 1;
    if (status == EK_OK && ek__argument_given(a, name) && fraction > 0 && fraction < 1)
        ek__warn(a->source->listener, ek__argument_at(a, part),
                 "--optimizer-offload-fraction is %g; states of the optimizer are predicted as if all stayed on the "
                 "device",
                 fraction);
    return status;
}

/* ---- exchange of tokens ---- */

/* Megatron's flex dispatcher runs the named backend, DeepEP or HybridEP: both send a token once to each node.
 */
static ek_status read_dispatcher(const ek__arguments *a, ek_job_run *run)
{
    static const char *const dispatchers[] = {"allgather", "alltoall", "alltoall_seq", "flex", NULL};
    enum { FLEX = 3 };
    int dispatcher = 0;
    ek_status status = ek__argument_word(a, "moe-token-dispatcher-type", dispatchers, &dispatcher);
    run->send_once = dispatcher == FLEX;
    return status;
}

/* ---- launches ---- */

static ek_status read_launch(const ek__arguments *a, ek_job_run *run)
{
    static const char *const kinds[] = {"none", "local", "transformer_engine", NULL};
    int kind = 0;
    ek_status status = ek__argument_word(a, "cuda-graph-impl", kinds, &kind);
    if (kind > 0 || ek__argument_given(a, "enable-cuda-graph") || ek__argument_given(a, "external-cuda-graph"))
        run->launch = EK_LAUNCH_GRAPH;
    return status;
}

ek_status ek__megatron_read_run(const ek__arguments *a, ek_job *job)
{
    ek__megatron_run_defaults(job);
    read_switches(a, &job->run);
    check_overlaps(a, job);
    check_weights(a, job);
    ek_status status = read_buckets(a, job);
    if (status == EK_OK)
        status = read_offload(a, &job->run);
    if (status == EK_OK)
        status = ek__megatron_read_sharding(a, job);
    if (status == EK_OK)
        status = read_fp8(a, job);
    if (status == EK_OK)
        status = read_dispatcher(a, &job->run);
    return status ? status : read_launch(a, &job->run);
}
