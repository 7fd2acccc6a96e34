/* Best plans over one swept value: a table for people, rows for scripts. */
#include <math.h>
#include <string.h>

#include "report/json.h"
#include "report/report_internal.h"

bool ek__sweep_solved(const ek_sweep_row *row)
{
    return !row->impossible[0] && row->status != EK_BALANCE_INFEASIBLE;
}

static double gap(const ek_sweep_row *row)
{
    return ek__sweep_solved(row) ? row->step_time / row->lower_bound - 1 : NAN;
}

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
        fprintf(out, "  %11s  %5s %%", ek__short(row->lower_bound).text, ek__fixed(100 * gap(row), 2).text);
    fprintf(out, "  %s\n", ek_balance_status_name[row->status]);
}

ek_status ek__text_sweep(const ek_sweep *sweep, FILE *out, ek_error *err)
{
    bool bounds = false;
    for (int i = 0; i < sweep->n; i++)
        bounds |= isfinite(gap(&sweep->row[i]));
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

static json_t *row_object(ek__json *b, const ek_sweep *sweep, const ek_sweep_row *row)
{
    json_t *object = json_object();
    bool solved = ek__sweep_solved(row), searched = !row->impossible[0];
    ek__json_put(b, object, "value", ek__json_number(row->value));
    ek__json_put(b, object, "status", searched ? ek__json_string(ek_balance_status_name[row->status]) : json_null());
    ek__json_put(b, object, "impossible", searched ? json_null() : ek__json_string(row->impossible));
    ek__json_put(b, object, "step_time", solved ? ek__json_number(row->step_time) : json_null());
    ek__json_put(b, object, "peak_memory_mb", solved ? ek__json_number(row->peak_memory_mb) : json_null());
    ek__json_put(b, object, "peak_stage", solved ? json_integer(row->peak_stage) : json_null());
    ek__json_put(b, object, "lower_bound", solved ? ek__json_number(row->lower_bound) : json_null());
    ek__json_put(b, object, "gap", ek__json_number(gap(row)));
    ek__json_put(b, object, "smallest_limit_mb",
                 searched && !solved ? ek__json_number(row->smallest_limit_mb) : json_null());
    ek__json_put(b, object, "plan", solved ? ek__json_plan(b, &row->plan, sweep->layers->n_layers) : json_null());
    return object;
}

ek_status ek__json_sweep(const ek_sweep *sweep, FILE *out, ek_error *err)
{
    ek__json b = {false};
    json_t *root = json_object(), *rows = json_array();
    ek__json_put(&b, root, "version", json_integer(EK__JSON_VERSION));
    ek__json_put(&b, root, "model", ek__json_string(sweep->layers->name));
    ek__json_put(&b, root, "swept", ek__json_string(sweep->key->name));
    for (int i = 0; i < sweep->n; i++)
        ek__json_append(&b, rows, row_object(&b, sweep, &sweep->row[i]));
    ek__json_put(&b, root, "sweep", rows);
    return ek__json_finish(&b, root, out, err);
}
