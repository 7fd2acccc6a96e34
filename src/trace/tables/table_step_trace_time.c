/* Reads step_trace_time.csv: the producer's breakdown of each step. The two producers mean different things by Stage,
 * Bubble and Preparing (docs/trace.md), so the step has the producer's name. Rows of a second device are left out: a
 * rank has one. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "trace/events/intervals.h"
#include "trace/tables/step_columns.h"
#include "trace/tables/tables.h"

static int64_t whole_span(const ek__step_row *row)
{
    if (row->computing == EK_TRACE_UNKNOWN || row->not_overlapped == EK_TRACE_UNKNOWN || row->free == EK_TRACE_UNKNOWN)
        return EK_TRACE_UNKNOWN;
    return ek__ns_add(ek__ns_add(row->computing, row->not_overlapped), row->free);
}

static int64_t busy(const ek__step_row *row)
{
    if (row->computing == EK_TRACE_UNKNOWN || row->not_overlapped == EK_TRACE_UNKNOWN)
        return EK_TRACE_UNKNOWN;
    return ek__ns_add(row->computing, row->not_overlapped);
}

/* This breakdown is the producer's complete one; it replaces the one made from kernels. */
static void fill_step(ek_trace_step *step, const ek__step_row *row, const char *producer)
{
    int64_t n_events = step->own.n_events;
    step->own = (ek_trace_breakdown){.n_events = n_events,
                                     .computing = row->computing,
                                     .communication = row->communication,
                                     .communication_not_overlapped = row->not_overlapped,
                                     .overlapped = row->overlapped,
                                     .copy = EK_TRACE_UNKNOWN,
                                     .copy_not_overlapped = EK_TRACE_UNKNOWN,
                                     .busy = busy(row),
                                     .free = row->free,
                                     .total = whole_span(row)};
    step->source = "step_trace_time";
    step->producer_definition = producer;
    step->stage = step->table_stage = row->stage;
    step->preparing = step->table_preparing = row->preparing;
    step->bubble = row->bubble;
    step->exclude_receive = row->exclude_receive;
}

typedef struct reading {
    const ek__table_in *in;
    ek__step_columns column;
    bool alone; /* the table has one row: then its step may have any name */
    bool full;  /* beyond this number of steps none is searched any more */
    bool has_device;
    int64_t device; /* of the rows so far */
} reading;

static bool is_of_other_device(reading *r, const ek__csv *csv, ek__left_out *left)
{
    int64_t device;
    if (!ek__csv_int(csv, r->column.device, &device))
        device = -1;
    if (r->has_device && device != r->device) {
        ek__left_out_row(left, csv, "it is of device %" PRId64 ", others are of %" PRId64, device, r->device);
        return true;
    }
    r->has_device = true;
    r->device = device;
    return false;
}

static ek_status count_rows(const ek__table_in *in, bool *alone, ek_error *err)
{
    ek__csv *csv;
    ek_status status = ek__table_open(in, &csv, err);
    if (status)
        return status;
    int n = 0;
    for (bool more = true; n < 2 && more && (status = ek__csv_next(csv, &more, err)) == EK_OK;)
        n += more;
    ek__csv_close(csv);
    *alone = n == 1;
    return status == EK_ERR_INPUT ? EK_OK : status; /* errors in it are reported when it is read */
}

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    reading *r = user;
    ek__step_row row;
    ek_trace_step *step;
    if (!ek__step_row_read(csv, &r->column, &row, left) || is_of_other_device(r, csv, left))
        return EK_OK;
    ek_status status = r->full ? EK_OK : ek__table_step(r->in, ek__csv_cell(csv, r->column.step), r->alone, &step, err);
    if (status)
        return status;
    r->full = r->full || !step;
    if (r->full) {
        ek__left_out_row(left, csv, "there are %d steps already", EK__MAX_TABLE_STEPS);
        return EK_OK;
    }
    if (step->source && strcmp(step->source, "step_trace_time") == 0) {
        ek__left_out_row(left, csv, "step \"%.40s\" is repeated", step->name);
        return EK_OK;
    }
    fill_step(step, &row, ek__table_producer(r->in));
    return EK_OK;
}

ek_status ek__table_step_trace_time(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv;
    reading r = {.in = in};
    ek_status status = count_rows(in, &r.alone, err);
    if (status == EK_OK)
        status = ek__table_open(in, &csv, err);
    if (status)
        return status;
    status = ek__step_columns_find(in, csv, &r.column, err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &r, err);
    ek__csv_close(csv);
    if (!status && r.has_device && r.device >= 0 && r.device <= INT_MAX && in->rank->device_id < 0)
        in->rank->device_id = (int)r.device;
    return status;
}
