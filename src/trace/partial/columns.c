/* Writes columns of numbers as bytes and reads them. Times grow, so differences to the number before are small; ends
 * are close to begins, so differences to a related column are; many columns have one value. Compression comes after
 * this and finds repetitions. */
#include "trace/partial/columns.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* The first byte of a column. */
enum { SAME, PLAIN, GROWING, BESIDE, REAL_SAME, REAL_WHOLE, REAL_BITS };

void ek__buffer_add(ek__column_bytes *out, const void *bytes, size_t n)
{
    unsigned char *room = n > 0 ? ek__with_room(out->at, &out->room, out->n + n, 1) : NULL;
    if (!room) {
        out->no_memory |= n > 0;
        return;
    }
    out->at = room;
    memcpy(out->at + out->n, bytes, n);
    out->n += n;
}

static uint64_t folded(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static size_t size_of(int64_t value)
{
    size_t n = 1;
    for (uint64_t u = folded(value) >> 7; u; u >>= 7)
        n++;
    return n;
}

void ek__buffer_add_number(ek__column_bytes *out, int64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    uint64_t u = folded(value);
    for (; u >= 0x80; u >>= 7)
        bytes[n++] = (unsigned char)(u | 0x80);
    bytes[n++] = (unsigned char)u;
    ek__buffer_add(out, bytes, n);
}

static int next_byte(ek__cursor *in)
{
    if (in->at == in->end) {
        in->wrong = true;
        return 0;
    }
    return *in->at++;
}

int64_t ek__cursor_number(ek__cursor *in)
{
    uint64_t u = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        int byte = next_byte(in);
        if (shift == 63 && byte > 1)
            break;
        u |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
    }
    in->wrong = true;
    return 0;
}

/* Differences wrap around, so that all numbers have one. */
static int64_t less(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static bool is_one_value(const int64_t *value, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (value[i] != value[0])
            return false;
    return true;
}

static int shortest_way(const int64_t *value, size_t n, const int64_t *beside)
{
    size_t plain = 0, growing = 0, close = 0;
    if (is_one_value(value, n))
        return SAME;
    for (size_t i = 0; i < n; i++) {
        plain += size_of(value[i]);
        growing += size_of(less(value[i], i > 0 ? value[i - 1] : 0));
        close += beside ? size_of(less(value[i], beside[i])) : 10;
    }
    return close < plain && close < growing ? BESIDE : growing < plain ? GROWING : PLAIN;
}

void ek__column_write(ek__column_bytes *out, const int64_t *value, size_t n, const int64_t *beside)
{
    if (n == 0)
        return;
    const unsigned char way = (unsigned char)shortest_way(value, n, beside);
    ek__buffer_add(out, &way, 1);
    for (size_t i = 0; i < (way == SAME ? 1 : n); i++)
        ek__buffer_add_number(out, way == BESIDE    ? less(value[i], beside[i])
                                   : way == GROWING ? less(value[i], i > 0 ? value[i - 1] : 0)
                                                    : value[i]);
}

void ek__column_read(ek__cursor *in, int64_t *value, size_t n, const int64_t *beside)
{
    if (n == 0)
        return;
    const int way = next_byte(in);
    in->wrong |= way > BESIDE || (way == BESIDE && !beside);
    for (size_t i = 0; i < n; i++) {
        int64_t number = in->wrong ? 0 : way == SAME && i > 0 ? value[0] : ek__cursor_number(in);
        value[i] = in->wrong        ? 0
                   : way == BESIDE  ? plus(number, beside[i])
                   : way == GROWING ? plus(number, i > 0 ? value[i - 1] : 0)
                                    : number;
    }
}

/* ---- real numbers ---- */

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* As a whole number, where the same bits result: neither -0 nor infinite nor NaN. */
static bool is_whole(double value)
{
    return fabs(value) < 9e15 && bits_of((double)(int64_t)value) == bits_of(value);
}

static int shortest_real_way(const double *value, size_t n)
{
    bool same = true, whole = true;
    for (size_t i = 0; i < n; i++) {
        same &= bits_of(value[i]) == bits_of(value[0]);
        whole = whole && is_whole(value[i]);
    }
    return whole ? REAL_WHOLE : same ? REAL_SAME : REAL_BITS;
}

static void write_whole(ek__column_bytes *out, const double *value, size_t n)
{
    int64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        ek__buffer_add_number(out, (int64_t)value[i] - before);
        before = (int64_t)value[i];
    }
}

void ek__column_write_real(ek__column_bytes *out, const double *value, size_t n)
{
    if (n == 0)
        return;
    const unsigned char way = (unsigned char)shortest_real_way(value, n);
    ek__buffer_add(out, &way, 1);
    if (way == REAL_WHOLE) {
        write_whole(out, value, n);
        return;
    }
    /* All highest bytes, then all of the next: exponents are similar, and compress well when adjacent. */
    for (int shift = 56; shift >= 0; shift -= 8)
        for (size_t i = 0; i < (way == REAL_SAME ? 1 : n); i++) {
            const unsigned char byte = (unsigned char)(bits_of(value[i]) >> shift);
            ek__buffer_add(out, &byte, 1);
        }
}

static void read_whole(ek__cursor *in, double *value, size_t n)
{
    int64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        before = plus(before, ek__cursor_number(in));
        value[i] = (double)before;
    }
}

void ek__column_read_real(ek__cursor *in, double *value, size_t n)
{
    if (n == 0)
        return;
    const int way = next_byte(in);
    const size_t n_told = way == REAL_SAME ? 1 : n;
    in->wrong |= way < REAL_SAME || way > REAL_BITS || (way != REAL_WHOLE && (size_t)(in->end - in->at) / 8 < n_told);
    memset(value, 0, n * sizeof *value);
    if (in->wrong)
        return;
    if (way == REAL_WHOLE) {
        read_whole(in, value, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        for (int plane = 0; plane < 8; plane++)
            bits = bits << 8 | in->at[(size_t)plane * n_told + (way == REAL_SAME ? 0 : i)];
        memcpy(&value[i], &bits, sizeof bits);
    }
    in->at += 8 * n_told;
}
