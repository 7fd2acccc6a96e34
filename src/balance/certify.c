/* How good the answer is: raises the lower bound until the gap is small enough, the time is over, or nothing more is to
 * be had.
 *
 * One chunk a stage: the stage-by-stage bound (bound.c), whose plan is simulated too; where both agree it is optimal.
 *
 * Several chunks: a mix of paths (each path's weight at least 0, all together 1) bounds every plan's step from below by
 * a sum over stages, so the cheapest plan under the mix is a small shortest-path problem over whole choices of stages.
 * A good mix for given layer totals of the stages comes from playing "planner picks a plan, the other a path"
 * (fictitious play, Brown 1951): their averages approach the best mix, and any mix is valid on the way. With totals
 * fixed the bound is tight to a per mille or so, with totals free it is not. So totals are enumerated depth first,
 * against a target: a branch ends when one of the mixes found so far shows that no way to go on is below the target,
 * and where none does, at a full set of totals, play adds a mix. What even that leaves open is split by the layers of
 * single chunks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance/choices.h"
#include "base/error.h"

enum {
    MOST_MIXES = 512,
    MOST_CHOICES = 400000,
    FIRST_PLAYS = 6000,
    LEAF_PLAYS = 400,
    NARROW_MIXES = 48,
    PROBE_PLAYS = 1500,
    SURE_PLAYS = 50, /* before the averages tell that the target is out of reach */
    LIFT_PLAYS = 80,
    SPLIT_PLAYS = 150,
    MOST_SPLITS = 200,
    MOST_LABELS = 2000000,
    WARM = 8, /* plays that averages taken over from elsewhere count for */
};

#define GRID        2e-4 /* of the step */
#define COARSE_GRID 5e-4
#define FAST_GROWTH 1.04
#define SLOW_GROWTH 1.005

/* A mix of paths, and what it says of every stage and layer count. */
typedef struct mix {
    double *weight; /* [n_slots] */
    double transfers;
    double *value; /* [n_stages][n_layers + 1] cheapest choice of so many layers */
    double *rest;  /* [n_stages + 1][n_layers + 1] cheapest stages from s on, holding so many layers */
} mix;

/* Which choices are looked at: layers of stages and of chunks. */
typedef struct range {
    int *low, *high;         /* [n_stages] */
    int *row_low, *row_high; /* [n_stages][n_chunks] */
    bool by_row;             /* else the latter two do not matter */
} range;

typedef struct proof {
    ek__search *search;
    const ek__problem *problem;
    ek__choices choices;
    int **alive,
        **first; /* [n_stages] choices that a plan below the target can have, and where each layer count begins */
    int n_mixes;
    mix *mixes[MOST_MIXES]; /* those that ended a branch lately come first */
    double target;          /* plans of this step or more do not matter */
    bool failed;            /* something cannot be shown to be above the bound that holds already */
    range range;
    int *low, *high;                 /* [n_stages] layers of a stage that leave any choice */
    int *least_layers, *most_layers; /* [n_stages] those that a plan below the target can have */
    int *layers;                     /* [n_stages] of the branch */
    /* the players: averages and latest */
    double *weight, *path, *duration, *plan, transfers;
    double *best_weight, best_transfers;
    double *root, root_transfers; /* the mix for everything */
    double *mean_row;             /* [n_stages][n_chunks] average layers */
    double *value;                /* [n_stages][n_layers + 1] */
    double *least;                /* [n_stages + 1][n_layers + 1] */
    int *by, *taken, *pick;
    int splits;
} proof;

static size_t at(const proof *t, int s, int l)
{
    return (size_t)s * ((size_t)t->problem->n_layers + 1) + (size_t)l;
}

static bool in_range(const proof *t, int s, int k)
{
    int v = t->problem->n_chunks;
    const int *row = t->choices.row[s] + (size_t)k * (size_t)v;
    for (int i = 0; i < v; i++)
        if (row[i] < t->range.row_low[s * v + i] || row[i] > t->range.row_high[s * v + i])
            return false;
    return true;
}

