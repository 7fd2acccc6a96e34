/* base/pool.h - memory that is freed all at once: results of readers with parts that point into each other. */
#ifndef EK_BASE_POOL_H
#define EK_BASE_POOL_H

#include <stddef.h>
#include <stdio.h>

typedef struct ek__pool ek__pool;

/** An empty pool, or NULL when memory is out. Not thread-safe: one thread at a time. */
ek__pool *ek__pool_new(void);
/** Frees everything taken from it. NULL is fine. */
void ek__pool_free(ek__pool *pool);
/** Takes over everything of `other`, which is freed. O(blocks of other). */
void ek__pool_join(ek__pool *pool, ek__pool *other);
/** Room for count * size zeroed bytes, aligned for every type; count 0 gives a valid pointer. NULL when memory is out
 * or the product overflows. O(bytes). */
void *ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
/** A copy of `size` bytes as text with a terminating NUL; NUL bytes inside become '?'. NULL when memory is out. */
char *ek__pool_text(ek__pool *pool, const char *text, size_t size);
/** printf into the pool. NULL when memory is out. */
char *ek__pool_format(ek__pool *pool, const char *format, ...) __attribute__((format(printf, 2, 3)));
/**
 * An array in the pool with room for one more item: itself while *n is below its capacity, else moved to twice as many.
 * Capacities are powers of two, so they follow from *n: grow arrays only with this call, one item at a time.
 * @return the array; NULL when memory is out (the old one is still valid)
 */
void *ek__pool_push(ek__pool *pool, void *array, int n, size_t size);

#endif
