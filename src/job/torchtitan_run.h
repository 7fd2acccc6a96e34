/* job/torchtitan_run.h - a run of torchtitan as a job: what its settings make of states, number formats and overlaps,
 * and how it cuts layers into stages. Its TOML and a row of a table of measured runs say the same settings in other
 * words, and get the same job of them. */
#ifndef EK_JOB_TORCHTITAN_RUN_H
#define EK_JOB_TORCHTITAN_RUN_H

#include "job/job_internal.h"

/* fsdp_reshard_after_forward: by default weights stay gathered with a pipeline only. */
typedef enum ek__reshard { EK__RESHARD_DEFAULT, EK__RESHARD_ALWAYS, EK__RESHARD_NEVER } ek__reshard;

typedef struct ek__torchtitan_run {
    ek_dtype stored, gathered, reduced; /* dtype, mixed_precision_param, mixed_precision_reduce */
    int n_moments;                      /* of the optimizer, in the stored type */
    bool sharded;                       /* fully_shard(): more than one rank shares the weights */
    int shard_size;                     /* ranks that do, -1: all data and context ranks */
    ek__reshard reshard;
    bool compiled, compiled_loss;
    bool async_tensor; /* enable_async_tensor_parallel, which needs the compiler */
    ek_fp8 fp8;
    bool fp8_gather;      /* enable_fsdp_float8_all_gather */
    bool fused_optimizer; /* one kernel for all parameters */
    bool offloads;        /* enable_cpu_offload */
} ek__torchtitan_run;

/* As JobConfig has it without a key, on several ranks. */
ek__torchtitan_run ek__torchtitan_run_default(void);

/* Put the settings into job->framework, ->family, ->types, ->states, ->rules and ->run, all of each. The model's shapes
 * and the degrees are known; model.fused_swiglu, gate_apart and qkv_concat are set, too. Formula of each:
 * parallelize.py. */
void ek__torchtitan_settle(const ek__torchtitan_run *run, ek_job *job);

/* How layers are cut: all parts have as many, the embedding and the output counting as so many layers, and the first
 * ones have what is left over (generate_llm_fqn_per_model_part()). */
typedef struct ek__torchtitan_split {
    const ek_schedule *schedule;
    int n_chunks;
    int first_less, last_less; /* layers that the embedding and the output count as; 1 */
} ek__torchtitan_split;
/* Into job->plan, which is empty. @return EK_OK; EK_ERR_INPUT at `place` where a part would have less than none. */
ek_status ek__torchtitan_spread(const ek__torchtitan_split *split, ek_origin place, ek_job *job, ek_error *err);

/* Whole layers recomputed, every n-th of a stage. The plan has them at the beginning of a chunk, which is as many. */
void ek__torchtitan_every(ek_plan *plan, int n);
/* The n with which that is what the plan recomputes; 0: none is. */
int ek__torchtitan_period(const ek_plan *plan);

#endif
