/* Computes the output of MindFormers' ComputationAnalyzer for the same files, with its faults, so that its numbers can
 * be compared (docs/trace.md): only Scope Layer events (pid 3), names by containment, only those inside an interval
 * named exactly "Default" at depth 0; steps counted by the first operator whose name contains "MatMul-op". So
 * recomputed layers count as 0, and norms inside layers count as the last one. Files are scanned once each, with memory
 * for matching events. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyse/analysis.h"
#include "trace/scan/part.h"

/* The original's assumptions without given names. */
static const char *const default_head[] = {"LlamaEmbedding"};
static const char *const default_body[] = {"LLamaDecodeLayer"};
static const char *const default_tail[] = {"lm_head-Linear", "LlamaRMSNorm"};

typedef struct names {
    const char *const *name;
    int n;
} names;

typedef struct interval {
    int64_t start, end;
} interval;

/* A layer event: entry of the totals. */
typedef struct found {
    interval at;
    int32_t total;
} found;

typedef struct total {
    char *name;
    int role;       /* 0 head, 1 body, 2 tail */
    int configured; /* index of the configured name */
    int64_t sum;    /* nanoseconds */
} total;

typedef struct file_scan {
    char *marker; /* NULL before the first MatMul-op */
    int64_t *mark;
    interval *scope; /* "Default" at depth 0 */
    found *layer;
    size_t n_marks, marks_capacity, n_scopes, scopes_capacity, n_layers, layers_capacity;
} file_scan;

typedef struct analyser {
    names role[3];
    ek__texts keys; /* role, configured name, name: number of the total and 1 */
    total *total;
    size_t n_totals, capacity;
    int counted_steps;
} analyser;

static bool contains(const ek__span *span, const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; size > 0 && i + size <= span->size; i++)
        if (memcmp(span->at + i, text, size) == 0)
            return true;
    return false;
}

static bool equals(const ek__span *span, const char *text)
{
    return span->at && span->size == strlen(text) && memcmp(span->at, text, span->size) == 0;
}

static char *copy_span(const ek__span *span)
{
    char *text = ek__alloc((size_t)span->size + 1, 1);
    if (text)
        memcpy(text, span->at, span->size);
    return text;
}

/* ---- one event ---- */

/* Head and tail are summed by configured name, body by full name. -1: memory is out. */
static int32_t find_total(analyser *a, int role, int configured, const ek__span *name)
{
    char key[1024];
    int size = snprintf(key, sizeof key, "%d %d %.*s", role, configured, role == 1 ? (int)name->size : 0, name->at);
    uint32_t before = a->keys.n;
    uint32_t number = ek__texts_intern(&a->keys, key, size < (int)sizeof key ? (size_t)size : sizeof key - 1);
    if (number == UINT32_MAX)
        return -1;
    if (number < before)
        return (int32_t)number - 1;
    const char *own = a->role[role].name[configured];
    const ek__span text = role == 1 ? *name : (ek__span){own, (uint32_t)strlen(own), true};
    void *room = ek__with_room(a->total, &a->capacity, a->n_totals + 1, sizeof *a->total);
    if (!room)
        return -1;
    a->total = room;
    a->total[a->n_totals] = (total){copy_span(&text), role, configured, 0};
    return a->total[a->n_totals].name ? (int32_t)a->n_totals++ : -1;
}

static bool add_layer(analyser *a, file_scan *f, const ek__span *name, const interval *at)
{
    for (int role = 0; role < 3; role++)
        for (int i = 0; i < a->role[role].n; i++) {
            if (!contains(name, a->role[role].name[i]))
                continue;
            int32_t index = find_total(a, role, i, name);
            void *room = ek__with_room(f->layer, &f->layers_capacity, f->n_layers + 1, sizeof *f->layer);
            if (index < 0 || !room)
                return false;
            f->layer = room;
            f->layer[f->n_layers++] = (found){*at, index};
        }
    return true;
}

