/* base/median.h - medians: the middle value, or the mean of the two in the middle. */
#ifndef EK_BASE_MEDIAN_H
#define EK_BASE_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/** Smallest first; none is NAN. */
void ek__sort_numbers(double *value, size_t n);
/** Sorts the values. NAN without any; none of them is NAN. O(n log n). */
double ek__median(double *value, size_t n);
/** The same for whole numbers, rounded down; 0 without any. */
int64_t ek__median_ns(int64_t *value, size_t n);

#endif
