/* Levenberg-Marquardt (Levenberg 1944, Marquardt 1963; cminpack's lmder) on logarithms of steps, with a ridge towards
 * what a data sheet says, so that more constants than runs is no trouble: what the runs do not tell stays where it was.
 * Logarithms, because errors of a model of time are in percent; Huber's weights (Huber 1964), because tables of runs
 * hold a few that were disturbed.
 *
 * Not handled: noise that differs from run to run. */
#include "calibrate/fit.h"

#include <cminpack.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const char *const ek_fit_state_name[EK_N_FIT_STATES] = {"determined", "at_bound", "wide", "no_effect"};

enum { MAX_ROUNDS = 10, MAX_TURNS = 4, MAX_EVALUATIONS = 60 };

static const double first_noise = 0.05, least_noise = 1e-3; /* of a logarithm */
static const double huber = 1.345;                          /* 95 % efficient where errors are normal */
static const double huber_mean = 0.7101645;                 /* of min(z^2, huber^2) for a normal z */
static const double step_share = 0.01;                      /* of a width, for differences */
static const double inside_share = 0.05;                    /* of a width that a start keeps from a bound */
static const double bound_share = 0.02;                     /* of a width: at the bound */
static const double known_share = 0.5;                      /* of a width, where the start was fitted to something */
static const double wide_share = 0.8;
static const double least_effect = 1e-5; /* of a width on any run's logarithm */
static const double least_sum = 3e-3;    /* of a width on all runs: no noise is small enough for less to be seen */
static const double tolerance = 1e-5;

/* ---- where a constant may be ---- */

typedef struct range {
    double least, most; /* scaled */
} range;

static range range_of(const ek__constant *c)
{
    return (range){ek__constant_scaled(c, c->least), ek__constant_scaled(c, c->most)};
}

static double to_free(const ek__constant *c, double u)
{
    range r = range_of(c);
    double keep = fmin(inside_share * c->width, (r.most - r.least) / 4);
    u = fmin(fmax(u, r.least + keep), r.most - keep);
    return asin(2 * (u - r.least) / (r.most - r.least) - 1);
}

static double from_free(const ek__constant *c, double z)
{
    range r = range_of(c);
    return r.least + (r.most - r.least) * (1 + sin(z)) / 2;
}

static double free_slope(const ek__constant *c, double z)
{
    range r = range_of(c);
    return (r.most - r.least) * cos(z) / 2;
}

static bool at_bound(const ek__constant *c, double u)
{
    range r = range_of(c);
    return u - r.least < bound_share * c->width || r.most - u < bound_share * c->width;
}

/* ---- the model at given constants ---- */

typedef struct work {
    const ek__fit_problem *problem;
    ek__fit *fit;
    bool *touches;    /* [n_constants][n] may the constant move the run? */
    bool *wanted;     /* [n] */
    double *shifted;  /* [n] */
    double *at;       /* [n] */
    double *slope;    /* [n][n_active] of logarithms by scaled constants */
    double *residual; /* [n + n_active] */
    double *square;   /* [n + n_active][n_active] by columns, for lmder */
    double *value;    /* [n] predicted last */
    ek_status status;
    ek_error *err;
    bool asleep[EK__MAX_CONSTANTS]; /* no run depends on it where it is */
    int woken[EK__MAX_CONSTANTS];   /* how often it was found to matter further on */
    double done;                    /* of progress */
} work;

static bool stopped(const ek__fit_problem *p)
{
    return p->interrupted && *p->interrupted;
}

static void put(const ek__fit *fit, int constant, double u, ek_device *device)
{
    ek__constant_set(&fit->constant[constant], ek__constant_value(&fit->constant[constant], u), device);
}

static ek_status predict(work *w, const ek_device *device, const bool *wanted, double *out)
{
    if (stopped(w->problem))
        return ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE, "interrupted");
    return w->problem->predict(w->problem->user, device, wanted, out, w->err);
}

/* What the runs take with the constant where it is as fitted. A start may be outside of what a fit can try, as a rate
 * that every message reaches is: then it is not what the device says. */
