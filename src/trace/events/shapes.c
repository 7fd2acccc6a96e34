/* Looks up shapes of operators, stored as numbers: sorted by the start of a table's row, or by the external id that an
 * operator of PyTorch shares with the calls it makes, and found by binary search. */
#include "trace/events/shapes.h"

#include <stdlib.h>

#include "base/sort.h"
#include "base/texts.h"
#include "trace/analyse/analysis.h"

enum { SAME_NS = 1000 }; /* tolerance: a table and a trace round their times */

uint32_t ek__shape_number(const char *text, size_t size)
{
    uint64_t hash = ek__texts_hash(text, size);
    uint32_t number = (uint32_t)(hash ^ (hash >> 32));
    return number ? number : 1;
}

bool ek__shapes_add(ek__shapes *shapes, const ek__shape *one)
{
    ek__shape *room = ek__with_room(shapes->at, &shapes->capacity, shapes->n + 1, sizeof *room);
    if (!room)
        return false;
    shapes->at = room;
    room[shapes->n++] = *one;
    return true;
}

static int by_key(const void *a, const void *b)
{
    const ek__shape *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->duration > y->duration) - (x->duration < y->duration);
}

void ek__shapes_sort(ek__shapes *shapes)
{
    ek__sort(shapes->at, shapes->n, sizeof *shapes->at, by_key);
}

void ek__shapes_clear(ek__shapes *shapes)
{
    free(shapes->at);
    *shapes = (ek__shapes){0};
}

/* The first with that key or a larger one. */
static size_t lower(const ek__shapes *shapes, int64_t key)
{
    size_t low = 0, high = shapes->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shapes->at[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ek_status ek__shapes_by_link(ek__slice slice, bool (*take)(const ek__event *e), uint32_t (*tells)(const ek__event *e),
                             ek__shapes *out, ek_error *err)
{
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (take(e) && !ek__shapes_add(out, &(ek__shape){e->link, (int64_t)i, tells(e)}))
            return ek__no_memory(err);
    }
    ek__shapes_sort(out);
    return EK_OK;
}

uint32_t ek__shapes_told(const ek__shapes *shapes, uint32_t link)
{
    size_t at = link ? lower(shapes, link) : shapes->n;
    return at < shapes->n && shapes->at[at].key == link ? shapes->at[at].shape : 0;
}

static bool near(int64_t a, int64_t b)
{
    int64_t difference = ek__ns_sub(a, b);
    return difference <= SAME_NS && difference >= -SAME_NS;
}

static uint32_t shape_in_table(const ek__shapes *rows, const ek__event *kernel)
{
    for (size_t i = lower(rows, ek__ns_sub(kernel->start, SAME_NS)); i < rows->n; i++) {
        if (!near(rows->at[i].key, kernel->start))
            return 0;
        if (near(rows->at[i].duration, kernel->duration))
            return rows->at[i].shape;
    }
    return 0;
}

ek_status ek__shape_finder_make(const ek__trace *trace, ek__shape_finder *out, ek_error *err)
{
    ek__shape_finder finder = {.trace = trace};
    ek__slice slice = trace->of[EK__EVENT_SHAPE];
    for (size_t i = 0; i < slice.n; i++)
        if (!ek__shapes_add(&finder.by_id, &(ek__shape){slice.event[i].link, 0, slice.event[i].detail})) {
            ek__shapes_clear(&finder.by_id);
            return ek__no_memory(err);
        }
    ek__shapes_sort(&finder.by_id);
    *out = finder;
    return EK_OK;
}

void ek__shape_finder_clear(ek__shape_finder *finder)
{
    ek__shapes_clear(&finder->by_id);
}

uint32_t ek__shape_of(const ek__shape_finder *finder, const ek__event *kernel)
{
    const ek__trace *trace = finder->trace;
    if (trace->producer != EK_PRODUCER_KINETO)
        return trace->shapes ? shape_in_table(trace->shapes, kernel) : 0;
    const ek__event *launch = ek__launch_of(trace, kernel);
    return launch ? ek__shapes_told(&finder->by_id, launch->detail) : 0;
}
