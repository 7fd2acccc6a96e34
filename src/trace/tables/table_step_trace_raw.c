/* Reads step_trace_raw_N_detail_time.csv and ascend_cluster_analyse_*_N.csv of MindSpore until 2023. Both have a row
 * per step and a last row that averages over all profiled steps, of which the file may contain only some; the first
 * file names it "-". The second has no names: its rows are matched by their place. Times are ticks of 10 ns in the
 * first, milliseconds in the second; the many columns per communication operator are not read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/find/layout.h"
#include "trace/tables/table_rows.h"
#include "trace/tables/tables.h"

enum { TICK_NS = 10 };

static const char average_name[] = "-";

/* ---- step_trace_raw ---- */

static int64_t ticks_of(const ek__csv *csv, int column)
{
    int64_t ticks, ns;
    if (!ek__csv_int(csv, column, &ticks) || __builtin_mul_overflow(ticks, (int64_t)TICK_NS, &ns) ||
        ns == EK_TRACE_UNKNOWN)
        return EK_TRACE_UNKNOWN;
    return ns;
}

typedef struct raw_columns {
    int step, start, end, total, interval, fp_and_bp, tail;
} raw_columns;

static ek_status find_raw_columns(const ek__table_in *in, const ek__csv *csv, raw_columns *c, ek_error *err)
{
    c->step = ek__csv_column(csv, "step_num", NULL);
    c->start = ek__csv_column(csv, "start_point", NULL);
    c->end = ek__csv_column(csv, "end_point", NULL);
    c->total = ek__csv_column(csv, "total", NULL);
    c->interval = ek__csv_column(csv, "iteration_interval", NULL);
    c->fp_and_bp = ek__csv_column(csv, "fp_and_bp", NULL);
    c->tail = ek__csv_column(csv, "tail", NULL);
    ek_status status = ek__table_needs(in, c->step, "step_num", err);
    return status ? status : ek__table_needs(in, c->interval, "iteration_interval", err);
}

typedef struct raw_reading {
    const ek__table_in *in;
    raw_columns column;
    bool full; /* beyond this number of steps none is searched any more */
} raw_reading;

static ek_status add_raw_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    raw_reading *r = user;
    const raw_columns *c = &r->column;
    ek_trace_step *step;
    const char *name = ek__csv_cell(csv, c->step);
    if (ticks_of(csv, c->interval) == EK_TRACE_UNKNOWN) {
        ek__left_out_row(left, csv, "the iteration interval \"%.40s\" is no number of ticks",
                         ek__csv_cell(csv, c->interval));
        return EK_OK;
    }
    ek_status status = r->full ? EK_OK : ek__table_step(r->in, name, false, &step, err);
    if (status)
        return status;
    r->full = r->full || !step;
    if (r->full || step->iteration_interval != EK_TRACE_UNKNOWN) {
        ek__left_out_row(left, csv, "step \"%.40s\" is repeated, or there are too many", name);
        return EK_OK;
    }
    step->iteration_interval = ticks_of(csv, c->interval);
    step->fp_and_bp = ticks_of(csv, c->fp_and_bp);
    step->tail = ticks_of(csv, c->tail);
    step->start = ticks_of(csv, c->start);
    step->end = ticks_of(csv, c->end);
    step->own.total = ticks_of(csv, c->total);
    step->source = "step_trace_raw";
    step->average = step->warm_up = strcmp(name, average_name) == 0;
    return EK_OK;
}

ek_status ek__table_step_trace_raw(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv;
    raw_reading r = {.in = in};
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    status = find_raw_columns(in, csv, &r.column, err);
    if (!status)
        status = ek__table_rows(in, csv, add_raw_row, &r, err);
    ek__csv_close(csv);
    return status;
}

/* ---- ascend_cluster_analyse ---- */

typedef struct part_columns {
    int computation, communication, stage, receive, collective, interval, fp_and_bp, tail;
} part_columns;

/* A row, in milliseconds or (intervals) ticks; EK_TRACE_UNKNOWN where it is empty. */
typedef struct part_row {
    int64_t computation, communication, stage, receive, collective, interval, fp_and_bp, tail;
} part_row;

static int64_t milliseconds_of(const ek__csv *csv, int column)
{
    double ms;
    if (!ek__csv_number(csv, column, &ms) || fabs(ms) > 9e12)
        return EK_TRACE_UNKNOWN;
    return (int64_t)llround(ms * 1e6);
}

static ek_status find_part_columns(const ek__table_in *in, const ek__csv *csv, part_columns *c, ek_error *err)
{
    c->computation = ek__csv_column(csv, "computation_time", "computation", NULL);
    c->communication = ek__csv_column(csv, "communication_alone_time", "communication_alone", NULL);
    c->stage = ek__csv_column(csv, "stage_time", "stage", NULL);
    c->receive = ek__csv_column(csv, "receive_alone_time", "receive_alone", NULL);
    c->collective = ek__csv_column(csv, "collective_communication_alone_time", "collective_communication_time",
                                   "collective_alone", NULL);
    c->interval = ek__csv_column(csv, "iteration_interval", NULL);
    c->fp_and_bp = ek__csv_column(csv, "fp_and_bp", NULL);
    c->tail = ek__csv_column(csv, "tail", NULL);
    if (c->computation < 0 && c->interval < 0)
        return ek__table_needs(in, -1, "computation_time", err);
    return EK_OK;
}

