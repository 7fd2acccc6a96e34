/* Raises the lower bound by branch and cut over the layers of stages and chunks.
 *
 * It proves one target after the other: no plan takes less. The relaxation of a box of plans (master.c) either reaches
 * the target, or its mix of plans is split where that matters most: at the layers of the stage or chunk that are least
 * integral, weighted by the best mix of paths. The choice of the split matters far more than the speed: with the
 * chunks' weights left out, the published case of Llama-175B takes thousands of boxes instead of dozens.
 *
 * A target is proved by all threads together, in an order that depends on their speed; the proved bound does not. When
 * a plan below the target is found, one thread repeats the search, so that the answer does not depend on the order
 * either. */
#include "balance/tree.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/master.h"
#include "base/clp.h"
#include "base/error.h"
#include "base/threads.h"

enum {
    MOST_CHOICES = 400000,
    MOST_LISTED = 3000,  /* choices that the programs begin with all of */
    MOST_NODES = 100000, /* at a time */
    FIRST_PLAYS = 3000,
    SEEN_EVERY = 20,   /* of so many iterations one gives its plan and path to the programs at their start */
    FIRST_LOOKS = 200, /* sets evaluated before a restart with the programs' cuts and columns */
    STARTS = 3,        /* before the limit of evaluated sets is doubled */
};

#define FIRST_WORK 1e8  /* choices priced in the first plays, about */
#define WHOLE      1e-3 /* averages this close to a whole number are left for last */
#define EXACT      1e-9
#define NEXT_TO    1e-6 /* shares as close as this are one */
#define TOTAL      4.0  /* value of a cut at a stage's layers, relative to one at a chunk's */

typedef struct node {
    ek__box box;
    double *weight; /* [n_slots] a mix to begin with */
    double transfers;
    struct node *next;
} node;

typedef struct tree tree;

typedef struct worker {
    tree *tree;
    ek__pricing game;
    ek__master *master;
} worker;

struct tree {
    ek__search *search;
    const ek__problem *problem;
    ek__choices choices;
    double target;
    ek__pricing root; /* the choices of all plans that matter */
    int n_workers;
    worker *worker;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t more;
    node *open; /* the last to come is the first to go */
    int n_open, n_busy;
    long n_looks, most_looks;
    bool stuck, failed;
    bool found; /* a plan below the target: in state when there is one worker */
    ek__state state;
    double *scratch; /* of its step time */
};

/* ---- nodes ---- */

static node *node_new(const tree *t)
{
    size_t p = (size_t)t->problem->n_stages, cells = (size_t)t->problem->n_cells;
    size_t n_slots = (size_t)ek__order_n_slots(t->problem->order);
    node *n = ek__alloc(1, sizeof *n + (n_slots + 2 * cells) * sizeof(double) + 2 * (p + cells) * sizeof(int));
    if (!n)
        return NULL;
    n->weight = (double *)(n + 1);
    n->box.least = n->weight + n_slots;
    n->box.longest = n->box.least + cells;
    n->box.low = (void *)(n->box.longest + cells); /* integers need no more alignment than doubles */
    n->box.high = n->box.low + p;
    n->box.row_low = n->box.high + p;
    n->box.row_high = n->box.row_low + cells;
    /* Mix and box are one allocation, which node_copy() copies whole. */
    assert((char *)(n->box.row_high + cells) ==
           (char *)(n + 1) + (n_slots + 2 * cells) * sizeof(double) + 2 * (p + cells) * sizeof(int));
    return n;
}

static node *node_copy(const tree *t, const node *from)
{
    size_t p = (size_t)t->problem->n_stages, cells = (size_t)t->problem->n_cells;
    size_t n_slots = (size_t)ek__order_n_slots(t->problem->order);
    node *n = node_new(t);
    if (!n)
        return NULL;
    n->transfers = from->transfers;
    memcpy(n->weight, from->weight, (n_slots + 2 * cells) * sizeof(double) + 2 * (p + cells) * sizeof(int));
    return n;
}

static void store_mix(const tree *t, node *n, const double *weight, double transfers)
{
    memcpy(n->weight, weight, (size_t)ek__order_n_slots(t->problem->order) * sizeof(double));
    n->transfers = transfers;
}

