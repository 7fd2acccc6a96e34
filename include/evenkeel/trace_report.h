/* evenkeel/trace_report.h - what was found in a run's traces, as text, JSON, tables and a picture.
 *
 * Writers only print: every figure is computed by ek_trace_run_read(). A new table is one function and one line in
 * src/report/trace_csv.c. */
#ifndef EVENKEEL_TRACE_REPORT_H
#define EVENKEEL_TRACE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What of a run is shown, and how. */
typedef struct ek_trace_view {
    int rank;         /**< only this one, in full; EK_TRACE_NO_RANK: all */
    const char *step; /**< only this one; NULL: all */
    int top;          /**< rows of a list for people; 0: 10 */
    bool color;       /**< ANSI colours, for a terminal that wants them */
} ek_trace_view;

/** Is the view's rank among the run's, and its step among theirs? */
bool ek_trace_view_has_rank(const ek_trace_run *run, const ek_trace_view *view);
bool ek_trace_view_has_step(const ek_trace_run *run, const ek_trace_view *view);

/** A summary for people: where a step goes, stages, layers, operators, communication, data, memory, findings. Many
 *  ranks are summed up, and the worst shown; one rank (view->rank) is shown in full. O(results). */
ek_status ek_trace_write_text(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

/** Everything, by docs/trace-json.md; view->rank and view->step narrow it, the rest of the view does not count. Times
 *  are exact to the nanosecond. O(results), memory O(processes). */
ek_status ek_trace_write_json(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

/** A table of comma-separated values with a header line. */
typedef struct ek_trace_table {
    const char *name; /**< "steps", "layers", ...: of the file NAME.csv */
    const char *what; /**< in a few words */
    void (*write)(const ek_trace_run *run, const ek_trace_view *view, FILE *out);
} ek_trace_table;
enum { EK_N_TRACE_TABLES = 13 };
/** The first is what `--format csv` prints. */
extern const ek_trace_table ek_trace_tables[EK_N_TRACE_TABLES];
/** Write one of them. EK_ERR_SYSTEM when the output cannot be written. */
ek_status ek_trace_write_csv(const ek_trace_run *run, const ek_trace_table *table, const ek_trace_view *view, FILE *out,
                             ek_error *err);

/** A bar for every rank: what its mean step was spent on. O(ranks). */
ek_status ek_trace_write_svg(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
