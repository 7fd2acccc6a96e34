/* evenkeel/trace_report.h - prints the results of a run's traces as text, JSON, tables and a picture.
 *
 * Writers only print: every figure is computed by ek_trace_run_read(). A new table is one function and one line in
 * src/report/trace_csv.c.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_TRACE_REPORT_H
#define EVENKEEL_TRACE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/plot.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Selection and options of the report. */
typedef struct ek_trace_view {
    int rank;         /**< only this one, in full; EK_TRACE_NO_RANK: all */
    const char *step; /**< only this one; NULL: all */
    int top;          /**< rows of a list for people; 0: 10 */
    bool color;       /**< ANSI colours, for a terminal that supports them */
    ek_plot plot;     /**< text: times of a step as bars, of one rank for each step */
} ek_trace_view;

/** Is the view's rank among the run's? Yes where it names none. O(ranks). */
bool ek_trace_view_has_rank(const ek_trace_run *run, const ek_trace_view *view);
/** Is the view's step among those of the run's ranks? Yes where it names none. O(ranks x steps). */
bool ek_trace_view_has_step(const ek_trace_run *run, const ek_trace_view *view);

/** Input of ek_write() for a trace. Borrowed. */
typedef struct ek_trace_report {
    const ek_trace_run *run;
    const ek_trace_view *view; /**< NULL: all of it */
} ek_trace_report;

/** A table of comma-separated values with a header line. */
typedef struct ek_trace_table {
    const char *name; /**< "steps", "layers", ...: of the file NAME.csv */
    const char *what; /**< in a few words */
} ek_trace_table;
enum { EK_N_TRACE_TABLES = 22 };
/** The first is the one that `--format csv` prints. */
extern const ek_trace_table *const ek_trace_tables;

/**
 * Answer a query of SQLite over the tables of a run (docs/trace.md, "Queries") as comma-separated values with a header.
 * A query only reads: other statements are refused, and no file is opened.
 *
 * @param sql  one SELECT
 * @return EK_OK; EK_ERR_INPUT with SQLite's message when it is not such a query; EK_ERR_SYSTEM when `out` cannot be
 *         written; EK_ERR_MEMORY. O(rows of all tables) plus the query.
 */
ek_status ek_trace_query(const ek_trace_run *run, const char *sql, FILE *out, ek_error *err);

EK_END_DECLS
#endif
