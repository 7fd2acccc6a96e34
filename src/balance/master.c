/* The master program, a relaxation: choose one column per stage so that the longest path is shortest, with plans of a
 * box mixed freely:
 *
 *     min z   with  sum_j x_sj = 1 (stages s),  sum_sj layers_sj x_sj = L,  d_k = sum_sj time_sjk x_sj (slots k),
 *                   z >= transfers_r + sum_k count_rk d_k (paths r).
 *
 * Paths and choices are added as they are violated or pay (cuts and columns). The program's prices of the paths are a
 * mix, and the pricing of that mix bounds every plan of the box, for any accuracy of the program. */
#include "balance/master.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clp.h"
#include "base/error.h"
#include "evenkeel/layers.h"

enum {
    MOST_CUTS = 300,
    MOST_IDLE = 30, /* solutions that a path was of no use for, before it is dropped */
    MOST_ROUNDS = 400,
};

#define PAYS     1e-9 /* of the step */
#define VIOLATED 1e-9

struct ek__master {
    const ek__problem *problem;
    const ek__choices *choices;
    double scale;
    void *model;
    int n_slots, fixed_rows, fixed_columns;
    int *offset;    /* [n_stages] of a stage's choices in column_of */
    int *column_of; /* [choices] 0: not in the program */
    int n_columns, n_cuts, capacity;
    double *cut, *cut_transfers; /* [n_cuts][n_slots], [n_cuts] */
    int *idle;                   /* [n_cuts] */
    int column_capacity;
    int *column_stage, *column_choice; /* [n_columns] of the choices' columns */
    double *upper;                     /* [n_columns] */
    double *share;                     /* [n_stages] */
    bool failed;
};

static bool is_over(void *search)
{
    return ek__proof_over(search);
}

ek__master *ek__master_new(const ek__problem *problem, const ek__choices *choices, double scale, ek__search *search)
{
    assert(scale > 0 && choices->problem == problem);
    ek__master *m = ek__alloc(1, sizeof *m);
    if (!m)
        return NULL;
    int p = problem->n_stages, total = 0;
    m->problem = problem;
    m->choices = choices;
    m->scale = scale;
    m->n_slots = ek__order_n_slots(problem->order);
    m->fixed_rows = p + 1 + m->n_slots;
    m->fixed_columns = 1 + m->n_slots;
    m->offset = ek__alloc((size_t)p, sizeof(int));
    for (int s = 0; s < p && m->offset; s++) {
        m->offset[s] = total;
        total += choices->n[s];
    }
    m->column_of = ek__alloc((size_t)total + 1, sizeof(int));
    m->cut = ek__alloc((size_t)MOST_CUTS * (size_t)m->n_slots, sizeof(double));
    m->cut_transfers = ek__alloc(MOST_CUTS, sizeof(double));
    m->idle = ek__alloc(MOST_CUTS, sizeof(int));
    m->share = ek__alloc((size_t)p, sizeof(double));
    m->model = ek__clp_new(false); /* all of it is about 1 already */
    double *low = ek__alloc((size_t)m->fixed_rows + (size_t)m->fixed_columns, sizeof(double));
    double *high = ek__alloc((size_t)m->fixed_rows + (size_t)m->fixed_columns, sizeof(double));
    double *cost = ek__alloc((size_t)m->fixed_columns, sizeof(double));
    int *start = ek__alloc((size_t)m->fixed_columns + 1, sizeof *start);
    int *row = ek__alloc((size_t)m->n_slots, sizeof *row);
    double *one = ek__alloc((size_t)m->n_slots, sizeof *one);
    m->failed = !m->offset || !m->column_of || !m->cut || !m->cut_transfers || !m->idle || !m->share || !m->model ||
                !low || !high || !cost || !start || !row || !one;
    if (!m->failed) {
        for (int r = 0; r < m->fixed_rows; r++)
            low[r] = high[r] = r < p ? 1 : r == p ? problem->n_layers : 0;
        double *column_low = low + m->fixed_rows, *column_high = high + m->fixed_rows;
        for (int c = 0; c < m->fixed_columns; c++) {
            column_low[c] = c ? -INFINITY : 0;
            column_high[c] = INFINITY;
            start[c + 1] = c;
        }
        start[0] = start[1] = 0;
        cost[0] = 1;
        for (int k = 0; k < m->n_slots; k++) {
            row[k] = p + 1 + k;
            one[k] = -1;
        }
        ek__clp_load(m->model, m->fixed_columns, m->fixed_rows, start, row, one, column_low, column_high, cost, low,
                     high, &m->failed);
        ek__clp_stop_when(m->model, is_over, search, &m->failed);
    }
    free(low);
    free(high);
    free(cost);
    free(start);
    free(row);
    free(one);
    if (m->failed) {
        ek__master_free(m);
        return NULL;
    }
    return m;
}

