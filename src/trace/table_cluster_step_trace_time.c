/* cluster_step_trace_time.csv of the vendor's cluster analysis: a row per rank, and per stage the largest of each
 * column over its ranks. Kept as printed. */
#include "trace/step_columns.h"

static ek_status read_row(const ek__table_in *in, const ek__csv *csv, const ek__step_columns *c, int type, int index,
                          ek__bad_rows *bad, ek_error *err)
{
    ek_trace_run *run = in->run;
    ek__step_row row;
    if (!ek__step_row_read(csv, c, &row, bad))
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
    ek_status status = ek__table_text(run->pool, ek__csv_cell(csv, c->step), &to->step, err);
    if (status == EK_OK)
        status = ek__table_text(run->pool, ek__csv_cell(csv, type), &to->type, err);
    if (status == EK_OK)
        status = ek__table_text(run->pool, ek__csv_cell(csv, index), &to->index, err);
    run->n_cluster_rows += status == EK_OK;
    return status;
}

static ek_status read_rows(const ek__table_in *in, ek__csv *csv, ek_error *err)
{
    ek__step_columns c;
    ek__bad_rows bad = {0};
    int64_t n_rows = 0;
    int type = ek__csv_column(csv, "Type", NULL), index = ek__csv_column(csv, "Index", NULL);
    if (type < 0 || index < 0)
        return ek__table_lacks(in, type < 0 ? "Type" : "Index", err);
    ek_status status = ek__step_columns_find(in, csv, &c, err);
    for (bool more = true; status == EK_OK; n_rows++) {
        status = ek__table_next(csv, &more, &bad, err);
        if (status || !more)
            break;
        status = read_row(in, csv, &c, type, index, &bad, err);
    }
    return status ? status : ek__table_finish(in, csv, n_rows, &bad, err);
}

ek_status ek__table_cluster_step_trace_time(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv;
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    status = read_rows(in, csv, err);
    ek__csv_close(csv);
    return status;
}
