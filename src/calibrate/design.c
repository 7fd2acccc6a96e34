/* Selects the runs to measure next. A run with gradient g, measured with noise s, takes from the covariance C of the
 * constants C g g' C / (s^2 + g' C g); a prediction with gradient h loses (h' C g)^2 / (s^2 + g' C g) of its variance.
 * Each choice is the candidate that reduces the sum over all candidates most, given the ones before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/fit.h"

/* out = C g */
static void times(const double *c, const double *g, int n, double *out)
{
    for (int a = 0; a < n; a++) {
        out[a] = 0;
        for (int b = 0; b < n; b++)
            out[a] += c[(size_t)a * (size_t)n + (size_t)b] * g[b];
    }
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

static double mean_variance(const double *c, const double *gradient, int n, int n_constants, double *cg)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const double *g = gradient + (size_t)i * (size_t)n_constants;
        times(c, g, n_constants, cg);
        sum += dot(g, cg, n_constants);
    }
    return sum / n;
}

/* The reduction of the sum of variances by measuring a candidate; *cg is C g of it. */
static double gain(const ek__fit *fit, const double *c, const double *gradient, int n, int which, double *cg)
{
    int k = fit->n_constants;
    const double *g = gradient + (size_t)which * (size_t)k;
    times(c, g, k, cg);
    double own = fit->noise * fit->noise + dot(g, cg, k), sum = 0;
    for (int i = 0; i < n; i++) {
        double common = dot(gradient + (size_t)i * (size_t)k, cg, k);
        sum += common * common / own;
    }
    return sum;
}

static void measure(const ek__fit *fit, const double *g, double *c, double *cg)
{
    int n = fit->n_constants;
    times(c, g, n, cg);
    double own = fit->noise * fit->noise + dot(g, cg, n);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            c[(size_t)a * (size_t)n + (size_t)b] -= cg[a] * cg[b] / own;
}

static int best_of(const ek__fit *fit, const double *c, const double *gradient, int n, const int *chosen, int n_chosen,
                   double *cg)
{
    int best = -1;
    double most = 0;
    for (int i = 0; i < n; i++) {
        bool taken = false;
        for (int k = 0; k < n_chosen; k++)
            taken |= chosen[k] == i;
        double takes = taken ? 0 : gain(fit, c, gradient, n, i, cg);
        if (takes > most) {
            most = takes;
            best = i;
        }
    }
    return best;
}

ek_status ek__fit_design(const ek__fit *fit, int n, const double *gradient, int *n_chosen, int *chosen, double *spread,
                         ek_error *err)
{
    size_t k = (size_t)fit->n_constants;
    double *c = ek__alloc(k * k, sizeof *c), *cg = ek__alloc(k, sizeof *cg);
    int asked = *n_chosen;
    if (!c || !cg) {
        free(c);
        free(cg);
        return ek__no_memory(err);
    }
    memcpy(c, fit->covariance, k * k * sizeof *c);
    *n_chosen = 0;
    spread[0] = n > 0 ? sqrt(mean_variance(c, gradient, n, fit->n_constants, cg)) : 0;
    while (*n_chosen < asked && n > 0) {
        int best = best_of(fit, c, gradient, n, chosen, *n_chosen, cg);
        if (best < 0)
            break;
        measure(fit, gradient + (size_t)best * k, c, cg);
        chosen[(*n_chosen)++] = best;
        spread[*n_chosen] = sqrt(fmax(mean_variance(c, gradient, n, fit->n_constants, cg), 0));
    }
    free(c);
    free(cg);
    return EK_OK;
}
