/* Minimum-memory start: computes the most layers each bank (a stage's chunks, or the chunks that a stage and its mirror
 * share) can hold with the recomputation of least memory, and from them a feasible start or the smallest limit that
 * would fit.
 *
 * With one body kind a bank's capacity is a small integer program in its chunks, solved exactly, and a limit fits when
 * the capacities add up to the layers. With several kinds and banks of one chunk, which counts of layers the first
 * stages can hold is tabled stage by stage, exactly. A stage that is fixed takes its number or nothing fits.
 * Otherwise a local search lowers the fullest peak, and its answer is the smallest found. The same is true where time
 * ended before the rest was tried (base/watch.h). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/search.h"
#include "base/error.h"
#include "base/random.h"
#include "evenkeel/layers.h"

enum { MAX_NODES = 20000, DESCENT_STEPS = 200000 };
#define DESCENT_WORK 2e7 /* checked cells */

static bool put(const ek__problem *problem, ek__state *state, int cell, int first, int n)
{
    const ek__chunk *chunk = ek__chunk_get(problem, first, n);
    if (!chunk)
        return false;
    assert(chunk->n_options >= 1);
    state->chunk[cell] = chunk;
    state->option[cell] = chunk->n_options - 1; /* the thriftiest */
    return true;
}

/* Chunks of model positions [from, to] by their cells' layer counts, at their thriftiest; those before are in place. */
static bool add_range(const ek__problem *problem, ek__state *state, const int *layers, int from, int to)
{
    const int *cell_at = problem->order->cell_at;
    int at = 0;
    assert(from >= 0 && from <= to && to < problem->n_cells);
    for (int q = 0; q < from; q++)
        at += layers[cell_at[q]];
    for (int q = from; q <= to; at += layers[cell_at[q++]])
        if (!put(problem, state, cell_at[q], at, layers[cell_at[q]]))
            return false;
    return true;
}

/* The fullest stage's peak. */
static double fullest(const ek__problem *problem, const ek__state *state, int *stage)
{
    double worst = -INFINITY;
    for (int s = 0; s < problem->n_stages; s++) {
        double excess = ek__state_excess(problem, state, s);
        if (excess > worst) {
            worst = excess;
            if (stage)
                *stage = s;
        }
    }
    return worst + problem->limit_mb;
}

typedef struct room_scratch {
    double *weight, *live, *room;
    /* [n_layers + 1] MB of a micro-batch of this number of layers in a chunk, above the least of a layer each; one body
     * kind
     */
    double *more, least;
    int *x, *best, *capacity, *count, *layers;
    double *parameter_sum, *activation_sum; /* [n_layers + 1] of the layers before, recomputed as thriftily as can be */
    unsigned char *reach; /* [n_stages + 1][n_layers + 1] can that many stages hold that many layers? */
    int *change;          /* [n_layers + 2] */
    bool no_memory;       /* a chunk could not be allocated: a failed fit proves nothing */
} room_scratch;

/* The integer program of one bank: most layers with sum_i weight[k][i] x_i <= room[k] for every live vector k. */
typedef struct knapsack {
    int n, n_live, most;  /* chunks, live vectors, layers that are of any use */
    int least;            /* of each chunk */
    const double *weight; /* [n_live][n] of a layer, at least */
    const double *live;   /* [n_live][n] micro-batches */
    const double *more;   /* [most + 1] of this number of layers in a chunk, for a micro-batch; NULL: none */
    double *room;         /* [n_live] left */
    int *x, *best;        /* [n] */
    int best_sum, nodes;
} knapsack;

/* Of x layers in chunk i under a live vector. */
static double load_of(const knapsack *k, int l, int i, int x)
{
    return x * k->weight[l * k->n + i] + (k->more ? k->live[l * k->n + i] * k->more[x] : 0);
}

static bool is_over(const knapsack *k, int i, int x)
{
    for (int l = 0; l < k->n_live && k->more; l++)
        if (load_of(k, l, i, x) > k->room[l] + 1e-9 * k->weight[l * k->n + i])
            return true;
    return false;
}

