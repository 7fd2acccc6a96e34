/* Formats errors and warnings into a struct without pointers. */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"

static void fill(ek_error *err, ek_status status, ek_origin origin, const char *format, va_list arguments)
{
    err->status = status;
    err->rule[0] = '\0';
    err->line = origin.line;
    err->column = origin.column;
    snprintf(err->file, sizeof err->file, "%s", origin.file ? origin.file : "");
    ek__vsnprintf(err->message, sizeof err->message, format, arguments);
}

void ek__set_error(ek_error *err, ek_status status, ek_origin origin, const char *format, ...)
{
    if (!err)
        return;
    va_list arguments;
    va_start(arguments, format);
    fill(err, status, origin, format, arguments);
    va_end(arguments);
}

void ek__warn(const ek_listener *listener, ek_origin origin, const char *format, ...)
{
    if (!listener || !listener->warn)
        return;
    ek_error warning;
    va_list arguments;
    va_start(arguments, format);
    fill(&warning, EK_OK, origin, format, arguments);
    va_end(arguments);
    listener->warn(listener->user, &warning);
}

void ek__warn_of(const ek_listener *listener, const char *rule, ek_origin origin, const char *format, ...)
{
    if (!listener || !listener->warn)
        return;
    ek_error warning;
    va_list arguments;
    va_start(arguments, format);
    fill(&warning, EK_OK, origin, format, arguments);
    va_end(arguments);
    snprintf(warning.rule, sizeof warning.rule, "%s", rule);
    listener->warn(listener->user, &warning);
}
