/* Chooses layer counts and recompute lists by simulated annealing from the even split, with fixed seeds. A move changes
 * one or two rows of the system, so its Gram matrix G (at most 7 x 7) follows by rank-one updates, and the Frobenius
 * condition number sqrt(tr G tr G^-1), which is at least the 2-norm one and at most 7 times that, comes from a Cholesky
 * factor: the cost of a move does not depend on stages or rounds. Head and tail only take the layers that are left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "dryrun/guide.h"

enum { N_STARTS = 4, N_STEPS = 60000, STEPS_PER_STAGE = 300, MAX_MOVED = 3 };

/* Weights against the logarithm of the condition number: an uneven split and inexact head and tail are worth avoiding
 * where that is cheap, a stage that does not fit always. */
static const double uneven_weight = 0.1, end_weight = 0.2, overflow_weight = 50.0;

typedef struct designer {
    ek__guide_shape shape;
    int n_columns;
    int least, most; /* layers of a stage */
    const ek_layers *rough;
    double limit_mb;
    ek__guide_cell *cell; /* [n_rounds][n_stages] */
    double gram[EK__MAX_UNKNOWNS][EK__MAX_UNKNOWNS];
    double uneven, overflow; /* sums over the cells */
    double value;            /* of the design */
    ek__random random;
} designer;

/* ---- what a design is worth ---- */

static bool is_middle(const designer *d, int stage)
{
    return stage > 0 && stage < d->shape.n_stages - 1;
}

/* Peak that the rough model predicts, in 1F1B with at least P micro-batches. A kind that the model does not know counts
 * as none: more than it will hold. */
double ek__guide_peak(const ek_layers *layers, int n_stages, int stage, const ek__guide_cell *c)
{
    const ek_layer *body = &layers->body[0];
    double activation = 0.0;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        activation += c->mix.n[k] * body->activation_mb[body->modelled[k] ? k : EK_RECOMPUTE_NONE];
    double peak = layers->const_mb + c->n * body->parameter_mb + (n_stages - stage) * activation;
    if (stage == 0)
        peak += layers->head.parameter_mb + n_stages * layers->head.activation_mb[EK_RECOMPUTE_NONE];
    if (stage == n_stages - 1)
        peak += layers->tail.parameter_mb + layers->tail.activation_mb[EK_RECOMPUTE_NONE];
    return peak;
}

/* Share by which a stage exceeds the limit; 0 when there is none. */
static double overflow(const designer *d, int stage, const ek__guide_cell *c)
{
    double limit = d->limit_mb;
    if (!(limit > 0))
        return 0.0;
    double over = ek__guide_peak(d->rough, d->shape.n_stages, stage, c) / limit - 1.0;
    return over > 0 ? over : 0.0;
}

static double unevenness(const designer *d, const ek__guide_cell *c)
{
    double even = (double)d->shape.n_layers / d->shape.n_stages;
    return fabs(c->n - even) / even;
}

/* Add (sign 1) or take off (-1) what a cell contributes. */
static void count_cell(designer *d, int stage, const ek__guide_cell *c, double sign)
{
    d->uneven += sign * unevenness(d, c);
    d->overflow += sign * overflow(d, stage, c);
    if (!is_middle(d, stage))
        return;
    double row[EK__MAX_UNKNOWNS];
    ek__design_row(&d->shape.unknowns, &c->mix, d->shape.n_stages - stage, row);
    for (int i = 0; i < d->n_columns; i++)
        for (int j = 0; j < d->n_columns; j++)
            d->gram[i][j] += sign * row[i] * row[j];
}

/* Variance of what is left of an end stage's peak when the answers explain the rest, in (MB of error in a peak)^2:
 * 1 + v^T G^-1 v with v the stage's coefficients without the constant. */
static double end_variance(const designer *d, const double lower[], int stage)
{
    double x[EK__MAX_UNKNOWNS], sum = 1.0;
    int n = d->n_columns;
    ek__design_row(&d->shape.unknowns, &d->cell[stage].mix, d->shape.n_stages - stage, x);
    x[n - 1] = 0.0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            x[i] -= lower[i * n + j] * x[j];
        x[i] /= lower[i * n + i];
        sum += x[i] * x[i];
    }
    return sum;
}

