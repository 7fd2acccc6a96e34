/* Building blocks (Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv 2405.15362): lays out the
 * passes of one micro-batch on a grid where every pass takes one slot, and repeats them every period. The lifetime of
 * the activations of a stage's chunks, divided by the period, is the memory that the order needs, so the spacing of the
 * passes decides it. A pass goes to the earliest slot, at least a given number of slots after its predecessor, that no
 * other pass of its stage occupies modulo the period. W takes the slots that are left, oldest first.
 *
 * A repeated block leaves slots empty before the first micro-batch is through and after the last one has begun. There
 * passes move to earlier slots where their inputs and the memory are available (squeezing), at first with every W in a
 * slot of its own, then at the end also into slots of W, which run later. Passes in between stay, since later ones need
 * the memory that a move would use up.
 *
 * Chunks of a stage count alike, and passes take equal times. Where they do not, the order is still valid;
 * schedule/automatic.c lays it out with the real times. */
#include "schedule/building_block.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/watch.h"

/* The content of a slot: nothing, 1 + pass, or a W. */
enum { EMPTY, WEIGHT = 1 + EK__N_PASSES };

/* The memory of a stage before a slot. */
typedef struct holding {
    int live; /* F without their B */
    int owed; /* B without their W */
} holding;

struct ek__slot_grid {
    int p, m, period;
    int n_slots, most_slots;
    bool lazy; /* W run in empty slots; otherwise only in their own */
    double share;
    double *limit;   /* [p] */
    int *way;        /* [EK__N_PASSES][p], slots of the first micro-batch */
    int *when;       /* [EK__N_PASSES][p][m] */
    int *n_seen;     /* [p][EK__N_PASSES], passes counted */
    int *end;        /* [p], slots processed while gaps are closed */
    uint8_t *cells;  /* [p][most_slots] */
    holding *before; /* [p][most_slots + 1] */
};

static bool is_forward(int pass)
{
    return pass <= EK__PASS_F1;
}

static int cell_of(int pass)
{
    return 1 + pass;
}

/* Stage of the k-th of the EK__N_PASSES p passes of a micro-batch. */
static int stage_of(const ek__slot_grid *g, int k)
{
    int at = k % g->p;
    return k / g->p % 2 ? g->p - 1 - at : at;
}

static int *when_of(ek__slot_grid *g, int pass, int s, int i)
{
    return &g->when[((size_t)pass * (size_t)g->p + (size_t)s) * (size_t)g->m + (size_t)i];
}

static uint8_t *cells_of(const ek__slot_grid *g, int s)
{
    return g->cells + (size_t)s * (size_t)g->most_slots;
}

static holding *before_of(const ek__slot_grid *g, int s)
{
    return g->before + (size_t)s * ((size_t)g->most_slots + 1);
}

/* Run a slot. @return false when the limit does not allow it. */
static bool run_slot(const ek__slot_grid *g, int s, int cell, holding *h)
{
    if (cell == WEIGHT || (cell == EMPTY && g->lazy)) {
        h->owed -= h->owed > 0;
        return true;
    }
    if (cell == EMPTY)
        return true;
    if (is_forward(cell - 1)) {
        h->live++;
        return h->live + g->share * h->owed <= g->limit[s];
    }
    h->live--;
    h->owed++;
    return true;
}

/* ---- One micro-batch ---- */

/* Whether the repeated way stays within the limit of a stage, from its start to two periods of the steady state. */
static bool stage_fits(const ek__slot_grid *g, int s)
{
    int first = g->way[s], n = g->way[EK__PASS_B0 * g->p + s] + 2 * g->period;
    holding h = {0};
    for (int t = first; t < n; t++) {
        int cell = EMPTY;
        for (int pass = 0; pass < EK__N_PASSES; pass++) {
            int since = t - g->way[pass * g->p + s];
            if (since >= 0 && since % g->period == 0 && since / g->period < g->m)
                cell = cell_of(pass);
        }
        if (!run_slot(g, s, cell, &h))
            return false;
    }
    return true;
}

/* Whether the forwards without their backward fit on average; every feasible order satisfies this in its steady
 * state. */
static bool average_fits(const ek__slot_grid *g, int s)
{
    const int *way = g->way;
    int outer = way[EK__PASS_B0 * g->p + s] - way[EK__PASS_F0 * g->p + s];
    int inner = way[EK__PASS_B1 * g->p + s] - way[EK__PASS_F1 * g->p + s];
    return outer > g->m * g->period || outer + inner <= g->limit[s] * g->period;
}

