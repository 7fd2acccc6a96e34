/* Prints the best plans over one swept value: a table for people, rows for scripts. */
#include <math.h>
#include <string.h>

#include "report/report_internal.h"
#include "report/writers.h"

static void print_row(const ek_sweep *sweep, const ek_sweep_row *row, const ek_sweep_row *before, bool bounds,
                      FILE *out)
{
    fprintf(out, "%10s", ek__short(row->value).text);
    if (!ek__sweep_solved(row)) {
        if (row->impossible[0])
            fprintf(out, "  not possible: %s\n", row->impossible);
        else if (isfinite(row->smallest_limit_mb))
            fprintf(out, "  nothing fits; %s MB would\n", ek__fixed(ceil(row->smallest_limit_mb), 0).text);
        else
            fputs("  nothing fits\n", out);
        return;
    }
    char change[64] = "-";
    if (before && ek__sweep_solved(before)) {
        double percent = 100 * (row->step_time / before->step_time - 1);
        snprintf(change, sizeof change, "%s%s %%", percent > 0 ? "+" : "", ek__fixed(percent, 2).text);
    }
    fprintf(out, "  %10s  %10s  %9s", ek__short(row->step_time).text, change, ek__fixed(row->peak_memory_mb, 0).text);
    fprintf(out, "  %5d", row->peak_stage);
    if (strcmp(sweep->key->name, "mb") == 0)
        fprintf(out, "  %10s", ek__short(row->step_time / row->n_micro_batches).text);
    if (bounds)
        fprintf(out, "  %11s  %5s %%", ek__short(row->lower_bound).text, ek__fixed(100 * ek__sweep_gap(row), 2).text);
    fprintf(out, "  %s\n", ek_balance_status_name[row->status]);
}

ek_status ek__sweep_write_text(const ek_sweep *sweep, FILE *out, ek_error *err)
{
    bool bounds = false;
    for (int i = 0; i < sweep->n; i++)
        bounds |= isfinite(ek__sweep_gap(&sweep->row[i]));
    fputs("step time over ", out);
    fprintf(out, "%s: ", sweep->key->title);
    ek__print_name(sweep->layers->name, out);
    fprintf(out, ", %s\n\n", sweep->pipeline);
    fprintf(out, "%10s  %10s  %10s  %9s  %5s%s%s  status\n", sweep->key->name, "step", "change", "peak MB", "stage",
            strcmp(sweep->key->name, "mb") == 0 ? "    step / mb" : "", bounds ? "  lower bound      gap" : "");
    for (int i = 0; i < sweep->n; i++)
        print_row(sweep, &sweep->row[i], i > 0 ? &sweep->row[i - 1] : NULL, bounds, out);
    return ek__finish(out, err);
}
