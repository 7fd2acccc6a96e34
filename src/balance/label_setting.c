/* Label setting for one chunk a stage under 1F1B: finds the plan with the shortest longest path of a rich family, stage
 * by stage with whole layers. A stage runs w forwards, then pairs of backward and forward, then w backwards; w does not
 * grow from stage to stage. The longest path through such lists nearly always
 *
 *   - runs the first forwards of a stage a, as many as a stage d' after it warms up with, and turns there;
 *   - runs the pairs of a stage c, which is not after d' or d;
 *   - turns at a stage d and runs the last backwards, as many as d has, of a stage b before it.
 *
 * Between these it follows one micro-batch, so stages up to c are passed once in each direction, those between c and a
 * turn once more for each. The longest such path over all a, b, c, d, d' takes one pass over the stages with a few
 * running maxima; a label holds them for the stages so far, and of labels with equal layers only the undominated are
 * kept (multi-criteria shortest paths, Martins 1984). Where communication takes time, the longest path may turn between
 * neighbours several times; the caller gives such paths, and a label has a sum for each of them. */
#include "balance/label_setting.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* State of the longest path through the stages so far. */
enum {
    PLAIN,    /* each stage once, forward and back: c is still to come */
    OPEN,     /* past c, both turns to come: each stage twice */
    WARM,     /* past c and d': each stage once */
    DRAINED,  /* past c and d */
    CLOSED,   /* past all: the path's length */
    STRAIGHT, /* m = w: one chain there and back, with all forwards or all backwards of one stage on it */
    N_REACHES
};

enum { MOST_LABELS = 1000000, MOST_COMPARED = 3000 };

#define ROUNDING     1e-13 /* of sums of as many layers */
#define GREAT_GROWTH 1.2   /* of `upper`, pass after pass */
#define GROWTH       1.02

/* A stage with some layers: its blocks with communication time, along its own list and along a chain. */
typedef struct cost {
    double forward, forward_on, backward, backward_on;
    double after;                                /* its last backward */
    double own_forward, own_backward, own_after; /* without communication */
    ek__label_fit fit;
    bool asked;
} cost;

typedef struct label {
    double reach[N_REACHES];
    double forward, backward; /* the longest so far, along their own lists */
    double down;              /* one micro-batch forward through all stages so far */
    int parent, n;            /* label of the stages before; layers of the last one */
    double along[];           /* [n_paths] sum of the stages so far for each path */
} label;

typedef struct labels {
    size_t n, capacity;
    label *label;
    size_t *first; /* [n_layers + 2] by layers placed */
} labels;

typedef struct table {
    const ek__label_stages *in;
    int n_stages;
    double upper; /* plans that take at least this long are ignored */
    int *warm_up; /* [n_stages] w, and then [n_stages] the most layers that a plan below `upper` can have there */
    int *most;
    cost *cost; /* [n_stages][n_layers + 1] where layers are alike, filled on demand; else NULL */
    /* [n_stages + 1][n_layers + 1]: the least sum of the stages from s on when so many layers are placed before them:
     * for a path that passes them once, and for one that is still PLAIN. */
    double *least_once, *least_plain;
    double *least_along; /* [n_paths][n_stages + 1][n_layers + 1]: likewise, to each path */
    size_t stride;       /* of labels, bytes */
    labels *labels;      /* [n_stages + 1] of the stages before s */
    label *candidate, *next;
    size_t n_candidates, candidate_capacity;
    bool over, no_memory;
} table;

static label *label_at(const table *t, label *from, size_t i)
{
    return (label *)(void *)((char *)from + i * t->stride);
}

