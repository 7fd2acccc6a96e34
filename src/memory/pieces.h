/* memory/pieces.h - the pieces of an allocator's address space, each taken or free, and a best-fit search of free ones.
 *
 * A piece knows its neighbours within its block, so freed ones merge in O(1). A free piece is listed in one of a few
 * sets (pools, or states), and a set finds its smallest piece that is large enough, at the lowest address among equals:
 * pieces are in lists by size, eight lists to every power of two, each sorted by size and address, with a bit for every
 * non-empty list. Most lists are empty or very short, so a search reads the bits and takes a few steps; removing a
 * piece needs no search. Nothing is allocated once the array has the size that the sequence needs. Exact: the result
 * equals that of a walk over all free pieces. Adding to n free pieces of similar size costs O(n).
 *
 * In a header, so that the compiler can inline it: these few steps are most of the time of placing a job's tensors. */
#ifndef EK_MEMORY_PIECES_H
#define EK_MEMORY_PIECES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "memory/allocator.h"

typedef struct ek__piece {
    int64_t offset, bytes;  /* multiples of EK__ALIGNMENT; 0 bytes: unused entry */
    int32_t previous, next; /* neighbours within the block, -1: none */
    int32_t lower, higher;  /* of a free one: previous and next in its list, -1: none */
    int16_t set;            /* its list while it is free */
    bool free;
} ek__piece;

enum { EK__N_BINS = 448, EK__N_BIN_WORDS = EK__N_BINS / 64, EK__N_FREE_SETS = 2 };

typedef struct ek__free_set {
    uint64_t filled[EK__N_BIN_WORDS];
    int32_t first[EK__N_BINS], last[EK__N_BINS]; /* first and last piece of each non-empty list */
} ek__free_set;

typedef struct ek__pieces {
    ek__piece *at;
    size_t capacity;
    int32_t n;      /* number of used entries of `at` */
    int32_t unused; /* first unused entry, linked by `next`; -1 */
    size_t looked;  /* pieces visited to find one, or a place in a list */
    ek__free_set set[EK__N_FREE_SETS];
} ek__pieces;

/* The address space ends here, so that sums of sizes cannot overflow. */
static const int64_t ek__space_end = INT64_C(1) << 60;

static inline void ek__pieces_init(ek__pieces *pieces)
{
    *pieces = (ek__pieces){.unused = -1};
}

static inline void ek__pieces_clear(ek__pieces *pieces)
{
    free(pieces->at);
    ek__pieces_init(pieces);
}

/* Eight lists to every power of two: the three bits after the leading one. Sizes below eight units have one each. */
static inline int ek__bin_of(int64_t bytes)
{
    uint64_t units = (uint64_t)bytes / EK__ALIGNMENT;
    if (units < 8)
        return (int)units;
    int e = 63 - __builtin_clzll(units);
    return (e - 2) << 3 | (int)(units >> (e - 3) & 7);
}

static inline bool ek__piece_is_before(const ek__piece *a, const ek__piece *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->offset < b->offset;
}

/* List a piece that is not listed in `set`. Its place is searched from both ends: most pieces are cut off the end of
 * the space, or are the first of their size. */
static inline void ek__pieces_list(ek__pieces *pieces, int32_t index, int set)
{
    ek__piece *all = pieces->at, *piece = &all[index];
    ek__free_set *s = &pieces->set[set];
    int bin = ek__bin_of(piece->bytes);
    assert(!piece->free && piece->bytes > 0 && bin < EK__N_BINS);
    uint64_t bit = UINT64_C(1) << bin % 64;
    int32_t lower = -1, higher = -1;
    if (s->filled[bin / 64] & bit) {
        higher = s->first[bin];
        lower = s->last[bin];
        while (ek__piece_is_before(&all[higher], piece) && !ek__piece_is_before(&all[lower], piece)) {
            higher = all[higher].higher;
            lower = all[lower].lower;
            pieces->looked++;
        }
        if (ek__piece_is_before(&all[higher], piece))
            higher = all[lower].higher;
        else
            lower = all[higher].lower;
    }
    piece->lower = lower;
    piece->higher = higher;
    piece->set = (int16_t)set;
    piece->free = true;
    if (higher >= 0)
        all[higher].lower = index;
    else
        s->last[bin] = index;
    if (lower >= 0) {
        all[lower].higher = index;
    } else {
        s->first[bin] = index;
        s->filled[bin / 64] |= bit;
    }
}

