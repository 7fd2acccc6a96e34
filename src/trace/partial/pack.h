/* trace/partial/pack.h - records with everything that they point to, as bytes and back: member by member, each a column
 * over all records of a list, texts by number. */
#ifndef EK_TRACE_PARTIAL_PACK_H
#define EK_TRACE_PARTIAL_PACK_H

#include "base/pool.h"
#include "base/texts.h"
#include "evenkeel/error.h"
#include "trace/partial/columns.h"
#include "trace/partial/records.h"

/** The output: numbers, and the texts that they name. {0} is empty; ek__records_begin() begins. */
typedef struct ek__records_out {
    ek__column_bytes bytes;
    ek__texts texts;
} ek__records_out;

ek_status ek__records_begin(ek__records_out *pack, ek_error *err);
void ek__records_clear(ek__records_out *pack);
/** Add `n` records. @return EK_OK, EK_ERR_MEMORY. O(bytes of them and of everything that they point to). */
ek_status ek__records_add(ek__records_out *pack, const ek__record_type *record, const void *at, size_t n,
                          ek_error *err);
/** The complete bytes: texts, then the added records; to be freed. NULL when memory is out. */
unsigned char *ek__records_end(ek__records_out *pack, size_t *size);

/** The input: bytes from ek__records_end(). */
typedef struct ek__records_in {
    ek__cursor cursor;
    size_t most; /**< records of one list: more than valid bytes can contain */
    uint32_t n_texts;
    const char **text; /**< [n_texts], in `pool` */
    ek__pool *pool;
    bool no_memory;
} ek__records_in;

/** @return EK_OK, EK_ERR_INPUT where the bytes are invalid, EK_ERR_MEMORY. O(bytes). */
ek_status ek__records_open(ek__records_in *unpack, const unsigned char *bytes, size_t size, ek__pool *pool,
                           ek_error *err);
/** Read `n` records into `at`, which is zeroed; the data that they point to goes into the pool. Members of another kind
 * stay.
 *  @return as above. O(bytes). */
ek_status ek__records_read(ek__records_in *unpack, const ek__record_type *record, void *at, size_t n, ek_error *err);

#endif
