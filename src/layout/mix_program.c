/* Finds the best mix for a layout by a linear program. The program is
 *
 *     min z   with  sum of x = layers                                             (groups of layers)
 *                   sum of x of the commonest kind >= 1                             (forced cells)
 *                   sum of x bytes <= room                                          (moments of stages)
 *                   z >= ends and sends of r + sum of x times its addition to r     (paths)
 *
 * over x, fractional layers by group, cell and way to recompute. Violated paths are added, the longest one for the
 * block times of a solution; so are moments that exceed their room. The prices of their rows are the mix, whose bound
 * is computed by ek__mix_bound(), independent of the program's accuracy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clp.h"
#include "base/error.h"
#include "layout/mix_program.h"

enum { MOST_KNOWN = 12 }; /* mixes to begin with */

#define TOO_FULL 1e-5 /* of the limit */
#define TOO_LONG 2e-3 /* of the step: tolerance for a nearly optimal mix */
#define PROGRESS 2e-4 /* of the bound, in WINDOW solutions: later ones take longer and gain less */
enum { WINDOW = 24 };
enum { IN_USE = 60, FEWEST_ROWS = 120, ROWS_PER_CELL = 4 }; /* solutions; rows */

typedef ek__mix_program program;
typedef ek__mix_row added;
typedef ek__mix_column column;

static void list_columns(program *g)
{
    const ek__mix_layout *l = g->layout;
    g->n_columns = 1;
    for (int i = 0; i < l->n_groups; i++)
        for (int c = l->group[i].low; c <= l->group[i].high; c++)
            for (int way = 0; way < EK_N_RECOMPUTE; way++)
                if (l->figures->kind[l->group[i].kind].again[way] < INFINITY) {
                    if (g->column)
                        g->column[g->n_columns] = (column){i, l->group[i].kind, c, way};
                    g->n_columns++;
                }
}

/* ---- times of a solution ---- */

static void set_ends(const program *g)
{
    const ek__bound_figures *f = g->layout->figures;
    int n = g->mixes->n_cells, p = g->mixes->p;
    memset(g->duration, 0, 2 * (size_t)n * sizeof *g->duration);
    memset(g->tail, 0, 2 * (size_t)p * sizeof *g->tail); /* and the update */
    g->duration[0] += f->head - f->head_backward;
    g->duration[n] += f->head_backward;
    g->duration[n - 1] += f->tail - f->tail_backward;
    g->duration[2 * n - 1] += f->tail_backward;
    g->tail[0] += g->layout->ends[0];
    g->tail[p - 1] += g->layout->ends[1];
    g->update[0] += f->head_update;
    g->update[p - 1] += f->tail_update;
}

static void set_times(const program *g, const double *x)
{
    const ek__mix_layout *l = g->layout;
    const ek__bound_figures *f = l->figures;
    int n = g->mixes->n_cells, p = g->mixes->p;
    set_ends(g);
    for (int i = 1; i < g->n_columns; i++) {
        const column *at = &g->column[i];
        double layers = fmax(0, x[i]);
        g->duration[at->cell] += layers * f->kind[at->kind].forward;
        g->duration[n + at->cell] += layers * (f->kind[at->kind].backward + f->kind[at->kind].again[at->way]);
        g->tail[at->cell % p] += layers * ek__mix_exposed(l, at->kind, at->cell);
        g->update[at->cell % p] += layers * f->kind[at->kind].update;
    }
}

/* ---- rows ---- */

static int last_update(const program *g)
{
    int last = 0;
    for (int s = 1; s < g->mixes->p; s++)
        if (g->update[s] > g->update[last])
            last = s;
    return last;
}

/* The walked path, as a mix of one path. Sends over an edge are those of the two cells at its ends. */
static ek__mix *store_path(const program *g)
{
    const ek__mixes *m = g->mixes;
    const ek__path *path = &g->walked;
    ek__mix *mix = ek__mix_new(m);
    if (!mix)
        return NULL;
    memcpy(mix->forward, path->count, (size_t)m->n_cells * sizeof *mix->forward);
    memcpy(mix->backward, path->count + m->n_cells, (size_t)m->n_cells * sizeof *mix->backward);
    mix->end[path->end] = 1;
    mix->update[last_update(g)] = 1;
    for (int c = 0; c < m->n_cells; c++) {
        int down = c % m->p, up = (c + m->p - 1) % m->p, back = m->n_cells + c;
        bool first = c == 0, last = c == m->n_cells - 1;
        if (!last) {
            mix->edge[0][down] += path->travel[c];
            mix->edge[1][down] += path->after[c] + path->before[back];
        }
        if (!first) {
            mix->edge[0][up] += path->travel[back];
            mix->edge[1][up] += path->before[c] + path->after[back];
        }
    }
    return mix;
}

