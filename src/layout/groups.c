/* Groups plans that the prediction cannot distinguish. The error of the difference of two layouts of a job is smaller
 * than that of a step: the errors of the device's constants affect both, so the parts that both have cancel. The
 * constants' part follows from the steps' derivatives (sensitivity.h). The rest of the device's error of a step is not
 * due to a constant; it counts in proportion to the different parts of the two steps.
 *
 *     var(log a - log b) = sum over constants (move_a - move_b)^2 + 2 apart^2 max(0, step error^2 - sum move_a^2)
 *     apart = sum over parts |share_a - share_b| / 2        0: equal parts, 1: no common parts */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/layout_advice.h"
#include "layout/sensitivity.h"

static double apart(const ek_step *a, const ek_step *b)
{
    const double *x = a->stage[a->slowest].seconds, *y = b->stage[b->slowest].seconds;
    double sum = 0;
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        sum += fabs(x[i] / a->seconds - y[i] / b->seconds);
    return sum / 2;
}

/* Variance of a step's logarithm not explained by constants. */
static double unexplained(const ek__sensitivity *s, int which, const ek_step *step)
{
    double own = 0, known = step->standard_error / step->seconds;
    for (int k = 0; k < s->n_constants; k++)
        own += pow(s->move[(size_t)which * (size_t)s->n_constants + (size_t)k], 2);
    return fmax(0, known * known - own);
}

static double error_of(const ek__sensitivity *s, const ek_step *const *step, int a, int b)
{
    double far = apart(step[a], step[b]);
    double rest = (unexplained(s, a, step[a]) + unexplained(s, b, step[b])) * far * far;
    double known = sqrt(ek__sensitivity_difference(s, a, b) + rest);
    return fmax(known, EK_LAYOUT_LEAST_ERROR) * fmin(step[a]->seconds, step[b]->seconds);
}

ek_status ek_layout_difference_errors(const ek_layout_plan *plan, int n, const ek_device *device, double *out,
                                      ek_error *err)
{
    const ek_job **job = ek__alloc((size_t)n, sizeof *job);
    const ek_step **step = ek__alloc((size_t)n, sizeof *step);
    ek__sensitivity s = {0};
    ek_status status = job && step ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < n && !status; i++) {
        job[i] = &plan[i].job;
        step[i] = &plan[i].estimate.step;
    }
    if (!status && n > 0)
        status = ek__sensitivity_new(job, n, device, &s, err);
    for (int a = 0; a < n && !status; a++)
        for (int b = 0; b < n; b++)
            out[(size_t)a * (size_t)n + (size_t)b] = a == b ? 0 : error_of(&s, step, a, b);
    ek__sensitivity_clear(&s);
    free(job);
    free(step);
    return status;
}

/* The shortest plan without a group leads a new one; longer plans within the error of the difference join it.
 */
static void group(ek_layout_plan *plan, int n, const double *error)
{
    int groups = 0;
    for (int i = 0; i < n; i++)
        plan[i].group = -1;
    for (int i = 0; i < n; i++) {
        if (plan[i].group >= 0)
            continue;
        plan[i].group = groups++;
        plan[i].group_error = 0;
        for (int k = i + 1; k < n; k++) {
            double longer = plan[k].estimate.step.seconds - plan[i].estimate.step.seconds;
            double of_difference = error[(size_t)i * (size_t)n + (size_t)k];
            if (plan[k].group >= 0 || longer > of_difference)
                continue;
            plan[k].group = plan[i].group;
            plan[k].group_error = of_difference;
        }
    }
}

ek_status ek_layout_group_plans(ek_layout_result *result, ek_error *err)
{
    size_t n = (size_t)result->n_plans;
    double *error = ek__alloc(n * n, sizeof *error);
    ek_status status = error ? ek_layout_difference_errors(result->plan, result->n_plans, result->device, error, err)
                             : ek__no_memory(err);
    if (!status)
        group(result->plan, result->n_plans, error);
    free(error);
    return status;
}
