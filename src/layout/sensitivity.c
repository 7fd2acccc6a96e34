/* Computes steps' derivatives by a device's constants, as differences over the constants' uncertainty: overlaps and
 * limits of the host are nonlinear over smaller ranges. */
#include "layout/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/job_runs.h"

static const double known_share = 0.5; /* of a width, if the start value was fitted: as in fit.c */

/* ---- errors of constants ---- */

static double error_in_file(const ek_device *device, const ek__constant *c)
{
    double error = 0;
    if (c->error_at >= 0)
        memcpy(&error, (const char *)device + c->error_at, sizeof error);
    return error;
}

static bool is_known(const ek_device *device, const ek__constant *c)
{
    ek_cost_basis basis = EK_COST_ASSUMED;
    if (c->basis_at >= 0)
        memcpy(&basis, (const char *)device + c->basis_at, sizeof basis);
    return basis == EK_COST_MEASURED || basis == EK_COST_FITTED;
}

double ek__constant_width(const ek_device *device, const ek__constant *constant)
{
    return is_known(device, constant) ? known_share * constant->width : constant->width;
}

/* Another constant of the section has an error of the section's times. */
static bool is_covered(const ek_device *device, const ek__constant *constant, int n, int which)
{
    const ek__constant *c = &constant[which];
    for (int i = 0; i < n && c->error_at < 0 && c->basis_at >= 0; i++)
        if (constant[i].basis_at == c->basis_at && constant[i].logarithm && error_in_file(device, &constant[i]) > 0)
            return true;
    return false;
}

void ek__constant_errors(const ek_device *device, const ek__constant *constant, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        double error = error_in_file(device, &constant[i]);
        out[i] = error > 0 ? error : is_covered(device, constant, n, i) ? 0 : ek__constant_width(device, &constant[i]);
    }
}

/* ---- moves ---- */

typedef struct mover {
    ek__job_runs runs;
    const ek_device *device;
    bool *wanted;       /* [n] */
    double *high, *low; /* [n] */
    ek__sensitivity *to;
    ek_error *err;
} mover;

static ek_status predict_at(mover *m, const ek__constant *c, double scaled, double *out)
{
    ek_device device = *m->device;
    ek__constant_set(c, ek__constant_value(c, scaled), &device);
    return ek__job_runs_predict(&m->runs, &device, m->wanted, out, m->err);
}

static ek_status move(mover *m, const ek__constant *c, int which, double error)
{
    double at = ek__constant_prior(c, ek__constant_get(c, m->device));
    ek_status status = predict_at(m, c, at + error / 2, m->high);
    if (!status)
        status = predict_at(m, c, at - error / 2, m->low);
    for (int i = 0; i < m->to->n && !status; i++) {
        double by = m->high[i] - m->low[i];
        m->to->move[(size_t)i * (size_t)m->to->n_constants + (size_t)which] = isfinite(by) ? by : 0;
    }
    return status;
}

static ek_status move_all(mover *m)
{
    ek__constant constant[EK__MAX_CONSTANTS];
    double error[EK__MAX_CONSTANTS];
    int n = m->to->n_constants;
    ek__constants_of(m->device, constant);
    ek__constant_errors(m->device, constant, n, error);
    ek_status status = ek__job_runs_predict(&m->runs, m->device, m->wanted, m->to->log_step, m->err);
    for (int i = 0; i < m->to->n && !status; i++)
        if (!isfinite(m->to->log_step[i]))
            status = ek__fail(m->err, EK_ERR_INPUT, EK__NOWHERE, "%s", m->runs.why.message);
    for (int k = 0; k < n && !status; k++)
        if (error[k] > 0)
            status = move(m, &constant[k], k, error[k]);
    return status;
}

ek_status ek__sensitivity_new(const ek_job *const *job, int n, const ek_device *device, ek__sensitivity *out,
                              ek_error *err)
{
    ek__constant constant[EK__MAX_CONSTANTS];
    ek__sensitivity made = {.n = n, .n_constants = ek__constants_of(device, constant)};
    size_t room = (size_t)n;
    mover m = {.runs = {.n = n, .job = job}, .device = device, .to = &made, .err = err};
    made.log_step = ek__alloc(room, sizeof *made.log_step);
    made.move = ek__alloc(room * (size_t)made.n_constants, sizeof *made.move);
    m.wanted = ek__alloc(room, sizeof *m.wanted);
    m.high = ek__alloc(room, sizeof *m.high);
    m.low = ek__alloc(room, sizeof *m.low);
    bool fine = made.log_step && made.move && m.wanted && m.high && m.low;
    for (int i = 0; i < n && fine; i++)
        m.wanted[i] = true;
    ek_status status = fine ? move_all(&m) : ek__no_memory(err);
    ek__job_runs_clear(&m.runs);
    free(m.wanted);
    free(m.high);
    free(m.low);
    if (status)
        ek__sensitivity_clear(&made);
    else
        *out = made;
    return status;
}

void ek__sensitivity_clear(ek__sensitivity *sensitivity)
{
    free(sensitivity->log_step);
    free(sensitivity->move);
    *sensitivity = (ek__sensitivity){0};
}

void ek__sensitivity_covariance(const ek__sensitivity *s, double *out)
{
    size_t n = (size_t)s->n, m = (size_t)s->n_constants;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            out[i * n + j] = i == j ? EK__STEP_OWN * EK__STEP_OWN : 0;
            for (size_t k = 0; k < m; k++)
                out[i * n + j] += s->move[i * m + k] * s->move[j * m + k];
        }
}

double ek__sensitivity_difference(const ek__sensitivity *s, int a, int b)
{
    size_t k = (size_t)s->n_constants;
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        double d = s->move[(size_t)a * k + i] - s->move[(size_t)b * k + i];
        sum += d * d;
    }
    return sum;
}
