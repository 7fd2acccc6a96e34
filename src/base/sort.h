/* base/sort.h - sorting of lists that mostly come in order. */
#ifndef EK_BASE_SORT_H
#define EK_BASE_SORT_H

#include <stddef.h>

/** qsort() that leaves alone what is in order already, as lists of events and what is made of them mostly are.
 *  O(n) then, else O(n log n). */
void ek__sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
