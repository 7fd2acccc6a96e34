/* Best fit by bins of sizes, boundary links for merging: see pieces.h. Exact: the piece found is the one a walk over
 * all free pieces would find. A bin whose pieces are many and of like size costs O(pieces) to change, which a device's
 * allocations do not come near. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/allocator.h"
#include "memory/pieces.h"

enum { FIRST_CAPACITY = 8 };

void ek__pieces_init(ek__pieces *pieces)
{
    memset(pieces, 0, sizeof *pieces);
    pieces->unused = -1;
}

void ek__pieces_clear(ek__pieces *pieces)
{
    for (int s = 0; s < EK__N_FREE_SETS; s++)
        for (int b = 0; b < EK__N_BINS; b++)
            free(pieces->set[s].bin[b].at);
    free(pieces->at);
    ek__pieces_init(pieces);
}

/* Eight bins to every power of two: the three bits behind the leading one. Sizes below eight units have one each. */
static inline int bin_of(int64_t bytes)
{
    uint64_t units = (uint64_t)bytes / EK__ALIGNMENT;
    if (units < 8)
        return (int)units;
    int e = 63 - __builtin_clzll(units);
    return (e - 2) << 3 | (int)(units >> (e - 3) & 7);
}

static inline uint64_t place_of(int64_t offset, int32_t piece)
{
    return (uint64_t)offset / EK__ALIGNMENT << EK__PIECE_BITS | (uint32_t)piece;
}

/* How many of the bin's pieces stand before (bytes, place). Without branches, which nobody could predict. */
static inline int32_t count_before(const ek__bin *bin, uint64_t bytes, uint64_t place)
{
    const ek__free_piece *at = bin->at;
    for (int32_t n = bin->n; n > 0;) {
        int32_t half = (n + 1) / 2;
        const ek__free_piece *last = at + half - 1;
        at += ((last->bytes < bytes) | ((last->bytes == bytes) & (last->place < place))) ? half : 0;
        n -= half;
    }
    return (int32_t)(at - bin->at);
}

static bool grow(ek__bin *bin)
{
    int32_t capacity = bin->capacity ? 2 * bin->capacity : FIRST_CAPACITY;
    ek__free_piece *grown = realloc(bin->at, (size_t)capacity * sizeof *grown);
    if (!grown)
        return false;
    bin->at = grown;
    bin->capacity = capacity;
    return true;
}

static bool list(ek__pieces *pieces, int32_t index, int set)
{
    ek__piece *piece = &pieces->at[index];
    int number = bin_of(piece->bytes);
    ek__bin *bin = &pieces->set[set].bin[number];
    if (bin->n == bin->capacity && !grow(bin))
        return false;
    ek__free_piece entry = {(uint64_t)piece->bytes, place_of(piece->offset, index)};
    ek__free_piece *at = bin->at + count_before(bin, entry.bytes, entry.place);
    for (ek__free_piece *p = bin->at + bin->n++; p > at; p--)
        *p = p[-1];
    *at = entry;
    pieces->set[set].filled[number / 64] |= UINT64_C(1) << number % 64;
    piece->set = (int16_t)set;
    piece->free = true;
    return true;
}

void ek__pieces_unlist(ek__pieces *pieces, int32_t index)
{
    ek__piece *piece = &pieces->at[index];
    int number = bin_of(piece->bytes);
    ek__free_set *set = &pieces->set[piece->set];
    ek__bin *bin = &set->bin[number];
    ek__free_piece *last = bin->at + --bin->n;
    for (ek__free_piece *p = bin->at + count_before(bin, (uint64_t)piece->bytes, place_of(piece->offset, index));
         p < last; p++)
        *p = p[1];
    if (bin->n == 0)
        set->filled[number / 64] &= ~(UINT64_C(1) << number % 64);
    piece->free = false;
}

int32_t ek__pieces_best(const ek__pieces *pieces, int set, int64_t bytes)
{
    const ek__free_set *s = &pieces->set[set];
    int number = bin_of(bytes), word = number / 64;
    const ek__bin *bin = &s->bin[number];
    /* Everything in a later bin is larger, so the first of the next one that holds something is the best. */
    if (bin->n > 0 && bin->at[bin->n - 1].bytes >= (uint64_t)bytes)
        return ek__piece_of(&bin->at[count_before(bin, (uint64_t)bytes, 0)]);
    uint64_t bits = s->filled[word] & ~UINT64_C(1) << number % 64;
    while (bits == 0) {
        if (++word == EK__N_BIN_WORDS)
            return -1;
        bits = s->filled[word];
    }
    return ek__piece_of(s->bin[word * 64 + __builtin_ctzll(bits)].at);
}

/* Room for one more piece, which the caller fills. */
static int32_t new_piece(ek__pieces *pieces)
{
    int32_t index = pieces->unused;
    if (index >= 0) {
        pieces->unused = pieces->at[index].next;
        return index;
    }
    if (pieces->n == 1 << EK__PIECE_BITS)
        return -1;
    ek__piece *grown = ek__with_room(pieces->at, &pieces->capacity, (size_t)pieces->n + 1, sizeof *grown);
    if (!grown)
        return -1;
    pieces->at = grown;
    return pieces->n++;
}

void ek__pieces_drop(ek__pieces *pieces, int32_t index)
{
    pieces->at[index].next = pieces->unused;
    pieces->unused = index;
}

int32_t ek__pieces_add(ek__pieces *pieces, int64_t offset, int64_t bytes, int set)
{
    int32_t index = new_piece(pieces);
    if (index >= 0)
        pieces->at[index] = (ek__piece){offset, bytes, -1, -1, (int16_t)set, false};
    return index;
}

bool ek__pieces_cut(ek__pieces *pieces, int32_t index, int64_t bytes, int set)
{
    int32_t rest = new_piece(pieces);
    if (rest < 0)
        return false;
    ek__piece *piece = &pieces->at[index], *behind = &pieces->at[rest];
    *behind = (ek__piece){piece->offset + bytes, piece->bytes - bytes, index, piece->next, (int16_t)set, false};
    if (piece->next >= 0)
        pieces->at[piece->next].previous = rest;
    piece->next = rest;
    piece->bytes = bytes;
    return list(pieces, rest, set);
}

/* `second` follows `first`, neither is listed: `first` becomes both. */
static void merge(ek__pieces *pieces, int32_t first, int32_t second)
{
    ek__piece *a = &pieces->at[first], *b = &pieces->at[second];
    a->bytes += b->bytes;
    a->next = b->next;
    if (a->next >= 0)
        pieces->at[a->next].previous = first;
    ek__pieces_drop(pieces, second);
}

int32_t ek__pieces_give(ek__pieces *pieces, int32_t index, int set)
{
    int32_t next = pieces->at[index].next, previous = pieces->at[index].previous;
    if (next >= 0 && pieces->at[next].free && pieces->at[next].set == set) {
        ek__pieces_unlist(pieces, next);
        merge(pieces, index, next);
    }
    if (previous >= 0 && pieces->at[previous].free && pieces->at[previous].set == set) {
        ek__pieces_unlist(pieces, previous);
        merge(pieces, previous, index);
        index = previous;
    }
    if (list(pieces, index, set))
        return index;
    pieces->failed = true;
    return -1;
}