static bool add_mark(file_scan *f, const ek__raw_event *raw, int64_t start)
{
    if (!f->marker && contains(&raw->name, "MatMul-op")) {
        f->marker = copy_span(&raw->name);
        if (!f->marker)
            return false;
    }
    if (!f->marker || !equals(&raw->name, f->marker))
        return true;
    void *room = ek__with_room(f->mark, &f->marks_capacity, f->n_marks + 1, sizeof *f->mark);
    if (!room)
        return false;
    f->mark = room;
    f->mark[f->n_marks++] = start;
    return true;
}

static bool add_event(analyser *a, file_scan *f, const ek__raw_event *raw)
{
    interval at;
    int64_t duration = 0;
    if (raw->phase != 'X' || !raw->name.at || !raw->ts.at || !ek__parse_us(raw->ts.at, raw->ts.size, &at.start) ||
        (raw->dur.at && !ek__parse_us(raw->dur.at, raw->dur.size, &duration)) || duration < 0 ||
        duration > INT64_MAX / 4 || at.start > INT64_MAX / 4 || at.start < INT64_MIN / 4)
        return true;
    at.end = at.start + duration;
    if (!add_mark(f, raw, at.start))
        return false;
    if (!equals(&raw->pid, "3"))
        return true;
    if (equals(&raw->name, "Default") && equals(&raw->tid, "0")) {
        void *room = ek__with_room(f->scope, &f->scopes_capacity, f->n_scopes + 1, sizeof *f->scope);
        if (!room)
            return false;
        f->scope = room;
        f->scope[f->n_scopes++] = at;
    }
    return add_layer(a, f, &raw->name, &at);
}

/* ---- one file ---- */

static int compare_intervals(const void *a, const void *b)
{
    const interval *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Scopes sorted by start, each with the latest end so far, so that one comparison shows whether any contains an
 * interval. */
static bool is_in_scope(const file_scan *f, const interval *at)
{
    size_t low = 0, high = f->n_scopes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->scope[middle].start <= at->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && f->scope[low - 1].end >= at->end;
}

/* Sums the events in the window of steps. O(n log n). */
static void sum_file(analyser *a, file_scan *f)
{
    size_t n = f->n_marks;
    interval window = {INT64_MIN, INT64_MAX};
    if (n > 0)
        qsort(f->mark, n, sizeof *f->mark, compare_times);
    if (f->n_scopes > 0)
        qsort(f->scope, f->n_scopes, sizeof *f->scope, compare_intervals);
    for (size_t i = 1; i < f->n_scopes; i++)
        if (f->scope[i].end < f->scope[i - 1].end)
            f->scope[i].end = f->scope[i - 1].end;
    if (n > 1)
        window = (interval){f->mark[n - 2 < 2 ? n - 2 : 2], f->mark[n - 1]};
    a->counted_steps = n > 4 && n - 3 < INT32_MAX ? (int)(n - 3) : 1;
    for (size_t i = 0; i < f->n_layers; i++) {
        const found *l = &f->layer[i];
        int64_t *sum = &a->total[l->total].sum, duration = l->at.end - l->at.start;
        if (l->at.start >= window.start && l->at.end <= window.end && is_in_scope(f, &l->at) &&
            __builtin_add_overflow(*sum, duration, sum))
            *sum = INT64_MAX;
    }
}

static ek_status read_file(analyser *a, const char *path, ek_error *err)
{
    ek__feed *feed = NULL;
    ek__block block = {0};
    file_scan f = {0};
    ek_status status = ek__feed_open(path, &feed, err);
    if (status)
        return status;
    bool fine = true, damaged = false;
    while (fine && !damaged && ek__feed_next(feed, &block)) {
        ek__walk walk = {.block = &block};
        ek__raw_event raw;
        ek__walk_state step;
        while (fine && (step = ek__walk_next(&walk, &raw)) != EK__WALK_END) {
            damaged = step == EK__WALK_DAMAGED;
            if (damaged)
                break;
            fine = add_event(a, &f, &raw);
        }
    }
    fine = fine && !ek__feed_out_of_memory(feed);
    if (fine)
        sum_file(a, &f);
    ek__feed_close(feed);
    ek__block_clear(&block);
    free(f.marker);
    free(f.mark);
    free(f.scope);
    free(f.layer);
    return fine ? EK_OK : ek__no_memory(err);
}

/* ---- the answer ---- */

static double cost_of(const analyser *a, int role, int configured, double micro_batches)
{
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < a->n_totals; i++)
        if (a->total[i].role == role && a->total[i].configured == configured) {
            sum += (double)a->total[i].sum / 1e6;
            n++;
        }
    double mean = role == 1 ? (n ? sum / n : 0) : sum;
    return mean / a->counted_steps / micro_batches;
}

