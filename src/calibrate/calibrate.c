/* A device from what was measured, in this order: kernels and rates as they are, links from their tests, constants from
 * the steps of runs, then what layers took besides, from what the constants leave. Each step starts from what the one
 * before says, so that a step's time is not explained by a constant that was measured alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/texts.h"
#include "calibrate/candidates.h"
#include "calibrate/collect.h"
#include "calibrate/fit.h"
#include "calibrate/job_runs.h"
#include "calibrate/layers_fit.h"
#include "calibrate/links_fit.h"

typedef struct calibrating {
    const ek_calibrate_input *input;
    ek__collected c;
    ek_calibration out;
    ek_kernel_table *kernels; /* of the device's own when no source has any */
    int n;                    /* runs that are fitted or kept back */
    int *item;                /* [n] of c.item */
    const ek_job **job;       /* [n] */
    double *seconds;          /* [n] */
    int *group;               /* [n] */
    bool *held;               /* [n] */
    ek__layer_sample *sample; /* [n] */
    double *plain;            /* [n] logarithms predicted without the new table */
    ek__job_runs runs;
    ek__fit fit;
    bool has_fit;
    ek_error *err;
} calibrating;

static void tell(calibrating *k, double share, const char *what)
{
    if (k->input->progress)
        k->input->progress(k->input->progress_user, share, what);
}

/* ---- which device ---- */

static bool is_priced(const ek__run_item *item)
{
    return item->job && !item->suspect && item->seconds > 0;
}

/* The shipped device that all runs name. */
static ek_status start_of_runs(calibrating *k, const ek_device **out)
{
    const ek_device *found = NULL;
    const char *words = "";
    for (int i = 0; i < k->c.n; i++) {
        const ek_device *one = is_priced(&k->c.item[i]) ? ek_device_of_hardware(k->c.item[i].device) : NULL;
        if (one && found && one != found)
            return ek__fail(
                k->err, EK_ERR_INPUT, k->c.item[i].origin,
                "runs of '%.80s' and of '%.80s' cannot be fitted as one device; say which with --start NAME", words,
                k->c.item[i].device);
        if (one) {
            found = one;
            words = k->c.item[i].device;
        }
    }
    if (!found)
        return ek__fail(k->err, EK_ERR_INPUT, EK__NOWHERE,
                        "no source says on which device it was measured; give the one to start from with --start "
                        "NAME|FILE");
    *out = found;
    return EK_OK;
}

static void leave(ek__run_item *item, const char *why)
{
    item->suspect = true;
    snprintf(item->why, sizeof item->why, "%s", why);
}

/* Rows of another device than the one asked for are left out, where some are of that one. */
static void choose_rows(calibrating *k, const ek_device *start)
{
    bool any = false;
    for (int i = 0; i < k->c.n; i++) {
        const ek_device *one = ek_device_of_hardware(k->c.item[i].device);
        any |= one && strcmp(one->name, start->name) == 0;
    }
    for (int i = 0; i < k->c.n && any; i++) {
        const ek_device *one = ek_device_of_hardware(k->c.item[i].device);
        if (one && strcmp(one->name, start->name) != 0 && !k->c.item[i].suspect)
            leave(&k->c.item[i], "of another device");
    }
}

static ek_status find_start(calibrating *k)
{
    const ek_device *start = k->input->start;
    ek_status status = start ? EK_OK : start_of_runs(k, &start);
    if (status)
        return status;
    choose_rows(k, start);
    snprintf(k->out.start, sizeof k->out.start, "%s", start->name);
    k->out.device = *start;
    k->out.device.kernels = NULL;
    k->out.device.layers = NULL;
    k->out.device.error = 0;
    k->out.device.error_basis = EK_ERROR_ASSUMED;
    return EK_OK;
}

/* ---- kernels, rates, links ---- */

/* The result owns its tables: copies of the start's. */
static ek_status copy_tables(calibrating *k)
{
    const ek_device *start = k->input->start ? k->input->start : ek_device_find(k->out.start);
    const ek_kernel_row *row;
    const ek__layer_row *layer;
    int n = 0;
    if (start && start->kernels && !k->out.device.kernels) {
        row = ek_kernel_table_rows(start->kernels, &n);
        ek_status status = ek_kernel_table_new(row, n, &k->out.device.kernels, k->err);
        if (status)
            return status;
    }
    n = start ? ek__layer_table_rows(start->layers, &layer) : 0;
    if (n > 0) {
        k->out.device.layers = ek__layer_table_new(layer, n, ek__layer_table_scale(start->layers));
        return k->out.device.layers ? EK_OK : ek__no_memory(k->err);
    }
    return EK_OK;
}

