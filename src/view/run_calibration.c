/* A calibration: how far off the device is on every run, before and after, left out and kept back; what became of its
 * constants; what to measure next. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/calibration_internal.h"
#include "view/view.h"

#define NS_PER_S 1e9

static bool present(const ek_view_run *run)
{
    return run->calibration != NULL;
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    static const char *const name[EK__N_PREDICTED] = {"mean error, start", "mean error, fit",
                                                      "mean error, groups left out", "mean error, runs kept back"};
    const ek_calibration *c = run->calibration;
    char text[300];
    ek__view_fact(s, "device", NAN, EK__UNIT_TEXT, c->device.name, NULL);
    ek__view_fact(s, "from", NAN, EK__UNIT_TEXT, c->start, NULL);
    ek__calibration_verdict(c, text, sizeof text);
    ek__view_fact(s, "runs", NAN, EK__UNIT_TEXT, text, NULL);
    for (int k = 0; k < EK__N_PREDICTED; k++) {
        const ek_calibration_error *e = ek__calibration_error(c, k);
        if (e->n > 0)
            ek__view_fact(s, name[k], 100 * e->mean, EK__UNIT_PERCENT | EK__LESS, NULL, EK__DERIVED);
    }
}

/* ---- errors ---- */

/* Numbers of runs, shortest measured step first. */
static int by_step(const void *a, const void *b)
{
    const ek_calibrated_run *const *x = a, *const *y = b;
    double p = (*x)->measured, q = (*y)->measured;
    return p != q ? (p > q) - (p < q) : (*x > *y) - (*x < *y);
}

/* The errors of each kind of prediction over the measured step. */
static ek_status put_errors(const ek_calibration *c, ek__section *x, ek_error *err)
{
    const ek_calibrated_run **run = ek__alloc((size_t)c->n_runs + 1, sizeof *run);
    int n = 0;
    if (!run)
        return ek__no_memory(err);
    for (int i = 0; i < c->n_runs; i++)
        if (c->run[i].used || c->run[i].held)
            run[n++] = &c->run[i];
    qsort(run, (size_t)n, sizeof *run, by_step);
    ek__lines_begin(x, "errors", "Predicted less measured, by run, shortest step first", "run", EK__UNIT_COUNT,
                    "predicted less measured", EK__UNIT_PERCENT);
    for (int k = 0; k < EK__N_PREDICTED; k++) {
        if (ek__calibration_error(c, k)->n == 0)
            continue;
        ek__polyline_begin(x, ek__predicted_title[k]);
        for (int i = 0; i < n; i++)
            ek__polyline_point(x, i + 1,
                               ek__calibrated_has(run[i], k) ? 100 * ek__calibrated_error(run[i], k) : (double)NAN);
        ek__polyline_end(x);
    }
    ek__lines_end(x, NAN);
    free(run);
    return EK_OK;
}

static const ek__view_column error_column[] = {
    {"what", "Predictions", EK__UNIT_TEXT, false},
    {"runs", "Runs", EK__UNIT_COUNT, false},
    {"mean", "Mean error", EK__UNIT_PERCENT | EK__LESS, false},
    {"median", "Median", EK__UNIT_PERCENT | EK__LESS, false},
    {"worst", "Worst", EK__UNIT_PERCENT | EK__LESS, false},
    {"bias", "Bias", EK__UNIT_PERCENT, false},
};

