/* Sums operators from events: Kineto by kernel name (communication too, as every kernel table of PyTorch has it),
 * Ascend by operator type and core when no table has them. Executions are grouped by their names by counting, and from
 * there to rows by type and core: O(n). The executions of a name are sorted, for the median, only where some are long
 * enough to be outliers. */
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"
#include "trace/events/outliers.h"
#include "trace/events/shapes.h"
#include "trace/tables/tables.h"

enum {
    MIN_OF_KIND = 8,             /* executions before one of them can be an outlier */
    OUTLIER_FACTOR = 3,          /* times the median of its kind */
    MIN_OUTLIER_LOSS_NS = 50000, /* 50 us over it */
    RARE = 50,                   /* at most one of this many, or a single one: more are another shape, no accident */
};

static const char *family_of(const ek__trace *trace, const char *name, const char *core)
{
    const char *family = trace->producer == EK_PRODUCER_KINETO ? "other" : ek__operator_family(name, core);
    return strcmp(family, "other") == 0 ? ek__kernel_family(name) : family;
}

/* ---- bringing executions together ---- */

typedef struct execution {
    int64_t duration, start;
    uint32_t shape; /* 0: not known */
    uint8_t core;
} execution;

static int by_duration(const void *a, const void *b)
{
    const execution *x = a, *y = b;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    if (x->shape != y->shape)
        return x->shape < y->shape ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration < y->duration ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

typedef struct table {
    const ek__trace *trace;
    ek_trace_rank *rank;
    ek__shape_finder shapes;
    size_t n;
    execution *all; /* [n], by name, then start */
    size_t *first;  /* [n_names + 1]: of each name in `all` */
    char **type;    /* Ascend, [n_types]: texts */
    int n_types;
    uint32_t *type_of; /* Ascend, [n_names]: index in `type` */
    int *row_of;       /* [types or names][EK__N_CORES]: 1 + index of the row */
} table;

static bool is_kineto(const table *t)
{
    return t->trace->producer == EK_PRODUCER_KINETO;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The types of all names in use, each once, and the type of each name. */
static ek_status find_types(table *t, ek_error *err)
{
    ek__slice slice = t->trace->of[EK__EVENT_KERNEL];
    size_t n_used = 0;
    t->type_of = ek__alloc(t->trace->n_names, sizeof *t->type_of);
    char **of_name = ek__alloc(t->trace->n_names, sizeof *of_name);
    t->type = ek__alloc(t->trace->n_names, sizeof *t->type);
    bool fine = t->type_of && of_name && t->type;
    for (size_t i = 0; fine && i < slice.n; i++) {
        uint32_t name = slice.event[i].name;
        if (of_name[name])
            continue;
        size_t size;
        const char *type = ek__operator_type(ek__trace_name(t->trace, name), &size);
        of_name[name] = ek__pool_text(t->rank->pool, type, size);
        fine = of_name[name];
        if (fine)
            t->type[n_used++] = of_name[name];
    }
    if (fine && n_used > 0)
        qsort(t->type, n_used, sizeof *t->type, by_text);
    for (size_t i = 0; fine && i < n_used; i++)
        if (t->n_types == 0 || strcmp(t->type[t->n_types - 1], t->type[i]) != 0)
            t->type[t->n_types++] = t->type[i];
    for (uint32_t name = 0; fine && name < t->trace->n_names; name++)
        if (of_name[name]) {
            char **at = bsearch(&of_name[name], t->type, (size_t)t->n_types, sizeof *t->type, by_text);
            t->type_of[name] = (uint32_t)(at - t->type);
        }
    free(of_name);
    return fine ? EK_OK : ek__no_memory(err);
}

/* Counting sort: executions of a name stay in order of start. */
static ek_status gather(table *t, ek_error *err)
{
    const ek__trace *trace = t->trace;
    uint32_t kinds = EK__KIND(KERNEL) | (is_kineto(t) ? EK__KIND(COLLECTIVE) : 0);
    t->n = trace->of[EK__EVENT_KERNEL].n + (is_kineto(t) ? trace->of[EK__EVENT_COLLECTIVE].n : 0);
    t->all = ek__alloc(t->n, sizeof *t->all);
    t->first = ek__alloc((size_t)trace->n_names + 2, sizeof *t->first);
    if (!t->all || !t->first)
        return ek__no_memory(err);
    ek_status status = ek__shape_finder_make(trace, &t->shapes, err);
    if (status)
        return status;
    ek__event_walk walk = ek__walk_kinds(trace, kinds);
    for (const ek__event *e; (e = ek__walk_event(&walk));)
        t->first[e->name + 2]++;
    for (size_t name = 2; name <= trace->n_names; name++)
        t->first[name] += t->first[name - 1];
    walk = ek__walk_kinds(trace, kinds);
    for (const ek__event *e; (e = ek__walk_event(&walk));)
        t->all[t->first[e->name + 1]++] = (execution){e->duration, e->start, ek__shape_of(&t->shapes, e),
                                                      is_kineto(t) ? (uint8_t)EK__CORE_NONE : e->core};
    return is_kineto(t) ? EK_OK : find_types(t, err);
}

/* The row of a name and core, added when new; NULL when memory is out. */
static ek_trace_operator *row_of(table *t, uint32_t name, uint8_t core)
{
    ek_trace_operators *ops = &t->rank->operators;
    int *at = &t->row_of[(size_t)(is_kineto(t) ? name : t->type_of[name]) * EK__N_CORES + core];
    if (*at > 0)
        return &ops->op[*at - 1];
    ek_trace_operator row = {.min = INT64_MAX, .wait = EK_TRACE_UNKNOWN, .max_start = EK_TRACE_UNKNOWN};
    const char *text = is_kineto(t) ? ek__trace_name(t->trace, name) : t->type[t->type_of[name]];
    row.name = is_kineto(t) ? ek__pool_text(t->rank->pool, text, strlen(text)) : text;
    row.type = is_kineto(t) ? "kernel" : row.name;
    row.core = core == EK__CORE_NONE ? NULL : ek__core_name[core];
    ek_trace_operator *list = ek__pool_push(t->rank->pool, ops->op, ops->n, sizeof *list);
    if (!list || !row.name)
        return NULL;
    row.family = family_of(t->trace, row.name, row.core);
    ops->op = list;
    ops->op[ops->n] = row;
    *at = ++ops->n;
    return &ops->op[*at - 1];
}

static ek_status fill_rows(table *t, ek_error *err)
{
    for (uint32_t name = 0; name < t->trace->n_names; name++)
        for (size_t i = t->first[name]; i < t->first[name + 1]; i++) {
            const execution *e = &t->all[i];
            ek_trace_operator *row = row_of(t, name, e->core);
            if (!row)
                return ek__no_memory(err);
            row->count++;
            row->total = ek__ns_add(row->total, e->duration);
            row->min = e->duration < row->min ? e->duration : row->min;
            if (row->max_start == EK_TRACE_UNKNOWN || e->duration > row->max) {
                row->max = e->duration;
                row->max_start = e->start;
            }
        }
    return EK_OK;
}

static int by_total(const void *a, const void *b)
{
    const ek_trace_operator *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->core ? x->core : "", y->core ? y->core : "");
}

static ek_status make_rows(table *t, ek_error *err)
{
    ek_trace_operators *ops = &t->rank->operators;
    size_t n_keys = is_kineto(t) ? t->trace->n_names : (size_t)t->n_types;
    t->row_of = ek__alloc(n_keys * EK__N_CORES, sizeof *t->row_of);
    ek_status status = t->row_of ? fill_rows(t, err) : ek__no_memory(err);
    if (status != EK_OK)
        return status;
    for (int i = 0; i < ops->n; i++)
        ops->total = ek__ns_add(ops->total, ops->op[i].total);
    for (int i = 0; i < ops->n; i++) {
        ops->op[i].average = (double)ops->op[i].total / (double)ops->op[i].count;
        ops->op[i].ratio = ops->total > 0 ? 100.0 * (double)ops->op[i].total / (double)ops->total : 0;
    }
    ops->source = "events";
    ops->n_rows = ops->n_executions = (int64_t)t->n;
    if (ops->n > 1)
        qsort(ops->op, (size_t)ops->n, sizeof *ops->op, by_total);
    return EK_OK;
}

/* ---- sums by core ---- */

static int by_core_name(const void *a, const void *b)
{
    return strcmp(((const ek_trace_core *)a)->name, ((const ek_trace_core *)b)->name);
}

static ek_status sum_cores(ek_trace_rank *rank, ek_error *err)
{
    ek_trace_operators *ops = &rank->operators;
    for (int i = 0; i < ops->n; i++) {
        const ek_trace_operator *op = &ops->op[i];
        const char *core = op->core ? op->core : ek__core_name[EK__CORE_NONE];
        int at = 0;
        while (at < ops->n_cores && strcmp(ops->core[at].name, core) != 0)
            at++;
        if (at == ops->n_cores) {
            ek_trace_core *list = ek__pool_push(rank->pool, ops->core, ops->n_cores, sizeof *list);
            if (!list)
                return ek__no_memory(err);
            ops->core = list;
            ops->core[ops->n_cores++] = (ek_trace_core){.name = core};
        }
        ops->core[at].count = ek__ns_add(ops->core[at].count, op->count);
        ops->core[at].total = ek__ns_add(ops->core[at].total, op->total);
    }
    if (ops->n_cores > 1)
        qsort(ops->core, (size_t)ops->n_cores, sizeof *ops->core, by_core_name);
    return EK_OK;
}

/* ---- outliers ---- */

/* Executions of one name, core and shape, by duration. One kernel serves many shapes; where the shapes are unknown, the
 * rare long one is listed, and no finding counts it. The same operator of a graph always has the same ones. */
static void find_outliers(const table *t, uint32_t name, const execution *e, size_t n, ek__outliers *outliers)
{
    int64_t median = e[(n - 1) / 2].duration;
    size_t first = n; /* of the outliers */
    while (first > 0 && e[first - 1].duration / OUTLIER_FACTOR > median &&
           e[first - 1].duration - median >= MIN_OUTLIER_LOSS_NS)
        first--;
    if (n < MIN_OF_KIND || (n - first > 1 && n - first > n / RARE))
        return;
    for (size_t i = first; i < n; i++) {
        ek_trace_outlier o = {.name = ek__trace_name(t->trace, name),
                              .type = is_kineto(t) ? "kernel" : t->type[t->type_of[name]],
                              .core = e[i].core ? ek__core_name[e[i].core] : NULL,
                              .start = e[i].start,
                              .duration = e[i].duration,
                              .expected = median,
                              .n_kind = (int64_t)n,
                              .shapes_unknown =
                                  !e[i].shape && (is_kineto(t) || !ek__is_of_graph(ek__trace_name(t->trace, name)))};
        ek__outliers_add(outliers, &o);
    }
}

/* Can any of these be an outlier? The median is no less than the least. */
static bool differ_enough(const execution *e, size_t n)
{
    int64_t min = INT64_MAX, max = 0;
    for (size_t i = 0; i < n; i++) {
        min = e[i].duration < min ? e[i].duration : min;
        max = e[i].duration > max ? e[i].duration : max;
    }
    return n >= MIN_OF_KIND && max - min >= MIN_OUTLIER_LOSS_NS && max / OUTLIER_FACTOR > min;
}

/* Communication waits for other ranks: its length does not depend on the kernel. */
static void find_all_outliers(const table *t, ek__outliers *outliers)
{
    for (uint32_t name = 0; name < t->trace->n_names; name++) {
        execution *e = t->all + t->first[name];
        size_t n = t->first[name + 1] - t->first[name];
        if (!differ_enough(e, n) ||
            strcmp(family_of(t->trace, ek__trace_name(t->trace, name), NULL), "communication") == 0)
            continue;
        qsort(e, n, sizeof *e, by_duration);
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && e[end].core == e[i].core && e[end].shape == e[i].shape;)
                end++;
            find_outliers(t, name, e + i, end - i, outliers);
        }
    }
}