static double fixed_part(const program *g, const ek__mix *path)
{
    const ek__mix_layout *l = g->layout;
    double sum = 0;
    set_ends(g);
    for (int c = 0; c < g->mixes->n_cells; c++)
        sum += path->forward[c] * g->duration[c] + path->backward[c] * g->duration[g->mixes->n_cells + c];
    for (int s = 0; s < g->mixes->p; s++)
        sum += path->edge[l->blocking][s] * l->edge[s] + path->end[s] * g->tail[s] + path->update[s] * g->update[s];
    return sum;
}

static void add_path(program *g, ek__mix *path)
{
    for (int i = 0; i < g->n_columns; i++) {
        const column *at = &g->column[i];
        g->index[i] = i;
        g->value[i] = i == 0 ? 1 : -ek__mix_cost(g->layout, path, at->kind, at->way, at->cell) / g->scale;
    }
    ek__clp_add_row(g->model, fixed_part(g, path) / g->scale, INFINITY, g->n_columns, g->index, g->value,
                    &g->no_memory);
    g->row[g->n_added++] = (added){.path = path, .used = g->n_solved};
}

static void add_row(program *g, int n, double low, double high)
{
    ek__clp_add_row(g->model, low, high, n, g->index, g->value, &g->no_memory);
    g->n_rows++;
}

static void add_counts(program *g)
{
    for (int group = 0; group < g->layout->n_groups; group++) {
        int n = 0;
        for (int i = 1; i < g->n_columns; i++)
            if (g->column[i].group == group) {
                g->index[n] = i;
                g->value[n++] = 1;
            }
        add_row(g, n, g->layout->group[group].n, g->layout->group[group].n);
    }
}

/* Sums of layers by stages and by cells, which mix_branch.c branches on; a cell has at least one layer. */
static void add_totals(program *g)
{
    int p = g->mixes->p;
    g->first_total = g->n_rows;
    for (int t = 0; t < p + g->mixes->n_cells; t++) {
        int n = 0, cell = t - p;
        for (int i = 1; i < g->n_columns; i++)
            if (cell < 0 ? g->column[i].cell % p == t : g->column[i].cell == cell) {
                g->index[n] = i;
                g->value[n++] = 1;
            }
        add_row(g, n, cell >= 0 ? 1 : g->mixes->v, g->layout->figures->n_layers);
    }
}

/* Cells with at least one layer of the commonest kind; without other kinds, all cells have one. */
static void add_forced(program *g)
{
    for (int cell = 0; cell < g->mixes->n_cells && g->layout->n_groups > 1; cell++) {
        int n = 0;
        for (int i = 1; i < g->n_columns; i++)
            if (g->column[i].group == 0 && g->column[i].cell == cell) {
                g->index[n] = i;
                g->value[n++] = 1;
            }
        if (ek__mix_forced(g->layout, cell))
            add_row(g, n, 1, INFINITY);
    }
}

/* For the commonest kind: the first layer of a chunk is recomputed whole if the rule requires it. */
static void add_first_layers(program *g)
{
    for (int cell = 0; cell < g->mixes->n_cells && g->layout->figures->first_full > 0; cell++) {
        int n = 0;
        for (int i = 1; i < g->n_columns; i++)
            if (g->column[i].group == 0 && g->column[i].cell == cell && g->column[i].way == EK_RECOMPUTE_FULL) {
                g->index[n] = i;
                g->value[n++] = 1;
            }
        if (ek__mix_forced(g->layout, cell))
            add_row(g, n, 1, INFINITY);
    }
}

/* Micro-batches alive on a cell, of a vector of a stage's chunks or of all cells. */
static double alive(const program *g, const added *row, int cell)
{
    return row->live[cell / g->mixes->p * row->stride];
}

