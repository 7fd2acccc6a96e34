/* layout/sensitivity.h - the linear model of steps by a device's uncertain constants, which shows which layouts can be
 * distinguished, and by which runs. */
#ifndef EK_LAYOUT_SENSITIVITY_H
#define EK_LAYOUT_SENSITIVITY_H

#include "cost/constants.h"
#include "evenkeel/error.h"

typedef struct ek__sensitivity {
    int n, n_constants; /* jobs; constants of the device */
    double *log_step;   /* [n] */
    double *move;       /* [n][n_constants] of the logarithm, by one standard error of the constant */
} ek__sensitivity;

/* Standard deviations of logarithms of steps: of a measured step, and the part of a plan's that constants do not
 * explain. */
#define EK__STEP_NOISE 0.005
#define EK__STEP_OWN   0.01

/* The assumed error of a constant before a fit: its width, or half of that if the value is from measurements. */
double ek__constant_width(const ek_device *device, const ek__constant *constant);
/* The standard error of each constant, scaled as it is fitted (constants.h). The device file's value; otherwise the
 * assumption before a fit, half of that if the value is from measurements. If a file has an error of times of a
 * section, it covers the constants of that section that are not a share of a rate. @param out [n] */
void ek__constant_errors(const ek_device *device, const ek__constant *constant, int n, double *out);

/*
 * By central differences over one standard error of each constant, within its bounds:
 *     move = log step(c + e / 2) - log step(c - e / 2)
 * @return EK_OK; EK_ERR_INPUT if a job cannot be priced; EK_ERR_MEMORY. O(constants x steps).
 */
ek_status ek__sensitivity_new(const ek_job *const *job, int n, const ek_device *device, ek__sensitivity *out,
                              ek_error *err);
void ek__sensitivity_clear(ek__sensitivity *sensitivity);

/* Covariance of the logarithms: move move' + EK__STEP_OWN^2. @param out  [n][n] */
void ek__sensitivity_covariance(const ek__sensitivity *s, double *out);

/* Variance of log step a - log step b by the constants' errors, which both have in common:
 *     sum over constants of (move_a - move_b)^2 */
double ek__sensitivity_difference(const ek__sensitivity *s, int a, int b);

#endif
