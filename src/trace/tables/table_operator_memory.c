/* operator_memory.csv: allocations of the framework's operators: the largest, and those without a release time, which
 * were alive when the profiler stopped (docs/trace.md). How far the pool was filled at each is not read: memory_record
 * has that as a curve. */
#include <string.h>

#include "trace/events/largest.h"
#include "trace/tables/table_rows.h"

typedef struct allocations {
    int name, size, start, end; /* columns */
    int64_t n_rows, n_never_released;
    ek__texts index; /* of names */
    ek__largest largest, kept;
} allocations;

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    allocations *a = user;
    ek__sized one;
    if (!ek__cell_number(csv, a->size, left, &one.size) || !ek__cell_us(csv, a->start, left, &one.start) ||
        !ek__cell_us(csv, a->end, left, &one.end))
        return EK_OK;
    const char *name = ek__csv_cell(csv, a->name);
    one.name = (int)ek__texts_intern(&a->index, name, strlen(name));
    if (one.name < 0)
        return ek__no_memory(err);
    a->n_rows++;
    ek__largest_add(&a->largest, &one);
    if (one.end == EK_TRACE_UNKNOWN) {
        a->n_never_released++;
        ek__largest_add(&a->kept, &one);
    }
    return EK_OK;
}

/* What another file of this rank told already. */
static ek_status take_before(ek__largest *largest, ek__texts *index, const ek_trace_allocation *before, int n,
                             ek_error *err)
{
    for (int i = 0; i < n; i++) {
        const char *name = before[i].name;
        ek__sized one = {before[i].size_kb, before[i].start, before[i].end,
                         (int)ek__texts_intern(index, name, strlen(name))};
        if (one.name < 0)
            return ek__no_memory(err);
        ek__largest_add(largest, &one);
    }
    return EK_OK;
}

static ek_status keep(const allocations *a, const ek__table_in *in, ek_error *err)
{
    ek_trace_memory *out = &in->rank->memory;
    ek_trace_allocation *largest = ek__largest_keep(&a->largest, &a->index, 1, in->rank->pool);
    ek_trace_allocation *kept = ek__largest_keep(&a->kept, &a->index, 1, in->rank->pool);
    if (!largest || !kept)
        return ek__no_memory(err);
    out->largest = largest;
    out->n_largest = a->largest.n;
    out->kept = kept;
    out->n_kept = a->kept.n;
    out->n_operator_rows += a->n_rows;
    out->n_never_released += a->n_never_released;
    return EK_OK;
}

ek_status ek__table_operator_memory(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv = NULL;
    const ek_trace_memory *before = &in->rank->memory;
    ek_status status = ek__table_open(in, &csv, err);
    if (status)
        return status;
    allocations a = {.name = ek__csv_column(csv, "Name", NULL),
                     .size = ek__csv_column(csv, "Size(KB)", NULL),
                     .start = ek__csv_column(csv, "Allocation Time(us)", NULL),
                     .end = ek__csv_column(csv, "Release Time(us)", NULL),
                     .largest = {.max = EK__N_LARGEST},
                     .kept = {.max = EK__N_KEPT}};
    status = ek__table_needs(in, a.size, "Size(KB)", err);
    if (!status) /* without it everything would look never released */
        status = ek__table_needs(in, a.end, "Release Time(us)", err);
    if (!status)
        status = take_before(&a.largest, &a.index, before->largest, before->n_largest, err);
    if (!status)
        status = take_before(&a.kept, &a.index, before->kept, before->n_kept, err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &a, err);
    if (!status)
        status = keep(&a, in, err);
    ek__csv_close(csv);
    ek__texts_clear(&a.index);
    return status;
}
