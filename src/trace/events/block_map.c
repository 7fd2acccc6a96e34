/* Computes figures of blocks with lifetimes. Bytes over time by a sweep over begins and ends, in which ends come first,
 * as lifetimes are half open; free memory at a time by one walk over the segments and blocks at that time, by address.
 * Places on the axis of addresses are the addresses without the gaps in which no segment and no block ever was. */
#include "trace/events/block_map.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/largest.h"
#include "trace/events/memory_curve.h"

#define MB 1048576.0

static bool is_there(int64_t start, int64_t end, int64_t time)
{
    return (start == EK_TRACE_UNKNOWN || start <= time) && (end == EK_TRACE_UNKNOWN || time < end);
}

/* ---- order ---- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Those from before the record first: an unknown start is the least number. Unknown ends come last. */
static int by_start(const void *a, const void *b)
{
    const ek_trace_block *p = a, *q = b;
    int order = compare(p->start, q->start);
    order = order ? order : compare(p->address, q->address);
    order = order ? order : compare((int64_t)((uint64_t)p->end - 1), (int64_t)((uint64_t)q->end - 1));
    order = order ? order : compare(p->bytes, q->bytes);
    order = order ? order : compare(p->site, q->site);
    return order ? order : compare(p->stack, q->stack);
}

static int segments_by_start(const void *a, const void *b)
{
    const ek_trace_memory_segment *p = a, *q = b;
    int order = compare(p->start, q->start);
    order = order ? order : compare(p->address, q->address);
    return order ? order : compare(p->bytes, q->bytes);
}

/* ---- places ---- */

typedef struct range {
    int64_t from, to, place;
} range;

static int by_from(const void *a, const void *b)
{
    return compare(((const range *)a)->from, ((const range *)b)->from);
}

