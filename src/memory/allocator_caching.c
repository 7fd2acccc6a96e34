/* Models PyTorch's caching allocator for CUDA: best fit over segments of fixed sizes, separate for small and large
 * ones. Source: c10/cuda/CUDACachingAllocator.cpp, its defaults (no expandable segments, no max_split_size, one
 * stream). The figure is the most bytes ever reserved from the device; if the device's size is known, completely free
 * segments are returned before a request exceeds it, as in PyTorch. */
#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "memory/pieces.h"

enum { SMALL, LARGE };

static const int64_t mib = 1 << 20;

struct ek__allocator {
    int64_t device_bytes; /* <= 0: unlimited */
    int64_t end;          /* of the last segment; addresses are not reused */
    int64_t reserved, most_reserved;
    ek__pieces pieces;
};

static ek__allocator *create(const ek_rules *rules, int64_t device_bytes)
{
    (void)rules;
    ek__allocator *a = ek__alloc(1, sizeof *a);
    if (!a)
        return NULL;
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

static int64_t segment_bytes(int64_t bytes)
{
    if (bytes <= mib)
        return 2 * mib;
    if (bytes < 10 * mib)
        return 20 * mib;
    return (bytes + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

/* Return every segment that is one free piece. */
static void release_segments(ek__allocator *a)
{
    for (int32_t i = 0; i < a->pieces.n; i++) {
        ek__piece *p = &a->pieces.at[i];
        if (!p->free || p->previous >= 0 || p->next >= 0)
            continue;
        assert(p->bytes <= a->reserved);
        a->reserved -= p->bytes;
        ek__pieces_unlist(&a->pieces, i);
        ek__pieces_drop(&a->pieces, i);
    }
}

static int32_t add_segment(ek__allocator *a, int64_t bytes, int set)
{
    int64_t segment = segment_bytes(bytes);
    assert(segment >= bytes && segment % (2 * mib) == 0);
    if (a->device_bytes > 0 && segment > a->device_bytes - a->reserved)
        release_segments(a);
    if (segment > ek__space_end - a->end)
        return -1;
    int32_t piece = ek__pieces_add(&a->pieces, a->end, segment, set);
    if (piece < 0)
        return -1;
    a->end += segment;
    a->reserved += segment;
    a->most_reserved = a->reserved > a->most_reserved ? a->reserved : a->most_reserved;
    return piece;
}

static int32_t take(ek__allocator *a, int64_t bytes, bool persistent)
{
    (void)persistent;
    if (bytes > ek__space_end)
        return -1;
    bytes = bytes > 0 ? ek__aligned(bytes) : EK__ALIGNMENT;
    int set = bytes <= mib ? SMALL : LARGE;
    int32_t piece = ek__pieces_best(&a->pieces, set, bytes);
    if (piece >= 0)
        ek__pieces_unlist(&a->pieces, piece);
    else if ((piece = add_segment(a, bytes, set)) < 0)
        return -1;
    int64_t rest = a->pieces.at[piece].bytes - bytes;
    assert(rest >= 0 && a->pieces.at[piece].set == set);
    if ((set == SMALL ? rest >= EK__ALIGNMENT : rest > mib) && !ek__pieces_cut(&a->pieces, piece, bytes, set))
        return -1;
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
    assert(a->reserved <= a->most_reserved && a->most_reserved <= a->end);
    return a->most_reserved;
}

static bool state(const ek__allocator *a, ek__numbers *out)
{
    int64_t *to = ek__numbers_add(out, 3);
    if (!to)
        return false;
    to[0] = a->end;
    to[1] = a->reserved;
    to[2] = a->most_reserved;
    return ek__pieces_state(&a->pieces, out);
}

static const ek__pieces *pieces_of(const ek__allocator *a)
{
    return &a->pieces;
}

const ek__allocator_kind ek__allocator_caching = {
    .allocation = EK_ALLOCATION_CACHING,
    .create = create,
    .destroy = destroy,
    .take = take,
    .give = give,
    .offset = offset,
    .actual = actual,
    .state = state,
    .pieces = pieces_of,
};
