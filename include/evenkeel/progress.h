/* evenkeel/progress.h - reports the progress of long work of functions without their own callback.
 *
 * Making an order, simulating and trying mitigations take seconds for large jobs. Their progress is reported to a
 * function of the caller between the calling thread's begin and end:
 *
 *     ek_progress_begin(show, user);
 *     status = ek_simulate(...);
 *     ek_progress_end();
 *
 * Work on other threads of the library is not reported. Each thread has its own report.
 *
 * Unless stated otherwise, functions take O(1) and may be called from several threads at once. */
#ifndef EVENKEEL_PROGRESS_H
#define EVENKEEL_PROGRESS_H

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/**
 * Called about ten times a second, by the working thread.
 * @param share  of the current part of the work, 0..1; an estimate that may not reach 1
 * @param what   the part: "making the order"
 */
typedef void ek_progress_fn(void *user, double share, const char *what);

/** The calling thread's work is reported from here on. Not within another report. */
void ek_progress_begin(ek_progress_fn *show, void *user);
/** No more. */
void ek_progress_end(void);

EK_END_DECLS
#endif
