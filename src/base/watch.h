/* base/watch.h - ends the work of a thread at a time, or when a flag is set from outside.
 *
 * A function with a time limit or a flag begins a watch; nested loops count their work and return early, so that the
 * functions between need not pass the two on. A search calls ek__watch_spent() and returns the best so far. Work that
 * is only useful when complete continues briefly, until ek__watch_late(), and then fails with ek__watch_fail(). A watch
 * belongs to the calling thread: threads that it starts have their own flags, which it sets. */
#ifndef EK_BASE_WATCH_H
#define EK_BASE_WATCH_H

#include <stdbool.h>

#include "evenkeel/error.h"
#include "evenkeel/interrupt.h"

typedef struct ek__watch {
    const ek_interrupt *interrupt; /**< NULL: none */
    double end;                    /**< of ek__now(); INFINITY: none */
    double over_at;                /**< of ek__now(), when it was seen to be over; INFINITY: not yet */
    double work, all_work;         /**< counted since the last look, and before it */
    double most_work;              /**< INFINITY: any */
    bool is_share;                 /**< nothing is late by it */
    bool over, late;               /**< by this one or an outer one; stay so */
    struct ek__watch *outer;       /**< begun before on this thread */
} ek__watch;

/** Seconds of a clock that only runs forward. */
double ek__now(void);

/**
 * Watch the calling thread's work from here on.
 * @param watch      lives until ek__watch_end()
 * @param interrupt  set from outside to end the work; NULL: none
 * @param end        of ek__now(); INFINITY: none
 */
void ek__watch_begin(ek__watch *watch, const ek_interrupt *interrupt, double end);
/** The same for a part of the work that ends earlier: work that must be complete still has until the outer watch's end.
 */
void ek__watch_begin_share(ek__watch *watch, double end);
/** The same for a part of the work that ends after a given amount of it, in the units of ek__watch_spent(), independent
 *  of the clock, so that its result is the same every time. */
void ek__watch_begin_work(ek__watch *watch, double most_work);
/** End the watch begun last; the previous one continues. */
void ek__watch_end(ek__watch *watch);

/** Is the work to end? Checks flag and clock, some 30 ns. Never without a watch. */
bool ek__watch_over(void);

/** The same for inner loops: counts `work`, in steps of some 10 ns, and reads the clock about once a millisecond. 0
 *  only queries. */
bool ek__watch_spent(double work);

/** The same for work that must be complete: is the end past for so long (a tenth of a second) that it is to be given
 *  up? */
bool ek__watch_late(double work);

/** The work from here on is a part of this many units of ek__watch_spent(), for ek_progress_begin(); `what` lives
 *  on. */
void ek__watch_part(const char *what, double work);
/** The work from here on is step `step` of `n_steps`, including all its parts; the same at their end with n_steps 0. */
void ek__watch_step(const char *what, int step, int n_steps);

/** Fail with EK_ERR_STOPPED: the time was over, or it was interrupted, before `what` ("an order") was complete. For a
 *  watch that is over. */
ek_status ek__watch_fail(ek_error *err, const char *what);

#endif
