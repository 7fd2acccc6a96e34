/* calibrate/candidates.h - makes layouts of measured jobs that were not measured. */
#ifndef EK_CALIBRATE_CANDIDATES_H
#define EK_CALIBRATE_CANDIDATES_H

#include "evenkeel/job.h"

enum { EK__MAX_CANDIDATES = 96 };

typedef struct ek__candidates {
    int n;
    ek_job job[EK__MAX_CANDIDATES];
    int from[EK__MAX_CANDIDATES]; /* the job that each is derived from */
} ek__candidates;

/* Other layouts of the jobs, each one change away: tensor parallel ranks, stages and, where the job has them, context
 * parallel ranks doubled and halved at the cost of data parallel ones; chunks of a stage and expert parallel ranks
 * doubled and halved; micro-batches of other sizes; all layers recomputed or none; twice the devices. Those that the
 * framework runs, with a peak within the job's limit and the device's memory, and that are not among the jobs. Stages
 * and chunks get equal numbers of layers. Tensor parallel groups leave a node only where those of a job do.
 * @param job  [n] O(n x changes) predictions of memory at most. */
ek_status ek__candidates_make(const ek_job *const *job, int n, const ek_device *device, ek__candidates *out,
                              ek_error *err);
void ek__candidates_clear(ek__candidates *candidates);
/* "Llama2-70B d4 t8 p2 S4096 B1 m16 on 64 devices" */
void ek__candidate_name(const ek_job *job, char *out, size_t size);
/* The changes from a job to a candidate, in the framework's settings: "tensor-model-parallel-size 2 instead of 1,
 * ...". */
void ek__candidate_change(const ek_job *from, const ek_job *job, char *out, size_t size);

#endif
