/* Fits the table of layers to runs. The residual of a step is the sum of the residuals of its layers and of its ends,
 * each with its share of the step: a Gaussian process observed through a row of shares, so all runs are solved at once
 * (Rasmussen and Williams 2006, 2.2 and 5.4.2 for leaving out). The resulting table has one row for each measured
 * layer, with the value at which it agrees with the process of all runs. Width and lambda are chosen by leaving runs
 * and groups out, since the error on the runs themselves is smallest without shrinkage.
 *
 * Not handled: shares that change with the correction; the caller repeats the fit with new ones. */
#include "calibrate/layers_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "calibrate/fit.h"

static const double widths[] = {0.25, 0.5, 1, 2, 4};
static const double lambdas[] = {0.003, 0.01, 0.03, 0.1, 0.3, 1, 3};
static const double worth_it = 0.95;      /* of the error without a table */
static const double bisquare = 4.685;     /* 95 % efficient where errors are normal */
static const double half_normal = 0.6745; /* median of |z| of a normal z */
static const double least_weight = 1e-4;  /* of a row that the table keeps */
enum { N_TURNS = 2 };

/* A run or a row of the older table. */
typedef struct seen {
    const double *at[EK__N_LAYER_SHARES]; /* NULL: no data on that */
    double share[EK__N_LAYER_SHARES];
    double value, weight;
    int sample; /* -1: a row of the older table */
} seen;

typedef struct solver {
    const ek__layer_sample *sample;
    int n;
    seen *seen;      /* [n] */
    double *alike;   /* [n][n] covariance of their values, without noise */
    double *inverse; /* [n][n] of the same with noise */
    double *pull;    /* [n] inverse times value */
    int *list;       /* [n] scratch: a group */
    double *block;   /* [n][n] scratch: of a group */
    ek__layer_left *left;
    double *scratch; /* [n] */
} solver;

static double covariance(const seen *a, const seen *b, double width)
{
    double sum = 0;
    for (int k = 0; k < EK__N_LAYER_SHARES; k++)
        if (a->at[k] && b->at[k])
            sum += a->share[k] * b->share[k] * ek__layer_covariance(a->at[k], b->at[k], width);
    return sum;
}

static void fill_alike(solver *s, double width)
{
    size_t n = (size_t)s->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            s->alike[i * n + j] = s->alike[j * n + i] = covariance(&s->seen[i], &s->seen[j], width);
}

/* @return false: the matrix has no inverse */
static bool solve(solver *s, double lambda)
{
    size_t n = (size_t)s->n;
    memcpy(s->inverse, s->alike, n * n * sizeof *s->inverse);
    for (size_t i = 0; i < n; i++)
        s->inverse[i * n + i] += lambda / s->seen[i].weight;
    if (!ek__fit_invert(s->n, s->inverse))
        return false;
    for (size_t i = 0; i < n; i++) {
        s->pull[i] = 0;
        for (size_t j = 0; j < n; j++)
            s->pull[i] += s->inverse[i * n + j] * s->seen[j].value;
    }
    return true;
}

/* ---- leaving out ---- */

static double left_alone(const solver *s, int i)
{
    return s->pull[i] / s->inverse[(size_t)i * (size_t)s->n + (size_t)i];
}

/* The error of the process for all runs of the group of `first` when they are left out: their block of the inverse,
 * inverted, times their pull. */
static bool leave_group(solver *s, int first)
{
    int n = 0, group = s->sample[s->seen[first].sample].group;
    for (int i = first; i < s->n; i++)
        if (s->seen[i].sample >= 0 && s->sample[s->seen[i].sample].group == group)
            s->list[n++] = i;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            s->block[(size_t)a * (size_t)n + (size_t)b] =
                s->inverse[(size_t)s->list[a] * (size_t)s->n + (size_t)s->list[b]];
    if (!ek__fit_invert(n, s->block))
        return false;
    for (int a = 0; a < n; a++) {
        double lacks = 0;
        for (int b = 0; b < n; b++)
            lacks += s->block[(size_t)a * (size_t)n + (size_t)b] * s->pull[s->list[b]];
        s->left[s->list[a]].with_group = s->sample[s->seen[s->list[a]].sample].moved[1] - lacks;
    }
    return true;
}

static bool is_first_of_group(const solver *s, int i)
{
    for (int k = 0; k < i; k++)
        if (s->seen[k].sample >= 0 && s->sample[s->seen[k].sample].group == s->sample[s->seen[i].sample].group)
            return false;
    return true;
}

static bool leave_out(solver *s)
{
    bool fine = true;
    for (int i = 0; i < s->n && fine; i++) {
        if (s->seen[i].sample < 0)
            continue;
        s->left[i].alone = s->sample[s->seen[i].sample].moved[0] - left_alone(s, i);
        if (is_first_of_group(s, i))
            fine = leave_group(s, i);
    }
    return fine;
}

enum { ALONE, WITH_GROUP, PLAIN_ALONE, PLAIN_WITH_GROUP };

