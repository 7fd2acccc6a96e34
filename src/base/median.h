/* base/median.h - computes medians: the middle value, or the mean of the two in the middle. */
#ifndef EK_BASE_MEDIAN_H
#define EK_BASE_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/** Smallest first; none is NAN. */
void ek__sort_numbers(double *value, size_t n);
/** Sorts the values. NAN without any; none of them is NAN. O(n log n). */
double ek__median(double *value, size_t n);
/** The value that would be in place k < n if they were sorted; afterwards no value before it is larger. O(n) on
 *  average. */
int64_t ek__nth_ns(int64_t *value, size_t n, size_t k);
/** The median of whole numbers, rounded down; 0 without any. Changes their order. O(n) on average. */
int64_t ek__median_ns(int64_t *value, size_t n);

#endif
