/* Writes a prediction of memory: whether it fits, the memory of every stage at its peak and block by block, the tensors
 * in it, the settings that would remove them, the effect of mitigations, and the basis of the figures. MB are those of
 * logs, 2^20 bytes. */
#include <math.h>
#include <stdio.h>

#include "evenkeel/memory_report.h"
#include "figures/memory_figures.h"
#include "report/memory_internal.h"
#include "report/role_colors.h"
#include "view/rows.h"
#include "view/view.h"

enum { MAX_POINTS = 40000 };

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
    if (!run->trace && !run->diagnosis) /* their own facts are more useful */
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

static void write_bars(const ek_memory *m, const char *id, const char *title, ek__section *x)
{
    ek__bars_begin(x, id, title, EK__UNIT_MB);
    for (int k = 0; k < EK__N_MEMORY_PIECES; k++)
        ek__bars_series(x, ek__memory_piece_name(k), ek__memory_piece_role(k));
    for (int i = 0; i < m->n_stages; i++) {
        double value[EK__N_MEMORY_PIECES];
        char text[32];
        for (int k = 0; k < EK__N_MEMORY_PIECES; k++)
            value[k] = mb(ek__memory_piece(&m->stage[i], k));
        ek__bars_bar(x, stage_name(i, text), -1, value, EK__N_MEMORY_PIECES);
    }
    ek__bars_end(x, m->limit > 0 ? mb(m->limit) : NAN);
}

/* ---- block by block ---- */

/* A stage's line: the largest peak of each group of blocks, and the memory that remains after the last of them. */
static void write_course(const ek_memory_course *course, int stage, size_t step, ek__section *x)
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

static void write_courses(const ek_memory_report *r, ek__section *x)
{
    const ek_memory_course *course = r->course;
    if (!course || course->n_blocks == 0)
        return;
    size_t points = 2 * course->n_blocks * (size_t)course->n_stages, step = (points + MAX_POINTS - 1) / MAX_POINTS;
    ek__lines_begin(x, "course", "Used memory of every stage, block by block", "Blocks run by the stage",
                    EK__UNIT_COUNT, "Used memory", EK__UNIT_MB);
    for (int i = 0; i < course->n_stages; i++)
        write_course(course, i, step, x);
    ek__lines_end(x, r->memory->limit > 0 ? mb(r->memory->limit) : NAN);
}

/* ---- tables ---- */

static void write_table(const ek_view_run *run, int table, ek__section *x)
{
    ek__view_result_rows(run, run->memory, &ek__memory_table[table], NULL, NULL, x);
}

static void write_kept(const ek_view_run *run, ek__section *x)
{
    for (int i = 0; i < run->memory->n_kept; i++) {
        const ek__rows *rows = &ek__memory_table[EK__MEMORY_KEPT];
        char id[32], title[EK_NAME_SIZE + 64];
        snprintf(id, sizeof id, "%s-%d", rows->id, i);
        snprintf(title, sizeof title, "%s: %s", rows->title, run->memory->kept[i].name);
        ek__view_result_rows(run, &run->memory->kept[i], rows, id, title, x);
    }
}

static void write_calibration(const ek_view_run *run, ek__section *x)
{
    const ek_memory_calibration *c = run->memory->calibration;
    if (!c)
        return;
    ek__view_result_rows(run, run->memory, &ek__memory_table[EK__MEMORY_PEAKS], NULL,
                         c->actual ? "Calibration to actual peaks" : "Calibration to used peaks", x);
    write_table(run, EK__MEMORY_ERRORS, x);
}

static void write_memory(const ek_view_run *run, ek__stream *s)
{
    const ek_memory_report *r = run->memory;
    ek__section x = ek__section_begin(s, "memory");
    char text[sizeof "Based on: " + 512];
    snprintf(text, sizeof text, "Based on: %.500s.", ek__memory_basis);
    ek__section_note(&x, text);
    if (!r->measure)
        ek__section_note(&x, "For settings that save memory run `evenkeel memory FILE --measures --html PAGE`.");
    if (r->n_kept == 0)
        ek__section_note(&x, "For the saved tensors of one layer run `evenkeel memory FILE --tensors --html PAGE`.");
    write_bars(r->memory, "stages", "Memory of every stage at its peak", &x);
    if (r->literal)
        write_bars(r->literal, "literal", "The same by the literal reading of the file", &x);
    write_courses(r, &x);
    write_table(run, EK__MEMORY_STAGES, &x);
    write_table(run, EK__MEMORY_TENSORS, &x);
    write_table(run, EK__MEMORY_MEASURES, &x);
    write_kept(run, &x);
    write_calibration(run, &x);
    write_table(run, EK__MEMORY_RULES, &x);
    ek__section_end(&x);
}

/* ---- layers ---- */

static void write_layer_bars(const ek_memory *m, ek__section *x)
{
    ek__bars_begin(
        x, "kept",
        "One layer and micro-batch: saved from forward to backward pass, and additional during the backward pass",
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

static void write_time_bars(const ek_memory_report *r, ek__section *x)
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
            if (k > 0 && ms->backward[k] == ms->backward[0]) /* this kind recomputes nothing of it */
                continue;
            snprintf(text, sizeof text, "%s, recomputing %s", r->time[i].name, ek_recompute_name[k]);
            ek__bars_bar(x, text, -1, value, 2);
        }
    ek__bars_end(x, NAN);
}

static void write_layers(const ek_view_run *run, ek__stream *s)
{
    const ek_memory_report *r = run->memory;
    ek__section x = ek__section_begin(s, "layers");
    char text[512];
    if (r->n_times > 0) {
        snprintf(text, sizeof text, "Times are assumed: peak rates of %.96s and the achieved shares of them (%.160s).",
                 r->device->name, r->device->source);
        ek__section_note(&x, text);
    } else {
        ek__section_note(&x, "Times of layers are modelled with --device.");
    }
    if (r->memory->n_layer_kinds > 0)
        write_layer_bars(r->memory, &x);
    write_time_bars(r, &x);
    write_table(run, EK__MEMORY_LAYERS, &x);
    write_table(run, EK__MEMORY_TIMES, &x);
    ek__section_end(&x);
}

static void write_plan(const ek_view_run *run, ek__stream *s)
{
    ek__section x = ek__section_begin(s, "plan");
    write_table(run, EK__MEMORY_PLAN, &x);
    ek__section_end(&x);
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    (void)err;
    write_memory(run, s);
    write_layers(run, s);
    write_plan(run, s);
    return EK_OK;
}

const ek__view_part ek__view_part_memory = {.present = present, .facts = facts, .notes = notes, .sections = sections};
