/* The table of layers from runs. A run whose step is off by r, of which its layers' computing is a share s, says that
 * this computing is off by r / s, and says it with weight s^2: the least-squares answer for one layer that several runs
 * have. Width and shrinkage are chosen by leaving each run out, since the error on the runs themselves is smallest
 * where nothing is shrunken at all. */
#include "calibrate/layers_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

static const double widths[] = {0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5};
static const double lambdas[] = {0.01, 0.03, 0.1, 0.3, 1, 3};
static const double worth_it = 0.95; /* of the error without a table */

static double kernel(const double *a, const double *b, double width)
{
    double sum = 0;
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return exp(-sum / (2 * width * width));
}

static bool counts(const ek__layer_sample *s)
{
    return s->weight > 0 && s->share > 0.01;
}

static double old_factor(const ek_layer_table *old, const double *at)
{
    return old ? log(ek__layer_table_factor(old, at, NULL, NULL)) : 0;
}

double ek__layers_fit_correction(const ek__layer_sample *sample, int n, const ek_layer_table *old,
                                 const ek__layer_scale *scale, int which, bool by_group)
{
    const ek__layer_sample *x = &sample[which];
    double above = 0, below = scale->lambda;
    for (int i = 0; i < n; i++) {
        const ek__layer_sample *s = &sample[i];
        if (!counts(s) || i == which || (by_group && s->group == x->group))
            continue;
        double w = s->weight * s->share * s->share * kernel(s->at, x->at, scale->width);
        above += w * (old_factor(old, s->at) - s->residual / s->share);
        below += w;
    }
    const ek__layer_row *row;
    int n_old = ek__layer_table_rows(old, &row);
    for (int i = 0; i < n_old; i++) {
        double w = row[i].weight * kernel(row[i].at, x->at, scale->width);
        above += w * row[i].value;
        below += w;
    }
    return x->share * (above / below - old_factor(old, x->at));
}

/* Root mean square of the runs' residuals when they are left out; NAN without runs. */
static double error_of(const ek__layer_sample *sample, int n, const ek_layer_table *old, const ek__layer_scale *scale,
                       bool by_group)
{
    double sum = 0, weight = 0;
    for (int i = 0; i < n; i++) {
        double r = by_group ? sample[i].group_out : sample[i].left_out;
        if (sample[i].weight <= 0 || isnan(r))
            continue;
        if (scale)
            r += ek__layers_fit_correction(sample, n, old, scale, i, by_group);
        sum += sample[i].weight * r * r;
        weight += sample[i].weight;
    }
    return weight > 0 ? sqrt(sum / weight) : NAN;
}

static bool same_place(const double *a, const double *b)
{
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        if (fabs(a[k] - b[k]) > 1e-9)
            return false;
    return true;
}

/* Rows of one layer become one. */
static void add_row(ek__layer_row *row, int *n, const ek__layer_row *more)
{
    int i = 0;
    while (i < *n && !same_place(row[i].at, more->at))
        i++;
    if (i == *n) {
        row[(*n)++] = *more;
        return;
    }
    double weight = row[i].weight + more->weight;
    row[i].value = (row[i].value * row[i].weight + more->value * more->weight) / weight;
    row[i].weight = weight;
}

static ek_status make_table(const ek__layer_sample *sample, int n, const ek_layer_table *old,
                            const ek__layer_scale *scale, ek_layer_table **out, ek_error *err)
{
    const ek__layer_row *before;
    int n_old = ek__layer_table_rows(old, &before), n_rows = 0;
    ek__layer_row *row = ek__alloc((size_t)n + (size_t)n_old, sizeof *row);
    for (int i = 0; i < n_old && row; i++)
        row[n_rows++] = before[i];
    for (int i = 0; i < n && row; i++) {
        if (!counts(&sample[i]))
            continue;
        ek__layer_row more = {.value = old_factor(old, sample[i].at) - sample[i].residual / sample[i].share,
                              .weight = sample[i].weight * sample[i].share * sample[i].share};
        for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
            more.at[k] = sample[i].at[k];
        add_row(row, &n_rows, &more);
    }
    *out = row ? ek__layer_table_new(row, n_rows, scale) : NULL;
    free(row);
    return *out ? EK_OK : ek__no_memory(err);
}

ek_status ek__layers_fit_run(const ek__layer_sample *sample, int n, const ek_layer_table *old, ek_layer_table **out,
                             ek__layers_fit *fit, ek_error *err)
{
    ek__layers_fit best = {.left_out = error_of(sample, n, old, NULL, false),
                           .group_out = error_of(sample, n, old, NULL, true)};
    double least = worth_it * best.left_out;
    bool any = false;
    best.without = best.left_out;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t l = 0; l < sizeof lambdas / sizeof *lambdas; l++) {
            const ek__layer_scale scale = {.width = widths[w], .lambda = lambdas[l]};
            double error = error_of(sample, n, old, &scale, false);
            if (error < least) {
                least = error;
                best.scale = scale;
                any = true;
            }
        }
    *out = NULL;
    if (any) {
        best.left_out = least;
        best.scale.met_error = least;
        best.scale.new_error = fmax(best.without, least);
        best.group_out = error_of(sample, n, old, &best.scale, true);
    }
    ek_status status = any ? make_table(sample, n, old, &best.scale, out, err) : EK_OK;
    if (status == EK_OK)
        *fit = best;
    return status;
}
