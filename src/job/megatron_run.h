/* job/megatron_run.h - a job from arguments of Megatron, and how a step of it runs: what overlaps, buckets, 8-bit
 * products, launches. */
#ifndef EK_JOB_MEGATRON_RUN_H
#define EK_JOB_MEGATRON_RUN_H

#include "job/megatron_arguments.h"

/* A job from its arguments, all of it but what ek__job_override() does. *job has its path and is otherwise zero. */
ek_status ek__megatron_read_job(const ek__arguments *a, const ek_job_overrides *overrides, ek_job *job);

/* Ranks that a script starts, as plain numbers say it, and where; 0: nothing does. O(words) */
int64_t ek__megatron_world(const ek__arguments *a, ek_origin *at);

/* What a run of Megatron does without any argument. job->states and the degrees are known. */
void ek__megatron_run_defaults(ek_job *job);
/* Elements of a bucket where none are said: 40 million, or a million for each data-parallel rank where that is more
 * (DistributedDataParallel of Megatron Core). */
double ek__megatron_bucket(const ek_job *job);
/* job->run from the arguments; all else of the job was read. */
ek_status ek__megatron_read_run(const ek__arguments *a, ek_job *job);
/* States, and what of job->run goes with them, of --use-torch-fsdp2, --use-megatron-fsdp and --deepspeed; nothing
 * without them. The rest of job->run was read. @return EK_ERR_INPUT for what Megatron refuses */
ek_status ek__megatron_read_sharding(const ek__arguments *a, ek_job *job);

#endif
