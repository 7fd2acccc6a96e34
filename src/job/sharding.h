/* job/sharding.h - sets the states of jobs with sharded weights, gradients and optimizer states: PyTorch's FSDP,
 * Megatron-FSDP and DeepSpeed's ZeRO. */
#ifndef EK_JOB_SHARDING_H
#define EK_JOB_SHARDING_H

#include "evenkeel/job.h"

/* The sharded states: each level includes the ones before it. */
typedef enum ek__sharding {
    EK__SHARE_NOTHING,
    EK__SHARE_OPTIMIZER, /* ZeRO-1 */
    EK__SHARE_GRADIENTS, /* ZeRO-2 */
    EK__SHARE_WEIGHTS,   /* ZeRO-3 */
} ek__sharding;

/* PyTorch's fully_shard() (FSDP2) and FullyShardedDataParallel: every layer is a separate unit. */
typedef struct ek__fsdp {
    ek_dtype stored;   /* of the shards, on which the optimizer works */
    ek_dtype gathered; /* of gathered weights and of their gradients: param_dtype of the mixed precision, or `stored` */
    ek_dtype reduced;  /* of gradients while they are reduced: reduce_dtype, or `gathered` */
    int optimizer;     /* bytes of the optimizer's states of a parameter */
    bool keeps;        /* weights stay gathered after the forward pass (reshard_after_forward False) */
    bool sums_whole;   /* whole gradients are summed over the micro-batches and reduced once: pipelines. Both the sums
                          and the reduced gradients are then in memory */
    bool gathers_ends; /* the embedding and the head belong to the root, which stays gathered for the step */
    int shard_size;    /* ranks that share; -1: all of the data and context ranks */
} ek__fsdp;

/* Elements of a decoder layer's matrices on a rank (of the layers with experts if there are any), which FSDP gathers
 * and reduces as one. */
double ek__job_layer_elements(const ek_job *job);
/* Put it into job->states, ->types (of weights), ->rules and ->run. The degrees and the other types must be known; in a
 * group of one rank nothing is sharded, and only the types matter. */
void ek__job_fsdp(const ek__fsdp *fsdp, ek_job *job);

/* Put a level of Megatron-FSDP or ZeRO into job->states, ->rules and ->run. */
void ek__job_share(ek__sharding level, ek_job *job);

#endif
