/* Lists the ways to recompute a chunk: every count of whole layers with every count of the other lists above it. Times
 * and bytes are sums over the layers, from sums of their prefixes. */
#include "layout/ways.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/recompute_kind.h"

static ek_status measure(ek__ways *w, const ek__job_programs *programs, ek__stage_pricer *pricer, ek_error *err)
{
    ek_status status = EK_OK;
    for (int kind = EK__GRAPH_DENSE; kind <= EK__GRAPH_PREDICTION; kind++) {
        if (!programs->graph[kind])
            continue;
        const ek_layer_times times = ek__stage_pricer_layer(pricer, (ek__graph_kind)kind);
        for (int k = 0; k < EK_N_RECOMPUTE && !status; k++) {
            w->figures[kind].time[k] = times.backward[k];
            status =
                ek__stage_pricer_kept(pricer, (ek__graph_kind)kind, (ek_recompute)k, &w->figures[kind].kept[k], err);
        }
        for (int k = 1; k < EK_N_RECOMPUTE; k++)
            w->lists[k] = w->lists[k] || w->figures[kind].kept[k] < w->figures[kind].kept[EK_RECOMPUTE_NONE];
    }
    return status;
}

ek_status ek__ways_init(ek__ways *ways, const ek_job *job, const ek__job_programs *programs, ek__stage_pricer *pricer,
                        bool lists, ek_error *err)
{
    size_t n = (size_t)(job->model.n_layers + job->model.n_prediction_layers) + 1;
    *ways = (ek__ways){.job = job, .lists = {[EK_RECOMPUTE_NONE] = true}};
    ways->time_sum = ek__alloc(n, sizeof *ways->time_sum);
    ways->kept_sum = ek__alloc(n, sizeof *ways->kept_sum);
    if (!ways->time_sum || !ways->kept_sum)
        return ek__no_memory(err);
    return lists ? measure(ways, programs, pricer, err) : EK_OK;
}

void ek__ways_clear(ek__ways *ways)
{
    free(ways->scratch);
    free(ways->time_sum);
    free(ways->kept_sum);
    *ways = (ek__ways){0};
}

static ek_recompute kind_in(ek__chunk_lists l, int layer)
{
    if (layer < l.full)
        return EK_RECOMPUTE_FULL;
    bool select = layer < l.select, comm = layer < l.comm;
    return select && comm ? EK_RECOMPUTE_BOTH
           : select       ? EK_RECOMPUTE_SELECT
           : comm         ? EK_RECOMPUTE_COMM
                          : EK_RECOMPUTE_NONE;
}

static void sum_layers(ek__ways *ways, int first, int n)
{
    for (int i = 0; i < n; i++) {
        const ek__way_figures *f = &ways->figures[ek__layer_graph_kind(ways->job, first + i)];
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            ways->time_sum[i + 1][k] = ways->time_sum[i][k] + f->time[k];
            ways->kept_sum[i + 1][k] = ways->kept_sum[i][k] + f->kept[k];
        }
    }
}

/* Borders of the runs of one kind that lists make of n layers. */
static void runs_of(ek__chunk_lists l, int n, int border[4])
{
    int less = l.select < l.comm ? l.select : l.comm, more = l.select < l.comm ? l.comm : l.select;
    border[0] = l.full;
    border[1] = less > l.full ? less : l.full;
    border[2] = more > border[1] ? more : border[1];
    border[3] = n;
}

static bool add_way(ek__ways *ways, size_t *n_ways, int n, ek__chunk_lists lists)
{
    ek__chunk_way *grown = ek__with_room(ways->scratch, &ways->scratch_capacity, *n_ways + 1, sizeof *grown);
    if (!grown)
        return false;
    ways->scratch = grown;
    ek__chunk_way w = {.lists = lists};
    int border[4], from = 0;
    runs_of(lists, n, border);
    for (int i = 0; i < 4; from = border[i++]) {
        ek_recompute kind = kind_in(lists, from);
        if (border[i] > from && !ways->lists[kind])
            return true; /* saves nothing */
        w.time += ways->time_sum[border[i]][kind] - ways->time_sum[from][kind];
        w.kept += ways->kept_sum[border[i]][kind] - ways->kept_sum[from][kind];
    }
    grown[(*n_ways)++] = w;
    return true;
}