static part_row read_part_row(const ek__csv *csv, const part_columns *c)
{
    return (part_row){.computation = milliseconds_of(csv, c->computation),
                      .communication = milliseconds_of(csv, c->communication),
                      .stage = milliseconds_of(csv, c->stage),
                      .receive = milliseconds_of(csv, c->receive),
                      .collective = milliseconds_of(csv, c->collective),
                      .interval = ticks_of(csv, c->interval),
                      .fp_and_bp = ticks_of(csv, c->fp_and_bp),
                      .tail = ticks_of(csv, c->tail)};
}

static void fill_parts(ek_trace_step *step, const part_row *row)
{
    const int64_t none = EK_TRACE_UNKNOWN;
    step->own.computing = row->computation;
    step->own.communication_not_overlapped = row->communication;
    step->stage = step->table_stage = row->stage;
    step->communication_alone = row->communication;
    step->receive_alone = row->receive;
    step->collective_alone = row->collective;
    step->iteration_interval = step->iteration_interval == none ? row->interval : step->iteration_interval;
    step->fp_and_bp = step->fp_and_bp == none ? row->fp_and_bp : step->fp_and_bp;
    step->tail = step->tail == none ? row->tail : step->tail;
    step->source = step->source ? step->source : "cluster_analyse";
}

/* The step of a row: of step_trace_raw by place, when that has as many; else the last is the average. */
static ek_status find_part_step(const ek__table_in *in, const int *raw, int n_raw, int index, int n,
                                ek_trace_step **out, ek_error *err)
{
    char name[16];
    if (n_raw == n) {
        *out = &in->rank->step[raw[index]];
        return EK_OK;
    }
    snprintf(name, sizeof name, "%d", index + 1);
    ek_status status = ek__table_step(in, index + 1 < n ? name : average_name, false, out, err);
    if (status == EK_OK && *out)
        (*out)->average = (*out)->warm_up = index + 1 == n;
    return status;
}

/* Indices of the steps of step_trace_raw, in its order. */
static int list_raw(const ek_trace_rank *rank, int *raw)
{
    int n = 0;
    for (int i = 0; i < rank->n_steps; i++)
        if (rank->step[i].from_table && rank->step[i].iteration_interval != EK_TRACE_UNKNOWN)
            raw[n++] = i;
    return n;
}

static ek_status place_parts(const ek__table_in *in, const part_row *row, int n, ek_error *err)
{
    int *raw = ek__pool_alloc(in->rank->pool, (size_t)in->rank->n_steps, sizeof *raw);
    if (!raw)
        return ek__no_memory(err);
    int n_raw = list_raw(in->rank, raw);
    ek_status status = EK_OK;
    for (int i = 0; i < n && status == EK_OK; i++) {
        ek_trace_step *step = NULL;
        status = find_part_step(in, raw, n_raw, i, n, &step, err);
        if (status == EK_OK && step)
            fill_parts(step, &row[i]);
    }
    return status;
}

typedef struct part_reading {
    ek__pool *pool;
    part_columns column;
    part_row *row; /* [n], in `pool` */
    int n;
} part_reading;

static ek_status add_part_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    part_reading *r = user;
    if (r->n >= EK__MAX_TABLE_STEPS) {
        ek__left_out_row(left, csv, "there are %d steps already", r->n);
        return EK_OK;
    }
    part_row *grown = ek__pool_push(r->pool, r->row, r->n, sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    r->row = grown;
    r->row[r->n++] = read_part_row(csv, &r->column);
    return EK_OK;
}

/* "..._pipeline-parallel_S_N_R.csv": stages, ranks, rank. */
static void read_stage(const ek__table_in *in)
{
    int number[3];
    ek__path_part stem = ek__stem_of(ek__last_of(ek__part_of(in->path)));
    if (in->rank->stage >= 0 || ek__end_numbers(stem, number) != 3)
        return;
    int stages = number[0], ranks = number[1], rank = number[2];
    if (stages > 1 && ranks % stages == 0 && rank < ranks)
        in->rank->stage = rank / (ranks / stages);
}

ek_status ek__table_cluster_analyse(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv;
    part_reading r = {.pool = in->rank->pool};
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    status = find_part_columns(in, csv, &r.column, err);
    if (!status)
        status = ek__table_rows(in, csv, add_part_row, &r, err);
    ek__csv_close(csv);
    if (!status)
        read_stage(in);
    return status ? status : place_parts(in, r.row, r.n, err);
}
