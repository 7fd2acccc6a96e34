/* The allocators by name of rules.allocation. A new one is one file, one line here and one in the enum. */
#include "memory/allocator.h"

#include "base/error.h"

static const ek__allocator_kind *const allocators[] = {
    &ek__allocator_blocks,
    &ek__allocator_pages,
    &ek__allocator_caching,
    &ek__allocator_offline,
};

int64_t *ek__numbers_add(ek__numbers *numbers, size_t count)
{
    int64_t *grown = ek__with_room(numbers->at, &numbers->capacity, numbers->n + count, sizeof *grown);
    if (!grown)
        return NULL;
    numbers->at = grown;
    numbers->n += count;
    return grown + numbers->n - count;
}

const ek__allocator_kind *ek__allocator_kind_of(ek_allocation allocation)
{
    for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
        if (allocators[i]->allocation == allocation)
            return allocators[i];
    return NULL;
}
