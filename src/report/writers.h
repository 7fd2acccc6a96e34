/* report/writers.h - the writers that ek_write() calls (evenkeel/write.h), one for each format of a result. Each
 * returns EK_OK, or EK_ERR_SYSTEM when `out` cannot be written; if stated, EK_ERR_INPUT; those that need memory also
 * EK_ERR_MEMORY. */
#ifndef EK_REPORT_WRITERS_H
#define EK_REPORT_WRITERS_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/doctor.h"
#include "evenkeel/ir_report.h"
#include "evenkeel/job.h"
#include "evenkeel/layout.h"
#include "evenkeel/overview.h"
#include "evenkeel/report.h"
#include "evenkeel/sweep.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/types.h"

/** A row for every run: measured, and predicted by the start, by the result, and without the run or its group. */
ek_status ek__calibration_write_csv(const ek_calibration *calibration, FILE *out, ek_error *err);
/** docs/calibrate.md has the fields. */
ek_status ek__calibration_write_json(const ek_calibration *calibration, FILE *out, ek_error *err);
/** A picture: predicted and measured steps, errors, the constants that the runs determine. */
ek_status ek__calibration_write_svg(const ek_calibration *calibration, FILE *out, ek_error *err);
/** For people. */
ek_status ek__calibration_write_text(const ek_calibration *calibration, bool color, FILE *out, ek_error *err);

/** The tables of CSV as a database of SQLite. @return also EK_ERR_MEMORY. O(output). */
ek_status ek__trace_write_sqlite(const ek_trace_run *run, FILE *out, ek_error *err);

/** For scripts: docs/diagnose.md. Times in seconds, shares of a step. */
ek_status ek__diagnosis_write_json(const ek_diagnosis *diagnosis, FILE *out, ek_error *err);
ek_status ek__diagnosis_write_sarif(const ek_diagnosis *diagnosis, FILE *out, ek_error *err);
/** For people, lines of at most 100 columns except settings. */
ek_status ek__diagnosis_write_text(const ek_diagnosis *diagnosis, bool color, FILE *out, ek_error *err);

/** For people: a line a check, and a verdict. */
ek_status ek__doctor_write_text(const ek_doctor *doctor, bool color, FILE *out, ek_error *err);
/** For scripts: docs/doctor.md. */
ek_status ek__doctor_write_json(const ek_doctor *doctor, FILE *out, ek_error *err);

/** For people: the sentence, the verdict, the causes, the commands to type next. */
ek_status ek__overview_write_text(const ek_overview *overview, bool color, FILE *out, ek_error *err);
/** For scripts: docs/overview.md. */
ek_status ek__overview_write_json(const ek_overview *overview, FILE *out, ek_error *err);

/** Measured next to predicted, for people. */
ek_status ek__rehearsal_write_text(const ek_rehearse_result *result, FILE *out, ek_error *err);
/** For scripts: docs/rehearse.md. */
ek_status ek__rehearsal_write_json(const ek_rehearse_result *result, FILE *out, ek_error *err);

/** A header line and a row for every stage and part, comma-separated. */
ek_status ek__estimate_write_csv(const ek_estimate_report *report, FILE *out, ek_error *err);
/** Everything, by docs/estimate-json.md. */
ek_status ek__estimate_write_json(const ek_estimate_report *report, FILE *out, ek_error *err);
/** A bar of parts for every stage on one time axis; with a measured run, measured next to predicted. */
ek_status ek__estimate_write_svg(const ek_estimate_report *report, FILE *out, ek_error *err);
/** For people: the verdict, the measured run, the parts of the step, a row per stage, memory, the expected error and
 * ways to reduce it. */
ek_status ek__estimate_write_text(const ek_estimate_report *report, FILE *out, ek_error *err);