void ek__master_free(ek__master *m)
{
    if (!m)
        return;
    ek__clp_free(m->model);
    free(m->offset);
    free(m->column_of);
    free(m->cut);
    free(m->cut_transfers);
    free(m->idle);
    free(m->column_stage);
    free(m->column_choice);
    free(m->upper);
    free(m->share);
    free(m);
}

static bool grow_columns(ek__master *m)
{
    int capacity = m->column_capacity ? 2 * m->column_capacity : 1024;
    int *stage = realloc(m->column_stage, (size_t)capacity * sizeof *stage);
    if (!stage)
        return false;
    m->column_stage = stage;
    int *choice = realloc(m->column_choice, (size_t)capacity * sizeof *choice);
    if (!choice)
        return false;
    m->column_choice = choice;
    double *upper = realloc(m->upper, ((size_t)m->fixed_columns + (size_t)capacity) * sizeof *upper);
    if (!upper)
        return false;
    m->upper = upper;
    m->column_capacity = capacity;
    assert(m->n_columns < m->column_capacity);
    return true;
}

/* @return whether it is new */
static bool add_choice(ek__master *m, int s, int k)
{
    const ek__choices *all = m->choices;
    int p = m->problem->n_stages, v = m->problem->n_chunks, n = 2, row[2 + EK_N_BLOCK_KINDS * EK_MAX_CHUNKS];
    double value[2 + EK_N_BLOCK_KINDS * EK_MAX_CHUNKS], layers = 0;
    assert(s >= 0 && s < p && k >= 0 && k < all->n[s]);
    int *at = &m->column_of[m->offset[s] + k];
    if (*at || m->failed)
        return false;
    if (m->n_columns == m->column_capacity && !grow_columns(m)) {
        m->failed = true;
        return false;
    }
    const double *time = all->time[s] + (size_t)k * (size_t)all->width;
    for (int i = 0; i < v; i++) {
        layers += all->row[s][(size_t)k * (size_t)v + (size_t)i];
        for (int kind = 0; kind < m->problem->order->n_kinds; kind++)
            if (time[kind * v + i] != 0) {
                row[n] = p + 1 + kind * m->problem->n_cells + i * p + s;
                value[n++] = time[kind * v + i] / m->scale;
            }
    }
    assert(layers <= m->problem->n_layers);
    row[0] = s;
    value[0] = 1;
    row[1] = p;
    value[1] = layers;
    ek__clp_add_column(m->model, INFINITY, n, row, value, &m->failed);
    m->column_stage[m->n_columns] = s;
    m->column_choice[m->n_columns] = k;
    *at = m->fixed_columns + m->n_columns++;
    assert(m->failed || ek__clp_n_columns(m->model) == m->fixed_columns + m->n_columns);
    return true;
}

void ek__master_add_plan(ek__master *m, const ek__pricing *g)
{
    for (int s = 0; s < m->problem->n_stages; s++)
        add_choice(m, s, g->pick[s]);
}

