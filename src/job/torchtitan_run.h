/* job/torchtitan_run.h - a run of torchtitan as a job: the effect of its settings on states, number formats and
 * overlaps, and its split of layers into stages. Its TOML and a row of a table of measured runs have the same settings
 * under different names, and give the same job. */
#ifndef EK_JOB_TORCHTITAN_RUN_H
#define EK_JOB_TORCHTITAN_RUN_H

#include "job/job_internal.h"

/* fsdp_reshard_after_forward: by default weights stay gathered only with a pipeline. */
typedef enum ek__reshard { EK__RESHARD_DEFAULT, EK__RESHARD_ALWAYS, EK__RESHARD_NEVER } ek__reshard;

typedef struct ek__torchtitan_run {
    ek_dtype stored, gathered, reduced; /* dtype, mixed_precision_param, mixed_precision_reduce */
    int n_moments;                      /* of the optimizer, in the stored type */
    bool sharded;                       /* fully_shard(): more than one rank shards the weights */
    int shard_size;                     /* the number of such ranks, -1: all data and context ranks */
    ek__reshard reshard;
    bool compiled, compiled_loss;
    bool async_tensor; /* enable_async_tensor_parallel, which needs the compiler */
    ek_fp8 fp8;
    bool fp8_gather;      /* enable_fsdp_float8_all_gather */
    bool fused_optimizer; /* one kernel for all parameters */
    bool offloads;        /* enable_cpu_offload */
} ek__torchtitan_run;

/* The defaults of JobConfig, on several ranks. */
ek__torchtitan_run ek__torchtitan_run_default(void);

/* Put the settings into job->framework, ->family, ->types, ->states, ->rules and ->run, all of each. The model's shapes
 * and the degrees are known; model.fused_swiglu, gate_apart and qkv_concat are set, too. Formula of each:
 * parallelize.py. */
void ek__torchtitan_settle(const ek__torchtitan_run *run, ek_job *job);

/* The split of layers: all parts have equal numbers, where the embedding and the output count as given numbers of
 * layers, and the first parts get the remainder (generate_llm_fqn_per_model_part()). */
typedef struct ek__torchtitan_split {
    const ek_schedule *schedule;
    int n_chunks;
    int first_less, last_less; /* number of layers that the embedding and the output count as; 1 */
} ek__torchtitan_split;
/* Write it into job->plan, which must be empty. @return EK_OK; EK_ERR_INPUT at `place` if a part would have a negative
 * number. */
ek_status ek__torchtitan_spread(const ek__torchtitan_split *split, ek_origin place, ek_job *job, ek_error *err);

/* Whole layers recomputed, every n-th of a stage. The plan has them at the beginning of a chunk, in the same number. */
void ek__torchtitan_every(ek_plan *plan, int n);
/* The n that gives the plan's recomputation; 0: there is none. */
int ek__torchtitan_period(const ek_plan *plan);

#endif
