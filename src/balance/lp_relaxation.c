/* Bounds the step by a linear program, the relaxation to fractions of layers:
 *
 *     min z   with  d = fixed + sum of y x time                    (slots: blocks by kind and cell)
 *                   sum of y = layers of the body kind,            (body kinds)
 *                   sum of y = layers of a fixed stage,  >= the least of a chunk
 *                   sum of y (parameters + live x activation) <= room   (live vectors of stages)
 *                   z >= transfers_r + sum_k count_rk d_k          (paths r)
 *
 * over y: layers by cell, body kind and way to recompute. Paths and live vectors are added as they are violated. Where
 * the schedule makes its order for the times, the paths are those of every order, and no live vector is known. */
#include "balance/lp_relaxation.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/bound.h"
#include "base/clp.h"
#include "base/error.h"
#include "evenkeel/layers.h"

enum { MOST_ADDED = 1500 }; /* rows */

#define VIOLATED 1e-6 /* of the step, or of the memory limit */

/* A row added for a path, or for a live vector of a bank. */
typedef struct added {
    double *count; /* [n_slots]; NULL for a live vector */
    double transfers;
    int bank, live;
} added;

typedef struct program {
    const ek__problem *problem;
    void *model;
    double scale, memory_scale;
    int n_slots, n_ways, way[EK_N_RECOMPUTE]; /* to recompute a layer */
    int body_row, bank_row, cell_row, fixed_rows;
    added row[MOST_ADDED];
    int n_added;
    double *duration;         /* [n_slots] of the program's solution */
    double *weight;           /* [n_slots] of the mix of paths */
    double *held, *parameter; /* [n_cells] prices of a micro-batch's activations and of parameters, per MB */
    int *index;               /* for a row */
    double *value;
    bool any_order; /* the schedule makes its order for the times: no other paths, and live activations are not known */
    bool no_memory;
} program;

static int column_of(const program *g, int cell, int body, int way)
{
    assert(cell >= 0 && cell <= g->problem->n_cells && body >= 0 && way >= 0 && way < g->n_ways);
    return 1 + g->n_slots + (cell * g->problem->layers->n_body + body) * g->n_ways + way;
}

static int n_columns(const program *g)
{
    return column_of(g, g->problem->n_cells, 0, 0);
}

/* The times that one layer adds to the blocks of a cell. */
static void layer_times(const ek__problem *problem, int cell, const ek_layer *body, int way,
                        double time[EK_N_BLOCK_KINDS])
{
    double extra[EK_N_BLOCK_KINDS];
    ek__cell_times(problem, cell, 0, 0, 0, extra);
    ek__cell_times(problem, cell, body->forward_time, body->backward_time[way], body->weight_time, time);
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
        time[k] -= extra[k];
}

/* The room that a live vector leaves for layers. Recomputed activations may need less than the reserve for them. */
static double room_of(const ek__problem *problem, int b, int live)
{
    const ek__bank *bank = &problem->bank[b];
    assert(b >= 0 && b < problem->n_banks && live >= 0 && live < bank->n_live);
    double room = bank->room_mb[live] + problem->reserve_mb + problem->tolerance_mb;
    for (int i = 0; i < problem->n_held; i++)
        room -= bank->live[live * problem->n_held + i] * problem->extra[bank->cells[i]].activation_mb;
    return room;
}

/* Add the row with the n terms in g->index and g->value. */
static void add_row(program *g, int n, double low, double high, added row)
{
    assert(n >= 1 && n <= n_columns(g) && low <= high);
    if (g->n_added == MOST_ADDED) {
        free(row.count);
        return;
    }
    ek__clp_add_row(g->model, low, high, n, g->index, g->value, &g->no_memory);
    g->row[g->n_added++] = row;
    assert(g->no_memory || ek__clp_n_rows(g->model) == g->fixed_rows + g->n_added);
}

static void add_path(program *g, const double *count, double transfers)
{
    int n = 1;
    double *copy = ek__alloc((size_t)g->n_slots, sizeof *copy);
    g->no_memory |= !copy;
    if (!copy)
        return;
    g->index[0] = 0;
    g->value[0] = 1;
    assert(transfers >= -1e-9 * g->scale); /* a difference of sums */
    for (int k = 0; k < g->n_slots; k++) {
        assert(count[k] >= 0);
        copy[k] = count[k];
        if (count[k] != 0) {
            g->index[n] = 1 + k;
            g->value[n++] = -count[k];
        }
    }
    add_row(g, n, transfers / g->scale, INFINITY, (added){.count = copy, .transfers = transfers});
}

