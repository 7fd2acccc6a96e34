/* trace/tables/step_columns.h - the common columns of step_trace_time.csv and the vendor's cluster table of it. */
#ifndef EK_TRACE_TABLES_STEP_COLUMNS_H
#define EK_TRACE_TABLES_STEP_COLUMNS_H

#include "trace/tables/table_rows.h"

typedef struct ek__step_columns {
    int step, device, computing, not_overlapped, overlapped, communication, free, stage, bubble, exclude_receive,
        preparing;
} ek__step_columns;

/** A row in nanoseconds; EK_TRACE_UNKNOWN for a cell that is empty or a column that is not there. */
typedef struct ek__step_row {
    int64_t computing, not_overlapped, overlapped, communication, free, stage, bubble, exclude_receive, preparing;
} ek__step_row;

/** EK_ERR_INPUT when the table lacks Computing or Free. */
ek_status ek__step_columns_find(const ek__table_in *in, const ek__csv *csv, ek__step_columns *out, ek_error *err);
/** false, with the row among those left out, when a cell is neither a number nor empty. */
bool ek__step_row_read(const ek__csv *csv, const ek__step_columns *c, ek__step_row *out, ek__left_out *left);

#endif
