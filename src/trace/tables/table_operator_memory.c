/* Reads operator_memory.csv: allocations of the framework's operators: all of them with their lifetimes as a map for
 * each device, the largest, and those without a release time, which were alive when the profiler stopped
 * (docs/trace.md). The fill of the pool at each is not read: memory_record has that as a curve. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/block_map.h"
#include "trace/events/largest.h"
#include "trace/tables/table_rows.h"

enum { MAX_DEVICES = 64 };

typedef struct allocations {
    int name, size, start, end, device; /* columns */
    int64_t n_rows, n_never_released;
    ek__texts index;   /* of names */
    ek__texts devices; /* names */
    ek__block_names names;
    ek__block_list list[MAX_DEVICES];
    ek__largest largest, kept;
} allocations;

/* Its place in the map of its device. Memory that was released without having been allocated was there before the
 * profiler began; some versions give it a size below 0. */
static ek_status add_block(allocations *a, const ek__csv *csv, const ek__sized *one, ek_error *err)
{
    const char *device = a->device >= 0 ? ek__csv_cell(csv, a->device) : "", *name = ek__csv_cell(csv, a->name);
    double bytes = 1024 * (one->start == EK_TRACE_UNKNOWN ? fabs(one->size) : one->size);
    bool ends_first = one->start != EK_TRACE_UNKNOWN && one->end != EK_TRACE_UNKNOWN && one->end < one->start;
    if (!(bytes >= 0 && bytes <= (double)EK__BLOCK_MOST_BYTES) || ends_first)
        return EK_OK;
    int number = (int)ek__texts_intern(&a->devices, device, strlen(device));
    int site = ek__block_site(&a->names, ek__block_role_of_operator(name), *name ? name : "(no name)");
    if (number < 0 || site < 0)
        return ek__no_memory(err);
    const ek_trace_block block = {one->start, one->end, llround(bytes), EK_TRACE_UNKNOWN, 0, site, -1};
    return ek__block_list_add(&a->list[number < MAX_DEVICES ? number : MAX_DEVICES - 1], &block, err);
}

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
    return add_block(a, csv, &one, err);
}

/* The first and the last time in a list. */
static void find_record(const ek__block_list *list, ek_trace_block_map *map)
{
    bool any = false;
    for (size_t i = 0; i < list->n; i++) {
        const int64_t times[] = {list->block[i].start, list->block[i].end};
        for (int k = 0; k < 2; k++) {
            if (times[k] == EK_TRACE_UNKNOWN)
                continue;
            map->begin = !any || times[k] < map->begin ? times[k] : map->begin;
            map->end = !any || times[k] > map->end ? times[k] : map->end;
            any = true;
        }
    }
}

static ek_status add_maps(allocations *a, const ek__table_in *in, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < (int)a->devices.n && i < MAX_DEVICES && !status; i++) {
        const char *device = ek__texts_at(&a->devices, (uint32_t)i);
        ek_trace_block_map map = {.rounding_bytes = EK_TRACE_UNKNOWN, .n_rows = (int64_t)a->list[i].n};
        find_record(&a->list[i], &map);
        map.name = ek__pool_format(in->rank->pool, "%s", *device ? device : "allocations of operators");
        status = map.name
                     ? ek__block_map_make(&a->list[i], &a->names, 1, ek__most_blocks(in), in->rank->pool, &map, err)
                     : ek__no_memory(err);
        status = status ? status : ek__memory_add_map(&in->rank->memory, &map, in->rank->pool, err);
    }
    return status;
}

/* A figure that another file of this rank had already. */
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
                     .device = ek__csv_column(csv, "Device Type", NULL),
                     .largest = {.max = EK__N_LARGEST},
                     .kept = {.max = EK__N_KEPT}};
    status = ek__table_needs(in, a.size, "Size(KB)", err);
    if (!status) /* without it everything would seem never released */
        status = ek__table_needs(in, a.end, "Release Time(us)", err);
    if (!status)
        status = take_before(&a.largest, &a.index, before->largest, before->n_largest, err);
    if (!status)
        status = take_before(&a.kept, &a.index, before->kept, before->n_kept, err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &a, err);
    if (!status)
        status = keep(&a, in, err);
    if (!status)
        status = add_maps(&a, in, err);
    ek__csv_close(csv);
    ek__texts_clear(&a.index);
    ek__texts_clear(&a.devices);
    ek__block_names_clear(&a.names);
    for (int i = 0; i < MAX_DEVICES; i++)
        ek__block_list_clear(&a.list[i]);
    return status;
}