static node *everything(const tree *t)
{
    node *n = node_new(t);
    if (!n)
        return NULL;
    int p = t->problem->n_stages, v = t->problem->n_chunks;
    for (int s = 0; s < p; s++) {
        int fixed = t->problem->fixed_layers[s];
        n->box.low[s] = fixed < 0 ? 0 : fixed;
        n->box.high[s] = fixed < 0 ? t->problem->n_layers : fixed;
    }
    for (int c = 0; c < p * v; c++) {
        n->box.row_high[c] = t->problem->n_layers;
        n->box.longest[c] = INFINITY;
    }
    return n;
}

/* ---- splitting ---- */

/* Distance of a share or a sum of shares, at least 0, from a whole number. */
static double unclear(double x)
{
    assert(x >= -NEXT_TO);
    return fmin(x - floor(x), ceil(x) - x);
}

typedef struct cut {
    int stage, cell; /* or -1 */
    double mean;     /* of the quantity that is split */
    bool by_time;
} cut;

/* Where averages are least integral, weighted by the time that one more layer there adds to the mix of paths. */
static cut by_layers(const ek__pricing *g, double whole)
{
    int p = g->problem->n_stages, v = g->problem->n_chunks;
    cut c = {-1, -1, 0, false};
    double most = 0;
    for (int s = 0; s < p; s++) {
        double total = 0, share = 0;
        for (int i = 0; i < v; i++) {
            double row = g->mean_row[s * v + i], own = 0;
            for (int k = 0; k < g->problem->order->n_kinds; k++) {
                int slot = k * g->problem->n_cells + i * p + s;
                own += g->best_weight[slot] * g->duration[slot];
            }
            total += row;
            share += own;
            if (unclear(row) > whole && unclear(row) * own / row > most) {
                most = unclear(row) * own / row;
                c = (cut){-1, s * v + i, row, false};
            }
        }
        if (unclear(total) > whole && TOTAL * unclear(total) * share / total > most) {
            most = TOTAL * unclear(total) * share / total;
            c = (cut){s, -1, total, false};
        }
    }
    return c;
}

static cut by_time(const ek__pricing *g)
{
    int p = g->problem->n_stages, v = g->problem->n_chunks;
    cut c = {-1, -1, 0, false};
    double widest = 0;
    for (int s = 0; s < p; s++)
        for (int i = 0; i < v; i++) {
            double least = INFINITY, longest = 0, mean = g->duration[EK_BACKWARD * g->problem->n_cells + i * p + s];
            for (int j = 0; j < g->first[s][g->problem->n_layers + 1]; j++) {
                size_t at = (size_t)g->from[s][j] * (size_t)g->choices->width + (size_t)(EK_BACKWARD * v + i);
                least = fmin(least, g->choices->time[s][at]);
                longest = fmax(longest, g->choices->time[s][at]);
            }
            if (fmin(mean - least, longest - mean) > widest) {
                widest = fmin(mean - least, longest - mean);
                c = (cut){-1, s * v + i, mean, true};
            }
        }
    return c;
}

static bool no_cut(const cut *c)
{
    return c->stage < 0 && c->cell < 0;
}

/* Neither stage nor cell when the mix is of one plan. */
static cut by_mix(const ek__pricing *g)
{
    cut c = by_layers(g, WHOLE);
    if (no_cut(&c))
        c = by_time(g);
    return no_cut(&c) ? by_layers(g, EXACT) : c;
}

/* Where the choices differ, for any mix; neither when one plan is left. */
static cut by_choices(const ek__pricing *g)
{
    int p = g->problem->n_stages, v = g->problem->n_chunks;
    for (int s = 0; s < p; s++)
        for (int j = 1; j < g->first[s][g->problem->n_layers + 1]; j++)
            for (int i = 0; i < v; i++) {
                size_t a = (size_t)g->from[s][0], b = (size_t)g->from[s][j];
                const int *row = g->choices->row[s] + i;
                const double *time = g->choices->time[s] + EK_BACKWARD * v + i;
                size_t width = (size_t)g->choices->width;
                if (row[a * (size_t)v] != row[b * (size_t)v])
                    return (cut){-1, s * v + i, 0.5 * (row[a * (size_t)v] + row[b * (size_t)v]), false};
                if (time[a * width] != time[b * width])
                    return (cut){-1, s * v + i, fmax(time[a * width], time[b * width]), true};
            }
    return (cut){-1, -1, 0, false};
}

