/* memory/period.h - blocks of a stage that run again and again, each time for the micro-batches behind. */
#ifndef EK_MEMORY_PERIOD_H
#define EK_MEMORY_PERIOD_H

#include "evenkeel/schedule.h"

/* Blocks [begin, end) of a list: of any two that are `length` apart both are there, the chunk and the kind are the
 * same, and the second's micro-batch is the first's plus `shift`. length 0: there is nothing like that. */
typedef struct ek__period {
    size_t begin, end, length;
    int64_t shift;
} ek__period;

/* The shortest period that goes on, around the middle of the list, for half of it and three times at least.
 * O(n) for the schedules here, O(n^2 / chunks) at worst. */
ek__period ek__period_of(const ek_block *blocks, size_t n); /* blocks: [n] */

#endif
