/* Chooses layer counts and recompute lists by simulated annealing from the even split, with fixed seeds. The objective
 * is the error of the peaks of balanced plans that are predicted with the answers. With the rows r_i of the middle
 * stages, errors of variance w_i^2 in their peaks and G = sum r_i r_i^T the answers have the covariance
 *
 *     C = G^-1 (sum w_i^2 r_i r_i^T) G^-1
 *
 * and the peak of a plan's middle stage with the row x has the variance x^T C x. An end stage also has the head or the
 * tail, which is a measured end stage with the row y and the error w less the answers: w^2 + (x - y)^T C (x - y). This
 * is computed once for errors of the same size in every peak and once for errors in proportion to it. A move changes
 * one or two rows, so both sums (at most 7 x 7) follow by rank-one updates: its cost does not depend on stages or
 * rounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/watch.h"
#include "dryrun/guide.h"
#include "evenkeel/layers.h"

enum { N_STARTS = 4, N_STEPS = 60000, STEPS_PER_STAGE = 300, MAX_MOVED = 3 };
#define STEP_WORK 50.0 /* of ek__watch_spent() */

/* Weights against the logarithm of the error: an uneven split is avoided where that is cheap, a stage that does not fit
 * always. */
static const double uneven_weight = 0.1, overflow_weight = 50.0;

/* Layers of a stage of balanced plans, as factors of the even split, all layers of one kind. */
static const double plan_layers[] = {0.75, 1.0, 1.25};
enum { N_PLAN_LAYERS = sizeof plan_layers / sizeof *plan_layers };

/* Without a rough model: a layer's activations on the first stage as a factor of its parameters (assumed), for each
 * kind. */
static const double usual_activation[EK_N_RECOMPUTE] = {
    [EK_RECOMPUTE_NONE] = 1.0, [EK_RECOMPUTE_SELECT] = 0.6, [EK_RECOMPUTE_COMM] = 0.8,
    [EK_RECOMPUTE_BOTH] = 0.5, [EK_RECOMPUTE_FULL] = 0.1,
};

typedef double matrix[EK__MAX_UNKNOWNS][EK__MAX_UNKNOWNS];

typedef struct designer {
    ek__guide_shape shape;
    int n_columns;
    int least, most; /* layers of a stage */
    const ek_layers *rough;
    double limit_mb;
    ek__guide_cell *cell;                 /* [n_rounds][n_stages] */
    matrix gram;                          /* sum of r r^T */
    matrix weighted;                      /* sum of w^2 r r^T, w in proportion to the peak */
    matrix plans;                         /* mean of x x^T over the middle stages of balanced plans */
    matrix end_spread[2];                 /* of the first and the last stage: mean of (x - m) (x - m)^T ... */
    double end_mean[2][EK__MAX_UNKNOWNS]; /* ... with the mean row m */
    double typical;                       /* peak with an error of 1 */
    double uneven, overflow;              /* sums over the cells */
    double value;                         /* of the design */
    ek__random random;
} designer;

/* ---- the value of a design ---- */

static bool is_middle(const designer *d, int stage)
{
    return stage > 0 && stage < d->shape.n_stages - 1;
}

/* Peak that the rough model predicts, in 1F1B with at least P micro-batches. A kind that the model does not have counts
 * as none: more than its real peak. */
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

/* A stage's peak over the typical one. */
static double peak_share(const designer *d, int stage, const ek__guide_cell *c)
{
    int p = d->shape.n_stages;
    if (d->rough)
        return ek__guide_peak(d->rough, p, stage, c) / d->typical;
    double peak = c->n;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        peak += c->mix.n[k] * usual_activation[k] * (p - stage) / p;
    return peak / d->typical;
}

