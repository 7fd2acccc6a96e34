/* Block check sums: each word times its own odd number. The numbers are high halves of splitmix64 (Steele, Lea, Flood
 * 2014), made odd. The numbers are part of the format. */
#include "index/checks.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/byte_order.h"

enum { WORDS = EK__CHECK_BYTES / 4 };

static uint32_t factor[WORDS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_factors(void)
{
    uint64_t state = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        factor[i] = (uint32_t)((z ^ (z >> 31)) >> 32) | 1;
    }
}

/* Whole words, for which the compiler has wide instructions. The lowest byte comes first, as in sum_bytes(). */
static uint64_t sum_words(const uint32_t *by, const unsigned char *byte, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t word;
        memcpy(&word, byte + 4 * i, sizeof word);
        sum += (uint64_t)ek__lowest_first_32(word) * by[i];
    }
    return sum;
}

/* The bytes of partial words. */
static uint64_t sum_bytes(size_t place, const unsigned char *byte, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((uint64_t)byte[i] << (place + i) % 4 * 8) * factor[(place + i) / 4];
    return sum;
}

uint64_t ek__check_of(size_t place, const void *bytes, size_t n)
{
    assert(place <= EK__CHECK_BYTES && n <= EK__CHECK_BYTES - place);
    pthread_once(&once, make_factors);
    const unsigned char *byte = bytes;
    size_t head = (4 - place % 4) % 4;
    head = head < n ? head : n;
    size_t n_words = (n - head) / 4, tail = (n - head) % 4;
    return sum_bytes(place, byte, head) + sum_words(factor + (place + head) / 4, byte + head, n_words) +
           sum_bytes(place + n - tail, byte + n - tail, tail);
}

uint64_t ek__check_of_checks(const uint64_t *check, size_t n)
{
    const size_t most = EK__CHECK_BYTES / sizeof *check;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i += most)
        sum = sum * UINT64_C(0x9e3779b97f4a7c15) +
              ek__check_of(0, check + i, (n - i < most ? n - i : most) * sizeof *check);
    return sum;
}

uint64_t ek__check_of_header(const ek__index_header *header)
{
    return ek__check_of(0, header, offsetof(ek__index_header, check));
}
