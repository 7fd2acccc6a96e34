/* Operators of every rank by kind, what share their families have, and single executions that took far longer than
 * others. Each rank has tables of its own, so that rows of two runs are told apart by the operator. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/trace_sections.h"

/* Does another kind of the list have the same name? Only on Ascend, where a type runs on several cores. */
static bool has_namesake(const ek_trace_operator *list, int n, int at)
{
    for (int i = 0; i < n && list[at].core; i++)
        if (i != at && strcmp(list[i].name, list[at].name) == 0)
            return true;
    return false;
}

static const ek__view_column operator_column[] = {
    {"operator", "Operator", EK__UNIT_TEXT, true},
    {"core", "Core", EK__UNIT_TEXT, false},
    {"count", "Times", EK__UNIT_COUNT, false},
    {"total", "Total", EK__UNIT_NS | EK__LESS, false},
    {"least", "Shortest", EK__UNIT_NS | EK__LESS, false},
    {"average", "Average", EK__UNIT_NS | EK__LESS, false},
    {"most", "Longest", EK__UNIT_NS | EK__LESS, false},
    {"wait", "Waiting before it", EK__UNIT_NS | EK__LESS, false},
    {"share", "Share", EK__UNIT_PERCENT, false},
    {"family", "Family", EK__UNIT_TEXT, false},
};

static void put_operators(const ek_trace_run *run, int at, const char *id, const char *what,
                          const ek_trace_operator *list, int n, ek__section *x)
{
    char number[64], label[64], title[160];
    if (n == 0)
        return;
    snprintf(number, sizeof number, "%s-%d", id, at);
    ek__view_rank_title(run, &run->rank[at], label, sizeof label);
    snprintf(title, sizeof title, "%s of %s", what, label);
    ek__table_begin(x, number, title, operator_column, sizeof operator_column / sizeof *operator_column);
    for (int i = 0; i < n && i < EK__VIEW_MAX_ROWS; i++) {
        const ek_trace_operator *op = &list[i];
        char key[EK__VIEW_KEY_SIZE];
        if (n <= 1000 && has_namesake(list, n, i)) /* beyond, none has a core */
            snprintf(key, sizeof key, "%s on %s", op->name, op->core);
        else
            snprintf(key, sizeof key, "%s", op->name);
        ek__row_begin(x);
        ek__cell_text(x, key);
        ek__cell_text(x, op->core);
        ek__cell_int(x, op->count);
        ek__cell_int(x, op->total);
        ek__cell_int(x, op->min);
        ek__cell_real(x, op->average);
        ek__cell_int(x, op->max);
        ek__cell_int(x, op->wait);
        ek__cell_real(x, op->ratio);
        ek__cell_text(x, op->family);
        ek__row_end(x);
    }
    ek__table_end(x, 3, true);
}

static const ek__view_column sum_column[] = {
    {"name", "Name", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"count", "Times", EK__UNIT_COUNT, false},
    {"total", "Total", EK__UNIT_NS | EK__LESS, false},
};

/* Cores, or types with communication, of all ranks that are shown. */
static void put_sums(const ek_trace_run *run, const char *id, const char *title, bool cores, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++)
        n += cores ? run->rank[i].operators.n_cores : run->rank[i].operators.n_types;
    if (n == 0)
        return;
    ek__table_begin(x, id, title, sum_column, sizeof sum_column / sizeof *sum_column);
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++) {
        const ek_trace_operators *ops = &run->rank[i].operators;
        const ek_trace_core *list = cores ? ops->core : ops->type;
        for (int k = 0; k < (cores ? ops->n_cores : ops->n_types); k++) {
            ek__row_begin(x);
            ek__cell_text(x, list[k].name);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_int(x, list[k].count);
            ek__cell_int(x, list[k].total);
            ek__row_end(x);
        }
    }
    ek__table_end(x, 3, true);
}

static double percent(double share)
{
    return isfinite(share) ? 100 * share : 0;
}

static void put_families(const ek_view_run *run, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    bool any = false;
    for (int i = 0; i < trace->n_ranks; i++)
        any = any || trace->rank[i].operators.share_matmul > 0 || trace->rank[i].operators.share_attention > 0 ||
              trace->rank[i].operators.share_vector > 0;
    if (!any)
        return;
    ek__bars_begin(x, "families", "Families, share of the compute time", EK__UNIT_PERCENT);
    ek__bars_series(x, "matmul", -1);
    ek__bars_series(x, "attention", -1);
    ek__bars_series(x, "vector", -1);
    for (int i = 0; i < trace->n_ranks && i < EK__VIEW_MAX_BARS; i++) {
        const ek_trace_operators *ops = &trace->rank[i].operators;
        const double value[] = {percent(ops->share_matmul), percent(ops->share_attention), percent(ops->share_vector)};
        char label[64];
        ek__view_rank_title(trace, &trace->rank[i], label, sizeof label);
        ek__bars_bar(x, label, ek__view_trace_group(run, &trace->rank[i]), value, 3);
    }
    ek__bars_end(x, NAN);
}

