/* Minimises by Levenberg-Marquardt over the active constants (Levenberg 1944, Marquardt 1963; cminpack's lmder),
 * alternating with the noise and Huber's weights, since each needs the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"
#include "base/minimise.h"
#include "calibrate/fit_work.h"

enum { MAX_TURNS = 4, MAX_EVALUATIONS = 60 };

static const double least_noise = 1e-3;     /* of a logarithm */
static const double huber_mean = 0.7101645; /* of min(z^2, huber^2) for a normal z */
static const double tolerance = 1e-5;
const double ek__fit_huber = 1.345; /* 95 % efficient where errors are normal */

/* ---- lmder ---- */

static void parse(ek__fit_work *w, const double *z)
{
    ek__fit *fit = w->fit;
    for (int a = 0; a < fit->n_active; a++) {
        int k = fit->active[a];
        fit->scaled[k] = ek__fit_from_free(&fit->constant[k], z[a]);
        ek__fit_put(fit, k, fit->scaled[k], &fit->device);
    }
}

static double root_weight(const ek__fit *fit, int i)
{
    return sqrt(fit->weight[i]) / fit->noise;
}

static void fill_residuals(ek__fit_work *w, double *out)
{
    const ek__fit *fit = w->fit;
    for (int i = 0; i < fit->n; i++) {
        double r = w->value[i] - fit->measured[i];
        out[i] = fit->used[i] ? root_weight(fit, i) * (isfinite(r) ? r : 10) : 0;
    }
    for (int a = 0; a < fit->n_active; a++) {
        int k = fit->active[a];
        out[fit->n + a] = (fit->scaled[k] - fit->prior[k]) / fit->constant[k].width;
    }
}

static void fill_slopes(const ek__fit_work *w, const double *z, double *out, int rows)
{
    const ek__fit *fit = w->fit;
    memset(out, 0, (size_t)rows * (size_t)fit->n_active * sizeof *out);
    for (int a = 0; a < fit->n_active; a++) {
        const ek__constant *c = &fit->constant[fit->active[a]];
        double *column = out + (size_t)a * (size_t)rows, chain = ek__fit_free_slope(c, z[a]);
        for (int i = 0; i < fit->n; i++)
            if (fit->used[i])
                column[i] = root_weight(fit, i) * chain * w->slope[(size_t)i * (size_t)fit->n_active + (size_t)a];
        column[fit->n + a] = chain / c->width;
    }
}

static int evaluate(void *user, int m, int n, const double *z, double *residual, double *jacobian, int rows, int what)
{
    ek__fit_work *w = user;
    (void)m;
    (void)n;
    parse(w, z);
    if (what == 1) {
        w->status = ek__fit_predict(w, &w->fit->device, w->fit->used, w->value);
        fill_residuals(w, residual);
    } else {
        w->status = ek__fit_predict(w, &w->fit->device, w->fit->used, w->value);
        if (w->status == EK_OK)
            w->status = ek__fit_slopes(w, false);
        fill_slopes(w, z, jacobian, rows);
    }
    return w->status ? -1 : 0;
}

/* With the current weights and noise. */
static ek_status minimise(ek__fit_work *w)
{
    ek__fit *fit = w->fit;
    int n = fit->n_active, m = fit->n + n, evaluations, slopes;
    double z[EK__MAX_CONSTANTS], diagonal[EK__MAX_CONSTANTS], qtf[EK__MAX_CONSTANTS];
    double wa1[EK__MAX_CONSTANTS], wa2[EK__MAX_CONSTANTS], wa3[EK__MAX_CONSTANTS];
    int pivot[EK__MAX_CONSTANTS];
    double *wa4 = ek__alloc((size_t)m, sizeof *wa4);
    if (!wa4)
        return ek__no_memory(w->err);
    for (int a = 0; a < n; a++)
        z[a] = ek__fit_to_free(&fit->constant[fit->active[a]], fit->scaled[fit->active[a]]);
    ek__lmder(evaluate, w, m, n, z, w->residual, w->square, m, tolerance, tolerance, 0, MAX_EVALUATIONS, diagonal, 1,
              10, 0, &evaluations, &slopes, pivot, qtf, wa1, wa2, wa3, wa4);
    free(wa4);
    if (w->status)
        return w->status;
    parse(w, z);
    return ek__fit_predict(w, &fit->device, fit->used, w->value);
}

/* ---- noise, weights, spreads ---- */

/* The inverse covariance of some constants. @param slope  [n][stride], constant list[a] in column column[a] */
void ek__fit_information(const ek__fit *fit, const double *slope, int stride, const int *list, const int *column, int n,
                         double *out)
{
    memset(out, 0, (size_t)n * (size_t)n * sizeof *out);
    for (int a = 0; a < n; a++)
        out[(size_t)a * (size_t)n + (size_t)a] = 1 / (fit->constant[list[a]].width * fit->constant[list[a]].width);
    for (int i = 0; i < fit->n; i++) {
        const double *row = slope + (size_t)i * (size_t)stride;
        double weight = fit->used[i] ? fit->weight[i] / (fit->noise * fit->noise) : 0;
        for (int a = 0; a < n && weight > 0; a++)
            for (int b = 0; b < n && row[column[a]] != 0; b++)
                out[(size_t)a * (size_t)n + (size_t)b] += weight * row[column[a]] * row[column[b]];
    }
}

