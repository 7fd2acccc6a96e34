/* Executions of one operator on one shape as one row with their median: sorted by what they are and how long they took,
 * so that equal ones follow one another. Rows come in the order of their texts, whatever numbers those have. */
#include "trace/events/measured.h"

#include <stdlib.h>
#include <string.h>

enum { N_TEXTS = 6 };

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
    const ek_trace_shaped *x = a, *y = b;
    const char *const left[] = {x->name, x->shapes, x->types, x->layout, x->values, x->kernel},
                      *const right[] = {y->name, y->shapes, y->types, y->layout, y->values, y->kernel};
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
    ek_trace_shaped *row = ek__pool_alloc(rank->pool, n_rows, sizeof *row);
    if (!row)
        return ek__no_memory(err);
    m->n = 0;
    for (size_t i = 0, same; i < n; i += same) {
        const char *line[N_TEXTS], *name = text(user, all[i].kernel);
        const char *kernel = ek__pool_text(rank->pool, name, strlen(name));
        same = equal_ones(all + i, n - i);
        if (!kernel || !split(rank->pool, text(user, all[i].what), line))
            return ek__no_memory(err);
        row[m->n++] = (ek_trace_shaped){.name = line[0],
                                        .kernel = kernel,
                                        .shapes = line[1],
                                        .types = line[2],
                                        .layout = line[3],
                                        .values = line[4],
                                        .out_types = line[5],
                                        .count = (int64_t)same,
                                        .median = middle(all + i, same)};
    }
    if (m->n > 1)
        qsort(row, (size_t)m->n, sizeof *row, by_text);
    m->op = row;
    m->n_executions = (int64_t)n;
    return EK_OK;
}