static ek_status take_kernels(calibrating *k, struct ek_calibration_source *source)
{
    ek_kernel_table *table = NULL;
    ek_status status = ek_kernel_table_read(source->path, k->input->listener, &table, k->err);
    if (status)
        return status;
    if (k->out.has_kernels) {
        ek_kernel_table_free(table);
        return ek__fail(k->err, EK_ERR_INPUT, ((ek_origin){source->path, 0, 0}),
                        "is a second table of measured kernels; put the rows of one device into one file");
    }
    ek_kernel_table_rows(table, &source->n);
    k->out.device.kernels = table;
    k->out.has_kernels = true;
    return ek_device_fit_kernels(&k->out.device, table, k->out.kernels, k->err);
}

static ek_status take_rates(calibrating *k)
{
    ek_status status = EK_OK;
    for (int i = 0; i < k->c.n_sources && status == EK_OK; i++) {
        struct ek_calibration_source *source = &k->c.source[i];
        if (source->kind == EK_SOURCE_RATES)
            status = ek_device_read_rates(source->path, k->input->listener, &k->out.device, k->err);
        else if (source->kind == EK_SOURCE_KERNELS)
            status = take_kernels(k, source);
    }
    return status;
}

static ek_status take_links(calibrating *k)
{
    int n = 0, at = 0;
    ek_status status = ek__collect_links(k->out.device.devices_per_node, &k->c, k->err);
    for (int i = 0; i < k->c.n_sources && status == EK_OK; i++)
        n += k->c.link[i].n;
    if (status || n == 0)
        return status;
    ek_link_time *all = ek__alloc((size_t)n, sizeof *all);
    if (!all)
        return ek__no_memory(k->err);
    for (int i = 0; i < k->c.n_sources; i++)
        for (int t = 0; t < k->c.link[i].n; t++)
            all[at++] = k->c.link[i].time[t];
    status = ek__links_fit(all, n, &k->out.device, k->out.link, &k->out.n_links, k->err);
    free(all);
    return status;
}

/* ---- runs ---- */

static bool make_room(calibrating *k)
{
    size_t n = (size_t)k->c.n;
    k->item = ek__alloc(n, sizeof *k->item);
    k->job = ek__alloc(n, sizeof *k->job);
    k->seconds = ek__alloc(n, sizeof *k->seconds);
    k->group = ek__alloc(n, sizeof *k->group);
    k->held = ek__alloc(n, sizeof *k->held);
    k->sample = ek__alloc(n, sizeof *k->sample);
    k->plain = ek__alloc(n, sizeof *k->plain);
    k->out.run = ek__alloc(n, sizeof *k->out.run);
    return k->item && k->job && k->seconds && k->group && k->held && k->sample && k->plain && k->out.run;
}

static const char *group_name(const calibrating *k, int i)
{
    return k->c.item[k->item[i]].group;
}

static void number_groups(calibrating *k)
{
    for (int i = 0; i < k->n; i++) {
        k->group[i] = i;
        for (int j = 0; j < i; j++)
            if (strcmp(group_name(k, i), group_name(k, j)) == 0) {
                k->group[i] = k->group[j];
                break;
            }
    }
}

typedef struct hashed {
    uint64_t hash;
    int group;
} hashed;

static int by_hash(const void *a, const void *b)
{
    const hashed *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : x->group - y->group;
}

/* Whole groups in the order of their names' hashes, until their share is reached; one stays to be fitted. */
static ek_status hold_back(calibrating *k)
{
    int n = 0;
    hashed *list = ek__alloc((size_t)k->n, sizeof *list);
    if (!list)
        return ek__no_memory(k->err);
    for (int i = 0; i < k->n; i++)
        if (k->group[i] == i)
            list[n++] = (hashed){ek__texts_hash(group_name(k, i), strlen(group_name(k, i))), i};
    qsort(list, (size_t)n, sizeof *list, by_hash);
    int n_held = (int)lround(k->input->holdout * n);
    n_held = k->input->holdout > 0 && n_held < 1 ? 1 : n_held;
    n_held = n_held >= n ? n - 1 : n_held;
    for (int i = 0; i < k->n; i++)
        for (int g = 0; g < n_held; g++)
            k->held[i] |= list[g].group == k->group[i];
    k->out.n_groups = n - n_held;
    free(list);
    return EK_OK;
}

