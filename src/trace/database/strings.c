/* Reads the texts of a database by their ids: STRING_IDS of Ascend, StringIds of Nsight Systems. Ids count up from one
 * or a few bases, and the table is in their order, so most are found at their distance from the first one. */
#include <stdlib.h>
#include <string.h>

#include "trace/database/rows.h"

void ek__database_strings_clear(ek__database_strings *strings)
{
    free(strings->at);
    free(strings->bytes);
    *strings = (ek__database_strings){0};
}

bool ek__database_strings_add(ek__database_strings *strings, int64_t id, const char *text, size_t size)
{
    ek__database_strings *s = strings;
    if (size > EK__DATABASE_MAX_TEXT)
        size = EK__DATABASE_MAX_TEXT;
    if (s->n_bytes + size > UINT32_MAX)
        return true; /* they then have no text */
    ek__database_string *at = ek__with_room(s->at, &s->capacity, s->n + 1, sizeof *at);
    if (!at)
        return false;
    s->at = at;
    char *bytes = ek__with_room(s->bytes, &s->bytes_capacity, s->n_bytes + size + 1, 1);
    if (!bytes)
        return false;
    s->bytes = bytes;
    if (size > 0)
        memcpy(bytes + s->n_bytes, text, size);
    bytes[s->n_bytes + size] = '\0';
    at[s->n++] = (ek__database_string){id, (uint32_t)s->n_bytes, (uint32_t)size};
    s->n_bytes += size;
    return true;
}

/* The first in the file among several texts of one id. */
static int by_id(const void *a, const void *b)
{
    const ek__database_string *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

void ek__database_strings_sort(ek__database_strings *strings)
{
    if (strings->n > 1)
        qsort(strings->at, strings->n, sizeof *strings->at, by_id);
}

const char *ek__database_string_at(const ek__database_strings *strings, int64_t id, size_t *size)
{
    const ek__database_string *at = strings->at;
    size_t low = 0, high = strings->n;
    if (high == 0 || id < at[0].id || id > at[high - 1].id)
        return NULL;
    uint64_t guess = (uint64_t)id - (uint64_t)at[0].id;
    if (guess < high && at[guess].id == id && (guess == 0 || at[guess - 1].id != id))
        low = guess;
    else
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (at[middle].id < id)
                low = middle + 1;
            else
                high = middle;
        }
    if (low >= strings->n || at[low].id != id)
        return NULL;
    *size = at[low].size;
    return strings->bytes + at[low].offset;
}

bool ek__database_string_id(const ek__database_strings *strings, const char *text, int64_t *id)
{
    const size_t size = strlen(text);
    for (size_t i = 0; i < strings->n; i++)
        if (strings->at[i].size == size && memcmp(strings->bytes + strings->at[i].offset, text, size) == 0) {
            *id = strings->at[i].id;
            return true;
        }
    return false;
}
