/* Computes medians of numbers by sorting, since callers also need the extremes, and those of whole numbers by Hoare's
 * selection, which continues in the part with the wanted place. Pivots are drawn, so that no order of the values is a
 * bad one. */
#include "base/median.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
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

int64_t ek__nth_ns(int64_t *value, size_t n, size_t k)
{
    const ptrdiff_t place = (ptrdiff_t)k;
    ptrdiff_t low = 0, high = (ptrdiff_t)n - 1;
    ek__random random = ek__random_seed(n);
    while (low < high) {
        const int64_t pivot = value[low + (ptrdiff_t)(ek__random_next(&random) % (uint64_t)(high - low + 1))];
        ptrdiff_t i = low, j = high;
        for (;;) {
            while (value[i] < pivot)
                i++;
            while (value[j] > pivot)
                j--;
            if (i >= j)
                break;
            int64_t t = value[i];
            value[i++] = value[j];
            value[j--] = t;
        }
        /* None before i is larger than the pivot, none after j is less; i and j met on the pivot or passed it. */
        if (i == j) {
            i++;
            j--;
        }
        if (place <= j)
            high = j;
        else if (place >= i)
            low = i;
        else
            break;
    }
    return value[k];
}

int64_t ek__median_ns(int64_t *value, size_t n)
{
    if (n == 0)
        return 0;
    int64_t high = ek__nth_ns(value, n, n / 2), low = high;
    if (n % 2 == 0) {
        low = value[0];
        for (size_t i = 1; i < n / 2; i++)
            low = value[i] > low ? value[i] : low;
    }
    /* Their distance may be beyond int64. */
    return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}
