/* Allocates memory that is freed as a whole. A pool is a chain of blocks, each twice as large as the one before up to a
 * bound, and at least as large as its first item; memory is returned only as a whole. A growing array therefore leaves
 * its old copies in the pool: at most the array's size again. */
#include "base/pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"

enum { FIRST_BYTES = 4 << 10, BLOCK_BYTES = 64 << 10, ALIGNMENT = 16 };

typedef struct block {
    struct block *next;
    size_t used, size;
    _Alignas(ALIGNMENT) unsigned char data[];
} block;

struct ek__pool {
    block *first;
    size_t next_bytes; /* of the next block */
};

ek__pool *ek__pool_new(void)
{
    ek__pool *pool = calloc(1, sizeof *pool);
    if (pool)
        pool->next_bytes = FIRST_BYTES;
    return pool;
}

void ek__pool_free(ek__pool *pool)
{
    if (!pool)
        return;
    for (block *b = pool->first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(pool);
}

void ek__pool_join(ek__pool *pool, ek__pool *other)
{
    block **last = &pool->first;
    while (*last)
        last = &(*last)->next;
    *last = other->first;
    free(other);
}

static block *add_block(ek__pool *pool, size_t bytes)
{
    size_t usual = pool->next_bytes, size = bytes > usual ? bytes : usual;
    block *b = ek__alloc(1, sizeof *b + size);
    if (!b)
        return NULL;
    b->size = size;
    /* A block for one large item goes after the current one, since the rest of that is still used for small ones. */
    if (pool->first && bytes > usual / 2) {
        b->next = pool->first->next;
        pool->first->next = b;
    } else {
        b->next = pool->first;
        pool->first = b;
    }
    pool->next_bytes = usual < BLOCK_BYTES ? 2 * usual : usual;
    return b;
}

void *ek__pool_alloc(ek__pool *pool, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX / 2 - ALIGNMENT) / size)
        return NULL;
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes == 0)
        bytes = ALIGNMENT;
    block *b = pool->first;
    if (!b || b->size - b->used < bytes)
        b = add_block(pool, bytes);
    if (!b)
        return NULL;
    void *room = b->data + b->used;
    b->used += bytes;
    return room;
}

char *ek__pool_text(ek__pool *pool, const char *text, size_t size)
{
    char *copy = ek__pool_alloc(pool, size + 1, 1);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < size; i++)
        copy[i] = text[i] ? text[i] : '?';
    copy[size] = '\0';
    return copy;
}

char *ek__pool_format(ek__pool *pool, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = ek__vsnprintf(NULL, 0, format, args);
    char *text = size < 0 ? NULL : ek__pool_alloc(pool, (size_t)size + 1, 1);
    if (text)
        ek__vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void *ek__pool_push(ek__pool *pool, void *array, int n, size_t size)
{
    if (array && n > 0 && (n & (n - 1)) != 0)
        return array;
    void *larger = ek__pool_alloc(pool, n > 0 ? 2 * (size_t)n : 1, size);
    if (larger && array && n > 0)
        memcpy(larger, array, (size_t)n * size);
    return larger;
}
