/* Computes the structure of JSON as bit masks: for 64 bytes at a time the positions of quotes, backslashes and brackets
 * are found with vector compares, or with eight bytes at a time in a register, escaped quotes are dropped, and a prefix
 * XOR of the quotes marks the brackets inside strings. The idea of finding structure first is that of Langdale and
 * Lemire (Parsing gigabytes of JSON per second, 2019). */
#include "trace/scan/structure.h"

#include <string.h>

#include "base/byte_order.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if EK__HAVE_NEON
#include <arm_neon.h>
#endif

static uint64_t prefix_xor(uint64_t bits)
{
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* State that a scan carries from word to word: all ones while inside a string; 1 when the next byte is escaped. */
typedef struct carry {
    uint64_t in_string, escaped;
} carry;

/* Bytes that follow an odd run of backslashes. */
static uint64_t escaped_bytes(uint64_t backslash, uint64_t *carried)
{
    if (backslash == 0) {
        uint64_t first = *carried;
        *carried = 0;
        return first;
    }
    uint64_t escaped = *carried, bit;
    *carried = 0;
    for (uint64_t rest = backslash & ~escaped; rest != 0; rest &= ~(bit | bit << 1)) {
        bit = rest & -rest;
        if (bit >> 63)
            *carried = 1;
        escaped |= bit << 1;
    }
    return escaped;
}

static inline uint64_t drop_escaped(uint64_t quote, uint64_t backslash, carry *c)
{
    return backslash | c->escaped ? quote & ~escaped_bytes(backslash, &c->escaped) : quote;
}

/* `inside` is the prefix XOR of the quotes. */
static inline void finish_word(ek__block *block, size_t word, uint64_t quote, uint64_t inside, uint64_t open,
                               uint64_t close, uint64_t stop, carry *c)
{
    inside ^= c->in_string;
    c->in_string = 0 - (inside >> 63);
    block->quote[word] = quote;
    block->open[word] = open & ~inside;
    block->close[word] = close & ~inside;
    /* A quote or an opening bracket within a number is damage: if the number continued after it, the walker would find
     * other texts and ends of events than the framing. */
    block->stop[word] = stop | open | close | quote;
}

/* '[' and '{' differ in the bit 0x20 only, ']' and '}' too. */
#if defined(__x86_64__)
__attribute__((target("avx2,pclmul"))) static void index_words_avx2(ek__block *block, size_t n_words)
{
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
    const __m256i open = _mm256_set1_epi8('{'), close = _mm256_set1_epi8('}'), bit = _mm256_set1_epi8(0x20);
    const __m256i comma = _mm256_set1_epi8(',');
    carry c = {0, 0};
    for (size_t w = 0; w < n_words; w++) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(block->data + 64 * w));
        __m256i high = _mm256_loadu_si256((const __m256i *)(block->data + 64 * w + 32));
        __m256i low_bit = _mm256_or_si256(low, bit), high_bit = _mm256_or_si256(high, bit);
        /* Blanks are the bytes up to 0x20: the larger of the two is 0x20. */
        __m256i low_max = _mm256_max_epu8(low, bit), high_max = _mm256_max_epu8(high, bit);
#define BOTH(a, b, with)                                                                                               \
    ((uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, with)) |                                            \
     (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, with)) << 32)
        uint64_t quotes = drop_escaped(BOTH(low, high, quote), BOTH(low, high, backslash), &c);
        /* A carry-less product with all ones is the prefix XOR. */
        __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)quotes), _mm_set1_epi8(-1), 0);
        finish_word(block, w, quotes, (uint64_t)_mm_cvtsi128_si64(product), BOTH(low_bit, high_bit, open),
                    BOTH(low_bit, high_bit, close), BOTH(low_max, high_max, bit) | BOTH(low, high, comma), &c);
#undef BOTH
    }
}
#endif

#if EK__HAVE_NEON
/* A byte of all ones becomes a bit: each byte is cut to the bit of its place among eight, and three sums of neighbours
 * put eight of them into one. */
