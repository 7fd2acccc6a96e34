/* Computes the leave-one-out prediction of each run, and of each group of runs, from the hat matrix of the linearised
 * fit: e = (I - H)^-1 r over the runs left out, H = S J C J' S, S = sqrt(weight) / noise. This needs only one fit;
 * refitting would need one for each run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"
#include "calibrate/fit.h"

typedef struct hat {
    const ek__fit *fit;
    double *root;  /* [n][n_active] S J */
    double *cross; /* [n][n_active] S J C */
    double *c;     /* [n_active][n_active] covariance of the constants that are fitted */
} hat;

static double scale(const ek__fit *fit, int i)
{
    return sqrt(fit->weight[i]) / fit->noise;
}

/* (J' W J + ridge)^-1 of the fitted constants. */
static bool fill_covariance(hat *h)
{
    const ek__fit *fit = h->fit;
    size_t n = (size_t)fit->n_active;
    for (size_t a = 0; a < n; a++) {
        double width = fit->constant[fit->active[a]].width;
        h->c[a * n + a] = 1 / (width * width);
    }
    for (int i = 0; i < fit->n; i++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                h->c[a * n + b] += h->root[(size_t)i * n + a] * h->root[(size_t)i * n + b];
    return ek__fit_invert(fit->n_active, h->c);
}

static bool fill(hat *h)
{
    const ek__fit *fit = h->fit;
    size_t n = (size_t)fit->n_active;
    for (int i = 0; i < fit->n; i++)
        for (size_t a = 0; a < n; a++) {
            double slope = fit->jacobian[(size_t)i * (size_t)fit->n_constants + (size_t)fit->active[a]];
            h->root[(size_t)i * n + a] = fit->used[i] ? scale(fit, i) * slope : 0;
        }
    if (!fill_covariance(h))
        return false;
    for (int i = 0; i < fit->n; i++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                h->cross[(size_t)i * n + a] += h->root[(size_t)i * n + b] * h->c[b * n + a];
    return true;
}

static double leverage(const hat *h, int i, int k)
{
    size_t n = (size_t)h->fit->n_active;
    double sum = 0;
    for (size_t a = 0; a < n; a++)
        sum += h->cross[(size_t)i * n + a] * h->root[(size_t)k * n + a];
    return sum;
}

/* @param run  [n] those left out together */
static ek_status leave(const hat *h, const int *run, int n, double *out, ek_error *err)
{
    const ek__fit *fit = h->fit;
    double *a = ek__alloc((size_t)n * (size_t)n, sizeof *a), *r = ek__alloc((size_t)n, sizeof *r);
    bool fine = a && r;
    for (int i = 0; i < n && fine; i++) {
        r[i] = scale(fit, run[i]) * (fit->after[run[i]] - fit->measured[run[i]]);
        for (int k = 0; k < n; k++)
            a[(size_t)i * (size_t)n + (size_t)k] = (i == k) - leverage(h, run[i], run[k]);
    }
    ek__linear solved = fine ? ek__solve(n, a, r) : EK__LINEAR_NO_MEMORY;
    for (int i = 0; i < n && solved == EK__LINEAR_OK; i++)
        out[run[i]] = r[i] / scale(fit, run[i]);
    free(a);
    free(r);
    if (solved == EK__LINEAR_NO_MEMORY)
        return ek__no_memory(err);
    return solved == EK__LINEAR_OK ? EK_OK
                                   : ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the fit's matrix has no inverse");
}

static ek_status leave_groups(const hat *h, const int *group, ek_error *err)
{
    const ek__fit *fit = h->fit;
    int *run = ek__alloc((size_t)fit->n, sizeof *run);
    bool *done = ek__alloc((size_t)fit->n, sizeof *done);
    ek_status status = run && done ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < fit->n && status == EK_OK; i++) {
        int n = 0;
        for (int k = i; k < fit->n && !done[i]; k++)
            if (fit->used[k] && fit->used[i] && group[k] == group[i])
                run[n++] = k;
        for (int k = 0; k < n; k++)
            done[run[k]] = true;
        if (n > 0)
            status = leave(h, run, n, fit->group_out, err);
    }
    free(run);
    free(done);
    return status;
}

ek_status ek__fit_leave_out(const ek__fit_problem *problem, ek__fit *fit, ek_error *err)
{
    size_t n = (size_t)fit->n, k = (size_t)fit->n_active;
    hat h = {fit, ek__alloc(n * k, sizeof(double)), ek__alloc(n * k, sizeof(double)), ek__alloc(k * k, sizeof(double))};
    ek_status status = h.root && h.cross && h.c ? EK_OK : ek__no_memory(err);
    if (status == EK_OK && !fill(&h))
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the fit's matrix has no inverse");
    for (int i = 0; i < fit->n && status == EK_OK; i++) {
        fit->left_out[i] = fit->group_out[i] = NAN;
        if (fit->used[i])
            status = leave(&h, &i, 1, fit->left_out, err);
    }
    if (status == EK_OK)
        status = leave_groups(&h, problem->group, err);
    free(h.root);
    free(h.cross);
    free(h.c);
    return status;
}
