/* trace/partial/columns.h - columns of numbers as bytes: each in the shortest of a few encodings, given by its first
 * byte. */
#ifndef EK_TRACE_PARTIAL_COLUMNS_H
#define EK_TRACE_PARTIAL_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that grow. {0} is empty. */
typedef struct ek__column_bytes {
    unsigned char *at; /**< [n]; owned (free) */
    size_t n, room;
    bool no_memory; /**< data was lost */
} ek__column_bytes;

/** Bytes to read. */
typedef struct ek__cursor {
    const unsigned char *at, *end;
    bool wrong; /**< they ended, or are not as expected; all further values are 0 */
} ek__cursor;

void ek__buffer_add(ek__column_bytes *out, const void *bytes, size_t n);
/** A whole number of 7 bits a byte, the sign in the lowest bit. */
void ek__buffer_add_number(ek__column_bytes *out, int64_t value);
int64_t ek__cursor_number(ek__cursor *in);

/** A column of whole numbers. `beside`: another one of equal length and similar values; NULL. O(n). */
void ek__column_write(ek__column_bytes *out, const int64_t *value, size_t n, const int64_t *beside);
void ek__column_read(ek__cursor *in, int64_t *value, size_t n, const int64_t *beside);
/** A column of real numbers; all their bits are restored. O(n). */
void ek__column_write_real(ek__column_bytes *out, const double *value, size_t n);
void ek__column_read_real(ek__cursor *in, double *value, size_t n);

#endif
