/* What an answer was chosen from: schedules and interleaves by step time. */
#include <math.h>
#include <string.h>

#include "evenkeel/ranking.h"
#include "report/json.h"
#include "report/report_internal.h"

static double gap(const ek_ranked *r)
{
    return r->status == EK_BALANCE_INFEASIBLE ? NAN : r->step_time / r->lower_bound - 1;
}

void ek__text_ranking(const ek_ranking *ranking, FILE *out)
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

json_t *ek__json_ranking(ek__json *b, const ek_ranking *ranking)
{
    json_t *list = json_array();
    for (int i = 0; i < ranking->n; i++) {
        const ek_ranked *r = &ranking->ranked[i];
        bool fits = r->status != EK_BALANCE_INFEASIBLE;
        json_t *object = json_object();
        ek__json_put(b, object, "schedule", ek__json_string(r->schedule->name));
        ek__json_put(b, object, "interleave", json_integer(r->n_chunks));
        ek__json_put(b, object, "step_time", ek__json_number(r->step_time));
        ek__json_put(b, object, "peak_memory_mb", fits ? ek__json_number(r->peak_memory_mb) : json_null());
        ek__json_put(b, object, "peak_stage", fits ? json_integer(r->peak_stage) : json_null());
        ek__json_put(b, object, "status", ek__json_string(ek_balance_status_name[r->status]));
        ek__json_put(b, object, "lower_bound", ek__json_number(r->lower_bound));
        ek__json_put(b, object, "smallest_limit_mb", fits ? json_null() : ek__json_number(r->smallest_limit_mb));
        ek__json_append(b, list, object);
    }
    return list;
}

json_t *ek__json_skipped(ek__json *b, const ek_ranking *ranking)
{
    json_t *list = json_array();
    for (int i = 0; i < ranking->n_skipped; i++) {
        json_t *object = json_object();
        ek__json_put(b, object, "candidate", ek__json_string(ranking->skipped[i].name));
        ek__json_put(b, object, "reason", ek__json_string(ranking->skipped[i].reason));
        ek__json_append(b, list, object);
    }
    return list;
}
