/* trace/analyse/phases.h - phases of the device's work: forward, recomputation, backward, optimizer,
 * post-processing. */
#ifndef EK_TRACE_ANALYSE_PHASES_H
#define EK_TRACE_ANALYSE_PHASES_H

#include "base/error.h"
#include "trace/trace.h"

/** An event of the device that computes, communicates or copies. */
typedef struct ek__device_work {
    const ek__event *event;
    int64_t launch;    /**< on the host; EK_TRACE_UNKNOWN */
    int32_t track;     /**< of the launch; -1: not known */
    int32_t step;      /**< index in rank->step; -1: outside */
    uint8_t activity;  /**< ek_trace_activity, one of those before EK_TRACE_DATA */
    bool communicates; /**< else `phase` is the phase, and `activity` the same except for copies */
    uint8_t phase;     /**< EK_TRACE_FORWARD to EK_TRACE_OTHER_COMPUTING: of collectives and copies too */
} ek__device_work;

/**
 * All of a rank's device work in order of start, after its steps, collectives and layers are known.
 *
 * @param out  [*n]; owned by the caller (free); untouched on failure
 * @return EK_OK, EK_ERR_MEMORY. O(n log n) for n events and arrows.
 */
ek_status ek__device_work_make(const ek__trace *trace, const ek_trace_options *options, const ek_trace_rank *rank,
                               ek__device_work **out, size_t *n, ek_error *err);

#endif
