/* An estimate for scripts (docs/estimate-json.md), and as a table of comma-separated values. What is not known is null,
 * and an empty cell in the table. */
#include <math.h>
#include <string.h>

#include "base/json_stream.h"
#include "evenkeel/estimate.h"
#include "evenkeel/estimate_report.h"
#include "report/estimate_internal.h"
#include "report/writers.h"

static double known(double value)
{
    return value > 0 ? value : (double)NAN;
}

static void put_model(ek__stream *s, const ek_estimate *e)
{
    const ek_job *job = e->job;
    const ek_job_parallel *d = &job->parallel;
    ek__stream_object(s, "job", false);
    ek__stream_text(s, "name", job->name);
    ek__stream_text(s, "framework", ek_framework_name[job->framework]);
    ek__stream_int(s, "n_layers", job->model.n_layers);
    ek__stream_int(s, "hidden", job->model.hidden);
    ek__stream_int(s, "devices", e->metrics.n_devices);
    ek__stream_int(s, "data", d->data);
    ek__stream_int(s, "tensor", d->tensor);
    ek__stream_int(s, "pipeline", d->pipeline);
    ek__stream_int(s, "context", d->context);
    ek__stream_int(s, "expert", d->expert);
    ek__stream_int(s, "n_chunks", job->plan.n_chunks);
    ek__stream_int(s, "n_micro_batches", d->n_micro_batches);
    ek__stream_int(s, "batch", d->batch);
    ek__stream_int(s, "seq_length", d->seq_length);
    ek__stream_text(s, "schedule", job->schedule->name);
    ek__stream_end(s);
}

static void put_run(ek__stream *s, const ek_job_run *run)
{
    ek__stream_object(s, "run", false);
    ek__stream_text(s, "launch", ek_launch_name[run->launch]);
    ek__stream_bool(s, "overlap_gradients", run->overlap_gradients);
    ek__stream_bool(s, "overlap_weights", run->overlap_weights);
    ek__stream_bool(s, "overlap_tensor", run->overlap_tensor);
    ek__stream_bool(s, "overlap_tensor_gradients", run->overlap_tensor_gradients);
    ek__stream_bool(s, "overlap_expert", run->overlap_expert);
    ek__stream_bool(s, "send_once", run->send_once);
    ek__stream_bool(s, "overlap_p2p", run->overlap_p2p);
    ek__stream_real(s, "bucket_bytes", run->bucket_bytes);
    ek__stream_text(s, "fp8", ek_fp8_name[run->fp8]);
    ek__stream_end(s);
}

static void put_device(ek__stream *s, const ek_device *d)
{
    ek__stream_object(s, "device", false);
    ek__stream_text(s, "name", d->name);
    ek__stream_text(s, "source", d->source);
    ek__stream_bool(s, "certain", d->certain);
    ek__stream_real(s, "error", known(d->error));
    ek__stream_text(s, "error_basis", d->error > 0 ? ek_error_basis_name[d->error_basis] : NULL);
    ek__stream_end(s);
}

