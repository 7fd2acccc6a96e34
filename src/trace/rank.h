/* trace/rank.h - what several look up in an analysed rank: how it is called, what recomputation takes. */
#ifndef EK_TRACE_RANK_H
#define EK_TRACE_RANK_H

#include "evenkeel/trace.h"

/** "Rank 3 (stage 1)", "The trace". */
typedef struct ek__who {
    char text[64];
} ek__who;
ek__who ek__who_is(const ek_trace_rank *rank);

/** Nanoseconds of a step that recomputation takes: executions of every layer, or PyTorch's checkpoint functions. 0
 * where nothing tells. O(layers). */
double ek__recomputation(const ek_trace_rank *rank);

#endif