static ek_status make_outliers(const table *t, ek_error *err)
{
    ek__outliers outliers = {0};
    find_all_outliers(t, &outliers);
    return ek__outliers_keep(&outliers, t->rank->pool, &t->rank->operators, err);
}

/* ---- shares ---- */

/* Of the compute time: everything in the table except communication. */
static void fill_shares(const ek__trace *trace, ek_trace_operators *ops)
{
    double of[3] = {0}, all = 0;
    static const char *const family[] = {"matmul", "attention", "vector"};
    for (int i = 0; i < ops->n; i++) {
        ek_trace_operator *op = &ops->op[i];
        if (!op->family)
            op->family = family_of(trace, op->type ? op->type : op->name, op->core);
        if (strcmp(op->family, "communication") == 0)
            continue;
        all += (double)op->total;
        for (int k = 0; k < 3; k++)
            if (strcmp(op->family, family[k]) == 0)
                of[k] += (double)op->total;
    }
    ops->share_matmul = all > 0 ? of[0] / all : 0;
    ops->share_attention = all > 0 ? of[1] / all : 0;
    ops->share_vector = all > 0 ? of[2] / all : 0;
}

ek_status ek__analyse_operators(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                ek_error *err)
{
    (void)options;
    ek_trace_operators *ops = &rank->operators;
    table t = {.trace = trace, .rank = rank};
    ek_status status = EK_OK;
    bool made = ops->n == 0;                                                 /* values of tables stay unchanged */
    bool compared = ops->source && strcmp(ops->source, "op_statistic") != 0; /* rows of a table, which has shapes */
    if (rank->has_device_events && (ops->n == 0 || !compared))
        status = gather(&t, err);
    if (status == EK_OK && ops->n == 0 && t.n > 0) {
        status = make_rows(&t, err);
        if (status == EK_OK && ops->n_cores == 0)
            status = sum_cores(rank, err);
    }
    if (status == EK_OK && !compared && t.n > 0)
        status = make_outliers(&t, err);
    if (status == EK_OK && made)
        fill_shares(trace, ops);
    ek__shape_finder_clear(&t.shapes);
    free(t.all);
    free(t.first);
    free(t.row_of);
    free(t.type);
    free(t.type_of);
    return status;
}