/* Both sides of a cut; they begin with the best mix of the game. */
static bool split(const tree *t, const ek__pricing *g, const node *n, const cut *c, node *half[2])
{
    for (int side = 0; side < 2; side++) {
        node *h = half[side] = node_copy(t, n);
        if (!h)
            return false;
        memcpy(h->box.low, g->low, (size_t)t->problem->n_stages * sizeof(int));
        memcpy(h->box.high, g->high, (size_t)t->problem->n_stages * sizeof(int));
        assert((c->stage >= 0) != (c->cell >= 0)); /* one of the two */
        assert(c->stage < t->problem->n_stages && c->cell < t->problem->n_cells);
        int whole = (int)floor(c->mean);
        if (c->stage >= 0 && side)
            h->box.low[c->stage] = whole + 1;
        else if (c->stage >= 0)
            h->box.high[c->stage] = whole;
        else if (!c->by_time && side)
            h->box.row_low[c->cell] = whole + 1;
        else if (!c->by_time)
            h->box.row_high[c->cell] = whole;
        else if (side)
            h->box.least[c->cell] = c->mean;
        else
            h->box.longest[c->cell] = c->mean;
        /* Neither side is all of it. */
        assert(c->stage < 0 || (whole >= n->box.low[c->stage] && whole < n->box.high[c->stage]));
        assert(c->cell < 0 || c->by_time || (whole >= n->box.row_low[c->cell] && whole < n->box.row_high[c->cell]));
        store_mix(t, h, g->best_weight, g->best_transfers);
    }
    return true;
}

/* ---- workers ---- */

static ek__verdict look_at(worker *w, const node *n)
{
    ek__pricing *g = &w->game;
    g->target = w->tree->target;
    if (!ek__pricing_open(g, &n->box))
        return EK__SHUT;
    memcpy(g->weight, n->weight, (size_t)ek__order_n_slots(g->problem->order) * sizeof(double));
    g->transfers = n->transfers;
    return ek__master_solve(w->master, g, w->tree->search);
}

/* Is the mix, of a stage, this choice? */
static bool is_mean(const ek__pricing *g, int s, int k)
{
    int p = g->problem->n_stages, v = g->problem->n_chunks;
    const double *time = g->choices->time[s] + (size_t)k * (size_t)g->choices->width;
    for (int i = 0; i < v; i++) {
        if (fabs(g->choices->row[s][(size_t)k * (size_t)v + (size_t)i] - g->mean_row[s * v + i]) > 1e-6)
            return false;
        for (int kind = 0; kind < g->problem->order->n_kinds; kind++)
            if (fabs(time[kind * v + i] - g->duration[kind * g->problem->n_cells + i * p + s]) >
                1e-6 * time[kind * v + i])
                return false;
    }
    return true;
}

/* The relaxation of a box is below the target, and its mix is of one plan. */
static void find(tree *t, const ek__pricing *g)
{
    const ek__problem *problem = t->problem;
    int p = problem->n_stages, v = problem->n_chunks;
    assert(t->stuck); /* so that the others end */
    if (t->n_workers > 1) {
        t->found = true;
        return;
    }
    for (int s = 0; s < p; s++) {
        int j = 0, n = g->first[s][problem->n_layers + 1];
        while (j < n && !is_mean(g, s, g->from[s][j]))
            j++;
        for (int i = 0; i < v; i++) {
            size_t at = j < n ? (size_t)g->from[s][j] * (size_t)v + (size_t)i : 0;
            t->state.chunk[i * p + s] = j < n ? ek__chunk_get(problem, 0, g->choices->row[s][at]) : NULL;
            if (!t->state.chunk[i * p + s])
                return;
            t->state.option[i * p + s] = g->choices->option[s][at];
        }
    }
    double step = ek__state_step_time(problem, &t->state, t->scratch), before = atomic_load(&t->search->best_time);
    ek__search_offer(t->search, &t->state, step, 0);
    t->found = atomic_load(&t->search->best_time) < before;
}

