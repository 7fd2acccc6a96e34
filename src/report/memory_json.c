/* A prediction of memory for scripts (docs/memory-json.md), as a table of comma-separated values, and as the list of
 * rules. MB are printed with three decimals; bytes beside the peaks are exact. What was not asked for is left out. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_stream.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/recompute_sets.h"
#include "report/memory_internal.h"
#include "report/writers.h"

static void put_mb(ek__stream *s, const char *key, int64_t bytes)
{
    ek__stream_fixed(s, key, (double)bytes / EK__MB, 3);
}

static void put_parts(ek__stream *s, const ek_memory_stage *stage)
{
    ek__stream_object(s, "parts_mb", false);
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
        put_mb(s, ek_memory_part_name[i], stage->part[i]);
    ek__stream_end(s);
}

static void put_mix(ek__stream *s, const char *key, const ek_chunk_mix *mix)
{
    ek__stream_object(s, key, false);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        ek__stream_int(s, ek_recompute_name[k], mix->n[k]);
    ek__stream_end(s);
}

static void put_place(ek__stream *s, const ek_memory_report *r, int stage)
{
    static const char *const kind[EK_N_BLOCK_KINDS] = {"forward", "backward", "weight_gradient"};
    const ek_memory_stage *at = &r->memory->stage[stage];
    ek__place place = ek__memory_place(r->job, r->memory, stage);
    ek__stream_object(s, "peak_at", false);
    ek__stream_text(s, "pass", kind[at->block.kind < EK_N_BLOCK_KINDS ? at->block.kind : 0]);
    ek__stream_int(s, "micro_batch", at->block.micro_batch);
    ek__stream_int(s, "chunk", at->block.chunk);
    ek__stream_text(s, "part_of_model", at->layer < 0 ? "embedding" : at->layer >= place.n_layers ? "head" : "layer");
    ek__stream_from(s, "layer_of_chunk", at->layer < place.n_layers ? at->layer : -1, 0);
    ek__stream_from(s, "layer_of_model", place.model_layer, 0);
    ek__stream_text(s, "operator", at->operator_name[0] ? at->operator_name : NULL);
    ek__stream_end(s);
}

static void put_top(ek__stream *s, const ek_memory_stage *stage)
{
    ek__stream_list(s, "largest_tensors", true);
    for (int i = 0; i < stage->n_top; i++) {
        const ek_memory_tensor *t = &stage->top[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", t->name);
        ek__stream_text(s, "part", ek_memory_part_name[t->part]);
        put_mb(s, "mb", t->bytes);
        ek__stream_int(s, "count", t->count);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_stage(ek__stream *s, const ek_memory_report *r, int index)
{
    const ek_memory *m = r->memory;
    const ek_memory_stage *stage = &m->stage[index];
    bool allocated = stage->actual_peak > 0;
    ek_chunk_mix mix = ek_memory_stage_mix(r->job, index);
    ek__stream_object(s, NULL, true);
    ek__stream_int(s, "stage", index);
    ek__stream_int(s, "n_layers", stage->n_layers);
    put_mix(s, "layers", &mix);
    put_mb(s, "used_peak_mb", stage->used_peak);
    ek__stream_fixed(s, "actual_peak_mb", allocated ? (double)stage->actual_peak / EK__MB : NAN, 3);
    ek__stream_fixed(s, "fragments_mb", allocated ? (double)(stage->actual_peak - stage->used_peak) / EK__MB : NAN, 3);
    ek__stream_fixed(s, "margin_mb", m->limit > 0 ? (double)(m->limit - ek__memory_peak(stage)) / EK__MB : NAN, 3);
    ek__stream_int(s, "used_peak_bytes", stage->used_peak);
    ek__stream_int(s, "actual_peak_bytes", allocated ? stage->actual_peak : INT64_MIN);
    if (r->literal) {
        put_mb(s, "literal_used_peak_mb", r->literal->stage[index].used_peak);
        put_mb(s, "literal_actual_peak_mb", r->literal->stage[index].actual_peak);
    }
    ek__stream_fixed(s, "alive_micro_batches", stage->alive, 6);
    put_parts(s, stage);
    put_place(s, r, index);
    put_top(s, stage);
    ek__stream_end(s);
}

/* ---- the job ---- */

