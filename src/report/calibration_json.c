/* A calibration for scripts (docs/calibrate.md): all of it as JSON, where null is what is not known, and its runs as a
 * table. */
#include <math.h>

#include "base/json_stream.h"
#include "report/calibration_internal.h"
#include "report/report_internal.h"
#include "report/writers.h"

static void put_error(ek__stream *s, const char *key, const ek_calibration_error *e)
{
    ek__stream_object(s, key, false);
    ek__stream_int(s, "n", e->n);
    ek__stream_real(s, "mean", e->n > 0 ? e->mean : NAN);
    ek__stream_real(s, "median", e->n > 0 ? e->median : NAN);
    ek__stream_real(s, "worst", e->n > 0 ? e->worst : NAN);
    ek__stream_real(s, "bias", e->n > 0 ? e->bias : NAN);
    ek__stream_end(s);
}

static void put_errors(ek__stream *s, const ek_calibration *c)
{
    ek__stream_object(s, "errors", true);
    put_error(s, "start", &c->before);
    put_error(s, "fit", &c->fit);
    put_error(s, "leave_one_out", &c->leave_one_out);
    put_error(s, "leave_group_out", &c->leave_group_out);
    put_error(s, "kept_back_start", &c->held_before);
    put_error(s, "kept_back", &c->held);
    ek__stream_end(s);
    bool any = c->n_used > 0;
    ek__stream_real(s, "met_error", any ? c->met_error : NAN);
    ek__stream_real(s, "new_error", any ? c->new_error : NAN);
    ek__stream_real(s, "noise", any ? c->noise : NAN);
}

