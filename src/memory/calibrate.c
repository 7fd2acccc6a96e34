/* Fits the knobs that are not in any file to measured peaks. The method is regularised least squares towards the
 * uncalibrated model, in closed form (normal equations of at most three unknowns), linearised again a few times, since
 * a change of knobs may move a peak to another operator and changes the allocator's sizes.
 *
 *     minimise  sum_i ((y_i - f_i(x)) / s_i)^2 + sum_j ((x_j - u_j) / w_j)^2
 *
 * y measured, f predicted, x knobs, u their uncalibrated values, w their expected errors. s: 1 % of a peak, and 300 MB
 * where blocks of 1 GiB round it (their standard deviation, 1024 / sqrt(12)). Derivatives are the bytes of a part at
 * the peak. Widths are assumed: 300 MB for the additional bytes of every stage, 1 % for saved activations, since they
 * are derived operator by operator, 25 % for temporaries, which are less certain. How many knobs, in that order: the
 * fewest whose mean error of leaving each peak out is within one standard error of the best number's (Breiman et al.,
 * Classification and Regression Trees, 1984), since four peaks have little information about the third knob; no more
 * than one for two peaks.
 *
 * If peaks are live bytes rounded up to whole blocks, a calibrated prediction is not rounded: it is unknown whether one
 * more tensor begins a block, so the best estimate adds half a block, and the constant is fitted from there.
 *
 * Not handled: knobs of single stages, peaks of several runs. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/memory.h"

enum { MAX_KNOBS = 3, MAX_ROUNDS = 4, NO_BLOCK = 512 };

typedef struct knob {
    const char *name;
    double width, least, most;
} knob;

static const knob knobs[MAX_KNOBS] = {
    {"constant_mb", 300, -1e6, 1e6},
    {"activation_scale", 0.01, 0.5, 2},
    {"transient_scale", 0.25, 0.05, 5},
};

typedef struct fit {
    ek_job *job; /* a copy; its rules have the knobs under test */
    const ek_memory_peak *peaks;
    int n_peaks;
    bool actual;
    double block_mb;        /* peaks are rounded up to blocks of this many MB; 0: not rounded */
    double base[MAX_KNOBS]; /* uncalibrated */
    double *predicted;      /* [n_peaks] at the last tried knobs, MB */
    double *slope;          /* [n_peaks][MAX_KNOBS] MB per unit of a knob */
    ek_error *err;
} fit;

static double *value_of(ek_rules *rules, int k)
{
    assert(k >= 0 && k < MAX_KNOBS);
    double *const at[MAX_KNOBS] = {&rules->constant_mb, &rules->activation_scale, &rules->transient_scale};
    return at[k];
}

static double predicted_mb(const ek_memory_stage *stage, bool actual)
{
    return (double)(actual ? stage->actual_peak : stage->used_peak) * 0x1p-20;
}

static double sigma(const fit *f, int i)
{
    return hypot(0.01 * f->peaks[i].mb, f->block_mb / sqrt(12));
}

/* ---- errors ---- */

static ek_memory_error summed(const double *signed_error, const ek_memory_peak *peaks, int n)
{
    ek_memory_error e = {0, 0, 0, n > 0 ? peaks[0].stage : 0};
    for (int i = 0; i < n; i++) {
        double size = fabs(signed_error[i]);
        e.mean += size / n;
        e.bias += signed_error[i] / n;
        if (size > e.worst) {
            e.worst = size;
            e.worst_stage = peaks[i].stage;
        }
    }
    return e;
}

ek_memory_error ek_memory_compare(const ek_memory *memory, const ek_memory_peak *peaks, int n_peaks, bool actual)
{
    ek_memory_error e = {0, 0, 0, n_peaks > 0 ? peaks[0].stage : 0};
    for (int i = 0; i < n_peaks; i++) {
        assert(peaks[i].stage >= 0 && peaks[i].stage < memory->n_stages && peaks[i].mb > 0);
        double one = predicted_mb(&memory->stage[peaks[i].stage], actual) / peaks[i].mb - 1;
        e.mean += fabs(one) / n_peaks;
        e.bias += one / n_peaks;
        if (fabs(one) > e.worst) {
            e.worst = fabs(one);
            e.worst_stage = peaks[i].stage;
        }
    }
    return e;
}

/* ---- prediction at given knobs ---- */

