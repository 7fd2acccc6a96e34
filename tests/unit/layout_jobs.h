/* unit/layout_jobs.h - small random jobs of every framework, for searches over layouts that can be enumerated. */
#ifndef EK_TESTS_LAYOUT_JOBS_H
#define EK_TESTS_LAYOUT_JOBS_H

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "job/job_internal.h"

static inline int one_of(ek__random *random, int n, const int *values)
{
    return values[ek__random_below(random, n)];
}

static inline void mindformers_text(ek__random *r, char *text, size_t size, int layers, int experts)
{
    const int heads[] = {4, 8, 6}, widths[] = {512, 1024, 768};
    int i = ek__random_below(r, 3), hidden = widths[i];
    char moe[256] = "";
    if (experts > 0)
        snprintf(moe, sizeof moe, "moe_config:\n  expert_num: %d\n  num_experts_chosen: 2\n  capacity_factor: 1.5\n",
                 experts);
    snprintf(
        text, size,
        "use_parallel: True\nparallel:\n  parallel_mode: 1\n  full_batch: True\n  enable_parallel_optimizer: True\n"
        "  parallel_optimizer_config:\n    gradient_accumulation_shard: %s\nparallel_config:\n  data_parallel: 1\n"
        "  model_parallel: 1\n  pipeline_stage: 1\n  use_seq_parallel: True\n  micro_batch_num: 1\n"
        "  vocab_emb_dp: %s\nrunner_config:\n  batch_size: 1\n  gradient_accumulation_steps: %d\n%s"
        "model:\n  model_config:\n    type: LlamaConfig\n    seq_length: %d\n    hidden_size: %d\n    num_layers: %d\n"
        "    num_heads: %d\n    vocab_size: 32000\n    multiple_of: 256\n    compute_dtype: \"bfloat16\"\n"
        "    param_init_type: \"float32\"\n    use_flash_attention: True\nrecompute_config:\n  recompute: False\n",
        ek__random_below(r, 2) ? "True" : "False", ek__random_below(r, 2) ? "True" : "False",
        16 << ek__random_below(r, 2), moe, 1024 << ek__random_below(r, 2), hidden, layers, heads[i]);
}

static inline void megatron_text(ek__random *r, char *text, size_t size, int layers, int experts)
{
    char moe[200] = "";
    if (experts > 0)
        snprintf(moe, sizeof moe, " --num-experts %d --moe-router-topk 2 --moe-grouped-gemm --moe-ffn-hidden-size 512",
                 experts);
    snprintf(text, size,
             "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers %d --hidden-size %d --num-attention-heads 8 "
             "--seq-length %d --max-position-embeddings 8192 --vocab-size 32000 --swiglu --bf16 --micro-batch-size 1 "
             "--global-batch-size %d --use-distributed-optimizer --attention-backend %s --sequence-parallel"
             "%s%s\n",
             layers, 512 << ek__random_below(r, 2), 1024 << ek__random_below(r, 2), 16 << ek__random_below(r, 2),
             ek__random_below(r, 2) ? "flash" : "unfused",
             ek__random_below(r, 2) ? " --overlap-grad-reduce --overlap-param-gather" : "", moe);
}

static inline void torchtitan_text(ek__random *r, char *text, size_t size, int layers)
{
    snprintf(text, size,
             "[model]\nname = \"llama3\"\nflavor = \"debugmodel\"\n[training]\nlocal_batch_size = %d\nseq_len = %d\n"
             "[parallelism]\ndata_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = \"none\"\n",
             8 << ek__random_below(r, 2), 1024 << ek__random_below(r, 2));
    (void)layers;
}

/* Layers of several kinds: one of multi-token prediction at the end, some without experts at the beginning, or every
 * second one with them. Tokens may go once to each node. MindFormers' sharded weights are gathered for each layer's
 * passes, or once.
 */
static inline void vary(ek__random *r, ek_job *job)
{
    ek_job_model *m = &job->model;
    int how = ek__random_below(r, 3);
    if (job->framework != EK_TORCHTITAN && ek__random_below(r, 4) == 0) {
        m->n_layers--;
        m->n_prediction_layers = 1;
    }
    if (m->n_experts > 0 && how == 1)
        m->n_dense_layers = ek__random_below(r, m->n_layers);
    else if (m->n_experts > 0 && how == 2)
        m->expert_period = 2;
    job->run.send_once = job->framework == EK_MEGATRON && m->n_experts > 0 && how != 1;
    if (job->framework == EK_MINDFORMERS && ek__random_below(r, 3) == 0)
        job->rules.weight_gather = EK_GATHER_LAYER;
}

/* A job with this number of layers on one device; its limit of memory is not set. */
static inline bool random_small_job(ek__random *r, int layers, ek_job *job)
{
    char text[4096];
    int kind = ek__random_below(r, 5), experts = kind % 2 ? 4 : 0;
    const char *name = kind < 2 ? "job.yaml" : kind < 4 ? "job.sh" : "job.toml";
    ek_job_overrides overrides = ek_job_overrides_none();
    ek__job_step step;
    ek_error err;
    overrides.n_layers = kind == 4 ? layers : 0;
    if (kind < 2)
        mindformers_text(r, text, sizeof text, layers, experts);
    else if (kind < 4)
        megatron_text(r, text, sizeof text, layers, experts);
    else
        torchtitan_text(r, text, sizeof text, layers);
    if (ek__job_parse(name, text, strlen(text), &overrides, NULL, job, &step, &err) == EK_OK) {
        vary(r, job);
        return true;
    }
    printf("# %s: %s\n", name, err.message);
    return false;
}

#endif
