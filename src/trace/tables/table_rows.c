/* Reads a table's rows in one loop for all readers, and cells that may be empty. */
#include "trace/tables/table_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "trace/database/database.h"

/* Numbers beyond this are not measurements, and sums with them would lose all others. */
#define LARGEST 1e15

ek_status ek__table_open(const ek__table_in *in, ek__csv **out, ek_error *err)
{
    ek__database *database;
    if (!in->database)
        return ek__csv_open(in->path, out, err);
    ek_status status = ek__database_open(in->path, in->type, &database, err);
    return status == EK_OK ? ek__csv_open_database(in->path, database, out, err) : status;
}

ek_status ek__table_rows(const ek__table_in *in, ek__csv *csv, ek__row_reader *row, void *user, ek_error *err)
{
    ek__left_out left = {0};
    ek_error cut;
    int64_t n_rows = 0;
    bool more = true;
    ek_status status = EK_OK, row_status = EK_OK;
    while (!status && (status = ek__csv_next(csv, &more, &cut)) == EK_OK && more) {
        n_rows++;
        row_status = row(user, csv, &left, err);
        if (row_status)
            return row_status;
    }
    if (status && status != EK_ERR_INPUT) {
        if (err)
            *err = cut;
        return status;
    }
    status = ek__left_out_report(&left, "row", "rows", status ? &cut : NULL, in, err);
    if (status)
        return status;
    in->source->items = n_rows;
    in->source->bytes = ek__csv_bytes(csv);
    return EK_OK;
}

void ek__left_out_row(ek__left_out *left, const ek__csv *csv, const char *format, ...)
{
    char why[sizeof left->first];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    ek__left_out_add(left, "line %" PRId64 ": %s", ek__csv_line(csv), why);
}

ek_status ek__table_needs(const ek__table_in *in, int column, const char *name, ek_error *err)
{
    if (column >= 0)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){in->path, 1, 1}),
                    "the header has no column \"%s\"; is this %s, as its file name suggests?", name,
                    in->source && in->source->type ? in->source->type : "the table");
}

static bool is_empty(const char *cell)
{
    return !*cell || ek__strcasecmp(cell, "N/A") == 0;
}

bool ek__cell_number(const ek__csv *csv, int column, ek__left_out *left, double *value)
{
    const char *cell = ek__csv_cell(csv, column);
    *value = NAN;
    if (is_empty(cell) || (ek__csv_number(csv, column, value) && fabs(*value) <= LARGEST))
        return true;
    ek__left_out_cell(left, ek__csv_line(csv), ek__csv_header(csv, column), cell);
    return false;
}

bool ek__cell_us(const ek__csv *csv, int column, ek__left_out *left, int64_t *ns)
{
    const char *cell = ek__csv_cell(csv, column);
    *ns = EK_TRACE_UNKNOWN;
    if (is_empty(cell) || ek__csv_us(csv, column, ns))
        return true;
    ek__left_out_cell(left, ek__csv_line(csv), ek__csv_header(csv, column), cell);
    return false;
}
