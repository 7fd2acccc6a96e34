/* Tests the allocators against slow ones that only keep the allocated pieces, and check every gap for every request:
 * the same offsets and the same figure after every operation of random sequences. Also invariants of the pieces for any
 * sequence, and worked examples of each framework's rules. */
#include "memory_model.h"

#include <math.h>

#include "base/random.h"
#include "job/job_internal.h"
#include "memory/allocator.h"
#include "memory/pieces.h"

enum { MAX_TAKEN = 512, MAX_BLOCKS = 4096, N_OPERATIONS = 1500 };
static const int64_t mib = 1 << 20, gib = 1 << 30;

/* ---- slow allocators ---- */

typedef struct span {
    int64_t offset, bytes;
    int pool;
} span;

/* Blocks or segments, and the allocated part of them including the waste of unsplit pieces. */
typedef struct slow {
    const ek_rules *rules;
    int64_t device_bytes, end;
    int n_blocks, n_taken;
    span block[MAX_BLOCKS], taken[MAX_TAKEN];
    int last_block[2]; /* of a pool, -1 */
    int64_t highest[2], reserved, most;
} slow;

static int by_offset(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Is gap (offset, size) better for `bytes` than `best`? */
static void consider(span *best, int64_t offset, int64_t size, int64_t bytes)
{
    if (size >= bytes && (best->bytes < 0 || size < best->bytes || (size == best->bytes && offset < best->offset)))
        *best = (span){offset, size, 0};
}

/* The best of all gaps of a pool; bytes -1: none. */
static span slow_best(slow *s, int pool, int64_t bytes)
{
    span best = {0, -1, 0};
    qsort(s->taken, (size_t)s->n_taken, sizeof *s->taken, by_offset);
    for (int b = 0; b < s->n_blocks; b++) {
        const span *block = &s->block[b];
        int64_t at = block->offset;
        if (block->pool != pool)
            continue;
        for (int i = 0; i < s->n_taken; i++) {
            const span *t = &s->taken[i];
            if (t->offset < at || t->offset >= block->offset + block->bytes)
                continue;
            consider(&best, at, t->offset - at, bytes);
            at = t->offset + t->bytes;
        }
        consider(&best, at, block->offset + block->bytes - at, bytes);
    }
    best.pool = pool;
    return best;
}

static void slow_add_block(slow *s, int64_t bytes, int pool)
{
    assert_true(s->n_blocks < MAX_BLOCKS);
    s->block[s->n_blocks] = (span){s->end, bytes, pool};
    s->last_block[pool] = s->n_blocks++;
    s->highest[pool] = s->end;
    s->end += bytes;
}

static int64_t slow_take_blocks(slow *s, int64_t bytes, bool persistent)
{
    span best = slow_best(s, persistent, bytes);
    if (best.bytes < 0 && persistent)
        best = slow_best(s, 0, bytes);
    if (best.bytes < 0) {
        int64_t block = s->rules->block_bytes;
        for (; block < bytes;)
            block *= 2;
        if (s->device_bytes > 0 && s->device_bytes - s->end < block)
            block = (s->device_bytes - s->end) / 512 * 512;
        if (block < bytes)
            block = bytes;
        int pool = persistent && s->last_block[1] < 0;
        slow_add_block(s, block, pool);
        best = (span){s->end - block, block, pool};
    }
    s->taken[s->n_taken++] = (span){best.offset, bytes, best.pool};
    const span *last = &s->block[s->last_block[best.pool]];
    if (best.offset >= last->offset && best.offset + bytes > s->highest[best.pool])
        s->highest[best.pool] = best.offset + bytes;
    return best.offset;
}

static int64_t slow_actual_blocks(const slow *s)
{
    int64_t sum = 0;
    for (int b = 0; b < s->n_blocks; b++) {
        int pool = s->block[b].pool;
        sum += b == s->last_block[pool] ? s->highest[pool] - s->block[b].offset : s->block[b].bytes;
    }
    return sum;
}

static void slow_release(slow *s)
{
    int n = 0;
    for (int b = 0; b < s->n_blocks; b++) {
        bool used = false;
        for (int i = 0; i < s->n_taken; i++)
            used = used || (s->taken[i].offset >= s->block[b].offset &&
                            s->taken[i].offset < s->block[b].offset + s->block[b].bytes);
        if (used)
            s->block[n++] = s->block[b];
        else
            s->reserved -= s->block[b].bytes;
    }
    s->n_blocks = n;
}

static int64_t slow_take_caching(slow *s, int64_t bytes, bool persistent)
{
    (void)persistent;
    int large = bytes > mib;
    span best = slow_best(s, large, bytes);
    if (best.bytes < 0) {
        int64_t segment = !large ? 2 * mib : bytes < 10 * mib ? 20 * mib : (bytes + 2 * mib - 1) / (2 * mib) * 2 * mib;
        if (s->device_bytes > 0 && s->reserved + segment > s->device_bytes)
            slow_release(s);
        slow_add_block(s, segment, large);
        best = (span){s->end - segment, segment, large};
        s->reserved += segment;
        s->most = s->reserved > s->most ? s->reserved : s->most;
    }
    int64_t rest = best.bytes - bytes;
    bool split = large ? rest > mib : rest >= 512;
    s->taken[s->n_taken++] = (span){best.offset, split ? bytes : best.bytes, large};
    return best.offset;
}

static int64_t slow_actual_caching(const slow *s)
{
    return s->most;
}

static void slow_give(slow *s, int64_t offset)
{
    int i = 0;
    while (s->taken[i].offset != offset)
        i++;
    s->taken[i] = s->taken[--s->n_taken];
}

/* ---- pages: a state for every 512 bytes ---- */

enum { N_UNITS = 1 << 15, MAX_PAGES = N_UNITS };
enum { S_UNMAPPED, S_IDLE, S_TAKEN };

typedef struct slow_pages {
    int units; /* of a page */
    unsigned char state[N_UNITS];
    bool mapped[MAX_PAGES];
    int n_mapped, most;
} slow_pages;

/* Start of the shortest run of `state` with at least n units, the lowest among equals; the last run has no end. */
static int shortest_run(const slow_pages *s, int state, int n)
{
    int best = -1, best_length = 0;
    for (int at = 0; at < N_UNITS;) {
        int end = at;
        while (end < N_UNITS && s->state[end] == state)
            end++;
        int length = end == N_UNITS ? INT32_MAX : end - at;
        if (end > at && length >= n && (best < 0 || length < best_length)) {
            best = at;
            best_length = length;
        }
        at = end > at ? end : at + 1;
    }
    return best;
}

static bool page_is_free(const slow_pages *s, int page)
{
    for (int u = page * s->units; u < (page + 1) * s->units; u++)
        if (s->state[u] == S_TAKEN)
            return false;
    return true;
}

static int64_t slow_take_pages(slow_pages *s, int64_t bytes)
{
    int n = (int)(bytes / 512), at = shortest_run(s, S_IDLE, n);
    if (at < 0) {
        for (int u = 0; u < N_UNITS; u++)
            s->state[u] = s->state[u] == S_IDLE ? S_UNMAPPED : s->state[u];
        for (int page = 0; page < N_UNITS / s->units; page++)
            if (s->mapped[page] && page_is_free(s, page)) {
                s->mapped[page] = false;
                s->n_mapped--;
            }
        at = shortest_run(s, S_UNMAPPED, n);
        assert_true(at >= 0 && at + n <= N_UNITS);
        for (int page = at / s->units; page <= (at + n - 1) / s->units; page++) {
            s->n_mapped += !s->mapped[page];
            s->mapped[page] = true;
        }
        s->most = s->n_mapped > s->most ? s->n_mapped : s->most;
    }
    memset(s->state + at, S_TAKEN, (size_t)n);
    return (int64_t)at * 512;
}

static void slow_give_pages(slow_pages *s, int64_t offset, int64_t bytes)
{
    memset(s->state + offset / 512, S_IDLE, (size_t)(bytes / 512));
}

/* ---- invariants of pieces ---- */

/* Which entries are pieces now. */
static const bool *in_use(const ek__pieces *pieces)
{
    static bool used[4 * MAX_TAKEN + MAX_BLOCKS];
    assert_true(pieces->n <= (int32_t)sizeof used);
    for (int32_t i = 0; i < pieces->n; i++)
        used[i] = true;
    for (int32_t i = pieces->unused; i >= 0; i = pieces->at[i].next)
        used[i] = false;
    return used;
}

/* A list that is not empty. @return bytes of its pieces */
static int64_t assert_list_holds(const ek__pieces *pieces, int set, int bin)
{
    int64_t bytes = 0;
    int32_t before = -1;
    for (int32_t i = pieces->set[set].first[bin]; i >= 0; i = pieces->at[i].higher) {
        const ek__piece *p = &pieces->at[i], *q = &pieces->at[before];
        assert_true(p->free && p->set == set && p->lower == before && ek__bin_of(p->bytes) == bin);
        assert_true(before < 0 || q->bytes < p->bytes || (q->bytes == p->bytes && q->offset < p->offset));
        bytes += p->bytes;
        before = i;
    }
    assert_true(before >= 0);
    return bytes;
}

/* Every block is its pieces without gap or overlap, neighbours that are free and alike are merged, and each free piece
 * is listed once where it belongs. @return bytes of taken pieces */
static int64_t assert_pieces_hold(const ek__pieces *pieces)
{
    int64_t taken = 0, free_bytes = 0, listed = 0, all = 0;
    const bool *used = in_use(pieces);
    for (int32_t i = 0; i < pieces->n; i++) {
        if (!used[i])
            continue;
        const ek__piece *p = &pieces->at[i];
        assert_true(p->bytes > 0 && p->bytes % EK__ALIGNMENT == 0 && p->offset % EK__ALIGNMENT == 0);
        all += p->bytes;
        *(p->free ? &free_bytes : &taken) += p->bytes;
        if (p->next < 0)
            continue;
        const ek__piece *q = &pieces->at[p->next];
        assert_int_equal(q->previous, i);
        assert_true(q->offset == p->offset + p->bytes);
        assert_false(p->free && q->free && p->set == q->set);
    }
    for (int s = 0; s < EK__N_FREE_SETS; s++)
        for (int b = 0; b < EK__N_BINS; b++)
            if (pieces->set[s].filled[b / 64] >> b % 64 & 1)
                listed += assert_list_holds(pieces, s, b);
    assert_true(listed == free_bytes && taken + free_bytes == all);
    return taken;
}

static void assert_all_free_and_merged(const ek__pieces *pieces)
{
    const bool *used = in_use(pieces);
    for (int32_t i = 0; i < pieces->n; i++)
        if (used[i]) {
            assert_true(pieces->at[i].free);
            assert_int_equal(pieces->at[i].previous, -1);
            assert_int_equal(pieces->at[i].next, -1);
        }
}

/* ---- random sequences ---- */

typedef struct sizes {
    const char *name;
    int64_t unit, most; /* multiples of unit up to most */
    int n_repeating;    /* of so many sizes only; 0: any */
} sizes;

static int64_t random_bytes(ek__random *r, const sizes *s)
{
    int n = (int)(s->most / s->unit);
    int steps = 1 + ek__random_below(r, n);
    if (s->n_repeating > 0)
        steps = 1 + steps % s->n_repeating * (n / s->n_repeating);
    return (int64_t)steps * s->unit -
           ek__random_below(r, 2) * ek__random_below(r, (int)(s->unit < 512 ? s->unit : 512));
}

typedef struct config {
    const char *name;
    ek_allocation allocation;
    int64_t block_bytes, page_bytes, device_bytes;
    int max_taken;
    sizes sizes;
} config;

static const config configs[] = {
    {"blocks far larger than requests", EK_ALLOCATION_BLOCKS, 1 << 20, 0, 0, 60, {"", 512, 64 << 10, 0}},
    {"blocks like requests, few sizes", EK_ALLOCATION_BLOCKS, 64 << 10, 0, 0, 100, {"", 512, 128 << 10, 7}},
    {"requests larger than blocks", EK_ALLOCATION_BLOCKS, 4096, 0, 0, 40, {"", 512, 64 << 10, 0}},
    {"a device that gets full", EK_ALLOCATION_BLOCKS, 1 << 20, 0, 3 << 20, 200, {"", 512, 64 << 10, 0}},
    {"a device far too small", EK_ALLOCATION_BLOCKS, 1 << 20, 0, 70000, 100, {"", 512, 64 << 10, 5}},
    {"many pieces", EK_ALLOCATION_BLOCKS, 1 << 20, 0, 0, 500, {"", 512, 8192, 0}},
    {"caching, small ones", EK_ALLOCATION_CACHING, 0, 0, 0, 100, {"", 512, 1 << 20, 0}},
    {"caching, all sizes", EK_ALLOCATION_CACHING, 0, 0, 0, 100, {"", 100 << 10, 40 << 20, 0}},
    {"caching, few sizes", EK_ALLOCATION_CACHING, 0, 0, 0, 200, {"", 100 << 10, 24 << 20, 9}},
    {"caching, a device that gets full", EK_ALLOCATION_CACHING, 0, 0, 400 << 20, 60, {"", 100 << 10, 40 << 20, 0}},
    {"pages smaller than requests", EK_ALLOCATION_PAGES, 0, 2048, 0, 60, {"", 512, 64 << 10, 0}},
    {"pages larger than requests", EK_ALLOCATION_PAGES, 0, 65536, 0, 60, {"", 512, 32 << 10, 0}},
    {"pages, few sizes", EK_ALLOCATION_PAGES, 0, 16384, 0, 100, {"", 512, 48 << 10, 5}},
};

typedef struct run {
    const config *config;
    const ek__allocator_kind *kind;
    ek__allocator *fast;
    slow slow;
    slow_pages pages;
    ek_rules rules;
    struct {
        int32_t piece;
        int64_t offset, bytes;
    } taken[MAX_TAKEN];
    int n_taken;
    int64_t used;
} run;

static int64_t slow_take(run *r, int64_t bytes, bool persistent)
{
    if (r->config->allocation == EK_ALLOCATION_PAGES)
        return slow_take_pages(&r->pages, bytes);
    return r->config->allocation == EK_ALLOCATION_BLOCKS ? slow_take_blocks(&r->slow, bytes, persistent)
                                                         : slow_take_caching(&r->slow, bytes, persistent);
}

static int64_t slow_actual(const run *r)
{
    if (r->config->allocation == EK_ALLOCATION_PAGES)
        return r->pages.most * r->config->page_bytes;
    return r->config->allocation == EK_ALLOCATION_BLOCKS ? slow_actual_blocks(&r->slow) : slow_actual_caching(&r->slow);
}

static void take_one(run *r, int64_t bytes, bool persistent)
{
    int32_t piece = r->kind->take(r->fast, bytes, persistent);
    assert_true(piece >= 0);
    int64_t aligned = ek__aligned(bytes), offset = r->kind->offset(r->fast, piece);
    assert_int_equal(offset, slow_take(r, aligned, persistent));
    for (int i = 0; i < r->n_taken; i++)
        assert_true(offset + aligned <= r->taken[i].offset || r->taken[i].offset + r->taken[i].bytes <= offset);
    r->taken[r->n_taken].piece = piece;
    r->taken[r->n_taken].offset = offset;
    r->taken[r->n_taken++].bytes = aligned;
    r->used += aligned;
}

static void give_one(run *r, int i)
{
    r->kind->give(r->fast, r->taken[i].piece);
    if (r->config->allocation == EK_ALLOCATION_PAGES)
        slow_give_pages(&r->pages, r->taken[i].offset, r->taken[i].bytes);
    else
        slow_give(&r->slow, r->taken[i].offset);
    r->used -= r->taken[i].bytes;
    r->taken[i] = r->taken[--r->n_taken];
}

static void assert_run_holds(const run *r)
{
    assert_int_equal(r->kind->actual(r->fast), slow_actual(r));
    int64_t taken = assert_pieces_hold(r->kind->pieces(r->fast));
    if (r->config->allocation == EK_ALLOCATION_CACHING)
        assert_true(taken >= r->used);
    else
        assert_true(taken == r->used && r->kind->actual(r->fast) >= r->used);
}

static void run_config(run *r, const config *c, uint64_t seed)
{
    ek__random random = ek__random_seed(seed);
    memset(r, 0, sizeof *r);
    r->config = c;
    r->rules.allocation = c->allocation;
    r->rules.block_bytes = c->block_bytes;
    r->rules.page_bytes = c->page_bytes;
    r->slow = (slow){.rules = &r->rules, .device_bytes = c->device_bytes, .last_block = {-1, -1}};
    r->pages.units = (int)(c->page_bytes / 512);
    r->kind = ek__allocator_kind_of(c->allocation);
    r->fast = r->kind->create(&r->rules, c->device_bytes);
    assert_non_null(r->fast);
    int level = c->max_taken / 2;
    for (int i = 0; i < N_OPERATIONS; i++) {
        if (i % 100 == 0)
            level = 1 + ek__random_below(&random, c->max_taken); /* how much is taken rises and falls */
        if (r->n_taken == 0 || (r->n_taken < c->max_taken && ek__random_below(&random, 2 * level) >= r->n_taken))
            take_one(r, random_bytes(&random, &c->sizes), ek__random_below(&random, i < 50 ? 2 : 20) == 0);
        else
            give_one(r, ek__random_below(&random, r->n_taken));
        assert_run_holds(r);
    }
    while (r->n_taken > 0)
        give_one(r, r->n_taken - 1);
    assert_run_holds(r);
    if (c->allocation != EK_ALLOCATION_PAGES)
        assert_all_free_and_merged(r->kind->pieces(r->fast));
    r->kind->destroy(r->fast);
}

static void every_offset_is_that_of_a_slow_allocator(void **state)
{
    (void)state;
    static run r;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            run_config(&r, &configs[i], seed);
}

/* ---- worked examples ---- */

typedef struct event {
    int64_t bytes; /* 0: release the piece of request `which` */
    int which;
    bool persistent;
    int64_t offset; /* expected of a request */
    int64_t actual; /* expected afterwards */
} event;

typedef struct example {
    const char *name;
    ek_allocation allocation;
    int64_t device_bytes;
    event event[12];
} example;

#define M *((int64_t)1 << 20)
#define TAKE(bytes, offset, actual)                                                                                    \
    {                                                                                                                  \
        bytes, 0, false, offset, actual                                                                                \
    }
#define TAKE_PERSISTENT(bytes, offset, actual)                                                                         \
    {                                                                                                                  \
        bytes, 0, true, offset, actual                                                                                 \
    }
#define GIVE(which, actual)                                                                                            \
    {                                                                                                                  \
        0, which, false, 0, actual                                                                                     \
    }

static const example examples[] = {
    {"the last block counts up to its highest byte, earlier ones whole",
     EK_ALLOCATION_BLOCKS,
     0,
     {TAKE(100 M, 0, 100 M), TAKE(900 M, 100 M, 1000 M), TAKE(200 M, 1024 M, 1224 M), GIVE(2, 1224 M),
      TAKE(24 M, 1000 M, 1224 M)}},
    {"a request above the unit doubles it",
     EK_ALLOCATION_BLOCKS,
     0,
     {TAKE(2049 M, 0, 2049 M), TAKE(2047 M, 2049 M, 4096 M), TAKE(1 M, 4096 M, 4097 M)}},
    {"the persistent pool gets one block, then the common one",
     EK_ALLOCATION_BLOCKS,
     0,
     {TAKE_PERSISTENT(600 M, 0, 600 M), TAKE_PERSISTENT(600 M, 1024 M, 1200 M), TAKE_PERSISTENT(300 M, 600 M, 1500 M),
      TAKE(400 M, 1624 M, 1900 M), TAKE(200 M, 2048 M, 900 M + 1024 M + 200 M)}},
    {"a persistent request looks in the common pool before it asks for a block",
     EK_ALLOCATION_BLOCKS,
     0,
     {TAKE(100 M, 0, 100 M), TAKE_PERSISTENT(200 M, 100 M, 300 M)}},
    {"a block is no larger than what the device has left",
     EK_ALLOCATION_BLOCKS,
     1500 M,
     {TAKE(1000 M, 0, 1000 M), TAKE(100 M, 1024 M, 1124 M), TAKE(376 M, 1124 M, 1500 M), TAKE(10 M, 1000 M, 1500 M),
      TAKE(300 M, 1500 M, 1800 M), TAKE(30 M, 1800 M, 1830 M)}},
    {"requests are rounded up to 512 bytes",
     EK_ALLOCATION_BLOCKS,
     0,
     {TAKE(1, 0, 512), TAKE(513, 512, 1536), TAKE(512, 1536, 2048), GIVE(1, 2048), TAKE(1024, 512, 2048)}},
    {"small ones share segments of 2 MiB",
     EK_ALLOCATION_CACHING,
     0,
     {TAKE(1 M, 0, 2 M), TAKE(1000, 1 M, 2 M), TAKE(1 M, 2 M, 4 M)}},
    {"up to 10 MiB they share segments of 20",
     EK_ALLOCATION_CACHING,
     0,
     {TAKE(5 M, 0, 20 M), TAKE(9 M, 5 M, 20 M), TAKE(7 M, 20 M, 40 M), TAKE(5 M, 14 M, 40 M)}},
    {"large ones are rounded to 2 MiB and not split for less than 1 MiB",
     EK_ALLOCATION_CACHING,
     0,
     {TAKE(11 M, 0, 12 M), GIVE(0, 12 M), TAKE(12 M, 0, 12 M), TAKE(10 M, 12 M, 22 M)}},
    {"segments that are free go back before the device is full",
     EK_ALLOCATION_CACHING,
     50 M,
     {TAKE(30 M, 0, 30 M), GIVE(0, 30 M), TAKE(40 M, 30 M, 40 M)}},
    {"pages are created on demand",
     EK_ALLOCATION_PAGES,
     0,
     {TAKE(1 M, 0, 2 M), TAKE(2 M, 1 M, 4 M), TAKE(1 M, 3 M, 4 M)}},
    {"idle whole pages move to where they are needed",
     EK_ALLOCATION_PAGES,
     0,
     {TAKE(10 M, 0, 10 M), TAKE(2 M, 10 M, 12 M), GIVE(0, 12 M), TAKE(12 M, 12 M, 14 M), TAKE(6 M, 0, 20 M)}},
};

static void check_example(const example *x)
{
    ek_rules rules = {.allocation = x->allocation, .block_bytes = gib, .page_bytes = 2 M};
    const ek__allocator_kind *kind = ek__allocator_kind_of(x->allocation);
    ek__allocator *a = kind->create(&rules, x->device_bytes);
    int32_t taken[12];
    int n = 0;
    for (int i = 0; i < 12 && (x->event[i].bytes > 0 || x->event[i].actual > 0); i++) {
        const event *e = &x->event[i];
        if (e->bytes == 0) {
            kind->give(a, taken[e->which]);
        } else {
            taken[n] = kind->take(a, e->bytes, e->persistent);
            if (kind->offset(a, taken[n++]) != e->offset)
                fail_msg("%s: event %d at %lld MiB, expected %lld", x->name, i,
                         (long long)(kind->offset(a, taken[n - 1]) / mib), (long long)(e->offset / mib));
        }
        if (kind->actual(a) != e->actual)
            fail_msg("%s: after event %d %lld MiB, expected %lld", x->name, i, (long long)(kind->actual(a) / mib),
                     (long long)(e->actual / mib));
    }
    kind->destroy(a);
}

static void worked_examples_come_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check_example(&examples[i]);
}

