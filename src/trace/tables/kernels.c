/* Groups executions of operators: totals by (type, core), by core and by type as the table names them, N/A included;
 * executions far slower than others of equal type, core and shapes; and a breakdown of each step, of communication rows
 * and all others. Groups are numbered while reading, so everything is sums over arrays, and sorting. */
#include "trace/tables/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyse/analysis.h"
#include "trace/events/intervals.h"
#include "trace/events/outliers.h"
#include "trace/tables/table_times.h"

/* An execution is slow when it takes three times as long as the median of its kind and 20 us more, and the kind has
 * five or more: short or rare executions vary without a reason. */
enum { SLOW_FACTOR = 3, SLOW_LEAST_NS = 20000, LEAST_OF_KIND = 5 };

void ek__kernels_clear(ek__kernels *kernels)
{
    free(kernels->at);
    ek__texts_clear(&kernels->group);
    ek__texts_clear(&kernels->kind);
    ek__texts_clear(&kernels->name);
    ek__texts_clear(&kernels->step);
    *kernels = (ek__kernels){0};
}

/* ---- by type and core ---- */

static ek_status split_group(const ek__kernels *k, uint32_t group, ek__pool *pool, const char **type, const char **core,
                             ek_error *err)
{
    const char *text = ek__texts_at(&k->group, group), *line = strchr(text, '\n');
    *type = ek__pool_text(pool, text, (size_t)(line - text));
    *core = line[1] ? ek__pool_text(pool, line + 1, strlen(line + 1)) : NULL;
    return *type && (*core || !line[1]) ? EK_OK : ek__no_memory(err);
}

static int by_total(const void *a, const void *b)
{
    const ek_trace_operator *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->core ? x->core : "", y->core ? y->core : "");
}

static void add_execution(ek_trace_operator *op, const ek__kernel *k)
{
    op->min = op->count == 0 || k->duration < op->min ? k->duration : op->min;
    if (op->count == 0 || k->duration > op->max) {
        op->max = k->duration;
        op->max_start = k->start;
    }
    op->total = ek__ns_add(op->total, k->duration);
    op->count++;
    if (k->wait != EK_TRACE_UNKNOWN)
        op->wait = op->wait == EK_TRACE_UNKNOWN ? k->wait : ek__ns_add(op->wait, k->wait);
}

static bool is_family(const char *family, const char *name)
{
    return strcmp(family, name) == 0;
}

/* Shares of the compute time; an operator without a type (the least detailed level) is identified by its name. */
static void find_shares(const ek__kernels *k, const ek_trace_operator *by_group, ek_trace_operators *ops)
{
    double matmul = 0, attention = 0, vector = 0, total = 0;
    for (size_t i = 0; i < k->n; i++) {
        const ek__kernel *e = &k->at[i];
        const ek_trace_operator *op = &by_group[e->group];
        if (e->communication)
            continue;
        const char *family = op->family;
        if (strcmp(op->name, "N/A") == 0 || !*op->name)
            family = ek__operator_family(ek__texts_at(&k->name, e->name), op->core);
        matmul += is_family(family, "matmul") ? (double)e->duration : 0;
        attention += is_family(family, "attention") ? (double)e->duration : 0;
        vector += is_family(family, "vector") ? (double)e->duration : 0;
        total += (double)e->duration;
    }
    ops->share_matmul = total > 0 ? matmul / total : (double)NAN;
    ops->share_attention = total > 0 ? attention / total : (double)NAN;
    ops->share_vector = total > 0 ? vector / total : (double)NAN;
}

static void finish_operators(ek_trace_operators *ops)
{
    double total = 0;
    for (int i = 0; i < ops->n; i++) {
        total += (double)ops->op[i].total;
        ops->total = ek__ns_add(ops->total, ops->op[i].total);
        ops->n_executions += ops->op[i].count;
    }
    for (int i = 0; i < ops->n; i++) {
        ek_trace_operator *op = &ops->op[i];
        op->average = (double)op->total / (double)op->count;
        op->ratio = total > 0 ? 100 * (double)op->total / total : (double)NAN;
    }
    if (ops->n > 0)
        qsort(ops->op, (size_t)ops->n, sizeof *ops->op, by_total);
}

