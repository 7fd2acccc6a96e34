/* trace/analyse/launch_queue.h - how long work launched by the host waits for the device. */
#ifndef EK_TRACE_ANALYSE_LAUNCH_QUEUE_H
#define EK_TRACE_ANALYSE_LAUNCH_QUEUE_H

#include "base/pool.h"
#include "evenkeel/trace.h"

/** Work of the device and the time of its launch. */
typedef struct ek__launched {
    int64_t launch; /**< EK_TRACE_UNKNOWN: left out */
    int64_t start;
} ek__launched;

/** The queue of work in order of start, its curves in the pool. O(n log n). @return EK_OK or EK_ERR_MEMORY */
ek_status ek__launch_queue_make(const ek__launched *work, size_t n, ek__pool *pool, ek_trace_queue *out, ek_error *err);

#endif