static double bytes_of(const program *g, const column *at, const added *row)
{
    const ek__bound_figures *f = g->layout->figures;
    return (double)f->kind[at->kind].bytes + alive(g, row, at->cell) * (double)f->kind[at->kind].kept[at->way];
}

static double room_of(const program *g, const added *row)
{
    const ek__mix_layout *l = g->layout;
    double transient = row->mean           ? ek__mix_transient(l, row->mean, row->stage)
                       : row->running >= 0 ? l->transient[row->running]
                                           : l->in_embedding;
    return ek__mix_room(l, row->stage, alive(g, row, g->mixes->n_cells - 1), transient);
}

static void add_moment(program *g, added row)
{
    const double limit = g->layout->limit;
    int n = 0;
    for (int i = 1; i < g->n_columns; i++)
        if (g->column[i].cell % g->mixes->p == row.stage) {
            g->index[n] = i;
            g->value[n++] = bytes_of(g, &g->column[i], &row) / limit;
        }
    ek__clp_add_row(g->model, -INFINITY, room_of(g, &row) / limit, n, g->index, g->value, &g->no_memory);
    row.used = g->n_solved;
    g->row[g->n_added++] = row;
}

/* The moment in a stage's list that exceeds its room most, if by more than *over.
 * @param x  the solution; NULL: as if every column had one layer */
static void look_for_fullest(const program *g, const ek__live *live, added like, const double *x, double *over,
                             added *found)
{
    for (int moment = 0; moment < live->n; moment++) {
        added row = like;
        row.live = live->vectors + (size_t)moment * (size_t)g->mixes->v;
        double sum = -room_of(g, &row);
        for (int i = 1; i < g->n_columns; i++)
            if (g->column[i].cell % g->mixes->p == row.stage)
                sum += (x ? x[i] : 1) * bytes_of(g, &g->column[i], &row);
        if (sum <= *over)
            continue;
        *over = sum;
        *found = row;
    }
}

static added fullest(const program *g, int stage, const double *x, double *over)
{
    const ek__mixes *m = g->mixes;
    added like = {.stage = stage, .stride = 1, .running = stage}, found = like;
    *over = -INFINITY;
    for (; like.running < m->n_cells; like.running += m->p)
        look_for_fullest(g, &m->running[like.running], like, x, over, &found);
    like.running = -1;
    if (stage == 0)
        look_for_fullest(g, &m->in_embedding, like, x, over, &found);
    return found;
}

static bool add_full_moments(program *g, const double *x)
{
    bool any = false;
    for (int s = 0; s < g->mixes->p && isfinite(g->layout->limit) && g->n_added < EK__MOST_MIX_ROWS; s++) {
        double over;
        const added row = fullest(g, s, x, &over);
        if (x && over <= TOO_FULL * g->layout->limit)
            continue;
        add_moment(g, row);
        any = true;
    }
    return any;
}

/* ---- beginning ---- */

static bool make_room(program *g)
{
    const ek_order *order = g->mixes->order;
    size_t slots = (size_t)ek__order_n_slots(order), p = (size_t)g->mixes->p;
    g->duration = ek__alloc(5 * slots + 2 * p + ek__order_delays_size(order), sizeof *g->duration);
    g->index = ek__alloc((size_t)g->n_columns, sizeof *g->index);
    g->value = ek__alloc(2 * (size_t)g->n_columns, sizeof *g->value);
    g->mean = ek__mix_new(g->mixes);
    g->model = ek__clp_new(false); /* rows are of similar size, and scaling would lose the prices */
    if (!g->duration || !g->index || !g->value || !g->mean || !g->model)
        return false;
    g->solution = g->value + g->n_columns;
    g->walked.count = g->duration + slots;
    g->walked.before = g->walked.count + slots;
    g->walked.after = g->walked.before + slots;
    g->walked.travel = g->walked.after + slots;
    g->tail = g->walked.travel + slots;
    g->update = g->tail + p;
    g->delay = g->update + p;
    return true;
}

