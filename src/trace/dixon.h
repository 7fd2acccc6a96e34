/* trace/dixon.h - which of a collective's ranks came last, by the durations that all of them saw. */
#ifndef EK_TRACE_DIXON_H
#define EK_TRACE_DIXON_H

#include <stdbool.h>
#include <stdint.h>

/** The value that the ratio of n durations has to exceed for a vote, 99.5 %; NAN beyond 3 to 100. */
double ek__dixon_limit(int n);
/** Fill vote[n]: which ranks are suspected of being slow. None with two ranks or three distinct durations.
 *  @param sorted  [n], scratch
 *  @return the number of votes. O(n log n). */
int ek__slow_votes(const int64_t *duration, int n, int64_t *sorted, bool *vote);

#endif
