/* Decides which plan to take after trials were measured and the device calibrated to them. Few runs determine few
 * constants, so nothing may be known about the new best plan. It is taken if it is shorter than the best run by more
 * than the error of their difference; otherwise the run is taken. The difference is the calibrated device's. If the
 * calibration moved a constant implausibly far, it explains the runs by the wrong cause and is no basis for other
 * plans: then the new plan's step is estimated from the runs by the linear model that chose them (trials.c),
 *
 *     log step ~ N(l + c' (C + s^2 I)^-1 (measured - l_S), c_0 - c' (C + s^2 I)^-1 c)
 *
 * with the steps l and their covariance on the device before it was calibrated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"
#include "calibrate/fit.h"
#include "evenkeel/calibrate.h"
#include "evenkeel/layout_advice.h"
#include "layout/sensitivity.h"

#define FAR 2 /* widths of the values before a fit */

/* The run as a plan on the calibrated device: borrows the job, owns the step. */
static ek_status priced(const ek_job *job, const ek_device *device, ek_layout_plan *out, ek_error *err)
{
    *out = (ek_layout_plan){.job = *job};
    return ek_cost_step(job, device, NULL, &out->estimate.step, err);
}

static bool is_believable(const ek_device *start, const ek_device *device)
{
    ek__constant constant[EK__MAX_CONSTANTS];
    int n = ek__constants_of(start, constant);
    for (int k = 0; k < n; k++) {
        double was = ek__constant_prior(&constant[k], ek__constant_get(&constant[k], start));
        double is = ek__constant_prior(&constant[k], ek__constant_get(&constant[k], device));
        if (fabs(is - was) > FAR * ek__constant_width(start, &constant[k]))
            return false;
    }
    return true;
}

/* By the calibrated device: is the new plan shorter than the run, both as measured and as predicted, by more than the
 * error? */
static ek_status ask_device(const ek_job *again, const ek_job *run, double seconds, const ek_device *device,
                            bool *shorter, ek_error *err)
{
    ek_layout_plan pair[2] = {{.group = 0}};
    double error[4];
    ek_status status = priced(again, device, &pair[0], err);
    if (!status)
        status = priced(run, device, &pair[1], err);
    if (!status)
        status = ek_layout_difference_errors(pair, 2, device, error, err);
    if (!status)
        *shorter = fmin(pair[1].estimate.step.seconds, seconds) - pair[0].estimate.step.seconds > error[1];
    ek_step_clear(&pair[0].estimate.step);
    ek_step_clear(&pair[1].estimate.step);
    return status;
}

/* Mean and variance of the last job's logarithm, given the n before it. @param room  [(n + 1)^2 + n^2] */
static bool condition(const ek__sensitivity *s, const double *seconds, double *room, double *mean, double *variance)
{
    size_t n = (size_t)s->n - 1, all = n + 1;
    double *covariance = room, *inverse = room + all * all;
    const double *with = covariance + n * all;
    ek__sensitivity_covariance(s, covariance);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            inverse[a * n + b] = covariance[a * all + b] + (a == b ? EK__STEP_NOISE * EK__STEP_NOISE : 0);
    if (!ek__fit_invert((int)n, inverse))
        return false;
    *mean = s->log_step[n];
    *variance = with[n];
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            *mean += with[a] * inverse[a * n + b] * (log(seconds[b]) - s->log_step[b]);
            *variance -= with[a] * inverse[a * n + b] * with[b];
        }
    return true;
}

/* The estimate from the runs by the linear model of the device before calibration. */
static ek_status ask_runs(const ek_job *again, const ek_job *const *tried, const double *seconds, int n, int best,
                          const ek_device *start, bool *shorter, ek_error *err)
{
    const ek_job *job[EK_MAX_LAYOUT_TRIALS + 1];
    ek__sensitivity s = {0};
    size_t k = (size_t)n;
    double *room = ek__alloc((k + 1) * (k + 1) + k * k, sizeof *room), mean, variance;
    memcpy(job, tried, k * sizeof *job);
    job[n] = again;
    ek_status status = room ? ek__sensitivity_new(job, n + 1, start, &s, err) : ek__no_memory(err);
    if (!status)
        *shorter =
            condition(&s, seconds, room, &mean, &variance) && log(seconds[best]) - mean > sqrt(fmax(variance, 0));
    ek__sensitivity_clear(&s);
    free(room);
    return status;
}

