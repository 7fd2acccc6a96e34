/* step_trace_time.csv: the producer's breakdown of each step. The two producers mean different things by Stage, Bubble
 * and Preparing (docs/trace.md), so the step names whose they are. Rows of a second device are left out: a rank has
 * one. */
#include <limits.h>
#include <string.h>

#include "trace/intervals.h"
#include "trace/step_columns.h"

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

/* This breakdown is the producer's whole one; it goes before what kernels alone could tell. */
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

/* What the rows have had so far. */
typedef struct seen {
    bool any;
    int64_t device;
} seen;

static bool is_of_other_device(const ek__csv *csv, int column, seen *s, ek__bad_rows *bad)
{
    int64_t device;
    if (!ek__csv_int(csv, column, &device))
        device = -1;
    if (s->any && device != s->device) {
        ek__bad_row(bad, csv, "it is of device %lld, others are of %lld", (long long)device, (long long)s->device);
        return true;
    }
    s->any = true;
    s->device = device;
    return false;
}

/* Is this the table's only row? Then its name may be anything. */
static ek_status count_rows(const char *path, int64_t *n, ek_error *err)
{
    ek__csv *csv;
    ek__bad_rows bad = {0};
    ek_status status = ek__csv_open(path, &csv, err);
    if (status)
        return status;
    *n = 0;
    for (bool more = true; status == EK_OK && more;) {
        status = ek__table_next(csv, &more, &bad, err);
        *n += status == EK_OK && more;
    }
    ek__csv_close(csv);
    return status;
}

static ek_status read_row(const ek__table_in *in, const ek__csv *csv, const ek__step_columns *c, bool alone, seen *s,
                          ek__bad_rows *bad, ek_error *err)
{
    ek__step_row row;
    ek_trace_step *step;
    if (!ek__step_row_read(csv, c, &row, bad) || is_of_other_device(csv, c->device, s, bad))
        return EK_OK;
    ek_status status = ek__table_step(in, ek__csv_cell(csv, c->step), alone, &step, err);
    if (status)
        return status;
    if (!step) {
        ek__bad_row(bad, csv, "there are %d steps already", EK__MAX_TABLE_STEPS);
        return EK_OK;
    }
    if (step->source && strcmp(step->source, "step_trace_time") == 0) {
        ek__bad_row(bad, csv, "step \"%.40s\" is there a second time", step->name);
        return EK_OK;
    }
    fill_step(step, &row, ek__table_producer(in));
    return EK_OK;
}

static ek_status read_rows(const ek__table_in *in, ek__csv *csv, bool alone, ek_error *err)
{
    ek__step_columns c;
    ek__bad_rows bad = {0};
    seen s = {0};
    int64_t n_rows = 0;
    ek_status status = ek__step_columns_find(in, csv, &c, err);
    for (bool more = true; status == EK_OK; n_rows++) {
        status = ek__table_next(csv, &more, &bad, err);
        if (status || !more)
            break;
        status = read_row(in, csv, &c, alone, &s, &bad, err);
    }
    if (status)
        return status;
    if (s.any && s.device >= 0 && s.device <= INT_MAX && in->rank->device_id < 0)
        in->rank->device_id = (int)s.device;
    return ek__table_finish(in, csv, n_rows, &bad, err);
}

ek_status ek__table_step_trace_time(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv;
    int64_t n = 0;
    ek_status status = count_rows(in->path, &n, err);
    if (status == EK_OK)
        status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    status = read_rows(in, csv, n == 1, err);
    ek__csv_close(csv);
    return status;
}