static void add_live(program *g, int b, int live)
{
    const ek__problem *problem = g->problem;
    const ek__bank *bank = &problem->bank[b];
    int n = 0;
    for (int i = 0; i < problem->n_held; i++)
        for (int body = 0; body < problem->layers->n_body; body++)
            for (int w = 0; w < g->n_ways; w++) {
                const ek_layer *layer = &problem->layers->body[body];
                g->index[n] = column_of(g, bank->cells[i], body, w);
                g->value[n++] =
                    (layer->parameter_mb + bank->live[live * problem->n_held + i] * layer->activation_mb[g->way[w]]) /
                    g->memory_scale;
            }
    add_row(g, n, -INFINITY, room_of(problem, b, live) / g->memory_scale, (added){.bank = b, .live = live});
}

/* The rows that are always there, without columns. */
static void bound_rows(const program *g, double *low, double *high)
{
    const ek__problem *problem = g->problem;
    assert(problem->order->n_kinds <= EK_N_BLOCK_KINDS);
    for (int c = 0; c < problem->n_cells; c++) {
        double extra[EK_N_BLOCK_KINDS];
        ek__cell_times(problem, c, 0, 0, 0, extra);
        for (int k = 0; k < problem->order->n_kinds; k++)
            low[k * problem->n_cells + c] = high[k * problem->n_cells + c] = extra[k] / g->scale;
        low[g->cell_row + c] = problem->min_layers;
        high[g->cell_row + c] = INFINITY;
    }
    for (int b = 0; b < problem->layers->n_body; b++)
        low[g->body_row + b] = high[g->body_row + b] = problem->layers->body[b].n_layers;
    for (int b = 0; b < problem->n_banks; b++) {
        bool fixed = problem->fixed_layers[b] >= 0;
        low[g->bank_row + b] = fixed ? problem->fixed_layers[b] : 0;
        high[g->bank_row + b] = fixed ? problem->fixed_layers[b] : problem->n_layers;
    }
}

static bool load(program *g)
{
    const ek__problem *problem = g->problem;
    const ek_layers *layers = problem->layers;
    int n = n_columns(g), kinds = problem->order->n_kinds, at = 0;
    size_t most = (size_t)(1 + g->n_slots) + (size_t)(n - 1 - g->n_slots) * (size_t)(kinds + 3);
    double *bounds = ek__alloc(2 * ((size_t)n + (size_t)g->fixed_rows) + (size_t)n, sizeof *bounds);
    int *start = ek__alloc((size_t)n + 1, sizeof *start);
    int *row = ek__alloc(most, sizeof *row);
    double *value = ek__alloc(most, sizeof *value);
    bool fine = bounds && start && row && value;
    assert(kinds <= EK_N_BLOCK_KINDS);
    if (fine) {
        double *column_low = bounds, *column_high = bounds + n, *cost = bounds + 2 * (size_t)n;
        double *low = cost + n, *high = low + g->fixed_rows;
        bound_rows(g, low, high);
        for (int c = 0; c < n; c++) {
            column_low[c] = c > 0 && c <= g->n_slots ? -INFINITY : 0;
            column_high[c] = INFINITY;
        }
        cost[0] = 1;
        for (int k = 0; k < g->n_slots; k++) {
            start[1 + k] = at;
            row[at] = k;
            value[at++] = 1;
        }
        for (int c = 0; c < problem->n_cells; c++)
            for (int b = 0; b < layers->n_body; b++)
                for (int w = 0; w < g->n_ways; w++) {
                    double time[EK_N_BLOCK_KINDS];
                    layer_times(problem, c, &layers->body[b], g->way[w], time);
                    start[column_of(g, c, b, w)] = at;
                    for (int k = 0; k < kinds; k++) {
                        row[at] = k * problem->n_cells + c;
                        value[at++] = -time[k] / g->scale;
                    }
                    row[at] = g->body_row + b;
                    value[at++] = 1;
                    row[at] = g->bank_row + problem->order->bank[c];
                    value[at++] = 1;
                    row[at] = g->cell_row + c;
                    value[at++] = 1;
                }
        start[n] = at;
        assert((size_t)at <= most);
        ek__clp_load(g->model, n, g->fixed_rows, start, row, value, column_low, column_high, cost, low, high,
                     &g->no_memory);
    }
    free(bounds);
    free(start);
    free(row);
    free(value);
    return fine && !g->no_memory;
}

static bool program_init(program *g, const ek__problem *problem, double scale)
{
    assert(scale > 0 && problem->limit_mb > 0);
    *g = (program){.problem = problem, .scale = scale, .memory_scale = problem->limit_mb};
    g->n_slots = ek__order_n_slots(problem->order);
    g->any_order = problem->order->schedule->arrange != NULL;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (problem->layers->modelled[k])
            g->way[g->n_ways++] = k;
    g->body_row = g->n_slots;
    g->bank_row = g->body_row + problem->layers->n_body;
    g->cell_row = g->bank_row + problem->n_banks;
    g->fixed_rows = g->cell_row + problem->n_cells;
    assert(g->n_ways >= 1);
    size_t slots = (size_t)g->n_slots, cells = (size_t)problem->n_cells, columns = (size_t)n_columns(g);
    g->duration = ek__alloc(2 * slots + 2 * cells, sizeof(double));
    g->index = ek__alloc(columns, sizeof *g->index);
    g->value = ek__alloc(columns, sizeof *g->value);
    g->model = ek__clp_new(true);
    if (!g->duration || !g->index || !g->value || !g->model)
        return false;
    g->weight = g->duration + slots;
    g->held = g->weight + slots;
    g->parameter = g->held + cells;
    return load(g);
}

