/* calibrate/runs_fit.h - fits a device to measured runs: its constants, then its table of layers. */
#ifndef EK_CALIBRATE_RUNS_FIT_H
#define EK_CALIBRATE_RUNS_FIT_H

#include "calibrate/fit.h"
#include "calibrate/job_runs.h"
#include "calibrate/layers_fit.h"

/* Measured runs of one device. */
typedef struct ek__runs_to_fit {
    int n;                                                        /* 1 or more */
    const ek_job *const *job;                                     /* [n] */
    const double *seconds;                                        /* [n] of a step */
    const int *group;                                             /* [n] 0 .. n-1, left out together */
    const bool *held;                                             /* [n] only to be predicted; NULL: none */
    void (*progress)(void *user, double share, const char *what); /* may be NULL */
    void *progress_user;
    const ek_interrupt *interrupt; /* may be NULL */
} ek__runs_to_fit;

typedef struct ek__runs_fit {
    ek__fit fit; /* its `after`, `left_out` and `group_out` are those with the table, its device has the table */
    ek_layer_table *layers; /* NULL: none is worth it, and the device has the start's */
    ek__layers_fit scale;   /* of `layers` */
    double plain;           /* root mean square of residuals with each run left out, without the new table */
    ek_error why;           /* of a job that could not be priced */
} ek__runs_fit;

/*
 * Constants first (ek__fit_run), then the table of layers from their residuals (ek__layers_fit_run). Steps are not
 * linear in the times of layers, so shares and residuals are computed again at the table found, a few times.
 * @param start  its tables are borrowed by the result, unless `layers` replaces its own
 * @param out    ek__runs_fit_clear() frees it, `layers` included; untouched on failure
 * @return EK_OK; EK_ERR_INPUT where no run can be predicted, or runs are too many for a table; EK_ERR_MEMORY
 */
ek_status ek__runs_fit_run(const ek__runs_to_fit *runs, const ek_device *start, ek__runs_fit *out, ek_error *err);
void ek__runs_fit_clear(ek__runs_fit *fit);

/* Root mean square of value[i] where used[i] and known; 0 without any. */
double ek__root_mean_square(const double *value, const bool *used, int n);

#endif