/* Forwards at the start of a stage's list if it is as described above, else 0. */
static int warm_up_of(const ek_order *order, int stage)
{
    int m = order->shape.n_micro_batches, w = 0;
    assert(order->n_blocks == 2 * (size_t)m * (size_t)order->shape.n_stages); /* one chunk, two kinds of block */
    const ek_block *list = order->blocks + (size_t)stage * 2 * (size_t)m;
    while (w < m && list[w].kind == EK_FORWARD && (int)list[w].micro_batch == w)
        w++;
    for (int k = w; k < 2 * m; k++) {
        int i = k - w, paired = 2 * (m - w); /* backward, forward, ..., then only backwards */
        bool forward = i < paired && i % 2;
        int of = i >= paired ? i - (m - w) : forward ? w + i / 2 : i / 2;
        if (list[k].kind != (forward ? EK_FORWARD : EK_BACKWARD) || (int)list[k].micro_batch != of)
            return 0;
    }
    return w;
}

bool ek__label_order_applies(const ek_order *order)
{
    int before = order->shape.n_micro_batches;
    if (order->shape.n_chunks > 1 || order->n_kinds > 2 || order->n_ways > 1 || order->scale ||
        order->schedule->arrange)
        return false;
    for (int s = 0; s < order->shape.n_stages; s++) {
        int w = warm_up_of(order, s);
        if (w == 0 || w > before)
            return false;
        before = w;
    }
    return true;
}

static bool is_over(const table *t)
{
    return t->in->over && t->in->over(t->in->user);
}

/* ---- costs of a stage ---- */

/* Add communication time to the times of a stage. */
static void add_delays(const table *t, int stage, cost *out)
{
    const ek__delays *d = t->in->delays;
    int f = stage, b = t->n_stages + stage; /* slots */
    if (!d)
        return;
    out->forward += d->before[f] + d->after[f];
    out->forward_on += d->before[f] + d->travel[f];
    out->backward += d->before[b] + d->after[b];
    out->backward_on += d->before[b] + d->travel[b];
    out->after -= d->travel[b]; /* a path that ends here does not travel on */
}

static cost find_cost(table *t, int stage, int first, int n)
{
    ek__label_cost c = {0};
    cost out = {.asked = true, .fit = t->in->cost(t->in->user, stage, first, n, &c)};
    assert(out.fit != EK__LABEL_FITS || (c.forward >= 0 && c.backward >= 0 && c.after >= 0));
    t->no_memory |= out.fit == EK__LABEL_NO_MEMORY;
    t->over |= t->no_memory || out.fit == EK__LABEL_UNKNOWN;
    out.forward = out.forward_on = c.forward;
    out.backward = out.backward_on = c.backward;
    out.after = c.after;
    out.own_forward = c.forward;
    out.own_backward = c.backward;
    out.own_after = c.after;
    if (out.fit == EK__LABEL_FITS)
        add_delays(t, stage, &out);
    return out;
}

/* Pairs of a stage, and one more for the blocks about them. */
static int pairs(const table *t, int s)
{
    assert(t->warm_up[s] >= 1 && t->warm_up[s] <= t->in->order->shape.n_micro_batches);
    return t->in->order->shape.n_micro_batches - t->warm_up[s] + 1;
}

/* The term of the stage for a given path, without the path's communication. */
static double along(const table *t, int path, int s, const cost *c)
{
    const ek__label_path *of = &t->in->path[path];
    assert(path >= 0 && path < t->in->n_paths && s >= 0 && s < t->n_stages);
    return of->forward[s] * c->own_forward + of->backward[s] * c->own_backward + (of->end == s ? c->own_after : 0);
}

/* The least term of the stage for a path that passes it once, turning there or not. */
static double once(const cost *c)
{
    return fmin(c->forward, c->forward_on) + c->backward_on;
}

static double alone(const table *t, int s, const cost *c)
{
    return pairs(t, s) * (fmin(c->forward, c->forward_on) + fmin(c->backward, c->backward_on));
}

/* The cost of stage s with n layers from `first` on. @return whether it can be part of a plan below `upper`; *end is
 * set where it cannot with more layers either, since these take more of everything. */
