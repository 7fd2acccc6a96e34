/* Reads cluster_step_trace_time.csv of the vendor's cluster analysis: a row per rank, and per stage the largest of each
 * column over its ranks. Stored as printed. */
#include "trace/tables/step_columns.h"
#include "trace/tables/tables.h"

typedef struct reading {
    ek_trace_run *run;
    ek__step_columns column;
    int type, index; /* columns */
} reading;

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    const reading *r = user;
    ek_trace_run *run = r->run;
    ek__step_row row;
    if (!ek__step_row_read(csv, &r->column, &row, left))
        return EK_OK;
    ek_trace_cluster_row *grown = ek__pool_push(run->pool, run->cluster_row, run->n_cluster_rows, sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    run->cluster_row = grown;
    ek_trace_cluster_row *to = &run->cluster_row[run->n_cluster_rows];
    *to = (ek_trace_cluster_row){.computing = row.computing,
                                 .not_overlapped = row.not_overlapped,
                                 .overlapped = row.overlapped,
                                 .communication = row.communication,
                                 .free = row.free,
                                 .stage = row.stage,
                                 .bubble = row.bubble,
                                 .exclude_receive = row.exclude_receive,
                                 .preparing = row.preparing};
    ek_status status = ek__table_text(run->pool, ek__csv_cell(csv, r->column.step), &to->step, err);
    if (status == EK_OK)
        status = ek__table_text(run->pool, ek__csv_cell(csv, r->type), &to->type, err);
    if (status == EK_OK)
        status = ek__table_text(run->pool, ek__csv_cell(csv, r->index), &to->index, err);
    run->n_cluster_rows += status == EK_OK;
    return status;
}

ek_status ek__table_cluster_step_trace_time(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv;
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    reading r = {
        .run = in->run, .type = ek__csv_column(csv, "Type", NULL), .index = ek__csv_column(csv, "Index", NULL)};
    status = ek__table_needs(in, r.type, "Type", err);
    if (!status)
        status = ek__table_needs(in, r.index, "Index", err);
    if (!status)
        status = ek__step_columns_find(in, csv, &r.column, err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &r, err);
    ek__csv_close(csv);
    return status;
}