static inline uint64_t bits_of_bytes(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t place = vld1q_u8(places);
    uint8x16_t low = vpaddq_u8(vandq_u8(a, place), vandq_u8(b, place));
    uint8x16_t high = vpaddq_u8(vandq_u8(c, place), vandq_u8(d, place));
    uint8x16_t all = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

static void index_words_neon(ek__block *block, size_t n_words)
{
    const uint8x16_t quote = vdupq_n_u8('"'), backslash = vdupq_n_u8('\\'), comma = vdupq_n_u8(',');
    const uint8x16_t open = vdupq_n_u8('{'), close = vdupq_n_u8('}'), bit = vdupq_n_u8(0x20);
    carry state = {0, 0};
    for (size_t w = 0; w < n_words; w++) {
        const uint8_t *at = (const uint8_t *)block->data + 64 * w;
        uint8x16_t a = vld1q_u8(at), b = vld1q_u8(at + 16), c = vld1q_u8(at + 32), d = vld1q_u8(at + 48);
        uint8x16_t a_bit = vorrq_u8(a, bit), b_bit = vorrq_u8(b, bit), c_bit = vorrq_u8(c, bit),
                   d_bit = vorrq_u8(d, bit);
#define EQUAL(to, with)                                                                                                \
    bits_of_bytes(vceqq_u8(a##to, with), vceqq_u8(b##to, with), vceqq_u8(c##to, with), vceqq_u8(d##to, with))
#define STOP(v) vorrq_u8(vcleq_u8(v, bit), vceqq_u8(v, comma))
        uint64_t quotes = drop_escaped(EQUAL(, quote), EQUAL(, backslash), &state);
        /* Carry-less products are an extension of this processor; six shifts do not dominate the time. */
        finish_word(block, w, quotes, prefix_xor(quotes), EQUAL(_bit, open), EQUAL(_bit, close),
                    bits_of_bytes(STOP(a), STOP(b), STOP(c), STOP(d)), &state);
#undef EQUAL
#undef STOP
    }
}
#endif

/* One bit per byte of `eight` that equals `with`, lowest address first. */
static inline uint64_t equal_bytes(uint64_t eight, uint64_t with)
{
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t differs = eight ^ with;
    uint64_t equal = ~(((differs & low7) + low7) | differs | low7);
    return (equal >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* One bit per byte of `eight` that is a blank: 0x20 or below. */
static inline uint64_t blank_bytes(uint64_t eight)
{
    const uint64_t high = UINT64_C(0x8080808080808080), ones = UINT64_C(0x0101010101010101);
    uint64_t above = ((eight & ~high) + ones * (0x7f - 0x20)) | eight; /* high bit: over 0x20 */
    return ((~above & high) >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t load_eight(const char *at)
{
    uint64_t eight;
    memcpy(&eight, at, 8);
    return ek__lowest_first_64(eight);
}

static void index_words_plain(ek__block *block, size_t n_words)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    carry c = {0, 0};
    for (size_t w = 0; w < n_words; w++) {
        uint64_t quote = 0, backslash = 0, open = 0, close = 0, stop = 0;
        for (int i = 0; i < 8; i++) {
            uint64_t eight = load_eight(block->data + 64 * w + 8 * i), folded = eight | ones * 0x20;
            quote |= equal_bytes(eight, ones * '"') << 8 * i;
            backslash |= equal_bytes(eight, ones * '\\') << 8 * i;
            open |= equal_bytes(folded, ones * '{') << 8 * i;
            close |= equal_bytes(folded, ones * '}') << 8 * i;
            stop |= (blank_bytes(eight) | equal_bytes(eight, ones * ',')) << 8 * i;
        }
        quote = drop_escaped(quote, backslash, &c);
        finish_word(block, w, quote, prefix_xor(quote), open, close, stop, &c);
    }
}

/* Searches for a quote or the end of a number end here at the latest, and need not check the block's end. Two words, as
 * 64 bits from any position are read at once. */
static void add_sentinels(ek__block *block, size_t n_words)
{
    for (size_t w = n_words; w < n_words + 2; w++) {
        block->quote[w] = block->stop[w] = ~UINT64_C(0);
        block->open[w] = block->close[w] = 0;
    }
}

const ek__structure_way ek__structure_ways[] = {
#if defined(__x86_64__)
    {EK__VECTORS_AVX2, index_words_avx2},
#endif
#if EK__HAVE_NEON
    {EK__VECTORS_NEON, index_words_neon},
#endif
    {EK__VECTORS_NONE, index_words_plain},
};

static const ek__structure_way *fastest(void)
{
    const ek__structure_way *way = ek__structure_ways;
    while (!ek__vectors_here(way->vectors))
        way++;
    return way;
}

void ek__block_index(ek__block *block, size_t size, const ek__structure_way *way)
{
    size_t n_words = (size + 63) / 64;
    memset(block->data + size, ' ', EK__BLOCK_PADDING);
    (way ? way : fastest())->index_words(block, n_words);
    add_sentinels(block, n_words);
}