/* Drop the paths that have been of no use for longest. */
static void drop_cuts(ek__master *m)
{
    int which[MOST_CUTS], dropped = 0, kept = 0, most = 0;
    for (int r = 0; r < m->n_cuts; r++)
        most = m->idle[r] > most ? m->idle[r] : most;
    int limit = most < MOST_IDLE ? most : MOST_IDLE;
    for (int r = 0; r < m->n_cuts; r++) {
        if (m->idle[r] >= limit) {
            which[dropped++] = m->fixed_rows + r;
            continue;
        }
        memmove(m->cut + (size_t)kept * (size_t)m->n_slots, m->cut + (size_t)r * (size_t)m->n_slots,
                (size_t)m->n_slots * sizeof(double));
        m->cut_transfers[kept] = m->cut_transfers[r];
        m->idle[kept++] = m->idle[r];
    }
    assert(dropped > 0 && dropped + kept == m->n_cuts); /* the idlest is always dropped */
    ek__clp_delete_rows(m->model, dropped, which, &m->failed);
    m->n_cuts = kept;
}

void ek__master_add_alive(ek__master *m, const ek__pricing *g)
{
    for (int s = 0; s < m->problem->n_stages; s++)
        for (int j = 0; j < g->first[s][m->problem->n_layers + 1]; j++)
            add_choice(m, s, g->from[s][j]);
}

void ek__master_add_path(ek__master *m, const ek__pricing *g, double transfers)
{
    if (m->failed)
        return;
    if (m->n_cuts == MOST_CUTS)
        drop_cuts(m);
    int n = 1, *column = ek__alloc((size_t)m->fixed_columns, sizeof *column);
    double *value = ek__alloc((size_t)m->fixed_columns, sizeof *value);
    if (!column || !value) {
        free(column);
        free(value);
        m->failed = true;
        return;
    }
    value[0] = 1;
    for (int k = 0; k < m->n_slots; k++)
        if (g->path[k] != 0) {
            column[n] = 1 + k;
            value[n++] = -g->path[k];
        }
    ek__clp_add_row(m->model, transfers / m->scale, INFINITY, n, column, value, &m->failed);
    memcpy(m->cut + (size_t)m->n_cuts * (size_t)m->n_slots, g->path, (size_t)m->n_slots * sizeof(double));
    m->cut_transfers[m->n_cuts] = transfers;
    m->idle[m->n_cuts++] = 0;
    assert(m->n_cuts <= MOST_CUTS);
    assert(m->failed || ek__clp_n_rows(m->model) == m->fixed_rows + m->n_cuts);
    free(column);
    free(value);
}

/* Only choices that are alive may be mixed. */
static void fit_box(ek__master *m, const ek__pricing *g)
{
    int p = m->problem->n_stages, L = m->problem->n_layers;
    assert(m->upper && m->n_columns >= p); /* at least the choices of one plan */
    for (int c = 0; c < m->fixed_columns; c++)
        m->upper[c] = INFINITY;
    for (int c = 0; c < m->n_columns; c++)
        m->upper[m->fixed_columns + c] = 0;
    for (int s = 0; s < p; s++)
        for (int j = 0; j < g->first[s][L + 1]; j++) {
            int c = m->column_of[m->offset[s] + g->from[s][j]];
            if (c)
                m->upper[c] = INFINITY;
        }
    ek__clp_set_column_high(m->model, m->upper);
}

/* The mix that the paths' prices are. @return false when they are none */
static bool price_paths(ek__master *m, ek__pricing *g)
{
    const double *price = ek__clp_row_prices(m->model) + m->fixed_rows;
    double sum = 0;
    for (int r = 0; r < m->n_cuts; r++)
        sum += fmax(0, price[r]);
    if (!(sum > 0.5))
        return false;
    memset(g->weight, 0, (size_t)m->n_slots * sizeof *g->weight);
    g->transfers = 0;
    for (int r = 0; r < m->n_cuts; r++) {
        double share = fmax(0, price[r]) / sum;
        m->idle[r] = share > 0 ? 0 : m->idle[r] + 1;
        if (share == 0)
            continue;
        const double *cut = m->cut + (size_t)r * (size_t)m->n_slots;
        for (int k = 0; k < m->n_slots; k++)
            g->weight[k] += share * cut[k];
        g->transfers += share * m->cut_transfers[r];
    }
    return true;
}

/* Add the choices that would shorten the program's solution: for every stage and layer count the cheapest choice, if it
 * is cheaper than the program's mix. */
