/* trace/rank.h - what several look up in an analysed rank: how it is called, what recomputation takes, how
 * much of its exposed communication is transfer and how much waiting. */
#ifndef EK_TRACE_RANK_H
#define EK_TRACE_RANK_H

#include "evenkeel/trace.h"

/** "Rank 3 (stage 1)"; of traces that nothing numbers "Trace 0", "The trace" where it is the only one. */
typedef struct ek__who {
    char text[64];
} ek__who;
ek__who ek__who_is(const ek_trace_rank *rank);

/** Nanoseconds of a step that recomputation takes: executions of every layer, or PyTorch's checkpoint functions. 0
 * where nothing tells. O(layers). */
double ek__recomputation(const ek_trace_rank *rank);

/** Communication with nothing computed beside it: exposed = transfer + wait + unknown. Nanoseconds of a step. */
typedef struct ek__exposure {
    double exposed;
    double transfer; /**< at most: what overlapping could hide */
    double wait;     /**< at least: for ranks that came later; overlapping does not shorten it */
    double unknown;  /**< nothing tells which of both */
    double total;    /**< with what computing hides */
    double count;    /**< calls of a step */
    bool at_most;    /**< not all ranks were there to compare, so the transfer may hold more waiting */
} ek__exposure;

/** Of one collective, not of a step: the transfer lies at its end, so that the exposed part holds all of it that it has
 *  room for. `exposed` unknown counts as 0. O(1). */
ek__exposure ek__collective_exposure(const ek_trace_collective *c);
/** Does the collective count for means: is it in a step that is no warm-up, or are there no steps? */
bool ek__collective_counts(const ek_trace_rank *rank, const ek_trace_collective *c);
/** Mean over the steps that count of all collectives of a rank but pipeline traffic; of ranks without a timeline, of
 *  their tables' totals. No more than the mean step has exposed communication, where collectives ran side by side.
 *  O(collectives). */
ek__exposure ek__rank_exposure(const ek_trace_rank *rank);
/** The same of each of its sums. `of_sum` [n_sums]. O(collectives). */
void ek__rank_exposures(const ek_trace_rank *rank, ek__exposure *of_sum);
/** Steps that are no warm-up; 1 without any. */
int ek__rank_counted_steps(const ek_trace_rank *rank);

#endif
