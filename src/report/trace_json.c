/* Writes a run's traces as JSON (docs/trace-json.md). Figures are walked as described in src/figures; this file has the
 * parts that their kinds cannot describe: lists narrowed by a view, objects with composed keys, sums over entries of
 * one key. The output is a stream, so that a run of many ranks needs no second copy in memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/fields_json.h"
#include "report/report_internal.h"
#include "report/trace_internal.h"
#include "report/writers.h"

/* A rank's place in a group. */
typedef struct place {
    int rank, group, at;
} place;

/* State shared by the walk's functions. */
typedef struct shared {
    const ek_trace_view *view;
    const place *next; /* of the ranks of the topology */
    bool by_line;      /* ranks are separate lines */
} shared;

static const ek_trace_view *view_of(const ek__json_walk *w)
{
    return ((const shared *)w->user)->view;
}

/* ---- steps ---- */

static void write_shown_steps(ek__json_walk *w, const char *key, const ek_trace_rank *rank, const ek__fields *fields)
{
    ek__stream_list(w->s, key, true);
    for (int i = 0; i < rank->n_steps; i++)
        if (ek__view_shows_step(view_of(w), &rank->step[i]))
            ek__put_record(w, NULL, fields, &rank->step[i]);
    ek__stream_end(w->s);
}

static ek_status write_steps(ek__json_walk *w, const char *key, const void *record)
{
    write_shown_steps(w, key, record, &ek__trace_step);
    return EK_OK;
}

static ek_status write_pipeline_steps(ek__json_walk *w, const char *key, const void *record)
{
    (void)record;
    write_shown_steps(w, key, w->of.rank, &ek__trace_pipeline_step);
    return EK_OK;
}

/* ---- contents of the files ---- */

static ek_status write_warnings(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_rank *rank = record;
    ek__stream_list(w->s, key, true);
    for (int i = 0; i < rank->n_sources; i++)
        if (rank->source[i].problem)
            ek__stream_text(w->s, NULL, rank->source[i].problem);
    for (int i = 0; i < rank->n_notes; i++)
        ek__stream_text(w->s, NULL, rank->note[i]);
    ek__stream_end(w->s);
    return EK_OK;
}

static int by_name(const void *a, const void *b)
{
    const ek_trace_process *p = a, *q = b;
    return strcmp(p->name ? p->name : "", q->name ? q->name : "");
}

static int by_pid(const void *a, const void *b)
{
    const ek_trace_process *p = a, *q = b;
    return strcmp(p->pid ? p->pid : "", q->pid ? q->pid : "");
}

/* Events of processes with one name, or one pid, as one; processes without a name are not listed. */
static ek_status write_processes(ek__json_walk *w, const char *key, const ek_trace_counts *counts, bool names)
{
    int n = counts->n_processes;
    ek_trace_process *process = ek__alloc((size_t)n, sizeof *process);
    if (!process)
        return ek__no_memory(w->err);
    if (n > 0)
        memcpy(process, counts->process, (size_t)n * sizeof *process);
    qsort(process, (size_t)n, sizeof *process, names ? by_name : by_pid);
    ek__stream_object(w->s, key, false);
    for (int i = 0, next; i < n; i = next) {
        int64_t events = 0;
        const char *label = names ? process[i].name : process[i].pid;
        for (next = i; next < n && (names ? by_name : by_pid)(&process[i], &process[next]) == 0; next++)
            events = ek__sum(events, process[next].n_complete);
        if (label && events > 0)
            ek__stream_int(w->s, label, events);
    }
    ek__stream_end(w->s);
    free(process);
    return EK_OK;
}

static ek_status write_process_names(ek__json_walk *w, const char *key, const void *record)
{
    return write_processes(w, key, record, true);
}

static ek_status write_process_ids(ek__json_walk *w, const char *key, const void *record)
{
    return write_processes(w, key, record, false);
}

/* ---- layers ---- */

static ek_status write_recomputed(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_layers *layers = record;
    ek__stream_list(w->s, key, false);
    for (int i = 0; i < layers->n; i++) {
        const ek_trace_layer *layer = &layers->layer[i];
        if (layer->role != EK_TRACE_BODY || layer->recompute.n == 0)
            continue;
        if (layer->index >= 0)
            ek__stream_int(w->s, NULL, layer->index);
        else
            ek__stream_text(w->s, NULL, layer->name);
    }
    ek__stream_end(w->s);
    return EK_OK;
}

/* A body layer with the number it is listed by. */
typedef struct numbered {
    int index, at;
} numbered;

