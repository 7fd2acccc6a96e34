/* Sorts lists that are mostly in order. Checking the order first costs one comparison an element; glibc's merge sort
 * costs log n of them and a copy of the list even where nothing moves. */
#include "base/sort.h"

#include <stdlib.h>

void ek__sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    const char *at = base;
    size_t i = 1;
    while (i < n && compare(at + (i - 1) * size, at + i * size) <= 0)
        i++;
    if (i < n)
        qsort(base, n, size, compare);
}
