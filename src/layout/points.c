/* Thins the layouts of a search to points of a picture, since a million of them would overlap. A grid over log step and
 * log memory has as many cells as points are allowed; each cell keeps its least bound. Layouts with a plan and those on
 * the front of the bounds are always kept, so no conclusion is lost. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/layout_picture.h"
#include "layout/points.h"
#include "layout/search.h"

enum { LEAST_ROOM = 1024 }; /* for others, if plans take all */

typedef struct grid {
    double low[2], high[2]; /* log step, log memory */
    int side;
    long *kept; /* [side x side] point of a cell; -1 */
} grid;

static void place_of(const ek_layout_point *p, double at[2])
{
    at[0] = log(fmax(p->least_seconds, 1e-30));
    at[1] = log(fmax(p->least_mb, 1e-30));
}

static void measure(grid *g, const ek_layout_point *point, long n)
{
    g->low[0] = g->low[1] = INFINITY;
    g->high[0] = g->high[1] = -INFINITY;
    for (long i = 0; i < n; i++) {
        double at[2];
        place_of(&point[i], at);
        for (int k = 0; k < 2 && !point[i].found; k++) {
            g->low[k] = fmin(g->low[k], at[k]);
            g->high[k] = fmax(g->high[k], at[k]);
        }
    }
}

static long cell_of(const grid *g, const ek_layout_point *p)
{
    double at[2];
    long cell = 0;
    place_of(p, at);
    for (int k = 0; k < 2; k++) {
        double share = g->high[k] > g->low[k] ? (at[k] - g->low[k]) / (g->high[k] - g->low[k]) : 0;
        cell = cell * g->side + (long)fmin(g->side - 1, share * g->side);
    }
    return cell;
}

static bool is_better(const ek_layout_point *a, const ek_layout_point *b)
{
    return a->least_seconds != b->least_seconds ? a->least_seconds < b->least_seconds : a->least_mb < b->least_mb;
}

static void fill_grid(grid *g, const ek_layout_point *point, long n)
{
    for (long c = 0; c < (long)g->side * g->side; c++)
        g->kept[c] = -1;
    for (long i = 0; i < n; i++) {
        if (point[i].found)
            continue;
        long *kept = &g->kept[cell_of(g, &point[i])];
        if (*kept < 0 || is_better(&point[i], &point[*kept]))
            *kept = i;
    }
}

/* The front of the bounds of layouts without a plan: each omitted layout is above one of these. */
static ek_status keep_front(const ek_layout_point *point, long n, bool *stays, ek_error *err)
{
    ek_layout_point *others = ek__alloc((size_t)n + 1, sizeof *others);
    long *at = ek__alloc((size_t)n + 1, sizeof *at), n_others = 0;
    ek_layout_front front = {0};
    if (!others || !at) {
        free(others);
        free(at);
        return ek__no_memory(err);
    }
    for (long i = 0; i < n; i++)
        if (!point[i].found) {
            at[n_others] = i;
            others[n_others++] = point[i];
        }
    ek_status status = ek_layout_front_of_bounds(others, n_others, &front, err);
    for (long i = 0; i < front.n; i++)
        stays[at[front.at[i]]] = true;
    ek_layout_front_clear(&front);
    free(others);
    free(at);
    return status;
}

static ek_status choose(const ek_layout_point *point, long n, long room, bool *stays, ek_error *err)
{
    grid g = {.side = (int)sqrt((double)room)};
    g.kept = ek__alloc((size_t)g.side * (size_t)g.side, sizeof *g.kept);
    if (!g.kept)
        return ek__no_memory(err);
    measure(&g, point, n);
    fill_grid(&g, point, n);
    for (long c = 0; c < (long)g.side * g.side; c++)
        if (g.kept[c] >= 0)
            stays[g.kept[c]] = true;
    free(g.kept);
    return keep_front(point, n, stays, err);
}

ek_status ek__layout_thin(ek_layout_point *point, long *n, long most, ek_error *err)
{
    long n_found = 0, n_kept = 0;
    for (long i = 0; i < *n; i++)
        n_found += point[i].found;
    if (*n <= most)
        return EK_OK;
    bool *stays = ek__alloc((size_t)*n, sizeof *stays);
    if (!stays)
        return ek__no_memory(err);
    long room = most - n_found;
    ek_status status = choose(point, *n, room > LEAST_ROOM ? room : LEAST_ROOM, stays, err);
    for (long i = 0; i < *n && !status; i++)
        if (stays[i] || point[i].found)
            point[n_kept++] = point[i];
    if (!status)
        *n = n_kept;
    free(stays);
    return status;
}

static bool is_shown(const ek__candidate *c)
{
    return c->fate != EK_FATE_ILLEGAL && c->fate != EK_FATE_NO_PLAN && isfinite(c->bound);
}

static ek_layout_point point_of(const ek__layout_search *search, const ek__candidate *c)
{
    bool found = isfinite(c->seconds);
    return (ek_layout_point){.layout = ek__candidate_layout(search, c),
                             .fate = c->fate,
                             .found = found,
                             .seconds = (float)(found ? c->seconds : c->bound),
                             .peak_mb = found ? c->plan_mb : c->peak_mb,
                             .least_seconds = (float)fmin(c->bound, c->seconds),
                             .least_mb = found ? fminf(c->peak_mb, c->plan_mb) : c->peak_mb};
}

ek_status ek__layout_points(const ek__layout_search *search, ek_layout_result *out)
{
    ek_layout_point *point = ek__alloc(search->n + 1, sizeof *point);
    long n = 0;
    if (!point)
        return ek__no_memory(search->err);
    for (size_t i = 0; i < search->n; i++)
        if (is_shown(&search->candidate[i]))
            point[n++] = point_of(search, &search->candidate[i]);
    ek_status status = ek__layout_thin(point, &n, EK_MOST_LAYOUT_POINTS, search->err);
    if (status) {
        free(point);
        return status;
    }
    ek_layout_point *fitted = realloc(point, ((size_t)n + 1) * sizeof *point);
    out->point = fitted ? fitted : point;
    out->n_points = n;
    return EK_OK;
}