/* Root mean square of runs that are left out, by their weights. */
static double error_of(const solver *s, int how)
{
    double sum = 0, weight = 0;
    for (int i = 0; i < s->n; i++)
        if (s->seen[i].sample >= 0) {
            const ek__layer_sample *of = &s->sample[s->seen[i].sample];
            const double list[] = {s->left[i].alone, s->left[i].with_group, of->plain[0], of->plain[1]};
            double r = list[how];
            sum += s->seen[i].weight * r * r;
            weight += s->seen[i].weight;
        }
    return weight > 0 ? sqrt(sum / weight) : NAN;
}

/* Reduction of a left-out group's error by the table. @param first  its first run */
static double gain_of(const solver *s, int first)
{
    double plain = 0, with_group = 0, weight = 0;
    int group = s->sample[s->seen[first].sample].group;
    for (int i = first; i < s->n; i++) {
        const ek__layer_sample *of = s->seen[i].sample >= 0 ? &s->sample[s->seen[i].sample] : NULL;
        if (!of || of->group != group)
            continue;
        plain += s->seen[i].weight * of->plain[1] * of->plain[1];
        with_group += s->seen[i].weight * s->left[i].with_group * s->left[i].with_group;
        weight += s->seen[i].weight;
    }
    return weight > 0 ? (sqrt(plain) - sqrt(with_group)) / sqrt(weight) : 0;
}

/* Do layers predict others better than chance? The gain of left-out groups is more than its standard error over the
 * groups (the rule of Breiman et al. 1984, 3.4.3). */
static bool tells_others(const solver *s)
{
    double sum = 0, square = 0;
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->seen[i].sample < 0 || !is_first_of_group(s, i))
            continue;
        double gain = gain_of(s, i);
        sum += gain;
        square += gain * gain;
        n++;
    }
    double variance = n > 1 ? fmax(0, square - sum * sum / n) / (n - 1) : INFINITY;
    return sum / n > sqrt(variance / n);
}

/* ---- scale and weights ---- */

static bool solve_at(solver *s, const ek__layer_scale *scale)
{
    fill_alike(s, scale->width);
    return solve(s, scale->lambda) && leave_out(s);
}

/* @param n_widths  of the grid that are tried @return false: none of the grid is admissible */
static bool least_scale(solver *s, size_t n_widths, ek__layers_fit *best)
{
    double least = INFINITY, most = error_of(s, PLAIN_WITH_GROUP);
    for (size_t w = 0; w < n_widths; w++) {
        fill_alike(s, widths[w]);
        for (size_t l = 0; l < sizeof lambdas / sizeof *lambdas; l++) {
            if (!solve(s, lambdas[l]) || !leave_out(s))
                continue;
            double alone = error_of(s, ALONE), with_group = error_of(s, WITH_GROUP), error = hypot(alone, with_group);
            if (with_group > most || error >= least)
                continue;
            least = error;
            *best = (ek__layers_fit){
                .scale = {.width = widths[w], .lambda = lambdas[l]}, .left_out = alone, .group_out = with_group};
        }
    }
    return isfinite(least);
}

/* Has any group several runs? */
static bool has_siblings(const solver *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->seen[i].sample >= 0 && !is_first_of_group(s, i))
            return true;
    return false;
}

/* Runs of one layout predict each other better than they predict other layouts, and would dominate the choice. Where
 * layers do not predict others better than chance, only measured ones are corrected: the narrowest width. */
static bool choose_scale(solver *s, ek__layers_fit *best)
{
    if (!least_scale(s, sizeof widths / sizeof *widths, best) || !solve_at(s, &best->scale))
        return false;
    return best->scale.width <= widths[0] || !has_siblings(s) || tells_others(s) || least_scale(s, 1, best);
}

/* Runs far from the prediction of the others, in units of its uncertainty, get less weight (Tukey's bisquare), finally
 * none: otherwise a disturbance would be attributed to a layer that only one run has. */
static void weigh(solver *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->seen[i].sample >= 0)
            s->scratch[n++] = fabs(s->pull[i]) / sqrt(s->inverse[(size_t)i * (size_t)s->n + (size_t)i]);
    double unit = n > 0 ? ek__median(s->scratch, (size_t)n) / half_normal : 0;
    for (int i = 0; i < s->n && unit > 0; i++) {
        double z = fabs(s->pull[i]) / sqrt(s->inverse[(size_t)i * (size_t)s->n + (size_t)i]) / unit;
        if (s->seen[i].sample >= 0)
            s->seen[i].weight = fmax(z < bisquare ? pow(1 - pow(z / bisquare, 2), 2) : 0, least_weight / 2);
    }
}

/* ---- the table ---- */

static int place_of(ek__layer_row *row, int *n, const double *at)
{
    int i = 0;
    while (i < *n && !ek__layer_same_place(row[i].at, at))
        i++;
    if (i == *n) {
        row[i] = (ek__layer_row){.value = 0};
        memcpy(row[i].at, at, sizeof row[i].at);
        ++*n;
    }
    return i;
}

/* Make rows with which a table agrees with the process: with P the pull and W the weight of a place, its value is that
 * of the process there plus lambda P / W. @param row  [2 n] @return how many */
