/* Writes a script of Megatron-LM for the model of a config.json. The layout is put in afterwards, as into any script;
 * here every degree except data parallelism is 1. Other needs of a run (data, tokenizer, learning rate) are left to the
 * script's own arguments. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/edit_text.h"
#include "job/megatron_run.h"
#include "job/write.h"

enum { NODE = 8 }; /* default devices of a node */

static void print(ek__text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(ek__text *out, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ek__text_add_string(out, line);
}

/* A line of an array. */
static void write_number(ek__text *out, const char *name, int value)
{
    print(out, "    --%s %d\n", name, value);
}

static void write_if(ek__text *out, bool given, const char *words)
{
    if (given)
        print(out, "    --%s\n", words);
}

/* ---- the model ---- */

static void write_attention(ek__text *out, const ek_job_model *m)
{
    write_number(out, "num-attention-heads", m->n_heads);
    if (m->kv_lora_rank > 0) {
        write_if(out, true, "multi-latent-attention");
        if (m->q_lora_rank > 0)
            write_number(out, "q-lora-rank", m->q_lora_rank);
        write_number(out, "kv-lora-rank", m->kv_lora_rank);
        write_number(out, "qk-head-dim", m->nope_dim);
        write_number(out, "qk-pos-emb-head-dim", m->rope_dim);
        write_number(out, "v-head-dim", m->value_dim);
        return;
    }
    if (m->n_kv_heads != m->n_heads)
        print(out, "    --group-query-attention\n    --num-query-groups %d\n", m->n_kv_heads);
    write_number(out, "kv-channels", m->head_dim);
}

/* Layers without experts, then every so many with experts, one by one. */
static void write_layer_list(ek__text *out, const ek_job_model *m)
{
    print(out, "    --moe-layer-freq \"([");
    for (int i = 0; i < m->n_layers; i++)
        print(out, "%s%d", i ? "," : "", i >= m->n_dense_layers && (i - m->n_dense_layers) % m->expert_period == 0);
    print(out, "])\"\n");
}

static void write_experts(ek__text *out, const ek_job_model *m)
{
    if (m->n_experts == 0)
        return;
    write_number(out, "num-experts", m->n_experts);
    write_number(out, "moe-router-topk", m->top_k);
    write_number(out, "moe-ffn-hidden-size", m->expert_intermediate);
    if (m->shared_intermediate > 0)
        write_number(out, "moe-shared-expert-intermediate-size", m->shared_intermediate);
    if (m->n_dense_layers > 0 && m->expert_period > 1)
        write_layer_list(out, m);
    else if (m->n_dense_layers > 0)
        print(out, "    --moe-layer-freq \"([0]*%d+[1]*%d)\"\n", m->n_dense_layers, m->n_layers - m->n_dense_layers);
    else if (m->expert_period > 1)
        write_number(out, "moe-layer-freq", m->expert_period);
    write_if(out, m->grouped_matmul, "moe-grouped-gemm");
    write_if(out, true, "moe-token-dispatcher-type alltoall");
}

static void write_layer(ek__text *out, const ek_job_model *m)
{
    write_if(out, true, m->layer_norm ? "normalization LayerNorm" : "normalization RMSNorm");
    write_if(out, true,
             m->position_table ? "position-embedding-type learned_absolute" : "position-embedding-type rope");
    write_if(out, m->gated, "swiglu");
    write_if(out, !m->linear_bias, "disable-bias-linear");
    write_if(out, m->qkv_bias && !m->linear_bias, "add-qkv-bias");
    write_if(out, m->qk_norm, "qk-layernorm");
    write_if(out, !m->tied, "untie-embeddings-and-output-weights");
    print(out, "    --attention-dropout %g\n    --hidden-dropout %g\n", m->attention_dropout, m->hidden_dropout);
    write_if(out, true, "attention-backend flash");
}

static void write_model(ek__text *out, const ek_job *job)
{
    const ek_job_model *m = &job->model;
    print(out, "MODEL_ARGS=(\n");
    write_number(out, "num-layers", m->n_layers);
    if (m->n_prediction_layers > 0)
        write_number(out, "mtp-num-layers", m->n_prediction_layers);
    write_number(out, "hidden-size", m->hidden);
    write_number(out, "ffn-hidden-size", m->intermediate);
    write_attention(out, m);
    write_experts(out, m);
    write_number(out, "seq-length", job->parallel.seq_length);
    write_number(out, "max-position-embeddings", m->max_position);
    write_number(out, "vocab-size", m->vocab_told);
    write_number(out, "make-vocab-size-divisible-by", m->vocab_multiple);
    write_layer(out, m);
    print(out, ")\n\n");
}

/* The part of a model without an argument in Megatron-LM; NULL: none. */
static const char *refusal(const ek_job_model *m)
{
    if (m->linear_bias && !m->qkv_bias)
        return "linear layers would have a bias, and queries, keys and values none";
    return NULL;
}

/* ---- the run ---- */

static int64_t ranks_of(const ek_job_parallel *p)
{
    return (int64_t)p->data * p->tensor * p->pipeline * p->context;
}

static void write_launcher(ek__text *out, int64_t n)
{
    int64_t here = n < NODE ? n : NODE;
    while (n % here != 0)
        here--;
    print(out, "GPUS_PER_NODE=%lld\nNNODES=%lld\n\n", (long long)here, (long long)(n / here));
    print(out, "DISTRIBUTED_ARGS=(\n    --nproc_per_node \"$GPUS_PER_NODE\"\n    --nnodes \"$NNODES\"\n"
               "    --node_rank \"${NODE_RANK:-0}\"\n");
    print(out, "    --master_addr \"${MASTER_ADDR:-localhost}\"\n    --master_port \"${MASTER_PORT:-6000}\"\n)\n\n");
}

static void write_run(ek__text *out, const ek_job *job)
{
    const long long batch = (long long)ranks_of(&job->parallel) * job->parallel.batch;
    print(out, "PARALLEL_ARGS=(\n    --tensor-model-parallel-size 1\n    --pipeline-model-parallel-size 1\n"
               "    --use-distributed-optimizer\n    --overlap-grad-reduce\n)\n\n");
    print(out, "TRAINING_ARGS=(\n    --bf16\n    --micro-batch-size %d\n    --global-batch-size %lld\n)\n\n",
          job->parallel.batch, batch);
    print(out, "torchrun \"${DISTRIBUTED_ARGS[@]}\" pretrain_gpt.py \\\n    \"${MODEL_ARGS[@]}\" \\\n"
               "    \"${PARALLEL_ARGS[@]}\" \\\n    \"${TRAINING_ARGS[@]}\" \\\n    \"$@\"\n");
}

ek_status ek__write_script(const ek_job *job, char **out, size_t *size, ek_error *err)
{
    const char *why = refusal(&job->model), *slash = strrchr(job->path, '/');
    ek__text text = {0};
    if (why)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){job->path, 0, 0}),
                        "describes a model that Megatron-LM cannot express: %s", why);
    print(&text,
          "#!/bin/bash\n# The model of %.120s. Give tokenizer, data and learning rate as arguments of this script.\n"
          "set -eu\n",
          slash ? slash + 1 : job->path);
    write_launcher(&text, ranks_of(&job->parallel));
    write_model(&text, job);
    write_run(&text, job);
    if (text.failed) {
        free(text.bytes);
        return ek__no_memory(err);
    }
    *out = text.bytes;
    *size = text.n;
    return EK_OK;
}

