/* Sets the parts of a job that rows of measured runs leave out because their framework fixes them: kind of attention,
 * sharding, overlap. One line a framework; a table names it in the column `framework`, or its source does. Each line's
 * facts are those of the framework's public code and of the papers; docs/measured-runs.md lists them. */
#include <string.h>

#include "calibrate/run_table.h"
#include "job/sharding.h"
#include "job/torchtitan_run.h"

/* ---- number formats of products ---- */

static void set_fp8(const ek__run_layout *layout, ek_fp8 usual, ek_job *job)
{
    const char *words = layout->precision;
    if (!ek__run_has(words, "fp8") && !ek__run_has(words, "float8"))
        return;
    job->run.fp8 = ek__run_has(words, "rowwise")      ? EK_FP8_ROWWISE
                   : ek__run_has(words, "tensorwise") ? EK_FP8_TENSORWISE
                   : ek__run_has(words, "blockwise")  ? EK_FP8_BLOCKWISE
                   : ek__run_has(words, "delayed")    ? EK_FP8_DELAYED
                                                      : usual;
}

/* ---- Megatron ---- */

static void settle_megatron(const ek__run_layout *layout, ek_job *job)
{
    set_fp8(layout, EK_FP8_DELAYED, job);
}

/* Before interleaved stages sent during computing. PyTorch's own data parallel module without a pipeline, which reduces
 * during the backward pass, Megatron's local one with it, which reduces at its end: examples/sc21 of Megatron-LM. */
static void settle_2022(const ek__run_layout *layout, ek_job *job)
{
    job->run.overlap_gradients = layout->pp == 1;
    job->run.bucket_bytes = layout->pp == 1 ? 25 * 1048576.0 : 0;
    job->run.first_stage_buckets = false;
    job->run.overlap_p2p = job->run.overlap_p2p_interleaved = false;
}

/* Before --async-tensor-model-parallel-allreduce. */
static void settle_2021(const ek__run_layout *layout, ek_job *job)
{
    settle_2022(layout, job);
    job->run.overlap_tensor_gradients = false;
}

/* The engine of DeepSpeed without ZeRO: gradients in buckets of 5e8 elements once the last micro-batch is done. Its
 * stages send a part of an activation from each tensor-parallel rank, as Megatron's do. */
static void settle_deepspeed(const ek__run_layout *layout, ek_job *job)
{
    (void)layout;
    job->run.overlap_gradients = job->run.first_stage_buckets = false;
    job->run.bucket_bytes = 5e8 * job->run.reduce_bytes;
    job->run.overlap_p2p = job->run.overlap_p2p_interleaved = false;
    job->run.overlap_tensor_gradients = false;
}

/* NeMo's performance recipes of 24.07: everything overlapped, gradients in 16 bits and buckets of 400 MB, 8 bits by
 * TransformerEngine with scales of earlier steps, weights gathered in them. */
static void settle_nemo(const ek__run_layout *layout, ek_job *job)
{
    set_fp8(layout, EK_FP8_DELAYED, job);
    job->run.bucket_bytes = 400 * 1048576.0;
    job->run.first_stage_buckets = false;
    job->run.fp8_gather = job->run.fp8 != EK_FP8_NONE;
}

/* ---- FSDP of PyTorch ---- */

/* MPT's throughput runs (submit_benchmarks.py of llm-foundry): full shard, weights and moments in 32 bits, "PURE" mixed
 * precision, which gathers and sums in 16, and every micro-batch reduces. "bf16" is the older name of amp_bf16: its
 * capacity check counts 16 bytes a parameter. */
static void settle_composer(const ek__run_layout *layout, ek_job *job)
{
    const ek__fsdp fsdp = {.stored = EK_FP32,
                           .gathered = job->types.compute,
                           .reduced = job->types.compute,
                           .optimizer = 8,
                           .gathers_ends = true,
                           .shard_size = -1};
    ek__job_fsdp(&fsdp, job);
    job->run.layer_buckets = true;
    job->run.p2p_scattered = job->run.overlap_tensor_gradients = false;
    job->run.attention = EK_ATTENTION_TRITON;
    set_fp8(layout, EK_FP8_DELAYED, job);
}

/* The defaults of torchtitan's TOML, except for the row's words: eager or compiled, the loss with the model,
 * asynchronous tensor parallelism and 8 bits, with one scale a tensor by default, and which are then gathered, too. */
static void settle_titan(const ek__run_layout *layout, bool loss, ek_job *job)
{
    ek__torchtitan_run run = ek__torchtitan_run_default();
    set_fp8(layout, EK_FP8_TENSORWISE, job);
    run.sharded = layout->dp * layout->cp > 1;
    run.shard_size = layout->shard_size;
    run.compiled = !ek__run_has(layout->precision, "eager");
    run.compiled_loss = run.compiled && loss;
    run.async_tensor = ek__run_has(layout->precision, "async");
    run.fp8 = job->run.fp8;
    run.fp8_gather = run.fp8 == EK_FP8_TENSORWISE;
    ek__torchtitan_settle(&run, job);
    job->parallel.context_algorithm = EK_CONTEXT_GATHER; /* context_parallel_rotate_method */
}

static void settle_torchtitan(const ek__run_layout *layout, ek_job *job)
{
    settle_titan(layout, true, job);
}

