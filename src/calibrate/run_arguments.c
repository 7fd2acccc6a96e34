/* Writes a layout as arguments of Megatron, reads them like a user's script, and then sets what such arguments cannot
 * express: sharing of states and overlap. So a row's job has every default of a script's job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/run_table.h"
#include "job/sharding.h"
#include "job/torchtitan_run.h"

static void add_model(ek__run_text *t, const ek__run_layout *l)
{
    static const char *const styles[EK_N_MODEL_STYLES] = {
        [EK_STYLE_GPT] = "",
        [EK_STYLE_MPT] = " --attention-dropout 0 --hidden-dropout 0",
        [EK_STYLE_LLAMA] = " --swiglu --normalization RMSNorm --disable-bias-linear"
                           " --untie-embeddings-and-output-weights --position-embedding-type rope"
                           " --attention-dropout 0 --hidden-dropout 0",
        [EK_STYLE_QWEN] = " --swiglu --normalization RMSNorm --disable-bias-linear --add-qkv-bias"
                          " --untie-embeddings-and-output-weights --position-embedding-type rope"
                          " --attention-dropout 0 --hidden-dropout 0",
        [EK_STYLE_NEMOTRON] = (" --disable-bias-linear --untie-embeddings-and-output-weights"
                               " --position-embedding-type rope --attention-dropout 0 --hidden-dropout 0"),
    };
    ek__run_write(
        t, "--num-layers %d --hidden-size %d --ffn-hidden-size %d --num-attention-heads %d --padded-vocab-size %d",
        l->layers, l->hidden, l->ffn, l->heads, l->vocab);
    if (l->kv_heads != l->heads)
        ek__run_write(t, " --group-query-attention --num-query-groups %d", l->kv_heads);
    ek__run_write(t, "%s", styles[l->style]);
}

/* Of the layers that are left of a model, those without experts: the model's first ones, one where it is cut short. */
static void add_experts(ek__run_text *t, const ek__run_layout *l)
{
    const ek_public_model *m = l->model;
    if (!m || m->experts == 0)
        return;
    int dense = l->layers < m->layers && m->dense_layers > 1 ? 1 : m->dense_layers;
    ek__run_write(t, " --num-experts %d --moe-router-topk %d --moe-ffn-hidden-size %d", m->experts, m->top_k,
                  m->expert_ffn);
    if (m->shared_ffn > 0)
        ek__run_write(t, " --moe-shared-expert-intermediate-size %d", m->shared_ffn);
    if (dense > 0 && dense < l->layers)
        ek__run_write(t, " --moe-layer-freq ([0]*%d+[1]*%d)", dense, l->layers - dense);
    if (m->kv_lora > 0)
        ek__run_write(t,
                      " --multi-latent-attention --qk-layernorm --q-lora-rank %d --kv-lora-rank %d --qk-head-dim 128"
                      " --qk-pos-emb-head-dim 64 --v-head-dim 128",
                      m->q_lora, m->kv_lora);
}

/* Even chunks; where layers do not divide, the first chunks have one more. */
static void add_stages(ek__run_text *t, const ek__run_layout *l)
{
    int chunks = l->pp * l->vpp;
    ek__run_write(t, " --pipeline-model-parallel-size %d", l->pp);
    if (l->layers % chunks == 0 && l->vpp > 1)
        ek__run_write(t, " --num-layers-per-virtual-pipeline-stage %d", l->layers / chunks);
    if (l->layers % chunks == 0)
        return;
    ek__run_write(t, " --pipeline-model-parallel-layout E");
    for (int c = 0; c < chunks; c++) {
        int n = l->layers / chunks + (c < l->layers % chunks);
        ek__run_write(t, "%s", c ? "|" : "");
        if (n > 0)
            ek__run_write(t, "t*%d", n);
    }
    ek__run_write(t, "L");
}

/* Sharing beyond the optimizer's states is set by arguments where the framework has some. */
static bool says_sharding(const ek__run_layout *l)
{
    return l->framework->shares && (l->zero >= 2 || l->fsdp);
}

static void add_sharding(ek__run_text *t, const ek__run_layout *l)
{
    if (!says_sharding(l))
        ek__run_write(t, "%s", l->zero > 0 ? " --use-distributed-optimizer" : "");
    else if (l->zero >= 2)
        ek__run_write(t, " --use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy %s",
                      l->zero == 2 ? "optim_grads" : "optim_grads_params");
    else
        ek__run_write(t, " --use-torch-fsdp2");
}

