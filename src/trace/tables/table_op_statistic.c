/* Reads op_statistic.csv: the producer's own totals per operator type and core, stored as printed. They replace the
 * operators when no table of executions was read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/intervals.h"
#include "trace/tables/table_rows.h"
#include "trace/tables/tables.h"

typedef struct columns {
    int type, core, count, total, min, average, max, ratio;
} columns;

static void find_columns(const ek__csv *csv, columns *c)
{
    c->type = ek__csv_column(csv, "OP Type", "Op Type", NULL);
    c->core = ek__csv_column(csv, "Core Type", NULL);
    c->count = ek__csv_column(csv, "Count", NULL);
    c->total = ek__csv_column(csv, "Total Time(us)", NULL);
    c->min = ek__csv_column(csv, "Min Time(us)", NULL);
    c->average = ek__csv_column(csv, "Avg Time(us)", NULL);
    c->max = ek__csv_column(csv, "Max Time(us)", NULL);
    c->ratio = ek__csv_column(csv, "Ratio(%)", NULL);
}

static int64_t time_of(const ek__csv *csv, int column)
{
    int64_t ns;
    return ek__csv_us(csv, column, &ns) ? ns : EK_TRACE_UNKNOWN;
}

static double number_of(const ek__csv *csv, int column)
{
    double value;
    return ek__csv_number(csv, column, &value) ? value : (double)NAN;
}

typedef struct reading {
    ek_trace_rank *rank;
    columns column;
} reading;

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    reading *r = user;
    const columns *c = &r->column;
    ek__pool *pool = r->rank->pool;
    ek_trace_operators *ops = &r->rank->operators;
    ek_trace_operator op = {.wait = EK_TRACE_UNKNOWN, .max_start = EK_TRACE_UNKNOWN};
    if (!ek__csv_int(csv, c->count, &op.count) || op.count < 0) {
        ek__left_out_row(left, csv, "the count \"%.40s\" is no whole number", ek__csv_cell(csv, c->count));
        return EK_OK;
    }
    if (!ek__csv_us(csv, c->total, &op.total)) {
        ek__left_out_row(left, csv, "the total time \"%.40s\" is no number", ek__csv_cell(csv, c->total));
        return EK_OK;
    }
    op.min = time_of(csv, c->min);
    op.max = time_of(csv, c->max);
    op.average = number_of(csv, c->average) * 1000;
    op.ratio = number_of(csv, c->ratio);
    ek_trace_operator *grown = ek__pool_push(pool, ops->table, ops->n_table, sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    ops->table = grown;
    ek_status status = ek__table_text(pool, ek__csv_cell(csv, c->type), &op.name, err);
    if (status == EK_OK && *ek__csv_cell(csv, c->core))
        status = ek__table_text(pool, ek__csv_cell(csv, c->core), &op.core, err);
    if (status)
        return status;
    op.type = op.name;
    op.family = ek__operator_family(op.type, op.core);
    ops->table[ops->n_table++] = op;
    return EK_OK;
}

static int by_total(const void *a, const void *b)
{
    const ek_trace_operator *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Totals of operators in the form of summed executions. */
static ek_status stand_in(const ek__table_in *in, ek_error *err)
{
    ek_trace_operators *ops = &in->rank->operators;
    if (ops->source || ops->n_table == 0)
        return EK_OK;
    ops->op = ek__pool_alloc(in->rank->pool, (size_t)ops->n_table, sizeof *ops->op);
    if (!ops->op)
        return ek__no_memory(err);
    memcpy(ops->op, ops->table, (size_t)ops->n_table * sizeof *ops->op);
    qsort(ops->op, (size_t)ops->n_table, sizeof *ops->op, by_total);
    ops->n = ops->n_table;
    ops->source = "op_statistic";
    double matmul = 0, attention = 0, vector = 0;
    for (int i = 0; i < ops->n; i++) {
        const ek_trace_operator *op = &ops->op[i];
        ops->n_executions = ek__ns_add(ops->n_executions, op->count);
        ops->total = ek__ns_add(ops->total, op->total);
        matmul += strcmp(op->family, "matmul") == 0 ? (double)op->total : 0;
        attention += strcmp(op->family, "attention") == 0 ? (double)op->total : 0;
        vector += strcmp(op->family, "vector") == 0 ? (double)op->total : 0;
    }
    double total = ops->total > 0 ? (double)ops->total : (double)NAN;
    ops->share_matmul = matmul / total;
    ops->share_attention = attention / total;
    ops->share_vector = vector / total;
    return EK_OK;
}

ek_status ek__table_op_statistic(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv;
    reading r = {.rank = in->rank};
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    find_columns(csv, &r.column);
    status = ek__table_needs(in, r.column.type, "OP Type", err);
    if (!status)
        status = ek__table_needs(in, r.column.total, "Total Time(us)", err);
    if (!status)
        status = ek__table_needs(in, r.column.count, "Count", err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &r, err);
    if (!status)
        status = stand_in(in, err);
    ek__csv_close(csv);
    return status;
}
