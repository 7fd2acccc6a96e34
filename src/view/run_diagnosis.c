/* Writes a diagnosis: findings in the order of their gain, each with its evidence, the setting to change and its place
 * in the timeline; the checks that were skipped, with the input that they need. */
#include <math.h>
#include <stdio.h>

#include "figures/trace_figures.h"
#include "report/diagnosis_internal.h"
#include "view/trace_sections.h"

static const double SAME_STEP = 1e-3; /* rounding of a step's length */

static bool present(const ek_view_run *run)
{
    return run->diagnosis != NULL;
}

/* The trace's facts have its step; the diagnosed one is shown with it only where it differs. */
static bool is_traced(const ek_view_run *run)
{
    if (!run->trace || run->trace->n_ranks == 0)
        return false;
    double seconds = 1e-9 * ek__means_of_run(run->trace).step;
    return fabs(run->diagnosis->step_seconds - seconds) <= SAME_STEP * seconds;
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    const ek_diagnosis *d = run->diagnosis;
    bool known = !isnan(d->step_seconds);
    if (!is_traced(run))
        ek__view_fact(s, "diagnosed step", known ? 1e9 * d->step_seconds : NAN, EK__UNIT_NS | EK__LESS,
                      known ? NULL : "none was measured", known ? EK__MEASURED : NULL);
    ek__view_fact(s, "bottlenecks", d->n_bottlenecks, EK__UNIT_COUNT | EK__LESS, NULL, NULL);
}

static void notes(const ek_view_run *run, ek__stream *s)
{
    for (int i = 0; i < run->diagnosis->n_notes; i++)
        ek__stream_text(s, NULL, run->diagnosis->note[i]);
}

static void write_evidence(const ek_view_run *run, const ek_bottleneck *b, ek__stream *s)
{
    ek__stream_list(s, "evidence", false);
    for (int i = 0; i < b->n_evidence && i < EK_MAX_EVIDENCE; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "text", b->evidence[i].text);
        ek__stream_text(s, "file", b->evidence[i].file);
        ek__stream_text(s, "step", b->evidence[i].step);
        ek__stream_int(s, "rank", b->evidence[i].rank);
        ek__view_put_window(run, b->evidence[i].rank, b->evidence[i].step, s);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* The first evidence that names a rank selects the place: its step, or a step that another one names. */
static void write_place(const ek_view_run *run, const ek_bottleneck *b, ek__stream *s)
{
    int rank = -1;
    const char *step = NULL;
    for (int i = 0; i < b->n_evidence && i < EK_MAX_EVIDENCE && rank < 0; i++) {
        rank = b->evidence[i].rank;
        step = rank >= 0 ? b->evidence[i].step : NULL;
    }
    ek__view_put_window(run, rank, step, s);
}

static void write_bottleneck(const ek_view_run *run, const ek_bottleneck *b, int number, ek__section *x)
{
    ek__finding_begin(x);
    ek__stream_text(x->s, "id", b->id);
    ek__stream_int(x->s, "rank", number);
    ek__stream_text(x->s, "title", b->title);
    ek__stream_real(x->s, "cost", 1e9 * b->cost_seconds);
    ek__stream_real(x->s, "gain", 1e9 * b->gain_seconds);
    ek__stream_real(x->s, "gain_share", b->gain_share);
    ek__stream_text(x->s, "basis", ek_basis_name[b->basis]);
    ek__stream_text(x->s, "topic", ek_topic_name[b->topic]);
    write_evidence(run, b, x->s);
    ek__stream_text(x->s, "setting", b->setting);
    ek__stream_text(x->s, "change", b->change);
    ek__stream_text(x->s, "rests_on", b->rests_on);
    ek__stream_text(x->s, "caution", b->caution);
    write_place(run, b, x->s);
    ek__finding_end(x);
}

static const ek__view_column missing_column[] = {
    {"what", "Not checked", EK__UNIT_TEXT, false},
    {"how", "Way to get it", EK__UNIT_TEXT, false},
};

static void write_missing(const ek_diagnosis *d, ek__section *x)
{
    if (d->n_not_looked_at == 0)
        return;
    ek__table_begin(x, "not-looked-at", "Not checked", missing_column, sizeof missing_column / sizeof *missing_column);
    for (int i = 0; i < d->n_not_looked_at; i++) {
        char text[2048];
        if (!ek__diagnosis_missing(d, i, text, sizeof text))
            continue;
        ek__row_begin(x);
        ek__cell_text(x, text);
        ek__cell_text(x, d->not_looked_at[i].how);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_diagnosis *d = run->diagnosis;
    ek__section x = ek__section_begin(s, "findings");
    char text[512];
    (void)err;
    if (d->step_source && !isnan(d->step_seconds)) {
        snprintf(text, sizeof text, "Shares refer to the diagnosed step: %s.", d->step_source);
        ek__section_note(&x, text);
    }
    if (d->n_bottlenecks == 0)
        ek__section_note(&x, "No bottleneck is above the requested threshold.");
    else if (d->n_bottlenecks > 1)
        ek__section_note(
            &x, "Each gain assumes one change and nothing else. Gains do not add up: diagnose again after a change.");
    for (int i = 0; i < d->n_bottlenecks; i++)
        write_bottleneck(run, &d->bottleneck[i], i + 1, &x);
    write_missing(d, &x);
    if (run->trace)
        ek__view_trace_finding_table(run, &x);
    ek__section_end(&x);
    return EK_OK;
}

const ek__view_part ek__view_part_diagnosis = {
    .present = present, .facts = facts, .notes = notes, .sections = sections};