static void put_model(ek__stream *s, const ek_job *job)
{
    const ek_job_model *m = &job->model;
    ek__stream_object(s, "model", false);
    ek__stream_text(s, "name", job->name);
    ek__stream_text(s, "framework", ek_framework_name[job->framework]);
    ek__stream_int(s, "n_layers", m->n_layers);
    ek__stream_int(s, "n_prediction_layers", m->n_prediction_layers);
    ek__stream_int(s, "hidden", m->hidden);
    ek__stream_int(s, "n_heads", m->n_heads);
    ek__stream_int(s, "n_kv_heads", m->n_kv_heads);
    ek__stream_int(s, "intermediate", m->intermediate);
    ek__stream_int(s, "vocab", m->vocab);
    ek__stream_int(s, "n_experts", m->n_experts);
    ek__stream_bool(s, "flash_attention", m->flash_attention);
    ek__stream_text(s, "compute_type", ek_dtype_name[job->types.compute]);
    ek__stream_text(s, "parameter_type", ek_dtype_name[job->types.param]);
    ek__stream_text(s, "residual_type", ek_dtype_name[job->types.residual]);
    ek__stream_end(s);
}

static void put_parallel(ek__stream *s, const ek_job *job)
{
    const ek_job_parallel *d = &job->parallel;
    ek__stream_object(s, "parallel", false);
    ek__stream_int(s, "devices", ek_job_devices(job));
    ek__stream_int(s, "data", d->data);
    ek__stream_int(s, "tensor", d->tensor);
    ek__stream_int(s, "pipeline", d->pipeline);
    ek__stream_int(s, "context", d->context);
    ek__stream_int(s, "expert", d->expert);
    ek__stream_int(s, "n_chunks", job->plan.n_chunks);
    ek__stream_int(s, "n_micro_batches", d->n_micro_batches);
    ek__stream_int(s, "batch", d->batch);
    ek__stream_int(s, "seq_length", d->seq_length);
    ek__stream_bool(s, "sequence_parallel", d->sequence_parallel);
    ek__stream_text(s, "schedule", job->schedule->name);
    ek__stream_end(s);
}