static bool stage_cost(table *t, int s, int first, int n, cost *out, bool *end)
{
    int fixed = t->in->fixed_layers ? t->in->fixed_layers[s] : -1;
    assert(first >= 0 && n >= t->in->min_layers && first + n <= t->in->n_layers);
    *end = (fixed >= 0 && n > fixed) || (t->in->most_layers > 0 && n > t->in->most_layers);
    if (*end || (fixed >= 0 && n != fixed))
        return false;
    cost *kept = t->cost ? &t->cost[(size_t)s * ((size_t)t->in->n_layers + 1) + (size_t)n] : NULL;
    if (kept && !kept->asked)
        *kept = find_cost(t, s, first, n);
    *out = kept ? *kept : find_cost(t, s, first, n);
    bool fits = out->fit == EK__LABEL_FITS;
    *end = out->fit == EK__LABEL_NEVER || out->fit == EK__LABEL_UNKNOWN || t->no_memory ||
           (fits && alone(t, s, out) >= t->upper);
    return fits && !*end;
}

static double *least_along(const table *t, int path, int s, int l)
{
    size_t row = (size_t)t->in->n_layers + 1;
    assert(path >= 0 && s >= 0 && s <= t->n_stages && l >= 0 && (size_t)l < row);
    return &t->least_along[((size_t)path * ((size_t)t->n_stages + 1) + (size_t)s) * row + (size_t)l];
}

static void fill_least(table *t)
{
    int p = t->n_stages, L = t->in->n_layers;
    size_t row = (size_t)L + 1;
    for (size_t i = 0; i < (size_t)(p + 1) * row; i++)
        t->least_once[i] = t->least_plain[i] = INFINITY;
    for (size_t i = 0; i < (size_t)t->in->n_paths * (size_t)(p + 1) * row; i++)
        t->least_along[i] = INFINITY;
    for (int k = 0; k < t->in->n_paths; k++)
        *least_along(t, k, p, L) = 0;
    t->least_once[(size_t)p * row + (size_t)L] = 0;
    t->least_plain[(size_t)p * row + (size_t)L] = -INFINITY;
    for (int s = p - 1; s >= 0; s--) {
        t->most[s] = 0;
        for (int l = 0; l <= L && !t->over; l++) {
            double *least_once = &t->least_once[(size_t)s * row + (size_t)l];
            double *least_plain = &t->least_plain[(size_t)s * row + (size_t)l];
            const double *next_once = t->least_once + (size_t)(s + 1) * row + l;
            const double *next_plain = t->least_plain + (size_t)(s + 1) * row + l;
            cost c;
            t->over |= is_over(t);
            bool end = false;
            for (int n = t->in->min_layers; n <= L - l && !end; n++) {
                if (!stage_cost(t, s, l, n, &c, &end))
                    continue;
                t->most[s] = n > t->most[s] ? n : t->most[s];
                if (next_once[n] == INFINITY)
                    continue;
                double own = alone(t, s, &c) + (pairs(t, s) > 1 ? 2 * next_once[n] : 0);
                *least_once = fmin(*least_once, once(&c) + next_once[n]);
                *least_plain = fmin(*least_plain, fmax(own, once(&c) + next_plain[n]));
                for (int k = 0; k < t->in->n_paths; k++) {
                    double *least = least_along(t, k, s, l);
                    *least = fmin(*least, along(t, k, s, &c) + *least_along(t, k, s + 1, l + n));
                }
            }
        }
    }
}

/* ---- labels ---- */

