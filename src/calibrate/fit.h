/* calibrate/fit.h - fits constants of a device to the steps of measured runs: nonlinear least squares, the determined
 * constants, leave-one-out errors, and the selection of further runs. It does not depend on jobs: a function of the
 * caller predicts.
 */
#ifndef EK_CALIBRATE_FIT_H
#define EK_CALIBRATE_FIT_H

#include "cost/constants.h"
#include "evenkeel/calibration.h"

/* Predicts the logarithm of the seconds of runs on a device, out[i] where wanted[i]; NAN where it cannot. */
typedef ek_status ek__predict(void *user, const ek_device *device, const bool *wanted, double *out, ek_error *err);

typedef struct ek__fit_problem {
    int n;                 /* runs, 1 or more */
    const double *seconds; /* [n] measured */
    const int *group;      /* [n] left out together; 0 .. n-1 */
    const bool *held;      /* [n] not to be fitted; NULL: none */
    ek__predict *predict;
    void *user;
    bool (*leaves)(void *user, const ek__constant *constant);     /* constants not to be fitted; NULL: none */
    void (*progress)(void *user, double share, const char *what); /* may be NULL */
    void *progress_user;
    const ek_interrupt *interrupt; /* may be NULL */
} ek__fit_problem;

typedef struct ek__fit {
    int n, n_constants, n_active;
    ek__constant constant[EK__MAX_CONSTANTS];
    ek_fit_state state[EK__MAX_CONSTANTS];
    double start[EK__MAX_CONSTANTS]; /* figures */
    double prior[EK__MAX_CONSTANTS]; /* scaled as fitted, as are: */
    double scaled[EK__MAX_CONSTANTS];
    double spread[EK__MAX_CONSTANTS]; /* standard error */
    int active[EK__MAX_CONSTANTS];    /* [n_active] those that are fitted */
    ek_device device;                 /* the result; its tables are the start's */
    bool *used;                       /* [n] fitted: predicted and not held */
    double *measured;                 /* [n] logarithms, as are: */
    double *before, *after;           /* [n] predicted by the start and by the result; NAN: cannot be */
    double *weight; /* [n] 1, less for outliers (Huber) and in groups with correlated errors; 0 not used */
    double *left_out, *group_out; /* [n] residual of the run, predicted without it, without its group */
    double *jacobian;             /* [n][n_constants] of `after` by `scaled` */
    double *covariance;           /* [n_constants][n_constants] of `scaled`; undetermined constants have their width */
    double noise;                 /* standard deviation of residuals */
    double alike;                 /* their correlation inside a group */
} ek__fit;

/*
 * Fit the constants of a device:
 *     minimise sum w_i (log f_i(u) - log y_i)^2 / s^2 + sum ((u_j - prior_j) / width_j)^2
 * by Levenberg and Marquardt (MINPACK), bounds by u = least + (most - least) (1 + sin z) / 2, w Huber's weights, s the
 * residuals' deviation, both updated in turns. Constants that end at a bound stay there; those with a spread above 0.8
 * widths return to their start; neither is determined, and the rest is fitted again.
 * @return EK_OK; EK_ERR_INPUT when no run can be predicted; EK_ERR_MEMORY. O(rounds x constants x predictions)
 */
ek_status ek__fit_run(const ek__fit_problem *problem, const ek_device *start, ek__fit *out, ek_error *err);
void ek__fit_clear(ek__fit *fit);

/* Residuals with each run, and each group, left out of the linearised fit: exact for one that is linear, with the same
 * choice of constants and weights (Cook and Weisberg, Residuals and Influence in Regression, 1982, 2.2). Fills left_out
 * and group_out of the runs used. */
ek_status ek__fit_leave_out(const ek__fit_problem *problem, ek__fit *fit, ek_error *err);

/* Derivatives of other runs' logarithms by the scaled constants at the fitted device. @param out  [n][n_constants] */
ek_status ek__fit_jacobian(const ek__fit *fit, int n, ek__predict *predict, void *user, double *value, double *out,
                           ek_error *err);
/* Standard deviation of a prediction's logarithm from only the constants' covariance. */
double ek__fit_spread(const ek__fit *fit, const double *gradient);

/*
 * The next runs that reduce the errors of predictions most: greedily, each the run that lowers the mean variance over
 * all candidates most once it is measured with the fit's noise (A-optimal for the predictions; Atkinson and Donev,
 * Optimum Experimental Designs, 1992, 10.6).
 * @param gradient  [n][n_constants] of the candidates
 * @param chosen    out: [*n_chosen] at most; *spread [n_chosen + 1]: root mean variance before the first and after each
 */
ek_status ek__fit_design(const ek__fit *fit, int n, const double *gradient, int *n_chosen, int *chosen, double *spread,
                         ek_error *err);

/* In place: the inverse of a symmetric positive definite matrix [n][n]; false where it is none. */
bool ek__fit_invert(int n, double *a);

#endif
