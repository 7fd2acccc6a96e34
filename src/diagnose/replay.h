/* diagnose/replay.h - replays the steps of a trace with some of their time removed.
 *
 * The cost of a lost millisecond depends on the ranks that wait for it: time lost on one stage may vanish in another's
 * wait, and time lost on all of them adds up along the pipeline. So a gain is the difference of two replays, of the
 * step as it was and of the step without the loss. */
#ifndef EK_DIAGNOSE_REPLAY_H
#define EK_DIAGNOSE_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

typedef struct ek__replay ek__replay;

/** Time that a rank would not spend. */
typedef struct ek__loss {
    int rank;   /**< index in ek_trace_run.rank */
    int64_t at; /**< in the rank's trace: the removed time is of the rank's own time from there on */
    double ns;
} ek__loss;

/** Differences from the measured run. All may be NULL. */
typedef struct ek__change {
    ek__loss *loss; /**< [n_losses]; ek__replay_gain() sorts them */
    size_t n_losses;
    const double *faster;        /**< [n_ranks] share of a rank's own time that is gone, 0..1 */
    const double *const *hidden; /**< [n_ranks][n_collectives] nanoseconds of a collective that are hidden; a rank's
                                      may be NULL */
} ek__change;

/**
 * Bring the collectives of all ranks together, step by step.
 * @return EK_OK, also where there is nothing to replay: ek__replay_steps() is 0 then; EK_ERR_MEMORY. O(n log n).
 */
ek_status ek__replay_new(const ek_trace_run *run, ek__replay **out, ek_error *err);
void ek__replay_free(ek__replay *replay);
/** Steps that can be replayed: in all ranks, no warm-up, without a deadlock. */
int ek__replay_steps(const ek__replay *replay);
/** The relative error of the replay of the unchanged run against the measured steps; NAN without steps. */
double ek__replay_error(const ek__replay *replay);
/** Nanoseconds that a collective takes once the last of its ranks has arrived: the rest of its duration is a wait. NAN
 *  when it is in no step that is replayed. */
double ek__replay_transfer(const ek__replay *replay, int rank, int collective);
/** Mean gain of a step; 0 without steps. O(n log n). EK_ERR_MEMORY. */
ek_status ek__replay_gain(const ek__replay *replay, ek__change *change, double *ns, ek_error *err);

#endif
