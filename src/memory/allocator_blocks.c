/* Models MindSpore's pool without virtual memory: best fit in blocks requested from the device, with one pool for
 * persistent tensors and a common one. Source: MindSpore 2.x's dynamic memory pool, docs/memory.md. One stream is
 * modelled: buffers that wait for another stream's event are not held longer; blocks are never returned to the device.
 *
 * Once the persistent pool has a block, new blocks for it go to the common pool, so it never has a second one. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/pieces.h"

enum { COMMON, PERSISTENT, N_POOLS };

typedef struct pool {
    int64_t n_blocks;
    int64_t bytes;            /* of its blocks */
    int64_t last, last_bytes; /* the block added last */
    int64_t highest;          /* its used part, as an offset: the end of the highest piece */
} pool;

struct ek__allocator {
    int64_t unit;
    int64_t device_bytes; /* <= 0: unlimited */
    int64_t end;          /* of the last block */
    pool pool[N_POOLS];
    ek__pieces pieces;
};

static ek__allocator *create(const ek_rules *rules, int64_t device_bytes)
{
    ek__allocator *a = ek__alloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->unit = rules->block_bytes > 0 ? ek__aligned(rules->block_bytes) : EK__ALIGNMENT;
    a->device_bytes = device_bytes;
    ek__pieces_init(&a->pieces);
    return a;
}

static void destroy(ek__allocator *a)
{
    if (a)
        ek__pieces_clear(&a->pieces);
    free(a);
}

/* Size of a new block: the unit doubled until the request fits, but at most the device's remaining memory. If less than
 * the request remains, the simulated run continues with a block of exactly the request. */
static int64_t block_bytes(const ek__allocator *a, int64_t bytes)
{
    assert(bytes > 0 && bytes % EK__ALIGNMENT == 0);
    int64_t block = a->unit;
    while (block < bytes && block < ek__space_end)
        block *= 2;
    if (a->device_bytes > 0) {
        int64_t left = (a->device_bytes - a->end) / EK__ALIGNMENT * EK__ALIGNMENT;
        if (left < bytes)
            return bytes;
        block = block < left ? block : left;
    }
    return block < bytes ? bytes : block;
}

static void note_use(ek__allocator *a, int32_t piece)
{
    const ek__piece *p = &a->pieces.at[piece];
    for (int i = 0; i < N_POOLS; i++) {
        pool *q = &a->pool[i];
        if (p->offset >= q->last && p->offset < q->last + q->last_bytes && p->offset + p->bytes > q->highest)
            q->highest = p->offset + p->bytes;
    }
}

/* A block for a request without a fitting free piece, as one taken piece. */
static int32_t add_block(ek__allocator *a, int64_t bytes, bool persistent)
{
    int64_t block = block_bytes(a, bytes);
    assert(block >= bytes && block % EK__ALIGNMENT == 0);
    if (block > ek__space_end - a->end)
        return -1;
    int set = persistent && a->pool[PERSISTENT].n_blocks == 0 ? PERSISTENT : COMMON;
    int32_t piece = ek__pieces_add(&a->pieces, a->end, block, set);
    if (piece < 0)
        return -1;
    pool *p = &a->pool[set];
    p->n_blocks++;
    p->bytes += block;
    p->last = p->highest = a->end;
    p->last_bytes = block;
    a->end += block;
    assert(a->pool[COMMON].bytes + a->pool[PERSISTENT].bytes == a->end);
    return piece;
}

static int32_t find(ek__allocator *a, int64_t bytes, bool persistent)
{
    int32_t piece = persistent ? ek__pieces_best(&a->pieces, PERSISTENT, bytes) : -1;
    return piece >= 0 ? piece : ek__pieces_best(&a->pieces, COMMON, bytes);
}

static int32_t take(ek__allocator *a, int64_t bytes, bool persistent)
{
    if (bytes > ek__space_end)
        return -1;
    bytes = bytes > 0 ? ek__aligned(bytes) : EK__ALIGNMENT;
    int32_t piece = find(a, bytes, persistent);
    if (piece >= 0)
        ek__pieces_unlist(&a->pieces, piece);
    else if ((piece = add_block(a, bytes, persistent)) < 0)
        return -1;
    /* Sizes are multiples of 512, so any remainder is at least 512. */
    if (a->pieces.at[piece].bytes > bytes && !ek__pieces_cut(&a->pieces, piece, bytes, a->pieces.at[piece].set))
        return -1;
    assert(a->pieces.at[piece].bytes == bytes);
    note_use(a, piece);
    return piece;
}

static void give(ek__allocator *a, int32_t taken)
{
    ek__pieces_give(&a->pieces, taken, a->pieces.at[taken].set);
}

static int64_t offset(const ek__allocator *a, int32_t taken)
{
    return a->pieces.at[taken].offset;
}

static int64_t actual(const ek__allocator *a)
{
    int64_t sum = 0;
    for (int i = 0; i < N_POOLS; i++)
        if (a->pool[i].n_blocks > 0) {
            assert(a->pool[i].highest >= a->pool[i].last);
            sum += a->pool[i].bytes - a->pool[i].last_bytes + (a->pool[i].highest - a->pool[i].last);
        }
    assert(sum <= a->end);
    return sum;
}

static bool state(const ek__allocator *a, ek__numbers *out)
{
    int64_t *to = ek__numbers_add(out, 1 + N_POOLS * 5);
    if (!to)
        return false;
    *to++ = a->end;
    for (int i = 0; i < N_POOLS; i++, to += 5)
        memcpy(to,
               (int64_t[]){a->pool[i].n_blocks, a->pool[i].bytes, a->pool[i].last, a->pool[i].last_bytes,
                           a->pool[i].highest},
               5 * sizeof *to);
    return ek__pieces_state(&a->pieces, out);
}

static const ek__pieces *pieces_of(const ek__allocator *a)
{
    return &a->pieces;
}

const ek__allocator_kind ek__allocator_blocks = {
    .allocation = EK_ALLOCATION_BLOCKS,
    .create = create,
    .destroy = destroy,
    .take = take,
    .give = give,
    .offset = offset,
    .actual = actual,
    .state = state,
    .pieces = pieces_of,
};
