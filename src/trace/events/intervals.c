/* Sets of time intervals as sorted lists of disjoint ones: every operation is one merge of two lists, so that sets of
 * millions of intervals cost a few passes over them. Lengths saturate at INT64_MAX instead of overflowing; intervals
 * are half-open, so that empty ones add nothing. */
#include "trace/events/intervals.h"

#include <stdlib.h>

#include "base/error.h"

void ek__intervals_clear(ek__intervals *set)
{
    free(set->at);
    *set = (ek__intervals){0};
}

void ek__intervals_reset(ek__intervals *set)
{
    set->n = 0;
}

static bool push(ek__intervals *set, int64_t start, int64_t end)
{
    if (set->n == set->capacity) {
        ek__interval *at = ek__with_room(set->at, &set->capacity, set->n + 1, sizeof *at);
        if (!at)
            return false;
        set->at = at;
    }
    set->at[set->n++] = (ek__interval){start, end};
    return true;
}

bool ek__intervals_add(ek__intervals *set, int64_t start, int64_t end)
{
    if (end <= start)
        return true;
    ek__interval *last = set->n ? &set->at[set->n - 1] : NULL;
    if (!last || start > last->end)
        return push(set, start, end);
    if (end > last->end)
        last->end = end;
    return true;
}

bool ek__intervals_of(ek__slice slice, int64_t from, int64_t to, ek__intervals *out)
{
    ek__intervals_reset(out);
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (e->start >= to)
            break;
        if (e->start >= from && !ek__intervals_add(out, e->start, ek__event_end(e)))
            return false;
    }
    return true;
}

bool ek__intervals_unite(const ek__intervals *a, const ek__intervals *b, ek__intervals *out)
{
    size_t i = 0, j = 0;
    ek__intervals_reset(out);
    while (i < a->n || j < b->n) {
        bool of_a = j == b->n || (i < a->n && a->at[i].start <= b->at[j].start);
        ek__interval next = of_a ? a->at[i++] : b->at[j++];
        if (!ek__intervals_add(out, next.start, next.end))
            return false;
    }
    return true;
}

/* end - start as INT64_MAX at most; `end` is not before `start`. */
static int64_t span_of(int64_t start, int64_t end)
{
    uint64_t length = (uint64_t)end - (uint64_t)start;
    return length > INT64_MAX ? INT64_MAX : (int64_t)length;
}

int64_t ek__intervals_length(const ek__intervals *set)
{
    int64_t total = 0;
    for (size_t i = 0; i < set->n; i++)
        total = ek__ns_add(total, span_of(set->at[i].start, set->at[i].end));
    return total;
}

int64_t ek__intervals_common(const ek__intervals *a, const ek__intervals *b)
{
    int64_t total = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        int64_t start = a->at[i].start > b->at[j].start ? a->at[i].start : b->at[j].start;
        int64_t end = a->at[i].end < b->at[j].end ? a->at[i].end : b->at[j].end;
        if (end > start)
            total = ek__ns_add(total, span_of(start, end));
        if (a->at[i].end < b->at[j].end)
            i++;
        else
            j++;
    }
    return total;
}

int64_t ek__intervals_without(const ek__intervals *a, const ek__intervals *b)
{
    return ek__intervals_length(a) - ek__intervals_common(a, b);
}

bool ek__intervals_hold(const ek__intervals *set, int64_t time)
{
    size_t low = 0, high = set->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->at[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && time < set->at[low - 1].end;
}
