/* The metrics of a run and the table of devices for scripts (docs/metrics-json.md). What is not known is null. */
#include <math.h>
#include <string.h>

#include "base/json_stream.h"
#include "evenkeel/metrics.h"
#include "evenkeel/train_log.h"
#include "report/metrics_internal.h"
#include "report/report_internal.h"
#include "report/writers.h"

static void put_basis(ek__stream *s, const ek__figure *figure, int n)
{
    ek__stream_object(s, "basis", true);
    for (int i = 0; i < n; i++)
        ek__stream_text(s, figure[i].key, isnan(figure[i].value) ? NULL : figure[i].basis);
    ek__stream_end(s);
}

static void put_terms(ek__stream *s, const ek_flops *flops)
{
    ek__stream_list(s, "terms", true);
    for (int i = 0; i < flops->n; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", flops->term[i].name);
        ek__stream_text(s, "formula", flops->term[i].formula);
        ek__stream_real(s, "forward", flops->term[i].forward);
        ek__stream_real(s, "recomputed", flops->term[i].recomputed);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static double counted(const ek_flops *flops, double value)
{
    return flops->n > 0 ? value : NAN;
}

static void put_flops(ek__stream *s, const ek_metrics_report *r)
{
    const ek_flops *flops = &r->metrics->flops;
    ek__stream_text(s, "flops_source", ek_flops_source_name[r->metrics->flops_source]);
    ek__stream_text(s, "attention", ek_attention_count_name[r->input->attention]);
    ek__stream_real(s, "forward_flops_per_token", counted(flops, flops->forward));
    ek__stream_real(s, "recomputed_flops_per_token", counted(flops, flops->recomputed));
    ek__stream_real(s, "parameters",
                    flops->n > 0               ? flops->parameters
                    : r->input->parameters > 0 ? r->input->parameters
                                               : NAN);
    ek__stream_real(s, "active_parameters", counted(flops, flops->active_parameters));
    put_terms(s, flops);
}

static void put_bubble(ek__stream *s, const ek_metrics *m)
{
    ek__stream_object(s, "bubble", false);
    ek__stream_real(s, "share", m->bubble_share);
    ek__stream_real(s, "ratio", m->bubble_ratio);
    ek__stream_from(s, "n_stages", m->n_stages, 1);
    ek__stream_from(s, "n_chunks", m->n_chunks, 1);
    ek__stream_from(s, "n_micro_batches", m->n_micro_batches, 1);
    ek__stream_end(s);
}

static void put_device(ek__stream *s, const char *key, const ek_device *d)
{
    const ek_tier *last = &d->tier[d->n_tiers - 1];
    ek__stream_object(s, key, false);
    ek__stream_text(s, "name", d->name);
    ek__stream_text(s, "source", d->source);
    ek__stream_bool(s, "certain", d->certain);
    for (int i = 0; i < EK_N_DTYPES; i++) {
        char name[48];
        snprintf(name, sizeof name, "peak_tflops_%s", ek_dtype_name[i]);
        ek__stream_real(s, name, d->peak_tflops[i] > 0 ? d->peak_tflops[i] : NAN);
    }
    ek__stream_real(s, "memory_gib", d->memory_gib);
    ek__stream_real(s, "memory_gbs", d->memory_gbs);
    ek__stream_real(s, "intra_gbs", d->tier[0].gbs / d->tier[0].devices_per_card);
    ek__stream_real(s, "inter_gbs", last->gbs / last->devices_per_card);
    ek__stream_end(s);
}

static void put_predicted(ek__stream *s, const ek_metrics_prediction *p, const char *not_predicted)
{
    ek__stream_text(s, "not_predicted", not_predicted);
    if (!p) {
        ek__stream_null(s, "predicted");
        return;
    }
    ek__stream_object(s, "predicted", true);
    ek__stream_real(s, "step_seconds", p->step.seconds);
    ek__stream_real(s, "standard_error_seconds", p->step.standard_error > 0 ? p->step.standard_error : NAN);
    ek__stream_real(s, "tokens_per_second_per_device", p->metrics.tokens_per_second_per_device);
    ek__stream_real(s, "mfu", p->metrics.mfu);
    ek__stream_real(s, "hfu", p->metrics.hfu);
    ek__stream_real(s, "error", p->error);
    ek__stream_object(s, "basis", false);
    for (int i = 0; i < EK_N_COST_BASES; i++)
        ek__stream_real(s, ek_cost_basis_name[i], p->basis_share[i]);
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_baseline(ek__stream *s, const ek_metrics_input *in)
{
    if (!(in->baseline > 0)) {
        ek__stream_null(s, "baseline");
        return;
    }
    ek__stream_object(s, "baseline", false);
    ek__stream_real(s, "samples_per_second", in->baseline);
    ek__stream_int(s, "n_devices", in->baseline_devices);
    ek__stream_end(s);
}

static void put_log(ek__stream *s, const ek_metrics_report *r)
{
    const ek_train_log *log = r->log;
    const ek_train_log_summary *sum = r->summary;
    if (!log) {
        ek__stream_null(s, "log");
        return;
    }
    ek__stream_object(s, "log", false);
    ek__stream_text(s, "framework", ek_train_log_kind_name[log->kind]);
    ek__stream_int(s, "n_steps", log->n);
    ek__stream_int(s, "n_left_out_at_start", sum ? sum->first : 0);
    ek__stream_int(s, "n_counted", sum ? sum->n : 0);
    ek__stream_real(s, "median_seconds", sum ? sum->median_seconds : NAN);
    ek__stream_real(s, "mean_seconds", sum ? sum->mean_seconds : NAN);
    ek__stream_real(s, "deviation_seconds", sum ? sum->deviation_seconds : NAN);
    ek__stream_real(s, "worst_seconds", sum ? sum->worst_seconds : NAN);
    ek__stream_real(s, "median_samples_per_second_per_device", sum ? sum->median_rate : NAN);
    ek__stream_real(s, "median_tflops", sum ? sum->median_tflops : NAN);
    ek__stream_real(s, "first_loss", log->step[0].loss);
    ek__stream_real(s, "last_loss", log->step[log->n - 1].loss);
    ek__stream_real(s, "peak_mb", log->peak_mb);
    ek__stream_end(s);
}

ek_status ek__metrics_write_json(const ek_metrics_report *report, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    ek__figure figure[EK__MAX_FIGURES];
    int n = ek__metrics_figures(report, figure);
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    for (int i = 0; i < n; i++)
        if (strncmp(figure[i].key, "bubble_", strlen("bubble_")) != 0)
            ek__stream_real(&s, figure[i].key, figure[i].value);
    put_predicted(&s, report->predicted, report->not_predicted);
    put_bubble(&s, report->metrics);
    put_flops(&s, report);
    put_baseline(&s, report->input);
    ek__stream_text(&s, "source", report->source);
    put_log(&s, report);
    ek__stream_from(&s, "n_trace_steps", report->n_trace_steps, 1);
    ek__stream_text(&s, "trace_step", report->trace_step);
    if (report->input->device)
        put_device(&s, "device", report->input->device);
    else
        ek__stream_null(&s, "device");
    put_basis(&s, figure, n);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}

ek_status ek__devices_write_json(FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    int n;
    const ek_device *device = ek_devices(&n);
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    ek__stream_list(&s, "devices", true);
    for (int i = 0; i < n; i++)
        put_device(&s, NULL, &device[i]);
    ek__stream_end(&s);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
