/* base/error.h - fills an ek_error, in one way for the whole library. */
#ifndef EK_BASE_ERROR_H
#define EK_BASE_ERROR_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "evenkeel/error.h"

#define EK__NOWHERE ((ek_origin){0})

/** Fill `err` (may be NULL): the error, with the values, and the remedy. */
void ek__set_error(ek_error *err, ek_status status, ek_origin origin, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Fill `err` and return `status`, so that a function can `return ek__fail(err, EK_ERR_INPUT, origin, "...", ...)`. A
 *  macro so that compilers and analyzers see that its value is not EK_OK. */
#define ek__fail(err, status, ...) (ek__set_error((err), (status), __VA_ARGS__), (status))

/** Pass a warning to a listener (may be NULL). */
void ek__warn(const ek_listener *listener, ek_origin origin, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The same for a warning that is a finding of a lint rule, of this id. */
void ek__warn_of(const ek_listener *listener, const char *rule, ek_origin origin, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Status of a call of the system that has failed: EK_ERR_MEMORY where errno reports a lack of memory, which no caller
 *  may ignore; else EK_ERR_SYSTEM. */
static inline ek_status ek__system_status(void)
{
    return errno == ENOMEM ? EK_ERR_MEMORY : EK_ERR_SYSTEM;
}

/** The message for a lack of memory. */
#define ek__no_memory(err) ek__fail(err, EK_ERR_MEMORY, EK__NOWHERE, "out of memory")

/** calloc(count, size) with a check for overflow; count 0 gives a valid pointer. NULL when memory is out. */
void *ek__alloc(size_t count, size_t size);
/** The array with room for `needed` (1 or more) items of `size`: itself while they are within *capacity, else moved to
 * about twice as many, *capacity updated. NULL when memory is out; then the array is unchanged. */
void *ek__with_room(void *array, size_t *capacity, size_t needed, size_t size);

#endif
