/* calibrate/fit_work.h - the state of a fit of constants, shared by fit.c, fit_model.c, fit_minimise.c and
 * fit_states.c.
 */
#ifndef EK_CALIBRATE_FIT_WORK_H
#define EK_CALIBRATE_FIT_WORK_H

#include "calibrate/fit.h"

typedef struct ek__fit_work {
    const ek__fit_problem *problem;
    ek__fit *fit;
    bool *touches;    /* [n_constants][n] may the constant move the run? */
    bool *wanted;     /* [n] */
    double *shifted;  /* [n] */
    double *at;       /* [n] */
    double *slope;    /* [n][n_active] of logarithms by scaled constants */
    double *residual; /* [n + n_active] */
    double *square;   /* [n + n_active][n_active] by columns, for lmder */
    double *value;    /* [n] predicted last */
    ek_status status;
    ek_error *err;
    bool asleep[EK__MAX_CONSTANTS]; /* no run depends on it where it is */
    int woken[EK__MAX_CONSTANTS];   /* how often a wider search found an effect of it */
    double done;                    /* of progress */
} ek__fit_work;

/* ---- fit_model.c ---- */

/* Where a constant may be, scaled. */
typedef struct ek__fit_range {
    double least, most;
} ek__fit_range;
ek__fit_range ek__fit_range_of(const ek__constant *c);
bool ek__fit_at_bound(const ek__constant *c, double u);
/* Between a scaled constant and the unbounded z of u = least + (most - least) (1 + sin z) / 2; du / dz. */
double ek__fit_to_free(const ek__constant *c, double u);
double ek__fit_from_free(const ek__constant *c, double z);
double ek__fit_free_slope(const ek__constant *c, double z);

void ek__fit_put(const ek__fit *fit, int constant, double u, ek_device *device);
/* Logarithms of the runs wanted; fails when the fit is interrupted. */
ek_status ek__fit_predict(ek__fit_work *w, const ek_device *device, const bool *wanted, double *out);
/* Derivatives of all runs by one constant, out[i stride], by a step towards the inside of its range.
 * @param value  [n] predicted here; @param all  also of runs that it did not move before */
ek_status ek__fit_differentiate(ek__fit_work *w, int constant, const double *value, bool all, double *out, int stride);
/* w->slope of the active constants. */
ek_status ek__fit_slopes(ek__fit_work *w, bool all);
void ek__fit_tell(ek__fit_work *w, double share);

/* ---- fit_minimise.c ---- */

extern const double ek__fit_huber;
/* The inverse covariance of some constants. @param slope  [n][stride], constant list[a] in column column[a] */
void ek__fit_information(const ek__fit *fit, const double *slope, int stride, const int *list, const int *column, int n,
                         double *out);
/* The noise and the weights that belong together. @param degrees  constants that the runs use up */
void ek__fit_find_noise(ek__fit_work *w, double degrees);
/* The active constants' minimum. @param covariance  out [n_active][n_active] */
ek_status ek__fit_settle(ek__fit_work *w, double *covariance);

/* ---- fit_states.c ---- */

/* The minimum over those constants that the runs determine. */
ek_status ek__fit_refine(ek__fit_work *w, double *covariance);

#endif