static bool load(program *g)
{
    size_t n = (size_t)g->n_columns;
    double *low = ek__alloc(3 * n, sizeof *low), *high = low + n, *cost = high + n;
    int *start = ek__alloc(n + 1, sizeof *start);
    bool fine = low && start;
    if (fine) {
        for (size_t i = 0; i < n; i++)
            high[i] = INFINITY;
        cost[0] = 1;
        ek__clp_load(g->model, g->n_columns, 0, start, NULL, NULL, low, high, cost, NULL, NULL, &g->no_memory);
        add_counts(g);
        add_totals(g);
        add_forced(g);
        add_first_layers(g);
        add_full_moments(g, NULL);
    }
    free(low);
    free(start);
    return fine && !g->no_memory;
}

static bool load_rows(program *g)
{
    const ek__mix_layout *l = g->layout;
    const ek__bound_figures *f = l->figures;
    const ek_comm comm = {.edge_time = l->edge, .blocking = l->blocking};
    list_columns(g);
    g->column = ek__alloc((size_t)g->n_columns, sizeof *g->column);
    if (!g->column)
        return false;
    list_columns(g);
    g->scale = f->m * (f->body + f->head + f->tail) / g->mixes->p;
    if (!make_room(g) || !load(g))
        return false;
    g->delays = ek__comm_delays(g->mixes->order, &comm, g->delay);
    return true;
}

void ek__mix_program_clear(program *g)
{
    ek__clp_free(g->model);
    for (int i = 0; i < g->n_added; i++)
        ek__mix_free(g->row[i].path);
    ek__mix_free(g->mean);
    free(g->column);
    free(g->duration);
    free(g->index);
    free(g->value);
}

/* ---- rounds ---- */

/* The longest path of the times that were set. @param length out. @return NULL when out of memory */
static ek__mix *walk(program *g, double *length)
{
    if (!ek__order_longest_path(g->mixes->order, g->duration, &g->delays, g->tail, &g->walked))
        return NULL;
    *length = g->walked.length + g->update[last_update(g)];
    return store_path(g);
}

/* Known mixes give mean paths and mean moments. */
static bool add_known(program *g)
{
    const ek__mixes *m = g->mixes;
    for (size_t i = m->n > MOST_KNOWN ? m->n - MOST_KNOWN : 0; i < m->n; i++) {
        ek__mix *copy = ek__mix_new(m);
        if (!copy)
            return false;
        ek__mix_copy(m, m->mix[i], copy);
        add_path(g, copy);
        for (int s = 0; s < m->p && isfinite(g->layout->limit); s++)
            add_moment(g, (added){.live = m->mix[i]->live + s, .stage = s, .stride = m->p, .mean = m->mix[i]});
    }
    return true;
}

/* Initially one path for each stage, that of even layers with this stage twice as slow, so that the first solutions are
 * spread out. */
static bool add_first_paths(program *g)
{
    const ek__bound_figures *f = g->layout->figures;
    int n = g->mixes->n_cells;
    double length, each = (double)f->n_layers / n;
    for (int s = 0; s < g->mixes->p; s++) {
        set_ends(g);
        for (int c = 0; c < n; c++) {
            double layers = each * (c % g->mixes->p == s ? 2 : 1);
            g->duration[c] += layers * f->alike_forward;
            g->duration[n + c] += layers * f->alike_backward;
        }
        ek__mix *path = walk(g, &length);
        if (!path)
            return false;
        add_path(g, path);
    }
    return true;
}

static void add_to_mean(const program *g, const ek__mix *path, double share)
{
    int n = g->mixes->n_cells, p = g->mixes->p;
    for (int c = 0; c < n; c++) {
        g->mean->forward[c] += share * path->forward[c];
        g->mean->backward[c] += share * path->backward[c];
    }
    for (int s = 0; s < p; s++) {
        g->mean->edge[0][s] += share * path->edge[0][s];
        g->mean->edge[1][s] += share * path->edge[1][s];
        g->mean->end[s] += share * path->end[s];
        g->mean->update[s] += share * path->update[s];
    }
}

static void add_moment_to_mean(const program *g, const added *row, double share)
{
    ek__mix *mean = g->mean;
    for (int c = row->stage; c < g->mixes->n_cells; c += g->mixes->p) {
        mean->live[c] += share * alive(g, row, c);
        mean->running[c] += share * (row->mean ? row->mean->running[c] : row->running == c ? 1 : 0);
    }
    if (row->stage == 0)
        *mean->in_embedding += share * (row->mean ? *row->mean->in_embedding : row->running < 0 ? 1 : 0);
}

static bool is_moment_of(const added *row, int stage)
{
    return !row->path && row->stage == stage;
}

