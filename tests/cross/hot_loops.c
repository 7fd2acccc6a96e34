/* Tests the hot loops, in every variant that this processor supports, against slow ones that process one byte or one
 * number at a time. It needs only the C library, so that it can be built for a machine without its other libraries: TAP
 * without cmocka. Lines '# result' have sums of all results, which are the same on every machine.
 *
 *   hot_loops          test
 *   hot_loops count    run each way of the two loops with vectors once, over WORDS words and BLOCKS blocks, for a tool
 * that counts instructions */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/needles.h"
#include "base/random.h"
#include "base/vectors.h"
#include "simulate/order.h"
#include "trace/scan/structure.h"

enum { WORDS = 64, BLOCKS = 256 };

static int n_cases, n_failed;

static void report(bool good, const char *sentence)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++n_cases, sentence);
    n_failed += !good;
}

/* FNV-1a of numbers as they are, least significant byte first. */
static void add_number(uint64_t *sum, uint64_t number)
{
    for (int i = 0; i < 64; i += 8)
        *sum = (*sum ^ (number >> i & 0xff)) * UINT64_C(0x100000001b3);
}

static void add_double(uint64_t *sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_number(sum, bits);
}

static void print_result(const char *loop, uint64_t sum)
{
    printf("# result %s %016llx\n", loop, (unsigned long long)sum);
}

/* Memory does not run out here; without it there is nothing to test. */
static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p) {
        fputs("hot_loops: out of memory\n", stderr);
        exit(2);
    }
    return p;
}

/* ---- structure ---- */

enum { MOST_BYTES = 448, MOST_WORDS = MOST_BYTES / 64 + 2, KINDS = 4 };

static void bits_of(ek__block *block, uint64_t bits[KINDS][MOST_WORDS])
{
    block->quote = bits[0], block->open = bits[1], block->close = bits[2], block->stop = bits[3];
}

/* By the definitions of ek__block, one byte at a time. */
static void bytewise(const char *data, size_t n_words, uint64_t bits[KINDS][MOST_WORDS])
{
    bool inside = false, escaped = false;
    memset(bits, 0, KINDS * sizeof *bits);
    for (size_t i = 0; i < 64 * n_words; i++) {
        unsigned char c = (unsigned char)data[i];
        bool quote = c == '"' && !escaped, open = c == '{' || c == '[', close = c == '}' || c == ']';
        escaped = c == '\\' && !escaped;
        inside ^= quote; /* an opening quote is inside, a closing one is not */
        const bool is[KINDS] = {quote, open && !inside, close && !inside,
                                c <= 0x20 || c == ',' || open || close || quote};
        for (int k = 0; k < KINDS; k++)
            bits[k][i / 64] |= (uint64_t)is[k] << i % 64;
    }
    for (size_t w = n_words; w < n_words + 2; w++)
        bits[0][w] = bits[3][w] = ~UINT64_C(0);
}

static void fill(char *data, size_t size, ek__random *r)
{
    static const char pick[] = "\"\"\"\\\\\\{}[],: a\n\t0";
    int other = 1 + ek__random_below(r, 4); /* from every second byte to one in five is any */
    for (size_t i = 0; i < size; i++)
        data[i] = ek__random_below(r, 1 + other) ? pick[ek__random_below(r, (int)sizeof pick - 1)]
                                                 : (char)ek__random_below(r, 256);
}

static bool same_bits(uint64_t a[KINDS][MOST_WORDS], uint64_t b[KINDS][MOST_WORDS], size_t n_words)
{
    bool same = true;
    for (int k = 0; k < KINDS; k++)
        same &= memcmp(a[k], b[k], n_words * sizeof *a[k]) == 0;
    return same;
}

