/* view/trace_sections.h - the tabs of a trace's figures, one file each, and their helpers: names of ranks, and places
 * in the timeline. */
#ifndef EK_VIEW_TRACE_SECTIONS_H
#define EK_VIEW_TRACE_SECTIONS_H

#include "report/trace_internal.h"
#include "view/rows.h"
#include "view/view.h"

void ek__view_trace_breakdown(const ek_view_run *run, ek__stream *s);
void ek__view_trace_layers(const ek_view_run *run, ek__stream *s);
void ek__view_trace_operators(const ek_view_run *run, ek__stream *s);
ek_status ek__view_trace_communication(const ek_view_run *run, ek__stream *s, ek_error *err);
ek_status ek__view_trace_memory(const ek_view_run *run, ek__stream *s, ek_error *err);
void ek__view_trace_host(const ek_view_run *run, ek__stream *s);
void ek__view_trace_ranks(const ek_view_run *run, ek__stream *s);
void ek__view_trace_files(const ek_view_run *run, ek__stream *s);
void ek__view_trace_findings(const ek_view_run *run, ek__stream *s);
/** The same as a table of a section, where a diagnosis has the findings. */
void ek__view_trace_finding_table(const ek_view_run *run, ek__section *x);

/* ---- tables ---- */

/** A table with a row for every entry; of one rank only where `only_rank` is its index, else -1. */
void ek__view_rows(const ek_view_run *run, const ek__rows *rows, const char *id, const char *title, int only_rank,
                   ek__section *x);
const ek__rows *ek__view_find_rows(const char *section, const char *id);

/** Writes a table that is no plain list; false: it is one. */
typedef bool ek__view_own_table(const ek_view_run *run, const ek__rows *rows, ek__section *x);
/** The tables of a section that have rows, in order. `own`: called first; NULL. */
void ek__view_tables(const ek_view_run *run, const char *section, ek__view_own_table *own, ek__section *x);

/* ---- names ---- */

/** "rank 3" as a cell of a column "rank", so that its names are equal to those of the events. */
void ek__view_cell_rank(ek__section *x, const ek_trace_run *run, const ek_trace_rank *rank);
/** A number that may be missing as a cell: empty below 0. */
void ek__view_cell_from(ek__section *x, int64_t value);
/** A note on entries that a page omits. `where`: the command that shows it. */
void ek__view_note_rest(ek__section *x, int64_t left_out, const char *of_what, const char *where);

/* ---- places in the timeline ---- */

/** The group of the timeline that shows a rank: the file of the index with its events. -1 without. */
int ek__view_trace_group(const ek_view_run *run, const ek_trace_rank *rank);
/** A time of a rank's clock after the timeline's origin. False without a timeline of this rank. */
bool ek__view_trace_at(const ek_view_run *run, const ek_trace_rank *rank, int64_t time, double *at);
/** The place of a row in its table. `group`: of the rank, by ek__view_trace_group(); -1: the place is null. */
void ek__view_put_location(const ek_view_run *run, const ek__location *at, int group, ek__section *x);
/** Members "begin", "end" and "group" of a finding about a rank (below 0: none) and a step (NULL: none); null where
 *  the timeline does not show them. */
void ek__view_put_window(const ek_view_run *run, int rank, const char *step, ek__stream *s);

/** Parts of a timeline from a trace's tables: curves of memory by component, allocations as live memory. Times are
 *  nanoseconds after `origin`. */
void ek__view_trace_curves(const ek_view_run *run, int64_t origin, ek__view_timeline *t);
/** The steps of every rank, and the critical path. */
void ek__view_trace_steps(const ek_view_run *run, int64_t origin, ek__view_timeline *t);
/** Sends and receives of two ranks as arrows; those without events in the timeline have none. O(transfers x rows of the
 *  device). */
ek_status ek__view_trace_transfers(const ek_view_run *run, ek__view_timeline *t, ek_error *err);
/** Collectives that were matched over ranks as calls; those without events in the timeline are left out. O(collectives
 *  x rows of the device). */
ek_status ek__view_trace_calls(const ek_view_run *run, ek__view_timeline *t, ek_error *err);

#endif