bool ek__slot_grid_fits(ek__slot_grid *g, const ek__building_block *block)
{
    int now = 0;
    g->lazy = true;
    for (int k = 0; k < EK__N_PASSES * g->p; k++) {
        int pass = k / g->p, s = stage_of(g, k);
        if (k)
            now += k % g->p ? block->step[pass] : block->turn[pass - 1];
        for (int other = 0; other < pass; other++)
            if ((now - g->way[other * g->p + s]) % g->period == 0) {
                now++;
                other = -1; /* again from the first */
            }
        g->way[pass * g->p + s] = now;
    }
    for (int s = 0; s < g->p; s++)
        if (!average_fits(g, s))
            return false;
    for (int s = 0; s < g->p; s++)
        if (!stage_fits(g, s))
            return false;
    return true;
}

/* ---- Repeating ---- */

static void fill_holdings(const ek__slot_grid *g)
{
    for (int s = 0; s < g->p && !ek__watch_spent(0.2 * g->n_slots); s++) {
        holding h = {0}, *before = before_of(g, s);
        for (int t = 0; t < g->n_slots; t++) {
            before[t] = h;
            run_slot(g, s, cells_of(g, s)[t], &h);
        }
        before[g->n_slots] = h;
    }
}

static void repeat(ek__slot_grid *g)
{
    g->n_slots = g->way[EK__PASS_B0 * g->p] + 1 + (g->m - 1) * g->period;
    assert(g->n_slots <= g->most_slots);
    memset(g->cells, EMPTY, (size_t)g->p * (size_t)g->most_slots);
    for (int pass = 0; pass < EK__N_PASSES; pass++)
        for (int s = 0; s < g->p && !ek__watch_spent(0.2 * g->m); s++)
            for (int i = 0; i < g->m; i++) {
                int t = g->way[pass * g->p + s] + i * g->period;
                *when_of(g, pass, s, i) = t;
                cells_of(g, s)[t] = (uint8_t)cell_of(pass);
            }
}

/* Give every W the first empty slot after its B that no older one has. */
static void place_weights(ek__slot_grid *g)
{
    int n = g->n_slots;
    for (int s = 0; s < g->p; s++) {
        uint8_t *cells = cells_of(g, s);
        int owed = 0;
        for (int t = 0; t < g->n_slots || owed; t++) {
            assert(t < g->most_slots);
            if (cells[t] != EMPTY) {
                owed += !is_forward(cells[t] - 1);
            } else if (owed) {
                cells[t] = WEIGHT;
                owed--;
            }
            if (t >= n)
                n = t + 1;
        }
    }
    g->n_slots = n;
    g->lazy = false;
}

/* ---- Squeezing ---- */

static int n_seen(ek__slot_grid *g, int s, int pass)
{
    return g->n_seen[s * EK__N_PASSES + pass]++;
}

/* First slot after all inputs of a pass. */
static int earliest(ek__slot_grid *g, int pass, int s, int i)
{
    int k = pass * g->p + (pass % 2 ? g->p - 1 - s : s), t = 0;
    if (k)
        t = *when_of(g, (k - 1) / g->p, stage_of(g, k - 1), i) + 1;
    if (i && *when_of(g, pass, s, i - 1) >= t)
        t = *when_of(g, pass, s, i - 1) + 1;
    return t;
}

/* Run the slots from `to` to the one from which the state is the same as before the content of `from` moved to `to`.
 * @return false when the limit does not allow it; `before` is updated when `keep`. */
static bool run_moved(ek__slot_grid *g, int s, int from, int to, bool keep)
{
    const uint8_t *cells = cells_of(g, s);
    holding *before = before_of(g, s), h = before[to];
    for (int t = to; t < g->n_slots; t++) {
        if (!run_slot(g, s, cells[t], &h))
            return false;
        if (t >= from && h.owed == before[t + 1].owed)
            return true;
        if (keep)
            before[t + 1] = h;
    }
    return true;
}

/* Move the content of a slot to an earlier empty one. @return false when the limit does not allow it. */
static bool move(ek__slot_grid *g, int s, int from, int to)
{
    uint8_t *cells = cells_of(g, s);
    ek__watch_spent(0.1 * (from - to));
    cells[to] = cells[from];
    cells[from] = EMPTY;
    if (run_moved(g, s, from, to, false)) {
        run_moved(g, s, from, to, true);
        return true;
    }
    cells[from] = cells[to];
    cells[to] = EMPTY;
    return false;
}

static void pull_weight(ek__slot_grid *g, int s, int t)
{
    int to = t;
    for (int u = t - 1; u >= 0 && before_of(g, s)[u].owed > 0; u--)
        if (cells_of(g, s)[u] == EMPTY)
            to = u;
    ek__watch_spent(0.1 * (t - to));
    if (to < t)
        move(g, s, t, to);
}

static void pull_pass(ek__slot_grid *g, int pass, int s, int i)
{
    int *when = when_of(g, pass, s, i);
    for (int to = earliest(g, pass, s, i); to < *when && !ek__watch_spent(0.1); to++)
        if (cells_of(g, s)[to] == EMPTY && move(g, s, *when, to)) {
            *when = to;
            return;
        }
}

