/* Replaces least squares in a build without cminpack: x stays unchanged. */
#include "base/minimise.h"

int ek__lmder(ek__with_slopes *function, void *user, int m, int n, double *x, double *value, double *slope,
              int m_of_slope, double value_tolerance, double x_tolerance, double gradient_tolerance, int most_calls,
              double *scale, int mode, double factor, int print, int *calls, int *slope_calls, int *pivot, double *qtf,
              double *wa1, double *wa2, double *wa3, double *wa4)
{
    (void)function, (void)user, (void)m, (void)n, (void)x, (void)value, (void)slope, (void)m_of_slope;
    (void)value_tolerance, (void)x_tolerance, (void)gradient_tolerance, (void)most_calls, (void)scale, (void)mode;
    (void)factor, (void)print, (void)calls, (void)slope_calls, (void)pivot, (void)qtf, (void)wa1, (void)wa2, (void)wa3;
    (void)wa4;
    return -1;
}

int ek__lmdif(ek__values *function, void *user, int m, int n, double *x, double *value, double value_tolerance,
              double x_tolerance, double gradient_tolerance, int most_calls, double step, double *scale, int mode,
              double factor, int print, int *calls, double *slope, int m_of_slope, int *pivot, double *qtf, double *wa1,
              double *wa2, double *wa3, double *wa4)
{
    (void)function, (void)user, (void)m, (void)n, (void)x, (void)value, (void)value_tolerance, (void)x_tolerance;
    (void)gradient_tolerance, (void)most_calls, (void)step, (void)scale, (void)mode, (void)factor, (void)print;
    (void)calls, (void)slope, (void)m_of_slope, (void)pivot, (void)qtf, (void)wa1, (void)wa2, (void)wa3, (void)wa4;
    return -1;
}
