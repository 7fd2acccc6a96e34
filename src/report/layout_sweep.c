/* A sweep of layouts: a row for every value, for people, as JSON (docs/plan-json.md) and comma-separated. */
#include <math.h>

#include "base/page.h"
#include "evenkeel/layout_advice.h"
#include "report/layout_internal.h"
#include "report/writers.h"

static const char *const title[EK_N_LAYOUT_SWEEPS] = {"devices", "memory, MB", "global batch"};

/* ---- for people ---- */

/* A layout may need less than the limit at least, and still have no split of its layers that fits. */
static void print_nothing(const ek_layout_sweep_point *p, double limit_mb, FILE *out)
{
    if (p->least_mb <= 0)
        fputs("  no layout is legal\n", out);
    else if (limit_mb > 0 && p->least_mb > limit_mb)
        fprintf(out, "  nothing fits: every layout needs %s MB or more\n", ek__grouped(ceil(p->least_mb)).text);
    else
        fputs("  nothing fits: no split of the layers does\n", out);
}

static void print_point(const ek_layout_sweep_point *p, double limit_mb, FILE *out)
{
    char words[256];
    fprintf(out, "%12s", ek__grouped(p->value).text);
    if (!p->found) {
        print_nothing(p, limit_mb, out);
        return;
    }
    fprintf(out, "  %12s", ek__seconds(p->step_seconds).text);
    fprintf(out, "  %8s", ek__grouped(p->tokens_per_second_per_device).text);
    fprintf(out, "  %9s", ek__fixed(p->linearity, 3).text);
    fprintf(out, "  %8s", ek__grouped(ek__layout_peak_mb(&p->plan)).text);
    fprintf(out, "  %7s  ", p->gap <= 0 ? "0" : ek__fixed(100 * p->gap, 2).text);
    ek_layout_words(&p->plan.layout, words, sizeof words);
    fprintf(out, "%s\n", words);
}

static void print_conclusions(const ek_layout_sweep_report *report, FILE *out)
{
    const ek_layout_sweep *s = report->sweep;
    if (s->what == EK_SWEEP_DEVICES && s->last_linear >= 0 && s->n > 1)
        fprintf(out, "Linearity is at least %s up to %s devices.\n", ek__fixed(EK_LINEARITY_MARK, 1).text,
                ek__grouped(s->point[s->last_linear].value).text);
    if (report->wanted_seconds > 0 && s->cheapest >= 0) {
        fprintf(out, "A step of %s or less: ", ek__seconds(report->wanted_seconds).text);
        fprintf(out, "%s devices are enough.\n", ek__grouped(s->point[s->cheapest].n_devices).text);
    } else if (report->wanted_seconds > 0) {
        fprintf(out, "None of these has a step of %s or less.\n", ek__seconds(report->wanted_seconds).text);
    }
}

ek_status ek__layout_sweep_write_text(const ek_layout_sweep_report *report, FILE *out, ek_error *err)
{
    const ek_layout_sweep *s = report->sweep;
    ek__print_name(report->job->name[0] ? report->job->name : "model", out);
    fputs(" on ", out);
    ek__print_name(report->device->name, out);
    fprintf(out, ": the best layout by %s\n\n%12s  %12s  tokens/s  linearity  peak, MB  gap, %%  layout\n",
            ek_layout_sweep_name[s->what], title[s->what], "step");
    for (int i = 0; i < s->n; i++)
        print_point(&s->point[i], s->what == EK_SWEEP_MEMORY ? s->point[i].value : report->job->limit_mb, out);
    print_conclusions(report, out);
    return ek__finish(out, err);
}

/* ---- for scripts ---- */

static void put_point(ek__stream *s, const ek_layout_sweep_point *p)
{
    ek__stream_object(s, NULL, true);
    ek__stream_real(s, "value", p->value);
    ek__stream_int(s, "devices", p->n_devices);
    ek__stream_int(s, "global_batch", p->global_batch);
    ek__stream_bool(s, "found", p->found);
    ek__stream_bool(s, "proved", p->proved);
    ek__stream_real(s, "gap", p->found ? p->gap : (double)NAN);
    ek__stream_real(s, "step_time_s", p->found ? p->step_seconds : (double)NAN);
    ek__stream_real(s, "tokens_per_second_per_device", p->found ? p->tokens_per_second_per_device : (double)NAN);
    ek__stream_real(s, "linearity", p->linearity);
    ek__stream_fixed(s, "least_peak_mb", p->least_mb > 0 && !p->found ? p->least_mb : (double)NAN, 3);
    if (p->found)
        ek__layout_put_plan(s, "plan", &p->plan, NULL);
    else
        ek__stream_null(s, "plan");
    ek__stream_end(s);
}

ek_status ek__layout_sweep_write_json(const ek_layout_sweep_report *report, FILE *out, ek_error *err)
{
    const ek_layout_sweep *sweep = report->sweep;
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    ek__stream_text(&s, "job", report->job->name);
    ek__stream_text(&s, "device", report->device->name);
    ek__stream_text(&s, "sweep", ek_layout_sweep_name[sweep->what]);
    ek__stream_from(&s, "last_linear", sweep->last_linear, 0);
    ek__stream_from(&s, "cheapest", sweep->cheapest, 0);
    ek__stream_list(&s, "points", true);
    for (int i = 0; i < sweep->n; i++)
        put_point(&s, &sweep->point[i]);
    ek__stream_end(&s);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}

static void row(const ek_layout_sweep_point *p, FILE *out)
{
    fprintf(out, "%.15g,%d,%lld,", p->value, p->n_devices, (long long)p->global_batch);
    if (!p->found) {
        fprintf(out, ",,,,%s", p->proved ? "true" : "false");
        for (int i = 0; i < EK_N_LAYOUT_AXES + 3; i++)
            fputc(',', out);
        fputc('\n', out);
        return;
    }
    fprintf(out, "%.9f,%.3f,%.6f,%.3f,%s", p->step_seconds, p->tokens_per_second_per_device, p->linearity,
            ek__layout_peak_mb(&p->plan), p->proved ? "true" : "false");
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        fprintf(out, ",%d", p->plan.layout.value[i]);
    fprintf(out, ",%s,%s,%d\n", p->plan.layout.sequence_parallel ? "true" : "false", p->plan.layout.schedule->name,
            p->plan.layout.n_micro_batches);
}

ek_status ek__layout_sweep_write_csv(const ek_layout_sweep_report *report, FILE *out, ek_error *err)
{
    fputs("value,devices,global_batch,step_time_s,tokens_per_second_per_device,linearity,peak_mb,proved", out);
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        fprintf(out, ",%s", ek_layout_axis_name[i]);
    fputs(",sequence_parallel,schedule,micro_batches\n", out);
    for (int i = 0; i < report->sweep->n; i++)
        row(&report->sweep->point[i], out);
    return ek__finish(out, err);
}
