/* diagnose/measured.h - computes the measured step, and the step without a loss. */
#ifndef EK_DIAGNOSE_MEASURED_H
#define EK_DIAGNOSE_MEASURED_H

#include "diagnose/replay.h"
#include "trace/rank.h"

/** A trace as input of the bottlenecks. */
typedef struct ek__measured {
    const ek_trace_run *run;   /**< NULL: no trace with time in it */
    const ek_trace_rank *rank; /**< the rank with the longest mean step */
    ek_trace_step_time step;
    double step_ns;     /**< of `step`; NAN */
    ek__replay *replay; /**< NULL: the trace cannot be replayed; losses then count on the rank that has most of them */
} ek__measured;

ek_status ek__measured_new(const ek_trace_run *run, ek__measured *out, ek_error *err);
void ek__measured_clear(ek__measured *measured);

/** Losses, collected rank by rank. */
typedef struct ek__losses {
    ek__loss *loss;
    size_t n, capacity;
} ek__losses;
bool ek__losses_add(ek__losses *losses, int rank, int64_t at, double ns);
/** Of a step, on the rank that loses most; *rank is its index (may be NULL). */
double ek__losses_most(const ek__measured *m, const ek__losses *losses, int *rank);
/** The gain of a step without them. */
ek_status ek__losses_gain(const ek__measured *m, ek__losses *losses, double *ns, ek_error *err);
/** The step less its rank's computing: an upper bound of idle time. Windows of steps begin with the host, so that the
 *  idle time before the first step's first kernel may exceed a step that was measured on the device. */
double ek__most_idle(const ek__measured *m);
/** How that was worked out, for ek_bottleneck.rests_on. */
const char *ek__gain_rests_on(const ek__measured *m);

/** The first file of the rank that was read, for evidence; NULL. */
const char *ek__file_of(const ek_trace_rank *rank);
#endif
