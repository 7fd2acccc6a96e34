/* evenkeel/report.h - results as text, YAML, JSON, pictures and traces.
 *
 * An output format is one file behind the table ek_formats (text to stdout) or one of the writers below it. Writers
 * only print: every figure is computed before. */
#ifndef EVENKEEL_REPORT_H
#define EVENKEEL_REPORT_H

#include <stdio.h>

#include "evenkeel/balance.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One plan with its simulation, under a name. All borrowed. */
typedef struct ek_case {
    const char *name; /**< of the strategy: "result", "naive_no_recomp", "manual1", ... */
    const ek_plan *plan;
    const ek_timeline *timeline;
} ek_case;

/** What a command has to say. All borrowed. */
typedef struct ek_report {
    const ek_layers *layers;
    double memory_limit_mb; /**< 0: none was given */
    const char *train_file; /**< that the model of a sequence piece was derived from; NULL without pieces */
    int n_cases;
    const ek_case *cases; /**< [n_cases]; for balance the first is the answer */
    /** The search, or NULL for `simulate`. When its status is infeasible there are no cases. */
    const ek_balance_result *search;
    bool list;  /**< print cases as a list even when there is one */
    bool color; /**< ANSI colours, for a terminal that wants them */
} ek_report;

/** One way of printing a report to a stream. */
typedef struct ek_format {
    const char *name; /**< as given to --format */
    ek_status (*write)(const ek_report *report, FILE *out, ek_error *err);
} ek_format;

/** text, yaml, json; NULL at the end. */
extern const ek_format *const ek_formats[];
const ek_format *ek_format_find(const char *name);

/** Timeline above memory curves, limit drawn in, one picture for one case. O(blocks). */
ek_status ek_svg_write(const ek_report *report, int case_index, FILE *out, ek_error *err);
/** All cases side by side on one time axis, with a table of step, bubble and peak. O(blocks). */
ek_status ek_svg_compare_write(const ek_report *report, FILE *out, ek_error *err);
/** The simulated timeline of one case as a Chrome trace (Trace Event Format) that Perfetto opens. O(blocks). */
ek_status ek_chrome_trace_write(const ek_report *report, int case_index, FILE *out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