static int by_index(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Whether each layer is the first body layer of its number: these are named by the number, others by name. NULL when
 * out of memory; the caller frees it. O(n log n). */
static bool *called_by_number(const ek_trace_layers *layers)
{
    bool *first = ek__alloc((size_t)layers->n, sizeof *first);
    numbered *sorted = ek__alloc((size_t)layers->n, sizeof *sorted);
    int n = 0;
    for (int i = 0; first && sorted && i < layers->n; i++)
        if (layers->layer[i].role == EK_TRACE_BODY && layers->layer[i].index >= 0)
            sorted[n++] = (numbered){layers->layer[i].index, i};
    if (n > 0)
        qsort(sorted, (size_t)n, sizeof *sorted, by_index);
    for (int i = 0; i < n; i++)
        first[sorted[i].at] = i == 0 || sorted[i].index != sorted[i - 1].index;
    if (!sorted) {
        free(first);
        first = NULL;
    }
    free(sorted);
    return first;
}

static ek_status write_layer_times(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_layers *layers = record;
    bool *by_number = called_by_number(layers);
    if (!by_number)
        return ek__no_memory(w->err);
    ek__stream_object(w->s, key, true);
    for (int i = 0; i < layers->n; i++) {
        const ek_trace_layer *layer = &layers->layer[i];
        char number[16];
        snprintf(number, sizeof number, "%d", layer->index);
        ek__put_record(w, by_number[i] ? number : layer->name, &ek__trace_short_layer, layer);
    }
    ek__stream_end(w->s);
    free(by_number);
    return EK_OK;
}

/* ---- communication of a rank ---- */

static int by_key(const void *a, const void *b)
{
    const ek_trace_collective_sum *p = a, *q = b;
    return strcmp(p->key, q->key);
}

/* Sums of one key over its groups: keys of an object must differ. */
static ek_status write_collective_table(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_communication *c = &((const ek_trace_rank *)record)->communication;
    int n = c->n_sums;
    ek_trace_collective_sum *sorted = ek__alloc((size_t)n, sizeof *sorted);
    if (!sorted)
        return ek__no_memory(w->err);
    if (n > 0)
        memcpy(sorted, c->sum, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_key);
    ek__stream_object(w->s, key, true);
    for (int i = 0, next; i < n; i = next) {
        ek_trace_collective_sum sum = {.key = sorted[i].key};
        for (next = i; next < n && by_key(&sorted[i], &sorted[next]) == 0; next++) {
            sum.count = ek__sum(sum.count, sorted[next].count);
            sum.total = ek__sum(sum.total, ek__known(sorted[next].total));
            sum.exposed = ek__sum(sum.exposed, ek__known(sorted[next].exposed));
        }
        ek__put_record(w, sum.key, &ek__trace_collective_row, &sum);
    }
    ek__stream_end(w->s);
    free(sorted);
    return EK_OK;
}

static void write_comm_sums(ek__json_walk *w, const ek_trace_comm_sum *sum, int n, bool p2p)
{
    ek__stream_object(w->s, p2p ? "p2p" : "collective", false);
    for (int i = 0; i < n; i++)
        if (sum[i].p2p == p2p)
            ek__put_record(w, sum[i].key, &ek__trace_comm_sum, &sum[i]);
    ek__stream_end(w->s);
}

/* Rows of one step are contiguous, as in the file. */
static ek_status write_comm_summary(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_communication *c = &((const ek_trace_rank *)record)->communication;
    ek__stream_object(w->s, key, true);
    for (int i = 0, next; i < c->n_comm_sums; i = next) {
        const ek_trace_comm_sum *first = &c->comm_sum[i];
        for (next = i + 1; next < c->n_comm_sums && strcmp(first->step, c->comm_sum[next].step) == 0;)
            next++;
        ek__stream_object(w->s, first->step, false);
        write_comm_sums(w, first, next - i, true);
        write_comm_sums(w, first, next - i, false);
        ek__stream_end(w->s);
    }
    ek__stream_end(w->s);
    return EK_OK;
}

/* ---- topology ---- */

static int by_rank(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->group != y->group ? (x->group < y->group ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* All of them by rank, the end marked by a rank below 0; NULL when out of memory. */
static place *places_of(const ek_trace_topology *t)
{
    size_t n = 0, room = 0;
    for (int i = 0; i < t->n_groups; i++)
        room += (size_t)t->group[i].n_ranks;
    place *all = ek__alloc(room + 1, sizeof *all);
    if (!all)
        return NULL;
    for (int i = 0; i < t->n_groups; i++)
        for (int k = 0; k < t->group[i].n_ranks; k++)
            all[n++] = (place){t->group[i].rank[k], i, k};
    qsort(all, n, sizeof *all, by_rank);
    all[n].rank = -1;
    return all;
}

/* The groups of a rank: the next place is at or before its places, and is set after them. */
static ek_status write_places(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_group *group = w->of.run->topology.group;
    const place **next = &((shared *)w->user)->next;
    int rank = ((const ek_trace_rank *)record)->rank;
    ek__stream_list(w->s, key, false);
    while (rank >= 0 && (*next)->rank >= 0 && (*next)->rank < rank)
        ++*next;
    for (const place *p = *next; rank >= 0 && p->rank == rank; p++) {
        w->of.parent = &p->at;
        ek__put_record(w, NULL, &ek__trace_place, &group[p->group]);
    }
    ek__stream_end(w->s);
    return EK_OK;
}

static ek_status write_topology_ranks(ek__json_walk *w, const char *key, const void *record)
{
    place *places = places_of(record);
    if (!places)
        return ek__no_memory(w->err);
    ((shared *)w->user)->next = places;
    ek__stream_list(w->s, key, true);
    for (int i = 0; i < w->of.run->n_ranks; i++)
        ek__put_record(w, NULL, &ek__trace_topology_rank, &w->of.run->rank[i]);
    ek__stream_end(w->s);
    free(places);
    return EK_OK;
}

/* ---- links of the run ---- */

static ek_status write_all_links(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_run *run = record;
    ek__stream_object(w->s, key, true);
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].communication.n_links; i++) {
            const ek_trace_link *link = &run->rank[r].communication.link[i];
            if (ek__link_names_rank(link))
                ek__put_record(w, link->link, &ek__trace_link, link);
        }
    ek__stream_end(w->s);
    return EK_OK;
}

/* ---- the run ---- */

static ek_status write_ranks(ek__json_walk *w, const char *key, const void *record)
{
    const ek_trace_run *run = record;
    ek_status status = EK_OK;
    if (((const shared *)w->user)->by_line)
        return EK_OK;
    ek__stream_list(w->s, key, true);
    for (int i = 0; i < run->n_ranks && status == EK_OK; i++)
        if (ek__view_shows(view_of(w), &run->rank[i])) {
            w->of.rank = &run->rank[i];
            status = ek__put_record(w, NULL, &ek__trace_rank, &run->rank[i]);
        }
    ek__stream_end(w->s);
    return status;
}

static const ek__own_field own[] = {
    {"ranks", write_ranks},
    {"ranks[].warnings", write_warnings},
    {"ranks[].steps", write_steps},
    {"ranks[].pipeline_intervals.steps", write_pipeline_steps},
    {"ranks[].layer_times.recomputed_layers", write_recomputed},
    {"ranks[].layer_times.layers", write_layer_times},
    {"ranks[].collective_table", write_collective_table},
    {"ranks[].comm_summary", write_comm_summary},
    {"ranks[].event_counts.complete_events_by_process", write_process_names},
    {"ranks[].event_counts.by_pid", write_process_ids},
    {"topology.ranks", write_topology_ranks},
    {"topology.ranks[].groups", write_places},
    {"link_bandwidth.links", write_all_links},
};

/* A walk over the figures of a run. */
static ek__json_walk walk_of(const ek_trace_run *run, ek__stream *s, shared *with, ek_error *err)
{
    return (ek__json_walk){
        .s = s, .of = {.run = run}, .own = own, .n_own = sizeof own / sizeof *own, .user = with, .err = err};
}

ek_status ek__trace_write_json(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    shared with = {.view = view};
    ek__json_walk w = walk_of(run, &s, &with, err);
    ek_status status = ek__put_record(&w, NULL, &ek__trace_run, run);
    if (status)
        return status;
    fputc('\n', out);
    return ek__finish(out, err);
}

ek_status ek__trace_write_jsonl(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out, .one_line = true};
    shared with = {.view = view, .by_line = true};
    ek__json_walk w = walk_of(run, &s, &with, err);
    ek_status status = ek__put_record(&w, NULL, &ek__trace_run, run);
    fputc('\n', out);
    for (int i = 0; i < run->n_ranks && !status; i++)
        if (ek__view_shows(view, &run->rank[i])) {
            w.of.rank = &run->rank[i];
            status = ek__put_record(&w, NULL, &ek__trace_rank, &run->rank[i]);
            fputc('\n', out);
        }
    return status ? status : ek__finish(out, err);
}
