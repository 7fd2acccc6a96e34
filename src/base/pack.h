/* base/pack.h - packs values as bytes one after the other, for another process of the same program on a machine of the
 * same kind, in the layout of memory. A reader of too few or too many bytes gets an error at the end. */
#ifndef EK_BASE_PACK_H
#define EK_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evenkeel/error.h"

/** Bytes that grow. {0} is none. */
typedef struct ek__pack {
    char *at; /**< malloc'ed: the owner's once all is in */
    size_t n, capacity;
    bool no_memory; /**< something is not in */
} ek__pack;

/** Add n bytes. */
void ek__pack_put(ek__pack *pack, const void *bytes, size_t n);
/** A text; NULL is one, too. */
void ek__pack_put_text(ek__pack *pack, const char *text);
#define EK__PACK(pack, value) ek__pack_put(pack, &(value), sizeof(value))
/** Did all of it find memory? Frees it otherwise. @return EK_OK, EK_ERR_MEMORY */
ek_status ek__pack_end(ek__pack *pack, ek_error *err);

/** Bytes that are read. */
typedef struct ek__unpack {
    const char *at, *end;
    bool wrong; /**< there were too few */
} ek__unpack;

ek__unpack ek__unpack_of(const void *bytes, size_t n);
/** Take n bytes; zeros where there are fewer. @return are they there? */
bool ek__unpack_get(ek__unpack *unpack, void *to, size_t n);
#define EK__UNPACK(unpack, value) ek__unpack_get(unpack, &(value), sizeof(value))
/** Take n values of `size` bytes into an array of their own, which the caller frees. NULL where there are fewer (then
 *  it is wrong), or memory is out. */
void *ek__unpack_array(ek__unpack *unpack, size_t n, size_t size);
/** Take a text that the caller frees; NULL for NULL, and where memory is out or it is wrong. */
char *ek__unpack_text(ek__unpack *unpack);
/** Report invalid values. @return EK_ERR_SYSTEM */
ek_status ek__unpack_wrong(ek__unpack *unpack, ek_error *err);
/** Were all bytes read, and none missing? @return EK_OK, EK_ERR_SYSTEM */
ek_status ek__unpack_end(const ek__unpack *unpack, ek_error *err);

/** FNV-1a of n bytes, continuing that of others; 0: from its beginning. It compares data of two processes and does not
 *  detect deliberate changes. */
uint64_t ek__hash(const void *bytes, size_t n, uint64_t from);

#endif