/* Of equal ones in the order of their lists. */
static int by_time(const void *a, const void *b)
{
    const ek__chunk_way *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kept != y->kept)
        return x->kept < y->kept ? -1 : 1;
    if (x->lists.full != y->lists.full)
        return x->lists.full < y->lists.full ? -1 : 1;
    if (x->lists.select != y->lists.select)
        return x->lists.select < y->lists.select ? -1 : 1;
    return x->lists.comm < y->lists.comm ? -1 : x->lists.comm > y->lists.comm;
}

static bool list_ways(ek__ways *ways, int n, size_t *n_ways)
{
    bool select = ways->lists[EK_RECOMPUTE_SELECT] || ways->lists[EK_RECOMPUTE_BOTH],
         comm = ways->lists[EK_RECOMPUTE_COMM] || ways->lists[EK_RECOMPUTE_BOTH], full = ways->lists[EK_RECOMPUTE_FULL];
    for (int f = 0; f <= (full ? n : 0); f++)
        for (int a = f; a <= (select ? n : f); a++)
            for (int b = f; b <= (comm ? n : f); b++) {
                ek__chunk_lists lists = {f, a > f ? a : 0, b > f ? b : 0};
                if (!add_way(ways, n_ways, n, lists))
                    return false;
            }
    return true;
}

/* The scratch's first ways that save at most that, as a separate array. */
static ek_status add_ways(const ek__ways *ways, size_t n, int64_t most_kept, ek__chunk_way **out, size_t *n_out,
                          ek_error *err)
{
    size_t n_taken = 0;
    for (size_t i = 0; i < n; i++)
        n_taken += ways->scratch[i].kept <= most_kept;
    ek__chunk_way *made = ek__alloc(n_taken, sizeof *made);
    if (!made)
        return ek__no_memory(err);
    *n_out = n_taken;
    n_taken = 0;
    for (size_t i = 0; i < n; i++)
        if (ways->scratch[i].kept <= most_kept)
            made[n_taken++] = ways->scratch[i];
    *out = made;
    return EK_OK;
}

ek_status ek__ways_list(ek__ways *ways, int first, int n, ek__chunk_way **out, size_t *n_out, ek_error *err)
{
    size_t n_ways = 0;
    sum_layers(ways, first, n);
    ek_status status = list_ways(ways, n, &n_ways) ? EK_OK : ek__no_memory(err);
    if (!status)
        status = add_ways(ways, n_ways, INT64_MAX, out, n_out, err);
    if (!status)
        qsort(*out, *n_out, sizeof **out, by_time);
    return status;
}

static void sift(ek__chunk_way *way, size_t n, size_t i)
{
    const ek__chunk_way is = way[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && by_time(&way[child + 1], &way[child]) < 0)
            child++;
        if (by_time(&way[child], &is) >= 0)
            break;
        way[i] = way[child];
    }
    way[i] = is;
}

ek_status ek__ways_heap(ek__ways *ways, int first, int n, bool all, int64_t most_kept, ek__chunk_way **out,
                        size_t *n_out, ek_error *err)
{
    size_t n_ways = 0;
    sum_layers(ways, first, n);
    bool fine = all ? list_ways(ways, n, &n_ways) : add_way(ways, &n_ways, n, (ek__chunk_lists){0});
    ek_status status = fine ? add_ways(ways, n_ways, most_kept, out, n_out, err) : ek__no_memory(err);
    for (size_t i = status ? 0 : *n_out / 2; i-- > 0;)
        sift(*out, *n_out, i);
    return status;
}

void ek__ways_pop(ek__chunk_way *way, size_t *n_ways)
{
    way[0] = way[--*n_ways];
    if (*n_ways > 0)
        sift(way, *n_ways, 0);
}
