/* Computes a counter's curve as columns of a picture: minimum, maximum and last value of the points in each. Points are
 * sorted by time and summed up in ranges of 64. For a range within one column that is not the column's last, the sum is
 * sufficient; other ranges are read, neighbours together. The point before the picture comes first and the point after
 * it last, so that lines reach its borders. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "index/opened.h"

enum { BATCH_RANGES = 16, KEPT_RANGES = 128 /* 4 KB */, LEAST_COLUMNS = 8 };

typedef struct curve {
    const ek__index_opened *file;
    const ek__index_counter *counter;
    uint64_t n_ranges;
    uint64_t first_kept; /* those in `kept` */
    uint32_t n_kept;
    ek__index_range kept[KEPT_RANGES];
    int64_t begin, end, resolution; /* of the file's clock; resolution 1 or more */
    ek__index_curve_point *out;     /* times of the file's clock */
    size_t n, capacity;
    int64_t column; /* of the last point of out */
    ek__index_point point[BATCH_RANGES * EK__GROUP_EVENTS];
    ek_status status; /* of reading */
    ek_error *err;
} curve;

static int64_t column_of(const curve *c, int64_t time)
{
    assert(c->resolution >= 1);
    if (time < c->begin)
        return -1;
    return time >= c->end ? INT64_MAX : ek__ns_sub(time, c->begin) / c->resolution;
}

static void add(curve *c, int64_t time, double least, double most, double last)
{
    int64_t column = column_of(c, time);
    assert(c->n <= c->capacity);
    if (!isfinite(least) || !isfinite(most) || !isfinite(last))
        return;
    if (c->n > 0 && c->column == column) {
        ek__index_curve_point *p = &c->out[c->n - 1];
        if (column == -1) {
            *p = (ek__index_curve_point){time, least, most, last}; /* only the one right before the picture */
        } else if (column < INT64_MAX) {                           /* and only the first one after it */
            p->least = least < p->least ? least : p->least;
            p->most = most > p->most ? most : p->most;
            p->last = last;
        }
    } else if (c->n < c->capacity) {
        c->out[c->n++] = (ek__index_curve_point){time, least, most, last};
        c->column = column;
    }
}

/* Ranges are read a part at a time, from `r` on. On failure c->status is set and the ranges are zeros. */
static ek__index_range range_at(curve *c, uint64_t r)
{
    assert(r < c->n_ranges);
    if (c->status == EK_OK && (r < c->first_kept || r - c->first_kept >= c->n_kept)) {
        uint64_t rest = c->n_ranges - r,
                 at = c->file->header.ranges.at + (c->counter->first_range + r) * sizeof *c->kept;
        c->first_kept = r;
        c->n_kept = rest < KEPT_RANGES ? (uint32_t)rest : KEPT_RANGES;
        c->status = ek__index_read_bytes(c->file, at, c->kept, c->n_kept * sizeof *c->kept, c->err);
    }
    return c->status == EK_OK ? c->kept[r - c->first_kept] : (ek__index_range){0};
}

static uint64_t first_range(curve *c)
{
    uint64_t low = 0, high = c->n_ranges;
    while (low < high && c->status == EK_OK) {
        uint64_t middle = low + (high - low) / 2;
        if (range_at(c, middle).end < c->begin)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low <= c->n_ranges);
    return low > 0 ? low - 1 : 0; /* its last point is the one before the picture */
}

/* In one column, with a later range in the same column? */
static bool is_inner(curve *c, uint64_t r)
{
    ek__index_range range = range_at(c, r);
    int64_t column = column_of(c, range.begin);
    return column >= 0 && column < INT64_MAX && column_of(c, range.end) == column && r + 1 < c->n_ranges &&
           column_of(c, range_at(c, r + 1).begin) == column;
}

/* The points of ranges [from, to), up to BATCH_RANGES of them. */
static void add_points(curve *c, uint64_t from, uint64_t to)
{
    assert(from < to && to <= c->n_ranges && to - from <= BATCH_RANGES);
    uint64_t first = from * EK__GROUP_EVENTS, end = to * EK__GROUP_EVENTS;
    end = end < c->counter->n_points ? end : c->counter->n_points;
    assert(first < end && end - first <= BATCH_RANGES * EK__GROUP_EVENTS); /* places of `point` */
    size_t n = (size_t)(end - first);
    uint64_t at = c->file->header.points.at + (c->counter->first_point + first) * sizeof *c->point;
    if (c->status == EK_OK)
        c->status = ek__index_read_bytes(c->file, at, c->point, n * sizeof *c->point, c->err);
    for (size_t i = 0; i < n && c->status == EK_OK; i++)
        add(c, c->point[i].time, c->point[i].value, c->point[i].value, c->point[i].value);
}

static void walk(curve *c)
{
    for (uint64_t r = first_range(c); r < c->n_ranges && c->status == EK_OK;) {
        uint64_t from = r;
        if (is_inner(c, r)) {
            ek__index_range range = range_at(c, r);
            add(c, range.begin, range.least, range.most, range.most);
            r++;
            continue;
        }
        while (r < c->n_ranges && r - from < BATCH_RANGES && !is_inner(c, r) &&
               (r == from || range_at(c, r).begin < c->end))
            r++;
        if (c->status != EK_OK)
            return;
        assert(r > from); /* ensures termination */
        add_points(c, from, r);
        if (c->n > 0 && c->column == INT64_MAX)
            return;
    }
}

ek_status ek__index_curve(const ek_trace_index *index, int counter, int64_t begin, int64_t end, int64_t resolution,
                          ek__index_curve_point *out, size_t capacity, size_t *n, ek_error *err)
{
    ek__index_counter_info info = ek__index_describe_counter(index, counter);
    if (info.file < 0 || capacity < LEAST_COLUMNS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no counter %d; counters are numbered from 0 to %d",
                        counter, index->n_counters - 1);
    const ek__index_opened *f = &index->file[info.file];
    const ek__index_counter *own = &f->counter[counter - f->first_counter];
    int64_t length = ek__ns_sub(end, begin), enough = length > 0 ? length / (int64_t)(capacity - 4) + 1 : 1;
    curve *c = malloc(sizeof *c);
    if (!c)
        return ek__no_memory(err);
    *c = (curve){.file = f,
                 .counter = own,
                 .n_ranges = (own->n_points + EK__GROUP_EVENTS - 1) / EK__GROUP_EVENTS,
                 .begin = ek__index_of_file(f, begin),
                 .end = ek__index_of_file(f, end),
                 .resolution = resolution > 0 ? resolution : 1,
                 .out = out,
                 .capacity = capacity,
                 .err = err};
    if (own->n_points + 2 > capacity && c->resolution < enough)
        c->resolution = enough;
    walk(c);
    ek_status status = c->status;
    assert(c->n <= capacity);
    for (size_t i = 0; i < c->n; i++)
        out[i].time = ek__index_shown(f, out[i].time);
    if (status == EK_OK)
        *n = c->n;
    free(c);
    return status;
}
