/* evenkeel/report.h - results as text, YAML, JSON, pictures and traces.
 *
 * An output format is one file behind the table ek_formats (text to stdout) or one of the writers below it. Writers
 * only print: every figure is computed before.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(what they free), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_REPORT_H
#define EVENKEEL_REPORT_H

#include <stdio.h>

#include "evenkeel/collect.h"
#include "evenkeel/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Quick tuning, and what the search finds under the same rules. All borrowed. */
typedef struct ek_quick_report {
    const ek_layers *layers;
    const ek_quick *quick;
    const ek_balance_result *search; /**< with no recomputation but full; NULL when there was none */
} ek_quick_report;

/** What a command has to say. All borrowed. */
typedef struct ek_report {
    const ek_layers *layers;
    double memory_limit_mb; /**< 0: none was given; the largest when the stages have their own */
    /** What differs between the stages or micro-batches of every case, and what the search was not free in; each NULL
     *  when there is nothing of the kind. */
    const double *stage_memory_mb;  /**< [n_stages] limits */
    const double *stage_speed;      /**< [n_stages] 1: as the layer times say */
    const double *micro_batch_cost; /**< [whole micro-batches] factors of time and activations */
    const int *fixed_layers;        /**< [n_stages] -1: free */
    const bool *forbidden;          /**< [EK_N_RECOMPUTE] */
    const char *train_file;         /**< that the model of a sequence piece was derived from; NULL without pieces */
    int n_cases;
    const ek_case *cases; /**< [n_cases]; for balance the first is the answer */
    /** The search, or NULL for `simulate`. When its status is infeasible there are no cases. */
    const ek_balance_result *search;
    const ek_ranking *ranking; /**< what the answer was chosen from, or NULL */
    const char *memory_unit;   /**< of all memory, for pictures; NULL: MB */
    bool list;                 /**< print cases as a list even when there is one */
    bool color;                /**< ANSI colours, for a terminal that wants them */
} ek_report;

/** What the logs of dry runs gave. All borrowed. */
typedef struct ek_collected {
    const ek_collection *logs;
    ek_peak which;
    const ek_memory_usage *usage; /**< NULL when it cannot be made */
} ek_collected;

/** One way of printing a report to a stream. */
typedef struct ek_format {
    const char *name; /**< as given to --format */
    ek_status (*write)(const ek_report *report, FILE *out, ek_error *err);
    /** The schedules; like the following NULL when the format has no such thing. */
    ek_status (*write_schedules)(FILE *out, ek_error *err);
    ek_status (*write_uniform)(const ek_uniform_run *run, FILE *out, ek_error *err);
    ek_status (*write_sweep)(const ek_sweep *sweep, FILE *out, ek_error *err);
    ek_status (*write_quick)(const ek_quick_report *report, FILE *out, ek_error *err);
    ek_status (*write_guide)(const ek_guide *guide, FILE *out, ek_error *err);
    ek_status (*write_collected)(const ek_collected *collected, FILE *out, ek_error *err);
} ek_format;

/** text, yaml, json; NULL at the end. */
extern const ek_format *const ek_formats[];
/** The format of a name, or NULL. O(formats). */
const ek_format *ek_format_find(const char *name);

/**
 * Timeline above memory curves, limit drawn in, one picture for one case.
 *
 * @param case_index  0 to n_cases - 1
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(blocks).
 */
ek_status ek_svg_write(const ek_report *report, int case_index, FILE *out, ek_error *err);
/**
 * All cases side by side on one time axis, with a table of step, bubble and peak.
 *
 * @return EK_OK; EK_ERR_INPUT where there is no case; EK_ERR_SYSTEM when `out` cannot be written. O(blocks).
 */
ek_status ek_svg_compare_write(const ek_report *report, FILE *out, ek_error *err);
/**
 * Step time and its bound over the swept value.
 *
 * @return EK_OK; EK_ERR_INPUT where there is no value to draw; EK_ERR_SYSTEM when `out` cannot be written. O(rows).
 */
ek_status ek_svg_sweep_write(const ek_sweep *sweep, FILE *out, ek_error *err);
/**
 * The simulated timeline of one case as a Chrome trace (Trace Event Format) that Perfetto opens.
 *
 * @param case_index  0 to n_cases - 1
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(blocks).
 */
ek_status ek_chrome_trace_write(const ek_report *report, int case_index, FILE *out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
