/* trace/events/kernel_events.h - kernel_details.csv and op_summary.csv as the events of a Chrome trace: a timeline
 * where a profiler's export has no trace, or the trace was not kept.
 *
 *   row --> an event on its stream ("Ascend Hardware"; collectives: "Communication"), other columns as arguments
 *
 * Rows without a start or a duration are left out. Memory contains one row's text. */
#ifndef EK_TRACE_EVENTS_KERNEL_EVENTS_H
#define EK_TRACE_EVENTS_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ek__kernel_events ek__kernel_events;

/** Is a file such a table, by its header: columns for names, begins and durations? O(header). */
bool ek__is_kernel_table(const char *path);
/** @return EK_OK; EK_ERR_INPUT without these columns; EK_ERR_SYSTEM, EK_ERR_MEMORY. Ended by ek__kernel_events_close().
 */
ek_status ek__kernel_events_open(const char *path, ek__kernel_events **out, ek_error *err);
void ek__kernel_events_close(ek__kernel_events *events);
/** The next bytes of the text, as many as fit; fewer only at its end. Where a row cannot be read the text ends, with
 *  ek__kernel_events_problem(). O(bytes). */
size_t ek__kernel_events_read(ek__kernel_events *events, char *to, size_t room);
/** The error in the table so far; NULL. */
const char *ek__kernel_events_problem(const ek__kernel_events *events);
bool ek__kernel_events_out_of_memory(const ek__kernel_events *events);
/** Of the file, read so far. */
int64_t ek__kernel_events_bytes(const ek__kernel_events *events);

#endif
