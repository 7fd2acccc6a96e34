/* evenkeel/trace_report.h - what was found in a run's traces, as text, JSON, tables and a picture.
 *
 * Writers only print: every figure is computed by ek_trace_run_read(). A new table is one function and one line in
 * src/report/trace_csv.c.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(what they free), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_TRACE_REPORT_H
#define EVENKEEL_TRACE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

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

/** Is the view's rank among the run's? Yes where it names none. O(ranks). */
bool ek_trace_view_has_rank(const ek_trace_run *run, const ek_trace_view *view);
/** Is the view's step among those of the run's ranks? Yes where it names none. O(ranks x steps). */
bool ek_trace_view_has_step(const ek_trace_run *run, const ek_trace_view *view);

/**
 * A summary for people: where a step goes, stages, layers, operators, communication, data, memory, findings. Many ranks
 * are summed up, and the worst shown; one rank (view->rank) is shown in full.
 *
 * @return EK_OK; EK_ERR_SYSTEM when `out` cannot be written; EK_ERR_MEMORY. O(results).
 */
ek_status ek_trace_write_text(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

/**
 * Everything, by docs/trace-json.md; view->rank and view->step narrow it, the rest of the view does not count. Times
 * are exact to the nanosecond.
 *
 * @return EK_OK; EK_ERR_SYSTEM when `out` cannot be written; EK_ERR_MEMORY. O(results), memory O(processes).
 */
ek_status ek_trace_write_json(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

/** A table of comma-separated values with a header line. */
typedef struct ek_trace_table {
    const char *name; /**< "steps", "layers", ...: of the file NAME.csv */
    const char *what; /**< in a few words */
} ek_trace_table;
enum { EK_N_TRACE_TABLES = 13 };
/** The first is what `--format csv` prints. */
extern const ek_trace_table ek_trace_tables[EK_N_TRACE_TABLES];
/**
 * Write one of them.
 *
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(rows).
 */
ek_status ek_trace_write_csv(const ek_trace_run *run, const ek_trace_table *table, const ek_trace_view *view, FILE *out,
                             ek_error *err);

/**
 * A bar for every rank: what its mean step was spent on.
 *
 * @return EK_OK; EK_ERR_INPUT where there is no rank to draw; EK_ERR_SYSTEM when `out` cannot be written;
 *         EK_ERR_MEMORY. O(ranks).
 */
ek_status ek_trace_write_svg(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
