/* Prints the ranking of candidates: schedules and interleaves by step time. */
#include <math.h>
#include <string.h>

#include "evenkeel/ranking.h"
#include "report/report_internal.h"

static double gap(const ek_ranked *r)
{
    return r->status == EK_BALANCE_INFEASIBLE ? NAN : r->step_time / r->lower_bound - 1;
}

void ek__print_ranking(const ek_ranking *ranking, FILE *out)
{
    int width = (int)strlen("schedule");
    bool bounds = false;
    for (int i = 0; i < ranking->n; i++) {
        int length = (int)strlen(ranking->ranked[i].schedule->name);
        width = length > width ? length : width;
        bounds |= isfinite(gap(&ranking->ranked[i]));
    }
    fprintf(out, "rank  %-*s  chunks  %10s  %9s  %9s  %5s  %sstatus\n", width, "schedule", "step", "vs. best",
            "peak MB", "stage", bounds ? "  gap  " : "");
    for (int i = 0; i < ranking->n; i++) {
        const ek_ranked *r = &ranking->ranked[i];
        bool fits = r->status != EK_BALANCE_INFEASIBLE;
        char versus[64] = "-";
        if (fits && i > 0)
            snprintf(versus, sizeof versus, "+%s %%",
                     ek__fixed(100 * (r->step_time / ranking->ranked[0].step_time - 1), 2).text);
        fprintf(out, "%4d  %-*s  %6d  %10s", i + 1, width, r->schedule->name, r->n_chunks,
                fits ? ek__short(r->step_time).text : "-");
        fprintf(out, "  %9s  %9s", versus, fits ? ek__fixed(r->peak_memory_mb, 0).text : "-");
        if (fits)
            fprintf(out, "  %5d", r->peak_stage);
        else
            fprintf(out, "  %5s", "-");
        if (bounds)
            fprintf(out, "  %5s%s", ek__fixed(100 * gap(r), 2).text, isfinite(gap(r)) ? "%" : " ");
        fprintf(out, "  %s", ek_balance_status_name[r->status]);
        if (!fits && isfinite(r->smallest_limit_mb))
            fprintf(out, " (%s MB would do)", ek__fixed(ceil(r->smallest_limit_mb), 0).text);
        fputc('\n', out);
    }
    for (int i = 0; i < ranking->n_skipped; i++)
        fprintf(out, "skipped: %s: %s\n", ranking->skipped[i].name, ranking->skipped[i].reason);
    fputc('\n', out);
}
