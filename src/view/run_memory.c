/* A prediction of memory: does it fit, what every stage holds at its peak and block by block, which tensors make it,
 * what would remove them, what measures would bring, and what the figures rest on. MB are those of logs, 2^20 bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/memory_report.h"
#include "report/memory_internal.h"
#include "view/view.h"

enum { FRAGMENTS = EK_N_MEMORY_PARTS, N_PIECES, MAX_POINTS = 40000 };

static bool present(const ek_view_run *run)
{
    return run->memory != NULL;
}

static double mb(int64_t bytes)
{
    return (double)bytes / EK__MB;
}

static const char *stage_name(int stage, char text[32])
{
    snprintf(text, 32, "stage %d", stage);
    return text;
}

/* ---- facts ---- */

void ek__view_job(const ek_job *job, ek__stream *s)
{
    const ek_job_parallel *d = &job->parallel;
    char text[256];
    snprintf(text, sizeof text, "%.96s (%s): %d layers, hidden %d", job->name[0] ? job->name : "model",
             ek_framework_name[job->framework], job->model.n_layers, job->model.hidden);
    ek__view_fact(s, "model", NAN, EK__UNIT_TEXT, text, NULL);
    snprintf(text, sizeof text, "data %d, tensor %d, pipeline %d, context %d, expert %d", d->data, d->tensor,
             d->pipeline, d->context, d->expert);
    ek__view_fact(s, "parallel", NAN, EK__UNIT_TEXT, text, NULL);
    snprintf(text, sizeof text, "%d micro-batch%s of %d x %d tokens, %s", d->n_micro_batches,
             d->n_micro_batches == 1 ? "" : "es", d->batch, d->seq_length, job->schedule->name);
    ek__view_fact(s, "schedule", NAN, EK__UNIT_TEXT, text, NULL);
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    const ek_memory *m = run->memory->memory;
    const ek_memory_stage *full = &m->stage[m->fullest];
    char text[32], verdict[600], but[512];
    ek__assumptions_text(run->memory, but, sizeof but);
    snprintf(verdict, sizeof verdict, "%s%s",
             m->limit == 0 ? "no limit is known"
             : m->fits     ? "fits"
                           : "does not fit",
             but);
    ek__view_fact(s, "predicted memory", NAN, EK__UNIT_TEXT, verdict, *but ? EK__ASSUMED : EK__DERIVED);
    ek__view_fact(s, "fullest", NAN, EK__UNIT_TEXT, stage_name(m->fullest, text), EK__DERIVED);
    ek__view_fact(s, "its predicted peak", mb(ek__memory_peak(full)), EK__UNIT_MB | EK__LESS, NULL, EK__DERIVED);
    if (full->actual_peak > 0 && !run->trace && !run->diagnosis)
        ek__view_fact(s, "of it fragments", mb(full->actual_peak - full->used_peak), EK__UNIT_MB | EK__LESS, NULL,
                      EK__ASSUMED);
    if (m->limit > 0) {
        ek__view_fact(s, "limit", mb(m->limit), EK__UNIT_MB, NULL, NULL);
        ek__view_fact(s, "room below the limit", mb(m->margin), EK__UNIT_MB | EK__MORE, NULL, EK__DERIVED);
    }
    if (!run->trace && !run->diagnosis) /* whose own facts are more to the point */
        ek__view_job(run->memory->job, s);
}

static void notes(const ek_view_run *run, ek__stream *s)
{
    for (int i = 0; i < run->memory->n_assumptions; i++) {
        char text[512];
        ek__assumption_text(&run->memory->assumption[i], text, sizeof text);
        ek__stream_text(s, NULL, text);
    }
    for (int i = 0; i < run->memory->n_warnings; i++)
        ek__stream_text(s, NULL, run->memory->warning[i].message);
    if (run->memory->job->reading[0])
        ek__stream_text(s, NULL, run->memory->job->reading);
}

/* ---- stages ---- */

static const char *piece_name(int piece)
{
    return piece == FRAGMENTS ? "fragments" : ek_memory_part_name[piece];
}