static ek_status fill(const analyser *a, double micro_batches, ek_trace_run *run, ek_error *err)
{
    ek_trace_sapp out = {.made = true, .counted_steps = a->counted_steps};
    size_t n_costs = 0;
    int n_bodies = 0;
    double body = 0;
    for (int r = 0; r < 3; r++)
        n_costs += (size_t)a->role[r].n;
    out.total = ek__pool_alloc(run->pool, a->n_totals, sizeof *out.total);
    out.cost = ek__pool_alloc(run->pool, n_costs, sizeof *out.cost);
    if (!out.total || !out.cost)
        return ek__no_memory(err);
    for (size_t i = 0; i < a->n_totals; i++) {
        const char *name = ek__pool_text(run->pool, a->total[i].name, strlen(a->total[i].name));
        if (!name)
            return ek__no_memory(err);
        out.total[out.n_totals++] = (ek_trace_sapp_entry){name, (double)a->total[i].sum / 1e6, NAN};
        body += a->total[i].role == 1 ? (double)a->total[i].sum / 1e6 : 0;
        n_bodies += a->total[i].role == 1;
    }
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < a->role[r].n; i++) {
            const char *text = a->role[r].name[i], *name = ek__pool_text(run->pool, text, strlen(text));
            if (!name)
                return ek__no_memory(err);
            double cost = cost_of(a, r, i, micro_batches);
            out.cost[out.n_costs++] = (ek_trace_sapp_entry){name, NAN, cost};
            out.head_ms += r == 0 ? cost : 0;
            out.tail_ms += r == 2 ? cost : 0;
        }
    out.body_ms = n_bodies ? body / n_bodies / a->counted_steps / micro_batches : 0;
    run->sapp = out;
    return EK_OK;
}

static names names_of(const char *const *given, int n, const char *const *otherwise, int n_otherwise)
{
    return n > 0 ? (names){given, n} : (names){otherwise, n_otherwise};
}

ek_status ek__trace_sapp(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    const ek_trace_options *o = options;
    analyser a = {.role = {names_of(o->head, o->n_head, default_head, 1), names_of(o->body, o->n_body, default_body, 1),
                           names_of(o->tail, o->n_tail, default_tail, 2)},
                  .counted_steps = 1};
    double micro_batches = o->n_micro_batches > 0 ? o->n_micro_batches : 1;
    ek_status status = ek__texts_reset(&a.keys) ? EK_OK : ek__no_memory(err);
    for (int r = 0; r < run->n_ranks && status == EK_OK; r++)
        for (int s = 0; s < run->rank[r].n_sources && status == EK_OK; s++)
            if (strcmp(run->rank[r].source[s].type, "trace") == 0)
                status = read_file(&a, run->rank[r].source[s].path, err);
    if (status == EK_OK)
        status = fill(&a, micro_batches, run, err);
    for (size_t i = 0; i < a.n_totals; i++)
        free(a.total[i].name);
    free(a.total);
    ek__texts_clear(&a.keys);
    return status;
}
