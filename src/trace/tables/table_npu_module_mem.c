/* Reads npu_module_mem.csv: the largest reservation of each module of the device's software. Separate from
 * memory_record's components, some of which have the same names and are measured differently. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/scan/part.h"
#include "trace/tables/table_rows.h"

typedef struct modules {
    int component, reserved; /* columns */
    double unit;             /* of `reserved`, in MB */
    ek__texts index;
    double *peak; /* [index.n] */
    size_t capacity;
} modules;

static ek_status raise_to(modules *m, const char *name, double reserved, ek_error *err)
{
    int n = (int)m->index.n;
    int number = (int)ek__texts_intern(&m->index, name, strlen(name));
    if (number == n) {
        double *peak = ek__with_room(m->peak, &m->capacity, (size_t)n + 1, sizeof *peak);
        if (!peak)
            return ek__no_memory(err);
        m->peak = peak;
        peak[number] = NAN;
    }
    if (number < 0)
        return ek__no_memory(err);
    if (reserved > m->peak[number] || isnan(m->peak[number]))
        m->peak[number] = reserved;
    return EK_OK;
}

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    modules *m = user;
    double reserved = NAN;
    if (!ek__cell_number(csv, m->reserved, left, &reserved))
        return EK_OK;
    return raise_to(m, ek__csv_cell(csv, m->component), reserved * m->unit, err);
}

static int by_peak(const void *a, const void *b)
{
    const ek_trace_memory_peak *p = a, *q = b;
    double x = isnan(p->reserved_mb) ? -HUGE_VAL : p->reserved_mb,
           y = isnan(q->reserved_mb) ? -HUGE_VAL : q->reserved_mb;
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(p->component, q->component);
}

static ek_status keep(const modules *m, const ek__table_in *in, ek_error *err)
{
    ek__pool *pool = in->rank->pool;
    size_t n = (size_t)m->index.n;
    ek_trace_memory_peak *module = ek__pool_alloc(pool, n, sizeof *module);
    if (!module)
        return ek__no_memory(err);
    for (int i = 0; i < (int)m->index.n; i++) {
        const char *name = ek__texts_at(&m->index, (uint32_t)i);
        module[i] = (ek_trace_memory_peak){ek__pool_text(pool, name, strlen(name)), NAN, m->peak[i], NAN};
        if (!module[i].component)
            return ek__no_memory(err);
    }
    if (n > 1)
        qsort(module, n, sizeof *module, by_peak);
    in->rank->memory.module = module;
    in->rank->memory.n_modules = (int)n;
    return EK_OK;
}

ek_status ek__table_npu_module_mem(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv = NULL;
    const ek_trace_memory *before = &in->rank->memory;
    ek_status status = ek__table_open(in, &csv, err);
    if (status)
        return status;
    modules m = {.component = ek__csv_column(csv, "Component", NULL),
                 .reserved = ek__csv_column(csv, "Total Reserved(MB)", NULL),
                 .unit = 1};
    if (m.reserved < 0) { /* as printed by the device profiler */
        m.reserved = ek__csv_column(csv, "Total Reserved(KB)", NULL);
        m.unit = 1.0 / 1024;
    }
    status = ek__table_needs(in, m.component, "Component", err);
    if (!status)
        status = ek__table_needs(in, m.reserved, "Total Reserved(MB)", err);
    for (int i = 0; !status && i < before->n_modules; i++)
        status = raise_to(&m, before->module[i].component, before->module[i].reserved_mb, err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &m, err);
    if (!status)
        status = keep(&m, in, err);
    ek__csv_close(csv);
    ek__texts_clear(&m.index);
    free(m.peak);
    return status;
}