static double piece_mb(const ek_memory_stage *stage, int piece)
{
    int64_t fragments = stage->actual_peak - stage->used_peak;
    return mb(piece < FRAGMENTS ? stage->part[piece] : fragments > 0 ? fragments : 0);
}

static void put_bars(const ek_memory *m, const char *id, const char *title, ek__section *x)
{
    static const int type[N_PIECES] = {
        EK_VIEW_PARAMETERS, EK_VIEW_GRADIENTS, EK_VIEW_OPTIMIZER, EK_VIEW_ACTIVATIONS, -1, -1, -1};
    ek__bars_begin(x, id, title, EK__UNIT_MB);
    for (int k = 0; k < N_PIECES; k++)
        ek__bars_series(x, piece_name(k), type[k]);
    for (int i = 0; i < m->n_stages; i++) {
        double value[N_PIECES];
        char text[32];
        for (int k = 0; k < N_PIECES; k++)
            value[k] = piece_mb(&m->stage[i], k);
        ek__bars_bar(x, stage_name(i, text), -1, value, N_PIECES);
    }
    ek__bars_end(x, m->limit > 0 ? mb(m->limit) : NAN);
}

static const ek__view_column stage_column[] = {
    {"stage", "Stage", EK__UNIT_TEXT, false},
    {"layers", "Layers by recomputation", EK__UNIT_TEXT, false},
    {"alive", "Micro-batches alive", EK__UNIT_NONE, false},
    {"parameters", "Parameters", EK__UNIT_MB | EK__LESS, false},
    {"gradients", "Gradients", EK__UNIT_MB | EK__LESS, false},
    {"optimizer", "Optimizer states", EK__UNIT_MB | EK__LESS, false},
    {"activations", "Activations", EK__UNIT_MB | EK__LESS, false},
    {"transient", "Transient", EK__UNIT_MB | EK__LESS, false},
    {"other", "Other", EK__UNIT_MB | EK__LESS, false},
    {"used", "Used", EK__UNIT_MB | EK__LESS, false},
    {"fragments", "Fragments", EK__UNIT_MB | EK__LESS, false},
    {"actual", "Actual peak", EK__UNIT_MB | EK__LESS, false},
    {"free", "Free", EK__UNIT_MB | EK__MORE, false},
    {"literal", "By the literal reading", EK__UNIT_MB | EK__LESS, false},
    {"at", "Peak is in", EK__UNIT_TEXT, false},
};

/* "backward pass of micro-batch 3, chunk 1, layer 5 of the model, at attention.softmax" */
static void peak_place(const ek_memory_report *r, int stage, char *text, size_t room)
{
    const ek_memory_stage *at = &r->memory->stage[stage];
    ek__place place = ek__memory_place(r->job, r->memory, stage);
    char where[48];
    if (at->layer < 0)
        snprintf(where, sizeof where, "embedding");
    else if (at->layer >= place.n_layers)
        snprintf(where, sizeof where, "head and loss");
    else
        snprintf(where, sizeof where, "layer %d of the model", place.model_layer);
    snprintf(text, room, "%s of micro-batch %u, chunk %d, %s%s%s (counted from 0)", ek__pass_name(at->block.kind),
             at->block.micro_batch, at->block.chunk, where, at->operator_name[0] ? ", at " : "", at->operator_name);
}