ek_status ek_layout_take_after_trials(const ek_job *again, const ek_job *const *tried, const double *seconds, int n,
                                      const ek_device *start, const ek_device *device, int *taken, ek_error *err)
{
    bool shorter = false;
    int best = 0;
    if (n < 1 || n > EK_MAX_LAYOUT_TRIALS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "1 to %d trials can be weighed (%d were measured)",
                        EK_MAX_LAYOUT_TRIALS, n);
    for (int i = 1; i < n; i++)
        if (seconds[i] < seconds[best])
            best = i;
    ek_status status = ek__linear_needed("weighing trial runs", err);
    if (!status)
        status = is_believable(start, device) ? ask_device(again, tried[best], seconds[best], device, &shorter, err)
                                              : ask_runs(again, tried, seconds, n, best, start, &shorter, err);
    if (!status)
        *taken = shorter ? -1 : best;
    return status;
}

/* ---- runs of a table ---- */

/* A layout of the searched job: the same model and the same work, on the same number of devices. */
static bool is_of_job(const ek_measured_run *run, const ek_layout_result *result)
{
    const ek_job_model *a = &run->job.model, *b = &result->job->model;
    return ek_measured_run_counts(run) && a->n_layers == b->n_layers && a->hidden == b->hidden &&
           a->n_heads == b->n_heads && a->n_experts == b->n_experts && a->intermediate == b->intermediate &&
           run->job.parallel.seq_length == result->job->parallel.seq_length &&
           ek_job_devices(&run->job) == result->options.n_devices &&
           ek_job_sequences(&run->job) == ek_job_sequences(&result->plan[0].job);
}

/* Insert into the shortest ones; of equal steps the first of the table comes first. */
static void add_try(ek_layout_tries *tries, const ek_measured_run *run)
{
    int i = tries->n;
    while (i > 0 && tries->run[i - 1].run->step_seconds > run->step_seconds)
        i--;
    if (i == EK_MAX_LAYOUT_TRIALS)
        return;
    tries->n += tries->n < EK_MAX_LAYOUT_TRIALS;
    memmove(&tries->run[i + 1], &tries->run[i], (size_t)(tries->n - 1 - i) * sizeof *tries->run);
    tries->run[i] = (ek_layout_try){.run = run};
}

ek_status ek_layout_weigh_tries(const ek_layout_result *result, const ek_measured_runs *runs, const ek_device *start,
                                ek_layout_tries *out, ek_error *err)
{
    const ek_job *job[EK_MAX_LAYOUT_TRIALS];
    double seconds[EK_MAX_LAYOUT_TRIALS];
    ek_layout_tries tries = {.n = 0};
    for (int i = 0; i < runs->n; i++)
        if (is_of_job(&runs->run[i], result))
            add_try(&tries, &runs->run[i]);
        else
            tries.n_others++;
    if (tries.n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "'%s' has no run of this model with a step time on %d devices with %lld sequences of %d tokens",
                        runs->path, result->options.n_devices, (long long)ek_job_sequences(&result->plan[0].job),
                        result->job->parallel.seq_length);
    ek_status status = EK_OK;
    for (int i = 0; i < tries.n && !status; i++) {
        ek_layout_plan run = {.group = 0};
        job[i] = &tries.run[i].run->job;
        seconds[i] = tries.run[i].run->step_seconds;
        status = priced(job[i], result->device, &run, err);
        tries.run[i].predicted = run.estimate.step.seconds;
        ek_step_clear(&run.estimate.step);
    }
    if (!status)
        status = ek_layout_take_after_trials(&result->plan[0].job, job, seconds, tries.n, start, result->device,
                                             &tries.taken, err);
    if (!status)
        *out = tries;
    return status;
}
