/* trace/analyse/launch_queue.h - how long what the host launches waits for the device. */
#ifndef EK_TRACE_ANALYSE_LAUNCH_QUEUE_H
#define EK_TRACE_ANALYSE_LAUNCH_QUEUE_H

#include "trace/analyse/phases.h"

/** Fill rank->queue from its device work, in order of start. O(n log n). @return EK_OK or EK_ERR_MEMORY */
ek_status ek__launch_queue_make(const ek__device_work *work, size_t n, ek_trace_rank *rank, ek_error *err);

#endif