/* `by_group`: [group.n], names filled for all. A group of both communication and other rows counts the others. */
static ek_status sum_groups(const ek__kernels *k, ek_trace_operator *by_group, ek__pool *pool, ek_trace_operators *ops,
                            ek_error *err)
{
    for (uint32_t g = 1; g < k->group.n; g++) {
        ek_status status = split_group(k, g, pool, &by_group[g].name, &by_group[g].core, err);
        if (status)
            return status;
        by_group[g].type = by_group[g].name;
        by_group[g].family = ek__operator_family(by_group[g].name, by_group[g].core);
        by_group[g].wait = EK_TRACE_UNKNOWN;
    }
    for (size_t i = 0; i < k->n; i++)
        if (!k->at[i].communication)
            add_execution(&by_group[k->at[i].group], &k->at[i]);
    ops->op = ek__pool_alloc(pool, k->group.n, sizeof *ops->op);
    if (!ops->op)
        return ek__no_memory(err);
    for (uint32_t g = 1; g < k->group.n; g++)
        if (by_group[g].count > 0)
            ops->op[ops->n++] = by_group[g];
    finish_operators(ops);
    return EK_OK;
}

/* ---- by core, by type ---- */

static int core_by_name(const void *a, const void *b)
{
    return strcmp(((const ek_trace_core *)a)->name, ((const ek_trace_core *)b)->name);
}

static int core_by_total(const void *a, const void *b)
{
    const ek_trace_core *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* All rows, communication too: sorted by name first, so that equal names are adjacent. */
static int merge_names(ek_trace_core *core, int n)
{
    int kept = 0;
    if (n > 0)
        qsort(core, (size_t)n, sizeof *core, core_by_name);
    for (int i = 0; i < n; i++) {
        if (kept > 0 && strcmp(core[kept - 1].name, core[i].name) == 0) {
            core[kept - 1].count = ek__ns_add(core[kept - 1].count, core[i].count);
            core[kept - 1].total = ek__ns_add(core[kept - 1].total, core[i].total);
        } else {
            core[kept++] = core[i];
        }
    }
    return kept;
}

static ek_status sum_cores_and_types(const ek__kernels *k, const ek_trace_operator *by_group, ek__pool *pool,
                                     ek_trace_operators *ops, ek_error *err)
{
    uint32_t n = k->group.n;
    ops->core = ek__pool_alloc(pool, n, sizeof *ops->core);
    ops->type = ek__pool_alloc(pool, n, sizeof *ops->type);
    if (!ops->core || !ops->type)
        return ek__no_memory(err);
    for (uint32_t g = 0; g < n; g++) {
        ops->core[g].name = by_group[g].core ? by_group[g].core : "";
        ops->type[g].name = by_group[g].name ? by_group[g].name : "";
    }
    for (size_t i = 0; i < k->n; i++) {
        uint32_t g = k->at[i].group;
        ops->core[g].count = ++ops->type[g].count;
        ops->core[g].total = ops->type[g].total = ek__ns_add(ops->type[g].total, k->at[i].duration);
    }
    /* Number 0 is the empty text, which is not a group. */
    ops->n_cores = merge_names(ops->core + 1, (int)n - 1);
    ops->n_types = merge_names(ops->type + 1, (int)n - 1);
    ops->core++;
    ops->type++;
    if (ops->n_types > 0)
        qsort(ops->type, (size_t)ops->n_types, sizeof *ops->type, core_by_total);
    return EK_OK;
}

/* ---- slow executions ---- */

/* An execution by its kind. */
typedef struct in_kind {
    uint32_t kind;
    int64_t duration;
    size_t row;
} in_kind;

static int by_kind(const void *a, const void *b)
{
    const in_kind *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration < y->duration ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int64_t median_of(const in_kind *at, size_t n)
{
    return n % 2 == 1 ? at[n / 2].duration : at[n / 2 - 1].duration + (at[n / 2].duration - at[n / 2 - 1].duration) / 2;
}

/* Names are still those of the table. */
static void add_outlier(const ek__kernels *k, const ek_trace_operator *by_group, const in_kind *at, int64_t median,
                        size_t n_kind, ek__outliers *outliers)
{
    const ek__kernel *e = &k->at[at->row];
    ek_trace_outlier one = {.name = ek__texts_at(&k->name, e->name),
                            .type = by_group[e->group].type,
                            .core = by_group[e->group].core,
                            .shape = e->shape ? ek__texts_at(&k->name, e->shape) : NULL,
                            .start = e->start,
                            .duration = e->duration,
                            .expected = median,
                            .n_kind = (int64_t)n_kind};
    ek__outliers_add(outliers, &one);
}

static void find_slow(const ek__kernels *k, const ek_trace_operator *by_group, const in_kind *at, size_t n,
                      ek__outliers *outliers)
{
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && at[to].kind == at[from].kind;)
            to++;
        int64_t median = median_of(at + from, to - from);
        if (to - from < LEAST_OF_KIND)
            continue;
        for (size_t i = to;
             i-- > from && at[i].duration / SLOW_FACTOR > median && at[i].duration - median >= SLOW_LEAST_NS;)
            add_outlier(k, by_group, &at[i], median, to - from, outliers);
    }
}

