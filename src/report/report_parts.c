/* Helpers shared by the writers of a report: memory and its limits, micro-batches, the lists of a plan, sentences on a
 * status.
 */
#include "base/error.h"
#include "report/report_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

ek__digits ek__memory(const ek_report *report, double value)
{
    /* Fractions of chunks add up with rounding; values below a millionth are rounding errors. */
    ek__digits number = report->memory_unit ? ek__short(round(value * 1e6) / 1e6) : ek__grouped(value), out;
    snprintf(out.text, sizeof out.text, "%.24s %.20s", number.text, report->memory_unit ? report->memory_unit : "MB");
    return out;
}

int ek__tightest_stage(const ek_report *report, const ek_timeline *timeline)
{
    int stage = 0;
    if (!report->stage_memory_mb) {
        ek_timeline_peak(timeline, &stage);
        return stage;
    }
    for (int s = 1; s < timeline->shape.n_stages; s++)
        if (report->stage_memory_mb[s] - timeline->peak_mb[s] <
            report->stage_memory_mb[stage] - timeline->peak_mb[stage])
            stage = s;
    return stage;
}

void ek__print_repeats(const double *value, int n, FILE *out)
{
    for (int i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && value[i + same] == value[i];)
            same++;
        fprintf(out, "%s%s", i ? ", " : "", ek__short(value[i]).text);
        if (same > 1)
            fprintf(out, "x%d", same);
    }
}

ek__digits ek__micro_batch(const ek_shape *shape, uint32_t micro_batch)
{
    ek__digits digits;
    uint32_t k = (uint32_t)ek__shape_pieces(shape);
    if (k == 1)
        snprintf(digits.text, sizeof digits.text, "%" PRIu32, micro_batch);
    else
        snprintf(digits.text, sizeof digits.text, "%" PRIu32 ".%" PRIu32, micro_batch / k, micro_batch % k);
    return digits;
}

static int list_entry(const ek_plan *plan, int n_layers, int list, int chunk, int stage)
{
    int at = chunk * plan->n_stages + stage;
    switch (list) {
    case 0:
        return ek_plan_offset(plan, n_layers, chunk, stage);
    case 1:
        return plan->full[at];
    case 2:
        return plan->select[at];
    default:
        return plan->comm[at];
    }
}

void ek__print_lists(const ek_plan *plan, int n_layers, const char *indent, FILE *out)
{
    static const char *const name[] = {"offset", "recompute", "select_recompute", "select_comm_recompute"};
    for (int list = 0; list < 4; list++) {
        fprintf(out, "%s%s: [", indent, name[list]);
        for (int i = 0; i < plan->n_chunks; i++) {
            fputs(i ? ", [" : "[", out);
            for (int s = 0; s < plan->n_stages; s++)
                fprintf(out, "%s%d", s ? ", " : "", list_entry(plan, n_layers, list, i, s));
            fputc(']', out);
        }
        fputs("]\n", out);
    }
}

ek_status ek__check_drawn(const ek_timeline *timeline, ek_error *err)
{
    if (timeline->n_blocks <= EK_MAX_DRAWN_BLOCKS)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "the timeline has %zu blocks, and at most %d are drawn one by one; draw fewer micro-batches (-mb), "
                    "or write SVG (--svg), which draws any number",
                    timeline->n_blocks, EK_MAX_DRAWN_BLOCKS);
}

const char *ek__status_basis(ek_balance_status status)
{
    switch (status) {
    case EK_BALANCE_OPTIMAL:
        return "proved: no plan within the limit has a shorter simulated step";
    case EK_BALANCE_FEASIBLE:
        return "the search ended by its own criterion; a better plan may exist";
    case EK_BALANCE_TIME_LIMIT:
        return "the time limit or an interrupt ended the search; the best plan so far";
    case EK_BALANCE_INFEASIBLE:
        break;
    }
    return NULL;
}

double ek__nice_step(double least)
{
    static const double multiple[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(least)));
    int i = 0;
    while (i < 3 && multiple[i] * power < least * (1 - 1e-9))
        i++;
    return multiple[i] * power;
}