static void program_clear(program *g)
{
    ek__clp_free(g->model);
    for (int r = 0; r < g->n_added; r++)
        free(g->row[r].count);
    free(g->duration);
    free(g->index);
    free(g->value);
}

/* ---- the bound of the program's prices ---- */

/* The mix of paths. @return the transfers in it; -INFINITY when there is none */
static double mix_paths(program *g, const double *price, double *sum)
{
    double transfers = 0;
    *sum = 0;
    memset(g->weight, 0, (size_t)g->n_slots * sizeof *g->weight);
    for (int r = 0; r < g->n_added; r++)
        if (g->row[r].count)
            *sum += fmax(0, price[g->fixed_rows + r]);
    if (!(*sum > 0.5))
        return -INFINITY;
    for (int r = 0; r < g->n_added; r++) {
        const added *row = &g->row[r];
        double share = fmax(0, price[g->fixed_rows + r]) / *sum;
        if (!row->count || share == 0)
            continue;
        for (int k = 0; k < g->n_slots; k++)
            g->weight[k] += share * row->count[k];
        assert(share > 0 && share <= 1 + 1e-9);
        transfers += share * row->transfers;
    }
    return transfers;
}

/* Prices of memory, `unit` each. @return the value of the rooms, below zero */
static double price_memory(program *g, const double *price, double unit)
{
    const ek__problem *problem = g->problem;
    double worth = 0;
    assert(unit > 0);
    memset(g->held, 0, 2 * (size_t)problem->n_cells * sizeof *g->held);
    for (int r = 0; r < g->n_added; r++) {
        const added *row = &g->row[r];
        double each = fmax(0, -price[g->fixed_rows + r]) * unit / g->memory_scale;
        if (row->count || each == 0)
            continue;
        const ek__bank *bank = &problem->bank[row->bank];
        worth -= each * room_of(problem, row->bank, row->live);
        for (int i = 0; i < problem->n_held; i++) {
            g->held[bank->cells[i]] += each * bank->live[row->live * problem->n_held + i];
            g->parameter[bank->cells[i]] += each;
        }
    }
    return worth;
}

/* The least that one layer of a body kind costs, over cells and ways. */
static double cheapest(const program *g, const ek_layer *body, const double *price, double unit)
{
    const ek__problem *problem = g->problem;
    double least = INFINITY;
    assert(problem->order->n_kinds <= EK_N_BLOCK_KINDS);
    for (int c = 0; c < problem->n_cells; c++) {
        double reward = fmax(0, price[g->cell_row + c]) + price[g->bank_row + problem->order->bank[c]];
        for (int w = 0; w < g->n_ways; w++) {
            double time[EK_N_BLOCK_KINDS], cost = -unit * reward;
            layer_times(problem, c, body, g->way[w], time);
            for (int k = 0; k < problem->order->n_kinds; k++)
                cost += g->weight[k * problem->n_cells + c] * time[k];
            cost += g->parameter[c] * body->parameter_mb + g->held[c] * body->activation_mb[g->way[w]];
            least = fmin(least, cost);
        }
    }
    return least;
}

static double lagrangian(program *g)
{
    const ek__problem *problem = g->problem;
    const double *price = ek__clp_row_prices(g->model);
    double sum, bound = mix_paths(g, price, &sum);
    assert(problem->order->n_kinds <= EK_N_BLOCK_KINDS);
    if (bound == -INFINITY)
        return 0;
    double unit = g->scale / sum;
    bound += price_memory(g, price, unit);
    for (int c = 0; c < problem->n_cells; c++) {
        double extra[EK_N_BLOCK_KINDS];
        ek__cell_times(problem, c, 0, 0, 0, extra);
        for (int k = 0; k < problem->order->n_kinds; k++)
            bound += g->weight[k * problem->n_cells + c] * extra[k];
        bound += unit * fmax(0, price[g->cell_row + c]) * problem->min_layers;
    }
    for (int b = 0; b < problem->n_banks; b++) { /* of a stage that is free: its most, or its least */
        double worth = unit * price[g->bank_row + b];
        int fixed = problem->fixed_layers[b];
        bound += worth * (fixed >= 0 ? fixed : worth > 0 ? 0 : problem->n_layers);
    }
    for (int b = 0; b < problem->layers->n_body; b++)
        bound += problem->layers->body[b].n_layers * cheapest(g, &problem->layers->body[b], price, unit);
    return bound;
}

