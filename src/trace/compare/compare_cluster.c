/* Builds the cluster table that the vendor's tool makes of the ranks' step_trace_time.csv, where no file has it: per
 * step a row of every rank with the producer's columns, then one of every stage with the largest of each column over
 * its ranks. Where the stages are unknown, all ranks are one. Kineto has no such columns: its ranks give no rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "trace/analyse/analysis.h"

/* A step of a rank. */
typedef struct part {
    const ek_trace_step *step;
    int rank, stage; /* rank: index in run->rank */
} part;

/* Steps count up from any value; other names are in alphabetical order, after the numbers. */
static int compare_names(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    bool x = n > 0 && strspn(a, "0123456789") == n, y = m > 0 && strspn(b, "0123456789") == m;
    if (x != y)
        return x ? -1 : 1;
    if (x && n != m)
        return n < m ? -1 : 1;
    return strcmp(a, b);
}

static int by_rank(const void *a, const void *b)
{
    const part *x = a, *y = b;
    int order = compare_names(x->step->name, y->step->name);
    if (order == 0)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    return order ? order : (x->step > y->step) - (x->step < y->step);
}

static int by_stage(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return by_rank(a, b);
}

static bool has_columns(const ek_trace_rank *rank, const ek_trace_step *step)
{
    return rank->rank != EK_TRACE_NO_RANK && rank->producer != EK_PRODUCER_KINETO && !step->average &&
           step->own.computing != EK_TRACE_UNKNOWN && step->own.free != EK_TRACE_UNKNOWN &&
           (!step->from_table || step->producer_definition ||
            (step->source && strcmp(step->source, "step_trace_time") == 0));
}

static part *gather(const ek_trace_run *run, size_t *n)
{
    size_t room = 0;
    for (int r = 0; r < run->n_ranks; r++)
        room += (size_t)run->rank[r].n_steps;
    part *all = ek__alloc(room, sizeof *all);
    *n = 0;
    for (int r = 0; all && r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].n_steps; i++)
            if (has_columns(&run->rank[r], &run->rank[r].step[i]))
                all[(*n)++] = (part){&run->rank[r].step[i], r, run->rank[r].stage};
    return all;
}

/* ---- rows ---- */

static int64_t first_known(int64_t a, int64_t b)
{
    return a != EK_TRACE_UNKNOWN ? a : b;
}

static ek_trace_cluster_row row_of(const ek_trace_step *step)
{
    return (ek_trace_cluster_row){.step = step->name,
                                  .type = "rank",
                                  .computing = step->own.computing,
                                  .not_overlapped = step->own.communication_not_overlapped,
                                  .overlapped = step->own.overlapped,
                                  .communication = step->own.communication,
                                  .free = first_known(step->producer_free, step->own.free),
                                  .stage = first_known(step->table_stage, step->stage),
                                  .bubble = step->bubble,
                                  .exclude_receive = step->exclude_receive,
                                  .preparing = first_known(step->table_preparing, step->preparing),
                                  .computed = true};
}

static int64_t larger(int64_t a, int64_t b)
{
    return b > a ? b : a; /* EK_TRACE_UNKNOWN is the smallest */
}

static void add_largest(ek_trace_cluster_row *to, const ek_trace_cluster_row *from)
{
    to->computing = larger(to->computing, from->computing);
    to->not_overlapped = larger(to->not_overlapped, from->not_overlapped);
    to->overlapped = larger(to->overlapped, from->overlapped);
    to->communication = larger(to->communication, from->communication);
    to->free = larger(to->free, from->free);
    to->stage = larger(to->stage, from->stage);
    to->bubble = larger(to->bubble, from->bubble);
    to->exclude_receive = larger(to->exclude_receive, from->exclude_receive);
    to->preparing = larger(to->preparing, from->preparing);
}

static ek_status push(ek_trace_run *run, const ek_trace_cluster_row *row, ek_error *err)
{
    ek_trace_cluster_row *grown = ek__pool_push(run->pool, run->cluster_row, run->n_cluster_rows, sizeof *grown);
    if (!grown || !row->index)
        return ek__no_memory(err);
    run->cluster_row = grown;
    run->cluster_row[run->n_cluster_rows++] = *row;
    return EK_OK;
}

/* "(0, 1, 2)", as the vendor's tool prints a set; of one rank "(0,)". */
static char *index_of(const ek_trace_run *run, const part *of, size_t n)
{
    enum { WIDEST = sizeof "-2147483648, " };
    char *text = ek__pool_alloc(run->pool, n + 1, WIDEST);
    size_t at = 0;
    if (!text)
        return NULL;
    text[at++] = '(';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, WIDEST, "%d%s", run->rank[of[i].rank].rank,
                               i + 1 < n ? ", "
                               : n == 1  ? ","
                                         : "");
    memcpy(text + at, ")", sizeof ")");
    return text;
}

static ek_status add_stages(ek_trace_run *run, const part *of, size_t n, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t from = 0, to; from < n && status == EK_OK; from = to) {
        ek_trace_cluster_row row = row_of(of[from].step);
        for (to = from + 1; to < n && of[to].stage == of[from].stage; to++) {
            ek_trace_cluster_row other = row_of(of[to].step);
            add_largest(&row, &other);
        }
        row.type = "stage";
        row.index = index_of(run, of + from, to - from);
        status = push(run, &row, err);
    }
    return status;
}

/* One step. */
static ek_status add_step(ek_trace_run *run, part *of, size_t n, ek_error *err)
{
    for (size_t i = 0; i < n; i++) {
        ek_trace_cluster_row row = row_of(of[i].step);
        row.index = ek__pool_format(run->pool, "%d", run->rank[of[i].rank].rank);
        ek_status status = push(run, &row, err);
        if (status != EK_OK)
            return status;
    }
    qsort(of, n, sizeof *of, by_stage);
    return add_stages(run, of, n, err);
}

ek_status ek__compare_cluster(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    size_t n;
    if (run->n_cluster_rows > 0)
        return EK_OK;
    part *all = gather(run, &n);
    ek_status status = all ? EK_OK : ek__no_memory(err);
    if (all && n > 0)
        qsort(all, n, sizeof *all, by_rank);
    for (size_t from = 0, to; from < n && status == EK_OK; from = to) {
        for (to = from + 1; to < n && compare_names(all[to].step->name, all[from].step->name) == 0;)
            to++;
        status = add_step(run, all + from, to - from, err);
    }
    free(all);
    return status;
}