static ek_status find_outliers(const ek__kernels *k, const ek_trace_operator *by_group, ek__pool *pool,
                               ek_trace_operators *ops, ek_error *err)
{
    in_kind *at = ek__alloc(k->n, sizeof *at);
    ek__outliers outliers = {0};
    size_t n = 0;
    if (!at)
        return ek__no_memory(err);
    for (size_t i = 0; i < k->n; i++)
        if (!k->at[i].communication)
            at[n++] = (in_kind){k->at[i].kind, k->at[i].duration, i};
    if (n > 0)
        qsort(at, n, sizeof *at, by_kind);
    find_slow(k, by_group, at, n, &outliers);
    free(at);
    return ek__outliers_keep(&outliers, pool, ops, err);
}

ek_status ek__kernels_operators(const ek__kernels *kernels, const char *source, ek_trace_rank *rank, ek_error *err)
{
    ek_trace_operators ops = {.table = rank->operators.table, .n_table = rank->operators.n_table, .source = source};
    ek_trace_operator *by_group = ek__alloc(kernels->group.n, sizeof *by_group);
    if (!by_group)
        return ek__no_memory(err);
    ek_status status = sum_groups(kernels, by_group, rank->pool, &ops, err);
    if (status == EK_OK)
        status = sum_cores_and_types(kernels, by_group, rank->pool, &ops, err);
    if (status == EK_OK)
        status = find_outliers(kernels, by_group, rank->pool, &ops, err);
    if (status == EK_OK) {
        find_shares(kernels, by_group, &ops);
        rank->operators = ops;
    }
    free(by_group);
    return status;
}

/* ---- steps ---- */

/* The union of intervals in order of start. */
typedef struct sweep {
    int64_t end, length;
    bool any;
} sweep;

static int64_t end_of(const ek__kernel *k)
{
    return ek__ns_add(k->start, k->duration);
}

static void extend(sweep *s, const ek__kernel *k)
{
    int64_t end = end_of(k), from = s->any && s->end > k->start ? s->end : k->start;
    if (end > from)
        s->length += end - from;
    if (!s->any || end > s->end)
        s->end = end;
    s->any = true;
}

