/* Medians by sorting: what is asked for them also wants the extremes. */
#include "base/median.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void ek__sort_numbers(double *value, size_t n)
{
    if (n > 0)
        qsort(value, n, sizeof *value, by_number);
}

double ek__median(double *value, size_t n)
{
    if (n == 0)
        return NAN;
    ek__sort_numbers(value, n);
    return 0.5 * value[(n - 1) / 2] + 0.5 * value[n / 2];
}

int64_t ek__median_ns(int64_t *value, size_t n)
{
    if (n == 0)
        return 0;
    qsort(value, n, sizeof *value, by_time);
    int64_t low = value[(n - 1) / 2], high = value[n / 2];
    /* Their distance may be beyond int64. */
    return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}
