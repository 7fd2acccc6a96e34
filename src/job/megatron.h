/* job/megatron.h - rules shared by the readers of Megatron jobs (its own arguments, MindSpeed-Core-MS, Hugging Face
 * models run by it). */
#ifndef EK_JOB_MEGATRON_H
#define EK_JOB_MEGATRON_H

#include "job/job_internal.h"

/* A job of Megatron with defaults: degrees of 1, bf16, RMS norm off, fused qkv. */
void ek__megatron_defaults(ek_job *job, ek_framework framework);

/* Bytes of the states of a parameter: the stored weight and all optimizer states. Adam; Megatron Core's guide,
 * "Distributed Optimizer": 16-bit weight and gradient 4 + 16/d bytes, 16-bit weight and fp32 gradient 6 + 12/d, fp32 8
 * + 8/d, which without the distributed optimizer are 20, 18, 16. */
typedef struct ek__megatron_types {
    ek_dtype weight;
    bool gradient_fp32;        /* the buffer for summing gradients; otherwise the weight's type */
    bool distributed;          /* --use-distributed-optimizer */
    bool precise;              /* --use-precision-aware-optimizer: the next three */
    int master, first, second; /* bytes of the master weight and of the two moments */
} ek__megatron_types;
void ek__megatron_states(const ek__megatron_types *types, ek_job *job);

/* Widths of vocabularies: up to a multiple of `multiple` x t. 0 on overflow of int. */
int ek__megatron_padded(int vocab, int multiple, int tensor);

/* Derive settings from the degrees after the overrides: the vocabulary's cuts, sequence parallelism, Ulysses groups. */
void ek__megatron_derive(ek_job *job);

/* The settings for cutting layers; 0 and NULL: not set. */
typedef struct ek__megatron_cut {
    const char *layout;   /* --pipeline-model-parallel-layout */
    const char *list;     /* --num-layer-list "4,4" of MindSpeed-LLM */
    int first, last;      /* layers of the first and last stage; -1: not set */
    int chunk_layers;     /* --num-layers-per-virtual-pipeline-stage */
    int n_chunks;         /* --num-virtual-stages-per-pipeline-rank */
    bool embedding, loss; /* count as a layer of the split */
    ek_origin at;         /* of the argument that sets it */
} ek__megatron_cut;
/* Put the file's layers into job->plan: job->parallel.pipeline stages, job->model.n_layers, the layers of multi-token
 * prediction on the last chunk. @return EK_OK; EK_ERR_INPUT with the place: a layout or counts that do not fit the
 * model. */
ek_status ek__megatron_layers(const ek__megatron_cut *cut, ek_job *job, ek_error *err);

/* Describe which of n layers have experts, as dense ones first and then a period, of which the first layer has experts.
 * O(n)
 * @return false for any other arrangement; nothing is set */
bool ek__megatron_expert_layers(const bool *experts, int n, int *n_dense, int *period);

/* One rule of recomputation for all chunks. */
typedef enum ek__megatron_granularity {
    EK__KEEP_ALL,
    EK__SELECTIVE,
    EK__FULL_UNIFORM,
    EK__FULL_BLOCK
} ek__megatron_granularity;
void ek__megatron_full(ek__megatron_granularity granularity, int n, ek_job *job);

/* Patterns of a module of Megatron's selective recomputation (core_attn, layernorm, ...), for the first
 * layers[chunk][stage] layers, NULL: all. @return EK_OK also for a module without its own tensors to drop; EK_ERR_INPUT
 * for an unknown one, EK_ERR_MEMORY. */
ek_status ek__megatron_module(ek_job *job, const char *module, const int *layers, ek_origin at, ek_error *err);

/* Patterns of module i, two entries, the last may be NULL. @return NULL after the last module */
const char *const *ek__megatron_module_patterns(int i);
const char *ek__megatron_module_name(int i);

/* A job's name: the file's without folders and ending. */
void ek__job_name_after(const char *path, ek_job *job);

#endif
