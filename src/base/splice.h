/* base/splice.h - changes of a text by place: removed bytes and their replacement. They are noted in any order against
 * the old text, and applied together. */
#ifndef EK_BASE_SPLICE_H
#define EK_BASE_SPLICE_H

#include <stddef.h>

#include "base/pool.h"
#include "evenkeel/error.h"

typedef struct ek__splice {
    size_t at, end; /* bytes of the old text; at == end: something is added */
    const char *text;
    int order; /* of two at the same place the one noted first comes first */
} ek__splice;

typedef struct ek__splices {
    ek__pool *pool;
    int n;
    ek__splice *splice; /* [n] */
} ek__splices;

/** Note that bytes [at, end) become `text`, which is borrowed. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__splice_add(ek__splices *s, size_t at, size_t end, const char *text, ek_error *err);
/** The new text, *n bytes with a terminating NUL; free() it. Splices must not overlap: of two overlapping ones the
 *  first is applied. @return EK_OK or EK_ERR_MEMORY. O(size + n log n). */
ek_status ek__splice_apply(ek__splices *s, const char *text, size_t size, char **out, size_t *n, ek_error *err);

#endif
