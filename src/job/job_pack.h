/* job/job_pack.h - packs jobs and plans as bytes, for another process of the same program. */
#ifndef EK_JOB_PACK_H
#define EK_JOB_PACK_H

#include "base/pack.h"
#include "evenkeel/job.h"

/** All of a job except its path. O(stages x chunks x patterns). */
void ek__job_pack(const ek_job *job, ek__pack *to);
/**
 * @param path  of the job; NULL
 * @param out   ek_job_clear() frees it; untouched on failure
 * @return EK_OK, EK_ERR_SYSTEM for other bytes, EK_ERR_MEMORY
 */
ek_status ek__job_unpack(ek__unpack *from, const char *path, ek_job *out, ek_error *err);

/** A schedule by its name; NULL means none. */
void ek__schedule_pack(const ek_schedule *schedule, ek__pack *to);
const ek_schedule *ek__schedule_unpack(ek__unpack *from);

#endif
