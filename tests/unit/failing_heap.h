/* tests/unit/failing_heap.h - a failing heap for tests that are linked to wrap malloc, calloc and realloc (`wrapped` in
 * tests/meson.build). FAILING_HEAP(fails) defines all three; `fails` is a function that decides whether a call fails.
 * FAILING_POOL_FORMAT(fails, text) is the same for ek__pool_format(), which stores its text in the pool by `text`. */
#ifndef EK_TESTS_FAILING_HEAP_H
#define EK_TESTS_FAILING_HEAP_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/pool.h"

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

#define FAILING_POOL_FORMAT(fails, pool_text)                                                                          \
    char *__wrap_ek__pool_format(ek__pool *pool, const char *format, ...) __attribute__((format(printf, 2, 3)));       \
    char *__wrap_ek__pool_format(ek__pool *pool, const char *format, ...)                                              \
    {                                                                                                                  \
        char text[4096];                                                                                               \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        int n = vsnprintf(text, sizeof text, format, arguments);                                                       \
        va_end(arguments);                                                                                             \
        assert_in_range(n, 0, sizeof text - 1);                                                                        \
        return fails() ? NULL : pool_text(pool, text, (size_t)n);                                                      \
    }

#endif
