/* Fits constants, then the table of layers. The table's shares come from moving every layer, and every embedding and
 * head, by one percent: so bubbles, overlaps and limits of the host are in them. */
#include "calibrate/runs_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { N_TURNS = 3 };

static const double little = 0.01; /* of a logarithm, for differences */

typedef struct fitting {
    const ek__runs_to_fit *in;
    const ek_device *start;
    ek__runs_fit *out;
    ek__job_runs jobs;
    ek__layer_sample *sample; /* [n] */
    double *moved;            /* [n] logarithms predicted with layers, then ends, moved a little */
    double *plain;            /* [n] residuals of only the constants */
    ek__layer_left *left;     /* [n] */
    bool *wanted;             /* [n] */
    ek_error *err;
} fitting;

double ek__root_mean_square(const double *value, const bool *used, int n)
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

/* ---- constants ---- */

static ek_status fit_constants(fitting *f)
{
    const ek__runs_to_fit *in = f->in;
    const ek__fit_problem problem = {.n = in->n,
                                     .seconds = in->seconds,
                                     .group = in->group,
                                     .held = in->held,
                                     .predict = ek__job_runs_predict,
                                     .user = &f->jobs,
                                     .progress = in->progress,
                                     .progress_user = in->progress_user,
                                     .interrupt = in->interrupt};
    ek_status status = ek__fit_run(&problem, f->start, &f->out->fit, f->err);
    if (status == EK_ERR_INPUT && f->jobs.why.message[0] && f->err && !strstr(f->err->message, "interrupted")) {
        char text[sizeof f->err->message];
        snprintf(text, sizeof text, "%.500s. The last one: %.450s", f->err->message, f->jobs.why.message);
        memcpy(f->err->message, text, sizeof text);
    }
    return status;
}

/* ---- layers ---- */

static ek_status predict(fitting *f, const ek_layer_table *table, double *out)
{
    ek_device device = f->out->fit.device;
    device.layers = (ek_layer_table *)table;
    return ek__job_runs_predict(&f->jobs, &device, f->wanted, out, f->err);
}

/* The share of each step that moves with its layers, or with its embedding and head, at the current table. */
static ek_status fill_shares(fitting *f, const ek_layer_table *table, int which)
{
    ek_layer_table *moved =
        ek__layer_table_shifted(table, which == EK__LAYERS ? little : 0, which == EK__ENDS ? little : 0);
    ek_status status = moved ? predict(f, moved, f->moved) : ek__no_memory(f->err);
    for (int i = 0; i < f->in->n && status == EK_OK; i++)
        f->sample[i].share[which] = f->wanted[i] ? (f->moved[i] - f->out->fit.after[i]) / little : 0;
    ek__layer_table_free(moved);
    return status;
}

static void fill_places(fitting *f)
{
    const ek__fit *fit = &f->out->fit;
    for (int i = 0; i < f->in->n; i++) {
        const ek_job *job = f->in->job[i];
        ek__layer_sample *s = &f->sample[i];
        ek__layer_coordinates(job, ek__job_layer_kind(job), s->at[EK__LAYERS]);
        ek__layer_coordinates(job, EK__GRAPH_HEAD, s->at[EK__ENDS]);
        s->used = fit->used[i];
        s->group = f->in->group[i];
        s->plain[0] = fit->left_out[i];
        s->plain[1] = fit->group_out[i];
        s->moved[0] = fit->left_out[i] - f->plain[i];
        s->moved[1] = fit->group_out[i] - f->plain[i];
        f->wanted[i] = !isnan(fit->after[i]);
    }
}

/* Residuals are counted from the prediction without corrections. */
static void fill_missing(fitting *f, const ek_layer_table *table)
{
    for (int i = 0; i < f->in->n; i++) {
        ek__layer_sample *s = &f->sample[i];
        s->missing = f->out->fit.measured[i] - f->out->fit.after[i];
        for (int k = 0; k < EK__N_LAYER_SHARES; k++)
            s->missing += s->share[k] * log(ek__layer_table_factor(table, s->at[k]));
    }
}

static void parse(fitting *f, ek_layer_table *table, const ek__layers_fit *scale)
{
    ek__layer_table_free(f->out->layers);
    f->out->layers = table;
    f->out->scale = *scale;
}

/* One table at the shares of the one before; @param found  out: there is one */
static ek_status turn(fitting *f, bool *found)
{
    const ek_layer_table *now = f->out->layers ? f->out->layers : f->start->layers;
    ek_layer_table *table = NULL;
    ek__layers_fit scale;
    ek_status status = fill_shares(f, now, EK__LAYERS);
    if (status == EK_OK)
        status = fill_shares(f, now, EK__ENDS);
    if (status)
        return status;
    fill_missing(f, now);
    status = ek__layers_fit_run(f->sample, f->in->n, f->start->layers, &table, f->left, &scale, f->err);
    *found = table != NULL;
    if (status || !table)
        return status;
    parse(f, table, &scale);
    return predict(f, table, f->out->fit.after);
}

static ek_status fit_layers(fitting *f)
{
    ek__fit *fit = &f->out->fit;
    bool found = true;
    for (int i = 0; i < f->in->n; i++)
        f->plain[i] = fit->after[i] - fit->measured[i];
    f->out->plain = ek__root_mean_square(fit->left_out, fit->used, f->in->n);
    fill_places(f);
    ek_status status = EK_OK;
    for (int i = 0; i < N_TURNS && found && status == EK_OK; i++)
        status = turn(f, &found);
    if (status || !f->out->layers)
        return status;
    fit->device.layers = f->out->layers;
    for (int i = 0; i < f->in->n; i++)
        if (fit->used[i]) {
            fit->left_out[i] = f->left[i].alone;
            fit->group_out[i] = f->left[i].with_group;
        }
    return EK_OK;
}

/* ---- together ---- */

static bool make_room(fitting *f)
{
    size_t n = (size_t)f->in->n;
    f->sample = ek__alloc(n, sizeof *f->sample);
    f->moved = ek__alloc(n, sizeof *f->moved);
    f->plain = ek__alloc(n, sizeof *f->plain);
    f->left = ek__alloc(n, sizeof *f->left);
    f->wanted = ek__alloc(n, sizeof *f->wanted);
    return f->sample && f->moved && f->plain && f->left && f->wanted;
}

ek_status ek__runs_fit_run(const ek__runs_to_fit *runs, const ek_device *start, ek__runs_fit *out, ek_error *err)
{
    ek__runs_fit made = {.layers = NULL};
    fitting f = {.in = runs, .start = start, .out = &made, .err = err};
    f.jobs = (ek__job_runs){.n = runs->n, .job = runs->job, .interrupt = runs->interrupt};
    ek_status status = make_room(&f) ? fit_constants(&f) : ek__no_memory(err);
    if (status == EK_OK)
        status = fit_layers(&f);
    made.why = f.jobs.why;
    ek__job_runs_clear(&f.jobs);
    free(f.sample);
    free(f.moved);
    free(f.plain);
    free(f.left);
    free(f.wanted);
    if (status)
        ek__runs_fit_clear(&made);
    else
        *out = made;
    return status;
}

void ek__runs_fit_clear(ek__runs_fit *fit)
{
    ek__fit_clear(&fit->fit);
    ek__layer_table_free(fit->layers);
    *fit = (ek__runs_fit){.layers = NULL};
}
