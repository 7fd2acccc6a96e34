/* Writes columns of numbers as a text: gathered as bytes, compressed by zlib, written as base64 during the compression,
 * so that only the plain bytes are ever in memory completely. Bytes of doubles are transposed, since the high bytes of
 * neighbours are similar; they are not changed otherwise, so reading returns the same values. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "view/view.h"

/* Room for more bytes at the end; NULL when memory is out. zlib is given all of them at once, so they are at most 4 GB.
 */
static unsigned char *more(ek__packed *columns, size_t n, size_t size)
{
    if (columns->out_of_memory || n > (UINT_MAX - columns->n_bytes) / size) {
        columns->out_of_memory = true;
        return NULL;
    }
    unsigned char *larger = ek__with_room(columns->bytes, &columns->capacity, columns->n_bytes + n * size + 1, 1);
    if (!larger) {
        columns->out_of_memory = true;
        return NULL;
    }
    columns->bytes = larger;
    columns->n_bytes += n * size;
    return larger + columns->n_bytes - n * size;
}

void ek__packed_reals(ek__packed *columns, const double *value, size_t n)
{
    unsigned char *at = more(columns, n, sizeof *value);
    for (size_t i = 0; at && i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        for (size_t b = 0; b < sizeof bits; b++)
            at[b * n + i] = (unsigned char)(bits >> 8 * b);
    }
}

void ek__packed_numbers(ek__packed *columns, const uint32_t *value, size_t n)
{
    unsigned char *at = more(columns, n, sizeof *value);
    for (size_t i = 0; at && i < n; i++)
        for (size_t b = 0; b < sizeof *value; b++)
            *at++ = (unsigned char)(value[i] >> 8 * b);
}

void ek__packed_bytes(ek__packed *columns, const void *bytes, size_t n)
{
    unsigned char *at = more(columns, n, 1);
    if (at && n > 0)
        memcpy(at, bytes, n);
}

/* A multiple of three bytes, except for the last piece. */
static void write_base64(const unsigned char *bytes, size_t n, FILE *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16 | (uint32_t)(i + 1 < n ? bytes[i + 1] : 0) << 8 |
                         (uint32_t)(i + 2 < n ? bytes[i + 2] : 0);
        char text[4] = {digit[group >> 18], digit[group >> 12 & 63], i + 1 < n ? digit[group >> 6 & 63] : '=',
                        i + 2 < n ? digit[group & 63] : '='};
        fwrite(text, 1, sizeof text, out);
    }
}

static void *zlib_alloc(void *unused, unsigned count, unsigned size)
{
    (void)unused;
    return ek__alloc(count, size);
}

static void zlib_free(void *unused, void *block)
{
    (void)unused;
    free(block);
}

bool ek__packed_write(ek__packed *columns, ek__stream *s, const char *key)
{
    enum { PIECE = 3 << 14 }; /* full pieces end with a group of base64 */
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free};
    if (columns->out_of_memory || deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK)
        return false;
    unsigned char *piece = ek__alloc(PIECE, 1);
    int state = piece ? Z_OK : Z_MEM_ERROR;
    z.next_in = columns->bytes;
    z.avail_in = (uInt)columns->n_bytes;
    if (piece)
        ek__stream_raw(s, key, "\"");
    while (state == Z_OK) {
        z.next_out = piece;
        z.avail_out = PIECE;
        state = deflate(&z, Z_FINISH);
        write_base64(piece, PIECE - z.avail_out, s->out);
    }
    if (piece)
        fputc('"', s->out);
    free(piece);
    deflateEnd(&z);
    return state == Z_STREAM_END;
}

void ek__packed_clear(ek__packed *columns)
{
    free(columns->bytes);
    *columns = (ek__packed){0};
}