/* Before the loss was compiled with the model (pull request 1033 of torchtitan). */
static void settle_titan_2024(const ek__run_layout *layout, ek_job *job)
{
    settle_titan(layout, false, job);
}

/* ---- InternEvo ---- */

/* ZeRO-1 within groups of shard_size ranks: weights and gradients in 16 bits, the rest in 32. Each rank of a group owns
 * whole tensors. Gradients are summed during computing, 2^29 in a bucket (reduce_bucket_size counts elements); owners
 * broadcast their weights after the update (configs/7B_sft.py of InternEvo). FlashAttention 1.0.5 (doc/en/install.md,
 * and its images); both feed-forward inputs are separate matrices, their activation and product one operator
 * (FeedForward of internlm/model/linear.py). */
static void settle_internevo(const ek__run_layout *layout, ek_job *job)
{
    job->states.weight = job->states.gradient = 2;
    job->states.optimizer = 12;
    job->states.shard_optimizer = true;
    job->run.overlap_gradients = true;
    job->run.overlap_weights = false;
    job->run.bucket_bytes = 2 * 512 * 1048576.0;
    job->run.reduce_bytes = 2;
    job->run.first_stage_buckets = job->run.p2p_scattered = false;
    job->run.owned_tensors = !layout->fsdp;
    job->run.attention = EK_ATTENTION_FLASH1;
    job->model.gate_apart = job->model.gated;
}

/* ---- the list ---- */

#define LOSS  " --cross-entropy-loss-fusion"
#define TITAN " --transformer-impl local --use-flash-attn --sequence-parallel --no-bias-swiglu-fusion"

/* The first line is taken where nothing is said. */
static const ek__run_framework frameworks[] = {
    {.name = "megatron",
     .arguments = " --transformer-impl transformer_engine" LOSS " --moe-grouped-gemm",
     .shares = true,
     .settle = settle_megatron},
    {.name = "megatron-2021",
     .sources = {"2104.04473"},
     .half = true,
     .arguments = " --transformer-impl local --no-gradient-accumulation-fusion",
     .settle = settle_2021},
    {.name = "megatron-2022",
     .sources = {"2205.05198", "calculon"},
     .half = true,
     .arguments = " --transformer-impl local",
     .settle = settle_2022},
    {.name = "megatron-deepspeed",
     .sources = {"vTrain", "Megatron-DeepSpeed"},
     .half = true,
     .arguments = " --transformer-impl local --no-gradient-accumulation-fusion",
     .settle = settle_deepspeed},
    {.name = "simumax",
     .sources = {"SimuMax"},
     .arguments = " --transformer-impl transformer_engine" LOSS " --cross-entropy-fusion-impl te --cp-comm-type a2a"
                  " --moe-grouped-gemm --moe-expert-capacity-factor 1 --moe-pad-expert-input-to-capacity",
     .settle = settle_megatron},
    {.name = "nemo",
     .sources = {"NVIDIA/NeMo"},
     .arguments = " --transformer-impl transformer_engine" LOSS " --use-distributed-optimizer --sequence-parallel"
                  " --moe-grouped-gemm --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap"
                  " --grad-reduce-in-bf16",
     .settle = settle_nemo},
    {.name = "internevo",
     .sources = {"InternEvo"},
     .arguments = " --transformer-impl local --use-flash-attn --no-gradient-accumulation-fusion" LOSS,
     .settle = settle_internevo},
    {.name = "composer",
     .sources = {"llm-foundry"},
     .arguments = " --transformer-impl local --use-flash-attn" LOSS,
     .settle = settle_composer},
    {.name = "torchtitan-2024",
     .sources = {"h100_202412_torchtitan"},
     .arguments = TITAN,
     .titan = true,
     .settle = settle_titan_2024},
    {.name = "torchtitan",
     .sources = {"pytorch/torchtitan"},
     .arguments = TITAN,
     .titan = true,
     .settle = settle_torchtitan},
    {.name = "mindformers", .sources = {"mindformers"}, .mindformers = true},
};
enum { N_FRAMEWORKS = sizeof frameworks / sizeof *frameworks };

static ek_status fail_unknown(const ek__run_row *row, const char *name)
{
    char names[240];
    size_t n = 0;
    for (int i = 0; i < N_FRAMEWORKS; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", frameworks[i].name);
    return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, EK__RUN_FRAMEWORK),
                    "'%.60s' is no framework that is known here; give one of %s", name, names);
}

ek_status ek__run_framework_of(const ek__run_row *row, const ek__run_framework **out)
{
    const char *name = ek__run_cell(row, EK__RUN_FRAMEWORK), *source = ek__run_cell(row, EK__RUN_SOURCE);
    *out = NULL;
    for (int i = 0; i < N_FRAMEWORKS && name[0] && !*out; i++)
        if (strcmp(name, frameworks[i].name) == 0)
            *out = &frameworks[i];
    if (name[0])
        return *out ? EK_OK : fail_unknown(row, name);
    for (int i = 0; i < N_FRAMEWORKS && !*out; i++)
        for (int k = 0; k < 3 && frameworks[i].sources[k] && !*out; k++)
            if (ek__run_has(source, frameworks[i].sources[k]))
                *out = &frameworks[i];
    if (!*out)
        *out = &frameworks[0];
    return EK_OK;
}