static ek_status predict_here(work *w, int constant, const double *value, double *out)
{
    ek_device device = w->fit->device;
    put(w->fit, constant, w->fit->scaled[constant], &device);
    double here = ek__constant_get(&w->fit->constant[constant], &device);
    double is = ek__constant_get(&w->fit->constant[constant], &w->fit->device);
    if (fabs(here - is) > 1e-9 * fabs(here))
        return predict(w, &device, w->wanted, out);
    memcpy(out, value, (size_t)w->fit->n * sizeof *out);
    return EK_OK;
}

static bool choose_wanted(work *w, const bool *touches, const double *value, bool all)
{
    bool any = false;
    for (int i = 0; i < w->fit->n; i++) {
        w->wanted[i] = !isnan(value[i]) && (all || touches[i]);
        any |= w->wanted[i];
    }
    return any;
}

/* By a step towards the inside of its range. `all`: also of runs that it did not move before. */
static ek_status differentiate(work *w, int constant, const double *value, bool all, double *out, int stride)
{
    ek__fit *fit = w->fit;
    const ek__constant *c = &fit->constant[constant];
    double u = fit->scaled[constant], step = step_share * c->width;
    if (u + step > range_of(c).most)
        step = -step;
    bool *touches = w->touches + (size_t)constant * (size_t)fit->n;
    for (int i = 0; i < fit->n; i++)
        out[(size_t)i * (size_t)stride] = 0;
    if (!choose_wanted(w, touches, value, all))
        return EK_OK;
    ek_status status = predict_here(w, constant, value, w->at);
    ek_device device = fit->device;
    put(fit, constant, u + step, &device);
    if (status == EK_OK)
        status = predict(w, &device, w->wanted, w->shifted);
    for (int i = 0; i < fit->n && status == EK_OK; i++) {
        double slope = w->wanted[i] ? (w->shifted[i] - w->at[i]) / step : 0;
        out[(size_t)i * (size_t)stride] = isfinite(slope) ? slope : 0;
        touches[i] |= slope != 0;
    }
    return status;
}

/* ---- lmder ---- */

static void take(work *w, const double *z)
{
    ek__fit *fit = w->fit;
    for (int a = 0; a < fit->n_active; a++) {
        int k = fit->active[a];
        fit->scaled[k] = from_free(&fit->constant[k], z[a]);
        put(fit, k, fit->scaled[k], &fit->device);
    }
}

static double root_weight(const ek__fit *fit, int i)
{
    return sqrt(fit->weight[i]) / fit->noise;
}

static void fill_residuals(work *w, double *out)
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

static void fill_slopes(const work *w, const double *z, double *out, int rows)
{
    const ek__fit *fit = w->fit;
    memset(out, 0, (size_t)rows * (size_t)fit->n_active * sizeof *out);
    for (int a = 0; a < fit->n_active; a++) {
        const ek__constant *c = &fit->constant[fit->active[a]];
        double *column = out + (size_t)a * (size_t)rows, chain = free_slope(c, z[a]);
        for (int i = 0; i < fit->n; i++)
            if (fit->used[i])
                column[i] = root_weight(fit, i) * chain * w->slope[(size_t)i * (size_t)fit->n_active + (size_t)a];
        column[fit->n + a] = chain / c->width;
    }
}

static ek_status fill_active_slopes(work *w, bool all)
{
    ek__fit *fit = w->fit;
    ek_status status = EK_OK;
    for (int a = 0; a < fit->n_active && status == EK_OK; a++)
        status = differentiate(w, fit->active[a], w->value, all, w->slope + a, fit->n_active);
    return status;
}

static int evaluate(void *user, int m, int n, const double *z, double *residual, double *jacobian, int rows, int what)
{
    work *w = user;
    (void)m;
    (void)n;
    take(w, z);
    if (what == 1) {
        w->status = predict(w, &w->fit->device, w->fit->used, w->value);
        fill_residuals(w, residual);
    } else {
        w->status = predict(w, &w->fit->device, w->fit->used, w->value);
        if (w->status == EK_OK)
            w->status = fill_active_slopes(w, false);
        fill_slopes(w, z, jacobian, rows);
    }
    return w->status ? -1 : 0;
}

static void tell(work *w, double share)
{
    w->done = fmax(w->done, share);
    if (w->problem->progress)
        w->problem->progress(w->problem->progress_user, w->done, "fitting constants");
}