static void put_layer_kinds(ek__stream *s, const ek_memory *m)
{
    ek__stream_list(s, "layer_kinds", true);
    for (int i = 0; i < m->n_layer_kinds; i++) {
        const ek_memory_layer *layer = &m->layer_kind[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", layer->name);
        put_mb(s, "parameter_mb", layer->parameter_bytes);
        ek__stream_object(s, "kept_mb", false);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            put_mb(s, ek_recompute_name[k], layer->kept[k]);
        ek__stream_end(s);
        ek__stream_object(s, "transient_mb", false);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            put_mb(s, ek_recompute_name[k], layer->transient[k]);
        ek__stream_end(s);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_warnings(ek__stream *s, const ek_memory_report *r)
{
    ek__stream_list(s, "warnings", true);
    for (int i = 0; i < r->n_warnings; i++) {
        const ek_error *w = &r->warning[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "file", w->file[0] ? w->file : NULL);
        ek__stream_from(s, "line", w->line, 1);
        ek__stream_from(s, "column", w->column, 1);
        ek__stream_text(s, "message", w->message);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_assumptions(ek__stream *s, const ek_memory_report *r)
{
    ek__stream_list(s, "assumptions", true);
    for (int i = 0; i < r->n_assumptions; i++) {
        const ek_memory_assumption *a = &r->assumption[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "rule", a->rule);
        ek__stream_text(s, "value", a->value);
        ek__stream_text(s, "alternative", a->other);
        ek__stream_bool(s, "fits", a->fits);
        ek__stream_int(s, "stage", a->stage);
        ek__stream_fixed(s, "peak_mb", a->mb, 3);
        ek__stream_fixed(s, "alternative_peak_mb", a->other_mb, 3);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_rules(ek__stream *s, const char *key, const ek_rules *rules, ek_framework framework)
{
    ek__stream_list(s, key, true);
    for (int i = 0; ek_rule_names[i]; i++) {
        ek__rule_value value = ek__rule_value_of(rules, framework, ek_rule_names[i]);
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", ek_rule_names[i]);
        ek__stream_text(s, "value", value.text);
        ek__stream_text(s, "default", value.usual);
        ek__stream_bool(s, "changed", value.changed);
        ek__stream_text(s, "basis", ek_rule_basis[i]);
        ek__stream_text(s, "alternatives", *ek_rule_alternatives[i] ? ek_rule_alternatives[i] : NULL);
        ek__stream_text(s, "what", ek_rule_help[i]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* ---- what was asked for besides ---- */

static void put_times(ek__stream *s, const ek_memory_report *r)
{
    ek__stream_object(s, "device", false);
    ek__stream_text(s, "name", r->device->name);
    ek__stream_text(s, "source", r->device->source);
    ek__stream_bool(s, "certain", r->device->certain);
    ek__stream_end(s);
    ek__stream_list(s, "times_ms", true);
    for (int i = 0; i < r->n_times; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", r->time[i].name);
        ek__stream_real(s, "forward", r->time[i].ms.forward);
        ek__stream_object(s, "backward", false);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            ek__stream_real(s, ek_recompute_name[k], r->time[i].ms.backward[k]);
        ek__stream_end(s);
        ek__stream_real(s, "weight", r->time[i].ms.weight);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_measures(ek__stream *s, const ek_memory_report *r)
{
    ek__stream_list(s, "measures", true);
    for (int i = 0; i < r->n_measures; i++) {
        const ek_mitigation *m = &r->measure[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", m->name);
        ek__stream_text(s, "setting", m->setting[0] ? m->setting : NULL);
        ek__stream_bool(s, "possible", m->possible);
        ek__stream_text(s, "why", m->possible ? NULL : m->why);
        ek__stream_fixed(s, "saved_mb", m->possible ? m->saved_mb : NAN, 3);
        ek__stream_fixed(s, "after_mb", m->possible ? m->after_mb : NAN, 3);
        ek__stream_bool(s, "fits", m->possible && m->fits);
        ek__stream_fixed(s, "step_change", m->possible ? m->step_change : NAN, 6);
        ek__stream_text(s, "relieved", m->possible && m->relieved[0] ? m->relieved : NULL);
        ek__stream_fixed(s, "relieved_change", m->possible ? m->relieved_change : NAN, 6);
        ek__stream_fixed(s, "relieved_mb", m->possible ? m->relieved_mb : NAN, 3);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_error(ek__stream *s, const char *key, const ek_memory_error *e)
{
    if (!e || !isfinite(e->mean)) {
        ek__stream_null(s, key);
        return;
    }
    ek__stream_object(s, key, false);
    ek__stream_fixed(s, "mean", e->mean, 6);
    ek__stream_fixed(s, "bias", e->bias, 6);
    ek__stream_fixed(s, "worst", e->worst, 6);
    ek__stream_int(s, "worst_stage", e->worst_stage);
    ek__stream_end(s);
}

static void put_calibration(ek__stream *s, const ek_memory_calibration *c)
{
    ek__stream_object(s, "calibration", true);
    ek__stream_text(s, "peak", c->actual ? "actual" : "used");
    ek__stream_list(s, "knobs", false);
    for (int i = 0; i < c->fit->n_knobs; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", c->fit->knob[i]);
        ek__stream_real(s, "value", c->fit->value[i]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    put_error(s, "before", &c->fit->before);
    put_error(s, "after", &c->fit->after);
    put_error(s, "left_out", &c->fit->left_out);
    put_error(s, "other_stages", c->judged);
    ek__stream_list(s, "peaks", true);
    for (int i = 0; i < c->n_peaks; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "stage", c->peak[i].stage);
        ek__stream_fixed(s, "measured_mb", c->peak[i].mb, 3);
        ek__stream_fixed(s, "predicted_mb", c->predicted_mb[i], 3);
        ek__stream_bool(s, "fitted", c->fitted[i]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_kept_tensor(ek__stream *s, const ek_kept_tensor *t)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "name", t->name);
    ek__stream_text(s, "made_by", t->maker[0] ? t->maker : NULL);
    ek__stream_list(s, "shape", false);
    for (int i = 0; i < t->n_dims; i++)
        ek__stream_int(s, NULL, t->dim[i]);
    ek__stream_end(s);
    ek__stream_text(s, "type", t->n_dims > 0 ? ek_dtype_name[t->dtype] : NULL);
    ek__stream_int(s, "bytes", t->bytes);
    ek__stream_text(s, "kept_for", t->reader[0] ? t->reader : NULL);
    ek__stream_int(s, "n_kept_for", t->n_readers);
    ek__stream_bool(s, "for_recompute", t->for_recompute);
    ek__stream_list(s, "kept_with", false);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (t->kept[k])
            ek__stream_text(s, NULL, ek_recompute_name[k]);
    ek__stream_end(s);
    ek__stream_list(s, "patterns", false);
    for (int i = 0; i < t->n_patterns; i++)
        ek__stream_text(s, NULL, t->pattern[i]);
    ek__stream_end(s);
    const char *list = t->pattern_kind == EK_PATTERN_COMM ? "select_comm_recompute" : "select_recompute";
    ek__stream_text(s, "patterns_of", t->n_patterns > 0 ? list : NULL);
    ek__stream_int(s, "patterns_save_bytes", t->n_patterns > 0 ? t->pattern_saves : INT64_MIN);
    ek__stream_end(s);
}

static void put_kept(ek__stream *s, const ek_memory_report *r)
{
    ek__stream_list(s, "kept_tensors", true);
    for (int i = 0; i < r->n_kept; i++) {
        ek__stream_object(s, NULL, true);
        ek__stream_text(s, "layer_kind", r->kept[i].name);
        ek__stream_int(s, "bytes", r->kept[i].bytes);
        ek__stream_list(s, "tensors", true);
        for (int t = 0; t < r->kept[i].n; t++)
            put_kept_tensor(s, &r->kept[i].tensor[t]);
        ek__stream_end(s);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_set(ek__stream *s, const char *name, const ek_recompute_set_list *list, const ek_recompute_set *set)
{
    static const char *const lists[] = {"select_recompute", "select_comm_recompute", "select_recompute_exclude",
                                        "select_comm_recompute_exclude"};
    ek__stream_object(s, name, true);
    ek__stream_fixed(s, "kept_mb", set->kept_mb, 3);
    ek__stream_fixed(s, "saved_mb", set->saved_mb, 3);
    ek__stream_fixed(s, "extra_ms", set->extra_ms, 6);
    ek__stream_fixed(s, "saved_mb_per_ms", isfinite(set->saved_mb_per_ms) ? set->saved_mb_per_ms : NAN, 3);
    ek__stream_list(s, "kept_bytes", false);
    for (int k = 0; k < list->n_kinds; k++)
        ek__stream_int(s, NULL, set->kept[k]);
    ek__stream_end(s);
    ek__stream_bool(s, "hull", set->hull);
    ek__stream_bool(s, "offered", set->offered);
    for (int kind = 0; kind < 4; kind++) {
        ek__stream_list(s, lists[kind], false);
        for (int i = 0; i < set->n_patterns; i++)
            if ((int)set->pattern[i].kind == kind)
                ek__stream_text(s, NULL, set->pattern[i].text);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_worth(ek__stream *s, const ek_recompute_set_list *worth)
{
    ek__stream_object(s, "worth_recomputing", true);
    ek__stream_bool(s, "proved", worth->proved);
    ek__stream_fixed(s, "gap_ms", isfinite(worth->gap_ms) ? worth->gap_ms : NAN, 6);
    ek__stream_list(s, "layer_kinds", true);
    for (int k = 0; k < worth->n_kinds; k++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", worth->kind[k].name);
        ek__stream_int(s, "layers", worth->kind[k].n_layers);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    put_set(s, "nothing", worth, &worth->nothing);
    ek__stream_list(s, "sets", true);
    for (int i = 0; i < worth->n; i++)
        put_set(s, NULL, worth, &worth->set[i]);
    ek__stream_end(s);
    put_set(s, "full", worth, &worth->full);
    ek__stream_end(s);
}

static void put_extras(ek__stream *s, const ek_memory_report *r)
{
    if (r->device)
        put_times(s, r);
    if (r->measure)
        put_measures(s, r);
    if (r->kept)
        put_kept(s, r);
    if (r->worth)
        put_worth(s, r->worth);
    if (r->calibration)
        put_calibration(s, r->calibration);
}

ek_status ek__memory_write_json(const ek_memory_report *report, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    const ek_memory *m = report->memory;
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    ek__stream_bool(&s, "fits", m->fits);
    ek__stream_fixed(&s, "limit_mb", m->limit > 0 ? (double)m->limit / EK__MB : NAN, 3);
    ek__stream_fixed(&s, "margin_mb", m->limit > 0 ? (double)m->margin / EK__MB : NAN, 3);
    ek__stream_int(&s, "fullest_stage", m->fullest);
    put_assumptions(&s, report);
    put_model(&s, report->job);
    put_parallel(&s, report->job);
    ek__stream_list(&s, "stages", true);
    for (int i = 0; i < m->n_stages; i++)
        put_stage(&s, report, i);
    ek__stream_end(&s);
    put_layer_kinds(&s, m);
    ek__stream_text(&s, "reading", report->job->reading[0] ? report->job->reading : NULL);
    ek__stream_bool(&s, "literal", report->job->literal);
    ek__stream_text(&s, "basis", ek__memory_basis);
    put_rules(&s, "rules", &report->job->rules, report->job->framework);
    put_extras(&s, report);
    put_warnings(&s, report);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}

ek_status ek__memory_write_rules_json(const ek_rules *rules, ek_framework framework, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    ek__stream_text(&s, "framework", ek_framework_name[framework]);
    put_rules(&s, "rules", rules, framework);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}

/* ---- a table ---- */

/* A name may hold a comma or a quote. */
static void csv_text(FILE *out, const char *text)
{
    bool quote = strpbrk(text, ",\"\r\n") != NULL;
    fputs(quote ? "\"" : "", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc((unsigned char)*text < 0x20 ? '?' : *text, out);
    }
    fputs(quote ? "\"" : "", out);
}

static void csv_row(const ek_memory_report *r, int index, FILE *out)
{
    const ek_memory_stage *stage = &r->memory->stage[index];
    int64_t limit = r->memory->limit;
    bool allocated = stage->actual_peak > 0;
    ek_chunk_mix mix = ek_memory_stage_mix(r->job, index);
    fprintf(out, "%d,%d", index, stage->n_layers);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        fprintf(out, ",%d", mix.n[k]);
    fprintf(out, ",%s", ek__fixed(stage->alive, 3).text);
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
        fprintf(out, ",%s", ek__exact_mb(stage->part[i]).text);
    fprintf(out, ",%s", ek__exact_mb(stage->used_peak).text);
    fprintf(out, ",%s", allocated ? ek__exact_mb(stage->actual_peak - stage->used_peak).text : "");
    fprintf(out, ",%s", allocated ? ek__exact_mb(stage->actual_peak).text : "");
    fprintf(out, ",%s", limit > 0 ? ek__exact_mb(limit).text : "");
    fprintf(out, ",%s", limit > 0 ? ek__exact_mb(limit - ek__memory_peak(stage)).text : "");
    fprintf(out, ",%s,", r->literal ? ek__exact_mb(ek__memory_peak(&r->literal->stage[index])).text : "");
    csv_text(out, stage->operator_name);
    fputc('\n', out);
}

ek_status ek__memory_write_csv(const ek_memory_report *report, FILE *out, ek_error *err)
{
    fputs("stage,layers", out);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        fprintf(out, ",%s", ek_recompute_name[k]);
    fputs(",alive_micro_batches", out);
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
        fprintf(out, ",%s_mb", ek_memory_part_name[i]);
    fputs(",used_peak_mb,fragments_mb,actual_peak_mb,limit_mb,margin_mb,literal_peak_mb,peak_operator\n", out);
    for (int s = 0; s < report->memory->n_stages; s++)
        csv_row(report, s, out);
    return ek__finish(out, err);
}