/* Layers of a weight that the room left under a live vector takes, a billionth of one more for rounding. Layers that
 * weigh nothing are not limited, unless head, tail and constant already exceed the limit. */
static double layers_in(const knapsack *k, int l, double weight)
{
    double heaviest = 0;
    if (weight > 0)
        return floor(k->room[l] / weight + 1e-9);
    for (int j = 0; j < k->n; j++)
        heaviest = fmax(heaviest, k->weight[l * k->n + j]);
    return k->room[l] < -1e-9 * heaviest ? -1 : k->most;
}

/* Chunks from i on, with `sum` layers in those before. */
static void pack(knapsack *k, int i, int sum)
{
    assert(i >= 0 && i <= k->n && sum >= i * k->least && sum <= k->most);
    if (ek__watch_spent(0.5 * k->n_live * (k->n - i)))
        k->nodes = MAX_NODES + 1;
    if (k->nodes++ > MAX_NODES || k->best_sum >= k->most)
        return;
    if (i == k->n) {
        if (sum > k->best_sum) {
            k->best_sum = sum;
            memcpy(k->best, k->x, (size_t)k->n * sizeof *k->best);
        }
        return;
    }
    /* The most layers that the rest could add, by its lightest chunk under each live vector; and of this chunk by
     * itself. */
    double rest = k->most - sum, alone = rest - (double)(k->n - 1 - i) * k->least;
    for (int l = 0; l < k->n_live; l++) {
        double lightest = INFINITY;
        for (int j = i; j < k->n; j++)
            lightest = fmin(lightest, k->weight[l * k->n + j]);
        rest = fmin(rest, layers_in(k, l, lightest));
        alone = fmin(alone, layers_in(k, l, k->weight[l * k->n + i]));
    }
    if (sum + rest <= k->best_sum)
        return;
    assert(alone <= k->most); /* counts of `more` */
    alone = fmax(alone, -1);  /* for whole numbers */
    for (int x = (int)alone; x >= k->least; x--) {
        if (is_over(k, i, x))
            continue;
        k->x[i] = x;
        for (int l = 0; l < k->n_live; l++)
            k->room[l] -= load_of(k, l, i, x);
        pack(k, i + 1, sum + x);
        for (int l = 0; l < k->n_live; l++)
            k->room[l] += load_of(k, l, i, x);
    }
}

static double live_sum(const double *live, int n_live, int v, int chunk)
{
    double sum = 0;
    for (int k = 0; k < n_live; k++)
        sum += live[k * v + chunk];
    return sum;
}

/* Most layers a bank holds within `limit`, chunk by chunk in `x`, and at most its fixed number; -1 when not even the
 * least fits. One body kind. */
static int bank_capacity(const ek__problem *problem, const ek__bank *bank, double limit, const room_scratch *r, int *x,
                         bool *exact)
{
    int v = problem->n_held, n_live = bank->n_live, chunk[EK_MAX_CHUNKS], packed[EK_MAX_CHUNKS] = {0};
    const double *live = bank->live;
    const ek__chunk *one = ek__chunk_get(problem, 0, 1);
    double parameter = one ? one->parameter_mb : 0;
    assert(v >= 1 && v <= EK_MAX_CHUNKS && n_live <= problem->most_live);
    ek__watch_spent(0.1 * n_live * v * v);
    for (int i = 0; i < v; i++) { /* insertion by the sum over live vectors */
        int at = i;
        for (; at > 0 && live_sum(live, n_live, v, chunk[at - 1]) > live_sum(live, n_live, v, i); at--)
            chunk[at] = chunk[at - 1];
        chunk[at] = i;
    }
    for (int k = 0; k < n_live; k++) {
        r->room[k] = bank->room_mb[k] + limit - problem->limit_mb + problem->tolerance_mb;
        for (int i = 0; i < v; i++) {
            double alive = live[k * v + chunk[i]];
            r->room[k] -= alive * problem->extra[bank->cells[chunk[i]]].activation_mb;
            r->weight[k * v + i] = parameter + alive * r->least;
            r->live[k * v + i] = alive;
        }
    }
    knapsack sack = {.n = v,
                     .n_live = n_live,
                     .most = problem->fixed_layers[bank - problem->bank] >= 0
                                 ? problem->fixed_layers[bank - problem->bank]
                                 : problem->n_layers,
                     .least = problem->min_layers,
                     .weight = r->weight,
                     .live = r->live,
                     .more = problem->full_layers ? r->more : NULL,
                     .room = r->room,
                     .x = r->x,
                     .best = packed,
                     .best_sum = -1};
    pack(&sack, 0, 0);
    for (int i = 0; i < v && sack.best_sum >= 0; i++)
        x[chunk[i]] = packed[i];
    *exact &= sack.nodes <= MAX_NODES;
    assert(sack.best_sum >= -1 && sack.best_sum <= sack.most);
    return sack.best_sum;
}