/* A stage's mean moment: of those with prices, otherwise of the added ones. */
static void set_live(const program *g, const double *price, int stage)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < g->n_added; i++)
        if (is_moment_of(&g->row[i], stage)) {
            sum += fmax(0, -price[g->n_rows + i]);
            n++;
        }
    for (int i = 0; i < g->n_added; i++)
        if (is_moment_of(&g->row[i], stage))
            add_moment_to_mean(g, &g->row[i], sum > 0 ? fmax(0, -price[g->n_rows + i]) / sum : 1.0 / n);
}

/* Bound the mix of the prices and keep the best. @return false when out of memory */
static bool judge(program *g)
{
    const double *price = ek__clp_row_prices(g->model);
    double sum = 0;
    for (int i = 0; i < g->n_added; i++)
        sum += g->row[i].path ? fmax(0, price[g->n_rows + i]) : 0;
    if (!(sum > 0.5))
        return true;
    ek__mix_zero(g->mixes, g->mean);
    for (int i = 0; i < g->n_added; i++)
        if (g->row[i].path && price[g->n_rows + i] > 0)
            add_to_mean(g, g->row[i].path, price[g->n_rows + i] / sum);
    for (int s = 0; s < g->mixes->p; s++)
        set_live(g, price, s);
    double bound = ek__mix_bound(g->layout, g->mean);
    if (bound <= g->bound)
        return true;
    ek__mix *other = g->best ? g->best : ek__mix_new(g->mixes);
    if (!other)
        return false;
    g->best = g->mean;
    g->mean = other;
    g->bound = bound;
    return true;
}

/* Add the longest path of g->solution if it is longer than the solution's z. @return false when out of memory */
static bool add_longest(program *g, bool *any)
{
    double length;
    const double *x = g->solution;
    set_times(g, x);
    ek__mix *path = walk(g, &length);
    if (!path)
        return false;
    if (length <= x[0] * g->scale * (1 + g->too_long)) {
        ek__mix_free(path);
        return true;
    }
    add_path(g, path);
    *any = true;
    return true;
}

/* No solution: the moments alone show that no layers are within the limit. */
static bool judge_memory(program *g)
{
    ek__mix *first = g->row[0].path;
    for (int i = 0; i < g->n_added && !first; i++)
        first = g->row[i].path;
    const double *price = ek__clp_row_prices(g->model);
    ek__mix_zero(g->mixes, g->mean);
    add_to_mean(g, first, 1);
    for (int s = 0; s < g->mixes->p; s++)
        set_live(g, price, s);
    g->bound = fmax(g->bound, ek__mix_bound(g->layout, g->mean));
    return true;
}

/* The minimum number of kept rows: long pipelines need more. */
static int keeps_rows(const ek__mixes *mixes, int n)
{
    int fewest = FEWEST_ROWS + ROWS_PER_CELL * mixes->n_cells;
    n = n > fewest ? n : fewest;
    return n < EK__MOST_MIX_ROWS ? n : EK__MOST_MIX_ROWS;
}

bool ek__mix_program_begin(program *g, const ek__mix_layout *layout, double too_long)
{
    *g = (program){
        .layout = layout, .mixes = layout->mixes, .too_long = too_long, .most_kept = keeps_rows(layout->mixes, 0)};
    return load_rows(g) && add_known(g) && add_first_paths(g) && !g->no_memory;
}

/* Add the rows that the last solution violates. */
static ek__mix_end cut(program *g)
{
    bool any = add_full_moments(g, g->solution);
    if (g->n_added < EK__MOST_MIX_ROWS && !add_longest(g, &any))
        g->no_memory = true;
    if (g->no_memory)
        return EK__MIX_OUT_OF_MEMORY;
    return any && g->n_added < EK__MOST_MIX_ROWS ? EK__MIX_CUT : EK__MIX_DONE;
}

static double side(double value, double low, double high)
{
    return value > 0 ? low : high;
}

/* With any prices y of the rows A x within [l, u],
 *
 *     z >= sum of y l, or y u where y < 0, + sum over columns of the minimum of (c - y A) x between their bounds
 *
 * Prices of sides that are not bounded count as 0. Columns are within their group's layers, z within `most`. */
