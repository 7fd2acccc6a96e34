/* trace/events/memory_curve.h - makes a curve of memory over time short enough to draw and to print. */
#ifndef EK_TRACE_ANALYSE_MEMORY_CURVE_H
#define EK_TRACE_ANALYSE_MEMORY_CURVE_H

#include <stddef.h>

#include "evenkeel/trace.h"

enum { EK__CURVE_MAX_POINTS = 2000 };

/** Sort points by component, then time, and keep at most EK__CURVE_MAX_POINTS of each component, in place: both columns
 *  keep their largest value and their local peaks. @return points kept. O(n log n). */
size_t ek__memory_curve_thin(ek_trace_memory_point *point, size_t n);

#endif