static ek_status predict_at(fit *f, const double *x, ek_memory_error *error)
{
    const ek_memory_options options = {.without_allocation = !f->actual, .without_top = true};
    ek_memory memory;
    assert(x[1] > 0 && x[2] > 0);
    for (int k = 0; k < MAX_KNOBS; k++)
        *value_of(&f->job->rules, k) = x[k];
    ek_status status = ek_memory_predict(f->job, &options, &memory, f->err);
    if (status)
        return status;
    for (int i = 0; i < f->n_peaks; i++) {
        const ek_memory_stage *stage = &memory.stage[f->peaks[i].stage];
        double *slope = f->slope + (size_t)i * MAX_KNOBS;
        f->predicted[i] = predicted_mb(stage, f->actual);
        slope[0] = 1;
        slope[1] = (double)stage->part[EK_PART_ACTIVATIONS] * 0x1p-20 / x[1];
        slope[2] = (double)stage->part[EK_PART_TRANSIENT] * 0x1p-20 / x[2];
    }
    *error = ek_memory_compare(&memory, f->peaks, f->n_peaks, f->actual);
    ek_memory_clear(&memory);
    return EK_OK;
}

static double objective(const fit *f, const double *x)
{
    double sum = 0;
    for (int i = 0; i < f->n_peaks; i++)
        sum += pow((f->peaks[i].mb - f->predicted[i]) / sigma(f, i), 2);
    for (int k = 0; k < MAX_KNOBS; k++)
        sum += pow((x[k] - f->base[k]) / knobs[k].width, 2);
    return sum;
}

/* ---- the linear problem ---- */

/* Inverse of J'J + 1 with J = slope * width / sigma, of n unknowns. Positive definite, so Gauss-Jordan needs no pivots.
 */
static void invert(const fit *f, int n, double out[MAX_KNOBS][MAX_KNOBS])
{
    double a[MAX_KNOBS][2 * MAX_KNOBS] = {{0}};
    assert(n >= 0 && n <= MAX_KNOBS);
    for (int r = 0; r < n; r++) {
        a[r][r] = 1;
        a[r][n + r] = 1;
        for (int c = 0; c < n; c++)
            for (int i = 0; i < f->n_peaks; i++) {
                const double *slope = f->slope + (size_t)i * MAX_KNOBS;
                a[r][c] += slope[r] * knobs[r].width * slope[c] * knobs[c].width / pow(sigma(f, i), 2);
            }
    }
    for (int k = 0; k < n; k++) {
        double pivot = a[k][k];
        for (int c = 0; c < 2 * n; c++)
            a[k][c] /= pivot;
        for (int r = 0; r < n; r++) {
            double factor = a[r][k];
            for (int c = 0; c < 2 * n && r != k; c++)
                a[r][c] -= factor * a[k][c];
        }
    }
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++)
            out[r][c] = a[r][n + c];
}

/* The best knobs of the model linearised at x. */
static void step(const fit *f, int n, const double *x, double *next)
{
    double inverse[MAX_KNOBS][MAX_KNOBS], right[MAX_KNOBS] = {0};
    invert(f, n, inverse);
    memcpy(next, f->base, sizeof f->base);
    for (int i = 0; i < f->n_peaks; i++) {
        const double *slope = f->slope + (size_t)i * MAX_KNOBS;
        double left = f->peaks[i].mb - f->predicted[i]; /* of y - f(u), by the linear model */
        for (int k = 0; k < n; k++)
            left += slope[k] * (x[k] - f->base[k]);
        for (int k = 0; k < n; k++)
            right[k] += slope[k] * knobs[k].width * left / pow(sigma(f, i), 2);
    }
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < n; c++)
            next[r] += knobs[r].width * inverse[r][c] * right[c];
        next[r] = fmin(fmax(next[r], knobs[r].least), knobs[r].most);
        assert(next[r] >= knobs[r].least && next[r] <= knobs[r].most);
    }
}

/* Errors of predicting each peak from the others, by the model linearised at x: r_i / (1 - h_i). */
static ek_memory_error leave_out(const fit *f, int n, double *scratch)
{
    double inverse[MAX_KNOBS][MAX_KNOBS];
    invert(f, n, inverse);
    for (int i = 0; i < f->n_peaks; i++) {
        const double *slope = f->slope + (size_t)i * MAX_KNOBS;
        double h = 0;
        for (int r = 0; r < n; r++)
            for (int c = 0; c < n; c++)
                h += slope[r] * knobs[r].width * inverse[r][c] * slope[c] * knobs[c].width / pow(sigma(f, i), 2);
        assert(f->peaks[i].mb > 0);
        scratch[i] = (f->predicted[i] / f->peaks[i].mb - 1) / fmax(1 - h, 1e-9);
    }
    return summed(scratch, f->peaks, f->n_peaks);
}

/* ---- fitting ---- */

typedef struct answer {
    int n;
    double x[MAX_KNOBS];
    ek_memory_error after, left_out;
    double standard_error; /* of left_out.mean */
} answer;

/* Standard error of the mean of |x|. */
static double standard_error(const double *x, int n, double mean)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += pow(fabs(x[i]) - mean, 2);
    return n > 1 ? sqrt(sum / (n - 1) / n) : 0;
}

