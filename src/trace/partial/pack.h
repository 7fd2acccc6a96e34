/* trace/partial/pack.h - records with all that they point to, as bytes and back: member by member, each a column over
 * all records of a list, texts by number. */
#ifndef EK_TRACE_PARTIAL_PACK_H
#define EK_TRACE_PARTIAL_PACK_H

#include "base/pool.h"
#include "base/texts.h"
#include "evenkeel/error.h"
#include "trace/partial/columns.h"
#include "trace/partial/records.h"

/** What is written: numbers, and the texts that they name. {0} is empty; ek__pack_begin() begins. */
typedef struct ek__pack {
    ek__column_bytes bytes;
    ek__texts texts;
} ek__pack;

ek_status ek__pack_begin(ek__pack *pack, ek_error *err);
void ek__pack_clear(ek__pack *pack);
/** Add `n` records. @return EK_OK, EK_ERR_MEMORY. O(bytes of them and of what they point to). */
ek_status ek__pack_records(ek__pack *pack, const ek__record_type *record, const void *at, size_t n, ek_error *err);
/** The whole: texts, then what was added; to be freed. NULL when memory is out. */
unsigned char *ek__pack_end(ek__pack *pack, size_t *size);

/** What is read: of bytes that ek__pack_end() made. */
typedef struct ek__unpack {
    ek__cursor cursor;
    size_t most; /**< records of one list: more than the bytes can mean */
    uint32_t n_texts;
    const char **text; /**< [n_texts], in `pool` */
    ek__pool *pool;
    bool no_memory;
} ek__unpack;

/** @return EK_OK, EK_ERR_INPUT where the bytes are not what was written, EK_ERR_MEMORY. O(bytes). */
ek_status ek__unpack_begin(ek__unpack *unpack, const unsigned char *bytes, size_t size, ek__pool *pool, ek_error *err);
/** Read `n` records into `at`, which is zeroed; what they point to goes into the pool. Members of another kind stay.
 *  @return as above. O(bytes). */
ek_status ek__unpack_records(ek__unpack *unpack, const ek__record_type *record, void *at, size_t n, ek_error *err);

#endif
