/* Calls cminpack in a separate file, so that a build without its headers can leave it out. */
#include "base/minimise.h"

#include <cminpack.h>

int ek__lmder(ek__with_slopes *function, void *user, int m, int n, double *x, double *value, double *slope,
              int m_of_slope, double value_tolerance, double x_tolerance, double gradient_tolerance, int most_calls,
              double *scale, int mode, double factor, int print, int *calls, int *slope_calls, int *pivot, double *qtf,
              double *wa1, double *wa2, double *wa3, double *wa4)
{
    return lmder(function, user, m, n, x, value, slope, m_of_slope, value_tolerance, x_tolerance, gradient_tolerance,
                 most_calls, scale, mode, factor, print, calls, slope_calls, pivot, qtf, wa1, wa2, wa3, wa4);
}

int ek__lmdif(ek__values *function, void *user, int m, int n, double *x, double *value, double value_tolerance,
              double x_tolerance, double gradient_tolerance, int most_calls, double step, double *scale, int mode,
              double factor, int print, int *calls, double *slope, int m_of_slope, int *pivot, double *qtf, double *wa1,
              double *wa2, double *wa3, double *wa4)
{
    return lmdif(function, user, m, n, x, value, value_tolerance, x_tolerance, gradient_tolerance, most_calls, step,
                 scale, mode, factor, print, calls, slope, m_of_slope, pivot, qtf, wa1, wa2, wa3, wa4);
}
