/* trace/tables/table_rows.h - reading the rows of a CSV table: one loop for all readers, with a count of unreadable
 * rows. */
#ifndef EK_TRACE_TABLES_TABLE_ROWS_H
#define EK_TRACE_TABLES_TABLE_ROWS_H

#include "trace/text/csv.h"
#include "trace/text/left_out.h"

/** Process one row. Unreadable cells are recorded in `left`. @return EK_OK to go on, EK_ERR_MEMORY */
typedef ek_status ek__row_reader(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err);

/** Open the table: a file, or the tables of a database. Errors as of ek__csv_open(). */
ek_status ek__table_open(const ek__table_in *in, ek__csv **out, ek_error *err);
/**
 * Pass every row to `row`. A damaged end (a quote that never closes) ends it: rows so far count. Fills the source's
 * items, bytes and problem.
 * @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY
 */
ek_status ek__table_rows(const ek__table_in *in, ek__csv *csv, ek__row_reader *row, void *user, ek_error *err);

/** Leave the current row out; the sentence gives the reason: "the size is negative". */
void ek__left_out_row(ek__left_out *left, const ek__csv *csv, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** EK_ERR_INPUT with a message when a column is missing (-1). */
ek_status ek__table_needs(const ek__table_in *in, int column, const char *name, ek_error *err);

/** A number, or NAN for an empty cell and "N/A". False when it is something else; then it is recorded in `left`. */
bool ek__cell_number(const ek__csv *csv, int column, ek__left_out *left, double *value);
/** Microseconds as nanoseconds, or EK_TRACE_UNKNOWN for an empty cell and "N/A". False as above. */
bool ek__cell_us(const ek__csv *csv, int column, ek__left_out *left, int64_t *ns);

#endif
