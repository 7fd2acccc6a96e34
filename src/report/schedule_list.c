/* The schedules there are, from their own table: a line each for people, an object each for scripts. */
#include <string.h>

#include "report/json.h"
#include "report/report_internal.h"

static void chunks(const ek_schedule *schedule, char *text, size_t size)
{
    if (schedule->min_chunks == schedule->max_chunks)
        snprintf(text, size, "%d", schedule->min_chunks);
    else if (schedule->max_chunks >= EK_MAX_CHUNKS)
        snprintf(text, size, "%d..", schedule->min_chunks);
    else
        snprintf(text, size, "%d..%d", schedule->min_chunks, schedule->max_chunks);
}

ek_status ek__text_schedules(FILE *out, ek_error *err)
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

static json_t *object_of(ek__json *b, const ek_schedule *schedule)
{
    static const char *const placement[] = {"wrap", "v", "both_ways"};
    json_t *object = json_object();
    ek__json_put(b, object, "name", ek__json_string(schedule->name));
    ek__json_put(b, object, "title", ek__json_string(schedule->title));
    ek__json_put(b, object, "summary", ek__json_string(schedule->summary));
    ek__json_put(b, object, "min_chunks", json_integer(schedule->min_chunks));
    ek__json_put(b, object, "max_chunks", json_integer(schedule->max_chunks));
    ek__json_put(b, object, "min_micro_batches_per_stage", json_integer(schedule->min_micro_batches));
    ek__json_put(b, object, "placement", ek__json_string(placement[schedule->placement]));
    ek__json_put(b, object, "splits_backward", json_boolean(schedule->splits_backward));
    ek__json_put(b, object, "activation_limit_per_stage",
                 schedule->arrange ? ek__json_number(schedule->limit_per_stage) : json_null());
    ek__json_put(b, object, "activation_limit_constant",
                 schedule->arrange ? ek__json_number(schedule->limit_constant) : json_null());
    return object;
}

ek_status ek__json_schedules(FILE *out, ek_error *err)
{
    ek__json b = {false};
    json_t *root = json_object(), *list = json_array();
    ek__json_put(&b, root, "version", json_integer(EK__JSON_VERSION));
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        ek__json_append(&b, list, object_of(&b, *s));
    ek__json_put(&b, root, "schedules", list);
    return ek__json_finish(&b, root, out, err);
}
