/* base/error.h - filling an ek_error, one way for the whole library. */
#ifndef EK_BASE_ERROR_H
#define EK_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "evenkeel/error.h"

#define EK__NOWHERE ((ek_origin){0})

/**
 * Fill `err` (may be NULL) and return `status`, so that a function can `return ek__fail(...)`.
 * The message says what is wrong, with the values, and what to do.
 */
ek_status ek__fail(ek_error *err, ek_status status, ek_origin origin, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Tell a listener (may be NULL) of a warning. */
void ek__warn(const ek_listener *listener, ek_origin origin, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The one out-of-memory message. */
ek_status ek__no_memory(ek_error *err);

/** calloc(count, size) whose product cannot overflow; count 0 gives a valid pointer. NULL when memory is out. */
void *ek__alloc(size_t count, size_t size);

#endif