/* All sizes, at all places relative to a vector. */
static void structure(void)
{
    static uint64_t expected[KINDS][MOST_WORDS], got[KINDS][MOST_WORDS];
    char *room = allocate(64 + MOST_BYTES + 2 * EK__BLOCK_PADDING, 1);
    ek__random r = ek__random_seed(17);
    uint64_t sum = 0;
    bool good = true;
    for (size_t size = 0; size <= MOST_BYTES; size++)
        for (size_t place = 0; place < 64; place += 1 + (size_t)ek__random_below(&r, 7)) {
            ek__block block = {.data = room + place};
            size_t n_words = (size + 63) / 64;
            fill(block.data, size, &r);
            memset(block.data + size, ' ', EK__BLOCK_PADDING);
            bytewise(block.data, n_words, expected);
            const ek__structure_way *way = ek__structure_ways;
            for (bool last = false; !last; way++) {
                last = way->vectors == EK__VECTORS_NONE;
                if (!ek__vectors_here(way->vectors))
                    continue;
                memset(got, 0x55, sizeof got);
                bits_of(&block, got);
                ek__block_index(&block, size, way);
                good &= same_bits(got, expected, n_words + 2);
            }
            for (int k = 0; k < KINDS; k++)
                for (size_t w = 0; w < n_words + 2; w++)
                    add_number(&sum, got[k][w]);
        }
    report(good, "every way makes the bits that looking at each byte gives, for all sizes and places");
    print_result("structure", sum);
    free(room);
}

/* ---- lanes ---- */

enum { STAGES = 12, CHAINS = 24, SLOTS = 40, MOST_BLOCKS = 600 };

/* A walk over blocks as they come; that no schedule has this order is the same to the loop. */
typedef struct walk {
    ek_order order;
    ek__step steps[MOST_BLOCKS];
    double factor[MOST_BLOCKS], duration[SLOTS * EK__LANES], tables[3][SLOTS];
    ek__delays delays;
} walk;

static void make_walk(walk *w, size_t n_blocks, ek__random *r)
{
    w->order = (ek_order){.shape = {.n_stages = 1 + ek__random_below(r, STAGES), .n_micro_batches = CHAINS},
                          .n_kinds = 2,
                          .n_ways = 1,
                          .n_cells = SLOTS / 2,
                          .n_blocks = n_blocks,
                          .steps = w->steps};
    for (size_t k = 0; k < n_blocks; k++) {
        uint32_t chain = (uint32_t)ek__random_below(r, CHAINS);
        uint16_t stage = (uint16_t)ek__random_below(r, w->order.shape.n_stages);
        w->steps[k] = ek__step_pack(chain, stage, (uint16_t)ek__random_below(r, SLOTS));
        w->factor[k] = 0.5 + ek__random_unit(r);
    }
    /* Sums of such numbers are rounded, most of them; every fifth is 0. */
    for (int i = 0; i < SLOTS * EK__LANES; i++)
        w->duration[i] = ek__random_below(r, 5) ? ek__random_unit(r) * (1 + ek__random_below(r, 1000)) : 0;
    for (int i = 0; i < 3 * SLOTS; i++)
        w->tables[i / SLOTS][i % SLOTS] = ek__random_below(r, 3) ? ek__random_unit(r) : 0;
    w->delays = (ek__delays){w->tables[0], w->tables[1], w->tables[2]};
}

/* A single lane. */
static void one_lane(const walk *w, const ek__delays *delays, int lane, double *stage, double *chain)
{
    for (size_t k = 0; k < w->order.n_blocks; k++) {
        size_t slot = ek__step_slot(w->steps[k]);
        double *s = &stage[ek__step_stage(w->steps[k]) * EK__LANES + (size_t)lane];
        double *c = &chain[ek__step_chain(w->steps[k]) * EK__LANES + (size_t)lane];
        double t = (*s > *c ? *s : *c) + w->duration[slot * EK__LANES + (size_t)lane];
        t = delays ? t + delays->before[slot] : t;
        *s = delays ? t + delays->after[slot] : t;
        *c = delays ? t + delays->travel[slot] : t;
    }
}

static void lanes(void)
{
    enum { CLOCKS = (STAGES + CHAINS) * EK__LANES };
    static walk w;
    static double expected[CLOCKS], got[CLOCKS];
    ek__random r = ek__random_seed(18);
    uint64_t sum = 0;
    bool good = true;
    for (int round = 0; round < 300; round++) {
        make_walk(&w, 1 + (size_t)ek__random_below(&r, MOST_BLOCKS), &r);
        const ek__delays *delays = round % 2 ? &w.delays : NULL;
        memset(expected, 0, sizeof expected);
        for (int l = 0; l < EK__LANES; l++)
            one_lane(&w, delays, l, expected, expected + STAGES * EK__LANES);
        const ek__lane_way *way = ek__lane_ways;
        for (bool last = false; !last; way++) {
            last = way->vectors == EK__VECTORS_NONE;
            if (!ek__vectors_here(way->vectors))
                continue;
            memset(got, 0, sizeof got);
            way->run(&w.order, w.duration, delays, got, got + STAGES * EK__LANES);
            good &= memcmp(got, expected, sizeof got) == 0;
        }
        for (int i = 0; i < CLOCKS; i++)
            add_double(&sum, got[i]);
        /* Factors make products, which a processor might add without rounding them. */
        double out[EK__LANES];
        w.order.factor = round % 4 < 2 ? w.factor : NULL;
        ek__order_step_times(&w.order, w.duration, delays, got, out);
        for (int l = 0; l < EK__LANES; l++)
            add_double(&sum, out[l]);
    }
    report(good, "every way gives each lane's clocks as a walk of that lane alone, bit by bit");
    print_result("lanes", sum);
}

