/* Pricing: for each stage and layer count takes the cheapest column, then distributes the layers with a knapsack DP.
 * Exact. */
#include "balance/pricing.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"

enum {
    EXCLUDE_EVERY = 50, /* plays */
    WARM = 8,           /* plays that a mix taken over counts for */
};

static bool inside(const ek__pricing *g, const ek__box *box, int s, int k)
{
    const ek__choices *all = g->choices;
    assert(k >= 0 && k < all->n[s]);
    int v = g->problem->n_chunks;
    const int *row = all->row[s] + (size_t)k * (size_t)v;
    const double *backward = all->time[s] + (size_t)k * (size_t)all->width + (size_t)(EK_BACKWARD * v);
    for (int i = 0; i < v; i++)
        if (row[i] < box->row_low[s * v + i] || row[i] > box->row_high[s * v + i] ||
            backward[i] < box->least[s * v + i] || backward[i] >= box->longest[s * v + i])
            return false;
    return true;
}

bool ek__pricing_open(ek__pricing *g, const ek__box *box)
{
    const ek__choices *all = g->choices;
    int p = g->problem->n_stages, L = g->problem->n_layers;
    for (int s = 0; s < p; s++) {
        int kept = 0, low = L + 1, high = -1;
        for (int l = 0; l <= L; l++) {
            int begin = kept;
            g->first[s][l] = kept;
            if (l < box->low[s] || l > box->high[s])
                continue;
            const int *first = g->base ? g->base->first[s] : all->first[s];
            for (int j = first[l]; j < first[l + 1]; j++) {
                int k = g->base ? g->base->from[s][j] : j;
                if (inside(g, box, s, k))
                    g->from[s][kept++] = k;
            }
            if (kept > begin) {
                low = l < low ? l : low;
                high = l;
            }
        }
        g->first[s][L + 1] = kept;
        g->low[s] = low;
        g->high[s] = high;
        if (kept == 0)
            return false;
        assert(kept <= all->n[s] && low <= high && low >= box->low[s] && high <= box->high[s]);
    }
    g->best = -INFINITY;
    return true;
}

void ek__pricing_stage_weights(const ek__pricing *g, int s, double *w)
{
    int p = g->problem->n_stages;
    for (int i = 0; i < g->choices->width; i++) /* slots are by kind, chunk and stage */
        w[i] = g->weight[i * p + s];
}

static double choice_value(const ek__pricing *g, int s, int k, const double *w)
{
    const ek__choices *all = g->choices;
    const double *time = all->time[s] + (size_t)k * (size_t)all->width;
    double sum = 0;
    assert(k >= 0 && k < all->n[s]);
    for (int i = 0; i < all->width; i++)
        sum += w[i] * time[i];
    return sum;
}

/* Cheapest choice of a stage for each of its layer counts. */
static void price_stage(const ek__pricing *g, int s)
{
    double w[EK_N_BLOCK_KINDS * EK_MAX_CHUNKS];
    assert(g->choices->width <= EK_N_BLOCK_KINDS * EK_MAX_CHUNKS);
    assert(g->low[s] >= 0 && g->low[s] <= g->high[s] && g->high[s] <= g->problem->n_layers);
    ek__pricing_stage_weights(g, s, w);
    for (int l = g->low[s]; l <= g->high[s]; l++) {
        double least = INFINITY;
        for (int j = g->first[s][l]; j < g->first[s][l + 1]; j++) {
            double value = choice_value(g, s, g->from[s][j], w);
            if (value < least) {
                least = value;
                g->by[ek__pricing_at(g, s, l)] = g->from[s][j];
            }
        }
        g->value[ek__pricing_at(g, s, l)] = least;
    }
}