static void put_sums(const ek_calibration *c, ek__section *x)
{
    const ek_calibration_error *e;
    ek__table_begin(x, "sums", "Errors of the step", error_column, sizeof error_column / sizeof *error_column);
    for (int i = 0; i < EK__N_ERROR_ROWS; i++) {
        if ((e = ek__calibration_error_row(c, i))->n == 0)
            continue;
        ek__row_begin(x);
        ek__cell_text(x, ek__error_row_title[i]);
        ek__cell_int(x, e->n);
        ek__cell_real(x, 100 * e->mean);
        ek__cell_real(x, 100 * e->median);
        ek__cell_real(x, 100 * e->worst);
        ek__cell_real(x, 100 * e->bias);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

/* ---- runs and constants ---- */

static const ek__view_column run_column[] = {
    {"run", "Run", EK__UNIT_TEXT, false},
    {"use", "Use", EK__UNIT_TEXT, false},
    {"measured", "Measured", EK__UNIT_NS, false},
    {"start", "Start", EK__UNIT_NS, false},
    {"predicted", "Predicted", EK__UNIT_NS, false},
    {"error", "Error", EK__UNIT_PERCENT, false},
    {"group_out", "Group left out", EK__UNIT_NS, false},
    {"group_error", "Error, group left out", EK__UNIT_PERCENT, false},
    {"where", "Where it stands", EK__UNIT_TEXT, false},
    {"why", "Why it is left out", EK__UNIT_TEXT, false},
};

static void put_runs(const ek_calibration *c, ek__section *x)
{
    ek__table_begin(x, "runs", "Runs", run_column, sizeof run_column / sizeof *run_column);
    for (int i = 0; i < c->n_runs; i++) {
        const ek_calibrated_run *r = &c->run[i];
        bool priced = r->used || r->held;
        char where[300];
        snprintf(where, sizeof where, r->line > 0 ? "%s:%d" : "%s", r->file, r->line);
        ek__row_begin(x);
        ek__cell_text(x, r->name);
        ek__cell_text(x, r->used ? "fitted" : r->held ? "kept back" : "left out");
        ek__cell_real(x, NS_PER_S * r->measured);
        ek__cell_real(x, NS_PER_S * r->before);
        ek__cell_real(x, NS_PER_S * r->after);
        ek__cell_real(x, priced ? 100 * (r->after / r->measured - 1) : (double)NAN);
        ek__cell_real(x, NS_PER_S * r->group_out);
        ek__cell_real(x, r->used ? 100 * (r->group_out / r->measured - 1) : (double)NAN);
        ek__cell_text(x, where);
        ek__cell_text(x, priced ? NULL : r->why);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static const ek__view_column constant_column[] = {
    {"constant", "Constant", EK__UNIT_TEXT, false}, {"start", "Start", EK__UNIT_NONE, false},
    {"value", "Value", EK__UNIT_NONE, false},       {"error", "Standard error", EK__UNIT_NONE, false},
    {"unit", "Unit", EK__UNIT_TEXT, false},         {"state", "What the runs say", EK__UNIT_TEXT, false},
};
static void put_constants(const ek_calibration *c, ek__section *x)
{
    ek__table_begin(x, "constants", "Constants", constant_column, sizeof constant_column / sizeof *constant_column);
    for (int state = 0; state < EK_N_FIT_STATES; state++)
        for (int i = 0; i < c->n_constants; i++) {
            const ek_calibrated_constant *k = &c->constant[i];
            if ((int)k->state != state)
                continue;
            ek__row_begin(x);
            ek__cell_text(x, k->name);
            ek__cell_real(x, k->start);
            ek__cell_real(x, k->value);
            ek__cell_real(x, k->state == EK_FIT_DETERMINED ? k->error : (double)NAN);
            ek__cell_text(x, k->unit[0] ? k->unit : NULL);
            ek__cell_text(x, ek__fit_state_title[k->state]);
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

/* ---- links, kernels, sources ---- */

static const ek__view_column link_column[] = {
    {"what", "Measured by itself", EK__UNIT_TEXT, false},
    {"times", "Times or shapes", EK__UNIT_COUNT, false},
    {"median", "Median error of what was fitted", EK__UNIT_PERCENT, false},
    {"share", "Share of the rate", EK__UNIT_PERCENT, false},
    {"start", "Start", EK__UNIT_NS, false},
};

static void put_measured(const ek_calibration *c, ek__section *x)
{
    char what[96];
    ek__table_begin(x, "measured", "Kernels and links", link_column, sizeof link_column / sizeof *link_column);
    for (int k = 0; k < EK_N_KERNEL_KINDS && c->has_kernels; k++)
        if (c->kernels[k].n > 0) {
            ek__row_begin(x);
            snprintf(what, sizeof what, "kernels, %s", ek_kernel_name[k]);
            ek__cell_text(x, what);
            ek__cell_int(x, c->kernels[k].n);
            ek__cell_real(x, 100 * c->kernels[k].median);
            ek__cell_real(x, NAN);
            ek__cell_real(x, NAN);
            ek__row_end(x);
        }
    for (int i = 0; i < c->n_links; i++) {
        const ek_calibrated_link *l = &c->link[i];
        ek__row_begin(x);
        snprintf(what, sizeof what, "%s, %s", c->device.tier[l->tier].name, ek_collective_name[l->what]);
        ek__cell_text(x, what);
        ek__cell_int(x, l->n);
        ek__cell_real(x, 100 * l->median_error);
        ek__cell_real(x, 100 * l->share);
        ek__cell_real(x, 1e3 * l->start_us);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static void put_notes(const ek_calibration *c, ek__section *x)
{
    char line[1200];
    for (int i = 0; i < c->n_sources; i++) {
        snprintf(line, sizeof line, "From %s: %s, %d.", c->source[i].path, ek_source_kind_name[c->source[i].kind],
                 c->source[i].n);
        ek__section_note(x, line);
    }
    if (c->n_used > 0) {
        snprintf(
            line, sizeof line,
            "To expect of a layout that was not measured: %.1f %% where its layers were met, %.1f %% in a new cell "
            "(standard errors).",
            100 * c->met_error, 100 * c->new_error);
        ek__section_note(x, line);
    }
    for (int i = 0; i < c->n_proposed; i++) {
        const ek_proposed_run *p = &c->proposed[i];
        snprintf(line, sizeof line,
                 "To measure next, %d: %s, from %s by %s; predicted %.4g s, %s %.1f %%; then layouts beside the "
                 "measured ones are known to %.1f %%.",
                 i + 1, p->what, p->from, p->change, p->seconds, p->new_cell ? "new cell: expect" : "known to",
                 100 * p->expected, 100 * p->after);
        ek__section_note(x, line);
    }
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_calibration *c = run->calibration;
    ek_status status = EK_OK;
    ek__section x = ek__section_begin(s, "calibration");
    put_notes(c, &x);
    if (c->n_used + c->n_held > 0) {
        status = put_errors(c, &x, err);
        put_sums(c, &x);
    }
    if (c->n_runs > 0) {
        put_runs(c, &x);
        put_constants(c, &x);
    }
    if (c->has_kernels || c->n_links > 0)
        put_measured(c, &x);
    ek__section_end(&x);
    return status;
}

const ek__view_part ek__view_part_calibration = {.present = present, .facts = facts, .sections = sections};