/* Fit the first n knobs. */
static ek_status fit_knobs(fit *f, int n, double *scratch, answer *out)
{
    double x[MAX_KNOBS], next[MAX_KNOBS], best = INFINITY;
    memcpy(x, f->base, sizeof x);
    for (int round = 0; round <= (n > 0 ? MAX_ROUNDS : 0); round++) {
        ek_memory_error error;
        ek_status status = predict_at(f, x, &error);
        if (status)
            return status;
        double now = objective(f, x);
        if (now < best) {
            best = now;
            *out = (answer){n, {x[0], x[1], x[2]}, error, leave_out(f, n, scratch), 0};
            out->standard_error = standard_error(scratch, f->n_peaks, out->left_out.mean);
        }
        step(f, n, x, next);
        memcpy(x, next, sizeof x);
    }
    return EK_OK;
}

static ek_status fit_all(fit *f, double *scratch, ek_memory_fit_result *out)
{
    answer none = {0}, of[MAX_KNOBS + 1] = {0};
    int best = 0, chosen = 0;
    ek_status status = fit_knobs(f, 0, scratch, &none);
    if (f->actual && f->job->rules.allocation == EK_ALLOCATION_WHOLE) {
        f->job->rules.block_bytes = NO_BLOCK;
        f->base[0] += f->block_mb / 2;
    }
    int most = (f->n_peaks + 1) / 2 < MAX_KNOBS ? (f->n_peaks + 1) / 2 : MAX_KNOBS;
    for (int n = 0; n <= most && !status; n++) {
        status = fit_knobs(f, n, scratch, &of[n]);
        if (!status && of[n].left_out.mean < of[best].left_out.mean)
            best = n;
    }
    if (status)
        return status;
    while (of[chosen].left_out.mean > of[best].left_out.mean + of[best].standard_error)
        chosen++;
    assert(chosen <= best && best <= most);
    out->rules = f->job->rules;
    for (int k = 0; k < MAX_KNOBS; k++)
        *value_of(&out->rules, k) = of[chosen].x[k];
    out->n_knobs = of[chosen].n;
    for (int k = 0; k < of[chosen].n; k++) {
        out->knob[k] = knobs[k].name;
        out->value[k] = of[chosen].x[k];
    }
    out->before = none.after;
    out->after = of[chosen].after;
    out->left_out = of[chosen].left_out;
    if (f->n_peaks < of[chosen].n + 2)
        out->left_out.mean = out->left_out.worst = out->left_out.bias = NAN;
    return EK_OK;
}

static ek_status check_peaks(const ek_job *job, const ek_memory_peak *peaks, int n_peaks, ek_error *err)
{
    if (n_peaks < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no peaks are given; calibration needs one or more");
    for (int i = 0; i < n_peaks; i++) {
        if (peaks[i].stage < 0 || peaks[i].stage >= job->plan.n_stages)
            return ek__fail(err, EK_ERR_INPUT, peaks[i].origin,
                            "a peak is given for stage %d, but the job has stages 0 to %d; count them from 0",
                            peaks[i].stage, job->plan.n_stages - 1);
        if (!(peaks[i].mb > 0) || peaks[i].mb > 1e9)
            return ek__fail(err, EK_ERR_INPUT, peaks[i].origin,
                            "the peak of stage %d is %g MB, expected a positive number of MB", peaks[i].stage,
                            peaks[i].mb);
    }
    return EK_OK;
}

ek_status ek_memory_calibrate(const ek_job *job, const ek_memory_peak *peaks, int n_peaks, bool actual,
                              ek_memory_fit_result *out, ek_error *err)
{
    ek_status status = check_peaks(job, peaks, n_peaks, err);
    if (status)
        return status;
    ek_job copy;
    status = ek_job_copy(job, &copy, err);
    if (status)
        return status;
    size_t n = (size_t)n_peaks;
    double *work = ek__alloc(n * (MAX_KNOBS + 2), sizeof *work);
    ek_memory_fit_result result = {0};
    fit f = {.job = &copy, .peaks = peaks, .n_peaks = n_peaks, .actual = actual, .predicted = work, .err = err};
    if (work) {
        bool blocks = copy.rules.allocation == EK_ALLOCATION_BLOCKS || copy.rules.allocation == EK_ALLOCATION_WHOLE;
        f.block_mb = actual && blocks ? (double)copy.rules.block_bytes * 0x1p-20 : 0;
        f.slope = work + n;
        for (int k = 0; k < MAX_KNOBS; k++)
            f.base[k] = fmin(fmax(*value_of(&copy.rules, k), knobs[k].least), knobs[k].most);
        status = fit_all(&f, work + n * (MAX_KNOBS + 1), &result);
    } else {
        status = ek__no_memory(err);
    }
    free(work);
    ek_job_clear(&copy);
    if (!status)
        *out = result;
    return status;
}