static void put_stages(const ek_memory_report *r, ek__section *x)
{
    const ek_memory *m = r->memory;
    ek__table_begin(x, "stages", "The peak of every stage, part by part", stage_column,
                    sizeof stage_column / sizeof *stage_column);
    for (int i = 0; i < m->n_stages; i++) {
        const ek_memory_stage *stage = &m->stage[i];
        bool allocated = stage->actual_peak > 0;
        ek_chunk_mix mix = ek_memory_stage_mix(r->job, i);
        char name[32], text[512];
        ek__row_begin(x);
        ek__cell_text(x, stage_name(i, name));
        ek__mix_text(&mix, text, sizeof text);
        ek__cell_text(x, text);
        ek__cell_real(x, stage->alive);
        for (int k = 0; k < EK_N_MEMORY_PARTS; k++)
            ek__cell_real(x, mb(stage->part[k]));
        ek__cell_real(x, mb(stage->used_peak));
        ek__cell_real(x, allocated ? mb(stage->actual_peak - stage->used_peak) : NAN);
        ek__cell_real(x, allocated ? mb(stage->actual_peak) : NAN);
        ek__cell_real(x, m->limit > 0 ? mb(m->limit - ek__memory_peak(stage)) : NAN);
        ek__cell_real(x, r->literal ? mb(ek__memory_peak(&r->literal->stage[i])) : NAN);
        peak_place(r, i, text, sizeof text);
        ek__cell_text(x, text);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static const ek__view_column tensor_column[] = {
    {"tensor", "Tensor alive at the peak", EK__UNIT_TEXT, false},
    {"part", "Part", EK__UNIT_TEXT, false},
    {"total", "All of them", EK__UNIT_MB | EK__LESS, false},
    {"count", "Times", EK__UNIT_COUNT, false},
    {"one", "Each", EK__UNIT_MB, false},
};

static void put_tensors(const ek_memory *m, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < m->n_stages; i++)
        n += m->stage[i].n_top;
    if (n == 0)
        return;
    ek__table_begin(x, "tensors", "Largest tensors alive at the peak of each stage", tensor_column,
                    sizeof tensor_column / sizeof *tensor_column);
    for (int i = 0; i < m->n_stages; i++)
        for (int k = 0; k < m->stage[i].n_top; k++) {
            const ek_memory_tensor *t = &m->stage[i].top[k];
            char key[160];
            snprintf(key, sizeof key, "stage %d: %s", i, t->name);
            ek__row_begin(x);
            ek__cell_text(x, key);
            ek__cell_text(x, ek_memory_part_name[t->part]);
            ek__cell_real(x, mb(t->bytes) * t->count);
            ek__cell_int(x, t->count);
            ek__cell_real(x, mb(t->bytes));
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

/* ---- block by block ---- */

/* A stage's line: of every so many blocks the largest peak, and what is left behind the last of them. */
static void put_course(const ek_memory_course *course, int stage, size_t step, ek__section *x)
{
    const ek_memory_moment *moment = course->moment + (size_t)stage * course->n_blocks;
    char text[32];
    ek__polyline_begin(x, stage_name(stage, text));
    ek__polyline_point(x, 0, mb(course->whole_step[stage]));
    for (size_t k = 0; k < course->n_blocks; k += step) {
        size_t end = k + step < course->n_blocks ? k + step : course->n_blocks, at = k;
        for (size_t i = k; i < end; i++)
            at = moment[i].peak > moment[at].peak ? i : at;
        ek__polyline_point(x, (double)at + 0.5, mb(moment[at].peak));
        ek__polyline_point(x, (double)end, mb(moment[end - 1].after));
    }
    ek__polyline_end(x);
}

static void put_courses(const ek_memory_report *r, ek__section *x)
{
    const ek_memory_course *course = r->course;
    if (!course || course->n_blocks == 0)
        return;
    size_t points = 2 * course->n_blocks * (size_t)course->n_stages, step = (points + MAX_POINTS - 1) / MAX_POINTS;
    ek__lines_begin(x, "course", "Used memory of every stage, block by block", "Blocks run by the stage",
                    EK__UNIT_COUNT, "Used memory", EK__UNIT_MB);
    for (int i = 0; i < course->n_stages; i++)
        put_course(course, i, step, x);
    ek__lines_end(x, r->memory->limit > 0 ? mb(r->memory->limit) : NAN);
}

/* ---- what a layer keeps ---- */

static const ek__view_column kept_column[] = {
    {"tensor", "Tensor, by what makes it", EK__UNIT_TEXT, false},
    {"mb", "Size", EK__UNIT_MB, false},
    {"shape", "Shape on a rank, type", EK__UNIT_TEXT, false},
    {"with", "Still kept with", EK__UNIT_TEXT, false},
    {"for", "Kept for the gradient of", EK__UNIT_TEXT, false},
    {"pattern", "Removed by", EK__UNIT_TEXT, false},
    {"saves", "That saves", EK__UNIT_MB, false},
};

static void kept_with(const ek_kept_tensor *t, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int k = EK_RECOMPUTE_SELECT; k < EK_N_RECOMPUTE && used < room; k++)
        if (t->kept[k])
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", ek_recompute_name[k]);
}

static void shape_text(const ek_kept_tensor *t, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < t->n_dims && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRId64, i ? " x " : "", t->dim[i]);
    if (t->n_dims > 0 && used < room)
        snprintf(text + used, room - used, " %s", ek_dtype_name[t->dtype]);
}

static void pattern_text(const ek_kept_tensor *t, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < t->n_patterns && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s",
                                 i                                    ? " with "
                                 : t->pattern_kind == EK_PATTERN_COMM ? "select_comm_recompute: "
                                                                      : "select_recompute: ",
                                 t->pattern[i]);
}