static ek_status gather_runs(calibrating *k)
{
    if (!make_room(k))
        return ek__no_memory(k->err);
    for (int i = 0; i < k->c.n; i++) {
        if (!is_priced(&k->c.item[i]))
            continue;
        k->item[k->n] = i;
        k->job[k->n] = k->c.item[i].job;
        k->seconds[k->n++] = k->c.item[i].seconds;
    }
    if (k->n == 0)
        return EK_OK;
    number_groups(k);
    return hold_back(k);
}

static void fit_progress(void *user, double share, const char *what)
{
    tell(user, 0.9 * share, what);
}

static ek_status fit_constants(calibrating *k)
{
    k->runs = (ek__job_runs){.n = k->n, .job = k->job};
    const ek__fit_problem problem = {.n = k->n,
                                     .seconds = k->seconds,
                                     .group = k->group,
                                     .held = k->held,
                                     .predict = ek__job_runs_predict,
                                     .user = &k->runs,
                                     .progress = fit_progress,
                                     .progress_user = k,
                                     .interrupted = k->input->interrupted};
    ek_status status = ek__fit_run(&problem, &k->out.device, &k->fit, k->err);
    k->has_fit = status == EK_OK;
    if (k->has_fit)
        k->out.device = k->fit.device;
    else if (status == EK_ERR_INPUT && k->runs.why.message[0] && k->err && !strstr(k->err->message, "interrupted")) {
        char text[sizeof k->err->message];
        snprintf(text, sizeof text, "%.500s. The last one: %.450s", k->err->message, k->runs.why.message);
        memcpy(k->err->message, text, sizeof text);
    }
    return status;
}

/* ---- layers ---- */

/* How much of each step moves with its layers' computing: a factor of 1 % on all of it. */
static ek_status fill_shares(calibrating *k)
{
    static const double factor = 0.01;
    const ek__layer_row row = {.value = factor, .weight = 1};
    const ek__layer_scale everywhere = {.width = 1e6, .lambda = 1e-9};
    bool *wanted = ek__alloc((size_t)k->n, sizeof *wanted);
    double *moved = ek__alloc((size_t)k->n, sizeof *moved), *plain = ek__alloc((size_t)k->n, sizeof *plain);
    ek_layer_table *table = ek__layer_table_new(&row, 1, &everywhere);
    ek_status status = wanted && moved && plain && table ? EK_OK : ek__no_memory(k->err);
    ek_device device = k->out.device;
    for (int i = 0; i < k->n && status == EK_OK; i++)
        wanted[i] = !isnan(k->fit.after[i]);
    device.layers = NULL;
    if (status == EK_OK)
        status = ek__job_runs_predict(&k->runs, &device, wanted, plain, k->err);
    device.layers = table;
    if (status == EK_OK)
        status = ek__job_runs_predict(&k->runs, &device, wanted, moved, k->err);
    for (int i = 0; i < k->n && status == EK_OK; i++)
        k->sample[i].share = wanted[i] ? (moved[i] - plain[i]) / factor : 0;
    ek__layer_table_free(table);
    free(wanted);
    free(moved);
    free(plain);
    return status;
}

static ek_status fit_layers(calibrating *k, ek__layers_fit *fit)
{
    ek_layer_table *table = NULL;
    ek_status status = fill_shares(k);
    for (int i = 0; i < k->n && status == EK_OK; i++) {
        ek__layer_sample *s = &k->sample[i];
        ek__layer_coordinates(k->job[i], ek__job_layer_kind(k->job[i]), s->at);
        s->residual = k->fit.after[i] - k->fit.measured[i];
        s->left_out = k->fit.left_out[i];
        s->group_out = k->fit.group_out[i];
        s->weight = k->fit.used[i] ? k->fit.weight[i] : 0;
        s->group = k->group[i];
    }
    if (status == EK_OK)
        status = ek__layers_fit_run(k->sample, k->n, k->out.device.layers, &table, fit, k->err);
    if (status || !table)
        return status;
    for (int i = 0; i < k->n; i++)
        if (k->fit.used[i]) {
            k->plain[i] = ek__layers_fit_correction(k->sample, k->n, k->out.device.layers, &fit->scale, i, true);
            k->fit.left_out[i] +=
                ek__layers_fit_correction(k->sample, k->n, k->out.device.layers, &fit->scale, i, false);
            k->fit.group_out[i] += k->plain[i];
        }
    ek__layer_table_free(k->out.device.layers);
    k->out.device.layers = table;
    k->fit.device.layers = table;
    k->out.n_layers = ek__layer_table_size(table);
    k->out.layer_width = fit->scale.width;
    k->out.layer_lambda = fit->scale.lambda;
    /* The table changes what runs are predicted to take. */
    bool *wanted = ek__alloc((size_t)k->n, sizeof *wanted);
    if (!wanted)
        return ek__no_memory(k->err);
    for (int i = 0; i < k->n; i++)
        wanted[i] = !isnan(k->fit.after[i]);
    status = ek__job_runs_predict(&k->runs, &k->out.device, wanted, k->fit.after, k->err);
    free(wanted);
    return status;
}

