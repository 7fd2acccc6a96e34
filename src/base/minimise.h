/* base/minimise.h - least squares that are not linear, by cminpack: Levenberg-Marquardt (More 1978). Both are
 * cminpack's functions of these names, with its arguments. A build without LAPACK has none; ek__linear_needed() fails
 * first. */
#ifndef EK_BASE_MINIMISE_H
#define EK_BASE_MINIMISE_H

/** Fills `value` [m], or, when `what` is 2, `slope` [n][m] by columns. @return below 0 to end */
typedef int ek__with_slopes(void *user, int m, int n, const double *x, double *value, double *slope, int m_of_slope,
                            int what);
/** Fills `value` [m]. @return below 0 to end */
typedef int ek__values(void *user, int m, int n, const double *x, double *value, int what);

int ek__lmder(ek__with_slopes *function, void *user, int m, int n, double *x, double *value, double *slope,
              int m_of_slope, double value_tolerance, double x_tolerance, double gradient_tolerance, int most_calls,
              double *scale, int mode, double factor, int print, int *calls, int *slope_calls, int *pivot, double *qtf,
              double *wa1, double *wa2, double *wa3, double *wa4);
int ek__lmdif(ek__values *function, void *user, int m, int n, double *x, double *value, double value_tolerance,
              double x_tolerance, double gradient_tolerance, int most_calls, double step, double *scale, int mode,
              double factor, int print, int *calls, double *slope, int m_of_slope, int *pivot, double *qtf, double *wa1,
              double *wa2, double *wa3, double *wa4);

#endif
