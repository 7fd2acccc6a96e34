/* Allocates the memory of lists. Large blocks use huge pages where the system leaves that to programs: page faults for
 * every 4 KB of millions of events cost as much as reading them. */
#define _DEFAULT_SOURCE /* madvise() */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

enum { HUGE_PAGE = 2 << 20, LEAST = 2 * HUGE_PAGE };

/* Only pages that are completely in the block. */
static void prefer_huge_pages(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    if (!block || size < LEAST)
        return;
    size_t before = -(uintptr_t)block & (HUGE_PAGE - 1);
    madvise((char *)block + before, (size - before) & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
#else
    (void)block;
    (void)size;
#endif
}

void *ek__alloc(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    void *block = calloc(count ? count : 1, size ? size : 1);
    prefer_huge_pages(block, count * size);
    return block;
}

/* realloc() would fill small pages before huge ones can be requested. */
static void *grow(void *array, size_t old, size_t bytes)
{
    if (bytes < LEAST)
        return realloc(array, bytes);
    void *grown = malloc(bytes);
    if (!grown)
        return NULL;
    prefer_huge_pages(grown, bytes);
    if (old > 0)
        memcpy(grown, array, old);
    free(array);
    return grown;
}

void *ek__with_room(void *array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return array;
    size_t more = *capacity > needed / 2 ? 2 * *capacity : needed + 64;
    void *grown = more <= SIZE_MAX / size ? grow(array, *capacity * size, more * size) : NULL;
    if (grown)
        *capacity = more;
    return grown;
}