/* ---- needles ---- */

static size_t find_slowly(const ek__needles *set, const unsigned char *bytes, size_t n, size_t from, int *which)
{
    for (size_t at = from; at < n; at++)
        for (int i = 0; i < set->n; i++)
            if (set->length[i] <= n - at && memcmp(bytes + at, set->text[i], set->length[i]) == 0) {
                *which = i;
                return at;
            }
    return n;
}

static void needles(void)
{
    static const char *const text[] = {"ab", "bab\n", "aaab", "bbbbbbb", "c\n"};
    static ek__needles set;
    unsigned char bytes[200];
    ek__random r = ek__random_seed(19);
    uint64_t sum = 0;
    bool good = true;
    for (int round = 0; round < 2000; round++) {
        int first = ek__random_below(&r, 5), n = (int)sizeof bytes - ek__random_below(&r, 150);
        ek__needles_init(&set, text + first, 1 + ek__random_below(&r, 5 - first));
        for (int i = 0; i < n; i++)
            bytes[i] = (unsigned char)"aaabbbc\n"[ek__random_below(&r, 8)];
        for (size_t from = 0, at; from < (size_t)n; from = at + 1) {
            int which = -1, expected = -1;
            at = ek__needles_find(&set, bytes, (size_t)n, from, &which);
            good &= at == find_slowly(&set, bytes, (size_t)n, from, &expected) && which == expected;
            add_number(&sum, at);
        }
    }
    report(good, "needles are found where looking at every byte finds them");
    print_result("needles", sum);
}

/* ---- counting ---- */

static void count(void)
{
    static walk w;
    static uint64_t bits[KINDS][WORDS];
    static double clocks[2 * (STAGES + CHAINS) * EK__LANES];
    ek__random r = ek__random_seed(20);
    char *data = allocate(64 * WORDS, 1);
    ek__block block = {.data = data, .quote = bits[0], .open = bits[1], .close = bits[2], .stop = bits[3]};
    memset(data, 'a', 64 * WORDS);
    for (size_t i = 0; i < 64 * WORDS; i += 8) /* no backslashes: they are followed one by one, whatever finds them */
        data[i] = "\"{},"[ek__random_below(&r, 4)];
    make_walk(&w, BLOCKS, &r);
    const ek__structure_way *way = ek__structure_ways;
    for (bool last = false; !last; way++) {
        last = way->vectors == EK__VECTORS_NONE;
        if (ek__vectors_here(way->vectors))
            way->index_words(&block, WORDS);
    }
    const ek__lane_way *lane = ek__lane_ways;
    for (bool last = false; !last; lane++) {
        last = lane->vectors == EK__VECTORS_NONE;
        if (ek__vectors_here(lane->vectors))
            lane->run(&w.order, w.duration, NULL, clocks, clocks + STAGES * EK__LANES);
    }
    free(data);
}

/* Which ways this processor has, fastest first. */
static void print_ways(void)
{
    printf("# structure:");
    const ek__structure_way *way = ek__structure_ways;
    for (bool last = false; !last; way++) {
        last = way->vectors == EK__VECTORS_NONE;
        printf(" %s%s", ek__vectors_name(way->vectors), ek__vectors_here(way->vectors) ? "" : " (not here)");
    }
    printf("\n# lanes:");
    const ek__lane_way *lane = ek__lane_ways;
    for (bool last = false; !last; lane++) {
        last = lane->vectors == EK__VECTORS_NONE;
        printf(" %s%s", ek__vectors_name(lane->vectors), ek__vectors_here(lane->vectors) ? "" : " (not here)");
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "count") == 0) {
        count();
        return 0;
    }
    printf("1..3\n");
    print_ways();
    structure();
    lanes();
    needles();
    return n_failed > 0;
}
