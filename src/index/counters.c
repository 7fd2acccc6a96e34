/* Writes a counter's points in order of time, with the minimum and maximum of every 64. */
#include "index/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { GATHERED = EK__GROUP_EVENTS * 64 };

/* Points to be written to the file. */
typedef struct gathered {
    size_t n;
    ek__index_point point[GATHERED];
    ek__index_range range[GATHERED / EK__GROUP_EVENTS];
} gathered;

static size_t find_ranges(gathered *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const ek__index_point *p = &g->point[i];
        if (i % EK__GROUP_EVENTS == 0)
            g->range[n++] = (ek__index_range){p->time, p->time, p->value, p->value};
        ek__index_range *range = &g->range[n - 1];
        assert(p->time >= range->end); /* sorted by time */
        range->end = p->time;
        range->least = fmin(range->least, p->value);
        range->most = fmax(range->most, p->value);
    }
    return n;
}

static ek_status add(const ek__index_file *file, gathered *g, uint64_t *points, uint64_t *ranges, double *least,
                     double *most, ek_error *err)
{
    size_t n = find_ranges(g);
    assert(g->n >= 1 && g->n <= GATHERED && n <= GATHERED / EK__GROUP_EVENTS);
    ek_status status = ek__output_write(file->output, g->point, g->n * sizeof *g->point, *points, err);
    if (status == EK_OK)
        status = ek__output_write(file->output, g->range, n * sizeof *g->range, *ranges, err);
    for (size_t i = 0; i < n; i++) {
        *least = fmin(*least, g->range[i].least);
        *most = fmax(*most, g->range[i].most);
    }
    file->advance(file->user, g->n);
    *points += g->n * sizeof *g->point;
    *ranges += n * sizeof *g->range;
    g->n = 0;
    return status;
}

ek_status ek__write_counter(const ek__index_file *file, ek__sort_stream *stream, uint32_t counter, uint64_t points,
                            uint64_t ranges, double *least, double *most, ek_error *err)
{
    gathered g;
    const uint64_t *words;
    g.n = 0;
    *least = INFINITY;
    *most = -INFINITY;
    ek_status status = ek__sort_stream_open(stream, &file->store->points, counter, err);
    while (status == EK_OK && (words = ek__sort_stream_next(stream, &status, err)) && !ek__index_stopped(file)) {
        assert(g.n < GATHERED);
        g.point[g.n].time = ek__unsort_signed(words[0]);
        memcpy(&g.point[g.n++].value, &words[1], sizeof(double));
        if (g.n == GATHERED)
            status = add(file, &g, &points, &ranges, least, most, err);
    }
    return status == EK_OK && g.n > 0 ? add(file, &g, &points, &ranges, least, most, err) : status;
}
