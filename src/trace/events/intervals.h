/* trace/events/intervals.h - sets of half-open time intervals [start, end): union, and the lengths of sets,
 * intersections, differences.
 *
 * A set is stored merged: sorted, disjoint, neighbours that touch are one. Every call is a merge of sorted lists. */
#ifndef EK_TRACE_ANALYSE_INTERVALS_H
#define EK_TRACE_ANALYSE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/** a + b, a - b; INT64_MAX or INT64_MIN instead of overflowing. */
static inline int64_t ek__ns_add(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b > 0 ? INT64_MAX : INT64_MIN;
}
static inline int64_t ek__ns_sub(int64_t a, int64_t b)
{
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : b < 0 ? INT64_MAX : INT64_MIN;
}

typedef struct ek__interval {
    int64_t start, end;
} ek__interval;

typedef struct ek__intervals {
    size_t n, capacity;
    ek__interval *at; /**< [n], merged */
} ek__intervals;

void ek__intervals_clear(ek__intervals *set);
/** Forget the intervals, keep the room. */
void ek__intervals_reset(ek__intervals *set);
/** Append [start, end): start not before the last one's start, as in a slice. Merges with the last when start <= its
 *  end. Empty intervals are left out. @return false when memory is out. Amortised O(1). */
bool ek__intervals_add(ek__intervals *set, int64_t start, int64_t end);
/** U(events of a slice with a start in [from, to)). O(n). @return false when memory is out. */
bool ek__intervals_of(ek__slice slice, int64_t from, int64_t to, ek__intervals *out);
/** out = a u b; `out` is none of them. O(n). @return false when memory is out. */
bool ek__intervals_unite(const ek__intervals *a, const ek__intervals *b, ek__intervals *out);
/** Is a time in one of them? O(log n). */
bool ek__intervals_hold(const ek__intervals *set, int64_t time);
/** Total length. O(n). */
int64_t ek__intervals_length(const ek__intervals *set);
/** Length of a n b, of a \ b, without making the set. O(n). */
int64_t ek__intervals_common(const ek__intervals *a, const ek__intervals *b);
int64_t ek__intervals_without(const ek__intervals *a, const ek__intervals *b);

#endif
