/* Writes a calibration: the errors of the device on every run, before and after, left out of the fit and held out; the
 * change of its constants; the measurements to make next. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "figures/calibration_figures.h"
#include "report/calibration_internal.h"
#include "view/rows.h"

static bool present(const ek_view_run *run)
{
    return run->calibration != NULL;
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    static const char *const name[EK__N_PREDICTED] = {"mean error, start", "mean error, fit",
                                                      "mean error, groups left out", "mean error, held-out runs"};
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
static ek_status write_errors(const ek_calibration *c, ek__section *x, ek_error *err)
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

static void write_notes(const ek_calibration *c, ek__section *x)
{
    char line[1200];
    for (int i = 0; i < c->n_sources; i++) {
        snprintf(line, sizeof line, "From %s: %s, %d.", c->source[i].path, ek_source_kind_name[c->source[i].kind],
                 c->source[i].n);
        ek__section_note(x, line);
    }
    if (c->n_used > 0) {
        ek__snprintf(line, sizeof line,
                     "Expected error of a layout that was not measured: %.1f %% if its layers were met, %.1f %% in a "
                     "new cell (standard errors).",
                     100 * c->met_error, 100 * c->new_error);
        ek__section_note(x, line);
    }
    for (int i = 0; i < c->n_proposed; i++) {
        const ek_proposed_run *p = &c->proposed[i];
        ek__snprintf(line, sizeof line,
                     "Next measurement, %d: %s, from %s by %s; predicted %.4g s, %s %.1f %%; layouts that were not "
                     "measured are then known to %.1f %%.",
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
    write_notes(c, &x);
    if (c->n_used + c->n_held > 0)
        status = write_errors(c, &x, err);
    for (int i = 0; i < EK__N_CALIBRATION_TABLES; i++)
        ek__view_result_rows(run, c, &ek__calibration_table[i], NULL, NULL, &x);
    ek__section_end(&x);
    return status;
}

const ek__view_part ek__view_part_calibration = {.present = present, .facts = facts, .sections = sections};
