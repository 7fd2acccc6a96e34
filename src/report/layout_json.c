/* The best layouts for scripts (docs/plan-json.md). What is not known is null. */
#include <math.h>
#include <string.h>

#include "report/layout_internal.h"

static double known(double value)
{
    return value > 0 ? value : (double)NAN;
}

void ek__layout_put_degrees(ek__stream *s, const ek_layout *l)
{
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        ek__stream_int(s, ek_layout_axis_name[i], l->value[i]);
    ek__stream_bool(s, "sequence_parallel", l->sequence_parallel);
    ek__stream_int(s, "micro_batches", l->n_micro_batches);
    ek__stream_text(s, "schedule", l->schedule ? l->schedule->name : NULL);
}

/* ---- plans ---- */

static void put_parts(ek__stream *s, const ek_step *step)
{
    ek__stream_list(s, "parts", false);
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", ek_step_part_name[i]);
        ek__stream_real(s, "seconds", step->stage[step->slowest].seconds[i]);
        ek__stream_text(s, "basis", ek_cost_basis_name[step->basis[i]]);
        ek__stream_real(s, "standard_error_s", known(step->error[i]));
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* Of every chunk a list of its stages. */
static void put_grid(ek__stream *s, const char *key, const ek_plan *plan, const int *value)
{
    ek__stream_list(s, key, false);
    for (int c = 0; c < plan->n_chunks; c++) {
        ek__stream_list(s, NULL, false);
        for (int k = 0; k < plan->n_stages; k++)
            ek__stream_int(s, NULL, value[c * plan->n_stages + k]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_lists(ek__stream *s, const ek_plan *plan)
{
    put_grid(s, "layers", plan, plan->layers);
    put_grid(s, "recompute", plan, plan->full);
    put_grid(s, "select_recompute", plan, plan->select);
    put_grid(s, "select_comm_recompute", plan, plan->comm);
}

static void put_memory(ek__stream *s, const ek_layout_plan *plan)
{
    const ek_memory *m = &plan->estimate.memory;
    ek__stream_fixed(s, "peak_mb", ek__layout_peak_mb(plan), 3);
    ek__stream_fixed(s, "limit_mb", m->limit > 0 ? ek__layout_limit_mb(plan) : (double)NAN, 3);
    ek__stream_int(s, "fullest_stage", m->fullest);
    ek__stream_bool(s, "fits", m->fits);
    ek__stream_list(s, "stage_peak_mb", false);
    for (int k = 0; k < m->n_stages; k++)
        ek__stream_fixed(s, NULL, (double)ek__memory_peak(&m->stage[k]) / EK__MB, 3);
    ek__stream_end(s);
}

void ek__layout_put_plan(ek__stream *s, const char *key, const ek_layout_plan *plan, const char *file)
{
    const ek_estimate *e = &plan->estimate;
    ek__stream_object(s, key, true);
    ek__layout_put_degrees(s, &plan->layout);
    ek__stream_real(s, "step_time_s", e->step.seconds);
    ek__stream_real(s, "standard_error_s", known(e->step.standard_error));
    ek__stream_real(s, "lower_bound_s", plan->lower_bound);
    ek__stream_real(s, "tokens_per_second_per_device", e->metrics.tokens_per_second_per_device);
    ek__stream_real(s, "mfu", e->metrics.mfu);
    put_memory(s, plan);
    ek__stream_from(s, "group", plan->group, 0);
    ek__stream_real(s, "group_error_s", plan->group >= 0 ? plan->group_error : (double)NAN);
    ek__stream_int(s, "slowest_stage", e->step.slowest);
    put_parts(s, &e->step);
    put_lists(s, &plan->job.plan);
    ek__stream_text(s, "settings", plan->settings[0] ? plan->settings : NULL);
    ek__stream_text(s, "file", file);
    ek__stream_end(s);
}

static void put_today(ek__stream *s, const ek_layout_result *r)
{
    if (r->today.job.path)
        ek__layout_put_plan(s, "today", &r->today, NULL);
    else
        ek__stream_null(s, "today");
    ek__stream_real(s, "gain", ek__layout_gain(r));
}

/* ---- layouts ---- */

static void put_ruled_out(ek__stream *s, const ek_layout_counts *c)
{
    ek__stream_object(s, "ruled_out", false);
    for (int i = 0; i < EK_N_LAYOUT_FATES; i++)
        if (i != EK_FATE_PLAN)
            ek__stream_int(s, ek_layout_fate_name[i], c->fate[i]);
    ek__stream_end(s);
    ek__stream_object(s, "memory_over", false);
    for (int i = 0; i < 4; i++)
        ek__stream_int(s, ek__layout_over_key[i], c->over_by[i]);
    ek__stream_end(s);
    ek__stream_object(s, "bound_by", false);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        ek__stream_int(s, ek_step_part_name[i], c->bound_by[i]);
    ek__stream_end(s);
}

static void put_layouts(ek__stream *s, const ek_layout_counts *c)
{
    ek__stream_object(s, "layouts", true);
    ek__stream_int(s, "all", c->all);
    ek__stream_int(s, "legal", c->legal);
    ek__stream_int(s, "bounded", c->bounded);
    ek__stream_int(s, "balanced", c->balanced);
    put_ruled_out(s, c);
    ek__stream_end(s);
}

/* ---- where nothing fits ---- */

static void put_fit(ek__stream *s, const ek_layout_fit *fit)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "change", ek_fit_change_name[fit->change]);
    ek__stream_bool(s, "fits", fit->fits);
    ek__stream_int(s, "devices", fit->n_devices);
    ek__stream_fixed(s, "limit_mb", known(fit->limit_mb), 3);
    if (fit->fits) {
        ek__stream_fixed(s, "peak_mb", fit->peak_mb, 3);
        ek__stream_real(s, "step_time_s", fit->seconds);
        ek__layout_put_degrees(s, &fit->layout);
    }
    ek__stream_end(s);
}

static void put_closest(ek__stream *s, const ek_layout_report *report)
{
    const ek_layout_result *r = report->result;
    if (r->n_plans > 0 || !r->closest.schedule) {
        ek__stream_null(s, "closest");
    } else {
        ek__stream_object(s, "closest", true);
        ek__layout_put_degrees(s, &r->closest);
        ek__stream_fixed(s, "least_peak_mb", r->closest_mb, 3);
        ek__stream_end(s);
    }
    ek__stream_list(s, "would_fit", true);
    for (int i = 0; report->fits && i < report->fits->n; i++)
        put_fit(s, &report->fits->fit[i]);
    ek__stream_end(s);
}

/* ---- the whole ---- */

static void put_job(ek__stream *s, const ek_layout_result *r)
{
    const ek_job *job = r->job;
    ek__stream_object(s, "job", false);
    ek__stream_text(s, "name", job->name);
    ek__stream_text(s, "framework", ek_framework_name[job->framework]);
    ek__stream_int(s, "n_layers", job->model.n_layers);
    ek__stream_int(s, "hidden", job->model.hidden);
    ek__stream_int(s, "seq_length", job->parallel.seq_length);
    ek__stream_end(s);
    ek__stream_text(s, "device", r->device->name);
    ek__stream_int(s, "devices", r->options.n_devices);
    ek__stream_int(s, "global_batch", r->options.global_batch);
    ek__stream_fixed(s, "limit_mb", known(job->limit_mb), 3);
}

static void put_answer(ek__stream *s, const ek_layout_result *r)
{
    ek__stream_bool(s, "proved", r->proved);
    ek__stream_real(s, "gap", r->n_plans > 0 ? r->gap : (double)NAN);
    ek__stream_real(s, "lower_bound_s", r->n_plans > 0 ? r->lower_bound : (double)NAN);
    ek__stream_bool(s, "ended_early", r->ended_early);
    ek__stream_fixed(s, "seconds", r->seconds, 3);
    ek__stream_fixed(s, "first_seconds", r->n_plans > 0 ? r->first_seconds : (double)NAN, 3);
}

/* What deserves doubt is of the best plan's estimate. */
static void put_warnings(ek__stream *s, const ek_layout_report *report)
{
    const ek_layout_result *r = report->result;
    ek__stream_list(s, "warnings", true);
    for (int i = 0; r->n_plans > 0 && i < r->plan[0].estimate.warnings.n; i++)
        ek__stream_text(s, NULL, r->plan[0].estimate.warnings.text[i]);
    for (int i = 0; i < report->n_warnings; i++)
        ek__stream_text(s, NULL, report->warning[i].message);
    ek__stream_end(s);
}

ek_status ek_layout_write_json(const ek_layout_report *report, FILE *out, ek_error *err)
{
    const ek_layout_result *r = report->result;
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    put_job(&s, r);
    put_answer(&s, r);
    ek__stream_list(&s, "plans", true);
    for (int i = 0; i < r->n_plans; i++)
        ek__layout_put_plan(&s, NULL, &r->plan[i], report->file ? report->file[i] : NULL);
    ek__stream_end(&s);
    put_today(&s, r);
    ek__layout_put_advice(&s, report);
    put_layouts(&s, &r->counts);
    put_closest(&s, report);
    put_warnings(&s, report);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
