/* evenkeel/progress.h - how far long work is, for functions that have no callback of their own for it.
 *
 * Making an order, simulating and trying mitigations take seconds for large jobs. What they do is reported to a
 * function of the caller's, from the calling thread's begin to its end:
 *
 *     ek_progress_begin(show, user);
 *     status = ek_simulate(...);
 *     ek_progress_end();
 *
 * Work on other threads of the library is not reported. Each thread has a report of its own.
 *
 * Unless stated otherwise, functions take O(1) and may be called from several threads at once. */
#ifndef EVENKEEL_PROGRESS_H
#define EVENKEEL_PROGRESS_H

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/**
 * Told about ten times a second, by the thread that works.
 * @param share  of the part of the work at hand, 0..1; an estimate, which need not reach 1
 * @param what   the part, as "making the order"
 */
typedef void ek_progress_fn(void *user, double share, const char *what);

/** The calling thread's work is reported from here on. Not within another report. */
void ek_progress_begin(ek_progress_fn *show, void *user);
/** No more. */
void ek_progress_end(void);

EK_END_DECLS
#endif
