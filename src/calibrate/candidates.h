/* calibrate/candidates.h - layouts of measured jobs that were not measured. */
#ifndef EK_CALIBRATE_CANDIDATES_H
#define EK_CALIBRATE_CANDIDATES_H

#include "evenkeel/job.h"

enum { EK__MAX_CANDIDATES = 96 };

typedef struct ek__candidates {
    int n;
    ek_job job[EK__MAX_CANDIDATES];
} ek__candidates;

/* Other layouts of the jobs, on as many devices with as many sequences a step: tensor parallel degrees doubled and
 * halved at the cost of data parallel ones, micro-batches of other sizes, twice the devices; those the framework would
 * run and that are none of the jobs. Tensor parallel groups leave a node only where those of a job do. @param job  [n]
 */
ek_status ek__candidates_make(const ek_job *const *job, int n, int per_node, ek__candidates *out, ek_error *err);
void ek__candidates_clear(ek__candidates *candidates);
/* "Llama2-70B d4 t8 p2 S4096 B1 m16" */
void ek__candidate_name(const ek_job *job, char *out, size_t size);

#endif