static void put_kept_tensor(const ek_kept_tensor *t, ek__section *x)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", t->maker[0] ? t->maker : "", t->maker[0] ? " " : "", t->name);
    ek__row_begin(x);
    ek__cell_text(x, text);
    ek__cell_real(x, mb(t->bytes));
    shape_text(t, text, sizeof text);
    ek__cell_text(x, text[0] ? text : NULL);
    kept_with(t, text, sizeof text);
    ek__cell_text(x, text[0] ? text : NULL);
    snprintf(text, sizeof text, "%s%s%s", t->for_recompute ? "recomputing " : "", t->reader,
             t->n_readers > 1 ? ", ..." : "");
    ek__cell_text(x, t->reader[0] ? text : NULL);
    pattern_text(t, text, sizeof text);
    ek__cell_text(x, text[0] ? text : NULL);
    ek__cell_real(x, t->n_patterns > 0 ? mb(t->pattern_saves) : NAN);
    ek__row_end(x);
}

static void put_kept(const ek_memory_report *r, ek__section *x)
{
    for (int i = 0; i < r->n_kept; i++) {
        char id[32], title[EK_NAME_SIZE + 64];
        snprintf(id, sizeof id, "kept-%d", i);
        snprintf(title, sizeof title, "What one layer keeps where nothing is recomputed: %s", r->kept[i].name);
        ek__table_begin(x, id, title, kept_column, sizeof kept_column / sizeof *kept_column);
        for (int k = 0; k < r->kept[i].n; k++)
            put_kept_tensor(&r->kept[i].tensor[k], x);
        ek__table_end(x, 1, true);
    }
}

/* ---- measures ---- */

static const ek__view_column measure_column[] = {
    {"measure", "Measure, alone", EK__UNIT_TEXT, false},
    {"saved", "Saves of the fullest stage", EK__UNIT_MB, false},
    {"after", "Then the fullest holds", EK__UNIT_MB | EK__LESS, false},
    {"fits", "Fits", EK__UNIT_TEXT, false},
    {"step", "Step time", EK__UNIT_PERCENT, false},
    {"setting", "Setting, or what stands against it", EK__UNIT_TEXT, false},
};

/* What the room that a measure makes is good for, in a row of its own. */
static void put_relieved(const ek_mitigation *m, ek__section *x)
{
    ek__row_begin(x);
    ek__cell_text(x, "... and then no more recomputation than memory needs");
    ek__cell_real(x, m->saved_mb + m->after_mb - m->relieved_mb);
    ek__cell_real(x, m->relieved_mb);
    ek__cell_text(x, "yes");
    ek__cell_real(x, 100 * m->relieved_change);
    ek__cell_text(x, m->relieved);
    ek__row_end(x);
}

