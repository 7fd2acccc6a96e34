/* Groups executions of one operator on one shape as one row with their median: a hash table by their properties numbers
 * the rows, then the executions of every row are sorted by duration. Rows come in the order of their texts, not of
 * their numbers. */
#include "trace/events/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "trace/events/intervals.h"

enum { N_TEXTS = 7 };

/* A row, and its number in executions. */
typedef struct numbered {
    ek_trace_shaped row;
    int number;
} numbered;

/* Duration of an execution, and its index. */
typedef struct timed {
    int64_t duration;
    size_t at;
} timed;

/* The executions by row. */
typedef struct grouped {
    ek__execution *all;
    size_t n, n_rows;
    size_t *slot; /* [n_slots]: of a row its number + 1 */
    size_t n_slots;
    size_t *first; /* [n_rows]: an execution of the row; then where the row begins in `by_row` */
    size_t capacity;
    timed *by_row; /* [n]: by row, then duration, then place */
} grouped;

static int by_duration(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    if (x->duration != y->duration)
        return x->duration < y->duration ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* ---- rows ---- */

static size_t slot_of(const grouped *g, const ek__execution *e)
{
    uint64_t hash = ((uint64_t)e->what << 32 | e->kernel) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 32) & (g->n_slots - 1);
    for (; g->slot[slot]; slot = (slot + 1) & (g->n_slots - 1)) {
        const ek__execution *other = &g->all[g->first[g->slot[slot] - 1]];
        if (other->what == e->what && other->kernel == e->kernel)
            break;
    }
    return slot;
}

/* At most half full. */
static bool make_slots(grouped *g, size_t n_slots)
{
    size_t *slot = ek__alloc(n_slots, sizeof *slot);
    if (!slot)
        return false;
    free(g->slot);
    g->slot = slot;
    g->n_slots = n_slots;
    for (size_t row = 0; row < g->n_rows; row++)
        g->slot[slot_of(g, &g->all[g->first[row]])] = row + 1;
    return true;
}

static bool number_rows(grouped *g)
{
    enum { FIRST_SLOTS = 256 };
    if (!make_slots(g, FIRST_SLOTS))
        return false;
    for (size_t i = 0; i < g->n; i++) {
        size_t slot = slot_of(g, &g->all[i]);
        if (!g->slot[slot]) {
            if (2 * (g->n_rows + 1) > g->n_slots) {
                if (!make_slots(g, 2 * g->n_slots))
                    return false;
                slot = slot_of(g, &g->all[i]);
            }
            size_t *first = ek__with_room(g->first, &g->capacity, g->n_rows + 1, sizeof *first);
            if (!first || g->n_rows >= INT32_MAX)
                return false;
            g->first = first;
            g->first[g->n_rows] = i;
            g->slot[slot] = ++g->n_rows;
        }
        g->all[i].row = (int)g->slot[slot] - 1;
    }
    return true;
}

/* Rows one after the other, by counting. */
static bool deal_rows(grouped *g)
{
    size_t *place = ek__alloc(g->n_rows + 1, sizeof *place);
    g->by_row = ek__alloc(g->n, sizeof *g->by_row);
    if (!place || !g->by_row) {
        free(place);
        return false;
    }
    for (size_t i = 0; i < g->n; i++)
        place[g->all[i].row + 1]++;
    for (size_t row = 0; row < g->n_rows; row++) {
        place[row + 1] += place[row];
        g->first[row] = place[row];
    }
    for (size_t i = 0; i < g->n; i++)
        g->by_row[place[g->all[i].row]++] = (timed){g->all[i].duration, i};
    free(place);
    return true;
}

static size_t row_end(const grouped *g, size_t row)
{
    return row + 1 < g->n_rows ? g->first[row + 1] : g->n;
}

static bool group(grouped *g)
{
    if (!number_rows(g) || !deal_rows(g))
        return false;
    for (size_t row = 0; row < g->n_rows; row++)
        ek__sort(&g->by_row[g->first[row]], row_end(g, row) - g->first[row], sizeof *g->by_row, by_duration);
    return true;
}

static void grouped_clear(grouped *g)
{
    free(g->slot);
    free(g->first);
    free(g->by_row);
}

/* ---- contents of a row ---- */

static int by_text(const void *a, const void *b)
{
    const ek_trace_shaped *x = &((const numbered *)a)->row, *y = &((const numbered *)b)->row;
    const char *const left[] = {x->name, x->shapes, x->types, x->layout, x->values, x->kernel, x->core ? x->core : ""},
                      *const right[] = {
                          y->name, y->shapes, y->types, y->layout, y->values, y->kernel, y->core ? y->core : ""};
    int order = 0;
    for (size_t i = 0; i < sizeof left / sizeof *left && order == 0; i++)
        order = strcmp(left[i], right[i]);
    return order;
}