/* Spread the layers: each next one to the bank with the fewest that still has capacity. The capacities, and those of
 * the fixed stages theirs, hold all layers. */
static void spread(const ek__problem *problem, const int *capacity, int *count)
{
    int n = problem->n_banks, left = problem->n_layers;
    for (int s = 0; s < n; s++) {
        count[s] = problem->fixed_layers[s] >= 0 ? problem->fixed_layers[s] : problem->n_held * problem->min_layers;
        left -= count[s];
    }
    assert(left >= 0);
    for (; left > 0; left--) {
        int to = -1;
        for (int s = 0; s < n; s++)
            if (count[s] < capacity[s] && (to < 0 || count[s] < count[to]))
                to = s;
        assert(to >= 0);
        count[to]++;
    }
}

/* A bank's chunks, `count` layers in all, as even as fits; `most` is a packing of its capacity. */
static void split_bank(const ek__problem *problem, const ek__bank *bank, int count, int *most, int *layers)
{
    int v = problem->n_held, sum = 0;
    for (int i = 0; i < v; i++)
        sum += most[i];
    assert(sum >= count);
    for (; sum > count; sum--) { /* taking layers off a packing keeps it within the room */
        int from = 0;
        for (int i = 1; i < v; i++)
            if (most[i] > most[from])
                from = i;
        assert(most[from] > problem->min_layers); /* else `count` is less than the least of the chunks */
        most[from]--;
    }
    for (int i = 0; i < v; i++)
        layers[bank->cells[i]] = most[i];
}

/* Does the limit fit? Fills `state` when it does. One body kind. */
static bool fill_uniform(const ek__problem *problem, double limit, room_scratch *r, ek__state *state, bool *exact)
{
    long total = 0;
    int n = problem->n_banks, v = problem->n_held;
    for (int b = 0; b < n; b++) {
        r->capacity[b] = bank_capacity(problem, &problem->bank[b], limit, r, r->best + b * v, exact);
        if (r->capacity[b] < problem->fixed_layers[b] || r->capacity[b] < 0)
            return false;
        total += r->capacity[b];
    }
    if (total < problem->n_layers)
        return false;
    spread(problem, r->capacity, r->count);
    for (int b = 0; b < n; b++)
        split_bank(problem, &problem->bank[b], r->count[b], r->best + b * v, r->layers);
    bool placed = add_range(problem, state, r->layers, 0, problem->n_cells - 1);
    r->no_memory |= !placed;
    return placed;
}

/* Several body kinds, one chunk a stage (so that a cell is its stage): does the stage hold layers [from, to)? */
static bool holds(const ek__problem *problem, const room_scratch *r, int s, int from, int to, double raise)
{
    const ek__bank *bank = &problem->bank[s];
    assert(problem->n_held == 1 && from >= 0 && from <= to && to <= problem->n_layers);
    double parameter = r->parameter_sum[to] - r->parameter_sum[from];
    double activation = r->activation_sum[to] - r->activation_sum[from] + problem->extra[s].activation_mb;
    for (int k = 0; k < bank->n_live; k++)
        if (parameter + bank->live[k] * activation > bank->room_mb[k] + raise)
            return false;
    return true;
}