/* Of the active constants, columns 0..n_active-1 of w->slope. */
static bool active_covariance(const ek__fit_work *w, double *out)
{
    int column[EK__MAX_CONSTANTS];
    for (int a = 0; a < w->fit->n_active; a++)
        column[a] = a;
    ek__fit_information(w->fit, w->slope, w->fit->n_active, w->fit->active, column, w->fit->n_active, out);
    return ek__fit_invert(w->fit->n_active, out);
}

/* Constants that the runs use up: the trace of the hat matrix. */
static double degrees_used(const ek__fit_work *w, const double *covariance)
{
    const ek__fit *fit = w->fit;
    double used = 0;
    for (int a = 0; a < fit->n_active; a++) {
        double width = fit->constant[fit->active[a]].width;
        used += 1 - covariance[(size_t)a * (size_t)fit->n_active + (size_t)a] / (width * width);
    }
    return used;
}

/* Residual of a run in units of the noise, as it counts. */
static double clipped(const ek__fit *fit, const double *value, int i)
{
    double z = fit->used[i] ? (value[i] - fit->measured[i]) / fit->noise : 0;
    return fmax(-ek__fit_huber, fmin(ek__fit_huber, z));
}

static bool same_group(const ek__fit *fit, const int *group, int i, int k)
{
    return i != k && fit->used[i] && fit->used[k] && group[i] == group[k];
}

/* Runs of a layout share the model's error for it. Correlation inside groups by moments: products of pairs over
 * squares. One group gives no estimate of others, as one run gives none of a variance. */
static double correlation(const ek__fit *fit, const int *group, const double *value)
{
    double pairs = 0, squares = 0;
    int n_pairs = 0, n = 0, n_groups = 0;
    for (int i = 0; i < fit->n; i++) {
        double z = clipped(fit, value, i);
        int before = 0;
        squares += z * z;
        n += fit->used[i];
        for (int k = 0; k < i; k++)
            if (same_group(fit, group, i, k)) {
                pairs += z * clipped(fit, value, k);
                before++;
            }
        n_pairs += before;
        n_groups += before == 1; /* its second run */
    }
    double alike = n_pairs > 0 && squares > 0 ? pairs / n_pairs / (squares / n) : 0;
    return n_groups > 1 ? fmin(fmax(alike, 0), 1) : 0;
}

/* k runs with correlated errors have the weight of k / (1 + (k - 1) correlation) independent ones (Kish 1965, 5.4). */
static void weigh(ek__fit *fit, const int *group, const double *value)
{
    fit->alike = correlation(fit, group, value);
    for (int i = 0; i < fit->n; i++) {
        double r = fabs(value[i] - fit->measured[i]), limit = ek__fit_huber * fit->noise;
        int others = 0;
        for (int k = 0; k < fit->n; k++)
            others += same_group(fit, group, i, k);
        fit->weight[i] = !fit->used[i] ? 0 : (r <= limit ? 1 : limit / r) / (1 + others * fit->alike);
    }
}

/* The noise and the weights that belong together (Huber's proposal 2): residuals count up to the limit, so that a few
 * disturbed runs do not make all others look noisy. With nearly as many constants as runs the residuals say nothing of
 * the noise: half of the runs at most are used up. */
void ek__fit_find_noise(ek__fit_work *w, double degrees)
{
    ek__fit *fit = w->fit;
    for (int turn = 0; turn < 100; turn++) {
        double sum = 0, was = fit->noise;
        int n = 0;
        for (int i = 0; i < fit->n; i++) {
            double r = fit->used[i] ? fabs(w->value[i] - fit->measured[i]) : 0;
            sum += pow(fmin(r, ek__fit_huber * was), 2);
            n += fit->used[i];
        }
        fit->noise = fmax(sqrt(sum / (huber_mean * fmax(n - degrees, 0.5 * n))), least_noise);
        if (fabs(log(fit->noise / was)) < 1e-6)
            break;
    }
    weigh(fit, w->problem->group, w->value);
}

/* Alternates between constants, noise and weights, since each needs the others. */
ek_status ek__fit_settle(ek__fit_work *w, double *covariance)
{
    ek__fit *fit = w->fit;
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        ek_status status = minimise(w);
        if (status == EK_OK)
            status = ek__fit_slopes(w, true);
        if (status)
            return status;
        if (!active_covariance(w, covariance))
            return ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE, "the fit's matrix has no inverse");
        double was = fit->noise;
        ek__fit_find_noise(w, degrees_used(w, covariance));
        ek__fit_tell(w, w->done + (1 - w->done) * 0.15);
        if (fabs(log(fit->noise / was)) < 0.02)
            break;
    }
    return active_covariance(w, covariance)
               ? EK_OK
               : ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE, "the fit's matrix has no inverse");
}

bool ek__fit_invert(int n, double *a)
{
    if (n == 0)
        return true;
    if (ek__cholesky(n, a) != EK__LINEAR_OK || ek__cholesky_invert(n, a) != EK__LINEAR_OK)
        return false;
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            a[(size_t)i * (size_t)n + (size_t)k] = a[(size_t)k * (size_t)n + (size_t)i];
    return true;
}
