/* Writes the operators of every rank by kind, the shares of their families, and single executions that took far longer
 * than others. Each rank has tables of its own, so that rows of two runs are matched by the operator. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/trace_sections.h"

static double percent(double share)
{
    return isfinite(share) ? 100 * share : 0;
}

static void write_families(const ek_view_run *run, ek__section *x)
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

/* Operators of every rank in tables of their own. */
static bool write_table(const ek_view_run *run, const ek__rows *rows, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    if (rows->fields != &ek__trace_operator)
        return false;
    for (int i = 0; i < trace->n_ranks && i < EK__VIEW_MAX_RANKS; i++) {
        ek__owner of = {.run = trace, .rank = &trace->rank[i]};
        char id[64], label[64], title[160];
        bool none;
        ek__rows_entry(rows, 0, &of, &none);
        if (none)
            continue;
        snprintf(id, sizeof id, "%s-%d", rows->id, i);
        ek__view_rank_title(trace, &trace->rank[i], label, sizeof label);
        snprintf(title, sizeof title, "%s of %s", rows->title, label);
        ek__view_rows(run, rows, id, title, i, x);
    }
    return true;
}

void ek__view_trace_operators(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    ek__section x = ek__section_begin(s, "operators");
    bool any = false;
    for (int i = 0; i < trace->n_ranks; i++)
        any = any || trace->rank[i].operators.n > 0 || trace->rank[i].operators.n_table > 0;
    if (!any)
        ek__section_note(&x, "These files contain no device operators. Profile with device events, on Ascend at level "
                             "1 or higher, and also give the folder with kernel_details.csv.");
    else
        ek__section_note(
            &x, "Shares refer to the summed time of the operators of the rank, on Ascend without communication.");
    ek__view_note_rest(&x, trace->n_ranks - EK__VIEW_MAX_RANKS, "ranks' operators",
                       "evenkeel trace --rank N or --csv DIR shows them");
    write_families(run, &x);
    ek__view_tables(run, "operators", write_table, &x);
    ek__section_end(&x);
}