static void put_sources(ek__stream *s, const ek_calibration *c)
{
    ek__stream_list(s, "sources", true);
    for (int i = 0; i < c->n_sources; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "path", c->source[i].path);
        ek__stream_text(s, "kind", ek_source_kind_name[c->source[i].kind]);
        ek__stream_int(s, "n", c->source[i].n);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_constants(ek__stream *s, const ek_calibration *c)
{
    ek__stream_list(s, "constants", true);
    for (int i = 0; i < c->n_constants; i++) {
        const ek_calibrated_constant *k = &c->constant[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", k->name);
        ek__stream_text(s, "unit", k->unit[0] ? k->unit : NULL);
        ek__stream_text(s, "state", ek_fit_state_name[k->state]);
        ek__stream_real(s, "start", k->start);
        ek__stream_real(s, "value", k->value);
        ek__stream_real(s, "standard_error", k->state == EK_FIT_DETERMINED ? k->error : NAN);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_runs(ek__stream *s, const ek_calibration *c)
{
    ek__stream_list(s, "runs", true);
    for (int i = 0; i < c->n_runs; i++) {
        const ek_calibrated_run *r = &c->run[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", r->name);
        ek__stream_text(s, "group", r->group);
        ek__stream_text(s, "file", r->file);
        ek__stream_from(s, "line", r->line, 1);
        ek__stream_text(s, "use", ek__calibrated_use(r));
        ek__stream_text(s, "why", r->why[0] && !r->used && !r->held ? r->why : NULL);
        ek__stream_real(s, "measured_s", r->measured);
        ek__stream_real(s, "start_s", r->before);
        ek__stream_real(s, "predicted_s", r->after);
        ek__stream_real(s, "left_out_s", r->left_out);
        ek__stream_real(s, "group_left_out_s", r->group_out);
        ek__stream_real(s, "weight", r->used ? r->weight : NAN);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_counts(ek__stream *s, const char *key, const long long *count, const char *const *name, int n)
{
    ek__stream_object(s, key, false);
    for (int i = 0; i < n; i++)
        ek__stream_int(s, name[i], count[i]);
    ek__stream_end(s);
}

static void put_shapes(ek__stream *s, const ek_calibrated_profile *p)
{
    ek__stream_list(s, "shapes", false);
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        if (p->n_shapes[k] > 0) {
            ek__stream_object(s, NULL, false);
            ek__stream_text(s, "kind", ek_kernel_name[k]);
            ek__stream_int(s, "n", p->n_shapes[k]);
            ek__stream_bool(s, "curve_fitted", p->fitted[k]);
            ek__stream_real(s, "start_error", p->start_error[k]);
            ek__stream_end(s);
        }
    ek__stream_end(s);
}

static void put_profiles(ek__stream *s, const ek_calibration *c)
{
    ek__stream_list(s, "profiles", true);
    for (int i = 0; i < c->n_profiles; i++) {
        const ek_calibrated_profile *p = &c->profile[i];
        bool launches = !isnan(p->launch_us);
        ek__stream_object(s, NULL, true);
        ek__stream_text(s, "path", p->path);
        ek__stream_int(s, "ranks", p->n_ranks);
        put_counts(s, "operators", p->n_operators, ek_profile_left_name, EK_N_PROFILE_LEFT);
        put_shapes(s, p);
        ek__stream_int(s, "causal_assumed", p->n_causal_assumed);
        ek__stream_int(s, "layout_assumed", p->n_layout_assumed);
        put_counts(s, "collectives", p->n_collectives, ek_profile_collective_name, EK_N_PROFILE_COLLECTIVES);
        ek__stream_int(s, "link_times", p->n_link_times);
        ek__stream_int(s, "launches", p->n_intervals);
        ek__stream_real(s, "launch_us", p->launch_us);
        ek__stream_text(s, "launch", launches ? ek_launch_name[p->launch] : NULL);
        ek__stream_bool(s, "launch_used", p->launch_used);
        ek__stream_real(s, "step_s", p->step_seconds);
        ek__stream_bool(s, "step_used", p->step_used);
        ek__stream_list(s, "notes", false);
        for (int n = 0; n < EK_N_PROFILE_NOTES && p->note[n][0]; n++)
            ek__stream_text(s, NULL, p->note[n]);
        ek__stream_end(s);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_links(ek__stream *s, const ek_calibration *c)
{
    ek__stream_list(s, "links", true);
    for (int i = 0; i < c->n_links; i++) {
        const ek_calibrated_link *l = &c->link[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "tier", c->device.tier[l->tier].name);
        ek__stream_text(s, "collective", ek_collective_name[l->what]);
        ek__stream_int(s, "n", l->n);
        ek__stream_real(s, "share", l->share);
        ek__stream_real(s, "start_us", l->start_us);
        ek__stream_real(s, "median_error", l->median_error);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_list(s, "kernels", true);
    for (int k = 0; k < EK_N_KERNEL_KINDS && c->has_kernels; k++)
        if (c->kernels[k].n > 0) {
            ek__stream_object(s, NULL, false);
            ek__stream_text(s, "kind", ek_kernel_name[k]);
            ek__stream_int(s, "n", c->kernels[k].n);
            ek__stream_real(s, "median_error", c->kernels[k].median);
            ek__stream_real(s, "worst_error", c->kernels[k].worst);
            ek__stream_bool(s, "determined", c->kernels[k].determined);
            ek__stream_end(s);
        }
    ek__stream_end(s);
}

static void put_design(ek__stream *s, const ek_calibration *c)
{
    ek__stream_object(s, "layers", false);
    ek__stream_int(s, "rows", c->n_layers);
    ek__stream_real(s, "width", c->n_layers > 0 ? c->layer_width : NAN);
    ek__stream_real(s, "lambda", c->n_layers > 0 ? c->layer_lambda : NAN);
    ek__stream_end(s);
    ek__stream_int(s, "candidates", c->n_candidates);
    ek__stream_real(s, "candidate_error", c->n_candidates > 0 ? c->candidate_error : NAN);
    ek__stream_list(s, "next_runs", true);
    for (int i = 0; i < c->n_proposed; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "layout", c->proposed[i].what);
        ek__stream_text(s, "from", c->proposed[i].from);
        ek__stream_text(s, "change", c->proposed[i].change);
        ek__stream_real(s, "predicted_s", c->proposed[i].seconds);
        ek__stream_real(s, "standard_error", c->proposed[i].expected);
        ek__stream_bool(s, "new_cell", c->proposed[i].new_cell);
        ek__stream_real(s, "candidate_error_after", c->proposed[i].after);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

ek_status ek__calibration_write_json(const ek_calibration *c, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_text(&s, "device", c->device.name);
    ek__stream_text(&s, "start", c->start);
    put_sources(&s, c);
    ek__stream_int(&s, "fitted", c->n_used);
    ek__stream_int(&s, "groups", c->n_groups);
    ek__stream_int(&s, "kept_back", c->n_held);
    ek__stream_int(&s, "left_out", c->n_left);
    put_errors(&s, c);
    put_constants(&s, c);
    put_profiles(&s, c);
    put_links(&s, c);
    put_design(&s, c);
    put_runs(&s, c);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}

/* ---- a table ---- */

static void csv_real(double value, FILE *out)
{
    fprintf(out, ",%s", isfinite(value) ? ek__real(value).text : "");
}

ek_status ek__calibration_write_csv(const ek_calibration *c, FILE *out, ek_error *err)
{
    fputs("file,line,name,group,use,measured_s,start_s,predicted_s,left_out_s,group_left_out_s,weight,why\n", out);
    for (int i = 0; i < c->n_runs; i++) {
        const ek_calibrated_run *r = &c->run[i];
        ek__print_csv(r->file, out);
        fprintf(out, r->line > 0 ? ",%d," : ",,", r->line);
        ek__print_csv(r->name, out);
        fputc(',', out);
        ek__print_csv(r->group, out);
        fprintf(out, ",%s", ek__calibrated_use(r));
        csv_real(r->measured, out);
        csv_real(r->before, out);
        csv_real(r->after, out);
        csv_real(r->left_out, out);
        csv_real(r->group_out, out);
        csv_real(r->used ? r->weight : NAN, out);
        fputc(',', out);
        ek__print_csv(r->used || r->held ? "" : r->why, out);
        fputc('\n', out);
    }
    return ek__finish(out, err);
}
