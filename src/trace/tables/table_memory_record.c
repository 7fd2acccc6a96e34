/* Reads memory_record.csv: the largest value per component and column, and the curve over time (docs/trace.md). Cells
 * may be empty; APP, the complete process in the driver's view, has only reserved bytes. Streams and device types are
 * not distinguished. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/memory_curve.h"
#include "trace/scan/part.h"
#include "trace/tables/table_rows.h"

typedef struct record {
    int component, time, allocated, reserved, active; /* columns */
    int64_t n_rows;
    ek__texts index; /* of components */
    ek_trace_memory_peak *peak;
    ek_trace_memory_point *point;
    size_t peak_capacity, point_capacity, n_points;
} record;

static void raise_to(double *peak, double value)
{
    if (value > *peak || isnan(*peak))
        *peak = value;
}

/* The component's number, with a peak made for a new one; -1 when memory is out. */
static int component_of(record *r, const char *name)
{
    int n = (int)r->index.n;
    int number = (int)ek__texts_intern(&r->index, name, strlen(name));
    if (number < n)
        return number;
    ek_trace_memory_peak *peak = ek__with_room(r->peak, &r->peak_capacity, (size_t)n + 1, sizeof *peak);
    if (!peak)
        return -1;
    r->peak = peak;
    peak[number] = (ek_trace_memory_peak){.allocated_mb = NAN, .reserved_mb = NAN, .active_mb = NAN};
    return number;
}

static ek_status add_point(record *r, const ek_trace_memory_point *one, ek_error *err)
{
    ek_trace_memory_point *point = ek__with_room(r->point, &r->point_capacity, r->n_points + 1, sizeof *point);
    if (!point)
        return ek__no_memory(err);
    r->point = point;
    point[r->n_points++] = *one;
    return EK_OK;
}

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    record *r = user;
    ek_trace_memory_point one = {0};
    double active = NAN;
    if (!ek__cell_us(csv, r->time, left, &one.time) || !ek__cell_number(csv, r->allocated, left, &one.allocated_mb) ||
        !ek__cell_number(csv, r->reserved, left, &one.reserved_mb) || !ek__cell_number(csv, r->active, left, &active))
        return EK_OK;
    one.component = component_of(r, ek__csv_cell(csv, r->component));
    if (one.component < 0)
        return ek__no_memory(err);
    r->n_rows++;
    ek_trace_memory_peak *peak = &r->peak[one.component];
    raise_to(&peak->allocated_mb, one.allocated_mb);
    raise_to(&peak->reserved_mb, one.reserved_mb);
    raise_to(&peak->active_mb, active);
    if (one.time == EK_TRACE_UNKNOWN || (isnan(one.allocated_mb) && isnan(one.reserved_mb)))
        return EK_OK;
    return add_point(r, &one, err);
}

/* A figure that another file of this rank had already. */
static ek_status take_before(record *r, const ek_trace_memory *memory, ek_error *err)
{
    for (int i = 0; i < memory->n_peaks; i++) {
        if (component_of(r, memory->peak[i].component) < 0)
            return ek__no_memory(err);
        r->peak[i] = memory->peak[i];
    }
    for (int i = 0; i < memory->n_points; i++) {
        ek_status status = add_point(r, &memory->point[i], err);
        if (status)
            return status;
    }
    return EK_OK;
}

static int by_component(const void *a, const void *b)
{
    const ek_trace_memory_peak *p = a, *q = b;
    return strcmp(p->component, q->component);
}

/* Peaks into the pool, by name; points get their new numbers. False when memory is out. */
static bool sort_components(record *r, ek__pool *pool, ek_trace_memory_peak *sorted, int *place)
{
    for (int i = 0; i < (int)r->index.n; i++) {
        const char *name = ek__texts_at(&r->index, (uint32_t)i);
        sorted[i] = r->peak[i];
        sorted[i].component = ek__pool_text(pool, name, strlen(name));
        if (!sorted[i].component)
            return false;
    }
    if (r->index.n > 1)
        qsort(sorted, (size_t)r->index.n, sizeof *sorted, by_component);
    for (int i = 0; i < (int)r->index.n; i++) {
        const char *name = sorted[i].component;
        place[ek__texts_intern(&r->index, name, strlen(name))] = i;
    }
    for (size_t i = 0; i < r->n_points; i++)
        r->point[i].component = place[r->point[i].component];
    return true;
}

static ek_status keep(record *r, const ek__table_in *in, ek_error *err)
{
    ek_trace_memory *out = &in->rank->memory;
    size_t n = (size_t)r->index.n;
    ek_trace_memory_peak *peak = ek__pool_alloc(in->rank->pool, n, sizeof *peak);
    int *place = ek__alloc(n, sizeof *place);
    bool good = peak && place && sort_components(r, in->rank->pool, peak, place);
    free(place);
    if (!good)
        return ek__no_memory(err);
    size_t n_points = r->n_points ? ek__memory_curve_thin(r->point, r->n_points) : 0;
    ek_trace_memory_point *point = ek__pool_alloc(in->rank->pool, n_points, sizeof *point);
    if (!point || n_points > INT_MAX)
        return ek__no_memory(err);
    if (n_points > 0)
        memcpy(point, r->point, n_points * sizeof *point);
    out->peak = peak;
    out->n_peaks = (int)n;
    out->point = point;
    out->n_points = (int)n_points;
    out->n_rows += r->n_rows;
    return EK_OK;
}

ek_status ek__table_memory_record(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv = NULL;
    ek_status status = ek__table_open(in, &csv, err);
    if (status)
        return status;
    record r = {.component = ek__csv_column(csv, "Component", NULL),
                .time = ek__csv_column(csv, "Timestamp(us)", "Timestamp", NULL),
                .allocated = ek__csv_column(csv, "Total Allocated(MB)", NULL),
                .reserved = ek__csv_column(csv, "Total Reserved(MB)", NULL),
                .active = ek__csv_column(csv, "Total Active(MB)", NULL)};
    status = ek__table_needs(in, r.component, "Component", err);
    if (!status)
        status = take_before(&r, &in->rank->memory, err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &r, err);
    if (!status)
        status = keep(&r, in, err);
    ek__csv_close(csv);
    ek__texts_clear(&r.index);
    free(r.peak);
    free(r.point);
    return status;
}
