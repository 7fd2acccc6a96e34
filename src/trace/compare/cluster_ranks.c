/* Builds ranks from cluster_step_trace_time.csv, for users with only the vendor's cluster analysis: every row of a rank
 * is a step of it, and the sets of the stage rows, in the order of their smallest rank, are the stages. A rank in no
 * set gets no stage. Rows with an index that is not a rank are left out. */
#include "trace/compare/cluster.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "trace/events/intervals.h"
#include "trace/tables/tables.h"

/* A row of a rank. */
typedef struct member {
    int rank, row;
} member;

static int by_rank(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The next number of "(0, 1, 7)"; false at its end. */
static bool next_rank(const char **at, int *rank)
{
    *at += strcspn(*at, "0123456789");
    if (!**at)
        return false;
    char *end;
    long value = strtol(*at, &end, 10);
    *at = end;
    *rank = value < INT_MAX ? (int)value : INT_MAX;
    return true;
}

static int members_of(const ek_trace_run *run, member *out)
{
    int n = 0;
    for (int i = 0; i < run->n_cluster_rows; i++) {
        const char *at = run->cluster_row[i].index;
        int rank;
        if (strcmp(run->cluster_row[i].type, "rank") == 0 && next_rank(&at, &rank))
            out[n++] = (member){rank, i};
    }
    if (n > 0)
        qsort(out, (size_t)n, sizeof *out, by_rank);
    return n;
}

/* ---- steps ---- */

static int64_t both(int64_t a, int64_t b)
{
    return a == EK_TRACE_UNKNOWN || b == EK_TRACE_UNKNOWN ? EK_TRACE_UNKNOWN : ek__ns_add(a, b);
}

static ek_status fill_step(const ek_trace_cluster_row *row, ek__pool *pool, ek_trace_step *step, ek_error *err)
{
    ek__step_clear(step);
    step->from_table = true;
    step->source = "cluster_step_trace_time";
    step->own.computing = row->computing;
    step->own.communication = row->communication;
    step->own.communication_not_overlapped = row->not_overlapped;
    step->own.overlapped = row->overlapped;
    step->own.free = row->free;
    step->own.busy = both(row->computing, row->not_overlapped);
    step->own.total = both(step->own.busy, row->free);
    step->stage = step->table_stage = row->stage;
    step->preparing = step->table_preparing = row->preparing;
    step->bubble = row->bubble;
    step->exclude_receive = row->exclude_receive;
    return ek__table_text(pool, row->step, &step->name, err);
}

/* Of the parts in tables. */
static void fill_mean(ek_trace_rank *rank)
{
    ek_trace_breakdown *m = &rank->mean;
    int64_t *const to[] = {&m->computing, &m->communication, &m->communication_not_overlapped, &m->overlapped, &m->free,
                           &m->busy,      &m->total};
    for (size_t f = 0; f < sizeof to / sizeof *to; f++) {
        size_t offset = (size_t)((const char *)to[f] - (const char *)m);
        int64_t sum = 0, n = 0;
        for (int i = 0; i < rank->n_steps; i++) {
            int64_t value;
            memcpy(&value, (const char *)&rank->step[i].own + offset, sizeof value);
            if (value == EK_TRACE_UNKNOWN)
                continue;
            sum = ek__ns_add(sum, value);
            n++;
        }
        *to[f] = n > 0 ? sum / n : EK_TRACE_UNKNOWN;
    }
}

static ek_status fill_rank(const ek_trace_run *run, const member *of, int n, ek_trace_rank *rank, ek_error *err)
{
    rank->rank = of->rank;
    rank->stage = rank->device_id = -1;
    rank->counts.rank = EK_TRACE_NO_RANK;
    rank->dispatch.share = rank->data.share_of_host_step = (double)NAN;
    rank->dispatch.cause = "none";
    rank->data.per_batch_ms = rank->data.per_pipeline_ms = rank->data.per_push_queue_ms = (double)NAN;
    rank->pool = ek__pool_new();
    rank->step = rank->pool ? ek__pool_alloc(rank->pool, (size_t)n, sizeof *rank->step) : NULL;
    if (!rank->step)
        return ek__no_memory(err);
    ek_status status = EK_OK;
    for (; rank->n_steps < n && status == EK_OK; rank->n_steps++)
        status = fill_step(&run->cluster_row[of[rank->n_steps].row], rank->pool, &rank->step[rank->n_steps], err);
    fill_mean(rank);
    return status;
}

/* ---- stages ---- */

static ek_trace_rank *rank_of(const ek_trace_run *run, int number)
{
    int low = 0, high = run->n_ranks;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (run->rank[middle].rank < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_ranks && run->rank[low].rank == number ? &run->rank[low] : NULL;
}

/* The smallest rank of each rank's set; -1 without. */
static void find_sets(const ek_trace_run *run, int *first_of)
{
    for (int i = 0; i < run->n_ranks; i++)
        first_of[i] = -1;
    for (int i = 0; i < run->n_cluster_rows; i++) {
        const char *start = run->cluster_row[i].index, *at = start;
        int smallest = INT_MAX, number;
        if (strcmp(run->cluster_row[i].type, "stage") != 0)
            continue;
        while (next_rank(&at, &number))
            smallest = number < smallest ? number : smallest;
        for (at = start; next_rank(&at, &number);) {
            const ek_trace_rank *rank = rank_of(run, number);
            if (rank)
                first_of[rank - run->rank] = smallest;
        }
    }
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Their place among the sets' smallest ranks. */
static void number_stages(ek_trace_run *run, const int *first_of, int *sorted)
{
    int n = 0, n_stages = 0;
    for (int i = 0; i < run->n_ranks; i++)
        if (first_of[i] >= 0)
            sorted[n++] = first_of[i];
    if (n == 0)
        return;
    qsort(sorted, (size_t)n, sizeof *sorted, by_number);
    for (int i = 0; i < n; i++)
        if (n_stages == 0 || sorted[i] != sorted[n_stages - 1])
            sorted[n_stages++] = sorted[i];
    for (int i = 0; i < run->n_ranks; i++) {
        if (first_of[i] < 0)
            continue;
        const int *at = bsearch(&first_of[i], sorted, (size_t)n_stages, sizeof *sorted, by_number);
        run->rank[i].stage = (int)(at - sorted);
    }
}

/* ---- the run ---- */

static ek_status make_ranks(ek_trace_run *run, const member *members, int n, ek_error *err)
{
    int n_ranks = 0;
    for (int i = 0; i < n; i++)
        n_ranks += i == 0 || members[i].rank != members[i - 1].rank;
    run->rank = ek__pool_alloc(run->pool, (size_t)n_ranks, sizeof *run->rank);
    if (!run->rank)
        return ek__no_memory(err);
    for (int from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && members[to].rank == members[from].rank;)
            to++;
        ek_status status = fill_rank(run, members + from, to - from, &run->rank[run->n_ranks++], err);
        if (status)
            return status;
    }
    return EK_OK;
}

ek_status ek__ranks_of_cluster(ek_trace_run *run, ek_error *err)
{
    if (run->n_ranks > 0 || run->n_cluster_rows == 0)
        return EK_OK;
    member *members = ek__alloc((size_t)run->n_cluster_rows, sizeof *members);
    int *first_of = ek__alloc(2 * (size_t)run->n_cluster_rows, sizeof *first_of);
    ek_status status = members && first_of ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = make_ranks(run, members, members_of(run, members), err);
    if (status == EK_OK) {
        find_sets(run, first_of);
        number_stages(run, first_of, first_of + run->n_cluster_rows);
    }
    free(members);
    free(first_of);
    return status;
}
