/* Writes a run's traces as tables of comma-separated values, one per topic, for spreadsheets and scripts. The columns
 * are those of the figures in src/figures. Times are microseconds with three decimals; unknown values are empty. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/digits.h"
#include "base/print.h"
#include "report/fields_csv.h"
#include "report/trace_internal.h"
#include "report/writers.h"

/* The table to write. */
typedef struct table {
    const ek__rows *rows;
    ek__column column[EK__MAX_COLUMNS];
    int n_columns;
    FILE *out;
} table;

static void print_row(const table *t, const void *record, const ek__owner *of)
{
    if (!t->rows->of_run) {
        for (int i = 0; i < 2; i++) {
            int number = i ? of->rank->stage : of->rank->rank;
            fprintf(t->out, number < 0 ? "," : "%d,", number);
        }
    }
    for (int i = 0; i < t->n_columns; i++) {
        fputs(i ? "," : "", t->out);
        ek__print_cell_csv(&t->column[i], record, of, t->out);
    }
}

static void print_header(const table *t)
{
    fputs(t->rows->of_run ? "" : "rank,stage,", t->out);
    ek__print_names_csv(t->column, t->n_columns, t->out);
}

static bool shows(const ek_trace_view *view, const ek__rows *rows, const void *record)
{
    if (rows->fields == &ek__trace_step)
        return ek__view_shows_step(view, record);
    if (rows->fields == &ek__trace_finding) {
        int rank = ((const ek_trace_finding *)record)->rank;
        return !view || view->rank == EK_TRACE_NO_RANK || rank < 0 || rank == view->rank;
    }
    return true;
}

/* Live blocks at the tracker's peak, by type, as rows of the table of memory. */
static void print_live(const table *t, const ek_trace_rank *rank)
{
    const ek_trace_tracker *tracker = &rank->memory.tracker;
    for (int i = 0; i < tracker->n_live; i++) {
        const ek_trace_memory_peak one = {tracker->live[i].type, (double)tracker->live[i].bytes / EK__MB, NAN, NAN};
        const ek__owner of = {.rank = rank};
        print_row(t, &one, &of);
        fputs(",1\n", t->out);
    }
}

static void print_rows(const table *t, ek__owner *of, const ek_trace_view *view)
{
    bool memory = t->rows->fields == &ek__trace_peak, end = false;
    for (int i = 0; !end; i++) {
        const void *record = ek__rows_entry(t->rows, i, of, &end);
        if (!record || !shows(view, t->rows, record))
            continue;
        print_row(t, record, of);
        fputs(memory ? ",0\n" : "\n", t->out);
    }
    if (memory)
        print_live(t, of->rank);
}

static const ek_trace_table ek__trace_tables[EK_N_TRACE_TABLES] = {
    {"steps", "a row for every step of every rank"},
    {"anatomy", "parts of every step: forward, backward, waiting and so on"},
    {"path_parts", "the critical path by content"},
    {"path", "the critical path of one step, stretch by stretch"},
    {"ranks", "means over a rank's steps"},
    {"layers", "a row for every layer and direction"},
    {"operators", "a row for every operator"},
    {"shapes", "a row for every operator by type and shape, over all ranks"},
    {"kernels", "a row for every execution of an operator that computes"},
    {"outliers", "executions far longer than others of their kind"},
    {"collectives", "communication by kind, group and size"},
    {"calls", "a row for every collective"},
    {"waits", "which rank waits for which other one"},
    {"links", "bandwidth between two ranks"},
    {"idle", "idle time of streams by cause"},
    {"memory", "peaks by component, or by type of block"},
    {"block_sites", "allocations by the operator or place of the program that made them"},
    {"blocks", "a row for every allocation with its lifetime"},
    {"stages", "means over the ranks of a stage"},
    {"cluster", "cluster_step_trace_time as it was read"},
    {"sources", "files that were read, and their problems"},
    {"findings", "recommended actions, largest gain first"},
};
const ek_trace_table *const ek_trace_tables = ek__trace_tables;

ek_status ek__trace_write_csv(const ek_trace_run *run, const ek_trace_table *table_, const ek_trace_view *view,
                              FILE *out, ek_error *err)
{
    table t = {.out = out};
    do
        t.rows = ek__next_trace_rows(t.rows);
    while (t.rows && (!t.rows->csv || strcmp(t.rows->csv, table_->name) != 0));
    assert(t.rows);
    t.n_columns = ek__fields_columns(t.rows->fields, t.rows->also, EK__OF_CSV, t.column);
    print_header(&t);
    fputs(t.rows->fields == &ek__trace_peak ? ",tracker\n" : "\n", out);
    ek__owner of = {.run = run};
    if (t.rows->of_run)
        print_rows(&t, &of, view);
    for (int i = 0; !t.rows->of_run && i < run->n_ranks; i++) {
        of.rank = &run->rank[i];
        if (ek__view_shows(view, of.rank))
            print_rows(&t, &of, view);
    }
    return ek__finish(out, err);
}
