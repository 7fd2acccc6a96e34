/* memory/pieces.h - what the allocators share: address space cut into pieces, each taken or free, and the free ones
 * found by best fit.
 *
 * A piece knows its neighbours within its block, so freed ones merge in O(1). A free piece is listed in one of a few
 * sets (pools, or states), and a set finds its smallest piece that is large enough, at the lowest address among equals:
 * pieces stand in bins by size, eight to every power of two, each bin sorted by size and address, with a bit for every
 * bin that holds something. Sizes of tensors repeat, so a bin is short; a search is one bin and one look at the bits.
 * Nothing is allocated once the arrays have grown to what the sequence needs. */
#ifndef EK_MEMORY_PIECES_H
#define EK_MEMORY_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ek__piece {
    int64_t offset, bytes;  /* multiples of EK__ALIGNMENT */
    int32_t previous, next; /* neighbours within the block, -1: none */
    int16_t set;            /* that it is listed in while it is free */
    bool free;
} ek__piece;

/* Address space ends at 512 TiB and there are at most 16 million pieces, so that two words hold an entry. */
enum { EK__PIECE_BITS = 24, EK__OFFSET_BITS = 40 };
static const int64_t ek__space_end = INT64_C(512) << EK__OFFSET_BITS;

/* Sorted by size, then address. */
typedef struct ek__free_piece {
    uint64_t bytes;
    uint64_t place; /* offset in units of EK__ALIGNMENT, and in the low bits the piece */
} ek__free_piece;

static inline int32_t ek__piece_of(const ek__free_piece *entry)
{
    return (int32_t)(entry->place & ((1 << EK__PIECE_BITS) - 1));
}

typedef struct ek__bin {
    int32_t n, capacity;
    ek__free_piece *at; /* [n] */
} ek__bin;

enum { EK__N_BINS = 448, EK__N_BIN_WORDS = EK__N_BINS / 64, EK__N_FREE_SETS = 2 };

typedef struct ek__free_set {
    uint64_t filled[EK__N_BIN_WORDS];
    ek__bin bin[EK__N_BINS];
} ek__free_set;

typedef struct ek__pieces {
    ek__piece *at;
    size_t capacity;
    int32_t n;      /* of `at` that have been in use */
    int32_t unused; /* first of those that are no piece now, linked by `next`; -1 */
    bool failed;    /* memory ran out while a piece was given back: no use from here on */
    ek__free_set set[EK__N_FREE_SETS];
} ek__pieces;

/* Of all zeros. */
void ek__pieces_init(ek__pieces *pieces);
void ek__pieces_clear(ek__pieces *pieces);
/* A taken piece that is a block of its own. @return its index; -1 when memory is out */
int32_t ek__pieces_add(ek__pieces *pieces, int64_t offset, int64_t bytes, int set);
/* The smallest free piece of the set with at least `bytes`, the lowest among equals; -1: none. */
int32_t ek__pieces_best(const ek__pieces *pieces, int set, int64_t bytes);
/* Take a free piece out of its set. */
void ek__pieces_unlist(ek__pieces *pieces, int32_t piece);
/* Cut a taken piece to `bytes`, less than it has; what is behind becomes a free piece of `set`. It merges with nothing.
 * @return false when memory is out */
bool ek__pieces_cut(ek__pieces *pieces, int32_t piece, int64_t bytes, int set);
/* Give a taken piece to `set`, merged with free neighbours that are in the same set.
 * @return the piece that it became; -1 when memory is out */
int32_t ek__pieces_give(ek__pieces *pieces, int32_t piece, int set);
/* Forget a taken piece that is a block of its own. */
void ek__pieces_drop(ek__pieces *pieces, int32_t piece);

#endif
