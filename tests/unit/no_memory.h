/* tests/unit/no_memory.h - allocations that fail where a test chooses. A test names the functions that it is linked to
 * wrap (`wrapped` in tests/meson.build): FAILING_ALLOC FAILING_POOL_PUSH and so on, one a line, no semicolon. */
#ifndef EK_TESTS_NO_MEMORY_H
#define EK_TESTS_NO_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/pool.h"

static atomic_int allocations_left = -1; /* until one fails; negative: none does */

static bool is_out_of_memory(void)
{
    int left = atomic_load(&allocations_left);
    while (left >= 0 && !atomic_compare_exchange_weak(&allocations_left, &left, left - 1)) {
    }
    return left == 0;
}

#define FAILING(returned, name, declared, given)                                                                       \
    returned __real_##name declared;                                                                                   \
    returned __wrap_##name declared;                                                                                   \
    returned __wrap_##name declared                                                                                    \
    {                                                                                                                  \
        return is_out_of_memory() ? NULL : __real_##name given;                                                        \
    }

#define FAILING_ALLOC FAILING(void *, ek__alloc, (size_t count, size_t size), (count, size))
#define FAILING_WITH_ROOM                                                                                              \
    FAILING(void *, ek__with_room, (void *array, size_t *capacity, size_t needed, size_t size),                        \
            (array, capacity, needed, size))
#define FAILING_POOL_ALLOC                                                                                             \
    FAILING(void *, ek__pool_alloc, (ek__pool * pool, size_t count, size_t size), (pool, count, size))
#define FAILING_POOL_TEXT                                                                                              \
    FAILING(char *, ek__pool_text, (ek__pool * pool, const char *text, size_t size), (pool, text, size))
#define FAILING_POOL_PUSH                                                                                              \
    FAILING(void *, ek__pool_push, (ek__pool * pool, void *array, int n, size_t size), (pool, array, n, size))

#endif
