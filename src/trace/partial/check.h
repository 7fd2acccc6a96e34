/* trace/partial/check.h - are a rank's numbers of places within its lists? */
#ifndef EK_TRACE_PARTIAL_CHECK_H
#define EK_TRACE_PARTIAL_CHECK_H

#include <stdbool.h>

#include "evenkeel/trace.h"

/** Of a rank that was read from bytes: whatever other files take as an index, and texts that they take for granted.
 *  O(members of its lists). */
bool ek__rank_is_whole(const ek_trace_rank *rank);

#endif
