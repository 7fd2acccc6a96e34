/* base/texts.h - interned texts: each is stored once with a number, so that equal texts have equal numbers. */
#ifndef EK_BASE_TEXTS_H
#define EK_BASE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ek__text_entry {
    uint64_t hash;
    uint32_t offset, size; /**< in `bytes`, with a terminating NUL */
} ek__text_entry;

/** Texts by number, found by hash. */
typedef struct ek__texts {
    uint32_t n, capacity, n_slots; /**< n_slots: a power of two */
    ek__text_entry *entry;         /**< [n] */
    uint32_t *slot;                /**< [n_slots] number + 1, 0 free */
    char *bytes;
    size_t n_bytes, bytes_capacity;
} ek__texts;

bool ek__texts_reset(ek__texts *texts);
void ek__texts_clear(ek__texts *texts);
/** The number of a text, added when new; UINT32_MAX when memory is out. Texts end up to 4 GB in all. O(size). */
uint32_t ek__texts_intern(ek__texts *texts, const char *text, size_t size);
/** The same with a hash already known (ek__texts_hash()). */
uint32_t ek__texts_intern_hashed(ek__texts *texts, const char *text, size_t size, uint64_t hash);
uint64_t ek__texts_hash(const char *text, size_t size);
/** The number of a text, or UINT32_MAX. */
uint32_t ek__texts_find(const ek__texts *texts, const char *text, size_t size);

static inline const char *ek__texts_at(const ek__texts *texts, uint32_t number)
{
    return texts->bytes + texts->entry[number].offset;
}

#endif