/* Move the passes before the first micro-batch is through stage 0 (unless W are lazy) and after the last one has begun
 * to the earliest slots. Ends early, between two moves, when time is over. */
static void pull(ek__slot_grid *g)
{
    enum { START, MIDDLE, END } part = START;
    bool all_begun = false;
    memset(g->n_seen, 0, (size_t)g->p * EK__N_PASSES * sizeof *g->n_seen);
    for (int t = 0; t < g->n_slots && !ek__watch_spent(g->p); t++)
        for (int s = 0; s < g->p; s++) {
            int cell = cells_of(g, s)[t], pass = cell - 1;
            bool stays = part == MIDDLE || (part == START && g->lazy);
            if (cell == EMPTY)
                continue;
            if (cell == WEIGHT) {
                if (!stays)
                    pull_weight(g, s, t);
                continue;
            }
            int i = n_seen(g, s, pass);
            if (s == 0 && pass == EK__PASS_B0 && part == START) {
                part = all_begun ? END : MIDDLE;
                stays = part == MIDDLE;
            }
            if (s == 0 && pass == EK__PASS_F0 && i == g->m - 1) {
                all_begun = true;
                part = part == MIDDLE ? END : part;
            }
            if (!stays)
                pull_pass(g, pass, s, i);
        }
}

/* Let every pass start as soon as its inputs and its predecessor on the stage are done. W lose their slots.
 */
static void close_gaps(ek__slot_grid *g)
{
    int n = 0;
    memset(g->n_seen, 0, (size_t)g->p * EK__N_PASSES * sizeof *g->n_seen);
    memset(g->end, 0, (size_t)g->p * sizeof *g->end);
    fill_holdings(g);
    for (int t = 0; t < g->n_slots; t++)
        for (int s = 0; s < g->p; s++) {
            uint8_t *cells = cells_of(g, s);
            int cell = cells[t];
            cells[t] = EMPTY;
            if (cell == EMPTY || cell == WEIGHT) {
                g->end[s] += (cell == WEIGHT || g->lazy) && before_of(g, s)[t].owed > 0;
                continue;
            }
            int pass = cell - 1, i = n_seen(g, s, pass), to = earliest(g, pass, s, i);
            if (to < g->end[s])
                to = g->end[s];
            cells[to] = (uint8_t)cell;
            *when_of(g, pass, s, i) = to;
            g->end[s] = to + 1;
            if (n <= to)
                n = to + 1;
        }
    g->n_slots = n;
    g->lazy = true;
}

void ek__slot_grid_repeat(ek__slot_grid *g, bool weights_first)
{
    repeat(g);
    if (weights_first)
        place_weights(g);
    for (int round = 0; round < 2; round++) {
        fill_holdings(g);
        pull(g);
        close_gaps(g);
    }
    fill_holdings(g);
}

void ek__slot_grid_order(const ek__slot_grid *g, int stage, uint8_t *passes, uint16_t *owed)
{
    const uint8_t *cells = cells_of(g, stage);
    for (int t = 0; t < g->n_slots; t++)
        if (cells[t] != EMPTY) {
            int n = before_of(g, stage)[t].owed;
            *passes++ = (uint8_t)(cells[t] - 1);
            *owed++ = (uint16_t)(n < UINT16_MAX ? n : UINT16_MAX);
        }
}

/* ---- Life ---- */

void ek__slot_grid_free(ek__slot_grid *g)
{
    if (!g)
        return;
    free(g->limit);
    free(g->way);
    free(g->cells);
    free(g->before);
    free(g);
}

ek__slot_grid *ek__slot_grid_new(int n_stages, int n_micro_batches, int period, const double *limit, double share)
{
    assert(period >= EK__LEAST_PERIOD);
    size_t p = (size_t)n_stages, m = (size_t)n_micro_batches, length = (size_t)period, n = EK__N_PASSES;
    /* Every pass waits a step or turn and at most for the others of its stage; after the last one all W may follow. */
    size_t most = length * m + n * p * (EK__MOST_STEP + n) + 2 * m + 1;
    ek__slot_grid *g = ek__alloc(1, sizeof *g);
    if (!g)
        return NULL;
    *g =
        (ek__slot_grid){.p = n_stages, .m = n_micro_batches, .period = period, .share = share, .most_slots = (int)most};
    g->limit = ek__alloc(p, sizeof *g->limit);
    g->way = ek__alloc(n * p * (m + 2) + p, sizeof *g->way);
    g->cells = ek__alloc(p * most, sizeof *g->cells);
    g->before = ek__alloc(p * (most + 1), sizeof *g->before);
    if (!g->limit || !g->way || !g->cells || !g->before) {
        ek__slot_grid_free(g);
        return NULL;
    }
    g->when = g->way + n * p;
    g->n_seen = g->when + n * p * m;
    g->end = g->n_seen + n * p;
    memcpy(g->limit, limit, p * sizeof *limit);
    return g;
}