/* Cheapest stages up to each, for every number of layers they hold. @return that of all; INFINITY without a plan */
static double deal_out(ek__pricing *g)
{
    int p = g->problem->n_stages, L = g->problem->n_layers, low = 0, high = 0;
    g->before[0] = 0;
    for (int s = 0; s < p; s++) {
        int a = g->low[s], b = g->high[s];
        const double *value = g->value + ek__pricing_at(g, s, 0), *from = g->before + ek__pricing_at(g, s, 0);
        double *to = g->before + ek__pricing_at(g, s + 1, 0);
        int *taken = g->taken + ek__pricing_at(g, s + 1, 0), most = high + b < L ? high + b : L;
        for (int l = low + a; l <= most; l++)
            to[l] = INFINITY;
        for (int l = low; l <= high; l++)
            for (int n = a; n <= b && l + n <= most; n++)
                if (from[l] + value[n] < to[l + n]) {
                    to[l + n] = from[l] + value[n];
                    taken[l + n] = n;
                }
        low += a;
        high = most;
        if (low > L)
            return INFINITY;
    }
    return high < L ? INFINITY : g->before[ek__pricing_at(g, p, L)];
}

double ek__pricing_respond(ek__pricing *g)
{
    int p = g->problem->n_stages;
    for (int s = 0; s < p; s++)
        price_stage(g, s);
    double least = deal_out(g);
    if (least == INFINITY)
        return least;
    for (int s = p - 1, l = g->problem->n_layers; s >= 0; s--) {
        int n = g->taken[ek__pricing_at(g, s + 1, l)];
        assert(n >= g->low[s] && n <= g->high[s] && (s > 0 || n == l)); /* all layers are dealt out */
        g->pick[s] = g->by[ek__pricing_at(g, s, n)];
        l -= n;
    }
    least += g->transfers;
    if (least > g->best) {
        g->best = least;
        memcpy(g->best_weight, g->weight, (size_t)ek__order_n_slots(g->problem->order) * sizeof(double));
        g->best_transfers = g->transfers;
    }
    return least;
}

/* Cheapest stages from each on, for every number of layers they hold. */
static void deal_back(ek__pricing *g)
{
    int p = g->problem->n_stages, L = g->problem->n_layers, low = 0, high = 0;
    for (int s = 0; s <= p; s++)
        for (int l = 0; l <= L; l++)
            g->after[ek__pricing_at(g, s, l)] = INFINITY;
    g->after[ek__pricing_at(g, p, 0)] = 0;
    for (int s = p - 1; s >= 0; s--) {
        int a = g->low[s], b = g->high[s], most = high + b < L ? high + b : L;
        const double *value = g->value + ek__pricing_at(g, s, 0), *from = g->after + ek__pricing_at(g, s + 1, 0);
        double *to = g->after + ek__pricing_at(g, s, 0);
        for (int l = low; l <= high; l++)
            for (int n = a; n <= b && l + n <= most; n++)
                to[l + n] = fmin(to[l + n], from[l] + value[n]);
        low += a;
        high = most;
    }
}

bool ek__pricing_exclude(ek__pricing *g)
{
    int p = g->problem->n_stages, L = g->problem->n_layers, low = 0, high = 0;
    double w[EK_N_BLOCK_KINDS * EK_MAX_CHUNKS], target = g->target - g->transfers;
    bool any = true;
    deal_back(g);
    for (int s = 0; s < p; s++) {
        int kept = 0, a = g->low[s], b = g->high[s], least = L + 1, most = -1;
        ek__pricing_stage_weights(g, s, w);
        for (int n = a; n <= b; n++) {
            double others = INFINITY;
            int begin = g->first[s][n], end = g->first[s][n + 1];
            for (int l = low; l <= high && l + n <= L; l++)
                others =
                    fmin(others, g->before[ek__pricing_at(g, s, l)] + g->after[ek__pricing_at(g, s + 1, L - l - n)]);
            g->first[s][n] = kept;
            for (int j = begin; j < end && others + g->value[ek__pricing_at(g, s, n)] < target; j++)
                if (others + choice_value(g, s, g->from[s][j], w) < target)
                    g->from[s][kept++] = g->from[s][j];
            if (kept > g->first[s][n]) {
                least = n < least ? n : least;
                most = n;
            }
        }
        assert(kept <= g->first[s][L + 1]);
        for (int n = b + 1; n <= L + 1; n++)
            g->first[s][n] = kept;
        low += a;
        high = high + b < L ? high + b : L;
        g->low[s] = least;
        g->high[s] = most;
        any &= most >= least;
    }
    return any;
}

