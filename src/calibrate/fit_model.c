/* Evaluates the model of a fit at given constants: the range of each constant, the times of runs, and their derivatives
 * by differences. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/fit_work.h"

static const double step_share = 0.01;   /* of a width, for differences */
static const double inside_share = 0.05; /* of a width that a start keeps from a bound */
static const double bound_share = 0.02;  /* of a width: at the bound */

/* ---- where a constant may be ---- */

ek__fit_range ek__fit_range_of(const ek__constant *c)
{
    return (ek__fit_range){ek__constant_scaled(c, c->least), ek__constant_scaled(c, c->most)};
}

double ek__fit_to_free(const ek__constant *c, double u)
{
    ek__fit_range r = ek__fit_range_of(c);
    double keep = fmin(inside_share * c->width, (r.most - r.least) / 4);
    u = fmin(fmax(u, r.least + keep), r.most - keep);
    return asin(2 * (u - r.least) / (r.most - r.least) - 1);
}

double ek__fit_from_free(const ek__constant *c, double z)
{
    ek__fit_range r = ek__fit_range_of(c);
    return r.least + (r.most - r.least) * (1 + sin(z)) / 2;
}

double ek__fit_free_slope(const ek__constant *c, double z)
{
    ek__fit_range r = ek__fit_range_of(c);
    return (r.most - r.least) * cos(z) / 2;
}

bool ek__fit_at_bound(const ek__constant *c, double u)
{
    ek__fit_range r = ek__fit_range_of(c);
    return u - r.least < bound_share * c->width || r.most - u < bound_share * c->width;
}

/* ---- the model at given constants ---- */

static bool stopped(const ek__fit_problem *p)
{
    return ek_interrupted(p->interrupt);
}

void ek__fit_put(const ek__fit *fit, int constant, double u, ek_device *device)
{
    ek__constant_set(&fit->constant[constant], ek__constant_value(&fit->constant[constant], u), device);
}

ek_status ek__fit_predict(ek__fit_work *w, const ek_device *device, const bool *wanted, double *out)
{
    if (stopped(w->problem))
        return ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE, "interrupted");
    return w->problem->predict(w->problem->user, device, wanted, out, w->err);
}

/* The times of the runs with the constant at its fitted value. A start may be outside of the fit's range, as a rate
 * that every message reaches: the value is then not the device's. */
static ek_status predict_here(ek__fit_work *w, int constant, const double *value, double *out)
{
    ek_device device = w->fit->device;
    ek__fit_put(w->fit, constant, w->fit->scaled[constant], &device);
    double here = ek__constant_get(&w->fit->constant[constant], &device);
    double is = ek__constant_get(&w->fit->constant[constant], &w->fit->device);
    if (fabs(here - is) > 1e-9 * fabs(here))
        return ek__fit_predict(w, &device, w->wanted, out);
    memcpy(out, value, (size_t)w->fit->n * sizeof *out);
    return EK_OK;
}

static bool choose_wanted(ek__fit_work *w, const bool *touches, const double *value, bool all)
{
    bool any = false;
    for (int i = 0; i < w->fit->n; i++) {
        w->wanted[i] = !isnan(value[i]) && (all || touches[i]);
        any |= w->wanted[i];
    }
    return any;
}

/* By a step towards the inside of its range. `all`: also of runs that it did not move before. */
ek_status ek__fit_differentiate(ek__fit_work *w, int constant, const double *value, bool all, double *out, int stride)
{
    ek__fit *fit = w->fit;
    const ek__constant *c = &fit->constant[constant];
    double u = fit->scaled[constant], step = step_share * c->width;
    if (u + step > ek__fit_range_of(c).most)
        step = -step;
    bool *touches = w->touches + (size_t)constant * (size_t)fit->n;
    for (int i = 0; i < fit->n; i++)
        out[(size_t)i * (size_t)stride] = 0;
    if (!choose_wanted(w, touches, value, all))
        return EK_OK;
    ek_status status = predict_here(w, constant, value, w->at);
    ek_device device = fit->device;
    ek__fit_put(fit, constant, u + step, &device);
    if (status == EK_OK)
        status = ek__fit_predict(w, &device, w->wanted, w->shifted);
    for (int i = 0; i < fit->n && status == EK_OK; i++) {
        double slope = w->wanted[i] ? (w->shifted[i] - w->at[i]) / step : 0;
        out[(size_t)i * (size_t)stride] = isfinite(slope) ? slope : 0;
        touches[i] |= slope != 0;
    }
    return status;
}

ek_status ek__fit_slopes(ek__fit_work *w, bool all)
{
    ek__fit *fit = w->fit;
    ek_status status = EK_OK;
    for (int a = 0; a < fit->n_active && status == EK_OK; a++)
        status = ek__fit_differentiate(w, fit->active[a], w->value, all, w->slope + a, fit->n_active);
    return status;
}

void ek__fit_tell(ek__fit_work *w, double share)
{
    w->done = fmax(w->done, share);
    if (w->problem->progress)
        w->problem->progress(w->problem->progress_user, w->done, "fitting constants");
}