static int add_choices_that_pay(ek__master *m, const ek__pricing *g)
{
    const double *price = ek__clp_row_prices(m->model);
    int added = 0;
    for (int s = 0; s < m->problem->n_stages; s++)
        for (int l = g->low[s]; l <= g->high[s]; l++) {
            double value = g->value[ek__pricing_at(g, s, l)];
            if (value < INFINITY && value / m->scale - price[s] - l * price[m->problem->n_stages] < -PAYS)
                added += add_choice(m, s, g->by[ek__pricing_at(g, s, l)]);
        }
    return added;
}

/* The mix of plans: layers and durations. */
static void read_plan(const ek__master *m, ek__pricing *g)
{
    const double *x = ek__clp_columns(m->model);
    int p = m->problem->n_stages, v = m->problem->n_chunks, n_kinds = m->problem->order->n_kinds;
    const ek__choices *all = m->choices;
    memset(g->mean_row, 0, (size_t)m->problem->n_cells * sizeof(double));
    memset(g->duration, 0, (size_t)m->n_slots * sizeof(double));
    memset(m->share, 0, (size_t)p * sizeof(double));
    for (int c = 0; c < m->n_columns; c++) /* they add up to 1 apart from rounding */
        m->share[m->column_stage[c]] += fmax(0, x[m->fixed_columns + c]);
    for (int c = 0; c < m->n_columns; c++) {
        int s = m->column_stage[c];
        double share = fmax(0, x[m->fixed_columns + c]);
        size_t k = (size_t)m->column_choice[c];
        if (share == 0)
            continue;
        assert(m->share[s] > 0.5 && share <= m->share[s]);
        share /= m->share[s];
        for (int i = 0; i < v; i++) {
            g->mean_row[s * v + i] += share * all->row[s][k * (size_t)v + (size_t)i];
            for (int kind = 0; kind < n_kinds; kind++)
                g->duration[kind * m->problem->n_cells + i * p + s] +=
                    share * all->time[s][k * (size_t)all->width + (size_t)(kind * v + i)];
        }
    }
}

/* The program's prices are not exact; where few plans are left the longest path may be better. */
static bool path_suffices(const ek__master *m, ek__pricing *g, double transfers)
{
    memcpy(g->weight, g->path, (size_t)m->n_slots * sizeof *g->weight);
    g->transfers = transfers;
    return ek__pricing_respond(g) >= g->target;
}

ek__verdict ek__master_solve(ek__master *m, ek__pricing *g, const ek__search *search)
{
    if (ek__pricing_respond(g) >= g->target || !ek__pricing_exclude(g))
        return EK__SHUT;
    ek__master_add_plan(m, g);
    for (int round = 0; round < MOST_ROUNDS && !ek__proof_over(search); round++) {
        if (m->failed)
            return EK__NO_MEMORY;
        fit_box(m, g);
        int end = ek__clp_dual(m->model, &m->failed);
        if (end != 0 && !ek__proof_over(search)) /* small ones now and then seem infeasible to the dual simplex */
            end = ek__clp_primal(m->model, &m->failed);
        if (end != 0)
            return m->failed ? EK__NO_MEMORY : EK__LOST;
        read_plan(m, g);
        double transfers, before = g->best, z = ek__clp_columns(m->model)[0] * m->scale;
        g->longest = ek__longest_path(m->problem, g->duration, g->path, &transfers);
        if (!price_paths(m, g)) {
            ek__master_add_path(m, g, transfers);
            continue;
        }
        if (ek__pricing_respond(g) >= g->target)
            return EK__SHUT;
        int added = add_choices_that_pay(m, g);
        ek__master_add_plan(m, g);
        if (g->longest < g->target)
            return EK__OPEN;
        if (g->best > before && !ek__pricing_exclude(g))
            return EK__SHUT;
        if (g->longest > z * (1 + VIOLATED)) {
            ek__master_add_path(m, g, transfers);
            added++;
        }
        if (added == 0)
            return path_suffices(m, g, transfers) ? EK__SHUT : EK__OPEN;
    }
    return EK__LOST;
}