/* Add (sign 1) or subtract (-1) the contribution of a cell. */
static void count_cell(designer *d, int stage, const ek__guide_cell *c, double sign)
{
    d->uneven += sign * unevenness(d, c);
    d->overflow += sign * overflow(d, stage, c);
    if (!is_middle(d, stage))
        return;
    double row[EK__MAX_UNKNOWNS];
    ek__design_row(&d->shape.unknowns, &c->mix, d->shape.n_stages - stage, row);
    double w = peak_share(d, stage, c);
    for (int i = 0; i < d->n_columns; i++)
        for (int j = 0; j < d->n_columns; j++) {
            d->gram[i][j] += sign * row[i] * row[j];
            d->weighted[i][j] += sign * w * w * row[i] * row[j];
        }
}

/* Cholesky factor of the Gram matrix, row by row. Entries are whole numbers, so a small ridge does not affect a design
 * that determines everything, and distinguishes the others by their distance from it. */
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

/* G^-1 from its Cholesky factor. */
static void invert(const double lower[], int n, matrix out)
{
    for (int c = 0; c < n; c++) {
        double x[EK__MAX_UNKNOWNS];
        for (int i = 0; i < n; i++) {
            x[i] = i == c;
            for (int j = 0; j < i; j++)
                x[i] -= lower[i * n + j] * x[j];
            x[i] /= lower[i * n + i];
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int j = i + 1; j < n; j++)
                x[i] -= lower[j * n + i] * x[j];
            x[i] /= lower[i * n + i];
            out[c][i] = x[i];
        }
    }
}

static void multiply(const matrix a, const matrix b, int n, matrix out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++)
                sum += a[i][k] * b[k][j];
            out[i][j] = sum;
        }
}

/* Row of a stage of a balanced plan with layers of one kind only. */
static void plan_row(const designer *d, int stage, int kind, double layers, double row[])
{
    for (int c = 0; c < d->n_columns; c++)
        row[c] = 0.0;
    row[0] = layers;
    row[1 + kind] = layers * (d->shape.n_stages - stage);
    row[d->n_columns - 1] = 1.0;
}

/* x^T C x */
static double quadratic(const matrix c, const double x[], int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += x[i] * c[i][j] * x[j];
    return sum;
}

/* Mean variance of the peaks of an end stage, of the difference between plans and measurement: with the mean row m of
 * the plans tr(C S) + (m - y)^T C (m - y), S being their spread around it. */
static double end_variance(const designer *d, const matrix covariance, int end, double own)
{
    double y[EK__MAX_UNKNOWNS], away[EK__MAX_UNKNOWNS], sum = 0.0;
    int n = d->n_columns, stage = end ? d->shape.n_stages - 1 : 0;
    ek__design_row(&d->shape.unknowns, &d->cell[stage].mix, d->shape.n_stages - stage, y);
    for (int i = 0; i < n; i++) {
        away[i] = d->end_mean[end][i] - y[i];
        for (int j = 0; j < n; j++)
            sum += covariance[i][j] * d->end_spread[end][i][j];
    }
    return own * own + sum + quadratic(covariance, away, n);
}

/* Mean variance over all stages of the plans. */
static double plans_variance(const designer *d, const matrix covariance, bool proportional)
{
    int p = d->shape.n_stages, n = d->n_columns;
    double first = proportional ? peak_share(d, 0, &d->cell[0]) : 1.0, sum = 0.0;
    double last = proportional ? peak_share(d, p - 1, &d->cell[p - 1]) : 1.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += covariance[i][j] * d->plans[i][j];
    return ((p - 2) * sum + end_variance(d, covariance, 0, first) + end_variance(d, covariance, 1, last)) / p;
}

/* Standard deviation of the peaks of balanced plans, of both kinds of errors together. */
static double peak_error(const designer *d)
{
    double lower[EK__MAX_UNKNOWNS * EK__MAX_UNKNOWNS] = {0};
    matrix inverse, half, covariance;
    cholesky(d, lower);
    invert(lower, d->n_columns, inverse);
    multiply(inverse, d->weighted, d->n_columns, half);
    multiply(half, inverse, d->n_columns, covariance);
    double equal = plans_variance(d, inverse, false), proportional = plans_variance(d, covariance, true);
    return sqrt(fmax(0.5 * (equal + proportional), 0.0));
}

static double evaluate(const designer *d)
{
    int n_cells = d->shape.n_rounds * d->shape.n_stages;
    return log(peak_error(d)) + uneven_weight * d->uneven / n_cells + overflow_weight * d->overflow;
}