static void put_measures(const ek_memory_report *r, ek__section *x)
{
    if (!r->measure)
        return;
    ek__table_begin(x, "measures", "What each measure alone would bring", measure_column,
                    sizeof measure_column / sizeof *measure_column);
    for (int i = 0; i < r->n_measures; i++) {
        const ek_mitigation *m = &r->measure[i];
        ek__row_begin(x);
        ek__cell_text(x, m->name);
        ek__cell_real(x, m->possible ? m->saved_mb : NAN);
        ek__cell_real(x, m->possible ? m->after_mb : NAN);
        ek__cell_text(x, !m->possible ? "not possible" : r->memory->limit <= 0 ? NULL : m->fits ? "yes" : "no");
        ek__cell_real(x, m->possible ? 100 * m->step_change : NAN);
        ek__cell_text(x, !m->possible ? m->why : m->setting[0] ? m->setting : NULL);
        ek__row_end(x);
        if (m->possible && m->relieved[0])
            put_relieved(m, x);
    }
    ek__table_end(x, -1, false);
}

/* ---- calibration ---- */

static const ek__view_column peak_column[] = {
    {"stage", "Stage", EK__UNIT_TEXT, false},       {"measured", "Measured", EK__UNIT_MB, false},
    {"predicted", "Predicted", EK__UNIT_MB, false}, {"error", "Error", EK__UNIT_PERCENT, false},
    {"fitted", "Fitted to", EK__UNIT_TEXT, false},
};

static const ek__view_column error_column[] = {
    {"what", "Error of the prediction", EK__UNIT_TEXT, false},
    {"mean", "Mean", EK__UNIT_PERCENT, false},
    {"bias", "Bias", EK__UNIT_PERCENT, false},
    {"worst", "Worst", EK__UNIT_PERCENT, false},
    {"stage", "Worst stage", EK__UNIT_NONE, false},
};

static void put_error(const char *what, const ek_memory_error *e, ek__section *x)
{
    if (!e || !isfinite(e->mean))
        return;
    ek__row_begin(x);
    ek__cell_text(x, what);
    ek__cell_real(x, 100 * e->mean);
    ek__cell_real(x, 100 * e->bias);
    ek__cell_real(x, 100 * e->worst);
    ek__cell_int(x, e->worst_stage);
    ek__row_end(x);
}