/** The same for scripts, by docs/ir-json.md. All of it: `view` is ignored. */
ek_status ek__ir_write_difference_json(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                       const ek_ir_view *view, FILE *out, ek_error *err);
/** The difference for people; docs/ir-json.md. `a` is the graph before a change, `b` after it. */
ek_status ek__ir_write_difference_text(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                       const ek_ir_view *view, FILE *out, ek_error *err);
/** The chosen operators, their neighbours and the edges between as Graphviz. */
ek_status ek__ir_write_dot(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err);
/** docs/ir-json.md, for one or several files. */
ek_status ek__ir_write_json(const ek_ir_report *const *report, int n, const ek_ir_view *view, FILE *out, ek_error *err);
ek_status ek__ir_write_sarif(const ek_ir_report *const *report, int n, const ek_ir_view *view, FILE *out,
                             ek_error *err);
/** A summary for people, at most 100 columns except long names. With a chosen layer or operators, its lists are limited
 * to them, and each of them follows with operands and attributes. */
ek_status ek__ir_write_text(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err);

/** Step (logarithmic) against the memory of the fullest stage, for all points: plans found filled, bounds hollow; the
 * plans near the best enlarged; the limit, the front of the plans and that of the bounds; the best plans numbered, and
 * listed below; the job's own layout. */
ek_status ek__layout_write_svg(const ek_layout_result *result, ek_layout_axis color, FILE *out, ek_error *err);

/** A header line and a row for every value. */
ek_status ek__layout_sweep_write_csv(const ek_layout_sweep_report *report, FILE *out, ek_error *err);
/** By docs/plan-json.md. */
ek_status ek__layout_sweep_write_json(const ek_layout_sweep_report *report, FILE *out, ek_error *err);
/** A row for every value: its best layout, step, throughput per device, linearity, and certainty. */
ek_status ek__layout_sweep_write_text(const ek_layout_sweep_report *report, FILE *out, ek_error *err);
/** A header line and a row for every plan, comma-separated. */
ek_status ek__layout_write_csv(const ek_layout_report *report, FILE *out, ek_error *err);
/** Everything except the points, in the form of docs/plan-json.md. */
ek_status ek__layout_write_json(const ek_layout_report *report, FILE *out, ek_error *err);
/** For people: the verdict, the query about one layout, the current layout, the best plans, the parts and the stages of
 * the first, the reasons against the others; rules of thumb, runs to try; if nothing fits, the closest layout and
 * changes that would make it fit. */
ek_status ek__layout_write_text(const ek_layout_report *report, FILE *out, ek_error *err);

/** For scripts: docs/lint.md. */
ek_status ek__lint_write_json(const ek_lint *lint, FILE *out, ek_error *err);
/** SARIF 2.1.0, for code review. */
ek_status ek__lint_write_sarif(const ek_lint *lint, FILE *out, ek_error *err);
/** `path:line:column: level: message [id]`, a line each, with the line of the file and a mark below it with `context`.
 */
ek_status ek__lint_write_text(const ek_lint *lint, bool context, FILE *out, ek_error *err);

/** A header line and a row per stage, comma-separated. */
ek_status ek__memory_write_csv(const ek_memory_report *report, FILE *out, ek_error *err);
/** Everything, by docs/memory-json.md. */
ek_status ek__memory_write_json(const ek_memory_report *report, FILE *out, ek_error *err);
/** The rules: name, value, description, whether it is derived, documented or assumed, with a mark at those that differ
 * from the framework's default. */
ek_status ek__memory_write_rules(const ek_rules *rules, ek_framework framework, FILE *out, ek_error *err);
/** The same as a JSON list. */
ek_status ek__memory_write_rules_json(const ek_rules *rules, ek_framework framework, FILE *out, ek_error *err);
/** A stacked bar per stage, with the limit. */
ek_status ek__memory_write_svg(const ek_memory_report *report, FILE *out, ek_error *err);
/** For people: the verdict, a row per stage, the place of the peak and its live tensors, the basis of the
 * prediction. */
ek_status ek__memory_write_text(const ek_memory_report *report, FILE *out, ek_error *err);