/* ---- a job of a config.json as one of its script ---- */

#define KEEP(member)                                                                                                   \
    if (now->run.member != was->run.member)                                                                            \
    run.member = now->run.member

void ek__take_script_run(const ek_job *script, const ek_job *was, ek_job *now)
{
    ek_job_run run = script->run;
    ek_rules rules = script->rules;
    KEEP(overlap_gradients);
    KEEP(overlap_weights);
    KEEP(overlap_tensor);
    KEEP(overlap_expert);
    KEEP(send_once);
    KEEP(overlap_shared);
    KEEP(overlap_tensor_gradients);
    KEEP(launch);
    KEEP(offload_optimizer);
    run.bucket_bytes = run.overlap_gradients ? ek__megatron_bucket(now) * run.reduce_bytes : 0;
    for (int i = 0; ek_rule_names[i]; i++) {
        char value[64], assignment[160];
        bool neutral = strcmp(ek_rule_basis[i], "calibrated") == 0 || strcmp(ek_rule_names[i], "allocation") == 0;
        if ((!(now->rules_told >> i & 1) && !neutral) ||
            !ek_rules_get(&now->rules, ek_rule_names[i], value, sizeof value))
            continue;
        snprintf(assignment, sizeof assignment, "%s=%s", ek_rule_names[i], value);
        (void)ek_rules_set(&rules, assignment, NULL);
    }
    now->run = run;
    now->rules = rules;
    now->states.instances = now->states.instances > 1 ? now->states.instances : script->states.instances;
    ek__job_settle_run(now);
}