static int by_step_and_start(const void *a, const void *b)
{
    const ek__kernel *x = *(const ek__kernel *const *)a, *y = *(const ek__kernel *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* From one step's rows by start: the two unions, and the union of both, which gives their intersection. */
static ek_trace_breakdown break_down(const ek__kernel *const *at, size_t n, int64_t *end)
{
    sweep computing = {0}, communication = {0}, all = {0};
    for (size_t i = 0; i < n; i++) {
        extend(at[i]->communication ? &communication : &computing, at[i]);
        extend(&all, at[i]);
    }
    int64_t total = all.end - at[0]->start;
    *end = all.end;
    return (ek_trace_breakdown){.n_events = (int64_t)n,
                                .computing = computing.length,
                                .communication = communication.length,
                                .communication_not_overlapped = all.length - computing.length,
                                .overlapped = computing.length + communication.length - all.length,
                                .copy = EK_TRACE_UNKNOWN,
                                .copy_not_overlapped = EK_TRACE_UNKNOWN,
                                .busy = all.length,
                                .free = total - all.length,
                                .total = total};
}

/* A step with its first row. */
typedef struct span {
    const ek__kernel *const *at;
    size_t n;
} span;

static int by_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->at[0]->start != y->at[0]->start)
        return x->at[0]->start < y->at[0]->start ? -1 : 1;
    return (x->at[0]->step > y->at[0]->step) - (x->at[0]->step < y->at[0]->step);
}

static ek_status fill_step(const ek__kernels *k, const span *s, bool alone, const ek__table_in *in, const char *source,
                           ek_error *err)
{
    ek_trace_step *step;
    const char *name = k->has_steps ? ek__texts_at(&k->step, s->at[0]->step) : "";
    if (strcmp(name, "N/A") == 0)
        name = "";
    if (!alone && !*name) {
        in->rank->n_outside_steps = ek__ns_add(in->rank->n_outside_steps, (int64_t)s->n);
        return EK_OK;
    }
    ek_status status = ek__table_step(in, name, alone, &step, err);
    if (status || !step || step->source)
        return status;
    step->start = s->at[0]->start;
    step->own = break_down(s->at, s->n, &step->end);
    step->source = source;
    return EK_OK;
}

static ek_status fill_steps(const ek__kernels *k, const ek__kernel **at, size_t n, const ek__table_in *in,
                            const char *source, ek_error *err)
{
    size_t n_steps = 0;
    span *step = ek__alloc(k->step.n, sizeof *step);
    if (!step)
        return ek__no_memory(err);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && at[to]->step == at[from]->step;)
            to++;
        step[n_steps++] = (span){at + from, to - from};
    }
    if (n_steps > 0)
        qsort(step, n_steps, sizeof *step, by_start);
    ek_status status = EK_OK;
    /* Finding a step is linear: beyond the limit none is searched any more. */
    for (size_t i = 0; i < n_steps && status == EK_OK && in->rank->n_steps < EK__MAX_TABLE_STEPS; i++)
        status = fill_step(k, &step[i], n_steps == 1, in, source, err);
    free(step);
    if (status == EK_OK && n_steps > EK__MAX_TABLE_STEPS)
        status = ek__rank_note(in->rank, err, "%s has %zu steps: those beyond %d are left out", source, n_steps,
                               EK__MAX_TABLE_STEPS);
    return status;
}

/* For figures of a step that need several tables. */
static bool add_times(const ek__kernels *k, const ek__table_in *in)
{
    for (size_t i = 0; in->times && i < k->n; i++) {
        const ek__kernel *e = &k->at[i];
        if (!ek__table_times_add(in->times, in->options, EK__TIMED_BY_KERNELS, ek__texts_at(&k->step, e->step),
                                 ek__texts_at(&k->name, e->name), e->communication, e->start, e->duration))
            return false;
    }
    return true;
}

ek_status ek__kernels_steps(const ek__kernels *kernels, const ek__table_in *in, const char *source, ek_error *err)
{
    const ek__kernel **at = ek__alloc(kernels->n, sizeof *at);
    size_t n = 0;
    if (!at || !add_times(kernels, in)) {
        free(at);
        return ek__no_memory(err);
    }
    /* Starts far from any clock would leave no room for their ends. */
    for (size_t i = 0; i < kernels->n; i++)
        if (kernels->at[i].start > -INT64_MAX / 4 && kernels->at[i].start < INT64_MAX / 4 &&
            kernels->at[i].duration < INT64_MAX / 4)
            at[n++] = &kernels->at[i];
    if (n > 0)
        qsort(at, n, sizeof *at, by_step_and_start);
    ek_status status = fill_steps(kernels, at, n, in, source, err);
    free(at);
    return status;
}