static void put_calibration(const ek_memory_calibration *c, ek__section *x)
{
    if (!c)
        return;
    ek__table_begin(x, "calibration", c->actual ? "Calibration to actual peaks" : "Calibration to used peaks",
                    peak_column, sizeof peak_column / sizeof *peak_column);
    for (int i = 0; i < c->n_peaks; i++) {
        char text[32];
        ek__row_begin(x);
        ek__cell_text(x, stage_name(c->peak[i].stage, text));
        ek__cell_real(x, c->peak[i].mb);
        ek__cell_real(x, c->predicted_mb[i]);
        ek__cell_real(x, 100 * (c->predicted_mb[i] / c->peak[i].mb - 1));
        ek__cell_text(x, c->fitted[i] ? "yes" : "no");
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
    ek__table_begin(x, "errors", "How well the calibrated model does", error_column,
                    sizeof error_column / sizeof *error_column);
    put_error("before calibration", &c->fit->before, x);
    put_error("after it", &c->fit->after, x);
    put_error("each peak from the others", &c->fit->left_out, x);
    put_error("on the stages left out", c->judged, x);
    ek__table_end(x, -1, false);
}

/* ---- rules ---- */

static const ek__view_column rule_column[] = {
    {"rule", "Rule", EK__UNIT_TEXT, false},       {"value", "Value", EK__UNIT_TEXT, false},
    {"usual", "Usually", EK__UNIT_TEXT, false},   {"basis", "Rests on", EK__UNIT_TEXT, false},
    {"what", "What it is", EK__UNIT_TEXT, false},
};

static void put_rules(const ek_job *job, ek__section *x)
{
    ek__table_begin(x, "rules", "Rules of the framework that the prediction goes by", rule_column,
                    sizeof rule_column / sizeof *rule_column);
    for (int i = 0; ek_rule_names[i]; i++) {
        ek__rule_value value = ek__rule_value_of(&job->rules, job->framework, ek_rule_names[i]);
        if (!value.changed && !ek__rule_matters(job, ek_rule_names[i]))
            continue;
        ek__row_begin(x);
        ek__cell_text(x, ek_rule_names[i]);
        ek__cell_text(x, value.text);
        ek__cell_text(x, value.usual);
        ek__cell_text(x, ek_rule_basis[i]);
        ek__cell_text(x, ek_rule_help[i]);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static void put_memory(const ek_memory_report *r, ek__stream *s)
{
    ek__section x = ek__section_begin(s, "memory");
    char text[sizeof "Rests on: " + 512];
    snprintf(text, sizeof text, "Rests on: %.500s.", ek__memory_basis);
    ek__section_note(&x, text);
    if (!r->measure)
        ek__section_note(&x, "What would save memory: evenkeel memory --measures.");
    if (r->n_kept == 0)
        ek__section_note(&x, "What one layer keeps, tensor by tensor: evenkeel memory --tensors.");
    put_bars(r->memory, "stages", "What every stage holds at its peak", &x);
    if (r->literal)
        put_bars(r->literal, "literal", "The same by the literal reading of the file", &x);
    put_courses(r, &x);
    put_stages(r, &x);
    put_tensors(r->memory, &x);
    put_measures(r, &x);
    put_kept(r, &x);
    put_calibration(r->calibration, &x);
    put_rules(r->job, &x);
    ek__section_end(&x);
}

/* ---- layers ---- */

static void put_layer_bars(const ek_memory *m, ek__section *x)
{
    ek__bars_begin(x, "kept",
                   "One layer and micro-batch: kept from forward to backward pass, and on top while backward "
                   "runs",
                   EK__UNIT_MB);
    ek__bars_series(x, "kept", EK_VIEW_ACTIVATIONS);
    ek__bars_series(x, "transient", -1);
    for (int i = 0; i < m->n_layer_kinds; i++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            const double value[] = {mb(m->layer_kind[i].kept[k]), mb(m->layer_kind[i].transient[k])};
            char text[EK_NAME_SIZE + 64];
            snprintf(text, sizeof text, "%s, recomputing %s", m->layer_kind[i].name, ek_recompute_name[k]);
            ek__bars_bar(x, text, -1, value, 2);
        }
    ek__bars_end(x, NAN);
}

static void put_time_bars(const ek_memory_report *r, ek__section *x)
{
    if (r->n_times == 0)
        return;
    ek__bars_begin(x, "times", "One layer and micro-batch on the device", EK__UNIT_NS);
    ek__bars_series(x, "forward", EK_VIEW_FORWARD);
    ek__bars_series(x, "backward", EK_VIEW_BACKWARD);
    for (int i = 0; i < r->n_times; i++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            const ek_layer_times *ms = &r->time[i].ms;
            const double value[] = {1e6 * ms->forward, 1e6 * ms->backward[k]};
            char text[EK_NAME_SIZE + 64];
            if (k > 0 && ms->backward[k] == ms->backward[0]) /* nothing of it is recomputed by this kind */
                continue;
            snprintf(text, sizeof text, "%s, recomputing %s", r->time[i].name, ek_recompute_name[k]);
            ek__bars_bar(x, text, -1, value, 2);
        }
    ek__bars_end(x, NAN);
}

static const ek__view_column layer_column[] = {
    {"layer", "Layer, recomputing", EK__UNIT_TEXT, false},
    {"parameters", "Parameters, gradients and states", EK__UNIT_MB | EK__LESS, false},
    {"kept", "Kept for a micro-batch", EK__UNIT_MB | EK__LESS, false},
    {"transient", "On top while backward runs", EK__UNIT_MB | EK__LESS, false},
};

static const ek__view_column time_column[] = {
    {"layer", "Layer, recomputing", EK__UNIT_TEXT, false},
    {"forward", "Forward", EK__UNIT_NS | EK__LESS, false},
    {"backward", "Backward", EK__UNIT_NS | EK__LESS, false},
    {"weight", "Of it gradients of weights", EK__UNIT_NS | EK__LESS, false},
};

static void put_layer_table(const ek_memory *m, ek__section *x)
{
    ek__table_begin(x, "layers", "What one layer holds", layer_column, sizeof layer_column / sizeof *layer_column);
    for (int i = 0; i < m->n_layer_kinds; i++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            const ek_memory_layer *layer = &m->layer_kind[i];
            char text[EK_NAME_SIZE + 64];
            snprintf(text, sizeof text, "%s, %s", layer->name, ek_recompute_name[k]);
            ek__row_begin(x);
            ek__cell_text(x, text);
            ek__cell_real(x, mb(layer->parameter_bytes));
            ek__cell_real(x, mb(layer->kept[k]));
            ek__cell_real(x, mb(layer->transient[k]));
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

static void put_time_table(const ek_memory_report *r, ek__section *x)
{
    if (r->n_times == 0)
        return;
    ek__table_begin(x, "times", "Times of one layer and micro-batch", time_column,
                    sizeof time_column / sizeof *time_column);
    for (int i = 0; i < r->n_times; i++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            char text[EK_NAME_SIZE + 64];
            snprintf(text, sizeof text, "%s, %s", r->time[i].name, ek_recompute_name[k]);
            ek__row_begin(x);
            ek__cell_text(x, text);
            ek__cell_real(x, 1e6 * r->time[i].ms.forward);
            ek__cell_real(x, 1e6 * r->time[i].ms.backward[k]);
            ek__cell_real(x, 1e6 * r->time[i].ms.weight);
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

static void put_layers(const ek_memory_report *r, ek__stream *s)
{
    ek__section x = ek__section_begin(s, "layers");
    char text[512];
    if (r->n_times > 0) {
        snprintf(text, sizeof text, "Times are assumed: peak rates of %.96s and the shares of them reached (%.160s).",
                 r->device->name, r->device->source);
        ek__section_note(&x, text);
    } else {
        ek__section_note(&x, "Times of layers are modelled with --device.");
    }
    if (r->memory->n_layer_kinds > 0)
        put_layer_bars(r->memory, &x);
    put_time_bars(r, &x);
    if (r->memory->n_layer_kinds > 0)
        put_layer_table(r->memory, &x);
    put_time_table(r, &x);
    ek__section_end(&x);
}

/* ---- the plan ---- */

static const ek__view_column plan_column[] = {
    {"place", "Chunk and stage", EK__UNIT_TEXT, false},
    {"layers", "Layers", EK__UNIT_COUNT, false},
    {"none", "Nothing recomputed", EK__UNIT_COUNT, false},
    {"select", "Select", EK__UNIT_COUNT, false},
    {"comm", "Communication", EK__UNIT_COUNT, false},
    {"both", "Both", EK__UNIT_COUNT, false},
    {"full", "Whole", EK__UNIT_COUNT, false},
};

static void put_plan(const ek_memory_report *r, ek__stream *s)
{
    const ek_plan *plan = &r->job->plan;
    ek__section x = ek__section_begin(s, "plan");
    ek__table_begin(&x, "plan", "Layers of every stage by what they recompute", plan_column,
                    sizeof plan_column / sizeof *plan_column);
    for (int c = 0; c < plan->n_chunks; c++)
        for (int i = 0; i < plan->n_stages; i++) {
            ek_chunk_mix mix = ek_plan_mix(plan, c, i);
            char text[64];
            snprintf(text, sizeof text, "chunk %d, stage %d", c, i);
            ek__row_begin(&x);
            ek__cell_text(&x, text);
            ek__cell_int(&x, plan->layers[c * plan->n_stages + i]);
            for (int k = 0; k < EK_N_RECOMPUTE; k++)
                ek__cell_int(&x, mix.n[k]);
            ek__row_end(&x);
        }
    ek__table_end(&x, -1, false);
    ek__section_end(&x);
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    (void)err;
    put_memory(run->memory, s);
    put_layers(run->memory, s);
    put_plan(run->memory, s);
    return EK_OK;
}

const ek__view_part ek__view_part_memory = {.present = present, .facts = facts, .notes = notes, .sections = sections};
