/* The allocators by name of rules.allocation. A new one is one file, one line here and one in the enum. */
#include "memory/allocator.h"

#include <assert.h>

#include "base/error.h"

static const ek__allocator_kind *const allocators[] = {
    &ek__allocator_blocks,
    &ek__allocator_pages,
    &ek__allocator_caching,
    &ek__allocator_offline,
};

const ek__allocator_kind *ek__allocator_kind_of(ek_allocation allocation)
{
    for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
        if (allocators[i]->allocation == allocation)
            return allocators[i];
    return NULL;
}