/* Cheapest choice of a stage for each of its layer counts in range. */
static void price_stage(const proof *t, int s, const double *weight, double *value, int *by)
{
    const ek__choices *all = &t->choices;
    int v = t->problem->n_chunks, p = t->problem->n_stages;
    double w[EK_N_BLOCK_KINDS * EK_MAX_CHUNKS];
    for (int k = 0; k < t->problem->order->n_kinds; k++)
        for (int i = 0; i < v; i++)
            w[k * v + i] = weight[k * t->problem->n_cells + i * p + s];
    for (int l = t->range.low[s]; l <= t->range.high[s]; l++) {
        double least = INFINITY;
        for (int j = t->first[s][l]; j < t->first[s][l + 1]; j++) {
            int k = t->alive[s][j];
            const double *time = all->time[s] + (size_t)k * (size_t)all->width;
            double sum = 0;
            if (t->range.by_row && !in_range(t, s, k))
                continue;
            for (int i = 0; i < all->width; i++)
                sum += w[i] * time[i];
            if (sum < least) {
                least = sum;
                by[l] = k;
            }
        }
        value[l] = least;
    }
}

/* The cheapest plan in range under a mix: per stage and layer count the cheapest choice, then layers dealt out. */
static double respond(proof *t, const double *weight)
{
    int p = t->problem->n_stages, L = t->problem->n_layers, low = 0, high = 0;
    t->least[0] = 0;
    for (int s = 0; s < p; s++) {
        int a = t->range.low[s], b = t->range.high[s];
        price_stage(t, s, weight, t->value + at(t, s, 0), t->by + at(t, s, 0));
        const double *value = t->value + at(t, s, 0), *from = t->least + at(t, s, 0);
        double *to = t->least + at(t, s + 1, 0);
        int *taken = t->taken + at(t, s + 1, 0), most = high + b < L ? high + b : L;
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
    if (high < L)
        return INFINITY;
    double least = t->least[at(t, p, L)];
    for (int s = p - 1, l = L; s >= 0 && least < INFINITY; s--) {
        int n = t->taken[at(t, s + 1, l)];
        t->pick[s] = t->by[at(t, s, n)];
        l -= n;
    }
    return least;
}

/* Mix the picked plan into the planner's average. */
static void average_plan(proof *t, double share)
{
    const ek__choices *all = &t->choices;
    int p = t->problem->n_stages, v = t->problem->n_chunks;
    for (int s = 0; s < p; s++) {
        const double *time = all->time[s] + (size_t)t->pick[s] * (size_t)all->width;
        const int *row = all->row[s] + (size_t)t->pick[s] * (size_t)v;
        for (int i = 0; i < v; i++) {
            double *mean = &t->mean_row[s * v + i];
            *mean += share * (row[i] - *mean);
            for (int k = 0; k < t->problem->order->n_kinds; k++) {
                double *d = &t->duration[k * t->problem->n_cells + i * p + s];
                *d += share * (time[k * v + i] - *d);
            }
        }
    }
}

/*
 * Play from the mix in t->weight until its bound reaches the target, the players' values meet, or the plays are used
 * up.
 * @return the best bound; INFINITY when the range holds no plan. Its mix is in best_weight.
 */
static double play(proof *t, int n_plays)
{
    size_t n_slots = (size_t)ek__order_n_slots(t->problem->order);
    double best = -INFINITY;
    for (int k = 0; k < n_plays && !ek__proof_over(t->search); k++) {
        double transfers, share = 2.0 / (k + 3 + WARM), value = respond(t, t->weight) + t->transfers;
        if (value == INFINITY)
            return value;
        if (value > best) {
            best = value;
            memcpy(t->best_weight, t->weight, n_slots * sizeof(double));
            t->best_transfers = t->transfers;
            if (best >= t->target)
                break;
        }
        average_plan(t, k == 0 ? 1 : 2.0 / (k + 2));
        double longest = ek__longest_path(t->problem, t->duration, t->path, &transfers);
        if (longest < t->target && t->target < INFINITY && k > SURE_PLAYS)
            break; /* no mix reaches it: the average plan does not */
        for (size_t i = 0; i < n_slots; i++)
            t->weight[i] += share * (t->path[i] - t->weight[i]);
        t->transfers += share * (transfers - t->transfers);
    }
    return best;
}

static void mix_free(mix *m)
{
    if (m) {
        free(m->weight);
        free(m->value);
        free(m->rest);
    }
    free(m);
}

static void set_range(proof *t, const int *low, const int *high)
{
    size_t p = (size_t)t->problem->n_stages;
    memcpy(t->range.low, low, p * sizeof(int));
    memcpy(t->range.high, high, p * sizeof(int));
    t->range.by_row = false;
}

/* Cheapest stages from s on for every number of layers they hold, within what the target leaves. */
static void fill_rest(const proof *t, mix *m)
{
    int p = t->problem->n_stages, L = t->problem->n_layers;
    for (int s = 0; s <= p; s++)
        for (int l = 0; l <= L; l++)
            m->rest[at(t, s, l)] = INFINITY;
    m->rest[at(t, p, 0)] = m->transfers;
    int low = 0, high = 0;
    for (int s = p - 1; s >= 0; s--) {
        const double *value = m->value + at(t, s, 0), *after = m->rest + at(t, s + 1, 0);
        double *rest = m->rest + at(t, s, 0);
        for (int l = low; l <= high; l++)
            for (int n = t->least_layers[s]; n <= t->most_layers[s] && l + n <= L; n++)
                rest[l + n] = fmin(rest[l + n], value[n] + after[l]);
        low += t->least_layers[s];
        high = high + t->most_layers[s] < L ? high + t->most_layers[s] : L;
    }
}

/* All choices of a stage with layers in range are alive. */
static void revive(proof *t)
{
    for (int s = 0; s < t->problem->n_stages; s++) {
        for (int k = 0; k < t->choices.n[s]; k++)
            t->alive[s][k] = k;
        memcpy(t->first[s], t->choices.first[s], ((size_t)t->problem->n_layers + 2) * sizeof(int));
    }
}

/* Drop the choices that no plan below the target has, by one mix: the cheapest plan with the choice reaches it. */
static void exclude(proof *t, const mix *m)
{
    const ek__choices *all = &t->choices;
    int p = t->problem->n_stages, v = t->problem->n_chunks, L = t->problem->n_layers;
    double *before = t->least; /* cheapest stages before s holding l layers */
    double w[EK_N_BLOCK_KINDS * EK_MAX_CHUNKS];
    for (int l = 0; l <= L; l++)
        before[at(t, 0, l)] = l ? INFINITY : 0;
    for (int s = 0; s < p; s++)
        for (int l = 0; l <= L; l++) {
            double least = INFINITY;
            for (int n = t->least_layers[s]; n <= t->most_layers[s] && n <= l; n++)
                least = fmin(least, before[at(t, s, l - n)] + m->value[at(t, s, n)]);
            before[at(t, s + 1, l)] = least;
        }
    for (int s = 0; s < p; s++) {
        int kept = 0;
        for (int k = 0; k < t->problem->order->n_kinds; k++)
            for (int i = 0; i < v; i++)
                w[k * v + i] = m->weight[k * t->problem->n_cells + i * p + s];
        for (int n = 0; n <= L; n++) {
            double others = INFINITY;
            int begin = t->first[s][n], end = t->first[s][n + 1];
            if (begin < end && n >= t->least_layers[s] && n <= t->most_layers[s])
                for (int l = 0; l + n <= L; l++)
                    others = fmin(others, before[at(t, s, l)] + m->rest[at(t, s + 1, L - l - n)]);
            t->first[s][n] = kept;
            for (int j = begin; j < end && others < t->target; j++) {
                const double *time = all->time[s] + (size_t)t->alive[s][j] * (size_t)all->width;
                double sum = others;
                for (int i = 0; i < all->width; i++)
                    sum += w[i] * time[i];
                if (sum < t->target)
                    t->alive[s][kept++] = t->alive[s][j];
            }
        }
        t->first[s][L + 1] = kept;
    }
}

/* Values of a mix for the choices that are alive. */
static void price(proof *t, mix *m)
{
    set_range(t, t->low, t->high);
    for (int s = 0; s < t->problem->n_stages; s++)
        price_stage(t, s, m->weight, m->value + at(t, s, 0), t->by);
    fill_rest(t, m);
}

/* Keep the mix in best_weight, with its values for all choices. False when memory is out. */
static bool keep_mix(proof *t)
{
    int p = t->problem->n_stages;
    size_t n_slots = (size_t)ek__order_n_slots(t->problem->order), row = (size_t)t->problem->n_layers + 1;
    if (t->n_mixes == MOST_MIXES) /* forget the one that was of no use for longest */
        mix_free(t->mixes[--t->n_mixes]);
    mix *m = ek__alloc(1, sizeof *m);
    if (!m)
        return false;
    m->weight = ek__alloc(n_slots, sizeof(double));
    m->value = ek__alloc((size_t)p * row, sizeof(double));
    m->rest = ek__alloc(((size_t)p + 1) * row, sizeof(double));
    if (!m->weight || !m->value || !m->rest) {
        mix_free(m);
        return false;
    }
    memcpy(m->weight, t->best_weight, n_slots * sizeof(double));
    m->transfers = t->best_transfers;
    price(t, m);
    memmove(t->mixes + 1, t->mixes, (size_t)t->n_mixes * sizeof(mix *));
    t->mixes[0] = m;
    t->n_mixes++;
    return true;
}

/* Does a mix show that no plan with the branch's first s stages, the others holding `rest` layers, is below the target?
 * The one that does moves up, since it will do so again soon. */
static bool branch_ends(proof *t, int s, int rest)
{
    for (int k = 0; k < t->n_mixes; k++) {
        const mix *m = t->mixes[k];
        double sum = m->rest[at(t, s, rest)];
        for (int j = 0; j < s; j++)
            sum += m->value[at(t, j, t->layers[j])];
        if (sum >= t->target) {
            if (k > 0) {
                mix *up = t->mixes[k];
                t->mixes[k] = t->mixes[k / 2];
                t->mixes[k / 2] = up;
            }
            return true;
        }
    }
    return false;
}

static void copy_weight(const proof *t, const double *from, double *to)
{
    memcpy(to, from, (size_t)ek__order_n_slots(t->problem->order) * sizeof(double));
}

/* The chunk whose average layers are least clear, or -1. */
static int split_at(const proof *t)
{
    int most = -1;
    double unclear = 0.02;
    for (int c = 0; c < t->problem->n_cells; c++) {
        double part = t->mean_row[c] - floor(t->mean_row[c]);
        if (fmin(part, 1 - part) > unclear) {
            unclear = fmin(part, 1 - part);
            most = c;
        }
    }
    return most;
}

/* Split what the last play could not close by the layers of one chunk. */
static bool split(proof *t, double bound)
{
    int c = split_at(t);
    if (c < 0 || t->splits++ >= MOST_SPLITS || ek__proof_over(t->search)) {
        /* That is as far as it goes: the rest is shown to reach this only. */
        t->target = fmin(t->target, bound);
        t->failed = t->target <= atomic_load(&t->search->lower_bound);
        return true;
    }
    double *weight = ek__alloc((size_t)ek__order_n_slots(t->problem->order), sizeof *weight);
    if (!weight)
        return false;
    double transfers = t->best_transfers;
    int cut = (int)floor(t->mean_row[c]), low = t->range.row_low[c], high = t->range.row_high[c];
    bool fine = true;
    copy_weight(t, t->best_weight, weight);
    for (int side = 0; side < 2 && fine && !t->failed; side++) {
        t->range.row_low[c] = side ? cut + 1 : low;
        t->range.row_high[c] = side ? high : cut;
        copy_weight(t, weight, t->weight);
        t->transfers = transfers;
        double here = play(t, SPLIT_PLAYS);
        if (here < t->target)
            fine = split(t, fmax(here, bound));
    }
    t->range.row_low[c] = low;
    t->range.row_high[c] = high;
    free(weight);
    return fine;
}

/* A mix ends this leaf; play on with the layers of its last stages set free, for one that ends the branch higher up. */
static bool lift(proof *t)
{
    size_t n_slots = (size_t)ek__order_n_slots(t->problem->order);
    double *mixed = ek__alloc(n_slots, sizeof *mixed), transfers = t->best_transfers;
    if (!mixed)
        return false;
    copy_weight(t, t->best_weight, mixed);
    for (int free_stages = 1; free_stages < t->problem->n_stages; free_stages *= 2) {
        for (int s = t->problem->n_stages - free_stages; s < t->problem->n_stages; s++) {
            t->range.low[s] = t->least_layers[s];
            t->range.high[s] = t->most_layers[s];
        }
        copy_weight(t, mixed, t->weight);
        t->transfers = transfers;
        if (play(t, LIFT_PLAYS) < t->target)
            break;
        copy_weight(t, t->best_weight, mixed);
        transfers = t->best_transfers;
    }
    copy_weight(t, mixed, t->best_weight);
    t->best_transfers = transfers;
    free(mixed);
    return true;
}

/* All stages' layers are fixed and no mix so far reaches the target: play for one that does. */
static bool close_leaf(proof *t)
{
    const mix *nearest = NULL;
    double most = -INFINITY;
    int p = t->problem->n_stages, v = t->problem->n_chunks;
    for (int k = 0; k < t->n_mixes; k++) {
        double sum = t->mixes[k]->transfers;
        for (int s = 0; s < p; s++)
            sum += t->mixes[k]->value[at(t, s, t->layers[s])];
        if (sum > most) {
            most = sum;
            nearest = t->mixes[k];
        }
    }
    copy_weight(t, nearest->weight, t->weight);
    t->transfers = nearest->transfers;
    memcpy(t->range.low, t->layers, (size_t)p * sizeof(int));
    memcpy(t->range.high, t->layers, (size_t)p * sizeof(int));
    double bound = play(t, LEAF_PLAYS);
    if (bound == INFINITY || ek__proof_over(t->search))
        return true;
    bool fine = true;
    if (bound >= t->target) {
        fine = lift(t);
    } else {
        for (int c = 0; c < p * v; c++) {
            t->range.row_low[c] = 0;
            t->range.row_high[c] = t->problem->n_layers;
        }
        t->range.by_row = true;
        t->splits = 0;
        double *mixed = ek__alloc((size_t)ek__order_n_slots(t->problem->order), sizeof *mixed), transfers;
        if (!mixed)
            return false;
        copy_weight(t, t->best_weight, mixed);
        transfers = t->best_transfers;
        fine = split(t, bound);
        copy_weight(t, mixed, t->best_weight);
        t->best_transfers = transfers;
        free(mixed);
    }
    return fine && keep_mix(t);
}

/* Can stage s hold n layers in a plan below the target? The others hold what they still can. */
static bool probe(proof *t, int s, int n, bool *possible)
{
    set_range(t, t->least_layers, t->most_layers);
    t->range.low[s] = t->range.high[s] = n;
    copy_weight(t, t->root, t->weight);
    t->transfers = t->root_transfers;
    double bound = play(t, PROBE_PLAYS);
    *possible = bound < t->target;
    return *possible || bound == INFINITY || keep_mix(t);
}

/* Bring the mixes up to date with the target and what it leaves, and drop the choices that they exclude. */
static void narrow(proof *t)
{
    for (int k = 0; k < t->n_mixes && k < NARROW_MIXES; k++) {
        price(t, t->mixes[k]);
        exclude(t, t->mixes[k]);
    }
    for (int k = 0; k < t->n_mixes; k++)
        price(t, t->mixes[k]);
}

/* Take off the layer counts, highest and lowest first, that no plan below the target gives a stage. */
static bool shave(proof *t, bool *none_left)
{
    int p = t->problem->n_stages;
    bool changed = true;
    memcpy(t->least_layers, t->low, (size_t)p * sizeof(int));
    memcpy(t->most_layers, t->high, (size_t)p * sizeof(int));
    *none_left = false;
    revive(t);
    narrow(t);
    while (changed && !*none_left) {
        changed = false;
        for (int s = 0; s < p && !*none_left; s++)
            for (int end = 0; end < 2 && !*none_left;) {
                bool possible;
                if (!probe(t, s, end ? t->least_layers[s] : t->most_layers[s], &possible))
                    return false;
                if (ek__proof_over(t->search))
                    return true;
                if (possible) {
                    end++;
                    continue;
                }
                changed = true;
                t->most_layers[s] -= !end;
                t->least_layers[s] += end;
                *none_left = t->least_layers[s] > t->most_layers[s];
            }
    }
    narrow(t);
    return true;
}

static bool explore(proof *t, int s, int placed)
{
    int p = t->problem->n_stages, L = t->problem->n_layers;
    if (s == p)
        return close_leaf(t);
    bool fine = true;
    int high = t->most_layers[s] < L - placed ? t->most_layers[s] : L - placed;
    for (int n = t->least_layers[s]; n <= high && fine && !t->failed && !ek__proof_over(t->search); n++) {
        t->layers[s] = n;
        if (branch_ends(t, s + 1, L - placed - n))
            continue;
        fine = explore(t, s + 1, placed + n);
        if (s > 0 && branch_ends(t, s, L - placed)) /* what was found below ends this one too */
            break;
    }
    return fine;
}

static void proof_clear(proof *t)
{
    for (int s = 0; s < t->problem->n_stages; s++) {
        if (t->alive)
            free(t->alive[s]);
        if (t->first)
            free(t->first[s]);
    }
    free(t->alive);
    free(t->first);
    for (int k = 0; k < t->n_mixes; k++)
        mix_free(t->mixes[k]);
    free(t->range.low);
    free(t->range.row_low);
    free(t->low);
    free(t->weight);
    free(t->value);
    free(t->least);
    free(t->by);
    ek__choices_clear(&t->choices);
}

static bool proof_init(proof *t)
{
    size_t p = (size_t)t->problem->n_stages, v = (size_t)t->problem->n_chunks, row = (size_t)t->problem->n_layers + 1;
    size_t n_slots = (size_t)ek__order_n_slots(t->problem->order);
    t->range.low = ek__alloc(2 * p, sizeof(int));
    t->range.row_low = ek__alloc(2 * p * v, sizeof(int));
    t->low = ek__alloc(6 * p, sizeof(int));
    t->weight = ek__alloc(6 * n_slots + p * v, sizeof(double));
    t->value = ek__alloc(p * row, sizeof(double));
    t->least = ek__alloc((p + 1) * row, sizeof(double));
    t->by = ek__alloc((2 * p + 1) * row, sizeof(int));
    t->alive = ek__alloc(p, sizeof(int *));
    t->first = ek__alloc(p, sizeof(int *));
    for (size_t s = 0; s < p && t->alive && t->first; s++) {
        t->alive[s] = ek__alloc((size_t)t->choices.n[s] + 1, sizeof(int));
        t->first[s] = ek__alloc(row + 1, sizeof(int));
        if (!t->alive[s] || !t->first[s])
            return false;
    }
    if (!t->range.low || !t->range.row_low || !t->low || !t->weight || !t->value || !t->least || !t->by || !t->alive ||
        !t->first)
        return false;
    t->range.high = t->range.low + p;
    t->range.row_high = t->range.row_low + p * v;
    t->high = t->low + p;
    t->layers = t->low + 2 * p;
    t->pick = t->low + 3 * p;
    t->least_layers = t->low + 4 * p;
    t->most_layers = t->low + 5 * p;
    t->path = t->weight + n_slots;
    t->duration = t->weight + 2 * n_slots;
    t->plan = t->weight + 3 * n_slots;
    t->best_weight = t->weight + 4 * n_slots;
    t->root = t->weight + 5 * n_slots;
    t->mean_row = t->weight + 6 * n_slots;
    t->taken = t->by + p * row;
    for (size_t s = 0; s < p; s++) {
        const int *first = t->choices.first[s];
        int fixed = t->problem->fixed_layers[s];
        t->low[s] = (int)row;
        for (int l = 0; l < (int)row; l++)
            if (first[l + 1] > first[l] && (fixed < 0 || l == fixed)) {
                t->low[s] = l < t->low[s] ? l : t->low[s];
                t->high[s] = l;
            }
    }
    memcpy(t->least_layers, t->low, p * sizeof(int));
    memcpy(t->most_layers, t->high, p * sizeof(int));
    revive(t);
    return true;
}

/* The first mixes: every stage's own path, and what play on everything gives. */
static bool first_mixes(proof *t)
{
    for (int s = 0; s < t->problem->n_stages; s++)
        if (ek__path_through(t->problem, s, t->best_weight, &t->best_transfers) && !keep_mix(t))
            return false;
    t->target = atomic_load(&t->search->best_time);
    narrow(t);
    set_range(t, t->low, t->high);
    if (t->n_mixes > 0) {
        copy_weight(t, t->mixes[t->n_mixes / 2]->weight, t->weight);
        t->transfers = t->mixes[t->n_mixes / 2]->transfers;
    }
    double best = t->target;
    t->target = INFINITY;
    double bound = play(t, FIRST_PLAYS);
    ek__search_bound(t->search, fmin(bound, best)); /* plans that take longer than the best were left out */
    if (bound == INFINITY)
        return true;
    copy_weight(t, t->best_weight, t->root);
    t->root_transfers = t->best_transfers;
    return keep_mix(t);
}

static ek_status certify_many(ek__search *search, ek_error *err)
{
    /* Shares of the best step to be shown one after the other: each leaves mixes for the next. */
    static const double targets[] = {0.95,   0.96,   0.97,   0.975, 0.9801, 0.985,
                                     0.9875, 0.9901, 0.9925, 0.995, 0.9975, 1 - EK__TIME_TOLERANCE / 2};
    double best = atomic_load(&search->best_time);
    proof t = {.search = search, .problem = search->problem};
    bool whole;
    ek_status status = ek__choices_init(&t.choices, search, best, MOST_CHOICES, &whole, err);
    if (status || !whole) {
        ek__choices_clear(&t.choices);
        return status;
    }
    bool fine = proof_init(&t) && first_mixes(&t);
    for (size_t k = 0; k < sizeof targets / sizeof *targets && fine && !ek__search_close_enough(search); k++) {
        double wanted = targets[k] * best;
        bool none_left;
        t.target = wanted;
        if (wanted <= atomic_load(&search->lower_bound))
            continue;
        fine = shave(&t, &none_left);
        if (fine && !none_left && !ek__proof_over(search))
            fine = explore(&t, 0, 0);
        if (ek__proof_over(search) || !fine || t.failed)
            break;
        ek__search_bound(search, t.target);
        if (t.target < wanted)
            break;
    }
    proof_clear(&t);
    return fine ? EK_OK : ek__no_memory(err);
}

typedef struct lone {
    ek__state state;
    double *scratch;
    bool done, below; /* of the last pass */
} lone;

/* A first bound for several chunks in little time, and the only one where there are too many choices to list. */
static ek_status certify_quickly(ek__search *search, ek_error *err)
{
    int last = search->problem->n_chunks - 1;
    double best = atomic_load(&search->best_time);
    ek__bound_pass pass = {.n_families = 1,
                           .family = {{EK_BACKWARD, last, EK_FORWARD, last}},
                           .upper = best,
                           .grid = GRID * best,
                           .most_labels = MOST_LABELS};
    ek_status status = ek__bound_stages(search, &pass, err);
    if (!status && pass.done)
        ek__search_bound(search, pass.bound);
    return status;
}

/* One chunk a stage: a pass of the stage-by-stage bound, whose plan is simulated and offered. */
static ek_status lone_pass(ek__search *search, int n_families, double upper, double grid, lone *l, ek_error *err)
{
    const ek__problem *problem = search->problem;
    ek__bound_pass pass = {
        .n_families = n_families,
        .family = {{EK_BACKWARD, 0, EK_FORWARD, 0}, {EK_FORWARD, 0, EK_FORWARD, 0}, {EK_BACKWARD, 0, EK_BACKWARD, 0}},
        .upper = upper,
        .grid = grid,
        .most_labels = MOST_LABELS,
        .state = &l->state};
    ek_status status = ek__bound_stages(search, &pass, err);
    l->done = pass.done;
    l->below = pass.below;
    if (status || !pass.done)
        return status;
    if (pass.below)
        ek__search_offer(search, &l->state, ek__state_step_time(problem, &l->state, l->scratch), 0);
    double best = atomic_load(&search->best_time);
    ek__search_bound(search, fmin(pass.bound, best));
    search->proved = atomic_load(&search->lower_bound) >= best * (1 - EK__TIME_TOLERANCE);
    return EK_OK;
}

ek_status ek__certify_lone(ek__search *search, ek_error *err)
{
    const ek__problem *problem = search->problem;
    if (problem->n_chunks > 1 || problem->reserve_mb > 0 || !ek__bound_stages_applies(problem))
        return EK_OK;
    lone l = {.scratch = ek__alloc(ek__state_scratch_size(problem), sizeof(double))};
    ek_status status = l.scratch ? ek__state_init(&l.state, problem, err) : ek__no_memory(err);
    /* Passes are fast when little is below `upper`, so that comes up from below until a plan appears; an exact pass
     * under that plan's step then settles the matter, unless its longest path is of another family. */
    for (int families = 1; families <= 3 && !status && !search->proved; families += 2) {
        double growth = families == 1 ? FAST_GROWTH : SLOW_GROWTH, upper = atomic_load(&search->lower_bound);
        do {
            upper = fmin(upper * growth, atomic_load(&search->best_time) * (1 + EK__TIME_TOLERANCE));
            status = lone_pass(search, families, upper, COARSE_GRID * upper, &l, err);
        } while (!status && l.done && !l.below && !search->proved);
        if (!status && !search->proved)
            status =
                lone_pass(search, families, atomic_load(&search->best_time) * (1 + EK__TIME_TOLERANCE), 0, &l, err);
    }
    ek__state_clear(&l.state);
    free(l.scratch);
    return status;
}

ek_status ek__certify(ek__search *search, ek_error *err)
{
    const ek__problem *problem = search->problem;
    ek_status status = EK_OK;
    search->proof_end = ek__now() + search->options->proof_limit;
    /* With a reserve kept free, what does not fit beside it may fit after all. */
    bool listed = problem->layers->n_body == 1 && problem->order->n_ways == 1 && !problem->order->schedule->arrange &&
                  problem->reserve_mb == 0;
    if (problem->n_chunks > 1 && problem->reserve_mb == 0 && ek__bound_stages_applies(problem) &&
        !ek__search_close_enough(search))
        status = certify_quickly(search, err);
    if (!status && listed && !ek__search_close_enough(search) && !ek__proof_over(search))
        status = certify_many(search, err);
    return status;
}