static void *branch(void *user)
{
    worker *w = user;
    tree *t = w->tree;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!t->open && t->n_busy > 0 && !t->failed && !t->stuck)
            pthread_cond_wait(&t->more, &t->lock);
        if (!t->open || t->failed || t->stuck)
            break;
        node *n = t->open, *half[2] = {NULL, NULL};
        t->open = n->next;
        t->n_open--;
        t->n_looks++;
        t->n_busy++;
        assert(t->n_open >= 0 && (t->n_open == 0) == !t->open);
        assert(t->n_busy >= 1 && t->n_busy <= t->n_workers);
        pthread_mutex_unlock(&t->lock);
        ek__verdict verdict = look_at(w, n);
        bool over = ek__proof_over(t->search) || verdict == EK__LOST, fine = verdict != EK__NO_MEMORY;
        cut c = {-1, -1, 0, false};
        if (verdict == EK__OPEN && !over) {
            c = by_mix(&w->game);
            if (no_cut(&c) && w->game.longest >= t->target)
                c = by_choices(&w->game);
            fine = no_cut(&c) || split(t, &w->game, n, &c, half);
        }
        free(n);
        pthread_mutex_lock(&t->lock);
        if (verdict == EK__OPEN && !over && no_cut(&c)) {
            t->stuck = true;
            find(t, &w->game);
        }
        t->stuck |= verdict == EK__LOST;
        for (int side = 0; side < 2; side++)
            if (half[side]) {
                half[side]->next = t->open;
                t->open = half[side];
                t->n_open++;
            }
        t->failed |= !fine;
        t->stuck |= over || t->n_open > MOST_NODES || (t->open && t->n_looks >= t->most_looks);
        t->n_busy--;
        assert(t->n_busy >= 0);
        pthread_cond_broadcast(&t->more);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- a target ---- */

/* Choices that matter, by the mix of the node, become those that boxes are taken from. @return false when none is left
 */
static bool narrow(tree *t, node *n)
{
    ek__pricing *g = &t->worker[0].game;
    ek__verdict verdict = look_at(&t->worker[0], n);
    t->failed |= verdict == EK__NO_MEMORY;
    if (verdict == EK__SHUT)
        return false;
    store_mix(t, n, g->best_weight, g->best_transfers);
    for (int s = 0; s < t->problem->n_stages; s++) {
        memcpy(t->root.from[s], g->from[s], (size_t)g->first[s][t->problem->n_layers + 1] * sizeof(int));
        memcpy(t->root.first[s], g->first[s], ((size_t)t->problem->n_layers + 2) * sizeof(int));
        n->box.low[s] = g->low[s];
        n->box.high[s] = g->high[s];
    }
    for (int w = 0; w < t->n_workers; w++)
        t->worker[w].game.base = &t->root;
    return true;
}

static void drop_open(tree *t)
{
    while (t->open) {
        node *n = t->open;
        t->open = n->next;
        free(n);
    }
    t->n_open = 0;
}

/* Prove the target with at most this number of sets. @return whether it was */
static bool reach(tree *t, const node *first, long most_looks)
{
    node *n = node_copy(t, first);
    assert(!t->open && t->n_open == 0 && t->n_busy == 0 && most_looks > 0);
    t->most_looks = most_looks;
    t->n_looks = 0;
    for (int w = 0; w < t->n_workers; w++)
        t->worker[w].game.base = NULL;
    t->stuck = t->found = false;
    t->failed |= !n;
    if (!t->failed && narrow(t, n)) {
        long n_choices = 0;
        for (int s = 0; s < t->problem->n_stages; s++)
            n_choices += t->root.first[s][t->problem->n_layers + 1];
        for (int w = 0; w < t->n_workers && n_choices <= MOST_LISTED; w++)
            ek__master_add_alive(t->worker[w].master, &t->root);
        t->open = n;
        t->n_open = 1;
        n = NULL;
        ek__run_threads(t->n_workers, branch, t->worker, sizeof *t->worker);
        assert(t->n_busy == 0);
    }
    bool shown = !t->open && !t->stuck && !t->failed && !ek__proof_over(t->search);
    drop_open(t);
    free(n);
    return shown;
}

static void seen(void *user, const ek__pricing *game, double transfers)
{
    tree *t = user;
    if (t->n_open++ % SEEN_EVERY)
        return;
    for (int w = 0; w < t->n_workers; w++) {
        ek__master_add_plan(t->worker[w].master, game);
        ek__master_add_path(t->worker[w].master, game, transfers);
    }
}