static void put_parts(ek__stream *s, const ek_step *step)
{
    ek__stream_list(s, "parts", true);
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

static void put_stages(ek__stream *s, const ek_step *step)
{
    ek__stream_list(s, "stages", true);
    for (int k = 0; k < step->n_stages; k++) {
        const ek_step_stage *stage = &step->stage[k];
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "stage", k);
        ek__stream_object(s, "parts_s", false);
        for (int i = 0; i < EK_N_STEP_PARTS; i++)
            ek__stream_real(s, ek_step_part_name[i], stage->seconds[i]);
        ek__stream_end(s);
        ek__stream_real(s, "hidden_data_s", stage->hidden_data);
        ek__stream_real(s, "hidden_tensor_s", stage->hidden_tensor);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_memory(ek__stream *s, const ek_estimate *e)
{
    const ek_memory *m = &e->memory;
    bool limited = m->limit > 0;
    ek__stream_object(s, "memory", false);
    ek__stream_fixed(s, "peak_mb", (double)ek__memory_peak(&m->stage[m->fullest]) / EK__MB, 3);
    ek__stream_fixed(s, "limit_mb", limited ? (double)m->limit / EK__MB : (double)NAN, 3);
    ek__stream_text(s, "limit_from", !limited ? NULL : e->limit_of_device ? "device" : "job");
    ek__stream_bool(s, "fits", m->fits);
    ek__stream_int(s, "fullest_stage", m->fullest);
    ek__stream_list(s, "stages", false);
    for (int k = 0; k < m->n_stages; k++) {
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "stage", k);
        ek__stream_fixed(s, "peak_mb", (double)ek__memory_peak(&m->stage[k]) / EK__MB, 3);
        ek__stream_fixed(s, "used_peak_mb", (double)m->stage[k].used_peak / EK__MB, 3);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_texts(ek__stream *s, const char *key, const ek_estimate_texts *texts)
{
    ek__stream_list(s, key, true);
    for (int i = 0; i < texts->n; i++)
        ek__stream_text(s, NULL, texts->text[i]);
    ek__stream_end(s);
}

static void put_warnings(ek__stream *s, const ek_estimate_report *r)
{
    ek__stream_list(s, "warnings", true);
    for (int i = 0; i < r->estimate->warnings.n; i++)
        ek__stream_text(s, NULL, r->estimate->warnings.text[i]);
    for (int i = 0; i < r->n_warnings; i++)
        ek__stream_text(s, NULL, r->warning[i].message);
    ek__stream_end(s);
}

static void put_against(ek__stream *s, const ek_estimate_report *r)
{
    const ek_against *a = r->against;
    if (!a) {
        ek__stream_null(s, "against");
        return;
    }
    ek__stream_object(s, "against", true);
    ek__stream_text(s, "source", r->against_source);
    ek__stream_text(s, "what", a->words);
    ek__stream_real(s, "measured_s", a->seconds);
    ek__stream_real(s, "predicted_s", r->estimate->step.seconds);
    ek__stream_real(s, "error", a->error);
    ek__stream_list(s, "parts", true);
    for (int i = 0; i < EK_N_AGAINST_PARTS && a->has_parts; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", ek_against_name[i]);
        ek__stream_real(s, "measured_s", a->part[i]);
        ek__stream_real(s, "predicted_s", a->predicted[i]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_text(s, "differs_most", a->has_parts ? ek_against_name[a->worst] : NULL);
    put_texts(s, "remarks", &a->texts);
    ek__stream_end(s);
}

static void put_figures(ek__stream *s, const ek_estimate *e)
{
    const ek_step *step = &e->step;
    char near[200];
    ek__stream_real(s, "step_time_s", step->seconds);
    ek__stream_real(s, "standard_error_s", known(step->standard_error));
    ek__stream_real(s, "standard_error", known(step->standard_error) / step->seconds);
    ek__stream_real(s, "tokens_per_second_per_device", e->metrics.tokens_per_second_per_device);
    ek__stream_real(s, "samples_per_second", e->metrics.samples_per_second);
    ek__stream_real(s, "tokens_per_step", e->tokens_per_step);
    ek__stream_real(s, "global_batch", e->metrics.global_batch);
    ek__stream_real(s, "mfu", e->metrics.mfu);
    ek__stream_real(s, "hfu", e->metrics.hfu);
    ek__stream_real(s, "micro_batch_s", step->micro_batch_seconds);
    ek__stream_real(s, "tokens", e->wanted_tokens);
    ek__stream_real(s, "days", e->days);
    ek__stream_real(s, "nearest_measured", step->nearest);
    ek__stream_text(s, "nearest", ek_near_name[e->near]);
    ek__stream_text(s, "nearest_words", ek_near_words(step->nearest, near, sizeof near));
    ek__stream_real(s, "share_without_error", e->share_without_error);
    ek__stream_int(s, "slowest_stage", step->slowest);
    ek__stream_object(s, "basis_share", false);
    for (int i = 0; i < EK_N_COST_BASES; i++)
        ek__stream_real(s, ek_cost_basis_name[i], e->basis_share[i]);
    ek__stream_end(s);
}

ek_status ek__estimate_write_json(const ek_estimate_report *report, FILE *out, ek_error *err)
{
    const ek_estimate *e = report->estimate;
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    put_figures(&s, e);
    put_parts(&s, &e->step);
    put_stages(&s, &e->step);
    put_memory(&s, e);
    put_against(&s, report);
    put_model(&s, e);
    put_run(&s, &e->job->run);
    put_device(&s, e->device);
    put_texts(&s, "advice", &e->advice);
    put_warnings(&s, report);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}

/* ---- a table ---- */

static void csv_row(const ek_estimate *e, int s, int part, FILE *out)
{
    const ek_step *step = &e->step;
    double seconds = step->stage[s].seconds[part];
    bool slowest = s == step->slowest;
    fprintf(out, "%d,%s,%s", s, ek_step_part_name[part], ek__fixed(seconds, 9).text);
    fprintf(out, ",%s", ek__fixed(step->seconds > 0 ? seconds / step->seconds : 0, 6).text);
    fprintf(out, ",%s", ek_cost_basis_name[step->basis[part]]);
    fprintf(out, ",%s", slowest && step->error[part] > 0 ? ek__fixed(step->error[part], 9).text : "");
    fprintf(out, ",%s\n", ek__exact_mb(ek__memory_peak(&e->memory.stage[s])).text);
}

ek_status ek__estimate_write_csv(const ek_estimate_report *report, FILE *out, ek_error *err)
{
    fputs("stage,part,seconds,share,basis,standard_error_s,stage_peak_mb\n", out);
    for (int s = 0; s < report->estimate->step.n_stages; s++)
        for (int i = 0; i < EK_N_STEP_PARTS; i++)
            csv_row(report->estimate, s, i, out);
    return ek__finish(out, err);
}
