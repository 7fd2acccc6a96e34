/* Writes an estimate: the step time, the use of time in every stage, the basis of each part, the comparison with the
 * measured run, and the measurements that would make the error smaller. */
#include <math.h>
#include <stdio.h>

#include "evenkeel/estimate.h"
#include "evenkeel/estimate_report.h"
#include "figures/estimate_figures.h"
#include "report/estimate_internal.h"
#include "report/role_colors.h"
#include "view/plan.h"
#include "view/rows.h"

#define NS_PER_S 1e9

static bool present(const ek_view_run *run)
{
    return run->estimate != NULL;
}

/* The basis of a figure of the step, in the words of facts. */
static const char *basis_of(const ek_estimate *e)
{
    return e->basis_share[EK_COST_ASSUMED] >= 0.2 ? EK__ASSUMED : EK__DERIVED;
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    const ek_estimate *e = run->estimate->estimate;
    const char *basis = basis_of(e);
    char text[400];
    if (!run->memory) /* its facts describe the job, too */
        ek__view_job(e->job, s);
    ek__view_fact(s, "device", NAN, EK__UNIT_TEXT, e->device->name, NULL);
    ek__view_fact(s, "estimated step", NS_PER_S * e->step.seconds, EK__UNIT_NS | EK__LESS, NULL, basis);
    if (e->step.standard_error > 0)
        ek__view_fact(s, "its standard error", NS_PER_S * e->step.standard_error, EK__UNIT_NS | EK__LESS, NULL, basis);
    ek__view_fact(s, "tokens a second and device", e->metrics.tokens_per_second_per_device, EK__UNIT_NONE | EK__MORE,
                  NULL, basis);
    ek__view_fact(s, "MFU", 100 * e->metrics.mfu, EK__UNIT_PERCENT | EK__MORE, NULL, basis);
    ek__view_fact(s, "HFU", 100 * e->metrics.hfu, EK__UNIT_PERCENT | EK__MORE, NULL, basis);
    if (run->estimate->against)
        ek__view_fact(s, "measured step", NS_PER_S * run->estimate->against->seconds, EK__UNIT_NS | EK__LESS, NULL,
                      EK__MEASURED);
    ek__estimate_run(e->job, text, sizeof text); /* a sentence, so after the figures */
    ek__view_fact(s, "runs", NAN, EK__UNIT_TEXT, text, NULL);
}

static void notes(const ek_view_run *run, ek__stream *s)
{
    const ek_estimate_report *r = run->estimate;
    for (int i = 0; i < r->estimate->warnings.n; i++)
        ek__stream_text(s, NULL, r->estimate->warnings.text[i]);
    if (run->memory) /* its notes include the readers' warnings */
        return;
    for (int i = 0; i < r->n_warnings; i++)
        ek__stream_text(s, NULL, r->warning[i].message);
}

/* ---- stages ---- */

static void write_stages(const ek_estimate *e, ek__section *x)
{
    const ek_step *step = &e->step;
    ek__bars_begin(x, "stages", "Step time by part and stage", EK__UNIT_NS);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (ek__estimate_has(e, i))
            ek__bars_series(x, ek_step_part_title[i], ek__step_part_role(i));
    for (int s = 0; s < step->n_stages; s++) {
        double value[EK_N_STEP_PARTS];
        char label[48];
        int n = 0;
        for (int i = 0; i < EK_N_STEP_PARTS; i++)
            if (ek__estimate_has(e, i))
                value[n++] = NS_PER_S * step->stage[s].seconds[i];
        snprintf(label, sizeof label, "stage %d%s", s, step->n_stages > 1 && s == step->slowest ? ", slowest" : "");
        ek__bars_bar(x, label, s, value, n);
    }
    ek__bars_end(x, NAN);
}

static void write_parts(const ek_view_run *run, ek__section *x)
{
    const ek_step *step = &run->estimate->estimate->step;
    char title[80];
    snprintf(title, sizeof title,
             step->n_stages > 1 ? "Where the step goes on stage %d, the slowest" : "Where the step goes",
             step->slowest);
    ek__view_result_rows(run, run->estimate, &ek__estimate_table[EK__ESTIMATE_PARTS], NULL, title, x);
}

/* ---- a measured run ---- */

static void write_against_bars(const ek_estimate_report *r, ek__section *x)
{
    const ek_against *a = r->against;
    static const int against_type[EK_N_AGAINST_PARTS] = {EK_VIEW_COMPUTING, EK_VIEW_COMMUNICATION, EK_VIEW_WAIT,
                                                         EK_VIEW_IDLE};
    const double whole[] = {NS_PER_S * a->seconds, NS_PER_S * r->estimate->step.seconds};
    ek__bars_begin(x, "against", "Measured and predicted", EK__UNIT_NS);
    for (int i = 0; i < EK_N_AGAINST_PARTS && a->has_parts; i++)
        ek__bars_series(x, ek_against_title[i], against_type[i]);
    if (!a->has_parts)
        ek__bars_series(x, "step", -1);
    for (int k = 0; k < 2; k++) {
        double value[EK_N_AGAINST_PARTS];
        for (int i = 0; i < EK_N_AGAINST_PARTS; i++)
            value[i] = NS_PER_S * (k == 0 ? a->part[i] : a->predicted[i]);
        ek__bars_bar(x, k == 0 ? "measured" : "predicted", -1, a->has_parts ? value : &whole[k],
                     a->has_parts ? EK_N_AGAINST_PARTS : 1);
    }
    ek__bars_end(x, NAN);
}

/* ---- the section ---- */

static void write_notes(const ek_estimate_report *r, ek__section *x)
{
    const ek_estimate *e = r->estimate;
    char text[700];
    ek__estimate_error(e, text, sizeof text - 32);
    char line[760];
    snprintf(line, sizeof line, "Expected error: %s.", text);
    ek__section_note(x, line);
    snprintf(line, sizeof line, "Basis: %s.", ek__estimate_basis);
    ek__section_note(x, line);
    for (int i = 0; i < e->advice.n; i++) {
        snprintf(line, sizeof line, "To reduce the error: %s.", e->advice.text[i]);
        ek__section_note(x, line);
    }
    if (!r->against)
        return;
    snprintf(line, sizeof line, "Measured: %.256s, %s.", r->against_source, r->against->words);
    ek__section_note(x, line);
    for (int i = 0; i < r->against->texts.n; i++)
        ek__section_note(x, r->against->texts.text[i]);
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_estimate_report *r = run->estimate;
    ek__section x = ek__section_begin(s, "estimate");
    (void)err;
    write_notes(r, &x);
    if (r->against)
        write_against_bars(r, &x);
    write_stages(r->estimate, &x);
    write_parts(run, &x);
    if (r->against)
        ek__view_result_rows(run, r, &ek__estimate_table[EK__ESTIMATE_ERRORS], NULL, NULL, &x);
    ek__section_end(&x);
    return EK_OK;
}

const ek__view_part ek__view_part_estimate = {.present = present, .facts = facts, .notes = notes, .sections = sections};