/* Cholesky factor of the Gram matrix, row by row. Entries are whole numbers, so a small ridge does not touch a design
 * that determines everything, and tells apart how far others are from it. */
static void cholesky(const designer *d, double lower[])
{
    static const double ridge = 1e-5;
    int n = d->n_columns;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = d->gram[i][j] + (i == j ? ridge : 0.0);
            for (int k = 0; k < j; k++)
                sum -= lower[i * n + k] * lower[j * n + k];
            lower[i * n + j] = i == j ? sqrt(sum > ridge ? sum : ridge) : sum / lower[j * n + j];
        }
}

/* Square of the Frobenius norm of the inverse factor: the trace of the inverse Gram matrix. */
static double inverse_trace(const double lower[], int n)
{
    double sum = 0.0, x[EK__MAX_UNKNOWNS];
    for (int c = 0; c < n; c++)
        for (int i = c; i < n; i++) {
            x[i] = i == c;
            for (int j = c; j < i; j++)
                x[i] -= lower[i * n + j] * x[j];
            x[i] /= lower[i * n + i];
            sum += x[i] * x[i];
        }
    return sum;
}

static double evaluate(const designer *d)
{
    double lower[EK__MAX_UNKNOWNS * EK__MAX_UNKNOWNS] = {0}, trace = 0.0;
    int n_cells = d->shape.n_rounds * d->shape.n_stages, n = d->n_columns;
    cholesky(d, lower);
    for (int c = 0; c < n; c++)
        trace += d->gram[c][c];
    double ends = end_variance(d, lower, 0) + end_variance(d, lower, d->shape.n_stages - 1);
    return 0.5 * log(trace * inverse_trace(lower, n)) + 0.5 * end_weight * log(ends) +
           uneven_weight * d->uneven / n_cells + overflow_weight * d->overflow;
}

static void recount(designer *d)
{
    memset(d->gram, 0, sizeof d->gram);
    d->uneven = d->overflow = 0.0;
    for (int i = 0; i < d->shape.n_rounds * d->shape.n_stages; i++)
        count_cell(d, i % d->shape.n_stages, &d->cell[i], 1.0);
    d->value = evaluate(d);
}

/* ---- moves ---- */

/* Can the three lists say it, and is the count within bounds? */
static bool allowed(const designer *d, const ek__guide_cell *c)
{
    return c->n >= d->least && c->n <= d->most && !(c->mix.n[EK_RECOMPUTE_SELECT] && c->mix.n[EK_RECOMPUTE_COMM]);
}

static ek_recompute random_kind(designer *d)
{
    return d->shape.unknowns.kind[ek__random_below(&d->random, d->shape.unknowns.n_kinds)];
}

/* Some layers of a stage change their kind. */
static bool change_kind(designer *d, ek__guide_cell *c)
{
    ek_recompute from = random_kind(d), to = random_kind(d);
    if (from == to || c->mix.n[from] == 0)
        return false;
    int moved = 1 + ek__random_below(&d->random, c->mix.n[from]);
    c->mix.n[from] -= moved;
    c->mix.n[to] += moved;
    return allowed(d, c);
}

/* Some layers go from one stage to another. */
static bool transfer(designer *d, ek__guide_cell *from, ek__guide_cell *to)
{
    ek_recompute taken = random_kind(d), given = random_kind(d);
    int moved = 1 + ek__random_below(&d->random, MAX_MOVED);
    if (from->mix.n[taken] < moved)
        return false;
    from->mix.n[taken] -= moved;
    from->n -= moved;
    to->mix.n[given] += moved;
    to->n += moved;
    return allowed(d, from) && allowed(d, to);
}