/* Extend a label by a stage: the new lengths of its paths. */
static void extend(const label *from, const cost *c, int w, int m, label *to)
{
    double on = c->forward_on + c->backward_on, turn = c->forward + c->backward_on;
    double pair = c->forward + c->backward, rest = w - 1, middle = m - w;
    assert(w >= 1 && w <= m);
    const double *x = from->reach;
    double *y = to->reach;
    to->forward = fmax(from->forward, c->forward);
    to->backward = fmax(from->backward, c->backward);
    to->down = from->down + c->forward_on;
    double warm = rest * to->forward, drain = rest * to->backward;
    y[PLAIN] = x[PLAIN] + on;
    y[OPEN] = x[OPEN] + 2 * on;
    y[WARM] = fmax(x[WARM] + on, x[OPEN] + on + turn + warm);
    y[DRAINED] = fmax(x[DRAINED] + on, x[OPEN] + on + turn + drain);
    y[CLOSED] = fmax(fmax(x[WARM] + turn + drain, x[DRAINED] + turn + warm), x[OPEN] + 2 * turn + warm + drain);
    y[CLOSED] = fmax(fmax(x[CLOSED], y[CLOSED]), x[PLAIN] + middle * pair + turn + warm + drain);
    y[STRAIGHT] = x[STRAIGHT] + on;
    if (m > w) { /* c is here */
        double own = x[PLAIN] + middle * pair + c->forward_on + c->backward_on;
        y[OPEN] = fmax(y[OPEN], own + c->forward_on - c->forward);
        y[WARM] = fmax(y[WARM], own + warm);
        y[DRAINED] = fmax(y[DRAINED], own + drain);
    } else {
        y[STRAIGHT] = fmax(y[STRAIGHT], x[PLAIN] + on + rest * fmax(c->forward, c->backward));
    }
    assert(to->forward >= from->forward && to->backward >= from->backward && y[CLOSED] >= x[CLOSED]); /* maxima grow */
}

/* Can a plan with these first stages be shorter than `upper`? */
static bool hopeful(const table *t, const label *l, int stages, int layers, double least_once, double least_plain)
{
    const double *x = l->reach;
    double upper = t->upper;
    for (int k = 0; k < t->in->n_paths; k++)
        if (l->along[k] + *least_along(t, k, stages, layers) >= upper)
            return false;
    return x[CLOSED] < upper && fmax(fmax(x[WARM], x[DRAINED]), x[STRAIGHT]) + least_once < upper &&
           x[OPEN] + 2 * least_once < upper && x[PLAIN] + least_plain < upper;
}

