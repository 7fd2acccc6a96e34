/* trace/events/largest.h - the few largest of many allocations. */
#ifndef EK_TRACE_ANALYSE_LARGEST_H
#define EK_TRACE_ANALYSE_LARGEST_H

#include "base/pool.h"
#include "trace/scan/part.h"

enum { EK__N_LARGEST = 20, EK__N_KEPT = 50 };

/** An allocation with a name in an index. */
typedef struct ek__sized {
    double size;
    int64_t start, end;
    int name;
} ek__sized;

typedef struct ek__largest {
    int n, max;               /**< max <= EK__N_KEPT */
    ek__sized of[EK__N_KEPT]; /**< [n], largest first; of equal ones in order of arrival */
} ek__largest;

/** Add one if it is among the largest so far. O(max) then, else O(1). NAN is not taken. */
void ek__largest_add(ek__largest *largest, const ek__sized *one);
/** The allocations with names, in the pool; sizes times `unit_kb`. NULL when memory is out. */
ek_trace_allocation *ek__largest_keep(const ek__largest *largest, const ek__texts *names, double unit_kb,
                                      ek__pool *pool);

#endif
