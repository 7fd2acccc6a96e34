/* evenkeel/layout_report.h - prints the best layouts of a job as text, JSON and a table. Writers only print: every
 * figure is computed by evenkeel/layout.h.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LAYOUT_REPORT_H
#define EVENKEEL_LAYOUT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/plot.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Contents of the report. All borrowed; NULL for missing parts. */
typedef struct ek_layout_report {
    const ek_layout_result *result;
    const ek_layout_fits *fits;   /**< of a result without plans */
    const char *const *file;      /**< [n_plans] file that a plan was written into; NULL: into none */
    const ek_layout_thumb *thumb; /**< [EK_N_LAYOUT_THUMBS] */
    const ek_layout_explanation *explanation;
    const ek_layout_way *way;       /**< from today's job to the first plan */
    const ek_layout_trials *trials; /**< among the result's plans */
    const char *const *trial_file;  /**< [trials->n] likewise */
    const ek_layout_tries *tries;   /**< runs beside the first plan */
    int n_warnings;
    const ek_error *warning; /**< [n_warnings] of the readers */
    bool verdict_only;       /**< text: one line */
    bool color;              /**< ANSI colours, for a terminal that supports them */
    ek_plot plot;            /**< text: the steps of the plans as bars, and the pipeline of `run` */
    const ek_step_run *run;  /**< the first plan's step, block by block; NULL: its pipeline is not drawn */
} ek_layout_report;

/** A sweep, printed. All borrowed. */
typedef struct ek_layout_sweep_report {
    const ek_layout_sweep *sweep;
    const ek_job *job;
    const ek_device *device;
    double wanted_seconds; /**< of a step; 0: none */
    bool color;
} ek_layout_sweep_report;

EK_END_DECLS
#endif