static int64_t place_of(const range *ranges, size_t n, int64_t address)
{
    size_t low = 0, high = n; /* the first range that begins after the address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].from <= address)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low > 0);
    return ranges[low - 1].place + (address - ranges[low - 1].from);
}

/* Ranges that overlap or meet become one; each gets its place. @return the number of remaining ones */
static size_t merge(range *ranges, size_t n, int64_t *height)
{
    size_t n_merged = 0;
    int64_t place = 0;
    if (n > 1)
        qsort(ranges, n, sizeof *ranges, by_from);
    for (size_t i = 0; i < n; i++) {
        range *last = n_merged > 0 ? &ranges[n_merged - 1] : NULL;
        if (last && ranges[i].from <= last->to) {
            last->to = ranges[i].to > last->to ? ranges[i].to : last->to;
            continue;
        }
        ranges[n_merged++] = ranges[i];
    }
    for (size_t i = 0; i < n_merged; i++) {
        ranges[i].place = place;
        place += ranges[i].to - ranges[i].from;
    }
    *height = place;
    return n_merged;
}

static bool find_places(ek_trace_block_map *map)
{
    size_t n = 0, most = (size_t)map->n_blocks + (size_t)map->n_segments;
    range *ranges = ek__alloc(most, sizeof *ranges);
    if (!ranges)
        return false;
    for (int i = 0; i < map->n_blocks; i++)
        ranges[n++] = (range){map->block[i].address, map->block[i].address + map->block[i].bytes, 0};
    for (int i = 0; i < map->n_segments; i++)
        ranges[n++] = (range){map->segment[i].address, map->segment[i].address + map->segment[i].bytes, 0};
    n = merge(ranges, n, &map->height);
    for (int i = 0; i < map->n_blocks; i++)
        map->block[i].place = place_of(ranges, n, map->block[i].address);
    for (int i = 0; i < map->n_segments; i++)
        map->segment[i].place = place_of(ranges, n, map->segment[i].address);
    free(ranges);
    return true;
}

/* ---- bytes over time ---- */

typedef struct change {
    int64_t time, active, reserved;
} change;

/* At one time ends come first. */
static int by_time(const void *a, const void *b)
{
    const change *p = a, *q = b;
    int order = compare(p->time, q->time);
    return order ? order : compare(p->active + p->reserved, q->active + q->reserved);
}

static void add_changes(change *changes, size_t *n, int64_t start, int64_t end, int64_t begin, int64_t active,
                        int64_t reserved)
{
    int64_t from = start == EK_TRACE_UNKNOWN ? begin : start;
    if (end != EK_TRACE_UNKNOWN && end <= from)
        return; /* not allocated during the record */
    changes[(*n)++] = (change){from, active, reserved};
    if (end != EK_TRACE_UNKNOWN)
        changes[(*n)++] = (change){end, -active, -reserved};
}

/* The peaks, and a point for every time at which something changes. */
static bool sweep(ek_trace_block_map *map, const change *changes, size_t n, ek__pool *pool)
{
    ek_trace_memory_point *points = ek__alloc(n + 1, sizeof *points);
    size_t n_points = 0;
    int64_t active = 0, reserved = 0;
    if (!points)
        return false;
    map->peak.time = map->begin;
    map->peak.active_bytes = -1;
    map->reserved_peak_bytes = map->has_addresses ? 0 : EK_TRACE_UNKNOWN;
    for (size_t i = 0; i < n || i == 0; i++) {
        if (i < n) {
            active += changes[i].active;
            reserved += changes[i].reserved;
        }
        if (i + 1 < n && changes[i + 1].time == changes[i].time)
            continue;
        int64_t time = i < n ? changes[i].time : map->begin;
        if (active > map->peak.active_bytes) {
            map->peak.active_bytes = active;
            map->peak.time = time;
        }
        if (map->has_addresses && reserved > map->reserved_peak_bytes)
            map->reserved_peak_bytes = reserved;
        points[n_points++] =
            (ek_trace_memory_point){time, 0, (double)active / MB, map->has_addresses ? (double)reserved / MB : NAN};
    }
    n_points = ek__memory_curve_thin(points, n_points);
    map->point = ek__pool_alloc(pool, n_points, sizeof *points);
    if (map->point)
        memcpy(map->point, points, n_points * sizeof *points);
    map->n_points = (int)n_points;
    free(points);
    return map->point != NULL;
}

static bool measure_curve(ek_trace_block_map *map, ek__pool *pool)
{
    size_t n = 0, most = 2 * ((size_t)map->n_blocks + (size_t)map->n_segments);
    change *changes = ek__alloc(most, sizeof *changes);
    if (!changes)
        return false;
    for (int i = 0; i < map->n_blocks; i++)
        add_changes(changes, &n, map->block[i].start, map->block[i].end, map->begin, map->block[i].bytes, 0);
    for (int i = 0; i < map->n_segments; i++)
        add_changes(changes, &n, map->segment[i].start, map->segment[i].end, map->begin, 0, map->segment[i].bytes);
    if (n > 1)
        qsort(changes, n, sizeof *changes, by_time);
    bool good = sweep(map, changes, n, pool);
    free(changes);
    return good;
}

/* ---- free memory at a time ---- */

/* A range of addresses that is reserved or taken at one time. */
typedef struct extent {
    int64_t from, to;
    bool joins;
} extent;

static int by_begin(const void *a, const void *b)
{
    const extent *p = a, *q = b;
    int order = compare(p->from, q->from);
    return order ? order : compare(p->to, q->to);
}

static void add_free(ek_trace_memory_room *room, int64_t bytes)
{
    if (bytes <= 0)
        return;
    room->free_bytes += bytes;
    room->n_free++;
    if (bytes > room->largest_free_bytes)
        room->largest_free_bytes = bytes;
}

/* Gaps between blocks within each stretch of segments that join. */
static void walk_room(const extent *segment, size_t n_segments, const extent *block, size_t n_blocks,
                      ek_trace_memory_room *room)
{
    size_t b = 0;
    for (size_t s = 0, next; s < n_segments; s = next) {
        int64_t at = segment[s].from, to = segment[s].to;
        for (next = s + 1; next < n_segments && segment[s].joins && segment[next].joins && segment[next].from == to;)
            to = segment[next++].to;
        for (; b < n_blocks && block[b].from < to; b++) {
            add_free(room, block[b].from - at);
            at = block[b].to > at ? block[b].to : at;
        }
        add_free(room, to - at);
    }
}

static int64_t rounded_up(int64_t address, int64_t rounding)
{
    int64_t over = address % rounding;
    return over ? address + (rounding - over) : address;
}

static bool measure_room(const ek_trace_block_map *map, int64_t time, int64_t rounding, ek_trace_memory_room *room)
{
    extent *blocks = ek__alloc((size_t)map->n_blocks, sizeof *blocks);
    extent *segments = ek__alloc((size_t)map->n_segments, sizeof *segments);
    size_t n_blocks = 0, n_segments = 0;
    *room = (ek_trace_memory_room){.time = time, .fragmentation = (double)NAN};
    for (int i = 0; blocks && i < map->n_blocks; i++) {
        const ek_trace_block *b = &map->block[i];
        if (!is_there(b->start, b->end, time))
            continue;
        blocks[n_blocks++] = (extent){b->address, rounded_up(b->address + b->bytes, rounding), false};
        room->n_live++;
        room->active_bytes += b->bytes;
    }
    for (int i = 0; segments && i < map->n_segments; i++) {
        const ek_trace_memory_segment *s = &map->segment[i];
        if (!is_there(s->start, s->end, time))
            continue;
        segments[n_segments++] = (extent){s->address, s->address + s->bytes, s->joins};
        room->reserved_bytes += s->bytes;
    }
    bool good = blocks && segments;
    room->n_segments = (int64_t)n_segments;
    if (good && map->has_addresses) {
        if (n_blocks > 1)
            qsort(blocks, n_blocks, sizeof *blocks, by_begin);
        if (n_segments > 1)
            qsort(segments, n_segments, sizeof *segments, by_begin);
        walk_room(segments, n_segments, blocks, n_blocks, room);
        if (room->free_bytes > 0)
            room->fragmentation = 1 - (double)room->largest_free_bytes / (double)room->free_bytes;
    } else {
        room->reserved_bytes = room->free_bytes = room->largest_free_bytes = EK_TRACE_UNKNOWN;
        room->n_segments = room->n_free = EK_TRACE_UNKNOWN;
    }
    free(blocks);
    free(segments);
    return good;
}

/* ---- sites and largest ---- */

static int by_live(const void *a, const void *b)
{
    const ek_trace_block_site *p = a, *q = b;
    int order = compare(q->live_bytes, p->live_bytes);
    order = order ? order : compare(q->bytes, p->bytes);
    order = order ? order : strcmp(p->name, q->name);
    return order ? order : compare(p->role, q->role);
}

static void sum_site(const ek_trace_block_map *map, const ek_trace_block *b, ek_trace_block_site *site)
{
    site->n++;
    site->bytes += b->bytes;
    if (is_there(b->start, b->end, map->peak.time)) {
        site->n_live++;
        site->live_bytes += b->bytes;
    }
    if (b->start != EK_TRACE_UNKNOWN && b->end == EK_TRACE_UNKNOWN) {
        site->n_never_freed++;
        site->never_freed_bytes += b->bytes;
    }
}

/* Sites of the names with blocks, sorted; blocks get the sites' indices. Blocks without a site get that of `nameless`,
 * the last one. */
static bool make_sites(ek_trace_block_map *map, const ek__block_names *names, ek__pool *pool)
{
    int n = (int)names->sites.n, nameless = n;
    ek_trace_block_site *site = ek__pool_alloc(pool, (size_t)n + 1, sizeof *site);
    int *number = ek__alloc((size_t)n + 1, sizeof *number);
    bool good = site && number;
    for (int i = 0; good && i <= n; i++) {
        const char *name = i < n ? ek__texts_at(&names->sites, (uint32_t)i) : "0(unknown)";
        site[i].role = (ek_block_role)(name[0] - '0');
        site[i].name = ek__pool_text(pool, name + 1, strlen(name + 1));
        good = site[i].name != NULL;
    }
    for (int i = 0; good && i < map->n_blocks; i++) {
        ek_trace_block *b = &map->block[i];
        b->site = b->site < 0 ? nameless : b->site;
        sum_site(map, b, &site[b->site]);
    }
    ek_trace_block_site *sorted = good ? ek__pool_alloc(pool, (size_t)n + 1, sizeof *sorted) : NULL;
    good = sorted != NULL;
    for (int i = 0; good && i <= n; i++)
        if (site[i].n > 0)
            sorted[map->n_sites++] = site[i];
    if (good && map->n_sites > 1)
        qsort(sorted, (size_t)map->n_sites, sizeof *sorted, by_live);
    for (int i = 0; good && i <= n; i++) {
        const ek_trace_block_site *at =
            site[i].n > 0 ? bsearch(&site[i], sorted, (size_t)map->n_sites, sizeof *sorted, by_live) : NULL;
        number[i] = at ? (int)(at - sorted) : -1;
    }
    for (int i = 0; good && i < map->n_blocks; i++)
        map->block[i].site = number[map->block[i].site];
    for (int i = 0; good && i < map->n_sites; i++)
        map->role_bytes[sorted[i].role] += sorted[i].live_bytes;
    map->site = sorted;
    free(number);
    return good;
}

/* The text of a stack at its first occurrence; the block gets its index. @return false when memory is out */
static bool keep_stack(ek_trace_block_map *map, ek_trace_block *b, int *number, const ek__block_names *names,
                       ek__pool *pool)
{
    if (b->stack < 0)
        return true;
    int *at = &number[b->stack];
    if (*at < 0) {
        const char *text = ek__texts_at(&names->stacks, (uint32_t)b->stack);
        *at = map->n_stacks++;
        map->stack[*at] = ek__pool_text(pool, text, strlen(text));
    }
    b->stack = *at;
    return map->stack[*at] != NULL;
}

/* Those of stored blocks. */
static bool make_stacks(ek_trace_block_map *map, const ek__block_names *names, ek__pool *pool)
{
    int n = (int)names->stacks.n;
    int *number = ek__alloc((size_t)n, sizeof *number);
    map->stack = ek__pool_alloc(pool, (size_t)n, sizeof *map->stack);
    bool good = number && map->stack;
    for (int i = 0; good && i < n; i++)
        number[i] = -1;
    for (int i = 0; good && i < map->n_blocks; i++)
        good = keep_stack(map, &map->block[i], number, names, pool);
    for (int i = 0; good && i < map->n_largest; i++)
        good = keep_stack(map, &map->largest[i], number, names, pool);
    free(number);
    return good;
}

static bool make_largest(ek_trace_block_map *map, ek__pool *pool)
{
    ek__largest largest = {.max = EK__N_LARGEST};
    for (int i = 0; i < map->n_blocks; i++)
        if (is_there(map->block[i].start, map->block[i].end, map->peak.time))
            ek__largest_add(&largest, &(ek__sized){.size = (double)map->block[i].bytes, .name = i});
    map->largest = ek__pool_alloc(pool, (size_t)largest.n, sizeof *map->largest);
    for (int i = 0; map->largest && i < largest.n; i++)
        map->largest[map->n_largest++] = map->block[largest.of[i].name];
    return map->largest != NULL;
}

static void count_kinds(ek_trace_block_map *map)
{
    for (int i = 0; i < map->n_blocks; i++) {
        const ek_trace_block *b = &map->block[i];
        if (b->start == EK_TRACE_UNKNOWN) {
            map->n_before++;
            map->before_bytes += b->bytes;
        } else if (b->end == EK_TRACE_UNKNOWN) {
            map->n_never_freed++;
            map->never_freed_bytes += b->bytes;
        }
    }
}

/* ---- stored blocks ---- */

static int by_size_falling(const void *a, const void *b)
{
    return compare(*(const int64_t *)b, *(const int64_t *)a);
}

/* Size of the smallest of the `most` largest blocks, and how many of that size are stored. @return false: no memory */
static bool find_least(const ek_trace_block_map *map, size_t most, int64_t *least, size_t *n_least)
{
    size_t n = (size_t)map->n_blocks, n_larger = 0;
    int64_t *bytes = ek__alloc(n, sizeof *bytes);
    *least = INT64_MIN;
    *n_least = 0;
    if (bytes && n > most) {
        for (size_t i = 0; i < n; i++)
            bytes[i] = map->block[i].bytes;
        qsort(bytes, n, sizeof *bytes, by_size_falling);
        *least = bytes[most - 1];
        while (bytes[n_larger] > *least)
            n_larger++;
        *n_least = most - n_larger;
    }
    free(bytes);
    return bytes != NULL;
}

/* Into the pool, without the blocks that are left out. */
static bool keep(ek_trace_block_map *map, size_t most, ek__pool *pool)
{
    size_t n = (size_t)map->n_blocks, n_kept = n < most ? n : most, k = 0, n_least;
    int64_t least;
    ek_trace_block *block = ek__pool_alloc(pool, n_kept, sizeof *block);
    ek_trace_memory_segment *segment = ek__pool_alloc(pool, (size_t)map->n_segments, sizeof *segment);
    if (!block || !segment || !find_least(map, most, &least, &n_least))
        return false;
    for (size_t i = 0; i < n; i++) {
        bool equal = map->block[i].bytes == least;
        if (map->block[i].bytes < least || (equal && n_least == 0))
            continue;
        n_least -= equal;
        block[k++] = map->block[i];
    }
    assert(k == n_kept);
    if (map->n_segments > 0)
        memcpy(segment, map->segment, (size_t)map->n_segments * sizeof *segment);
    map->block = block;
    map->segment = segment;
    map->n_all_blocks = (int64_t)n;
    map->n_blocks = (int)n_kept;
    return true;
}

/* Blocks and segments of the list, which keeps ownership. */
static void take(ek__block_list *list, ek_trace_block_map *map)
{
    map->block = list->block;
    map->segment = list->segment;
    map->n_blocks = (int)list->n;
    map->n_segments = (int)list->n_segments;
    map->n_contradictions = list->n_contradictions;
    if (map->n_blocks > 1)
        qsort(map->block, (size_t)map->n_blocks, sizeof *map->block, by_start);
    if (map->n_segments > 1)
        qsort(map->segment, (size_t)map->n_segments, sizeof *map->segment, segments_by_start);
}

ek_status ek__block_map_make(ek__block_list *list, const ek__block_names *names, int64_t rounding, size_t most,
                             ek__pool *pool, ek_trace_block_map *map, ek_error *err)
{
    assert(rounding >= 1 && most >= 1 && map->begin <= map->end);
    take(list, map);
    bool good = (!map->has_addresses || find_places(map)) && measure_curve(map, pool);
    int64_t peak = map->peak.active_bytes;
    good = good && measure_room(map, map->peak.time, rounding, &map->peak) &&
           measure_room(map, map->end, rounding, &map->last) && make_sites(map, names, pool) && make_largest(map, pool);
    assert(!good || map->peak.active_bytes == peak);
    (void)peak;
    if (good)
        count_kinds(map);
    good = good && keep(map, most, pool) && make_stacks(map, names, pool);
    return good ? EK_OK : ek__no_memory(err);
}

ek_status ek__memory_add_map(ek_trace_memory *memory, const ek_trace_block_map *map, ek__pool *pool, ek_error *err)
{
    ek_trace_block_map *larger = ek__pool_push(pool, memory->map, memory->n_maps, sizeof *larger);
    if (!larger)
        return ek__no_memory(err);
    memory->map = larger;
    memory->map[memory->n_maps++] = *map;
    return EK_OK;
}
