/* tests/unit/failing_heap.h - the heap for tests that are linked to wrap malloc, calloc and realloc (`wrapped` in
 * tests/meson.build). FAILING_HEAP(fails) defines all three; `fails` is a function that says whether this one fails. */
#ifndef EK_TESTS_FAILING_HEAP_H
#define EK_TESTS_FAILING_HEAP_H

#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

#define FAILING_HEAP(fails)                                                                                            \
    void *__wrap_malloc(size_t size)                                                                                   \
    {                                                                                                                  \
        return fails() ? NULL : __real_malloc(size);                                                                   \
    }                                                                                                                  \
    void *__wrap_calloc(size_t count, size_t size)                                                                     \
    {                                                                                                                  \
        return fails() ? NULL : __real_calloc(count, size);                                                            \
    }                                                                                                                  \
    void *__wrap_realloc(void *old, size_t size)                                                                       \
    {                                                                                                                  \
        return fails() ? NULL : __real_realloc(old, size);                                                             \
    }

#endif
