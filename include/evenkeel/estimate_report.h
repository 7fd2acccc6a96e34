/* evenkeel/estimate_report.h - prints an estimate as text, JSON, a table and a picture. Writers only print: every
 * figure is computed by evenkeel/estimate.h.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_ESTIMATE_REPORT_H
#define EVENKEEL_ESTIMATE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/plot.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Contents of the report. All borrowed; NULL for missing parts. */
typedef struct ek_estimate_report {
    const ek_estimate *estimate;
    const ek_against *against;
    const char *against_source; /**< name of the measured run's log or trace */
    int n_warnings;
    const ek_error *warning; /**< [n_warnings] of the readers */
    bool verdict_only;       /**< text: one line */
    bool color;              /**< ANSI colours, for a terminal that supports them */
    ek_plot plot;            /**< text: the parts of the step and the memory of the stages as bars */
} ek_estimate_report;

EK_END_DECLS
#endif
