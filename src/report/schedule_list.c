/* Prints the available schedules from their table: a line each for people, an object each for scripts. */
#include <string.h>

#include "report/report_internal.h"
#include "report/writers.h"

static void chunks(const ek_schedule *schedule, char *text, size_t size)
{
    if (schedule->min_chunks == schedule->max_chunks)
        snprintf(text, size, "%d", schedule->min_chunks);
    else if (schedule->max_chunks >= EK_MAX_CHUNKS)
        snprintf(text, size, "%d..", schedule->min_chunks);
    else
        snprintf(text, size, "%d..%d", schedule->min_chunks, schedule->max_chunks);
}

ek_status ek__schedules_write_text(FILE *out, ek_error *err)
{
    int width = 0;
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        width = (int)strlen((*s)->name) > width ? (int)strlen((*s)->name) : width;
    fprintf(out, "%-*s  chunks  bubble and memory\n", width, "schedule");
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        char range[32];
        chunks(*s, range, sizeof range);
        fprintf(out, "%-*s  %-6s  %s\n", width, (*s)->name, range, (*s)->summary);
    }
    return ek__finish(out, err);
}