/* With the weights and the noise as they are. */
static ek_status minimise(work *w)
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
        z[a] = to_free(&fit->constant[fit->active[a]], fit->scaled[fit->active[a]]);
    lmder(evaluate, w, m, n, z, w->residual, w->square, m, tolerance, tolerance, 0, MAX_EVALUATIONS, diagonal, 1, 10, 0,
          &evaluations, &slopes, pivot, qtf, wa1, wa2, wa3, wa4);
    free(wa4);
    if (w->status)
        return w->status;
    take(w, z);
    return predict(w, &fit->device, fit->used, w->value);
}

/* ---- noise, weights, spreads ---- */

bool ek__fit_invert(int n, double *a)
{
    if (n == 0)
        return true;
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', n, a, n) != 0 || LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', n, a, n) != 0)
        return false;
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            a[(size_t)i * (size_t)n + (size_t)k] = a[(size_t)k * (size_t)n + (size_t)i];
    return true;
}

/* The inverse covariance of some constants. @param slope  [n][stride], constant list[a] in column column[a] */
static void add_information(const ek__fit *fit, const double *slope, int stride, const int *list, const int *column,
                            int n, double *out)
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
static bool active_covariance(const work *w, double *out)
{
    int column[EK__MAX_CONSTANTS];
    for (int a = 0; a < w->fit->n_active; a++)
        column[a] = a;
    add_information(w->fit, w->slope, w->fit->n_active, w->fit->active, column, w->fit->n_active, out);
    return ek__fit_invert(w->fit->n_active, out);
}

/* Constants that the runs use up: the trace of the hat matrix. */
static double degrees_used(const work *w, const double *covariance)
{
    const ek__fit *fit = w->fit;
    double used = 0;
    for (int a = 0; a < fit->n_active; a++) {
        double width = fit->constant[fit->active[a]].width;
        used += 1 - covariance[(size_t)a * (size_t)fit->n_active + (size_t)a] / (width * width);
    }
    return used;
}

static void weigh(ek__fit *fit, const double *value)
{
    for (int i = 0; i < fit->n; i++) {
        double r = fabs(value[i] - fit->measured[i]), limit = huber * fit->noise;
        fit->weight[i] = !fit->used[i] ? 0 : r <= limit ? 1 : limit / r;
    }
}

/* The noise and the weights that belong together (Huber's proposal 2): residuals count up to the limit, so that a few
 * disturbed runs do not make all others look noisy. With nearly as many constants as runs the residuals say nothing of
 * the noise: half of the runs at most are used up. */
static void find_noise(work *w, double degrees)
{
    ek__fit *fit = w->fit;
    for (int turn = 0; turn < 100; turn++) {
        double sum = 0, was = fit->noise;
        int n = 0;
        for (int i = 0; i < fit->n; i++) {
            double r = fit->used[i] ? fabs(w->value[i] - fit->measured[i]) : 0;
            sum += pow(fmin(r, huber * was), 2);
            n += fit->used[i];
        }
        fit->noise = fmax(sqrt(sum / (huber_mean * fmax(n - degrees, 0.5 * n))), least_noise);
        if (fabs(log(fit->noise / was)) < 1e-6)
            break;
    }
    weigh(fit, w->value);
}

/* Constants, noise and weights in turns, since each needs the others. */
static ek_status settle(work *w, double *covariance)
{
    ek__fit *fit = w->fit;
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        ek_status status = minimise(w);
        if (status == EK_OK)
            status = fill_active_slopes(w, true);
        if (status)
            return status;
        if (!active_covariance(w, covariance))
            return ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE, "the fit's matrix has no inverse");
        double was = fit->noise;
        find_noise(w, degrees_used(w, covariance));
        tell(w, w->done + (1 - w->done) * 0.15);
        if (fabs(log(fit->noise / was)) < 0.02)
            break;
    }
    return active_covariance(w, covariance)
               ? EK_OK
               : ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE, "the fit's matrix has no inverse");
}

/* ---- what is determined ---- */

static void put_aside(ek__fit *fit, int a, ek_fit_state why)
{
    fit->state[fit->active[a]] = why;
    for (int b = a + 1; b < fit->n_active; b++)
        fit->active[b - 1] = fit->active[b];
    fit->n_active--;
}

/* Back to what it starts with. */
static void drop(ek__fit *fit, int a, ek_fit_state why)
{
    int k = fit->active[a];
    fit->scaled[k] = fit->prior[k];
    ek__constant_set(&fit->constant[k], fit->start[k], &fit->device);
    put_aside(fit, a, why);
}

