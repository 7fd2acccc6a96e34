/* calibrate/job_runs.h - predicts steps of jobs on a device for a fit. */
#ifndef EK_CALIBRATE_JOB_RUNS_H
#define EK_CALIBRATE_JOB_RUNS_H

#include "calibrate/fit.h"
#include "evenkeel/cost.h"

typedef struct ek__job_runs {
    int n;
    const ek_job *const *job;      /* [n] */
    ek_error why;                  /* of a job that could not be priced last */
    const ek_interrupt *interrupt; /* checked before every job; may be NULL */
    ek_cost_cache *cache;          /* schedules that were laid out; ek__job_runs_clear() frees it */
} ek__job_runs;

void ek__job_runs_clear(ek__job_runs *runs);

/* ek__predict over jobs; `user` is an ek__job_runs. Jobs that cannot be predicted are NAN. */
ek_status ek__job_runs_predict(void *user, const ek_device *device, const bool *wanted, double *out, ek_error *err);

#endif