#ifndef NDEBUG
/* Do the average plan's layers add up to the model's? */
static bool average_is_whole(const ek__pricing *g)
{
    double sum = 0;
    for (int c = 0; c < g->problem->n_cells; c++)
        sum += g->mean_row[c];
    return fabs(sum - g->problem->n_layers) <= 1e-6 * g->problem->n_layers;
}
#endif

/* Mix the picked plan into the planner's average; a share of 1 replaces it. */
static void average_plan(ek__pricing *g, double share)
{
    const ek__choices *all = g->choices;
    assert(share > 0 && share <= 1);
    int p = g->problem->n_stages, v = g->problem->n_chunks;
    for (int s = 0; s < p; s++) {
        const double *time = all->time[s] + (size_t)g->pick[s] * (size_t)all->width;
        const int *row = all->row[s] + (size_t)g->pick[s] * (size_t)v;
        for (int i = 0; i < v; i++) {
            double *mean = &g->mean_row[s * v + i];
            *mean += share * (row[i] - *mean);
            for (int k = 0; k < g->problem->order->n_kinds; k++) {
                double *d = &g->duration[k * g->problem->n_cells + i * p + s];
                *d += share * (time[k * v + i] - *d);
            }
        }
    }
    assert(average_is_whole(g));
}

bool ek__pricing_solve(ek__pricing *g, int n_plays, const ek__search *search,
                       void (*seen)(void *user, const ek__pricing *game, double path_transfers), void *user)
{
    size_t n_slots = (size_t)ek__order_n_slots(g->problem->order);
    assert(n_plays >= 1);
    for (int k = 0; k < n_plays && !ek__proof_over(search); k++) {
        double transfers, share = 2.0 / (k + 3 + WARM);
        if (ek__pricing_respond(g) >= g->target)
            return false;
        average_plan(g, k == 0 ? 1 : 2.0 / (k + 2));
        ek__longest_path(g->problem, g->duration, g->path, &transfers);
        if (seen)
            seen(user, g, transfers);
        if (k % EXCLUDE_EVERY == 0 && !ek__pricing_exclude(g))
            return false;
        for (size_t i = 0; i < n_slots; i++)
            g->weight[i] += share * (g->path[i] - g->weight[i]);
        g->transfers += share * (transfers - g->transfers);
    }
    return true;
}

bool ek__pricing_init(ek__pricing *g, const ek__problem *problem, const ek__choices *choices)
{
    *g = (ek__pricing){.problem = problem, .choices = choices, .target = INFINITY};
    size_t p = (size_t)problem->n_stages, row = (size_t)problem->n_layers + 1, total = 1;
    size_t n_slots = (size_t)ek__order_n_slots(problem->order);
    for (size_t s = 0; s < p; s++)
        total += (size_t)choices->n[s];
    g->alive = ek__alloc(total, sizeof(int));
    g->from = ek__alloc(p, sizeof(int *));
    g->first = ek__alloc(p, sizeof(int *));
    g->low = ek__alloc(3 * p, sizeof(int));
    g->value = ek__alloc(3 * (p + 1) * row, sizeof(double));
    g->by = ek__alloc(2 * (p + 1) * row, sizeof(int));
    g->weight = ek__alloc(4 * n_slots + (size_t)problem->n_cells, sizeof(double));
    if (!g->alive || !g->from || !g->first || !g->low || !g->value || !g->by || !g->weight)
        return false;
    total = 0;
    for (size_t s = 0; s < p; s++) {
        g->from[s] = g->alive + total;
        total += (size_t)choices->n[s];
        g->first[s] = ek__alloc(row + 1, sizeof(int));
        if (!g->first[s])
            return false;
    }
    g->high = g->low + p;
    g->pick = g->high + p;
    g->before = g->value + (p + 1) * row;
    g->after = g->before + (p + 1) * row;
    g->taken = g->by + (p + 1) * row;
    g->path = g->weight + n_slots;
    g->duration = g->path + n_slots;
    g->best_weight = g->duration + n_slots;
    g->mean_row = g->best_weight + n_slots;
    return true;
}

void ek__pricing_clear(ek__pricing *g)
{
    for (int s = 0; g->first && s < g->problem->n_stages; s++)
        free(g->first[s]);
    free(g->alive);
    free(g->from);
    free(g->first);
    free(g->low);
    free(g->value);
    free(g->by);
    free(g->weight);
}