/* Put `a` and `b` into two cells of one round (the same cell: `a`) unless that makes the design too much worse. */
static void try_cells(designer *d, int round, int stage_a, ek__guide_cell a, int stage_b, ek__guide_cell b,
                      double temperature)
{
    ek__guide_cell *at = d->cell + (size_t)round * (size_t)d->shape.n_stages, old_a = at[stage_a], old_b = at[stage_b];
    bool two = stage_a != stage_b;
    double gram[EK__MAX_UNKNOWNS][EK__MAX_UNKNOWNS], uneven = d->uneven, over = d->overflow;
    memcpy(gram, d->gram, sizeof gram);
    count_cell(d, stage_a, &old_a, -1.0);
    count_cell(d, stage_a, &a, 1.0);
    if (two) {
        count_cell(d, stage_b, &old_b, -1.0);
        count_cell(d, stage_b, &b, 1.0);
    }
    double value = evaluate(d);
    if (value <= d->value || ek__random_unit(&d->random) < exp((d->value - value) / temperature)) {
        d->value = value;
        at[stage_a] = a;
        if (two)
            at[stage_b] = b;
        return;
    }
    memcpy(d->gram, gram, sizeof gram);
    d->uneven = uneven;
    d->overflow = over;
}

static void step(designer *d, double temperature)
{
    int round = ek__random_below(&d->random, d->shape.n_rounds);
    int stage_a = ek__random_below(&d->random, d->shape.n_stages),
        stage_b = ek__random_below(&d->random, d->shape.n_stages);
    const ek__guide_cell *at = d->cell + (size_t)round * (size_t)d->shape.n_stages;
    ek__guide_cell a = at[stage_a], b = at[stage_b];
    switch (ek__random_below(&d->random, 4)) {
    case 0: /* two stages swap what they hold */
        if (stage_a != stage_b)
            try_cells(d, round, stage_a, b, stage_b, a, temperature);
        break;
    case 1:
        if (change_kind(d, &a))
            try_cells(d, round, stage_a, a, stage_a, a, temperature);
        break;
    default:
        if (stage_a != stage_b && transfer(d, &a, &b))
            try_cells(d, round, stage_a, a, stage_b, b, temperature);
    }
}

/* The even split, kinds in turn. */
static void start(designer *d)
{
    int base = d->shape.n_layers / d->shape.n_stages, over = d->shape.n_layers % d->shape.n_stages;
    for (int i = 0; i < d->shape.n_rounds * d->shape.n_stages; i++) {
        int stage = i % d->shape.n_stages;
        d->cell[i] = (ek__guide_cell){.n = base + (stage < over)};
        d->cell[i].mix.n[d->shape.unknowns.kind[i % d->shape.unknowns.n_kinds]] = d->cell[i].n;
    }
    recount(d);
}

/* From the first count that a stage may have to the last; an uneven division takes one more. */
static void bound_layers(designer *d, double spread)
{
    int base = d->shape.n_layers / d->shape.n_stages;
    int freedom = (int)fmin(ceil(spread * d->shape.n_layers / d->shape.n_stages), d->shape.n_layers);
    freedom = freedom < 1 ? 1 : freedom;
    d->least = base - freedom < 1 ? 1 : base - freedom;
    d->most = base + freedom + (d->shape.n_layers % d->shape.n_stages != 0);
}

ek_status ek__guide_anneal(const ek__guide_shape *shape, double spread, bool quick, const ek_layers *rough,
                           double limit_mb, ek__guide_cell *out, ek_error *err)
{
    static const double hot = 0.3, cold = 0.002;
    int n_cells = shape->n_rounds * shape->n_stages, n_starts = quick ? 1 : N_STARTS;
    int n_steps = (N_STEPS + STEPS_PER_STAGE * n_cells) / (quick ? 5 : 1);
    designer d = {.shape = *shape, .rough = rough, .limit_mb = limit_mb};
    double best = INFINITY;
    d.n_columns = ek__unknowns_count(&shape->unknowns);
    d.cell = ek__alloc((size_t)n_cells, sizeof *d.cell);
    if (!d.cell)
        return ek__no_memory(err);
    bound_layers(&d, spread);
    for (int s = 0; s < n_starts; s++) {
        d.random = ek__random_seed((uint64_t)s + 1);
        start(&d);
        for (int i = 0; i < n_steps; i++) {
            step(&d, hot * pow(cold / hot, (double)i / n_steps));
            if (i % 4096 == 0)
                recount(&d); /* what the updates have rounded */
        }
        recount(&d);
        if (s == 0 || d.value < best) {
            best = d.value;
            memcpy(out, d.cell, (size_t)n_cells * sizeof *out);
        }
    }
    free(d.cell);
    return EK_OK;
}
