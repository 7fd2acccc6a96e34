/* memory_job.h - jobs made by hand for the tests of memory: every figure is set in the test, none by a reader. */
#ifndef TESTS_UNIT_MEMORY_JOB_H
#define TESTS_UNIT_MEMORY_JOB_H

#include "input.h"

#include "model/layer.h"

/* A job with patterns in place; not for ek_job_clear(). */
typedef struct made_job {
    ek_job job;
    ek_pattern pattern[16];
} made_job;

/* A Llama of MindFormers with bf16 compute, fp32 parameters and one device. */
static inline void make_llama(made_job *m)
{
    memset(m, 0, sizeof *m);
    ek_job *job = &m->job;
    job->framework = EK_MINDFORMERS;
    job->family = EK_FAMILY_LLAMA;
    job->pattern = m->pattern;
    job->model = (ek_job_model){.n_layers = 4,
                                .hidden = 256,
                                .n_heads = 8,
                                .n_kv_heads = 8,
                                .head_dim = 32,
                                .value_dim = 32,
                                .intermediate = 768,
                                .vocab = 32000,
                                .max_position = 512,
                                .gated = true,
                                .flash_attention = true};
    job->types = (ek_job_types){.compute = EK_BF16, .residual = EK_BF16};
    job->parallel = (ek_job_parallel){.data = 1,
                                      .tensor = 1,
                                      .pipeline = 1,
                                      .context = 1,
                                      .expert = 1,
                                      .batch = 1,
                                      .seq_length = 512,
                                      .n_micro_batches = 1,
                                      .n_accumulation = 1,
                                      .n_batch_interleave = 1,
                                      .n_pieces = 1,
                                      .fine_grain = 1,
                                      .table_split = 1,
                                      .head_split = 1,
                                      .ulysses = 1};
    job->rules = (ek_rules){.token_order_copy = true,
                            .statistics_width = 8,
                            .norm_statistics_bytes = 4,
                            .loss_buffers = 4,
                            .one_hot_kept = true,
                            .activation_scale = 1,
                            .transient_scale = 1};
}

/* The words and rules of Megatron on top: regathering, one copy of the attention's output. */
static inline void make_megatron(made_job *m)
{
    make_llama(m);
    m->job.framework = EK_MEGATRON;
    m->job.family = EK_FAMILY_MEGATRON;
    m->job.types = (ek_job_types){.compute = EK_BF16, .residual = EK_BF16, .param = EK_BF16, .embedding = EK_BF16};
    m->job.rules.regather = true;
    m->job.rules.token_order_copy = false;
    m->job.rules.norm_statistics_bytes = 0;
    m->job.rules.loss_fused = true;
}

static inline void add_pattern(made_job *m, ek_pattern_kind kind, const char *text)
{
    m->pattern[m->job.n_patterns++] = (ek_pattern){.text = (char *)text, .kind = kind};
}

/* Bytes that a layer keeps, with all of the job's patterns in force. */
static inline int64_t kept_bytes(const ek_job *job, ek__graph_kind kind, bool full)
{
    static ek__graph graph;
    bool recomputed[EK__MAX_OPS], kept[EK__MAX_TENSORS];
    ek__graph_build(job, kind, &graph);
    ek__graph_recomputed(job, &graph, (ek__recompute){.full = full, .patterns = ~UINT64_C(0)}, recomputed);
    return ek__graph_keep(&graph, recomputed, kept);
}

#endif