/* Layers a stage may take. */
static int stage_least(const ek__problem *problem, int s)
{
    return problem->fixed_layers[s] >= 0 ? problem->fixed_layers[s] : problem->min_layers;
}

static int stage_most(const ek__problem *problem, int s)
{
    return problem->fixed_layers[s] >= 0 ? problem->fixed_layers[s] : problem->n_layers;
}

/* From the possible sums of layers of the stages before `s`, compute those including `s`. The most layers that fit grow
 * with the begin of a stage, so one pass finds them for every begin. */
static void extend_reach(const ek__problem *problem, room_scratch *r, int s, double raise)
{
    int n = problem->n_layers, to = 0, open = 0, least = stage_least(problem, s), most = stage_most(problem, s);
    const unsigned char *reach = r->reach + (size_t)s * ((size_t)n + 1);
    unsigned char *next = r->reach + (size_t)(s + 1) * ((size_t)n + 1);
    memset(r->change, 0, ((size_t)n + 2) * sizeof *r->change);
    for (int from = 0; from <= n; from++) {
        to = from > to ? from : to;
        if (!holds(problem, r, s, from, to, raise))
            continue;
        while (to < n && holds(problem, r, s, from, to + 1, raise))
            to++;
        int last = to - from > most ? from + most : to;
        if (reach[from] && from + least <= last) {
            r->change[from + least]++;
            r->change[last + 1]--;
        }
    }
    for (int at = 0; at <= n; at++) {
        open += r->change[at];
        assert(open >= 0);
        next[at] = open > 0;
    }
}

/* Can the stages distribute the layers, of any kinds, within `limit`? Fills `state` when they can, from the last stage
 * on, each with about its share of the rest. */
static bool fill_in_order(const ek__problem *problem, double limit, room_scratch *r, ek__state *state)
{
    int n = problem->n_layers, p = problem->n_stages, end = n;
    size_t row = (size_t)n + 1;
    double raise = limit - problem->limit_mb + 0.5 * problem->tolerance_mb; /* half: sums are rounded differently */
    memset(r->reach, 0, row);
    r->reach[0] = 1;
    for (int s = 0; s < p; s++)
        extend_reach(problem, r, s, raise);
    if (!r->reach[(size_t)p * row + (size_t)n])
        return false;
    for (int s = p - 1; s >= 0; s--) {
        int share = end / (s + 1), taken = -1;
        for (int away = 0; taken < 0; away++) { /* there is one, since the row after has it */
            assert(away <= n);
            for (int sign = -1; sign <= 1 && taken < 0; sign += 2) {
                int layers = share + sign * away;
                if (layers >= stage_least(problem, s) && layers <= stage_most(problem, s) && layers <= end &&
                    r->reach[(size_t)s * row + (size_t)(end - layers)] &&
                    holds(problem, r, s, end - layers, end, raise))
                    taken = layers;
            }
        }
        if (!put(problem, state, s, end - taken, taken)) {
            r->no_memory = true;
            return false;
        }
        end -= taken;
    }
    assert(end == 0);
    return true;
}

/* Sums of the memory of the model's first layers when all use the recompute kind of least memory; false when that kind
 * differs between layers, so that a mix of kinds could take less. */
static bool sum_layers(const ek__problem *problem, room_scratch *r)
{
    const ek_layers *layers = problem->layers;
    double least = INFINITY;
    int thrifty = 0, at = 0;
    bool everywhere = true;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        double sum = 0;
        for (int b = 0; b < layers->n_body; b++)
            sum += layers->body[b].n_layers * layers->body[b].activation_mb[k];
        if (layers->modelled[k] && sum < least) {
            least = sum;
            thrifty = k;
        }
    }
    for (int b = 0; b < layers->n_body; b++) {
        const ek_layer *body = &layers->body[b];
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            everywhere &= !layers->modelled[k] || body->activation_mb[k] >= body->activation_mb[thrifty];
        for (; at < problem->body_end[b]; at++) {
            r->parameter_sum[at + 1] = r->parameter_sum[at] + body->parameter_mb;
            r->activation_sum[at + 1] = r->activation_sum[at] + body->activation_mb[thrifty];
        }
    }
    assert(at == problem->n_layers && least < INFINITY);
    return everywhere;
}