/* ---- violated rows ---- */

static int add_violated_memory(program *g)
{
    const ek__problem *problem = g->problem;
    const double *y = ek__clp_columns(g->model);
    int n = 0;
    for (int c = 0; c < problem->n_cells; c++) {
        g->held[c] = g->parameter[c] = 0; /* in MB here */
        for (int b = 0; b < problem->layers->n_body; b++)
            for (int w = 0; w < g->n_ways; w++) {
                double layers = y[column_of(g, c, b, w)];
                g->held[c] += layers * problem->layers->body[b].activation_mb[g->way[w]];
                g->parameter[c] += layers * problem->layers->body[b].parameter_mb;
            }
    }
    for (int b = 0; b < problem->n_banks; b++) {
        const ek__bank *bank = &problem->bank[b];
        double most = VIOLATED * g->memory_scale;
        int worst = -1;
        for (int k = 0; k < bank->n_live; k++) {
            double excess = -room_of(problem, b, k);
            for (int i = 0; i < problem->n_held; i++)
                excess += g->parameter[bank->cells[i]] + bank->live[k * problem->n_held + i] * g->held[bank->cells[i]];
            if (excess > most) {
                most = excess;
                worst = k;
            }
        }
        if (worst >= 0) {
            add_live(g, b, worst);
            n++;
        }
    }
    return n;
}

/* The longest path of the solution. @return whether it was violated */
static bool add_violated_path(program *g)
{
    const double *x = ek__clp_columns(g->model);
    double transfers;
    for (int k = 0; k < g->n_slots; k++)
        g->duration[k] = fmax(0, x[1 + k]) * g->scale;
    double longest = ek__longest_path(g->problem, g->duration, g->weight, &transfers);
    assert(!g->any_order); /* where the order depends on the times, this one's paths bound nothing */
    if (longest <= (x[0] + VIOLATED) * g->scale)
        return false;
    add_path(g, g->weight, transfers);
    return true;
}

/* One path through each stage to begin with, so that the first solutions are not all in one place. */
static void add_first_paths(program *g, const ek__search *search)
{
    double transfers;
    for (int s = 0; s < g->problem->n_stages && !ek__proof_over(search); s++)
        if (g->any_order) {
            for (int drained = 0; drained < 2; drained++) {
                ek__path_in_any_order(g->problem, s, drained, g->weight);
                add_path(g, g->weight, 0);
            }
        } else if (ek__path_through(g->problem, s, g->weight, &transfers)) {
            add_path(g, g->weight, transfers);
        }
}

/* Of each bank the live vector with the most memory, for the same purpose. */
static void add_first_memory(program *g, const ek__search *search)
{
    const ek__problem *problem = g->problem;
    for (int b = 0; b < problem->n_banks && !ek__proof_over(search); b++) {
        double most = -1;
        int fullest = 0;
        for (int k = 0; k < problem->bank[b].n_live; k++) {
            double sum = 0;
            for (int i = 0; i < problem->n_held; i++)
                sum += problem->bank[b].live[k * problem->n_held + i];
            fullest = sum > most ? k : fullest;
            most = fmax(most, sum);
        }
        add_live(g, b, fullest);
    }
}

static bool over(void *search)
{
    return ek__proof_over(search);
}

ek_status ek__bound_lp_relaxation(ek__search *search, ek_error *err)
{
    if (!ek__clp_present())
        return EK_OK;
    program *g = ek__alloc(1, sizeof *g);
    if (!g || !program_init(g, search->problem, atomic_load(&search->best_time))) {
        if (g)
            program_clear(g);
        free(g);
        return ek__no_memory(err);
    }
    add_first_paths(g, search);
    if (!g->any_order)
        add_first_memory(g, search);
    ek__clp_stop_when(g->model, over, search, &g->no_memory);
    bool more = true;
    while (more && !g->no_memory && g->n_added < MOST_ADDED && !ek__proof_over(search)) {
        int end = ek__clp_dual(g->model, &g->no_memory);
        if (end != 0 && !ek__proof_over(search))
            end = ek__clp_primal(g->model, &g->no_memory);
        if (end != 0)
            break;
        double bound = lagrangian(g);
        ek__search_bound(search, fmin(bound, atomic_load(&search->best_time)));
        if (ek__search_close_enough(search))
            break;
        more = !g->any_order && add_violated_memory(g) > 0;
        more |= !g->any_order && add_violated_path(g);
    }
    ek_status status = g->no_memory ? ek__no_memory(err) : EK_OK;
    search->relaxed |= !more;
    program_clear(g);
    free(g);
    return status;
}
