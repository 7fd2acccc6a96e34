/* trace/key_index.h - numbers texts in the order of their first appearance: what rows are summed by. */
#ifndef EK_TRACE_KEY_INDEX_H
#define EK_TRACE_KEY_INDEX_H

#include <stddef.h>
#include <stdint.h>

/** {0} is an empty one. */
typedef struct ek__key_index {
    int n; /**< texts so far */
    size_t n_slots, n_bytes, offset_capacity, byte_capacity;
    uint32_t *slot; /**< [n_slots], a power of two: number + 1, or 0 */
    size_t *offset; /**< [n], of each text in `bytes` */
    char *bytes;
} ek__key_index;

void ek__key_index_clear(ek__key_index *index);
/** The number of a text, which is the old `n` when it is new; -1 when memory is out (or 2^31 - 1 texts are in). NUL
 *  bytes inside the text are not taken. O(size) on average. */
int ek__key_index_add(ek__key_index *index, const char *text, size_t size);
/** Valid until the next ek__key_index_add(). */
static inline const char *ek__key_index_text(const ek__key_index *index, int number)
{
    return index->bytes + index->offset[number];
}

#endif
