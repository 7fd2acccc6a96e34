/* Writes the best plans over a swept value: step, bound and peak as lines, and a row for each value with its plan. */
#include <math.h>

#include "report/report_internal.h"
#include "view/plan.h"

static bool present(const ek_view_run *run)
{
    return run->sweep != NULL;
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    const ek_sweep *sweep = run->sweep;
    const ek_sweep_row *best = NULL;
    for (int i = 0; i < sweep->n; i++)
        if (ek__sweep_solved(&sweep->row[i]) && (!best || sweep->row[i].step_time < best->step_time))
            best = &sweep->row[i];
    ek__view_fact(s, "model", NAN, EK__UNIT_TEXT, sweep->layers->name, NULL);
    ek__view_fact(s, "pipeline", NAN, EK__UNIT_TEXT, sweep->pipeline, NULL);
    ek__view_fact(s, "swept", NAN, EK__UNIT_TEXT, sweep->key->title, NULL);
    if (best) {
        ek__view_fact(s, "shortest step", best->step_time, EK__UNIT_TIME | EK__LESS, NULL, EK__SIMULATED);
        ek__view_fact(s, "shortest at", best->value, EK__UNIT_NONE, NULL, NULL);
    }
}

typedef double figure(const ek_sweep_row *row);

static double step_of(const ek_sweep_row *row)
{
    return ek__sweep_solved(row) ? row->step_time : NAN;
}

static double bound_of(const ek_sweep_row *row)
{
    return ek__sweep_solved(row) && row->lower_bound > 0 ? row->lower_bound : NAN;
}

static double peak_of(const ek_sweep_row *row)
{
    return ek__sweep_solved(row) ? row->peak_memory_mb : NAN;
}

static bool is_open(const ek_sweep_row *row)
{
    return ek__sweep_solved(row) && row->status != EK_BALANCE_OPTIMAL;
}

static void line(const ek_sweep *sweep, ek__section *x, const char *name, figure *of, bool is_plan)
{
    bool any = false;
    for (int i = 0; i < sweep->n; i++)
        any |= isfinite(of(&sweep->row[i]));
    if (!any)
        return;
    ek__polyline_begin(x, name);
    for (int i = 0; i < sweep->n; i++)
        (is_plan && is_open(&sweep->row[i]) ? ek__polyline_hollow : ek__polyline_point)(x, sweep->row[i].value,
                                                                                        of(&sweep->row[i]));
    ek__polyline_end(x);
}

static void plan_line(const ek_sweep *sweep, ek__section *x, figure *of)
{
    bool any = false;
    for (int i = 0; i < sweep->n; i++)
        any |= is_open(&sweep->row[i]);
    line(sweep, x, any ? "best plan found (hollow: not proved optimal)" : "best plan found", of, true);
}

static void lines(const ek_sweep *sweep, ek__section *x)
{
    ek__lines_begin(x, "step", "Step time (simulated)", sweep->key->title, EK__UNIT_NONE, "step time", EK__UNIT_TIME);
    plan_line(sweep, x, step_of);
    line(sweep, x, "lower bound of any plan (proved)", bound_of, false);
    ek__lines_end(x, NAN);
    ek__lines_begin(x, "peak", "Peak memory of the fullest stage (simulated)", sweep->key->title, EK__UNIT_NONE, "peak",
                    EK__UNIT_MB);
    plan_line(sweep, x, peak_of);
    ek__lines_end(x, NAN);
}

void ek__view_layers_text(const ek_plan *plan, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (int s = 0; s < plan->n_stages; s++)
        for (int i = 0; i < plan->n_chunks && n + 8 < size; i++)
            n += (size_t)snprintf(text + n, size - n, "%s%d",
                                  i   ? "+"
                                  : s ? " "
                                      : "",
                                  plan->layers[i * plan->n_stages + s]);
}

void ek__view_recompute_text(const ek_plan *plan, char *text, size_t size)
{
    int count[EK_N_RECOMPUTE] = {0};
    size_t n = 0;
    for (int s = 0; s < plan->n_stages; s++)
        for (int i = 0; i < plan->n_chunks; i++) {
            ek_chunk_mix mix = ek_plan_mix(plan, i, s);
            for (int k = 0; k < EK_N_RECOMPUTE; k++)
                count[k] += mix.n[k];
        }
    text[0] = '\0';
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (count[k] > 0)
            n += (size_t)snprintf(text + n, size - n, "%s%d %s", n ? ", " : "", count[k], ek_recompute_name[k]);
}

static void status_text(const ek_sweep_row *row, char *text, size_t size)
{
    if (row->impossible[0])
        snprintf(text, size, "not possible: %s", row->impossible);
    else if (ek__sweep_solved(row))
        snprintf(text, size, "%s", ek_balance_status_name[row->status]);
    else if (isfinite(row->smallest_limit_mb))
        snprintf(text, size, "nothing fits; %s MB would be needed", ek__fixed(ceil(row->smallest_limit_mb), 0).text);
    else
        snprintf(text, size, "nothing fits");
}

static void table(const ek_sweep *sweep, ek__section *x)
{
    const ek__view_column column[] = {
        {"value", sweep->key->title, EK__UNIT_NONE, false},
        {"step", "step time", EK__UNIT_TIME | EK__LESS, false},
        {"bound", "lower bound", EK__UNIT_TIME, false},
        {"peak", "peak memory", EK__UNIT_MB | EK__LESS, false},
        {"peak_stage", "fullest stage", EK__UNIT_NONE, false},
        {"status", "status", EK__UNIT_TEXT, false},
        {"layers", "layers by stage", EK__UNIT_TEXT, false},
        {"recompute", "layers by recomputation", EK__UNIT_TEXT, false},
    };
    char text[8192];
    ek__table_begin(x, "sweep", "Best plan for each value", column, sizeof column / sizeof *column);
    for (int i = 0; i < sweep->n; i++) {
        const ek_sweep_row *row = &sweep->row[i];
        bool solved = ek__sweep_solved(row);
        ek__row_begin(x);
        ek__cell_real(x, row->value);
        ek__cell_real(x, step_of(row));
        ek__cell_real(x, bound_of(row));
        ek__cell_real(x, peak_of(row));
        ek__cell_int(x, solved ? row->peak_stage : INT64_MIN);
        status_text(row, text, sizeof text);
        ek__cell_text(x, text);
        ek__view_layers_text(&row->plan, text, sizeof text);
        ek__cell_text(x, solved ? text : NULL);
        ek__view_recompute_text(&row->plan, text, sizeof text);
        ek__cell_text(x, solved ? text : NULL);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    (void)err;
    ek__section x = ek__section_begin(s, "sweep");
    lines(run->sweep, &x);
    table(run->sweep, &x);
    ek__section_end(&x);
    return EK_OK;
}

const ek__view_part ek__view_part_sweep = {.present = present, .facts = facts, .sections = sections};
