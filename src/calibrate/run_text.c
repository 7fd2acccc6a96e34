/* Composes jobs as text: a row's settings in the syntax of a user's file, read by the reader of such files. */
#include <stdarg.h>
#include <stdio.h>

#include "base/c_locale.h"
#include "calibrate/run_table.h"

void ek__run_write(ek__run_text *text, const char *format, ...)
{
    size_t room = sizeof text->bytes - text->n;
    va_list arguments;
    va_start(arguments, format);
    int n = ek__vsnprintf(text->bytes + text->n, room, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < room)
        text->n += (size_t)n;
    else
        text->cut = true;
}

ek_status ek__run_parse(const ek__run_row *row, const ek__run_text *text, ek_job *out)
{
    ek__job_step step;
    if (text->cut)
        return ek__fail(row->err, EK_ERR_INPUT, ((ek_origin){row->path, (int)ek__csv_line(row->csv), 1}),
                        "the row has too many stages to write them down; give a job file in the column job");
    return ek__job_parse(row->path, text->bytes, text->n, NULL, NULL, out, &step, row->err);
}