/* Remove a free piece from its set. */
static inline void ek__pieces_unlist(ek__pieces *pieces, int32_t index)
{
    ek__piece *all = pieces->at, *piece = &all[index];
    int32_t lower = piece->lower, higher = piece->higher;
    assert(piece->free);
    piece->free = false;
    if (higher >= 0)
        all[higher].lower = lower;
    if (lower >= 0)
        all[lower].higher = higher;
    if (lower >= 0 && higher >= 0)
        return;
    ek__free_set *s = &pieces->set[piece->set];
    int bin = ek__bin_of(piece->bytes);
    if (higher < 0)
        s->last[bin] = lower;
    if (lower < 0)
        s->first[bin] = higher;
    if (lower < 0 && higher < 0)
        s->filled[bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

/* The smallest free piece of the set with at least `bytes`, the lowest among equals; -1: none. */
static inline int32_t ek__pieces_best(ek__pieces *pieces, int set, int64_t bytes)
{
    const ek__free_set *s = &pieces->set[set];
    int bin = ek__bin_of(bytes), word = bin / 64;
    uint64_t bits = s->filled[word] & ~UINT64_C(0) << bin % 64;
    if (bits >> bin % 64 & 1) {
        for (int32_t i = s->first[bin]; i >= 0; i = pieces->at[i].higher, pieces->looked++)
            if (pieces->at[i].bytes >= bytes)
                return i;
        bits &= bits - 1;
    }
    /* All pieces in a later list are larger, so the first one of the next non-empty list is the best. */
    while (bits == 0) {
        if (++word == EK__N_BIN_WORDS)
            return -1;
        bits = s->filled[word];
    }
    return s->first[word * 64 + __builtin_ctzll(bits)];
}

/* Room for one more piece, which the caller fills; -1 when out of memory. */
static inline int32_t ek__pieces_new(ek__pieces *pieces)
{
    int32_t index = pieces->unused;
    if (index >= 0) {
        pieces->unused = pieces->at[index].next;
        return index;
    }
    if ((size_t)pieces->n == pieces->capacity) {
        void *grown = pieces->n == INT32_MAX
                          ? NULL
                          : ek__with_room(pieces->at, &pieces->capacity, (size_t)pieces->n + 1, sizeof(ek__piece));
        if (!grown)
            return -1;
        pieces->at = (ek__piece *)grown;
    }
    return pieces->n++;
}

/* Remove a taken piece that is not a neighbour of any other. */
static inline void ek__pieces_drop(ek__pieces *pieces, int32_t index)
{
    assert(pieces->at[index].bytes > 0 && !pieces->at[index].free);
    pieces->at[index].bytes = 0;
    pieces->at[index].next = pieces->unused;
    pieces->unused = index;
}

/* A taken piece that is a separate block. Offset and bytes are multiples of EK__ALIGNMENT within the address space.
 * @return its index; -1 when out of memory */
static inline int32_t ek__pieces_add(ek__pieces *pieces, int64_t offset, int64_t bytes, int set)
{
    assert(offset >= 0 && offset % EK__ALIGNMENT == 0 && bytes > 0 && bytes % EK__ALIGNMENT == 0);
    assert(bytes <= ek__space_end - offset);
    int32_t index = ek__pieces_new(pieces);
    if (index >= 0)
        pieces->at[index] =
            (ek__piece){.offset = offset, .bytes = bytes, .previous = -1, .next = -1, .set = (int16_t)set};
    return index;
}

/* Cut a taken piece to `bytes`, less than it has; the rest becomes a free piece of `set`, without merging.
 * @return false when out of memory */
static inline bool ek__pieces_cut(ek__pieces *pieces, int32_t index, int64_t bytes, int set)
{
    int32_t rest = ek__pieces_new(pieces);
    if (rest < 0)
        return false;
    assert(!pieces->at[index].free && bytes > 0 && bytes < pieces->at[index].bytes);
    ek__piece *piece = &pieces->at[index], *behind = &pieces->at[rest];
    behind->free = false; /* its value before it was dropped, or none yet */
    behind->offset = piece->offset + bytes;
    behind->bytes = piece->bytes - bytes;
    behind->previous = index;
    behind->next = piece->next;
    if (piece->next >= 0)
        pieces->at[piece->next].previous = rest;
    piece->next = rest;
    piece->bytes = bytes;
    ek__pieces_list(pieces, rest, set);
    return true;
}

/* `second` follows `first`, neither is listed: merge both into `first`. */
static inline void ek__pieces_merge(ek__pieces *pieces, int32_t first, int32_t second)
{
    ek__piece *a = &pieces->at[first], *b = &pieces->at[second];
    assert(!a->free && !b->free && a->next == second && a->offset + a->bytes == b->offset);
    a->bytes += b->bytes;
    a->next = b->next;
    if (a->next >= 0)
        pieces->at[a->next].previous = first;
    ek__pieces_drop(pieces, second);
}

/* Release a taken piece to `set`, merged with free neighbours in the same set. @return the resulting piece */
static inline int32_t ek__pieces_give(ek__pieces *pieces, int32_t index, int set)
{
    const ek__piece *all = pieces->at;
    int32_t next = all[index].next, previous = all[index].previous;
    assert(index >= 0 && index < pieces->n && !all[index].free && all[index].bytes > 0);
    if (next >= 0 && all[next].free && all[next].set == set) {
        ek__pieces_unlist(pieces, next);
        ek__pieces_merge(pieces, index, next);
    }
    if (previous >= 0 && all[previous].free && all[previous].set == set) {
        ek__pieces_unlist(pieces, previous);
        ek__pieces_merge(pieces, previous, index);
        index = previous;
    }
    ek__pieces_list(pieces, index, set);
    return index;
}

/* All pieces, block by block, without their numbers. Blocks are sorted by the number of their first piece, which is
 * constant, so the order is the same as long as no block is added or removed. @return false when out of memory */
static inline bool ek__pieces_state(const ek__pieces *pieces, ek__numbers *out)
{
    int64_t *to = ek__numbers_add(out, 2 * (size_t)pieces->n);
    size_t n = out->n - 2 * (size_t)pieces->n;
    if (!to)
        return false;
    for (int32_t i = 0; i < pieces->n; i++)
        for (int32_t j = pieces->at[i].bytes > 0 && pieces->at[i].previous < 0 ? i : -1; j >= 0;
             j = pieces->at[j].next) {
            const ek__piece *piece = &pieces->at[j];
            to[0] = piece->offset;
            to[1] = piece->bytes + (j == i) + 2 * piece->free + 4 * piece->set;
            to += 2;
            n += 2;
        }
    assert(n <= out->n);
    out->n = n;
    return true;
}

#endif
