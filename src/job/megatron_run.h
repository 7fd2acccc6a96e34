/* job/megatron_run.h - makes a job from arguments of Megatron, and sets how a step of it runs: overlaps, buckets, 8-bit
 * products, launches. */
#ifndef EK_JOB_MEGATRON_RUN_H
#define EK_JOB_MEGATRON_RUN_H

#include "job/megatron_arguments.h"

/* Fill a job from its arguments, except for the part of ek__job_override(). *job has its path and is otherwise zero. */
ek_status ek__megatron_read_job(const ek__arguments *a, const ek_job_overrides *overrides, ek_job *job);

/* Ranks that a script starts according to plain numbers, and their place; 0: unknown. O(words) */
int64_t ek__megatron_world(const ek__arguments *a, ek_origin *at);

/* Megatron's defaults of a run. job->states and the degrees are known. */
void ek__megatron_run_defaults(ek_job *job);
/* Default elements of a bucket: 40 million, or a million for each data-parallel rank if that is more
 * (DistributedDataParallel of Megatron Core). */
double ek__megatron_bucket(const ek_job *job);
/* Set job->run from the arguments; the rest of the job must be read. */
ek_status ek__megatron_read_run(const ek__arguments *a, ek_job *job);
/* Set the states, and the fields of job->run that depend on them, for --use-torch-fsdp2, --use-megatron-fsdp and
 * --deepspeed; does nothing without them. The rest of job->run must be read. @return EK_ERR_INPUT for combinations that
 * Megatron rejects */
ek_status ek__megatron_read_sharding(const ek__arguments *a, ek_job *job);

#endif