static const ek__view_column outlier_column[] = {
    {"place", "Execution", EK__UNIT_TEXT, false},
    {"name", "Operator", EK__UNIT_TEXT, true},
    {"type", "Type", EK__UNIT_TEXT, false},
    {"core", "Core", EK__UNIT_TEXT, false},
    {"shape", "Shape", EK__UNIT_TEXT, false},
    {"at", "At", EK__UNIT_NS, false},
    {"duration", "Took", EK__UNIT_NS | EK__LESS, false},
    {"expected", "Median of its kind", EK__UNIT_NS, false},
    {"kind", "Of its kind", EK__UNIT_COUNT, false},
};

static int n_outliers(const ek_trace_operators *ops, bool slow)
{
    return slow ? ops->n_slow : ops->n_outliers;
}

static void put_outliers(const ek_view_run *run, const char *id, const char *title, bool slow, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    int n = 0;
    for (int i = 0; i < trace->n_ranks; i++)
        n += n_outliers(&trace->rank[i].operators, slow) > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, id, title, outlier_column, sizeof outlier_column / sizeof *outlier_column);
    for (int i = 0; i < trace->n_ranks; i++) {
        const ek_trace_rank *rank = &trace->rank[i];
        const ek_trace_outlier *list = slow ? rank->operators.slow : rank->operators.outlier;
        for (int k = 0; k < n_outliers(&rank->operators, slow) && n < EK__VIEW_MAX_ROWS; k++) {
            double at = NAN;
            char number[32], key[64];
            if (!list[k].name) /* only the longest have names */
                continue;
            n++;
            snprintf(number, sizeof number, "%d", k + 1);
            ek__view_key(trace, rank, number, key, sizeof key);
            ek__row_begin(x);
            ek__cell_text(x, key);
            ek__cell_text(x, list[k].name);
            ek__cell_text(x, list[k].type);
            ek__cell_text(x, list[k].core);
            ek__cell_text(x, list[k].shapes_unknown ? "not recorded" : list[k].shape);
            ek__cell_real(x, ek__view_trace_at(run, rank, list[k].start, &at) ? at : NAN);
            ek__cell_int(x, list[k].duration);
            ek__cell_int(x, list[k].expected);
            ek__cell_int(x, list[k].n_kind);
            ek__row_end(x);
        }
    }
    ek__table_end(x, 6, true);
}

void ek__view_trace_operators(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    ek__section x = ek__section_begin(s, "operators");
    bool any = false;
    for (int i = 0; i < trace->n_ranks; i++)
        any = any || trace->rank[i].operators.n > 0 || trace->rank[i].operators.n_table > 0;
    if (!any)
        ek__section_note(&x, "These files have no operators of the device. Profile with the device's activity, on "
                             "Ascend at level 1 or higher, and give the folder with kernel_details.csv too.");
    else
        ek__section_note(&x, "Shares are of the summed time of the rank's operators, on Ascend without communication.");
    ek__view_note_rest(&x, trace->n_ranks - EK__VIEW_MAX_RANKS, "ranks' operators",
                       "evenkeel trace --rank N or --csv DIR shows them");
    put_families(run, &x);
    for (int i = 0; i < trace->n_ranks && i < EK__VIEW_MAX_RANKS; i++)
        put_operators(trace, i, "operators", "Operators", trace->rank[i].operators.op, trace->rank[i].operators.n, &x);
    put_outliers(run, "outliers", "Executions that took far longer than others of their kind", false, &x);
    put_outliers(run, "slow", "Executions longer than those of the same operator elsewhere in the trace", true, &x);
    put_sums(trace, "cores", "Time by core", true, &x);
    put_sums(trace, "types", "Time by type, with communication", false, &x);
    for (int i = 0; i < trace->n_ranks && i < EK__VIEW_MAX_RANKS; i++)
        put_operators(trace, i, "op-statistic", "op_statistic.csv", trace->rank[i].operators.table,
                      trace->rank[i].operators.n_table, &x);
    ek__section_end(&x);
}
