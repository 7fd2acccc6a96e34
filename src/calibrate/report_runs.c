/* Fills a calibration's report on its runs: errors in the fit, left out and held out, every run, every constant. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/median.h"
#include "calibrate/calibrating.h"

/* Of logarithms of predicted over measured. */
static ek_calibration_error summed(double *log_ratio, int n)
{
    ek_calibration_error e = {.n = n};
    for (int i = 0; i < n; i++) {
        double ratio = expm1(log_ratio[i]);
        e.bias += ratio / n;
        e.mean += fabs(ratio) / n;
        e.worst = fmax(e.worst, fabs(ratio));
        log_ratio[i] = fabs(ratio);
    }
    e.median = n > 0 ? ek__median(log_ratio, (size_t)n) : NAN;
    return e;
}

/* @param absolute  `value` is a predicted logarithm, else it is a residual already */
static ek_calibration_error error_of(const ek__calibrating *k, const double *value, bool absolute, bool held,
                                     double *scratch)
{
    int n = 0;
    for (int i = 0; i < k->n; i++)
        if ((held ? k->held[i] : k->found.fit.used[i]) && !isnan(value[i]))
            scratch[n++] = absolute ? value[i] - k->found.fit.measured[i] : value[i];
    return summed(scratch, n);
}

static ek_status fill_errors(ek__calibrating *k)
{
    const ek__fit *f = &k->found.fit;
    double *scratch = ek__alloc((size_t)k->n, sizeof *scratch);
    if (!scratch)
        return ek__no_memory(k->err);
    k->out.before = error_of(k, f->before, true, false, scratch);
    k->out.fit = error_of(k, f->after, true, false, scratch);
    k->out.leave_one_out = error_of(k, f->left_out, false, false, scratch);
    k->out.leave_group_out = error_of(k, f->group_out, false, false, scratch);
    k->out.held_before = error_of(k, f->before, true, true, scratch);
    k->out.held = error_of(k, f->after, true, true, scratch);
    k->out.noise = f->noise;
    free(scratch);
    return EK_OK;
}

static void fill_run(ek__calibrating *k, int i, ek_calibrated_run *run)
{
    const ek__fit *f = &k->found.fit;
    run->measured = k->seconds[i];
    run->before = exp(f->before[i]);
    run->after = exp(f->after[i]);
    run->left_out = run->group_out = NAN;
    run->used = f->used[i];
    run->held = k->held[i] && !isnan(f->before[i]);
    run->weight = f->weight[i];
    if (f->used[i]) {
        run->left_out = run->measured * exp(f->left_out[i]);
        run->group_out = run->measured * exp(f->group_out[i]);
    }
    if (isnan(f->before[i]))
        snprintf(run->why, sizeof run->why, "cannot be predicted on this device: %.150s", k->found.why.message);
    k->out.n_used += run->used;
    k->out.n_held += run->held;
}

static void fill_runs(ek__calibrating *k)
{
    for (int i = 0, at = 0; i < k->c.n; i++) {
        const ek__run_item *item = &k->c.item[i];
        ek_calibrated_run *run = &k->out.run[k->out.n_runs++];
        *run = (ek_calibrated_run){.measured = item->seconds,
                                   .before = NAN,
                                   .after = NAN,
                                   .left_out = NAN,
                                   .group_out = NAN,
                                   .line = item->origin.line};
        snprintf(run->name, sizeof run->name, "%s", item->name);
        snprintf(run->group, sizeof run->group, "%s", item->group);
        snprintf(run->why, sizeof run->why, "%s",
                 item->why[0]    ? item->why
                 : item->suspect ? "its table calls it suspect"
                 : item->job     ? "no step time"
                                 : "too little input");
        snprintf(run->file, sizeof run->file, "%.255s", item->origin.file ? item->origin.file : "");
        if (ek__is_priced(item)) {
            run->why[0] = '\0';
            fill_run(k, at++, run);
        }
    }
    k->out.n_left = k->out.n_runs - k->out.n_used - k->out.n_held;
}

static ek_status fill_constants(ek__calibrating *k)
{
    const ek__fit *f = &k->found.fit;
    k->out.constant = ek__alloc((size_t)f->n_constants, sizeof *k->out.constant);
    if (!k->out.constant)
        return ek__no_memory(k->err);
    k->out.n_constants = f->n_constants;
    for (int i = 0; i < f->n_constants; i++) {
        const ek__constant *c = &f->constant[i];
        ek_calibrated_constant *out = &k->out.constant[i];
        *out = (ek_calibrated_constant){.unit = c->unit,
                                        .start = f->start[i],
                                        .value = ek__constant_get(c, &k->out.device),
                                        .error = f->spread[i],
                                        .state = f->state[i]};
        if (c->logarithm)
            out->error *= out->value;
        snprintf(out->name, sizeof out->name, "%s", c->name);
    }
    return EK_OK;
}

/* Did a run of another group that is fitted have the same layer? */
static bool is_met(const ek__calibrating *k, const double (*at)[EK__N_LAYER_COORDINATES], int which)
{
    for (int i = 0; i < k->n; i++)
        if (k->found.fit.used[i] && k->group[i] != k->group[which] && ek__layer_same_place(at[i], at[which]))
            return true;
    return false;
}

/* Expected errors of layouts that were not measured: with layers that other layouts have, and with layers that none
 * has. Where there are none of either, all runs are used for them; without a near layer the table is not used. */
static ek_status fill_expected(ek__calibrating *k)
{
    const ek__fit *f = &k->found.fit;
    double(*at)[EK__N_LAYER_COORDINATES] = ek__alloc((size_t)k->n, sizeof *at);
    bool *met = ek__alloc((size_t)k->n, sizeof *met), *other = ek__alloc((size_t)k->n, sizeof *other);
    int n_met = 0, n_other = 0;
    ek_status status = at && met && other ? EK_OK : ek__no_memory(k->err);
    for (int i = 0; i < k->n && status == EK_OK; i++)
        ek__layer_coordinates(k->job[i], ek__job_layer_kind(k->job[i]), at[i]);
    for (int i = 0; i < k->n && status == EK_OK; i++) {
        met[i] = f->used[i] && is_met(k, (const double(*)[EK__N_LAYER_COORDINATES])at, i);
        other[i] = f->used[i] && !met[i];
        n_met += met[i];
        n_other += other[i];
    }
    if (status == EK_OK) {
        k->out.met_error = n_met > 0 ? ek__root_mean_square(f->group_out, met, k->n)
                                     : ek__root_mean_square(f->left_out, f->used, k->n);
        k->out.new_error = fmax(ek__root_mean_square(f->group_out, n_other > 0 ? other : f->used, k->n),
                                fmax(k->found.plain, k->out.met_error));
    }
    free(at);
    free(met);
    free(other);
    return status;
}

ek_status ek__report_runs(ek__calibrating *k)
{
    ek_status status = fill_constants(k);
    if (status == EK_OK)
        status = fill_errors(k);
    if (status)
        return status;
    fill_runs(k);
    status = fill_expected(k);
    if (status)
        return status;
    if (k->out.n_layers > 0)
        ek__layer_table_expect(k->out.device.layers, k->out.met_error, k->out.new_error);
    k->out.device.error = k->out.n_groups > 2 ? k->out.new_error : k->out.met_error;
    k->out.device.error_basis = k->out.n_groups > 2 ? EK_ERROR_LEAVE_GROUP_OUT : EK_ERROR_LEAVE_ONE_OUT;
    return EK_OK;
}