/* Stays at the bound, for what pushes it there is in the runs and would push something else; a start that is out of
 * what is fitted, as a rate that every message reaches, stands for its bound. */
static void hold(ek__fit *fit, int a)
{
    int k = fit->active[a];
    const ek__constant *c = &fit->constant[k];
    range r = range_of(c);
    double bound = fit->scaled[k] - r.least < r.most - fit->scaled[k] ? r.least : r.most;
    if (c->typical > 0 && bound == r.least && fit->start[k] < c->least) {
        drop(fit, a, EK_FIT_AT_BOUND);
        return;
    }
    fit->scaled[k] = bound;
    put(fit, k, bound, &fit->device);
    put_aside(fit, a, EK_FIT_AT_BOUND);
}

/* One that was woken and went to sleep again may still be right elsewhere: it is looked for once more. */
static bool drop_at_bounds(work *w)
{
    ek__fit *fit = w->fit;
    bool any = false;
    for (int a = fit->n_active - 1; a >= 0; a--) {
        int k = fit->active[a];
        if (!at_bound(&fit->constant[k], fit->scaled[k]))
            continue;
        hold(fit, a);
        w->asleep[k] = w->woken[k] == 1;
        any = true;
    }
    return any;
}

/* One after the other, the widest first: of constants that only together are determined, some stay. */
static bool drop_wide(work *w, double *covariance)
{
    ek__fit *fit = w->fit;
    int column[EK__MAX_CONSTANTS], stride = fit->n_active;
    bool any = false;
    for (int a = 0; a < fit->n_active; a++)
        column[a] = a;
    while (fit->n_active > 0) {
        int widest = 0;
        double most = 0;
        add_information(fit, w->slope, stride, fit->active, column, fit->n_active, covariance);
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

static double huber_cost(const work *w, const double *value)
{
    const ek__fit *fit = w->fit;
    double sum = 0;
    for (int i = 0; i < fit->n; i++) {
        double r = fit->used[i] ? fabs(value[i] - fit->measured[i]) / fit->noise : 0;
        sum += r <= huber ? r * r : huber * (2 * r - huber);
    }
    return sum;
}

/* The best of a few values, given all others; its prior's where none is better by more than chance. Upwards, or down
 * from an upper bound. */
static ek_status scan(work *w, int constant, bool *better)
{
    static const double grid[] = {0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8};
    ek__fit *fit = w->fit;
    const ek__constant *c = &fit->constant[constant];
    range r = range_of(c);
    double prior = fit->prior[constant], least = huber_cost(w, w->value) - 1, best = prior;
    double unit = prior + grid[0] * c->width < r.most ? c->width : -c->width;
    ek_device device = fit->device;
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        double u = prior + grid[i] * unit;
        if (u <= r.least || u >= r.most)
            break;
        put(fit, constant, u, &device);
        ek_status status = predict(w, &device, fit->used, w->shifted);
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
    put(fit, constant, best, &fit->device);
    return predict(w, &fit->device, fit->used, w->value);
}

/* A limit that is not reached at the start has no slope there, as a host that is never waited for: whether runs reach
 * it shows only further on. */
static ek_status wake(work *w, bool *any)
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

/* What is asleep is looked for before anything else can stand in for it, and again once the rest is where it belongs.
 */
static ek_status refine(work *w, double *covariance)
{
    bool woke;
    ek_status status = wake(w, &woke);
    for (int round = 0; round < MAX_ROUNDS && w->fit->n_active > 0 && status == EK_OK; round++) {
        status = settle(w, covariance);
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
        return settle(w, covariance);
    status = predict(w, &w->fit->device, w->fit->used, w->value);
    if (status == EK_OK)
        find_noise(w, 0);
    return status;
}

/* ---- before and after ---- */

static ek_status predict_all(work *w, double *out)
{
    for (int i = 0; i < w->fit->n; i++)
        w->wanted[i] = true;
    return predict(w, &w->fit->device, w->wanted, out);
}

/* What a width of the constant does to all runs together, and the most to one. */
static double effect_of(const ek__fit *fit, int constant, double *most)
{
    double sum = 0;
    *most = 0;
    for (int i = 0; i < fit->n; i++) {
        double one = fit->used[i] ? fit->jacobian[i] * fit->constant[constant].width : 0;
        *most = fmax(*most, fabs(one));
        sum += one * one;
    }
    return sqrt(sum);
}

/* Constants that move a run at all. */
static ek_status screen(work *w)
{
    ek__fit *fit = w->fit;
    ek_status status = EK_OK;
    for (int k = 0; k < fit->n_constants && status == EK_OK; k++) {
        fit->state[k] = EK_FIT_NO_EFFECT;
        if (w->problem->leaves && w->problem->leaves(w->problem->user, &fit->constant[k]))
            continue;
        status = differentiate(w, k, fit->before, true, fit->jacobian, 1);
        double most, all = effect_of(fit, k, &most);
        w->asleep[k] = most <= least_effect;
        fit->state[k] = w->asleep[k] ? EK_FIT_NO_EFFECT : all > least_sum ? EK_FIT_DETERMINED : EK_FIT_WIDE;
        if (fit->state[k] == EK_FIT_DETERMINED)
            fit->active[fit->n_active++] = k;
        tell(w, 0.2 * k / fit->n_constants);
    }
    return status;
}

static ek_status begin(work *w)
{
    ek__fit *fit = w->fit;
    int n_used = 0;
    ek_status status = predict_all(w, fit->before);
    for (int i = 0; i < fit->n && status == EK_OK; i++) {
        fit->measured[i] = log(w->problem->seconds[i]);
        fit->used[i] = !isnan(fit->before[i]) && !(w->problem->held && w->problem->held[i]);
        fit->weight[i] = fit->used[i];
        w->value[i] = fit->before[i];
        n_used += fit->used[i];
    }
    if (status == EK_OK && n_used == 0)
        return ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE,
                        "none of the %d runs can be predicted on device '%s'; give the device they ran on with --start",
                        fit->n, fit->device.name);
    return status ? status : screen(w);
}

/* Everything at the result, with all constants: what is not determined still makes predictions uncertain. */
static ek_status finish(work *w)
{
    ek__fit *fit = w->fit;
    int all[EK__MAX_CONSTANTS];
    ek_status status = predict_all(w, fit->after);
    for (int k = 0; k < fit->n_constants && status == EK_OK; k++) {
        all[k] = k;
        status = differentiate(w, k, fit->after, true, fit->jacobian + k, fit->n_constants);
        tell(w, fmax(0.8, 0.8 + 0.2 * k / fit->n_constants));
    }
    if (status)
        return status;
    add_information(fit, fit->jacobian, fit->n_constants, all, all, fit->n_constants, fit->covariance);
    if (!ek__fit_invert(fit->n_constants, fit->covariance))
        return ek__fail(w->err, EK_ERR_INPUT, EK__NOWHERE, "the fit's matrix has no inverse");
    for (int k = 0; k < fit->n_constants; k++)
        fit->spread[k] = sqrt(fit->covariance[(size_t)k * (size_t)fit->n_constants + (size_t)k]);
    return ek__fit_leave_out(w->problem, fit, w->err);
}

static void mark(ek__fit *fit)
{
    for (int a = 0; a < fit->n_active; a++) {
        const ek__constant *c = &fit->constant[fit->active[a]];
        if (c->basis_at >= 0) {
            const ek_cost_basis basis = EK_COST_FITTED;
            memcpy((char *)&fit->device + c->basis_at, &basis, sizeof basis);
        }
    }
}

/* Standard errors of what the runs determine, for the errors of parts. Of a section's constants, each of which is a
 * part of its times, the largest bounds them all; a fit of kernels may have left a larger one there. */
static void mark_errors(ek__fit *fit)
{
    for (int k = 0; k < fit->n_constants; k++) {
        const ek__constant *c = &fit->constant[k];
        double there;
        if (c->error_at < 0 || fit->state[k] != EK_FIT_DETERMINED)
            continue;
        memcpy(&there, (const char *)&fit->device + c->error_at, sizeof there);
        there = fmax(there, fit->spread[k]);
        memcpy((char *)&fit->device + c->error_at, &there, sizeof there);
    }
}

/* ---- memory ---- */

static bool make_room(ek__fit *fit)
{
    size_t n = (size_t)fit->n, k = (size_t)fit->n_constants;
    fit->used = ek__alloc(n, sizeof *fit->used);
    double **const vectors[] = {&fit->measured, &fit->before,   &fit->after,
                                &fit->weight,   &fit->left_out, &fit->group_out};
    bool fine = fit->used != NULL;
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        *vectors[v] = ek__alloc(n, sizeof(double));
        fine = fine && *vectors[v];
    }
    fit->jacobian = ek__alloc(n * k, sizeof *fit->jacobian);
    fit->covariance = ek__alloc(k * k, sizeof *fit->covariance);
    return fine && fit->jacobian && fit->covariance;
}

void ek__fit_clear(ek__fit *fit)
{
    double *const vectors[] = {fit->measured, fit->before,    fit->after,    fit->weight,
                               fit->left_out, fit->group_out, fit->jacobian, fit->covariance};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++)
        free(vectors[v]);
    free(fit->used);
    *fit = (ek__fit){0};
}

