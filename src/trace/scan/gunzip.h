/* trace/scan/gunzip.h - a .gz file as a stream of bytes, with the places from which it can be read again. */
#ifndef EK_TRACE_SCAN_GUNZIP_H
#define EK_TRACE_SCAN_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ek__gunzip ek__gunzip;

/** A border between two blocks of deflate. With the 32 KB before it inflating can begin there. */
typedef struct ek__gunzip_spot {
    int64_t out, in;       /**< bytes of the decompressed and of the compressed file before it */
    unsigned bits;         /**< of the byte before `in` that are not used yet: the high ones */
    unsigned char *window; /**< [window_size] compressed by zlib; NULL and 0: no data before it */
    uint32_t window_size;
} ek__gunzip_spot;

/** A stream over an open file, which it closes. NULL when memory is out; the file is then still open. */
ek__gunzip *ek__gunzip_new(int fd);
/** NULL is fine. */
void ek__gunzip_free(ek__gunzip *gunzip);
/** Record borders at distances of about this many decompressed bytes, 1 or more. To be called before the first byte is
 *  read; reading then takes three times as long. */
void ek__gunzip_note_spots(ek__gunzip *gunzip, int64_t distance);
/** Size of a read from the file, at most 64 KB, which is the default: for tests of data at the borders.
 */
void ek__gunzip_limit_input(ek__gunzip *gunzip, size_t bytes);
/** Up to `size` bytes; fewer at the end and where the file is damaged, 0 from then on. */
size_t ek__gunzip_read(ek__gunzip *gunzip, char *to, size_t size);
/** The error, valid as long as the stream; NULL: none so far. */
const char *ek__gunzip_problem(const ek__gunzip *gunzip);
bool ek__gunzip_out_of_memory(const ek__gunzip *gunzip);
/** Compressed bytes read. */
int64_t ek__gunzip_bytes(const ek__gunzip *gunzip);
/** In order, from the first block on; owned by the stream. */
const ek__gunzip_spot *ek__gunzip_spots(const ek__gunzip *gunzip, size_t *n);

#endif
