/* Models MindSpore's pool with virtual memory (enable_vmm): unlimited address space, with pages of the device mapped on
 * demand. Source: MindSpore 2.x, docs/memory.md. Best fit among idle pieces, which keep their pages; if none fits,
 * every idle whole page is reclaimed, and best fit among the unmapped pieces maps the needed pages, reclaimed ones
 * before new ones. The figure is the pages ever created, so it is the maximum ever mapped at once.
 *
 * Assumed: one pool for all tensors, since pages move between pools freely; one stream. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/pieces.h"

enum { IDLE, UNMAPPED };

/* Few enough for a bit map. */
static const int64_t most_pages = INT64_C(1) << 31;

struct ek__allocator {
    int64_t page; /* bytes */
    int64_t space;
    int64_t n_mapped, most_mapped;
    uint64_t *mapped; /* a bit for every page below n_words * 64 */
    size_t n_words;
    ek__pieces pieces;
};

static void destroy(ek__allocator *a)
{
    if (a) {
        ek__pieces_clear(&a->pieces);
        free(a->mapped);
    }
    free(a);
}

static ek__allocator *create(const ek_rules *rules, int64_t device_bytes)
{
    (void)device_bytes;
    ek__allocator *a = ek__alloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->page = rules->page_bytes > 0 ? ek__aligned(rules->page_bytes) : EK__ALIGNMENT;
    a->space = a->page > ek__space_end / most_pages ? ek__space_end : a->page * most_pages;
    ek__pieces_init(&a->pieces);
    int32_t all = ek__pieces_add(&a->pieces, 0, a->space, UNMAPPED);
    if (all < 0) {
        destroy(a);
        return NULL;
    }
    ek__pieces_give(&a->pieces, all, UNMAPPED);
    return a;
}

/* Bits first to last - 1 of a word, from its bit 0. */
static inline uint64_t bits(int first, int last)
{
    assert(first >= 0 && first < last && last <= 64);
    uint64_t below_last = last == 64 ? ~UINT64_C(0) : (UINT64_C(1) << last) - 1;
    return below_last & ~UINT64_C(0) << first;
}

/* Set or clear the bits of pages first to last - 1, which must be within the map, and count them. */
static void set_mapped(ek__allocator *a, int64_t first, int64_t last, bool mapped)
{
    assert(first >= last || (first >= 0 && (size_t)last <= a->n_words * 64));
    for (int64_t at = first; at < last;) {
        int64_t word = at / 64, end = (word + 1) * 64 < last ? (word + 1) * 64 : last;
        uint64_t mask = bits((int)(at % 64), (int)(end - word * 64)), old = a->mapped[word];
        a->mapped[word] = mapped ? old | mask : old & ~mask;
        int changed = __builtin_popcountll(old ^ a->mapped[word]);
        a->n_mapped += mapped ? changed : -changed;
        at = end;
        a->pieces.looked++;
    }
    assert(a->n_mapped >= 0);
    a->most_mapped = a->n_mapped > a->most_mapped ? a->n_mapped : a->most_mapped;
}

static bool map_pages(ek__allocator *a, int64_t offset, int64_t bytes)
{
    int64_t first = offset / a->page, last = (offset + bytes + a->page - 1) / a->page;
    size_t had = a->n_words, needed = (size_t)(last + 63) / 64;
    if (needed > had) {
        uint64_t *grown = realloc(a->mapped, 2 * needed * sizeof *grown);
        if (!grown)
            return false;
        memset(grown + had, 0, (2 * needed - had) * sizeof *grown);
        a->mapped = grown;
        a->n_words = 2 * needed;
    }
    set_mapped(a, first, last, true);
    return true;
}

/* Reclaim an idle piece's pages: those that no other piece uses. */
static void unmap(ek__allocator *a, int32_t piece)
{
    ek__piece idle = a->pieces.at[piece];
    ek__pieces_unlist(&a->pieces, piece);
    const ek__piece *all = &a->pieces.at[ek__pieces_give(&a->pieces, piece, UNMAPPED)];
    int64_t first = idle.offset / a->page, last = (idle.offset + idle.bytes + a->page - 1) / a->page;
    assert(all->free && all->offset <= idle.offset && all->offset + all->bytes >= idle.offset + idle.bytes);
    int64_t whole_first = (all->offset + a->page - 1) / a->page, whole_last = (all->offset + all->bytes) / a->page;
    set_mapped(a, first > whole_first ? first : whole_first, last < whole_last ? last : whole_last, false);
}

static void unmap_idle(ek__allocator *a)
{
    const ek__free_set *idle = &a->pieces.set[IDLE];
    for (int w = 0; w < EK__N_BIN_WORDS; w++)
        while (idle->filled[w])
            unmap(a, idle->first[w * 64 + __builtin_ctzll(idle->filled[w])]);
}

static int32_t take(ek__allocator *a, int64_t bytes, bool persistent)
{
    (void)persistent;
    if (bytes > a->space)
        return -1;
    bytes = bytes > 0 ? ek__aligned(bytes) : EK__ALIGNMENT;
    int set = IDLE;
    int32_t piece = ek__pieces_best(&a->pieces, IDLE, bytes);
    if (piece < 0) {
        unmap_idle(a);
        set = UNMAPPED;
        piece = ek__pieces_best(&a->pieces, UNMAPPED, bytes);
        if (piece < 0 || !map_pages(a, a->pieces.at[piece].offset, bytes))
            return -1;
    }
    ek__pieces_unlist(&a->pieces, piece);
    if (a->pieces.at[piece].bytes > bytes && !ek__pieces_cut(&a->pieces, piece, bytes, set))
        return -1;
    return piece;
}

static void give(ek__allocator *a, int32_t taken)
{
    ek__pieces_give(&a->pieces, taken, IDLE);
}

static int64_t offset(const ek__allocator *a, int32_t taken)
{
    return a->pieces.at[taken].offset;
}

static int64_t actual(const ek__allocator *a)
{
    return a->most_mapped * a->page;
}

static bool state(const ek__allocator *a, ek__numbers *out)
{
    int64_t *to = ek__numbers_add(out, 3 + a->n_words);
    if (!to)
        return false;
    to[0] = a->n_mapped;
    to[1] = a->most_mapped;
    to[2] = (int64_t)a->n_words;
    if (a->n_words > 0)
        memcpy(to + 3, a->mapped, a->n_words * sizeof *to);
    return ek__pieces_state(&a->pieces, out);
}

static const ek__pieces *pieces_of(const ek__allocator *a)
{
    return &a->pieces;
}

const ek__allocator_kind ek__allocator_pages = {
    .allocation = EK_ALLOCATION_PAGES,
    .create = create,
    .destroy = destroy,
    .take = take,
    .give = give,
    .offset = offset,
    .actual = actual,
    .state = state,
    .pieces = pieces_of,
};
