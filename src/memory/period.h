/* memory/period.h - finds repeating blocks of a stage, each time for later micro-batches. */
#ifndef EK_MEMORY_PERIOD_H
#define EK_MEMORY_PERIOD_H

#include "evenkeel/schedule.h"

/* Blocks [begin, end) of a list: any two that are `length` apart have the same chunk and kind, and the second's
 * micro-batch is the first's plus `shift`. length 0: there is no period. */
typedef struct ek__period {
    size_t begin, end, length;
    int64_t shift;
} ek__period;

/* The shortest period around the middle of the list that lasts for half of it and at least three times. O(n) for the
 * schedules here, O(n^2 / chunks) at worst. */
ek__period ek__period_of(const ek_block *blocks, size_t n); /* blocks: [n] */

#endif
