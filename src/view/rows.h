/* view/rows.h - tables of the page from the description of their figures. */
#ifndef EK_VIEW_ROWS_H
#define EK_VIEW_ROWS_H

#include "figures/figures.h"
#include "view/view.h"

/** A table that is open. */
typedef struct ek__view_table {
    const ek__rows *rows;
    ek__column column[EK__MAX_COLUMNS];
    int n_columns;
    const ek_trace_rank *placed; /**< the last rank that was placed, and its group: rows of a rank are adjacent */
    int group;
} ek__view_table;
/** @param id, title  in place of the description's; NULL */
ek__view_table ek__view_table_begin(const ek__rows *rows, const char *id, const char *title, ek__section *x);
/** A row. `number`: from 1 on, of tables with a number as first column. */
void ek__view_table_row(const ek_view_run *run, ek__view_table *t, const void *record, const ek__owner *of, int number,
                        ek__section *x);
/** The place of such a row in the timeline: after all rows, in their order. */
void ek__view_table_place(const ek_view_run *run, ek__view_table *t, const void *record, const ek__owner *of,
                          int number, ek__section *x);
void ek__view_table_end(const ek__view_table *t, ek__section *x);
/** A table of a list of a result; none where the list has fewer entries than `least`. */
void ek__view_result_rows(const ek_view_run *run, const void *result, const ek__rows *rows, const char *id,
                          const char *title, ek__section *x);

#endif
