/* trace/events/periodic.h - the period of a sequence up to its end. */
#ifndef EK_TRACE_ANALYSE_PERIODIC_H
#define EK_TRACE_ANALYSE_PERIODIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The longest tail of name[0, n) with three whole periods or more, with the smallest period of `least` names or more
 * that it has.
 *
 * @param period  of the tail; untouched without one
 * @return the tail's length; 0 without one, or when memory is out (*no_memory). O(n).
 */
size_t ek__periodic_tail(const uint32_t *name, size_t n, size_t least, size_t *period, bool *no_memory);

#endif
