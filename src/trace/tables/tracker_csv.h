/* trace/tables/tracker_csv.h - the CSV files of MindSpore's memory tracker, and the tasks that they name.
 *
 * The writer quotes nothing and puts Python stacks into one cell, so lines are cut here, not by the general CSV reader,
 * for which a stack that begins with a quote would swallow the rest: cells up to python_stack count from the front,
 * those after it from the end. */
#ifndef EK_TRACE_TABLES_TRACKER_CSV_H
#define EK_TRACE_TABLES_TRACKER_CSV_H

#include <stdio.h>

#include "base/error.h"
#include "base/texts.h"
#include "trace/text/left_out.h"

enum { EK__TRACKER_MAX_COLUMNS = 16 };

typedef struct ek__tracker_csv {
    FILE *file;
    const char *path;
    const char *const *column_name; /**< the requested ones: [n_columns] */
    int n_columns, stack;           /**< stack: which of them is python_stack */
    char *line;
    size_t line_capacity;
    int64_t n_lines, bytes;
    char **cell; /**< of the current line, cut and NUL-terminated in `line` */
    size_t n_cells, cells_capacity, n_header;
    int column[EK__TRACKER_MAX_COLUMNS]; /**< -1 when missing */
    ek__left_out left;
} ek__tracker_csv;

/** Open and read the header. @param n_required  the first columns, which are required. Close it also after failure. */
ek_status ek__tracker_csv_open(const char *path, const char *const *column_name, int n_columns, int n_required,
                               int stack, ek__tracker_csv *out, ek_error *err);
void ek__tracker_csv_close(ek__tracker_csv *csv);
/** The next line that is not blank. */
ek_status ek__tracker_csv_next(ek__tracker_csv *csv, bool *more, ek_error *err);
/** A cell of the current line; "" when it is missing. */
const char *ek__tracker_csv_cell(const ek__tracker_csv *csv, int which);
/** @return false for text that is not a whole number, which is counted as left out. */
bool ek__tracker_csv_number(ek__tracker_csv *csv, int which, int64_t *value);

/** A task at a tick. */
typedef struct ek__tracker_task {
    int64_t tick;
    uint32_t name; /**< of ek__tracker_tasks.names: the operator's name, else the task's */
} ek__tracker_task;

/** Of one rank; {0} is empty. */
typedef struct ek__tracker_tasks {
    size_t n, capacity;
    ek__tracker_task *task; /**< [n], by tick once sorted */
    ek__texts names;
} ek__tracker_tasks;

void ek__tracker_tasks_clear(ek__tracker_tasks *tasks);
/** @return false when memory is out. */
bool ek__tracker_tasks_add(ek__tracker_tasks *tasks, int64_t tick, const char *node, const char *task);
/** By tick, each tick once: the first added of equal ones counts. O(n log n). */
void ek__tracker_tasks_sort(ek__tracker_tasks *tasks);
/** The name of the task at a tick; NULL. Sorted ones only. O(log n). */
const char *ek__tracker_tasks_at(const ek__tracker_tasks *tasks, int64_t tick);
/** The tick of the first task after a tick; INT64_MAX: there is none. Sorted ones only. O(log n). */
int64_t ek__tracker_tasks_behind(const ek__tracker_tasks *tasks, int64_t tick);

#endif
