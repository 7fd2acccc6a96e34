/* schedule/dualpipe.h - the order of DualPipe and DualPipeV. */
#ifndef EK_SCHEDULE_DUALPIPE_H
#define EK_SCHEDULE_DUALPIPE_H

#include "evenkeel/schedule.h"

/** One of the two streams of micro-batches that a rank runs: the near one enters the pipeline at this rank's half. */
typedef struct ek__dual_stream {
    uint16_t chunk;
    uint32_t first; /**< micro-batch */
} ek__dual_stream;

/**
 * Fill the blocks of a rank of the first half of a DualPipe (see schedule_dualpipe.c).
 *
 * @param n_ranks  even; `rank` is below its half
 * @param n        micro-batches of each stream, at least n_ranks
 * @param stream   near, far
 * @param blocks   [6 n]
 */
void ek__dualpipe(int n_ranks, int rank, int n, const ek__dual_stream stream[2], ek_block *blocks);

#endif