static bool make_work(work *w)
{
    size_t n = (size_t)w->fit->n, k = (size_t)w->fit->n_constants;
    w->touches = ek__alloc(n * k, sizeof *w->touches);
    w->wanted = ek__alloc(n, sizeof *w->wanted);
    w->shifted = ek__alloc(n, sizeof *w->shifted);
    w->at = ek__alloc(n, sizeof *w->at);
    w->value = ek__alloc(n, sizeof *w->value);
    w->slope = ek__alloc(n * k, sizeof *w->slope);
    w->residual = ek__alloc(n + k, sizeof *w->residual);
    w->square = ek__alloc((n + k) * k, sizeof *w->square);
    return w->touches && w->wanted && w->shifted && w->at && w->value && w->slope && w->residual && w->square;
}

static void clear_work(work *w)
{
    double *const vectors[] = {w->shifted, w->at, w->value, w->slope, w->residual, w->square};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++)
        free(vectors[v]);
    free(w->touches);
    free(w->wanted);
}

/* Does the start rest on measurements there? */
static bool is_known(const ek__constant *c, const ek_device *start)
{
    ek_cost_basis basis = EK_COST_ASSUMED;
    if (c->basis_at >= 0)
        memcpy(&basis, (const char *)start + c->basis_at, sizeof basis);
    return basis == EK_COST_MEASURED || basis == EK_COST_FITTED;
}

