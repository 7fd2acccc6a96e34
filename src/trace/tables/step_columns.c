/* Finds columns by name, in any order and number, since releases of the producer differ. */
#include "trace/tables/step_columns.h"

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
    ek_status status = ek__table_needs(in, c.computing, "Computing", err);
    if (!status)
        status = ek__table_needs(in, c.free, "Free", err);
    if (!status)
        *out = c;
    return status;
}

bool ek__step_row_read(const ek__csv *csv, const ek__step_columns *c, ek__step_row *out, ek__left_out *left)
{
    return ek__cell_us(csv, c->computing, left, &out->computing) &&
           ek__cell_us(csv, c->not_overlapped, left, &out->not_overlapped) &&
           ek__cell_us(csv, c->overlapped, left, &out->overlapped) &&
           ek__cell_us(csv, c->communication, left, &out->communication) &&
           ek__cell_us(csv, c->free, left, &out->free) && ek__cell_us(csv, c->stage, left, &out->stage) &&
           ek__cell_us(csv, c->bubble, left, &out->bubble) &&
           ek__cell_us(csv, c->exclude_receive, left, &out->exclude_receive) &&
           ek__cell_us(csv, c->preparing, left, &out->preparing);
}
