/* Fits constants of a device to logarithms of steps, with a ridge towards the data sheet, so that there may be more
 * constants than runs: constants that the runs do not determine stay at their start. Logarithms, because errors of a
 * model of time are in percent; Huber's weights (Huber 1964), because tables of runs hold a few that were disturbed.
 * The minimum is fit_minimise.c's, the choice of constants fit_states.c's.
 *
 * Not handled: noise that differs from run to run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/fit_work.h"

const char *const ek__fit_state_name[EK_N_FIT_STATES] = {"determined", "at_bound", "wide", "no_effect"};
const char *const *const ek_fit_state_name = ek__fit_state_name;

static const double first_noise = 0.05;  /* of a logarithm */
static const double known_share = 0.5;   /* of a width, where the start was fitted to something */
static const double least_effect = 1e-5; /* of a width on any run's logarithm */
static const double least_sum = 3e-3;    /* of a width on all runs: no noise is small enough for less to be seen */

/* ---- before and after ---- */

static ek_status predict_all(ek__fit_work *w, double *out)
{
    for (int i = 0; i < w->fit->n; i++)
        w->wanted[i] = true;
    return ek__fit_predict(w, &w->fit->device, w->wanted, out);
}

/* The effect of one width of the constant on all runs together, and the largest on one. */
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

/* Constants with an effect on any run. */
static ek_status screen(ek__fit_work *w)
{
    ek__fit *fit = w->fit;
    ek_status status = EK_OK;
    for (int k = 0; k < fit->n_constants && status == EK_OK; k++) {
        fit->state[k] = EK_FIT_NO_EFFECT;
        if (w->problem->leaves && w->problem->leaves(w->problem->user, &fit->constant[k]))
            continue;
        status = ek__fit_differentiate(w, k, fit->before, true, fit->jacobian, 1);
        double most, all = effect_of(fit, k, &most);
        w->asleep[k] = most <= least_effect;
        fit->state[k] = w->asleep[k] ? EK_FIT_NO_EFFECT : all > least_sum ? EK_FIT_DETERMINED : EK_FIT_WIDE;
        if (fit->state[k] == EK_FIT_DETERMINED)
            fit->active[fit->n_active++] = k;
        ek__fit_tell(w, 0.2 * k / fit->n_constants);
    }
    return status;
}

static ek_status begin(ek__fit_work *w)
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

/* Compute all figures at the result, with all constants: undetermined ones still make predictions uncertain. */
static ek_status finish(ek__fit_work *w)
{
    ek__fit *fit = w->fit;
    int all[EK__MAX_CONSTANTS];
    ek_status status = predict_all(w, fit->after);
    for (int k = 0; k < fit->n_constants && status == EK_OK; k++) {
        all[k] = k;
        status = ek__fit_differentiate(w, k, fit->after, true, fit->jacobian + k, fit->n_constants);
        ek__fit_tell(w, fmax(0.8, 0.8 + 0.2 * k / fit->n_constants));
    }
    if (status)
        return status;
    ek__fit_information(fit, fit->jacobian, fit->n_constants, all, all, fit->n_constants, fit->covariance);
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

/* Standard errors of the constants that the runs determine, for the errors of parts. Each constant of a section is a
 * part of its times, so the largest error bounds them all; a fit of kernels may have left a larger one there. */
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

static bool make_work(ek__fit_work *w)
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

static void clear_work(ek__fit_work *w)
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
    ek__fit_work w = {.problem = problem, .fit = &fit, .err = err};
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
        status = ek__fit_refine(&w, covariance);
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
    ek__fit_work w = {.problem = &problem, .fit = &others, .err = err};
    ek_status status = make_work(&w) ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = predict_all(&w, value);
    for (int k = 0; k < fit->n_constants && status == EK_OK; k++)
        status = ek__fit_differentiate(&w, k, value, true, out + k, fit->n_constants);
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
