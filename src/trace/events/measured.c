/* Executions of one operator on one shape as one row with their median: sorted by what they are and how long they took,
 * so that equal ones follow one another. Rows come in the order of their texts, whatever numbers those have. */
#include "trace/events/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/intervals.h"

enum { N_TEXTS = 7 };

/* A row, and the number that its executions have of it. */
typedef struct numbered {
    ek_trace_shaped row;
    int number;
} numbered;

static int by_kind(const void *a, const void *b)
{
    const ek__execution *x = a, *y = b;
    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    return (x->duration > y->duration) - (x->duration < y->duration);
}

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

/* The lines of a text, each ended where it ends. */
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

/* Of n equal ones by duration. */
static double middle(const ek__execution *all, size_t n)
{
    size_t low = (n - 1) / 2, high = n / 2;
    return ((double)all[low].duration + (double)all[high].duration) / 2;
}

static size_t equal_ones(const ek__execution *all, size_t n)
{
    size_t same = 1;
    while (same < n && all[same].what == all[0].what && all[same].kernel == all[0].kernel)
        same++;
    return same;
}

bool ek__measured_counts(const ek_trace_rank *rank, int64_t time)
{
    for (int i = rank->n_steps - 1; i >= 0; i--) {
        const ek_trace_step *step = &rank->step[i];
        int64_t host = step->host_start, device = step->start;
        int64_t start = host != EK_TRACE_UNKNOWN && (device == EK_TRACE_UNKNOWN || host < device) ? host : device;
        if (start != EK_TRACE_UNKNOWN && start <= time)
            return !step->warm_up;
    }
    return true;
}

/* Mean over n executions that know it, weighted by their time. */
static double share_of(const ek__execution *all, size_t n, int unit)
{
    double sum = 0, time = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(all[i].unit[unit])) {
            sum += (double)all[i].unit[unit] * (double)all[i].duration;
            time += (double)all[i].duration;
        }
    return time > 0 ? sum / time : (double)NAN;
}

/* Of n equal ones by duration, the first of them first. */
static bool make_row(const ek__execution *all, size_t n, ek__execution_text *text, const void *user, ek__pool *pool,
                     ek_trace_shaped *row)
{
    const char *line[N_TEXTS], *name = text(user, all[0].kernel);
    const char *kernel = ek__pool_text(pool, name, strlen(name));
    if (!kernel || !split(pool, text(user, all[0].what), line))
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
                             .min = all[0].duration,
                             .max = all[n - 1].duration,
                             .median = middle(all, n)};
    for (int unit = 0; unit < EK_N_TRACE_UNITS; unit++)
        row->unit[unit] = share_of(all, n, unit);
    for (size_t i = 0; i < n; i++) {
        row->total = ek__ns_add(row->total, all[i].duration);
        row->blocks = all[i].blocks > row->blocks ? all[i].blocks : row->blocks;
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
    if (m->n_all > 1)
        qsort(m->execution, m->n_all, sizeof *m->execution, by_start);
    return EK_OK;
}

static ek_status make_rows(ek__execution *all, size_t n, ek__execution_text *text, const void *user, numbered *row,
                           ek__pool *pool, ek_error *err)
{
    int n_rows = 0;
    for (size_t i = 0, same; i < n; i += same) {
        same = equal_ones(all + i, n - i);
        if (!make_row(all + i, same, text, user, pool, &row[n_rows].row))
            return ek__no_memory(err);
        for (size_t k = 0; k < same; k++)
            all[i + k].row = n_rows;
        row[n_rows].number = n_rows;
        n_rows++;
    }
    if (n_rows > 1)
        qsort(row, (size_t)n_rows, sizeof *row, by_text);
    return EK_OK;
}

ek_status ek__measured_keep(ek__execution *all, size_t n, ek__execution_text *text, const void *user,
                            ek_trace_rank *rank, ek_error *err)
{
    ek_trace_measured *m = &rank->measured;
    size_t n_rows = 0;
    if (n > 1)
        qsort(all, n, sizeof *all, by_kind);
    for (size_t i = 0; i < n; i += equal_ones(all + i, n - i))
        n_rows++;
    if (n_rows > INT32_MAX)
        return ek__no_memory(err);
    numbered *row = ek__alloc(n_rows, sizeof *row);
    int *place = ek__alloc(n_rows, sizeof *place);
    m->op = ek__pool_alloc(rank->pool, n_rows, sizeof *m->op);
    m->n = 0;
    m->n_executions = 0;
    ek_status status = row && place && m->op ? make_rows(all, n, text, user, row, rank->pool, err) : ek__no_memory(err);
    for (; status == EK_OK && m->n < (int)n_rows; m->n++) {
        m->op[m->n] = row[m->n].row;
        place[row[m->n].number] = m->n;
    }
    if (status == EK_OK)
        status = keep_executions(all, n, place, rank, err);
    free(row);
    free(place);
    return status;
}
