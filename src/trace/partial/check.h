/* trace/partial/check.h - checks that a rank's indices are within its lists. */
#ifndef EK_TRACE_PARTIAL_CHECK_H
#define EK_TRACE_PARTIAL_CHECK_H

#include <stdbool.h>

#include "evenkeel/trace.h"

/** Checks a rank that was read from bytes: all members that other files use as an index, and texts that they expect.
 *  O(members of its lists). */
bool ek__rank_is_whole(const ek_trace_rank *rank);

#endif
