/* A hash table with linear probing, at most half full, over one buffer of texts. FNV-1a with a final mix is enough for
 * names that profilers write; it is no defence against texts made to collide. */
#include "trace/key_index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { FIRST_SLOTS = 64 };

void ek__key_index_clear(ek__key_index *index)
{
    free(index->slot);
    free(index->offset);
    free(index->bytes);
    *index = (ek__key_index){0};
}

static uint64_t hash_of(const char *text, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash ^ (hash >> 29);
}

/* The slot where a text is, or where it goes. */
static size_t slot_of(const ek__key_index *index, const char *text, size_t size)
{
    size_t at = hash_of(text, size) & (index->n_slots - 1);
    while (index->slot[at]) {
        const char *other = ek__key_index_text(index, (int)(index->slot[at] - 1));
        if (strncmp(other, text, size) == 0 && other[size] == '\0')
            break;
        at = (at + 1) & (index->n_slots - 1);
    }
    return at;
}

static int grow_slots(ek__key_index *index)
{
    if (2 * ((size_t)index->n + 1) <= index->n_slots)
        return 1;
    ek__key_index larger = *index;
    larger.n_slots = index->n_slots ? 2 * index->n_slots : FIRST_SLOTS;
    larger.slot = ek__alloc(larger.n_slots, sizeof *larger.slot);
    if (!larger.slot)
        return 0;
    for (int i = 0; i < index->n; i++) {
        const char *text = ek__key_index_text(index, i);
        larger.slot[slot_of(&larger, text, strlen(text))] = (uint32_t)i + 1;
    }
    free(index->slot);
    *index = larger;
    return 1;
}

int ek__key_index_add(ek__key_index *index, const char *text, size_t size)
{
    size = strnlen(text, size);
    if (index->n == INT_MAX || !grow_slots(index))
        return -1;
    size_t at = slot_of(index, text, size);
    if (index->slot[at])
        return (int)(index->slot[at] - 1);
    size_t *offset = ek__with_room(index->offset, &index->offset_capacity, (size_t)index->n + 1, sizeof *offset);
    if (!offset)
        return -1;
    index->offset = offset;
    char *bytes = ek__with_room(index->bytes, &index->byte_capacity, index->n_bytes + size + 1, 1);
    if (!bytes)
        return -1;
    index->bytes = bytes;
    memcpy(bytes + index->n_bytes, text, size);
    bytes[index->n_bytes + size] = '\0';
    offset[index->n] = index->n_bytes;
    index->n_bytes += size + 1;
    index->slot[at] = (uint32_t)index->n + 1;
    return index->n++;
}
