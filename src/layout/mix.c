/* Computes the bound of a mix of paths. With A_c and B_c the times that a mean path passes a cell's forward and
 * backward blocks, e_s the share of paths that end on stage s,
 *
 *     T >= sends + ends + sum over layers in cell c of (A_c f + B_c (b + again) + e_s exposed + u_s update)
 *
 * where u_s are any weights of the stages' updates, the longest of which ends the step.
 *
 * Layers of other kinds are placed where they add least, as if they took no memory. With n layers of the commonest
 * kind, a stage takes at least, for any price u >= 0 of its memory,
 *
 *     g(n) = sum over forced chunks of min (cost + u bytes) + (n - forced) min over all of (cost + u bytes) - u room
 *
 * with the minima over the ways of recomputation: the Lagrangian of layers in fractions. Bytes are those of a mean
 * moment, which are within the room if those of all moments are. The relevant prices are the corners of these minima. g
 * is convex in n, so the distribution over the stages has least cost if each next layer goes to the stage where it adds
 * least. */
#include "layout/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/program.h"

/* ---- mixes ---- */

bool ek__mixes_apply(const ek_schedule *schedule)
{
    return !schedule->arrange && !schedule->splits_backward && schedule->placement == EK_PLACE_WRAP;
}

static bool no_more(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] > b[i])
            return false;
    return true;
}

static bool add_live(ek__live *live, size_t *capacity, const double *alive, int n)
{
    int kept = 0;
    for (int k = 0; k < live->n; k++)
        if (no_more(alive, live->vectors + (size_t)k * (size_t)n, n))
            return true;
    for (int k = 0; k < live->n; k++)
        if (!no_more(live->vectors + (size_t)k * (size_t)n, alive, n))
            memmove(live->vectors + (size_t)kept++ * (size_t)n, live->vectors + (size_t)k * (size_t)n,
                    (size_t)n * sizeof *alive);
    double *grown = ek__with_room(live->vectors, capacity, ((size_t)kept + 1) * (size_t)n, sizeof *grown);
    if (!grown)
        return false;
    live->vectors = grown;
    memcpy(grown + (size_t)kept * (size_t)n, alive, (size_t)n * sizeof *alive);
    live->n = kept + 1;
    return true;
}

static bool find_moments_of(ek__mixes *m, int stage)
{
    size_t per_stage = m->order->n_blocks / (size_t)m->p, capacity[EK_MAX_CHUNKS] = {0}, in_embedding = 0;
    const ek_block *block = m->order->blocks + (size_t)stage * per_stage;
    double alive[EK_MAX_CHUNKS] = {0};
    for (size_t k = 0; k < per_stage; k++) {
        int chunk = block[k].chunk;
        if (block[k].kind == EK_FORWARD) {
            alive[chunk]++;
            continue;
        }
        if (!add_live(&m->running[chunk * m->p + stage], &capacity[chunk], alive, m->v))
            return false;
        alive[chunk]--;
        if (stage == 0 && chunk == 0 && !add_live(&m->in_embedding, &in_embedding, alive, m->v))
            return false;
    }
    return true;
}

static bool find_moments(ek__mixes *m)
{
    m->running = ek__alloc((size_t)m->n_cells, sizeof *m->running);
    bool fine = m->running != NULL;
    for (int s = 0; s < m->p && fine; s++)
        fine = find_moments_of(m, s);
    return fine;
}

ek_status ek__mixes_new(const ek_schedule *schedule, int p, int v, int m, ek__mixes **out, ek_error *err)
{
    const ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = m, .n_pieces = 1};
    ek__mixes *made = ek__alloc(1, sizeof *made);
    if (!made)
        return ek__no_memory(err);
    *made = (ek__mixes){.schedule = schedule, .p = p, .v = v, .m = m, .n_cells = p * v};
    ek_status status = ek_order_new(schedule, &shape, &made->order, err);
    if (!status && !find_moments(made))
        status = ek__no_memory(err);
    if (status)
        ek__mixes_free(made);
    else
        *out = made;
    return status;
}

void ek__mixes_free(ek__mixes *mixes)
{
    if (!mixes)
        return;
    for (size_t i = 0; i < mixes->n; i++)
        ek__mix_free(mixes->mix[i]);
    free(mixes->mix);
    for (int c = 0; c < mixes->n_cells && mixes->running; c++)
        free(mixes->running[c].vectors);
    free(mixes->running);
    free(mixes->in_embedding.vectors);
    ek_order_free(mixes->order);
    free(mixes);
}

