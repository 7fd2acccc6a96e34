/* trace/compare/dixon.h - finds the last ranks at a collective, by its durations on all of them. */
#ifndef EK_TRACE_COMPARE_DIXON_H
#define EK_TRACE_COMPARE_DIXON_H

#include <stdbool.h>
#include <stdint.h>

/** The value that the ratio of n durations has to exceed for a vote, 99.5 %; NAN beyond 3 to 100. */
double ek__dixon_limit(int n);
/** The ratio of n sorted durations that is compared with it: the distance of the shortest from the rest. NAN beyond 3
 *  to 100, and for up to three distinct durations, which are never voted on. */
double ek__dixon_ratio(const int64_t *sorted, int n);
/** Fill vote[n]: the ranks suspected of being slow. None with two ranks or three distinct durations.
 *  @param sorted  [n], scratch
 *  @return the number of votes. O(n log n). */
int ek__slow_votes(const int64_t *duration, int n, int64_t *sorted, bool *vote);

#endif