static int make_rows(const solver *s, const ek__layer_scale *scale, ek__layer_row *row, double *pull)
{
    int n = 0, kept = 0;
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < EK__N_LAYER_SHARES; k++) {
            const seen *x = &s->seen[i];
            if (!x->at[k])
                continue;
            int at = place_of(row, &n, x->at[k]);
            row[at].weight += x->weight * x->share[k] * x->share[k];
            pull[at] += x->share[k] * s->pull[i];
        }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            row[i].value += pull[j] * ek__layer_covariance(row[i].at, row[j].at, scale->width);
        row[i].value += scale->lambda * pull[i] / fmax(row[i].weight, least_weight);
    }
    for (int i = 0; i < n; i++)
        if (row[i].weight >= least_weight && kept < EK__MAX_LAYER_ROWS)
            row[kept++] = row[i];
    return kept;
}

static ek_status make_table(const solver *s, const ek__layer_scale *scale, ek_layer_table **out, ek_error *err)
{
    size_t most = 2 * (size_t)s->n;
    ek__layer_row *row = ek__alloc(most, sizeof *row);
    double *pull = ek__alloc(most, sizeof *pull);
    int n = row && pull ? make_rows(s, scale, row, pull) : 0;
    *out = row && pull ? ek__layer_table_new(row, n, scale) : NULL;
    free(row);
    free(pull);
    return *out ? EK_OK : ek__no_memory(err);
}

/* ---- together ---- */

static ek_status begin(solver *s, int n, const ek_layer_table *old, ek_error *err)
{
    const ek__layer_row *row;
    int n_old = ek__layer_table_rows(old, &row);
    if (n + n_old > EK__MAX_LAYER_ROWS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d runs and %d measured layers of the start are more than the %d that a table of layers is "
                        "fitted to; calibrate to fewer",
                        n, n_old, EK__MAX_LAYER_ROWS);
    size_t all = (size_t)n + (size_t)n_old;
    s->seen = ek__alloc(all, sizeof *s->seen);
    s->alike = ek__alloc(all * all, sizeof *s->alike);
    s->inverse = ek__alloc(all * all, sizeof *s->inverse);
    s->block = ek__alloc(all * all, sizeof *s->block);
    s->pull = ek__alloc(all, sizeof *s->pull);
    s->list = ek__alloc(all, sizeof *s->list);
    s->left = ek__alloc(all, sizeof *s->left);
    s->scratch = ek__alloc(all, sizeof *s->scratch);
    if (!s->seen || !s->alike || !s->inverse || !s->block || !s->pull || !s->list || !s->left || !s->scratch)
        return ek__no_memory(err);
    for (int i = 0; i < n; i++)
        if (s->sample[i].used)
            s->seen[s->n++] = (seen){.at = {s->sample[i].at[EK__LAYERS], s->sample[i].at[EK__ENDS]},
                                     .share = {s->sample[i].share[EK__LAYERS], s->sample[i].share[EK__ENDS]},
                                     .value = s->sample[i].missing,
                                     .weight = 1,
                                     .sample = i};
    for (int i = 0; i < n_old; i++)
        s->seen[s->n++] =
            (seen){.at = {row[i].at}, .share = {1}, .value = row[i].value, .weight = row[i].weight, .sample = -1};
    return EK_OK;
}

static void clear(solver *s)
{
    free(s->seen);
    free(s->alike);
    free(s->inverse);
    free(s->block);
    free(s->pull);
    free(s->list);
    free(s->left);
    free(s->scratch);
}

static void report(const solver *s, ek__layer_left *left)
{
    for (int i = 0; i < s->n; i++)
        if (s->seen[i].sample >= 0) {
            left[s->seen[i].sample] = s->left[i];
            left[s->seen[i].sample].weight = s->seen[i].weight;
        }
}

/* @return false: no table is worth it */
static bool search(solver *s, ek__layers_fit *best)
{
    bool fine = s->n > 1;
    for (int turn = 0; turn < N_TURNS && fine; turn++) {
        fine = choose_scale(s, best) && solve_at(s, &best->scale);
        if (fine && turn + 1 < N_TURNS)
            weigh(s);
    }
    if (!fine)
        return false;
    double without = hypot(error_of(s, PLAIN_ALONE), error_of(s, PLAIN_WITH_GROUP));
    best->scale.met_error = best->left_out;
    best->scale.new_error = fmax(error_of(s, PLAIN_ALONE), best->left_out);
    return hypot(best->left_out, best->group_out) < worth_it * without;
}

ek_status ek__layers_fit_run(const ek__layer_sample *sample, int n, const ek_layer_table *old, ek_layer_table **out,
                             ek__layer_left *left, ek__layers_fit *fit, ek_error *err)
{
    solver s = {.sample = sample};
    ek__layers_fit best = {.left_out = 0};
    ek_layer_table *table = NULL;
    ek_status status = begin(&s, n, old, err);
    if (status == EK_OK && search(&s, &best)) {
        status = make_table(&s, &best.scale, &table, err);
        if (status == EK_OK)
            report(&s, left);
    }
    clear(&s);
    if (status)
        return status;
    *out = table;
    *fit = best;
    return EK_OK;
}
