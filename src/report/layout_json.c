/* The best layouts for scripts (docs/plan-json.md). What is not known is null. */
#include <math.h>

#include "report/layout_internal.h"
#include "report/writers.h"

/* ---- plans ---- */

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
    ek__stream_fixed(s, "limit_mb", ek__layout_known(fit->limit_mb), 3);
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
    ek__stream_fixed(s, "limit_mb", ek__layout_known(job->limit_mb), 3);
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

ek_status ek__layout_write_json(const ek_layout_report *report, FILE *out, ek_error *err)
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
