/* trace/rank.h - queries of an analysed rank for the comparison of ranks and the diagnosis: its name, its steps,
 * recomputation, exposed communication as transfer and waiting, idle time for the host and for data. */
#ifndef EK_TRACE_RANK_H
#define EK_TRACE_RANK_H

#include "evenkeel/trace.h"

/** "Rank 3 (stage 1)"; of traces without numbers "Trace 0", "The trace" where it is the only one. */
typedef struct ek__who {
    char text[64];
} ek__who;
ek__who ek__who_is(const ek_trace_rank *rank);

/** Largest gain first; unknown ones last, then by share and name. O(n log n). */
void ek__findings_sort(ek_trace_run *run);

/** Nanoseconds of a step that recomputation takes: executions of every layer, or PyTorch's checkpoint functions. 0
 * where unknown. O(layers). */
double ek__recomputation(const ek_trace_rank *rank);

/* ---- steps ---- */

/** Does the trace have the step's events? Tables may have more steps. */
bool ek__has_window(const ek_trace_step *step);
/** Steps that are part of means: without warm-up, and where any has events, those; all steps. Never 0. */
int ek__counted_steps(const ek_trace_rank *rank);
int ek__all_steps(const ek_trace_rank *rank);
/** Mean of a time over the counted steps that have it, nanoseconds; NAN where none does. O(steps). */
double ek__step_mean_of(const ek_trace_rank *rank, int64_t (*time)(const ek_trace_step *step));

/** The start of a step, on the host where that is earlier; EK_TRACE_UNKNOWN where unknown. */
int64_t ek__step_start_of(const ek_trace_step *step);
/** Position of a search for steps. */
typedef struct ek__step_cursor {
    const ek_trace_rank *rank;
    int index; /**< of the step found last; -1 */
} ek__step_cursor;
ek__step_cursor ek__step_cursor_of(const ek_trace_rank *rank);
/** Index of the step around a time: the last of those that begin by then; -1. O(1) plus the steps between this time and
 * that of the last call. */
int ek__step_index_before(ek__step_cursor *cursor, int64_t time);
/** Is a time in no warm-up step? Times before the first step are not. O(1) as above. */
bool ek__after_warm_up(ek__step_cursor *cursor, int64_t time);
/** Is a time in a step that counts? Also when steps are not distinguished. */
bool ek__in_counted_step(const ek_trace_rank *rank, int64_t time);
/** Name of the step around a time; NULL. */
const char *ek__step_name_at(const ek_trace_rank *rank, int64_t time);

/** Idle time of a step in which the host waits for data, nanoseconds: the mean of ek_trace_step.data_loading_idle over
 *  the counted steps that have it, at most the step less its computing; 0 where none does. O(steps). */
double ek__data_wait(const ek_trace_rank *rank);

/* ---- the host ---- */

/**
 * Idle time of a step for which the host was late, by the host's activity meanwhile:
 *
 *     sum of the gaps of that cause that end in a counted step, each from its step's start at the earliest, / steps
 *
 * Unlike ek_trace_step.host_bound it includes the idle time before the first kernel of the first step.
 *
 * @param cause  as in ek_trace_host_gap.cause; NULL: every cause except "data_loading", which has a figure of its own
 * @return nanoseconds of a step, at most the step less its computing; 0 where no gaps are known. O(gaps + steps).
 */
double ek__host_late(const ek_trace_rank *rank, const char *cause);
/** The start of the counted part of a gap; its end when the gap does not count. */
int64_t ek__host_gap_start(const ek_trace_rank *rank, const ek_trace_host_gap *gap);
/** Communication without computing at the same time: exposed = transfer + wait + unknown. Nanoseconds of a step. */
typedef struct ek__exposure {
    double exposed;
    double transfer; /**< at most: the part that overlapping could hide */
    double wait;     /**< at least: for ranks that came later; overlapping does not shorten it */
    double unknown;  /**< neither is known */
    double total;    /**< including time hidden by computing */
    double count;    /**< calls of a step */
    bool at_most;    /**< not all ranks were there to compare, so the transfer may include more waiting */
} ek__exposure;

/** For one collective, not a step: the transfer is at its end, so that the exposed part contains as much of it as fits.
 *  `exposed` unknown counts as 0. O(1). */
ek__exposure ek__collective_exposure(const ek_trace_collective *c);
/** Does the collective count for means: is it in a step that is no warm-up, or are there no steps? */
bool ek__collective_counts(const ek_trace_rank *rank, const ek_trace_collective *c);
/** Mean over the counted steps of all collectives of a rank except pipeline traffic; of ranks without a timeline, of
 *  their tables' totals. At most the exposed communication of the mean step, where collectives ran side by side.
 *  O(collectives). */
ek__exposure ek__rank_exposure(const ek_trace_rank *rank);
/** The same of each of its sums. `of_sum` [n_sums]. O(collectives). */
void ek__rank_exposures(const ek_trace_rank *rank, ek__exposure *of_sum);

#endif