static void add_run(ek__run_text *t, const ek__run_layout *l)
{
    static const char *const recompute[] = {
        [EK__RUN_KEEP] = "",
        [EK__RUN_FULL] = " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        [EK__RUN_ATTENTION] = " --recompute-granularity selective",
        [EK__RUN_OPERATORS] = "",
    };
    ek__run_write(t, " --seq-length %d --max-position-embeddings %d --micro-batch-size %d --global-batch-size %lld",
                  l->seq, l->seq, l->micro_batch, (long long)l->micro_batch * l->n_micro_batches * l->dp);
    ek__run_write(t,
                  " --tensor-model-parallel-size %d --context-parallel-size %d --expert-model-parallel-size %d"
                  " --data-parallel-size %d%s%s%s",
                  l->tp, l->cp, l->ep, l->dp, l->half ? " --fp16" : " --bf16", recompute[l->recompute],
                  l->sequence_parallel ? " --sequence-parallel" : "");
    add_sharding(t, l);
    ek__run_write(t, "%s", l->framework->arguments);
}

/* Operators that PyTorch's per-operator policy drops, by the policy's names. */
static ek_status drop_operators(const ek__run_row *row, ek_job *job)
{
    job->family = EK_FAMILY_LLAMA;
    job->model.qkv_concat = job->model.fused_swiglu = job->model.gate_apart = false;
    return ek__job_keep_products(job, EK__NOWHERE, row->err);
}

/* Split layers as torchtitan does, and set their recomputation. */
static ek_status cut_as_torchtitan(const ek__run_row *row, const ek__run_layout *l, ek_job *job)
{
    const ek__torchtitan_split split = {.schedule = job->schedule, .n_chunks = l->vpp, .first_less = 1, .last_less = 1};
    bool full = job->plan.full[0] > 0;
    ek_plan_clear(&job->plan);
    ek_status status = ek__torchtitan_spread(&split, EK__NOWHERE, job, row->err);
    for (int c = 0; status == EK_OK && full && c < job->plan.n_stages * job->plan.n_chunks; c++)
        job->plan.full[c] = job->plan.layers[c];
    return status;
}

/* ZeRO by number, and FSDP, independent of the framework's default, where no arguments have set it. */
static void set_sharding(const ek__run_layout *l, ek_job *job)
{
    ek_job_states *s = &job->states;
    s->shard_size = l->shard_size;
    if (says_sharding(l))
        return;
    if (l->zero >= 0) {
        s->shard_optimizer = l->zero >= 1;
        s->shard_gradient = l->zero >= 2;
        job->run.sums_every_micro_batch = l->zero >= 2;
    }
    if (l->zero < 3 && !l->fsdp)
        return;
    const ek__fsdp fsdp = {.stored = s->weight == 4 ? EK_FP32 : job->types.compute,
                           .gathered = job->types.compute,
                           .reduced = s->gradient == 4 ? EK_FP32 : job->types.compute,
                           .optimizer = s->optimizer,
                           .shard_size = l->shard_size};
    ek__job_fsdp(&fsdp, job);
    job->run.layer_buckets = true;
}

ek_status ek__run_arguments(const ek__run_row *row, const ek__run_layout *layout, ek_job *out)
{
    ek__run_text *t = ek__alloc(1, sizeof *t);
    ek_job job;
    if (!t)
        return ek__no_memory(row->err);
    add_model(t, layout);
    add_experts(t, layout);
    add_stages(t, layout);
    add_run(t, layout);
    ek_status status = ek__run_parse(row, t, &job);
    free(t);
    if (status)
        return status;
    if (layout->framework->settle)
        layout->framework->settle(layout, &job);
    set_sharding(layout, &job);
    if (layout->framework->titan)
        status = cut_as_torchtitan(row, layout, &job);
    if (status == EK_OK && layout->recompute == EK__RUN_OPERATORS)
        status = drop_operators(row, &job);
    if (status == EK_OK)
        status = ek_job_check(&job, row->err); /* by the rules of the framework that it now is of */
    if (status == EK_OK)
        *out = job;
    else
        ek_job_clear(&job);
    return status;
}
