/* Columns by name, in whichever order and number this release of the producer writes them. */
#include "trace/step_columns.h"

#include <string.h>

ek_status ek__step_columns_find(const ek__table_in *in, const ek__csv *csv, ek__step_columns *out, ek_error *err)
{
    ek__step_columns c = {
        .step = ek__csv_column(csv, "Step", "Step Id", NULL),
        .device = ek__csv_column(csv, "Device_id", "Device id", NULL),
        .computing = ek__csv_column(csv, "Computing", NULL),
        .not_overlapped = ek__csv_column(csv, "Communication(Not Overlapped)", NULL),
        .overlapped = ek__csv_column(csv, "Overlapped", NULL),
        .communication = ek__csv_column(csv, "Communication", NULL),
        .free = ek__csv_column(csv, "Free", NULL),
        .stage = ek__csv_column(csv, "Stage", NULL),
        .bubble = ek__csv_column(csv, "Bubble", NULL),
        .exclude_receive = ek__csv_column(csv, "Communication(Not Overlapped and Exclude Receive)", NULL),
        .preparing = ek__csv_column(csv, "Preparing", NULL),
    };
    if (c.computing < 0 || c.free < 0)
        return ek__table_lacks(in, c.computing < 0 ? "Computing" : "Free", err);
    *out = c;
    return EK_OK;
}

static bool read_time(const ek__csv *csv, int column, int64_t *out, ek__bad_rows *bad)
{
    const char *cell = ek__csv_cell(csv, column);
    if (ek__csv_us(csv, column, out))
        return true;
    *out = EK_TRACE_UNKNOWN;
    if (*cell == '\0' || strcmp(cell, "N/A") == 0)
        return true;
    ek__bad_row(bad, csv, "\"%.40s\" in column \"%.60s\" is no number", cell, ek__csv_header(csv, column));
    return false;
}

bool ek__step_row_read(const ek__csv *csv, const ek__step_columns *c, ek__step_row *out, ek__bad_rows *bad)
{
    return read_time(csv, c->computing, &out->computing, bad) &&
           read_time(csv, c->not_overlapped, &out->not_overlapped, bad) &&
           read_time(csv, c->overlapped, &out->overlapped, bad) &&
           read_time(csv, c->communication, &out->communication, bad) && read_time(csv, c->free, &out->free, bad) &&
           read_time(csv, c->stage, &out->stage, bad) && read_time(csv, c->bubble, &out->bubble, bad) &&
           read_time(csv, c->exclude_receive, &out->exclude_receive, bad) &&
           read_time(csv, c->preparing, &out->preparing, bad);
}
