/* A growing list of integers for the states of allocators. */
#include <assert.h>

#include "base/error.h"
#include "memory/allocator.h"

int64_t *ek__numbers_add(ek__numbers *numbers, size_t count)
{
    assert(numbers->n <= numbers->capacity);
    int64_t *grown = ek__with_room(numbers->at, &numbers->capacity, numbers->n + count, sizeof *grown);
    if (!grown)
        return NULL;
    numbers->at = grown;
    numbers->n += count;
    return grown + numbers->n - count;
}
