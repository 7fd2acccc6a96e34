/* Reports the rows left out of a table, as one sentence of its source. */
#include "trace/text/left_out.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/c_locale.h"

void ek__left_out_add(ek__left_out *left, const char *format, ...)
{
    if (left->n++ > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(left->first, sizeof left->first, format, arguments);
    va_end(arguments);
    /* Text from a file may be cut inside of a character, or contain invalid ones. */
    for (char *c = left->first; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

void ek__left_out_cell(ek__left_out *left, int64_t line, const char *header, const char *cell)
{
    ek__left_out_add(left, "line %" PRId64 ": %s '%.60s' is no valid number", line, header, cell);
}

ek_status ek__left_out_report(const ek__left_out *left, const char *one, const char *many, const ek_error *cut,
                              const ek__table_in *in, ek_error *err)
{
    if (left->n == 0 && !cut)
        return EK_OK;
    ek__pool *pool = in->rank ? in->rank->pool : in->run->pool;
    const char *end = cut ? ek__pool_format(pool, "line %d: %s", cut->line, cut->message) : "", *problem = end;
    if (end && left->n > 0)
        problem =
            ek__pool_format(pool, "%" PRId64 " %s left out%s %s%s%s", left->n, left->n > 1 ? many : one,
                            left->n > 1 ? "; the first:" : ":", left->first, cut ? "; reading ended in " : "", end);
    if (!problem)
        return ek__no_memory(err);
    in->source->problem = problem;
    in->source->problem_offset = EK_TRACE_UNKNOWN;
    return EK_OK;
}
