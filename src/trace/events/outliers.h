/* trace/events/outliers.h - executions far slower than others of their kind. The caller defines a kind, and the
 * threshold for an outlier: tables have shapes, events do not. */
#ifndef EK_TRACE_ANALYSE_OUTLIERS_H
#define EK_TRACE_ANALYSE_OUTLIERS_H

#include "base/pool.h"
#include "evenkeel/trace.h"

/** The worst ones, by their time beyond the median of their kind. {0} is none. */
typedef struct ek__outliers {
    int n;
    ek_trace_outlier of[EK_TRACE_MAX_NAMES]; /**< [n], in no order; names are the caller's */
} ek__outliers;

/** Add one if it is among the worst so far; of equal ones the earlier. O(EK_TRACE_MAX_NAMES) then, else O(1). */
void ek__outliers_add(ek__outliers *outliers, const ek_trace_outlier *one);
/** The executions with names and shapes in the pool, worst first. EK_OK or EK_ERR_MEMORY. */
ek_status ek__outliers_keep(ek__outliers *outliers, ek__pool *pool, ek_trace_operators *out, ek_error *err);

#endif