/* The lines of a text, each terminated at its end. */
static bool split(ek__pool *pool, const char *text, const char *line[N_TEXTS])
{
    char *copy = ek__pool_text(pool, text, strlen(text));
    if (!copy)
        return false;
    for (int i = 0; i < N_TEXTS; i++) {
        line[i] = copy;
        copy += strcspn(copy, "\n");
        if (*copy)
            *copy++ = '\0';
    }
    return true;
}

/* Of n by duration. */
static double middle(const timed *at, size_t n)
{
    size_t low = (n - 1) / 2, high = n / 2;
    return ((double)at[low].duration + (double)at[high].duration) / 2;
}

/* Mean over n executions that have it, weighted by their time. */
static double share_of(const ek__execution *all, const timed *at, size_t n, int unit)
{
    double sum = 0, time = 0;
    for (size_t i = 0; i < n; i++) {
        const ek__execution *e = &all[at[i].at];
        if (isnan(e->unit[unit]))
            continue;
        sum += e->unit[unit] * (double)e->duration;
        time += (double)e->duration;
    }
    return time > 0 ? sum / time : (double)NAN;
}

/* Of n equal ones by duration. */
static bool make_row(const ek__execution *all, const timed *at, size_t n, ek__execution_text *text, const void *user,
                     ek__pool *pool, ek_trace_shaped *row)
{
    const char *line[N_TEXTS], *name = text(user, all[at[0].at].kernel);
    const char *kernel = ek__pool_text(pool, name, strlen(name));
    if (!kernel || !split(pool, text(user, all[at[0].at].what), line))
        return false;
    *row = (ek_trace_shaped){.name = line[0],
                             .kernel = kernel,
                             .shapes = line[1],
                             .types = line[2],
                             .layout = line[3],
                             .values = line[4],
                             .out_types = line[5],
                             .core = line[6][0] ? line[6] : NULL,
                             .count = (int64_t)n,
                             .min = at[0].duration,
                             .max = at[n - 1].duration,
                             .median = middle(at, n)};
    for (int unit = 0; unit < EK_N_TRACE_UNITS; unit++)
        row->unit[unit] = share_of(all, at, n, unit);
    for (size_t i = 0; i < n; i++) {
        int64_t blocks = all[at[i].at].blocks;
        row->total = ek__ns_add(row->total, at[i].duration);
        row->blocks = blocks > row->blocks ? blocks : row->blocks;
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const ek_trace_execution *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration < y->duration ? -1 : 1;
    return x->op != y->op ? (x->op > y->op) - (x->op < y->op) : (x->stream > y->stream) - (x->stream < y->stream);
}

static ek_status keep_executions(const ek__execution *all, size_t n, const int *place, ek_trace_rank *rank,
                                 ek_error *err)
{
    ek_trace_measured *m = &rank->measured;
    m->execution = ek__pool_alloc(rank->pool, n, sizeof *m->execution);
    if (!m->execution)
        return ek__no_memory(err);
    m->n_all = 0;
    for (size_t i = 0; i < n; i++) {
        int op = place[all[i].row];
        m->n_executions += m->op[op].shapes[0] != '\0';
        if (all[i].start != EK_TRACE_UNKNOWN)
            m->execution[m->n_all++] = (ek_trace_execution){all[i].start, all[i].duration, op, all[i].stream};
    }
    ek__sort(m->execution, m->n_all, sizeof *m->execution, by_start);
    return EK_OK;
}

static bool make_rows(const grouped *g, ek__execution_text *text, const void *user, numbered *row, ek__pool *pool)
{
    for (size_t i = 0; i < g->n_rows; i++) {
        const timed *at = &g->by_row[g->first[i]];
        if (!make_row(g->all, at, row_end(g, i) - g->first[i], text, user, pool, &row[i].row))
            return false;
        row[i].number = (int)i;
    }
    ek__sort(row, g->n_rows, sizeof *row, by_text);
    return true;
}

ek_status ek__measured_keep(ek__execution *all, size_t n, ek__execution_text *text, const void *user,
                            ek_trace_rank *rank, ek_error *err)
{
    ek_trace_measured *m = &rank->measured;
    grouped g = {.all = all, .n = n};
    numbered *row = NULL;
    int *place = NULL;
    bool fine = group(&g);
    if (fine) {
        row = ek__alloc(g.n_rows, sizeof *row);
        place = ek__alloc(g.n_rows, sizeof *place);
        m->op = ek__pool_alloc(rank->pool, g.n_rows, sizeof *m->op);
        fine = row && place && m->op && make_rows(&g, text, user, row, rank->pool);
    }
    m->n_executions = 0;
    for (m->n = 0; fine && m->n < (int)g.n_rows; m->n++) {
        m->op[m->n] = row[m->n].row;
        place[row[m->n].number] = m->n;
    }
    ek_status status = fine ? keep_executions(all, n, place, rank, err) : ek__no_memory(err);
    grouped_clear(&g);
    free(row);
    free(place);
    return status;
}
