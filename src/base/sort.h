/* base/sort.h - sorts lists that are mostly in order. */
#ifndef EK_BASE_SORT_H
#define EK_BASE_SORT_H

#include <stddef.h>

/** qsort() that returns at once for a sorted list, as lists of events and their derived lists mostly are. O(n) then,
 *  else O(n log n). */
void ek__sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