/* The least memory of chunks: the same kind for every layer, unless a rule sets the number of recomputed layers. */
static void weigh_chunks(const ek__problem *problem, room_scratch *r)
{
    int n = problem->full_layers ? problem->n_layers : 1;
    r->least = INFINITY;
    for (int x = 1; x <= n; x++) {
        const ek__chunk *chunk = ek__chunk_get(problem, 0, x);
        r->no_memory |= !chunk;
        r->more[x] = chunk ? chunk->option[chunk->n_options - 1].activation_mb : 0;
        r->least = fmin(r->least, r->more[x] / x);
    }
    for (int x = 1; x <= n; x++)
        r->more[x] -= x * r->least;
}

/* The smallest limit for which `fill` succeeds, between 0 and one that is known to do. */
static double smallest_limit(const ek__problem *problem, room_scratch *r, double high, ek__state *state, bool *exact)
{
    bool uniform = problem->layers->n_body == 1;
    double low = 0;
    assert(high > problem->limit_mb); /* which does not fit */
    for (int i = 0; i < 60 && high - low > 1e-9 * high && !ek__watch_spent(0); i++) {
        double middle = low + (high - low) / 2;
        if (uniform ? fill_uniform(problem, middle, r, state, exact) : fill_in_order(problem, middle, r, state))
            high = middle;
        else
            low = middle;
    }
    *exact &= !ek__watch_spent(0);
    if (uniform)
        fill_uniform(problem, high, r, state, exact);
    else
        fill_in_order(problem, high, r, state);
    return fullest(problem, state, NULL);
}

/* Lower the fullest peak by moving single layers, until it is within the limit or steps or time are used up. */
static bool descend(const ek__problem *problem, room_scratch *r, ek__state *state)
{
    ek__random random = ek__random_seed(1);
    const int *cell_at = problem->order->cell_at;
    int n = problem->n_cells, *best = r->best, n_steps = (int)fmin(DESCENT_STEPS, DESCENT_WORK / n);
    double now = fullest(problem, state, NULL), lowest = now;
    assert(n_steps >= 1 && lowest > problem->limit_mb);
    memcpy(best, r->layers, (size_t)n * sizeof *best);
    double work = 0; /* of a step: every stage's live vectors */
    for (int b = 0; b < problem->n_banks; b++)
        work += 0.2 * problem->bank[b].n_live * problem->n_held;
    for (int step = 0; step < n_steps && lowest > problem->limit_mb + problem->tolerance_mb; step++) {
        if (ek__watch_spent(work))
            break;
        double temperature = 0.05 * lowest * (1.0 - (double)step / n_steps);
        int q = ek__random_below(&random, n), to_q = ek__random_below(&random, n), a = cell_at[q], b = cell_at[to_q];
        if (a == b || r->layers[a] <= problem->min_layers || !ek__may_exchange(problem, a, b))
            continue;
        int from = q < to_q ? q : to_q, to = q < to_q ? to_q : q;
        r->layers[a]--;
        r->layers[b]++;
        if (!add_range(problem, state, r->layers, from, to))
            return false;
        double then = fullest(problem, state, NULL);
        if (then <= now || ek__random_unit(&random) < exp((now - then) / (temperature + 1e-9))) {
            now = then;
            if (now < lowest) {
                lowest = now;
                memcpy(best, r->layers, (size_t)n * sizeof *best);
            }
        } else {
            r->layers[a]++;
            r->layers[b]--;
            if (!add_range(problem, state, r->layers, from, to))
                return false;
        }
    }
    return add_range(problem, state, best, 0, n - 1);
}