/* ---- what is reported ---- */

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
static ek_calibration_error error_of(const calibrating *k, const double *value, bool absolute, bool held,
                                     double *scratch)
{
    int n = 0;
    for (int i = 0; i < k->n; i++)
        if ((held ? k->held[i] : k->fit.used[i]) && !isnan(value[i]))
            scratch[n++] = absolute ? value[i] - k->fit.measured[i] : value[i];
    return summed(scratch, n);
}

static ek_status fill_errors(calibrating *k)
{
    const ek__fit *f = &k->fit;
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

static void fill_run(calibrating *k, int i, ek_calibrated_run *run)
{
    const ek__fit *f = &k->fit;
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
        snprintf(run->why, sizeof run->why, "cannot be predicted on this device: %.150s", k->runs.why.message);
    k->out.n_used += run->used;
    k->out.n_held += run->held;
}

static void fill_runs(calibrating *k)
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
                 item->why[0] ? item->why
                 : item->job  ? "no step time"
                              : "too little is said");
        snprintf(run->file, sizeof run->file, "%.255s", item->origin.file ? item->origin.file : "");
        if (is_priced(item)) {
            run->why[0] = '\0';
            fill_run(k, at++, run);
        }
    }
    k->out.n_left = k->out.n_runs - k->out.n_used - k->out.n_held;
}

static ek_status fill_constants(calibrating *k)
{
    const ek__fit *f = &k->fit;
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

/* ---- the next runs ---- */

/* Layers unlike any measured ones have the error of new cells; the constants' part of it is known apart. */
static void expect(const calibrating *k, const ek_job *job, double spread, ek_proposed_run *out)
{
    double at[EK__N_LAYER_COORDINATES], nearest = 0;
    if (k->out.n_layers > 0) {
        ek__layer_coordinates(job, ek__job_layer_kind(job), at);
        ek__layer_table_factor(k->out.device.layers, at, &nearest, NULL);
        out->new_cell = nearest > 2 * k->out.layer_width;
    }
    out->expected = hypot(spread, k->fit.noise);
    if (out->new_cell)
        out->expected = fmax(out->expected, k->out.new_error);
}

static ek_status design(calibrating *k, const ek__candidates *candidates)
{
    const ek_job *job[EK__MAX_CANDIDATES];
    double value[EK__MAX_CANDIDATES], spread[EK_N_PROPOSED + 1];
    int chosen[EK_N_PROPOSED], n_chosen = EK_N_PROPOSED, n = candidates->n, m = k->fit.n_constants;
    for (int i = 0; i < n; i++)
        job[i] = &candidates->job[i];
    ek__job_runs runs = {.n = n, .job = job};
    double *gradient = ek__alloc((size_t)n * (size_t)m, sizeof *gradient);
    ek_status status = gradient ? EK_OK : ek__no_memory(k->err);
    if (status == EK_OK)
        status = ek__fit_jacobian(&k->fit, n, ek__job_runs_predict, &runs, value, gradient, k->err);
    if (status == EK_OK)
        status = ek__fit_design(&k->fit, n, gradient, &n_chosen, chosen, spread, k->err);
    if (status == EK_OK) {
        k->out.n_candidates = n;
        k->out.n_proposed = n_chosen;
        k->out.candidate_error = hypot(spread[0], k->fit.noise);
        for (int i = 0; i < n_chosen; i++) {
            ek_proposed_run *p = &k->out.proposed[i];
            int from = candidates->from[chosen[i]];
            ek__candidate_name(job[chosen[i]], p->what, sizeof p->what);
            ek__candidate_name(k->job[from], p->from, sizeof p->from);
            ek__candidate_change(k->job[from], job[chosen[i]], p->change, sizeof p->change);
            p->seconds = exp(value[chosen[i]]);
            expect(k, job[chosen[i]], ek__fit_spread(&k->fit, gradient + (size_t)chosen[i] * (size_t)m), p);
            p->after = hypot(spread[i + 1], k->fit.noise);
        }
    }
    free(gradient);
    ek__job_runs_clear(&runs);
    return status;
}

static ek_status propose(calibrating *k)
{
    ek__candidates *candidates = ek__alloc(1, sizeof *candidates);
    if (!candidates)
        return ek__no_memory(k->err);
    tell(k, 0.92, "choosing the next runs");
    ek_status status = ek__candidates_make(k->job, k->n, &k->out.device, candidates, k->err);
    if (status == EK_OK && candidates->n > 0)
        status = design(k, candidates);
    ek__candidates_clear(candidates);
    free(candidates);
    return status;
}

/* ---- together ---- */

static double root_mean_square(const double *value, const bool *used, int n)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (used[i] && !isnan(value[i])) {
            sum += value[i] * value[i];
            count++;
        }
    return count > 0 ? sqrt(sum / count) : 0;
}

