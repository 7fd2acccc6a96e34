/* Sets types, states and overlaps of a torchtitan run from its settings, after parallelize.py, pipeline_parallel.py and
 * float8.py of its repository. FSDP gathers in the compute type and reduces in its own type; with a pipeline weights
 * stay gathered and gradients whole between micro-batches. */
#include "job/torchtitan_run.h"

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "job/sharding.h"

/* replicate()'s buckets of gradients */
#define REPLICATE_BYTES (100 * 1048576.0)

ek__torchtitan_run ek__torchtitan_run_default(void)
{
    return (ek__torchtitan_run){.stored = EK_FP32,
                                .gathered = EK_BF16,
                                .reduced = EK_FP32,
                                .n_moments = 2,
                                .sharded = true,
                                .shard_size = -1,
                                .fused_optimizer = true};
}

static void settle_types(const ek__torchtitan_run *run, ek_job *job)
{
    ek_dtype held = run->sharded ? run->gathered : run->stored; /* gathered in this type like all others */
    job->types = (ek_job_types){.compute = run->gathered,
                                .param = run->stored,
                                .embedding = held,
                                .norm = held,
                                .softmax = EK_FP32,
                                .rotary = run->gathered,
                                .router = run->gathered,
                                .residual = run->gathered};
}

/* Whole copies on each rank: replicate(), or a single one. */
static void settle_whole(const ek__torchtitan_run *run, ek_job *job)
{
    int bytes = ek_dtype_bytes(run->stored);
    job->states = (ek_job_states){.weight = bytes,
                                  .gradient = bytes,
                                  .optimizer = run->n_moments * bytes,
                                  .shard_table = true,
                                  .shard_size = run->shard_size};
    job->rules.weight_gather = EK_GATHER_NONE;
    job->run.reduce_bytes = bytes;
    job->run.bucket_bytes = REPLICATE_BYTES;
    job->run.overlap_gradients = true;
}

static void settle_sharded(const ek__torchtitan_run *run, ek_job *job)
{
    bool piped = job->parallel.pipeline > 1;
    const ek__fsdp fsdp = {.stored = run->stored,
                           .gathered = run->gathered,
                           .reduced = run->reduced,
                           .optimizer = run->n_moments * ek_dtype_bytes(run->stored),
                           .keeps = run->reshard == EK__RESHARD_NEVER || (run->reshard == EK__RESHARD_DEFAULT && piped),
                           .sums_whole = piped,
                           .gathers_ends = true,
                           .shard_size = run->shard_size};
    ek__job_fsdp(&fsdp, job);
}

void ek__torchtitan_settle(const ek__torchtitan_run *run, ek_job *job)
{
    job->framework = EK_TORCHTITAN;
    job->family = EK_FAMILY_LLAMA;
    job->model.qkv_concat = false;
    job->model.fused_swiglu = job->model.gate_apart = run->compiled; /* two products, followed by one kernel */
    job->rules = ek_rules_default(EK_TORCHTITAN);
    job->rules.loss_fused = run->compiled_loss;
    /* Over tensor parallel ranks the loss works on its input, the gradient, exponentials and their sum (loss.py of
     * PyTorch's tensor.parallel). */
    if (job->parallel.tensor > 1)
        job->rules.loss_buffers = 4;
    job->states.instances = 0;
    job->run = (ek_job_run){.launch = run->compiled ? EK_LAUNCH_COMPILED : EK_LAUNCH_EAGER,
                            .overlap_tensor = run->async_tensor && run->compiled,
                            .fp8 = run->fp8,
                            .fp8_gather = run->fp8 != EK_FP8_NONE && run->fp8_gather,
                            .fused_optimizer = run->fused_optimizer,
                            .offload_optimizer = run->offloads,
                            .context_uneven = true,            /* as shown by its published runs with long sequences */
                            .attention = EK_ATTENTION_FLASH2}; /* the first choice of scaled_dot_product_attention() */
    if (run->sharded)
        settle_sharded(run, job);
    else
        settle_whole(run, job);
    settle_types(run, job);
}

ek_status ek__torchtitan_spread(const ek__torchtitan_split *s, ek_origin place, ek_job *job, ek_error *err)
{
    int p = job->parallel.pipeline, n_chunks = p == 1 ? 1 : s->n_chunks, n = p * n_chunks;
    int counted = job->model.n_layers + s->first_less + s->last_less;
    ek_status status = ek_plan_init(&job->plan, p, n_chunks, err);
    if (status)
        return status;
    for (int q = 0; q < n; q++) {
        int less = n == 1 ? s->first_less + s->last_less : q == 0 ? s->first_less : q == n - 1 ? s->last_less : 0;
        int layers = counted / n + (q < counted % n) - less;
        if (layers < 0)
            return ek__fail(err, EK_ERR_INPUT, place,
                            "%d layers, with %d for the embedding and %d for the output, leave nothing for part %d of "
                            "%d; give fewer stages",
                            job->model.n_layers, s->first_less, s->last_less, q, n);
        job->plan.layers[ek_cell_at(n == 1 ? EK_PLACE_WRAP : s->schedule->placement, p, q)] = layers;
    }
    return EK_OK;
}

/* The recomputed layers of a cell, every n-th one, counted from the stage's first chunk on. */
static int every(const ek_plan *plan, int cell, int n)
{
    int before = 0;
    for (int c = cell % plan->n_stages; c < cell; c += plan->n_stages)
        before += plan->layers[c];
    return (before + plan->layers[cell]) / n - before / n;
}

void ek__torchtitan_every(ek_plan *plan, int n)
{
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        plan->full[c] = every(plan, c, n);
}

static bool is_every(const ek_plan *plan, int n)
{
    bool is = true;
    for (int c = 0; c < plan->n_stages * plan->n_chunks && is; c++)
        is = plan->full[c] == every(plan, c, n);
    return is;
}

int ek__torchtitan_period(const ek_plan *plan)
{
    int n = 1;
    while (n <= EK_MAX_LAYERS && !is_every(plan, n))
        n++;
    return n <= EK_MAX_LAYERS ? n : 0;
}