/* As even as the fixed stages allow. */
static void even(const ek__problem *problem, int *layers)
{
    const ek_order *order = problem->order;
    int free_layers = problem->n_layers, free_cells = 0, placed = 0;
    for (int b = 0; b < problem->n_banks; b++) {
        int fixed = problem->fixed_layers[b], v = problem->n_held;
        for (int i = 0; i < v && fixed >= 0; i++)
            layers[problem->bank[b].cells[i]] = fixed / v + (i < fixed % v);
        free_layers -= fixed >= 0 ? fixed : 0;
        free_cells += fixed >= 0 ? 0 : v;
    }
    assert(free_cells > 0 ? free_layers >= free_cells * problem->min_layers : free_layers == 0);
    for (int q = 0; q < problem->n_cells; q++)
        if (problem->fixed_layers[order->bank[order->cell_at[q]]] < 0) {
            assert(free_cells > 0); /* this is one */
            layers[order->cell_at[q]] = free_layers / free_cells + (placed < free_layers % free_cells);
            placed++;
        }
}

ek_status ek__minimum_memory_start(const ek__problem *problem, ek__state *state, bool *fits, double *limit, bool *exact,
                                   ek_error *err)
{
    size_t n = (size_t)problem->n_cells, n_banks = (size_t)problem->n_banks, v = (size_t)problem->n_held;
    size_t most_live = (size_t)problem->most_live, n_layers = (size_t)problem->n_layers;
    room_scratch r = {.weight = ek__alloc(most_live * v, sizeof(double)),
                      .live = ek__alloc(most_live * v, sizeof(double)),
                      .room = ek__alloc(most_live, sizeof(double)),
                      .more = ek__alloc(n_layers + 2, sizeof(double)),
                      .x = ek__alloc(v, sizeof(int)),
                      .best = ek__alloc(n, sizeof(int)),
                      .capacity = ek__alloc(n_banks, sizeof(int)),
                      .count = ek__alloc(n_banks, sizeof(int)),
                      .layers = ek__alloc(n, sizeof(int)),
                      .parameter_sum = ek__alloc(n_layers + 1, sizeof(double)),
                      .activation_sum = ek__alloc(n_layers + 1, sizeof(double)),
                      .reach = ek__alloc(((size_t)problem->n_stages + 1) * (n_layers + 1), 1),
                      .change = ek__alloc(n_layers + 2, sizeof(int))};
    ek_status status = EK_OK;
    *exact = true;
    if (!r.weight || !r.live || !r.room || !r.more || !r.x || !r.best || !r.capacity || !r.count || !r.layers ||
        !r.parameter_sum || !r.activation_sum || !r.reach || !r.change) {
        status = ek__no_memory(err);
        goto done;
    }
    even(problem, r.layers);
    if (!add_range(problem, state, r.layers, 0, problem->n_cells - 1)) {
        status = ek__no_memory(err);
        goto done;
    }
    double high = fullest(problem, state, NULL); /* the even split fits this one */
    bool within = high <= problem->limit_mb + problem->tolerance_mb;
    if (within) {
        *fits = true;
    } else if (problem->layers->n_body == 1 || (problem->n_held == 1 && !problem->full_layers)) {
        bool uniform = problem->layers->n_body == 1;
        if (uniform)
            weigh_chunks(problem, &r);
        if (!uniform)
            *exact = sum_layers(problem, &r);
        *fits = uniform ? fill_uniform(problem, problem->limit_mb, &r, state, exact)
                        : fill_in_order(problem, problem->limit_mb, &r, state);
        if (!*fits)
            *limit = smallest_limit(problem, &r, high, state, exact);
    } else {
        *exact = false;
        if (!descend(problem, &r, state)) {
            status = ek__no_memory(err);
            goto done;
        }
        *limit = fullest(problem, state, NULL);
        *fits = *limit <= problem->limit_mb + problem->tolerance_mb;
    }
    if (r.no_memory)
        status = ek__no_memory(err);
    assert(status || ek__state_is_valid(problem, state, *fits));
done:
    free(r.weight);
    free(r.live);
    free(r.room);
    free(r.more);
    free(r.x);
    free(r.best);
    free(r.capacity);
    free(r.count);
    free(r.layers);
    free(r.parameter_sum);
    free(r.activation_sum);
    free(r.reach);
    free(r.change);
    return status;
}