static void absurd_sizes_are_refused_not_overflowed(void **state)
{
    (void)state;
    static const ek_allocation all[] = {EK_ALLOCATION_BLOCKS, EK_ALLOCATION_PAGES, EK_ALLOCATION_CACHING};
    for (int i = 0; i < 3; i++) {
        ek_rules rules = {.allocation = all[i], .block_bytes = INT64_C(1) << 59, .page_bytes = INT64_C(1) << 40};
        const ek__allocator_kind *kind = ek__allocator_kind_of(all[i]);
        ek__allocator *a = kind->create(&rules, INT64_MAX);
        assert_int_equal(kind->take(a, INT64_MAX, false), -1);
        for (int k = 0; k < 4; k++)
            kind->take(a, INT64_C(1) << 58, k % 2);
        assert_int_equal(kind->take(a, (INT64_C(1) << 60) - 511, true), -1);
        assert_true(kind->actual(a) >= 0);
        kind->destroy(a);
    }
}

/* ---- offline ---- */

/* The rule as written: candidates for the lowest offset are 0 and the ends of placed pieces. */
static int64_t slow_offline(ek__lifetime *life, int n)
{
    static bool done[256];
    memset(done, 0, sizeof done);
    int64_t height = 0;
    for (int round = 0; round < n; round++) {
        int next = -1;
        for (int i = 0; i < n; i++)
            if (!done[i] &&
                (next < 0 || life[i].bytes > life[next].bytes ||
                 (life[i].bytes == life[next].bytes &&
                  (life[i].from < life[next].from || (life[i].from == life[next].from && life[i].to > life[next].to)))))
                next = i;
        ek__lifetime *x = &life[next];
        int64_t best = INT64_MAX;
        for (int c = -1; c < n; c++) {
            int64_t at = c < 0 ? 0 : life[c].offset + life[c].bytes;
            bool fits = c < 0 || done[c];
            for (int i = 0; fits && i < n; i++)
                fits = !done[i] || life[i].from >= x->to || life[i].to <= x->from ||
                       life[i].offset + life[i].bytes <= at || at + x->bytes <= life[i].offset;
            best = fits && at < best ? at : best;
        }
        x->offset = best;
        done[next] = true;
        height = best + x->bytes > height ? best + x->bytes : height;
    }
    return height;
}

