/* Finds the steady part of a schedule. Its middle block returns in every period, so only the distances to its next
 * occurrences need to be tried; each is compared with the blocks before and after until two differ, which is soon for a
 * wrong one. */
#include "memory/period.h"

#include <assert.h>
#include <stdbool.h>

static bool is_again(const ek_block *a, const ek_block *b, int64_t shift)
{
    return a->kind == b->kind && a->chunk == b->chunk && (int64_t)b->micro_batch - a->micro_batch == shift;
}

/* The extent to which blocks `length` apart are equal, from the one at `middle` on. */
static ek__period around(const ek_block *blocks, size_t n, size_t middle, size_t length)
{
    assert(length >= 1 && middle + length < n);
    int64_t shift = (int64_t)blocks[middle + length].micro_batch - blocks[middle].micro_batch;
    size_t begin = middle, end = middle;
    while (begin > 0 && is_again(&blocks[begin - 1], &blocks[begin - 1 + length], shift))
        begin--;
    while (end + length < n && is_again(&blocks[end], &blocks[end + length], shift))
        end++;
    assert(begin <= middle && end > middle && end + length <= n);
    return (ek__period){begin, end + length, length, shift};
}

ek__period ek__period_of(const ek_block *blocks, size_t n)
{
    size_t middle = n / 2;
    for (size_t length = 1; middle + length < n; length++) {
        const ek_block *next = &blocks[middle + length];
        if (next->kind != blocks[middle].kind || next->chunk != blocks[middle].chunk)
            continue;
        ek__period found = around(blocks, n, middle, length);
        size_t covered = found.end - found.begin;
        if (2 * covered >= n && covered >= 3 * length)
            return found;
    }
    return (ek__period){0};
}
