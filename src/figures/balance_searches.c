/* Figures of several searches: schedules and interleaves by step time, and the best plan for each of several values. */
#include <math.h>

#include "evenkeel/balance.h"
#include "evenkeel/layers.h"
#include "evenkeel/ranking.h"
#include "evenkeel/sweep.h"
#include "figures/balance_figures.h"
#include "figures/rows.h"

/* ---- a ranking ---- */

#define EK__T ek_ranked
GETTER(schedule, text, it->schedule->name);
CONDITION(fits, it->status != EK_BALANCE_INFEASIBLE);
CONDITION(fits_not, it->status == EK_BALANCE_INFEASIBLE);
static const ek__member ranked[] = {
    {"schedule", GET(TEXT, schedule), "name, as given to `--schedule`"},
    {"interleave", COUNT(n_chunks), "chunks per stage"},
    {"step_time", TIME(step_time), "simulated step of the best plan found; null: nothing fits"},
    {"peak_memory_mb", MB(peak_memory_mb), "of its fullest stage; null: nothing fits", KNOWN(fits)},
    {"peak_stage", COUNT(peak_stage), "which stage; null: nothing fits", KNOWN(fits)},
    {"status", WORD(status, ek__balance_status_name), "as that of an answer"},
    {"lower_bound", TIME(lower_bound), "on the step of any plan under this schedule; null: nothing is known"},
    {"smallest_limit_mb", MB(smallest_limit_mb), "only when nothing fits, else null: the smallest limit that does",
     KNOWN(fits_not)},
};
static const ek__fields all_ranked = {FIELDS(ranked, "ranking[]", "Shortest step first.")};
#undef EK__T

#define EK__T ek_skipped
static const ek__member skipped[] = {
    {"candidate", CHARS(name), "a schedule, or one with an interleave, that was not tried"},
    {"reason", CHARS(reason), "why"},
};
static const ek__fields all_skipped = {FIELDS(skipped, "ranking_skipped[]", NULL)};
#undef EK__T

#define EK__T ek_ranking
static const ek__member ranking[] = {
    {"ranking", SHORT_LIST(n, ranked, all_ranked),
     "only for `balance` with several schedules or interleaves: tried combinations, shortest step first"},
    {"ranking_skipped", SHORT_LIST(n_skipped, skipped, all_skipped), "likewise: combinations that were not tried"},
};
const ek__fields ek__ranking_fields = {FIELDS(ranking, NULL, NULL)};
#undef EK__T

/* ---- a sweep ---- */

bool ek__sweep_solved(const ek_sweep_row *row)
{
    return !row->impossible[0] && row->status != EK_BALANCE_INFEASIBLE;
}

double ek__sweep_gap(const ek_sweep_row *row)
{
    return ek__sweep_solved(row) ? row->step_time / row->lower_bound - 1 : NAN;
}

#define EK__T ek_sweep_row
CONDITION(is_searched, !it->impossible[0]);
CONDITION(is_solved, ek__sweep_solved(it));
CONDITION(nothing_fits, !it->impossible[0] && !ek__sweep_solved(it));
GETTER(gap, real, ek__sweep_gap(it));
static const ek__member row[] = {
    {"value", REAL(value), "of the key: MB for `mem`, else a count"},
    {"status", WORD(status, ek__balance_status_name), "as that of an answer; null: the value was not searched",
     KNOWN(is_searched)},
    {"impossible", NAME(impossible), "why the value was not searched, and then the rest is null; null: it was"},
    {"step_time", TIME(step_time), "simulated step of the best plan found; null: nothing fits", KNOWN(is_solved)},
    {"peak_memory_mb", MB(peak_memory_mb), "of its fullest stage; null: nothing fits", KNOWN(is_solved)},
    {"peak_stage", COUNT(peak_stage), "which stage; null: nothing fits", KNOWN(is_solved)},
    {"lower_bound", TIME(lower_bound), "on the step of any plan; null: nothing is known", KNOWN(is_solved)},
    {"gap", GET(SHARE, gap), "`step_time` / `lower_bound` - 1; null: nothing is known"},
    {"smallest_limit_mb", MB(smallest_limit_mb), "only when nothing fits, else null: the smallest limit that does",
     KNOWN(nothing_fits)},
    {"plan", OBJECT(plan, ek__plan_fields), "its five lists, as `plan` has them; null: nothing fits", KNOWN(is_solved)},
};
static const ek__fields rows = {FIELDS(row, "sweep[]", NULL)};
#undef EK__T

#define EK__T ek_sweep
GETTER(version, number, 1);
GETTER(model, text, it->layers->name);
GETTER(swept, text, it->key->name);
static const ek__member sweep[] = {
    {"version", GET(COUNT, version), "1"},
    {"model", GET(TEXT, model), "the model's name"},
    {"swept", GET(TEXT, swept), "the key"},
    {"sweep", SHORT_LIST(n, row, rows), "by value, ascending"},
};
const ek__fields ek__sweep_answer = {FIELDS(sweep, "balance --sweep", NULL), .lines = true, .points = true};
#undef EK__T