static bool add_candidate(table *t, const label *candidate)
{
    label *candidates = ek__with_room(t->candidate, &t->candidate_capacity, t->n_candidates + 1, t->stride);
    if (!candidates)
        return false;
    t->candidate = candidates;
    memcpy(label_at(t, candidates, t->n_candidates++), candidate, t->stride);
    return true;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_reach(const void *a, const void *b)
{
    const label *x = a, *y = b;
    int order = 0;
    for (int k = 0; k < N_REACHES && !order; k++)
        order = compare(x->reach[k], y->reach[k]);
    order = order ? order : compare(x->forward, y->forward);
    order = order ? order : compare(x->backward, y->backward);
    order = order ? order : (x->n > y->n) - (x->n < y->n); /* so that the plan does not depend on the sort */
    return order ? order : (x->parent > y->parent) - (x->parent < y->parent);
}

static bool dominates(const label *a, const label *b, int n_paths)
{
    for (int k = 0; k < N_REACHES; k++)
        if (a->reach[k] > b->reach[k])
            return false;
    for (int k = 0; k < n_paths; k++)
        if (a->along[k] > b->along[k])
            return false;
    return a->forward <= b->forward && a->backward <= b->backward && a->down <= b->down * (1 + ROUNDING);
}

/* Move the undominated candidates to the labels; each is compared with those kept while they are few. */
static bool keep_candidates(table *t, labels *out)
{
    size_t kept = 0;
    qsort(t->candidate, t->n_candidates, t->stride, by_reach);
    for (size_t i = 0; i < t->n_candidates; i++) {
        bool dominated = false;
        for (size_t j = kept > MOST_COMPARED ? kept - MOST_COMPARED : 0; j < kept && !dominated; j++)
            dominated = dominates(label_at(t, t->candidate, j), label_at(t, t->candidate, i), t->in->n_paths);
        if (!dominated && kept++ < i)
            memcpy(label_at(t, t->candidate, kept - 1), label_at(t, t->candidate, i), t->stride);
    }
    assert(kept >= 1 && kept <= t->n_candidates); /* the first is never dominated */
    label *grown = ek__with_room(out->label, &out->capacity, out->n + kept, t->stride);
    if (!grown)
        return false;
    out->label = grown;
    memcpy(label_at(t, out->label, out->n), t->candidate, kept * t->stride);
    out->n += kept;
    return true;
}

/* Labels of the stages up to s, from those of the stages before it. */
static ek_status add_stage(table *t, int s, ek_error *err)
{
    const labels *from = &t->labels[s];
    labels *to = &t->labels[s + 1];
    int L = t->in->n_layers, w = t->warm_up[s], m = t->in->order->shape.n_micro_batches;
    assert(to->n == 0 && (s == 0 || w <= t->warm_up[s - 1])); /* it does not grow from stage to stage */
    size_t row = (size_t)(s + 1) * ((size_t)L + 1);
    for (int l = 0; l <= L && !t->over; l++) { /* layers placed up to s */
        double least_once = t->least_once[row + (size_t)l], least_plain = t->least_plain[row + (size_t)l];
        to->first[l] = to->n;
        t->n_candidates = 0;
        t->over |= is_over(t);
        bool end = least_once == INFINITY;
        for (int n = t->in->min_layers; n <= l && n <= t->most[s] && !end; n++) {
            int before = l - n;
            cost c;
            if (from->first[before] == from->first[before + 1] || !stage_cost(t, s, before, n, &c, &end))
                continue;
            for (size_t i = from->first[before]; i < from->first[before + 1]; i++) {
                const label *before_it = label_at(t, from->label, i);
                label start = *before_it, *next = t->next;
                /* The step ends after the work that follows a last backward, here or on an earlier stage. */
                start.reach[PLAIN] = fmax(start.reach[PLAIN], start.down + c.after);
                extend(&start, &c, w, m, next);
                next->parent = (int)i;
                next->n = n;
                for (int k = 0; k < t->in->n_paths; k++)
                    next->along[k] = before_it->along[k] + along(t, k, s, &c);
                if (hopeful(t, next, s + 1, l, least_once, least_plain) && !add_candidate(t, next))
                    return ek__no_memory(err);
            }
        }
        if (t->no_memory || (t->n_candidates > 0 && !keep_candidates(t, to)))
            return ek__no_memory(err);
        t->over |= to->n > MOST_LABELS;
    }
    to->first[L + 1] = to->n;
    return EK_OK;
}

static void rebuild(const table *t, const label *best, int *layers)
{
    const label *l = best;
    int left = t->in->n_layers;
    for (int s = t->n_stages - 1; s >= 0; s--) {
        assert(l->parent >= 0 && (size_t)l->parent < t->labels[s].n);
        layers[s] = l->n;
        left -= l->n;
        l = label_at(t, t->labels[s].label, s ? (size_t)l->parent : 0);
    }
    assert(left == 0);
    (void)left;
}

static double length(const table *t, const label *l)
{
    double longest = fmax(l->reach[CLOSED], l->reach[STRAIGHT]);
    for (int k = 0; k < t->in->n_paths; k++)
        longest = fmax(longest, l->along[k]);
    return longest;
}

/* The best label of all stages below `upper`; NULL when there is none. */
static ek_status run_pass(table *t, const label **best, ek_error *err)
{
    int p = t->n_stages, L = t->in->n_layers;
    *best = NULL;
    for (int s = 0; s < p && !t->over; s++) {
        t->labels[s + 1].n = 0;
        ek_status status = add_stage(t, s, err);
        if (status || t->over)
            return status;
    }
    const labels *all = &t->labels[p];
    assert(all->first[L + 1] == all->n);
    for (size_t i = all->first[L]; i < all->first[L + 1]; i++)
        if (!*best || length(t, label_at(t, all->label, i)) < length(t, *best))
            *best = label_at(t, all->label, i);
    return EK_OK;
}

static ek_status table_init(table *t, ek_error *err)
{
    size_t p = (size_t)t->n_stages, row = (size_t)t->in->n_layers + 1;
    t->warm_up = ek__alloc(2 * p, sizeof *t->warm_up);
    t->least_once = ek__alloc(2 * (p + 1) * row, sizeof *t->least_once);
    t->least_along = ek__alloc((size_t)t->in->n_paths * (p + 1) * row + 1, sizeof *t->least_along);
    t->labels = ek__alloc(p + 1, sizeof *t->labels);
    t->stride = sizeof(label) + (size_t)t->in->n_paths * sizeof(double);
    t->next = ek__alloc(1, t->stride);
    bool fine = t->warm_up && t->least_once && t->least_along && t->labels && t->next;
    for (size_t s = 0; s <= p && fine; s++)
        fine = (t->labels[s].first = ek__alloc(row + 1, sizeof(size_t))) != NULL;
    if (!fine)
        return ek__no_memory(err);
    t->least_plain = t->least_once + (p + 1) * row;
    t->most = t->warm_up + p;
    labels *none = &t->labels[0];
    none->label = ek__alloc(1, t->stride);
    if (!none->label)
        return ek__no_memory(err);
    for (int k = 0; k < t->in->n_paths; k++)
        none->label->along[k] = t->in->path[k].fixed;
    for (int k = 0; k < N_REACHES; k++)
        none->label[0].reach[k] = k == PLAIN ? 0 : -INFINITY;
    none->n = none->capacity = 1;
    for (size_t l = 1; l <= row; l++)
        none->first[l] = 1;
    for (size_t s = 0; s < p; s++)
        t->warm_up[s] = warm_up_of(t->in->order, (int)s);
    t->cost = t->in->alike ? ek__alloc(p * row, sizeof *t->cost) : NULL;
    return t->in->alike && !t->cost ? ek__no_memory(err) : EK_OK;
}

/* No plan below `upper` is shorter. */
static double least_of_all(const table *t)
{
    double least = t->least_plain[0];
    for (int k = 0; k < t->in->n_paths; k++)
        least = fmax(least, t->in->path[k].fixed + *least_along(t, k, 0, 0));
    return least;
}

/* The costs of single stages rule many plans out: large steps as long as they do. */
static double first_bound(table *t, double known, double upper)
{
    double bound = 0;
    t->upper = known > 0 ? fmin(known, upper) : upper;
    do {
        t->upper = fmin(upper, t->upper * GREAT_GROWTH);
        fill_least(t);
        if (!t->over)
            bound = fmin(t->upper, least_of_all(t));
    } while (!t->over && bound == t->upper && t->upper < upper);
    return bound;
}

ek_status ek__label_solve(const ek__label_stages *stages, double upper, int *layers, ek__label_bound *out,
                          ek_error *err)
{
    assert(ek__label_order_applies(stages->order));
    assert(stages->n_paths >= 0 && stages->n_paths <= EK__LABEL_MOST_PATHS);
    assert(stages->n_layers >= 1 && stages->min_layers >= 0 && stages->known >= 0 && upper >= 0);
    table t = {.in = stages, .n_stages = stages->order->shape.n_stages, .upper = upper};
    const label *best = NULL;
    *out = (ek__label_bound){0};
    ek_status status = table_init(&t, err);
    if (!status && !t.over)
        out->bound = fmax(fmin(stages->known, upper), first_bound(&t, stages->known, upper));
    /* A pass is fast when little is below its `upper`, so that comes up from below until a plan appears. */
    while (!status && !t.over && !best && out->bound < upper) {
        t.upper = fmin(upper, out->bound * GROWTH);
        fill_least(&t);
        if (!t.over)
            status = run_pass(&t, &best, err);
        if (!status && !t.over)
            out->bound = best ? length(&t, best) : t.upper;
        assert(out->bound <= upper);
    }
    out->found = best != NULL;
    if (best)
        rebuild(&t, best, layers);
    if (!status && t.no_memory)
        status = ek__no_memory(err);
    for (int s = 0; s <= t.n_stages && t.labels; s++) {
        free(t.labels[s].label);
        free(t.labels[s].first);
    }
    free(t.labels);
    free(t.candidate);
    free(t.next);
    free(t.least_once);
    free(t.least_along);
    free(t.cost);
    free(t.warm_up);
    return status;
}