/** The same as a list of objects. */
ek_status ek__devices_write_json(FILE *out, ek_error *err);
/** The devices known by name, with the basis of their figures: a table. */
ek_status ek__devices_write_text(FILE *out, ek_error *err);
/** docs/metrics-json.md: null for unknown figures. */
ek_status ek__metrics_write_json(const ek_metrics_report *report, FILE *out, ek_error *err);
ek_status ek__metrics_write_openmetrics(const ek_metrics_report *report, FILE *out, ek_error *err);
/** A table of figures with unit, basis and formula, then the FLOPs of a token by term. */
ek_status ek__metrics_write_text(const ek_metrics_report *report, FILE *out, ek_error *err);

/** Simulated and balanced plans, schedules, sweeps, quick tuning, rounds of dry runs and the results of their logs:
 * text and plan files for people, docs/json.md, docs/guide.md and docs/collect.md for scripts. */
ek_status ek__collected_write_json(const ek_collected *collected, FILE *out, ek_error *err);
ek_status ek__collected_write_text(const ek_collected *collected, FILE *out, ek_error *err);
ek_status ek__collected_write_yaml(const ek_collected *collected, FILE *out, ek_error *err);
ek_status ek__guide_write_json(const ek_guide *guide, FILE *out, ek_error *err);
ek_status ek__guide_write_text(const ek_guide *guide, FILE *out, ek_error *err);
ek_status ek__guide_write_yaml(const ek_guide *guide, FILE *out, ek_error *err);
ek_status ek__quick_write_json(const ek_quick_report *report, FILE *out, ek_error *err);
ek_status ek__quick_write_text(const ek_quick_report *report, FILE *out, ek_error *err);
ek_status ek__balance_write_json(const ek_report *report, FILE *out, ek_error *err);
/** Only the drawings of the text. */
ek_status ek__balance_write_plot(const ek_report *report, FILE *out, ek_error *err);
ek_status ek__balance_write_text(const ek_report *report, FILE *out, ek_error *err);
ek_status ek__balance_write_yaml(const ek_report *report, FILE *out, ek_error *err);
ek_status ek__schedules_write_json(FILE *out, ek_error *err);
ek_status ek__schedules_write_text(FILE *out, ek_error *err);
ek_status ek__sweep_write_json(const ek_sweep *sweep, FILE *out, ek_error *err);
ek_status ek__sweep_write_text(const ek_sweep *sweep, FILE *out, ek_error *err);
ek_status ek__uniform_write_json(const ek_uniform_run *run, FILE *out, ek_error *err);
ek_status ek__uniform_write_text(const ek_uniform_run *run, FILE *out, ek_error *err);
/** The simulated timeline of one case as a Chrome trace (Trace Event Format) that Perfetto opens. */
ek_status ek__chrome_trace_write(const ek_report *report, int case_index, FILE *out, ek_error *err);
/** All cases side by side on one time axis, with a table of step, bubble and peak. */
ek_status ek__svg_compare_write(const ek_report *report, FILE *out, ek_error *err);
/** Step time and its bound over the swept value. */
ek_status ek__svg_sweep_write(const ek_sweep *sweep, FILE *out, ek_error *err);
/** Timeline above memory curves, limit drawn in, one picture for one case. */
ek_status ek__svg_write(const ek_report *report, int case_index, FILE *out, ek_error *err);

/** Write one of them. */
ek_status ek__trace_write_csv(const ek_trace_run *run, const ek_trace_table *table, const ek_trace_view *view,
                              FILE *out, ek_error *err);
/** Everything, by docs/trace-json.md; view->rank and view->step narrow it, the rest of the view is ignored. Times are
 * exact to the nanosecond. */
ek_status ek__trace_write_json(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);
/** The same as lines: everything except the ranks, then one line per rank. */
ek_status ek__trace_write_jsonl(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);
/** A bar for every rank: the parts of its mean step. */
ek_status ek__trace_write_svg(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);
/** A summary for people: the parts of a step, stages, layers, operators, communication, data, memory, findings. Many
 * ranks are summarised, and the worst shown; one rank (view->rank) is shown in full. */
ek_status ek__trace_write_text(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

#endif