/* A mix for the whole problem; its paths and plans are the programs' first. */
static node *first_mix(tree *t)
{
    node *n = everything(t);
    ek__pricing *g = &t->worker[0].game;
    double best = atomic_load(&t->search->best_time), n_choices = 0;
    if (!n)
        return NULL;
    for (int s = 0; s < t->problem->n_stages; s++)
        n_choices += t->choices.n[s];
    g->target = INFINITY;
    if (!ek__pricing_open(g, &n->box)) {
        ek__search_bound(t->search, best);
        return n;
    }
    for (int s = t->problem->n_stages / 2; s >= 0; s--)
        if (ek__path_through(t->problem, s, g->weight, &g->transfers))
            break;
    ek__pricing_solve(g, (int)fmin(FIRST_PLAYS, 1 + FIRST_WORK / n_choices), t->search, seen, t);
    t->n_open = 0;
    ek__search_bound(t->search, fmin(g->best, best)); /* plans that take longer than the best were left out */
    store_mix(t, n, g->best_weight, g->best_transfers);
    return n;
}

static bool tree_init(tree *t)
{
    ek_error ignored;
    t->worker = ek__alloc((size_t)t->n_workers, sizeof *t->worker);
    t->scratch = ek__alloc(ek__state_scratch_size(t->problem), sizeof *t->scratch);
    bool fine = t->worker && t->scratch && ek__pricing_init(&t->root, t->problem, &t->choices) &&
                !ek__state_init(&t->state, t->problem, &ignored);
    for (int w = 0; w < t->n_workers && fine; w++) {
        t->worker[w].tree = t;
        t->worker[w].master = ek__master_new(t->problem, &t->choices, atomic_load(&t->search->best_time), t->search);
        fine = ek__pricing_init(&t->worker[w].game, t->problem, &t->choices) && t->worker[w].master;
    }
    return fine;
}

static void tree_clear(tree *t)
{
    for (int w = 0; t->worker && w < t->n_workers; w++) {
        ek__pricing_clear(&t->worker[w].game);
        ek__master_free(t->worker[w].master);
    }
    free(t->worker);
    free(t->scratch);
    ek__pricing_clear(&t->root);
    ek__state_clear(&t->state);
    ek__choices_clear(&t->choices);
}

static long looks_of(int starts)
{
    assert(starts >= 0);
    return FIRST_LOOKS * (1L << (starts / STARTS < 30 ? starts / STARTS : 30));
}

/* @return whether a plan turned up that another try, by one thread, is to find */
static bool climb(ek__search *search, double gap, int n_workers, ek_status *status, ek_error *err)
{
    /* Shares of the best step to prove one after the other: the effort of each grows fast. */
    static const double rungs[] = {0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 1};
    tree t = {.search = search, .problem = search->problem, .n_workers = n_workers};
    bool whole, again = false;
    assert(n_workers >= 1 && gap >= 0 && gap <= 1);
    *status = ek__choices_init(&t.choices, search, atomic_load(&search->best_time), MOST_CHOICES, &whole, err);
    if (!*status && whole) {
        pthread_mutex_init(&t.lock, NULL);
        pthread_cond_init(&t.more, NULL);
        node *first = tree_init(&t) ? first_mix(&t) : NULL;
        t.failed = !first;
        int starts = 0; /* for this rung */
        for (size_t k = 0; k < sizeof rungs / sizeof *rungs && !t.failed;) {
            double best = atomic_load(&search->best_time);
            /* The requested gap, when the rung is not less apart from rounding: proving it twice would take twice as
             * long.
             */
            t.target = (rungs[k] < (1 - gap) * (1 - NEXT_TO) ? rungs[k] : 1 - gap) * best;
            if (t.target <= atomic_load(&search->lower_bound)) {
                k++;
            } else if (reach(&t, first, looks_of(starts))) {
                ek__search_bound(search, t.target);
                starts = 0;
                k++;
            } else if (t.n_looks >= t.most_looks && !t.found && !ek__proof_over(search)) {
                starts++; /* the number of sets varies a lot from one to the next */
            } else if (!t.found || n_workers > 1) {
                break;
            }
        }
        again = t.found && n_workers > 1 && !t.failed;
        if (t.failed)
            *status = ek__no_memory(err);
        free(first);
        pthread_cond_destroy(&t.more);
        pthread_mutex_destroy(&t.lock);
    }
    tree_clear(&t);
    return again;
}

ek_status ek__certify_tree(ek__search *search, double gap, ek_error *err)
{
    if (!ek__clp_present())
        return EK_OK;
    ek_status status;
    /* Slightly less, so that the comparison with the requested gap does not depend on rounding. */
    gap = fmax(gap, EK__TIME_TOLERANCE) * (1 - EK__TIME_TOLERANCE);
    if (climb(search, gap, search->n_threads, &status, err))
        climb(search, gap, 1, &status, err);
    return status;
}