ek__mix *ek__mix_new(const ek__mixes *of)
{
    size_t cells = (size_t)of->n_cells, p = (size_t)of->p;
    ek__mix *made = ek__alloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->forward = ek__alloc(4 * cells + 4 * p + 1, sizeof *made->forward);
    if (!made->forward) {
        free(made);
        return NULL;
    }
    made->backward = made->forward + cells;
    made->live = made->backward + cells;
    made->running = made->live + cells;
    made->edge[0] = made->running + cells;
    made->edge[1] = made->edge[0] + p;
    made->end = made->edge[1] + p;
    made->update = made->end + p;
    made->in_embedding = made->update + p;
    return made;
}

void ek__mix_zero(const ek__mixes *of, ek__mix *mix)
{
    memset(mix->forward, 0, (4 * (size_t)of->n_cells + 4 * (size_t)of->p + 1) * sizeof *mix->forward);
}

void ek__mix_copy(const ek__mixes *of, const ek__mix *from, ek__mix *to)
{
    memcpy(to->forward, from->forward, (4 * (size_t)of->n_cells + 4 * (size_t)of->p + 1) * sizeof *to->forward);
}

void ek__mix_free(ek__mix *mix)
{
    if (mix)
        free(mix->forward);
    free(mix);
}

ek_status ek__mixes_add(ek__mixes *mixes, ek__mix *mix, ek_error *err)
{
    ek__mix **grown = ek__with_room(mixes->mix, &mixes->capacity, mixes->n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    mixes->mix = grown;
    grown[mixes->n++] = mix;
    return EK_OK;
}

/* ---- a layout ---- */

/* Every chunk has at least one layer, so the i-th layer is in one of the first i cells, and likewise from the end. */
static void list_groups(ek__mix_layout *l)
{
    const ek__bound_figures *f = l->figures;
    int n = f->n_layers, cells = l->mixes->n_cells;
    l->group[l->n_groups++] = (ek__mix_group){f->alike_kind, f->n_alike, 0, cells - 1, 0};
    for (int i = 0; i < n; i++) {
        int kind = f->kind_of[ek__layer_graph_kind(f->job, i)];
        int low = cells - (n - i) > 0 ? cells - (n - i) : 0, high = i < cells - 1 ? i : cells - 1;
        ek__mix_group *last = &l->group[l->n_groups - 1];
        if (kind == f->alike_kind)
            continue;
        if (l->n_groups > 1 && last->kind == kind && last->low == low && last->high == high &&
            last->first + last->n == i)
            last->n++;
        else
            l->group[l->n_groups++] = (ek__mix_group){kind, 1, low, high, i};
    }
}

/* The backward pass of the last cell begins with the head's; after that, the head's saved activations of the
 * micro-batch are freed.
 */
static void set_transients(ek__mix_layout *l)
{
    const ek__bound_figures *f = l->figures;
    int last = l->mixes->n_cells - 1;
    l->in_embedding = (double)f->ends_transient[0];
    for (int c = 0; c <= last; c++)
        l->transient[c] = (double)ek__bound_transient(f, c, last + 1, false);
    l->transient[last] = fmax(l->transient[last] - (double)f->tail_kept, (double)f->ends_transient[1]);
}

ek_status ek__mix_layout_init(ek__mix_layout *layout, const ek__bound_figures *figures, const ek_device *device,
                              const ek__mixes *mixes, ek_error *err)
{
    const ek_job *job = figures->job;
    bool beside = job->run.overlap_p2p_interleaved ? mixes->v > 1 : job->run.overlap_p2p; /* the figures' job has one */
    *layout = (ek__mix_layout){.figures = figures, .mixes = mixes, .blocking = !beside};
    layout->edge = ek__alloc((size_t)mixes->p + (size_t)mixes->n_cells, sizeof *layout->edge);
    layout->group = ek__alloc((size_t)figures->n_layers + 1, sizeof *layout->group);
    if (!layout->edge || !layout->group) {
        ek__mix_layout_clear(layout);
        return ek__no_memory(err);
    }
    for (int s = 0; s < mixes->p; s++)
        layout->edge[s] = ek__bound_edge(job, device, s);
    double ends[2];
    ek__bound_exposed(figures, mixes->v, true, layout->exposed[1], layout->ends);
    ek__bound_exposed(figures, mixes->v, false, layout->exposed[0], ends);
    layout->ends[1] = mixes->p > 1 ? ends[1] : layout->ends[1];
    layout->limit = job->limit_mb > 0 ? job->limit_mb * 1048576 - (double)figures->constants : INFINITY;
    layout->transient = layout->edge + mixes->p;
    set_transients(layout);
    list_groups(layout);
    return EK_OK;
}

void ek__mix_layout_clear(ek__mix_layout *layout)
{
    free(layout->edge);
    free(layout->group);
    layout->edge = NULL;
    layout->group = NULL;
}

double ek__mix_exposed(const ek__mix_layout *layout, int kind, int cell)
{
    int p = layout->mixes->p;
    return layout->exposed[cell % p == 0][kind][cell / p];
}

bool ek__mix_forced(const ek__mix_layout *layout, int place)
{
    const ek__bound_figures *f = layout->figures;
    return place >= f->n_before && layout->mixes->n_cells - 1 - place >= f->n_behind;
}

double ek__mix_cost(const ek__mix_layout *layout, const ek__mix *mix, int kind, int way, int cell)
{
    const ek__bound_figures *f = layout->figures;
    int p = layout->mixes->p;
    return mix->forward[cell] * f->kind[kind].forward +
           mix->backward[cell] * (f->kind[kind].backward + f->kind[kind].again[way]) +
           mix->end[cell % p] * ek__mix_exposed(layout, kind, cell) + mix->update[cell % p] * f->kind[kind].update;
}

/* ---- a stage ---- */

/* A layer in a chunk, recomputed in one way: its cost at a price of memory is cost + price x bytes. */
typedef struct layer_line {
    double cost, bytes;
} layer_line;

/* g(n) >= start + each x n. */
typedef struct stage_line {
    double start, each;
} stage_line;

typedef struct stage {
    int n_forced, n_prices, most; /* layers of the commonest kind */
    double room;
    stage_line *value; /* [n_prices] */
} stage;

/* Alternative lines: those of a layer of the commonest kind in a forced chunk, or of another layer that can be in only
 * one cell. */
typedef struct line_set {
    int first, n;
    bool other;
} line_set;

/* Arrays for stages: for one stage at a time, except for the values. */
typedef struct bounder {
    const ek__mix_layout *layout;
    const ek__mix *mix;
    int n_lines, n_sets, n_alike; /* lines of the commonest kind come first */
    layer_line *line;
    line_set *set;
    double *price;
    stage *stages; /* [n_stages] */
} bounder;

static double least_at(const layer_line *line, int n, double price)
{
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        least = fmin(least, line[i].cost + price * line[i].bytes);
    return least;
}

static double least_bytes(const layer_line *line, int n)
{
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        least = fmin(least, line[i].bytes);
    return least;
}

/* The corners of the minimum of the lines over prices. @return their number */
static int list_corners(const layer_line *line, int n, double *price)
{
    int at = 0, n_corners = 0;
    for (int i = 1; i < n; i++)
        if (line[i].cost < line[at].cost || (line[i].cost == line[at].cost && line[i].bytes < line[at].bytes))
            at = i;
    for (int to = at; to >= 0; at = to) {
        double next = INFINITY;
        to = -1;
        for (int i = 0; i < n; i++) {
            double corner = line[i].bytes < line[at].bytes
                                ? (line[i].cost - line[at].cost) / (line[at].bytes - line[i].bytes)
                                : INFINITY;
            if (corner < next || (to >= 0 && corner == next && line[i].bytes < line[to].bytes)) {
                next = corner;
                to = i;
            }
        }
        if (to >= 0)
            price[n_corners++] = next;
    }
    return n_corners;
}

double ek__mix_room(const ek__mix_layout *layout, int at, double live_on_last, double transient)
{
    const ek__bound_figures *f = layout->figures;
    double room = layout->limit - transient;
    if (at == 0)
        room -= (double)f->head_bytes;
    if (at == layout->mixes->p - 1)
        room -= (f->job->model.tied ? 0 : (double)f->tail_bytes) + live_on_last * (double)f->tail_kept;
    return room;
}

double ek__mix_transient(const ek__mix_layout *layout, const ek__mix *mix, int at)
{
    double sum = at == 0 ? *mix->in_embedding * layout->in_embedding : 0;
    for (int c = at; c < layout->mixes->n_cells; c += layout->mixes->p)
        sum += mix->running[c] * layout->transient[c];
    return sum;
}

/* The ways of recomputing a layer in a cell. */
static void add_lines(bounder *b, int kind, int cell)
{
    const ek__bound_figures *f = b->layout->figures;
    for (int way = 0; way < EK_N_RECOMPUTE; way++)
        if (f->kind[kind].again[way] < INFINITY)
            b->line[b->n_lines++] = (layer_line){.cost = ek__mix_cost(b->layout, b->mix, kind, way, cell),
                                                 .bytes = (double)f->kind[kind].bytes +
                                                          b->mix->live[cell] * (double)f->kind[kind].kept[way]};
}

static bool is_pinned(const ek__mix_group *group)
{
    return group->low == group->high;
}

static void list_lines(bounder *b, int at)
{
    const ek__mix_layout *layout = b->layout;
    const ek__mixes *m = layout->mixes;
    b->n_lines = b->n_sets = 0;
    for (int cell = at; cell < m->n_cells; cell += m->p) {
        int first = b->n_lines;
        add_lines(b, layout->figures->alike_kind, cell);
        if (!ek__mix_forced(layout, cell))
            continue;
        if (layout->figures->first_full > 0) /* whole, which is the last way */
            first = b->n_lines - 1;
        b->set[b->n_sets++] = (line_set){first, b->n_lines - first, false};
    }
    b->n_alike = b->n_lines;
    for (int i = 1; i < layout->n_groups; i++) {
        const ek__mix_group *group = &layout->group[i];
        if (!is_pinned(group) || group->low % m->p != at)
            continue;
        int first = b->n_lines;
        add_lines(b, group->kind, group->low);
        for (int k = 0; k < group->n; k++)
            b->set[b->n_sets++] = (line_set){first, b->n_lines - first, true};
    }
}

/* The most layers that fit, with the fewest saved activations. */
static int most_layers(const bounder *b, const stage *s)
{
    int all = b->layout->figures->n_alike;
    double room = s->room, each = least_bytes(b->line, b->n_alike);
    if (!isfinite(room) || each <= 0)
        return all;
    for (int i = 0; i < b->n_sets; i++)
        room -= least_bytes(b->line + b->set[i].first, b->set[i].n);
    double more = floor(room / each * (1 + 1e-9) + 1e-9);
    return more < 0 ? -1 : s->n_forced + more > all ? all : s->n_forced + (int)more;
}

static int list_prices(bounder *b, const stage *s)
{
    int n = 0;
    b->price[n++] = 0;
    if (!isfinite(s->room))
        return n;
    for (int i = 0; i < b->n_sets; i++)
        if (i == 0 || b->set[i].first != b->set[i - 1].first)
            n += list_corners(b->line + b->set[i].first, b->set[i].n, b->price + n);
    return n + list_corners(b->line, b->n_alike, b->price + n);
}

static void open_stage(bounder *b, int at)
{
    stage *s = &b->stages[at];
    list_lines(b, at);
    s->room = ek__mix_room(b->layout, at, b->mix->live[b->layout->mixes->n_cells - 1],
                           ek__mix_transient(b->layout, b->mix, at));
    s->n_forced = 0;
    for (int i = 0; i < b->n_sets; i++)
        s->n_forced += !b->set[i].other;
    s->most = most_layers(b, s);
    s->n_prices = list_prices(b, s);
    for (int j = 0; j < s->n_prices; j++) {
        double price = b->price[j], each = least_at(b->line, b->n_alike, price);
        s->value[j] = (stage_line){.start = (price > 0 ? -price * s->room : 0) - s->n_forced * each, .each = each};
        for (int i = 0; i < b->n_sets; i++)
            s->value[j].start += least_at(b->line + b->set[i].first, b->set[i].n, price);
    }
}

static double stage_value(const stage *s, int n)
{
    double most = -INFINITY;
    for (int j = 0; j < s->n_prices; j++)
        most = fmax(most, s->value[j].start + s->value[j].each * n);
    return n > s->most ? INFINITY : most;
}

/* ---- all stages ---- */

/* The embedding, the head, the sends, and layers of other kinds that may be in several cells. */
static double besides(const ek__mix_layout *layout, const ek__mix *mix)
{
    const ek__bound_figures *f = layout->figures;
    const ek__mixes *m = layout->mixes;
    int last = m->n_cells - 1;
    double sum = mix->forward[0] * (f->head - f->head_backward) + mix->backward[0] * f->head_backward +
                 mix->forward[last] * (f->tail - f->tail_backward) + mix->backward[last] * f->tail_backward;
    sum += mix->end[0] * layout->ends[0] + mix->end[m->p - 1] * layout->ends[1];
    sum += mix->update[0] * f->head_update + mix->update[m->p - 1] * f->tail_update;
    for (int s = 0; s < m->p; s++)
        sum += mix->edge[layout->blocking][s] * layout->edge[s];
    for (int i = 1; i < layout->n_groups; i++) {
        const ek__mix_group *group = &layout->group[i];
        double least = INFINITY;
        for (int c = group->low; c <= group->high && !is_pinned(group); c++)
            least = fmin(least, ek__mix_cost(layout, mix, group->kind, EK_RECOMPUTE_NONE, c));
        sum += is_pinned(group) ? 0 : group->n * least;
    }
    return sum;
}

typedef struct sharing {
    int n;            /* layers */
    double now, next; /* value of n layers and of one more */
} sharing;

/* Add each next layer where it adds least. @param stage [p] */
static double share_layers(const ek__mix_layout *layout, const stage *all, sharing *share)
{
    int p = layout->mixes->p, left = layout->figures->n_alike;
    double sum = 0;
    for (int s = 0; s < p; s++) {
        int n = all[s].n_forced;
        share[s] = (sharing){n, stage_value(&all[s], n), stage_value(&all[s], n + 1)};
        left -= n;
        sum += share[s].now;
    }
    for (; left > 0 && sum < INFINITY; left--) {
        int best = 0;
        for (int s = 1; s < p; s++)
            if (share[s].next - share[s].now < share[best].next - share[best].now)
                best = s;
        sharing *to = &share[best];
        sum += to->next - to->now;
        *to = (sharing){to->n + 1, to->next, stage_value(&all[best], to->n + 2)};
    }
    return left < 0 ? INFINITY : sum;
}

double ek__mix_bound(const ek__mix_layout *layout, const ek__mix *mix)
{
    size_t p = (size_t)layout->mixes->p, sets = (size_t)layout->mixes->v + (size_t)layout->figures->n_layers;
    size_t n = sets * EK_N_RECOMPUTE, most = 2 * n + 1;
    stage *stages = ek__alloc(p, sizeof *stages);
    sharing *share = ek__alloc(p, sizeof *share);
    double *prices = ek__alloc(most, sizeof *prices), bound = 0; /* without memory there is no bound */
    layer_line *lines = ek__alloc(n, sizeof *lines);
    line_set *set = ek__alloc(sets, sizeof *set);
    stage_line *values = ek__alloc(p * most, sizeof *values);
    if (stages && share && prices && lines && set && values) {
        bounder b = {.layout = layout, .mix = mix, .line = lines, .set = set, .price = prices, .stages = stages};
        for (size_t s = 0, at = 0; s < p; at += (size_t)stages[s++].n_prices) {
            stages[s].value = values + at;
            open_stage(&b, (int)s);
        }
        bound = besides(layout, mix) + share_layers(layout, stages, share);
    }
    free(stages);
    free(share);
    free(prices);
    free(lines);
    free(set);
    free(values);
    return bound;
}

double ek__mixes_bound(const ek__mix_layout *layout, double enough)
{
    double most = 0;
    for (size_t i = layout->mixes->n; i-- > 0 && most < enough;)
        most = fmax(most, ek__mix_bound(layout, layout->mixes->mix[i]));
    return most;
}

/* Sums in a different order differ in the last digits. */
#define ROUNDING 1e-9

/* A mix has the update without its constant. */
double ek__mix_seconds_of(const ek__bound_figures *f, double step)
{
    return (ek__bound_pipeline(f, step) + (f->least_update - f->constant_update)) * (1 + 2 * ROUNDING);
}

double ek__mix_step_of(const ek__bound_figures *f, double seconds)
{
    return ek__bound_whole(f, seconds * (1 - ROUNDING) - (f->least_update - f->constant_update));
}