static double dual_bound(const program *g, double most)
{
    const double *price = ek__clp_row_prices(g->model);
    const double *low = ek__clp_row_low(g->model), *high = ek__clp_row_high(g->model);
    const double *least = ek__clp_column_low(g->model), *largest = ek__clp_column_high(g->model);
    const int *start = ek__clp_starts(g->model);
    const int *length = ek__clp_lengths(g->model), *row = ek__clp_indices(g->model);
    const double *element = ek__clp_elements(g->model), unbounded = 1e30;
    double sum = 0;
    for (int i = 0; i < ek__clp_n_rows(g->model); i++) {
        double at = side(price[i], low[i], high[i]);
        sum += fabs(at) < unbounded ? price[i] * at : 0;
    }
    for (int k = 0; k < g->n_columns; k++) {
        double cost = k == 0 ? 1 : 0;
        for (int e = start[k]; e < start[k] + length[k]; e++) {
            double y = price[row[e]];
            cost -= fabs(side(y, low[row[e]], high[row[e]])) < unbounded ? y * element[e] : 0;
        }
        double most_of = k == 0 ? most : fmin(largest[k], g->layout->group[g->column[k].group].n);
        sum += cost * side(cost, least[k], most_of);
    }
    return sum;
}

/* Rows without a price in recent solutions are removed, to keep the program small; they return when they are violated
 * again. */
static void drop_unused(program *g)
{
    const double *price = ek__clp_row_prices(g->model);
    int which[EK__MOST_MIX_ROWS], n = 0, kept = 0;
    for (int i = 0; i < g->n_added; i++)
        if (price[g->n_rows + i] != 0)
            g->row[i].used = g->n_solved;
    if (g->n_added < g->most_kept)
        return;
    for (int i = 0; i < g->n_added; i++) {
        if (g->row[i].used + IN_USE < g->n_solved) {
            which[n++] = g->n_rows + i;
            ek__mix_free(g->row[i].path);
        } else {
            g->row[kept++] = g->row[i];
        }
    }
    if (n > 0)
        ek__clp_delete_rows(g->model, n, which, &g->no_memory);
    g->n_added = kept;
    g->most_kept = keeps_rows(g->mixes, 2 * kept);
}

ek__mix_end ek__mix_program_solve(program *g, double most, double *bound)
{
    if (ek__clp_dual(g->model, &g->no_memory) != 0)
        return g->no_memory ? EK__MIX_OUT_OF_MEMORY : EK__MIX_INFEASIBLE;
    *bound = g->scale * dual_bound(g, most / g->scale);
    memcpy(g->solution, ek__clp_columns(g->model), (size_t)g->n_columns * sizeof *g->solution);
    g->n_solved++;
    drop_unused(g);
    return *bound >= most ? EK__MIX_DONE : cut(g);
}

/* @return false when out of memory */
static bool solve(program *g, double enough, bool (*over)(void *user), void *user)
{
    ek__mix_end end = EK__MIX_CUT;
    double before = 0;
    for (int i = 1; end == EK__MIX_CUT; i++) {
        if (ek__clp_dual(g->model, &g->no_memory) != 0)
            return !g->no_memory && judge_memory(g);
        if (!judge(g))
            return false;
        if (g->bound >= enough || over(user) || (i % WINDOW == 0 && g->bound < before * (1 + PROGRESS)))
            return true;
        before = i % WINDOW == 0 ? g->bound : before;
        memcpy(g->solution, ek__clp_columns(g->model), (size_t)g->n_columns * sizeof *g->solution);
        end = cut(g);
    }
    return end != EK__MIX_OUT_OF_MEMORY;
}

ek_status ek__mix_find(const ek__mix_layout *layout, double enough, bool (*over)(void *user), void *user, ek__mix **out,
                       double *bound, ek_error *err)
{
    *bound = 0;
    if (!ek__clp_present())
        return EK_OK;
    program *g = ek__alloc(1, sizeof *g);
    if (!g)
        return ek__no_memory(err);
    bool fine = ek__mix_program_begin(g, layout, TOO_LONG) && solve(g, enough, over, user);
    *out = fine ? g->best : NULL;
    *bound = g->bound;
    if (!fine)
        ek__mix_free(g->best);
    ek__mix_program_clear(g);
    free(g);
    return fine ? EK_OK : ek__no_memory(err);
}
