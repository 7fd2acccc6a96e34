/* trace/scan/made.h - files whose events are made into the text of a Chrome trace while they are read: databases of
 * profilers, and tables of kernels, which come without a trace. */
#ifndef EK_TRACE_SCAN_MADE_H
#define EK_TRACE_SCAN_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ek__made ek__made;

/** Is a file one of these, by its beginning? False also where it cannot be read. */
bool ek__is_made(const char *path);
/** Errors as of ek__database_open() and ek__kernel_events_open(). */
ek_status ek__made_open(const char *path, ek__made **out, ek_error *err);
/** NULL is fine. */
void ek__made_close(ek__made *made);
/** The next bytes of the text, as many as fit; fewer only at its end. O(bytes). */
size_t ek__made_read(ek__made *made, char *to, size_t room);
/** The error in the part of the file read so far; NULL. */
const char *ek__made_problem(const ek__made *made);
bool ek__made_out_of_memory(const ek__made *made);
/** Bytes of the file that are read, for databases in proportion to rows. */
int64_t ek__made_bytes(const ek__made *made);

#endif