static ek_status fit_runs(calibrating *k)
{
    ek__layers_fit layers = {0};
    ek_status status = fit_constants(k);
    double plain_out = status == EK_OK ? root_mean_square(k->fit.left_out, k->fit.used, k->n) : 0;
    if (status == EK_OK)
        status = fit_layers(k, &layers);
    if (status == EK_OK)
        status = fill_constants(k);
    if (status == EK_OK)
        status = fill_errors(k);
    if (status)
        return status;
    fill_runs(k);
    k->out.met_error = root_mean_square(k->fit.left_out, k->fit.used, k->n);
    k->out.new_error = fmax(root_mean_square(k->fit.group_out, k->fit.used, k->n), plain_out);
    k->out.device.error = k->out.n_groups > 2 ? k->out.new_error : k->out.met_error;
    k->out.device.error_basis = k->out.n_groups > 2 ? EK_ERROR_LEAVE_GROUP_OUT : EK_ERROR_LEAVE_ONE_OUT;
    return propose(k);
}

static void describe(calibrating *k)
{
    ek_device *d = &k->out.device;
    char text[sizeof d->source];
    int n = snprintf(text, sizeof text, "fitted from %.60s", k->out.start);
    for (int i = 0; i < k->c.n_sources && n > 0 && (size_t)n < sizeof text; i++) {
        const char *path = k->c.source[i].path, *slash = strrchr(path, '/');
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %.60s", i ? "," : " to", slash ? slash + 1 : path);
    }
    memcpy(d->source, text, sizeof text);
}

static ek_status check_any(const calibrating *k)
{
    bool device = false;
    for (int i = 0; i < k->c.n_sources; i++)
        device |= k->c.source[i].kind == EK_SOURCE_KERNELS || k->c.source[i].kind == EK_SOURCE_RATES ||
                  k->c.source[i].kind == EK_SOURCE_LINKS;
    if (k->n == 0 && !device)
        return ek__fail(k->err, EK_ERR_INPUT, EK__NOWHERE,
                        "no source has a run with a job and a step time (%d rows, all suspect, of another device or "
                        "without a job), kernels, rates or links; there is nothing to calibrate to",
                        k->c.n);
    return EK_OK;
}

static ek_status calibrate(calibrating *k)
{
    tell(k, 0, "reading");
    ek_status status = ek__collect(k->input, &k->c, k->err);
    if (status == EK_OK)
        status = find_start(k);
    if (status == EK_OK)
        status = take_rates(k);
    if (status == EK_OK)
        status = copy_tables(k);
    if (status == EK_OK)
        status = take_links(k);
    if (status == EK_OK)
        status = gather_runs(k);
    if (status == EK_OK)
        status = check_any(k);
    if (status == EK_OK && k->n > 0)
        status = fit_runs(k);
    else if (status == EK_OK)
        k->out.n_runs = 0;
    if (status == EK_OK)
        describe(k);
    return status;
}

ek_status ek_calibrate(const ek_calibrate_input *input, ek_calibration *out, ek_error *err)
{
    ek_error unused;
    calibrating k = {.input = input, .err = err ? err : &unused};
    ek_status status = calibrate(&k);
    if (status == EK_OK) {
        k.out.n_sources = k.c.n_sources;
        k.out.source = k.c.source;
        k.c.source = NULL;
    }
    ek__job_runs_clear(&k.runs);
    ek__fit_clear(&k.fit);
    ek__collected_clear(&k.c);
    free(k.item);
    free(k.job);
    free(k.seconds);
    free(k.group);
    free(k.held);
    free(k.sample);
    free(k.plain);
    if (status)
        ek_calibration_clear(&k.out);
    else
        *out = k.out;
    return status;
}

void ek_calibration_clear(ek_calibration *calibration)
{
    ek_device_clear(&calibration->device);
    free(calibration->source);
    free(calibration->run);
    free(calibration->constant);
    *calibration = (ek_calibration){0};
}
