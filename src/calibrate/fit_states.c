/* Selects the constants that are fitted: those at a bound and those that the runs determine too little are set aside,
 * limits that no run reaches at the start are searched over a wider range, and the rest is fitted again after each. */
#include <math.h>

#include "base/error.h"
#include "calibrate/fit_work.h"

enum { MAX_ROUNDS = 10 };

static const double wide_share = 0.8; /* of a width that a determined constant's spread may have */

/* ---- determined constants ---- */

static void set_aside(ek__fit *fit, int a, ek_fit_state why)
{
    fit->state[fit->active[a]] = why;
    for (int b = a + 1; b < fit->n_active; b++)
        fit->active[b - 1] = fit->active[b];
    fit->n_active--;
}

/* Reset to its start. */
static void drop(ek__fit *fit, int a, ek_fit_state why)
{
    int k = fit->active[a];
    fit->scaled[k] = fit->prior[k];
    ek__constant_set(&fit->constant[k], fit->start[k], &fit->device);
    set_aside(fit, a, why);
}

/* Stays at the bound, since the error in the runs that pushes it there would otherwise push another constant; a start
 * outside of the fitted range, as a rate that every message reaches, counts as its bound. */
static void hold(ek__fit *fit, int a)
{
    int k = fit->active[a];
    const ek__constant *c = &fit->constant[k];
    ek__fit_range r = ek__fit_range_of(c);
    double bound = fit->scaled[k] - r.least < r.most - fit->scaled[k] ? r.least : r.most;
    if (c->typical > 0 && bound == r.least && fit->start[k] < c->least) {
        drop(fit, a, EK_FIT_AT_BOUND);
        return;
    }
    fit->scaled[k] = bound;
    ek__fit_put(fit, k, bound, &fit->device);
    set_aside(fit, a, EK_FIT_AT_BOUND);
}

/* A limit that lost its effect again may still fit elsewhere: it is searched once more. */
static bool drop_at_bounds(ek__fit_work *w)
{
    ek__fit *fit = w->fit;
    bool any = false;
    for (int a = fit->n_active - 1; a >= 0; a--) {
        int k = fit->active[a];
        if (!ek__fit_at_bound(&fit->constant[k], fit->scaled[k]))
            continue;
        hold(fit, a);
        w->asleep[k] = w->woken[k] == 1;
        any = true;
    }
    return any;
}

/* One after the other, the widest first: of constants that only together are determined, some stay. */
static bool drop_wide(ek__fit_work *w, double *covariance)
{
    ek__fit *fit = w->fit;
    int column[EK__MAX_CONSTANTS], stride = fit->n_active;
    bool any = false;
    for (int a = 0; a < fit->n_active; a++)
        column[a] = a;
    while (fit->n_active > 0) {
        int widest = 0;
        double most = 0;
        ek__fit_information(fit, w->slope, stride, fit->active, column, fit->n_active, covariance);
        if (!ek__fit_invert(fit->n_active, covariance))
            break;
        for (int a = 0; a < fit->n_active; a++) {
            double share =
                sqrt(covariance[(size_t)a * (size_t)fit->n_active + (size_t)a]) / fit->constant[fit->active[a]].width;
            if (share > most) {
                most = share;
                widest = a;
            }
        }
        if (most <= wide_share)
            break;
        for (int b = widest + 1; b < fit->n_active; b++)
            column[b - 1] = column[b];
        drop(fit, widest, EK_FIT_WIDE);
        any = true;
    }
    return any;
}

/* ---- limits that are not reached at the start ---- */

static double huber_cost(const ek__fit_work *w, const double *value)
{
    const ek__fit *fit = w->fit;
    double sum = 0;
    for (int i = 0; i < fit->n; i++) {
        double r = fit->used[i] ? fabs(value[i] - fit->measured[i]) / fit->noise : 0;
        sum += r <= ek__fit_huber ? r * r : ek__fit_huber * (2 * r - ek__fit_huber);
    }
    return sum;
}

/* The best of a few values, given all others; its prior's where none is better by more than chance. Upwards, or down
 * from an upper bound. */
static ek_status scan(ek__fit_work *w, int constant, bool *better)
{
    static const double grid[] = {0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8};
    ek__fit *fit = w->fit;
    const ek__constant *c = &fit->constant[constant];
    ek__fit_range r = ek__fit_range_of(c);
    double prior = fit->prior[constant], least = huber_cost(w, w->value) - 1, best = prior;
    double unit = prior + grid[0] * c->width < r.most ? c->width : -c->width;
    ek_device device = fit->device;
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        double u = prior + grid[i] * unit;
        if (u <= r.least || u >= r.most)
            break;
        ek__fit_put(fit, constant, u, &device);
        ek_status status = ek__fit_predict(w, &device, fit->used, w->shifted);
        if (status)
            return status;
        double cost = huber_cost(w, w->shifted) + grid[i] * grid[i];
        if (cost < least) {
            least = cost;
            best = u;
        }
    }
    *better = best != prior;
    if (!*better)
        return EK_OK;
    fit->scaled[constant] = best;
    ek__fit_put(fit, constant, best, &fit->device);
    return ek__fit_predict(w, &fit->device, fit->used, w->value);
}

/* A limit that is not reached at the start has no slope there, as a host that is never waited for: whether runs reach
 * it shows only further on. */
static ek_status wake(ek__fit_work *w, bool *any)
{
    ek__fit *fit = w->fit;
    ek_status status = EK_OK;
    *any = false;
    for (int k = 0; k < fit->n_constants && status == EK_OK; k++) {
        bool better = false;
        if (w->asleep[k])
            status = scan(w, k, &better);
        if (!better)
            continue;
        *any = true;
        w->asleep[k] = false;
        w->woken[k]++;
        fit->state[k] = EK_FIT_DETERMINED;
        fit->active[fit->n_active++] = k;
    }
    return status;
}

/* Limits without effect at the start are searched before another constant can compensate for them, and again once the
 * rest is fitted.
 */
ek_status ek__fit_refine(ek__fit_work *w, double *covariance)
{
    bool woke;
    ek_status status = wake(w, &woke);
    for (int round = 0; round < MAX_ROUNDS && w->fit->n_active > 0 && status == EK_OK; round++) {
        status = ek__fit_settle(w, covariance);
        if (status == EK_OK)
            status = wake(w, &woke);
        if (status || woke)
            continue;
        bool bound = drop_at_bounds(w);
        if (!bound && !drop_wide(w, covariance))
            return EK_OK;
    }
    if (status)
        return status;
    if (w->fit->n_active > 0)
        return ek__fit_settle(w, covariance);
    status = ek__fit_predict(w, &w->fit->device, w->fit->used, w->value);
    if (status == EK_OK)
        ek__fit_find_noise(w, 0);
    return status;
}
