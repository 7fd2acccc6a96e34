/* Stores interned texts: bytes one after the other, a table of places, and open addressing with linear probing over
 * 64-bit hashes. Equal texts are found by hash first; bytes are compared only then. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/error.h"
#include "base/texts.h"

enum { FIRST_SLOTS = 256 };

/* The same on every processor, since choices by it must be. */
uint64_t ek__texts_hash(const char *text, size_t size)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = (uint64_t)size * odd, word;
    for (; size >= 8; size -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ ek__lowest_first_64(word)) * odd;
        hash ^= hash >> 29;
    }
    if (size > 0) {
        word = 0;
        memcpy(&word, text, size);
        hash = (hash ^ ek__lowest_first_64(word)) * odd;
        hash ^= hash >> 29;
    }
    hash *= odd;
    return hash ^ hash >> 32;
}

bool ek__texts_reset(ek__texts *texts)
{
    texts->n = 0;
    texts->n_bytes = 0;
    if (texts->slot)
        memset(texts->slot, 0, texts->n_slots * sizeof *texts->slot);
    return ek__texts_intern(texts, "", 0) == 0;
}

void ek__texts_clear(ek__texts *texts)
{
    free(texts->entry);
    free(texts->slot);
    free(texts->bytes);
    *texts = (ek__texts){0};
}

static bool grow_slots(ek__texts *texts)
{
    uint32_t n_slots = texts->n_slots ? 2 * texts->n_slots : FIRST_SLOTS;
    uint32_t *slot = n_slots ? calloc(n_slots, sizeof *slot) : NULL;
    if (!slot)
        return false;
    for (uint32_t i = 0; i < texts->n; i++) {
        uint32_t s = (uint32_t)texts->entry[i].hash & (n_slots - 1);
        while (slot[s])
            s = (s + 1) & (n_slots - 1);
        slot[s] = i + 1;
    }
    free(texts->slot);
    texts->slot = slot;
    texts->n_slots = n_slots;
    return true;
}

static bool make_room(ek__texts *texts, size_t size)
{
    if (texts->n == texts->capacity) {
        size_t capacity = texts->capacity;
        void *entry = ek__with_room(texts->entry, &capacity, (size_t)texts->n + 1, sizeof *texts->entry);
        if (!entry || capacity > UINT32_MAX)
            return false;
        texts->entry = entry;
        texts->capacity = (uint32_t)capacity;
    }
    if (texts->n_bytes + size + 1 > UINT32_MAX)
        return false;
    if (texts->n_bytes + size + 1 > texts->bytes_capacity) {
        void *bytes = ek__with_room(texts->bytes, &texts->bytes_capacity, texts->n_bytes + size + 1, 1);
        if (!bytes)
            return false;
        texts->bytes = bytes;
    }
    return texts->n_slots / 2 > texts->n || grow_slots(texts);
}

static bool equals(const ek__texts *texts, uint32_t number, const char *text, size_t size, uint64_t hash)
{
    const ek__text_entry *e = &texts->entry[number];
    return e->hash == hash && e->size == size && memcmp(texts->bytes + e->offset, text, size) == 0;
}

uint32_t ek__texts_intern_hashed(ek__texts *texts, const char *text, size_t size, uint64_t hash)
{
    uint32_t s;
    if (texts->slot) {
        for (s = (uint32_t)hash & (texts->n_slots - 1); texts->slot[s]; s = (s + 1) & (texts->n_slots - 1))
            if (equals(texts, texts->slot[s] - 1, text, size, hash))
                return texts->slot[s] - 1;
    }
    if (!make_room(texts, size))
        return UINT32_MAX;
    uint32_t *slot = texts->slot;
    assert(slot);
    for (s = (uint32_t)hash & (texts->n_slots - 1); slot[s];)
        s = (s + 1) & (texts->n_slots - 1);
    slot[s] = texts->n + 1;
    texts->entry[texts->n] = (ek__text_entry){hash, (uint32_t)texts->n_bytes, (uint32_t)size};
    if (size > 0)
        memcpy(texts->bytes + texts->n_bytes, text, size);
    texts->bytes[texts->n_bytes + size] = '\0';
    texts->n_bytes += size + 1;
    return texts->n++;
}

uint32_t ek__texts_intern(ek__texts *texts, const char *text, size_t size)
{
    return ek__texts_intern_hashed(texts, text, size, ek__texts_hash(text, size));
}

uint32_t ek__texts_find(const ek__texts *texts, const char *text, size_t size)
{
    uint64_t hash = ek__texts_hash(text, size);
    if (texts->slot)
        for (uint32_t s = (uint32_t)hash & (texts->n_slots - 1); texts->slot[s]; s = (s + 1) & (texts->n_slots - 1))
            if (equals(texts, texts->slot[s] - 1, text, size, hash))
                return texts->slot[s] - 1;
    return UINT32_MAX;
}