static void describe_end(designer *d, int end)
{
    int p = d->shape.n_stages, n_kinds = d->shape.unknowns.n_kinds, n = d->n_columns, n_rows = 0;
    double even = (double)d->shape.n_layers / p, row[EK_N_RECOMPUTE * N_PLAN_LAYERS][EK__MAX_UNKNOWNS];
    double *mean = d->end_mean[end];
    for (int kind = 0; kind < n_kinds; kind++)
        for (int l = 0; l < N_PLAN_LAYERS; l++)
            plan_row(d, end ? p - 1 : 0, kind, plan_layers[l] * even, row[n_rows++]);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < n_rows; r++)
            mean[i] += row[r][i] / n_rows;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int r = 0; r < n_rows; r++)
                d->end_spread[end][i][j] += (row[r][i] - mean[i]) * (row[r][j] - mean[j]) / n_rows;
}

/* Middle stages of balanced plans, and the mean of their peaks as the one with an error of 1. */
static void describe_plans(designer *d)
{
    int p = d->shape.n_stages, n_kinds = d->shape.unknowns.n_kinds, n = 0;
    double even = (double)d->shape.n_layers / p, sum = 0.0;
    d->typical = 1.0;
    for (int s = 1; s < p - 1; s++)
        for (int kind = 0; kind < n_kinds; kind++)
            for (int l = 0; l < N_PLAN_LAYERS; l++, n++) {
                double x[EK__MAX_UNKNOWNS];
                ek__guide_cell cell = {.n = (int)lround(plan_layers[l] * even)};
                cell.mix.n[d->shape.unknowns.kind[kind]] = cell.n;
                sum += peak_share(d, s, &cell);
                plan_row(d, s, kind, plan_layers[l] * even, x);
                for (int i = 0; i < d->n_columns; i++)
                    for (int j = 0; j < d->n_columns; j++)
                        d->plans[i][j] += x[i] * x[j];
            }
    for (int i = 0; i < d->n_columns; i++)
        for (int j = 0; j < d->n_columns; j++)
            d->plans[i][j] /= n;
    d->typical = sum > 0 ? sum / n : 1.0;
}

static void recount(designer *d)
{
    memset(d->gram, 0, sizeof d->gram);
    memset(d->weighted, 0, sizeof d->weighted);
    d->uneven = d->overflow = 0.0;
    for (int i = 0; i < d->shape.n_rounds * d->shape.n_stages; i++)
        count_cell(d, i % d->shape.n_stages, &d->cell[i], 1.0);
    d->value = evaluate(d);
}

/* ---- moves ---- */

/* Can the three lists express it, and is the count within bounds? */
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

/* Some layers move from one stage to another. */
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
    matrix gram, weighted;
    double uneven = d->uneven, over = d->overflow;
    memcpy(gram, d->gram, sizeof gram);
    memcpy(weighted, d->weighted, sizeof weighted);
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
    memcpy(d->weighted, weighted, sizeof weighted);
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
    case 0: /* two stages swap their cells */
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
                           double limit_mb, ek__guide_cell *out, double *error, ek_error *err)
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
    ek__watch_part("choosing the layers of every stage", STEP_WORK * n_starts * n_steps);
    bound_layers(&d, spread);
    describe_plans(&d);
    describe_end(&d, 0);
    describe_end(&d, 1);
    for (int s = 0; s < n_starts; s++) {
        d.random = ek__random_seed((uint64_t)s + 1);
        start(&d);
        for (int i = 0; i < n_steps; i++) {
            step(&d, hot * pow(cold / hot, (double)i / n_steps));
            ek__watch_spent(STEP_WORK);
            if (i % 4096 == 0)
                recount(&d); /* rounding errors of the updates */
        }
        recount(&d);
        if (s == 0 || d.value < best) {
            best = d.value;
            *error = peak_error(&d);
            memcpy(out, d.cell, (size_t)n_cells * sizeof *out);
        }
    }
    free(d.cell);
    return EK_OK;
}