ek_status ek__fit_run(const ek__fit_problem *problem, const ek_device *start, ek__fit *out, ek_error *err)
{
    ek__fit fit = {.n = problem->n, .device = *start, .noise = first_noise};
    work w = {.problem = problem, .fit = &fit, .err = err};
    fit.n_constants = ek__constants_of(start, fit.constant);
    for (int k = 0; k < fit.n_constants; k++) {
        fit.start[k] = ek__constant_get(&fit.constant[k], start);
        if (is_known(&fit.constant[k], start))
            fit.constant[k].width *= known_share;
        fit.prior[k] = fit.scaled[k] = ek__constant_prior(&fit.constant[k], fit.start[k]);
    }
    double *covariance = ek__alloc((size_t)fit.n_constants * (size_t)fit.n_constants, sizeof *covariance);
    ek_status status = make_room(&fit) && make_work(&w) && covariance ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = begin(&w);
    if (status == EK_OK)
        status = refine(&w, covariance);
    if (status == EK_OK)
        status = finish(&w);
    clear_work(&w);
    free(covariance);
    if (status) {
        ek__fit_clear(&fit);
        return status;
    }
    mark(&fit);
    mark_errors(&fit);
    *out = fit;
    return EK_OK;
}

/* ---- other runs ---- */

ek_status ek__fit_jacobian(const ek__fit *fit, int n, ek__predict *predict_others, void *user, double *value,
                           double *out, ek_error *err)
{
    const ek__fit_problem problem = {.n = n, .predict = predict_others, .user = user};
    ek__fit others = *fit;
    others.n = n;
    work w = {.problem = &problem, .fit = &others, .err = err};
    ek_status status = make_work(&w) ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = predict_all(&w, value);
    for (int k = 0; k < fit->n_constants && status == EK_OK; k++)
        status = differentiate(&w, k, value, true, out + k, fit->n_constants);
    clear_work(&w);
    return status;
}

double ek__fit_spread(const ek__fit *fit, const double *gradient)
{
    double sum = 0;
    int n = fit->n_constants;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n && gradient[a] != 0; b++)
            sum += gradient[a] * fit->covariance[(size_t)a * (size_t)n + (size_t)b] * gradient[b];
    return sqrt(fmax(sum, 0));
}