static int64_t most_alive(const ek__lifetime *life, int n)
{
    int64_t most = 0;
    for (int t = 0; t < n; t++) {
        int64_t sum = 0;
        for (int i = 0; i < n; i++)
            sum += life[i].from <= life[t].from && life[t].from < life[i].to ? life[i].bytes : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

static void offline_is_largest_first_at_the_lowest_offset(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(5);
    for (int round = 0; round < 60; round++) {
        ek__lifetime fast[256], slow_one[256];
        int n = 1 + ek__random_below(&r, 256), n_sizes = 1 + ek__random_below(&r, 40);
        for (int i = 0; i < n; i++) {
            int from = ek__random_below(&r, 200), to = from + 1 + ek__random_below(&r, round % 2 ? 200 : 12);
            fast[i] = slow_one[i] = (ek__lifetime){512 * (1 + ek__random_below(&r, n_sizes)), 0, from, to};
        }
        int64_t height = ek__allocate_offline(fast, (size_t)n);
        assert_int_equal(height, slow_offline(slow_one, n));
        assert_true(height >= most_alive(fast, n));
        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++)
                assert_true(fast[i].from >= fast[k].to || fast[k].from >= fast[i].to ||
                            fast[i].offset >= fast[k].offset + fast[k].bytes ||
                            fast[k].offset >= fast[i].offset + fast[i].bytes);
    }
    assert_int_equal(ek__allocate_offline(NULL, 0), 0);
}

/* ---- whole stages ---- */

/* The model with other chunks; nothing is recomputed. */
static void respread(ek_job *job, int n_chunks)
{
    ek_error err = {0};
    for (; job->n_patterns > 0; job->n_patterns--) {
        free(job->pattern[job->n_patterns - 1].text);
        free(job->pattern[job->n_patterns - 1].layers);
    }
    ek_plan_clear(&job->plan);
    if (ek__job_spread(job, n_chunks, &err) || ek_job_check(job, &err))
        fail_msg("%s", err.message);
}

/* Every tensor of a step is placed: no figure is below the live bytes, and none far above, as it would be if tensors
 * were not released. */
static void stages_are_placed_for_every_schedule(void **state)
{
    (void)state;
    static const char *const schedules[] = {"1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "dualpipe"};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        ek_job job;
        read_model(&job);
        job.schedule = ek_schedule_find(schedules[i]);
        if (job.schedule->min_chunks > 1)
            respread(&job, 2);
        for (int allocation = 0; allocation < EK_N_ALLOCATIONS; allocation++) {
            job.rules.allocation = (ek_allocation)allocation;
            ek_memory memory = predicted(&job);
            for (int s = 0; s < memory.n_stages; s++) {
                const ek_memory_stage *stage = &memory.stage[s];
                double over = (double)stage->actual_peak / (double)stage->used_peak;
                if (over < 1 || over > 1.25)
                    fail_msg("%s, %s, stage %d: %.3f of the live bytes", schedules[i], ek_allocation_name[allocation],
                             s, over);
            }
            ek_memory_clear(&memory);
        }
        ek_job_clear(&job);
    }
}

/* ---- stopped ---- */

typedef struct asked {
    int n, over_at;
} asked;

static bool over_after(void *user)
{
    asked *a = user;
    return ++a->n > a->over_at;
}

/* However far it came, a stopped prediction fits nowhere; one that is never stopped equals one without a callback. */
static void stopped_placements_never_fit(void **state)
{
    ek_job job;
    ek_error err;
    (void)state;
    read_model(&job);
    for (int allocation = 0; allocation < EK_N_ALLOCATIONS; allocation++) {
        job.rules.allocation = (ek_allocation)allocation;
        ek_memory whole = predicted(&job), memory;
        asked a = {.over_at = INT32_MAX};
        const ek_memory_options options = {.over = over_after, .user = &a};
        assert_int_equal(ek_memory_predict(&job, &options, &memory, &err), EK_OK);
        assert_false(memory.ended_early);
        assert_true(memory.fits);
        for (int s = 0; s < whole.n_stages; s++)
            assert_int_equal(memory.stage[s].actual_peak, whole.stage[s].actual_peak);
        ek_memory_clear(&memory);
        const int n = a.n;
        assert_true(allocation == EK_ALLOCATION_WHOLE ? n == 0 : n >= whole.n_stages * job.parallel.n_micro_batches);
        for (int at = 0; at < n; at += 1 + at / 2) {
            a = (asked){.over_at = at};
            assert_int_equal(ek_memory_predict(&job, &options, &memory, &err), EK_OK);
            assert_true(memory.ended_early);
            assert_false(memory.fits);
            assert_int_equal(a.n, at + 1); /* nothing is played after it */
            for (int s = 0; s < memory.n_stages; s++)
                assert_true(memory.stage[s].actual_peak == 0 ||
                            memory.stage[s].actual_peak == whole.stage[s].actual_peak);
            ek_memory_clear(&memory);
        }
        ek_memory_clear(&whole);
    }
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_examples_come_out),
        cmocka_unit_test(every_offset_is_that_of_a_slow_allocator),
        cmocka_unit_test(absurd_sizes_are_refused_not_overflowed),
        cmocka_unit_test(offline_is_largest_first_at_the_lowest_offset),
        cmocka_unit_test(stages_are_placed_for_every_schedule),
        cmocka_unit_test(stopped_placements_never_fit),
    };
    return cmocka_run_group_tests_name("memory allocators", tests, NULL, NULL);
}
