/* The best layouts as a table of comma-separated values, a row a plan. What is not known is an empty cell. */
#include <math.h>

#include "report/layout_internal.h"
#include "report/writers.h"

static void header(FILE *out)
{
    fputs("rank", out);
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        fprintf(out, ",%s", ek_layout_axis_name[i]);
    fputs(",sequence_parallel,schedule,micro_batches,step_time_s,lower_bound_s,tokens_per_second_per_device,mfu,"
          "peak_mb,limit_mb,fullest_stage,fits,group,group_error_s",
          out);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        fprintf(out, ",%s_s", ek_step_part_name[i]);
    fputc('\n', out);
}

static void cell(double value, int decimals, FILE *out)
{
    fprintf(out, ",%s", isfinite(value) ? ek__fixed(value, decimals).text : "");
}

static void row(int rank, const ek_layout_plan *plan, FILE *out)
{
    const ek_estimate *e = &plan->estimate;
    const ek_layout *l = &plan->layout;
    fprintf(out, "%d", rank);
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        fprintf(out, ",%d", l->value[i]);
    fprintf(out, ",%s,%s,%d", l->sequence_parallel ? "true" : "false", l->schedule->name, l->n_micro_batches);
    cell(e->step.seconds, 9, out);
    cell(plan->lower_bound, 9, out);
    cell(e->metrics.tokens_per_second_per_device, 3, out);
    cell(e->metrics.mfu, 6, out);
    cell(ek__layout_peak_mb(plan), 3, out);
    cell(e->memory.limit > 0 ? ek__layout_limit_mb(plan) : (double)NAN, 3, out);
    fprintf(out, ",%d,%s,", e->memory.fullest, e->memory.fits ? "true" : "false");
    if (plan->group >= 0)
        fprintf(out, "%d", plan->group);
    cell(plan->group >= 0 ? plan->group_error : (double)NAN, 9, out);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        cell(e->step.stage[e->step.slowest].seconds[i], 9, out);
    fputc('\n', out);
}

ek_status ek__layout_write_csv(const ek_layout_report *report, FILE *out, ek_error *err)
{
    header(out);
    for (int i = 0; i < report->result->n_plans; i++)
        row(i + 1, &report->result->plan[i], out);
    return ek__finish(out, err);
}
