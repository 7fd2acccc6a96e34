/* Reads minddata_pipeline_raw_{id}.csv: the operators of MindSpore's data pipeline and the fill of their output queues.
 * The queue that feeds training is the one of the operator nearest to the root of the tree (the one without a parent)
 * that has any: near empty, the data come too slowly; near full, training is the slower side. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tables/table_rows.h"

static const double near_empty = 0.1, near_full = 0.9; /* usage rates */

typedef struct pipeline {
    int id, type, workers, average, length, usage, parent; /* columns */
    ek__pool *pool;
    ek_trace_data_op *op;
    int n;
} pipeline;

/* A whole number within int; `otherwise` for an empty cell. */
static bool read_int(const ek__csv *csv, int column, ek__left_out *left, int otherwise, int *value)
{
    int64_t read = 0;
    const char *cell = ek__csv_cell(csv, column);
    *value = otherwise;
    if (!*cell)
        return true;
    if (ek__csv_int(csv, column, &read) && read >= -1 && read <= INT_MAX) {
        *value = (int)read;
        return true;
    }
    ek__left_out_cell(left, ek__csv_line(csv), ek__csv_header(csv, column), cell);
    return false;
}

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    pipeline *p = user;
    ek_trace_data_op one = {0};
    if (!read_int(csv, p->id, left, -1, &one.id) || !read_int(csv, p->workers, left, 0, &one.workers) ||
        !read_int(csv, p->parent, left, -1, &one.parent) ||
        !ek__cell_number(csv, p->average, left, &one.queue_average) ||
        !ek__cell_number(csv, p->length, left, &one.queue_length) ||
        !ek__cell_number(csv, p->usage, left, &one.usage_rate))
        return EK_OK;
    if (one.id < 0) {
        ek__left_out_row(left, csv, "no op_id");
        return EK_OK;
    }
    if (isnan(one.usage_rate) && one.queue_length > 0)
        one.usage_rate = one.queue_average / one.queue_length;
    const char *type = ek__csv_cell(csv, p->type);
    one.type = ek__pool_text(p->pool, type, strlen(type));
    ek_trace_data_op *op = ek__pool_push(p->pool, p->op, p->n, sizeof *op);
    if (!op || !one.type)
        return ek__no_memory(err);
    p->op = op;
    op[p->n++] = one;
    return EK_OK;
}

static bool has_queue(const ek_trace_data_op *op)
{
    return op->queue_length > 0 && !isnan(op->usage_rate) && !isnan(op->queue_average);
}

static int by_id(const void *a, const void *b)
{
    const ek_trace_data_op *p = *(ek_trace_data_op *const *)a, *q = *(ek_trace_data_op *const *)b;
    return (p->id > q->id) - (p->id < q->id);
}

/* The operator with this id, or NULL. */
static const ek_trace_data_op *find(ek_trace_data_op *const *sorted, int n, int id)
{
    ek_trace_data_op key = {.id = id}, *at = &key;
    ek_trace_data_op *const *found = bsearch(&at, sorted, (size_t)n, sizeof *sorted, by_id);
    return found ? *found : NULL;
}

/* The operator with a queue that is nearest to the root, the one with the lowest id among equally near ones; NULL
 * without. The number of steps to the root is bounded by that of the best so far, so chains and trees as they are
 * written (each at most a few dozen) are quick; a circle ends after n steps, and `budget` bounds the cost of a forged
 * file. */
static const ek_trace_data_op *last_queue(ek_trace_data_op *const *sorted, int n)
{
    const ek_trace_data_op *best = NULL;
    int64_t budget = 1 << 22;
    int best_depth = n;
    for (int i = 0; i < n; i++) {
        if (!has_queue(sorted[i]))
            continue;
        int depth = 0;
        for (const ek_trace_data_op *op = sorted[i]; op && op->parent >= 0 && depth < best_depth && budget > 0;
             depth++) {
            op = find(sorted, n, op->parent);
            budget--;
        }
        if (!best || depth < best_depth) {
            best = sorted[i];
            best_depth = depth;
        }
    }
    return best;
}

static ek_status keep(const pipeline *p, ek_trace_data *out, ek_error *err)
{
    ek_trace_data_op **sorted = ek__alloc((size_t)p->n, sizeof(ek_trace_data_op *));
    if (!sorted)
        return ek__no_memory(err);
    for (int i = 0; i < p->n; i++)
        sorted[i] = &p->op[i];
    if (p->n > 1)
        qsort(sorted, (size_t)p->n, sizeof *sorted, by_id);
    const ek_trace_data_op *last = last_queue(sorted, p->n);
    out->op = p->op;
    out->n_ops = p->n;
    out->near_empty_queue = last && last->usage_rate < near_empty;
    out->near_full_queue = last && last->usage_rate > near_full;
    free(sorted);
    return EK_OK;
}

ek_status ek__table_minddata_raw(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv = NULL;
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    pipeline p = {.id = ek__csv_column(csv, "op_id", NULL),
                  .type = ek__csv_column(csv, "op_type", NULL),
                  .workers = ek__csv_column(csv, "num_workers", NULL),
                  .average = ek__csv_column(csv, "output_queue_average_size", NULL),
                  .length = ek__csv_column(csv, "output_queue_length", NULL),
                  .usage = ek__csv_column(csv, "output_queue_usage_rate", NULL),
                  .parent = ek__csv_column(csv, "parent_id", NULL),
                  .pool = in->rank->pool};
    status = ek__table_needs(in, p.id, "op_id", err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &p, err);
    if (!status)
        status = keep(&p, &in->rank->data, err);
    ek__csv_close(csv);
    return status;
}
