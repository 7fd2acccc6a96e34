/* Figures of a balanced or simulated plan: the search, its candidates and its limits. The plan itself is
 * balance_case.c, the layers are balance_model.c. */
#include <math.h>

#include "evenkeel/balance.h"
#include "evenkeel/cases.h"
#include "evenkeel/layers.h"
#include "evenkeel/ranking.h"
#include "figures/balance_figures.h"
#include "figures/rows.h"

bool ek__is_list(const ek_report *report)
{
    return report->list || (!report->search && report->n_cases > 1);
}

/* ---- the search ---- */

#define EK__T ek_balance_result
CONDITION(is_solved, it->status != EK_BALANCE_INFEASIBLE);
CONDITION(is_infeasible, it->status == EK_BALANCE_INFEASIBLE);
CONDITION(has_bound, it->lower_bound > 0);
CONDITION(stages_have_limits, ((const ek_report *)of->result)->stage_memory_mb != NULL);
GETTER(nothing, real, NAN);
FINDER(plan_that_fits, it->fit_plan.n_stages > 0 ? &it->fit_plan : NULL);
static const ek__member solved[] = {
    {"lower_bound", TIME(lower_bound),
     "only where a plan was found: proved that no expressible plan within the limits has a shorter simulated step "
     "([models.md](models.md#certificates)); null: not known. For schedules that construct their order it is valid for "
     "every order",
     .positive = true},
    {"gap", SHARE(gap), "likewise: (`step_time` - `lower_bound`) / `step_time`; null: nothing is known",
     KNOWN(has_bound)},
    {"proved_optimal", FLAG(proved_optimal),
     "likewise: the gap is closed, up to a relative 1e-9; the same as `status` being `optimal`"},
};
static const ek__fields all_solved = {FIELDS(solved, NULL, NULL)};

static const ek__member infeasible[] = {
    {"step_time", GET(TIME, nothing), "null where no plan fits"},
    {"smallest_limit_mb", MB(smallest_limit_mb),
     "only where no plan fits: the smallest limit at which one does; null: not known. Round it up before you give it "
     "back"},
    {"shortfall_mb", MB(shortfall_mb),
     "likewise and with `--stage-memory`: required increase of every limit; `smallest_limit_mb` is then the increased "
     "limit of `bottleneck_stage`",
     WHEN(stages_have_limits)},
    {"smallest_limit_exact", FLAG(smallest_limit_exact),
     "only where no plan fits. True: proved smallest; false: the smallest that was found"},
    {"bottleneck_stage", COUNT(bottleneck_stage), "likewise: the fullest stage of the plan at that limit"},
    {"fit_plan", FOUND(plan_that_fits, ek__plan_fields),
     "likewise: that plan, with the five lists of `plan`; null: none is known"},
};
static const ek__fields all_infeasible = {FIELDS(infeasible, NULL, NULL)};

static const ek__member search[] = {
    {"status", WORD(status, ek__balance_status_name),
     "only of `balance`: `optimal`, `feasible`, `time_limit` or `infeasible`, see [above](#the-search-balance-only)"},
    {"solve_seconds", SECONDS(seconds), "likewise: wall-clock time of the search, the proof included"},
    {NULL, MORE(all_solved), NULL, WHEN(is_solved)},
    {NULL, MORE(all_infeasible), NULL, WHEN(is_infeasible)},
};
static const ek__fields searches = {FIELDS(search, NULL, NULL)};
#undef EK__T

/* ---- limits ---- */

#define EK__T int
static const ek__member fixed[] = {{.key = "", .kind = EK__KIND_NUMBER, .size = sizeof(EK__T), .about = "layers"}};
static const ek__fields all_fixed = {FIELDS(fixed, NULL, NULL)};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_report
GETTER(version, number, 1);
GETTER(model, text, it->layers->name);
CONDITION(has_search, it->search != NULL);
CONDITION(has_ranking, it->ranking != NULL);
CONDITION(has_limits, it->stage_memory_mb != NULL);
CONDITION(has_fixed, it->fixed_layers != NULL);
CONDITION(has_forbidden, it->forbidden != NULL);
CONDITION(has_case, it->n_cases > 0);
CONDITION(has_others, !ek__is_list(it) && it->n_cases > 1);
COUNTER(n_stages, (it->n_cases > 0 ? it->cases[of->number].plan : &it->search->fit_plan)->n_stages);
COUNTER(n_others, it->n_cases - 1);
FINDER(the_search, it->search);
FINDER(the_ranking, it->ranking);
FINDER(limits, it->stage_memory_mb);
FINDER(fixed_layers, it->fixed_layers);
FINDER(forbidden, it->forbidden);
FINDER(the_case, &it->cases[of->number]);
FINDER(others, it->cases + 1);
FINDER(layers, it->layers);
static const ek__member report[] = {
    {"version", GET(COUNT, version), "of this contract: 1"},
    {"model", GET(TEXT, model), "the model's name"},
    {NULL, FOUND_PARTS(the_search, searches), NULL, WHEN(has_search)},
    {NULL, FOUND_PARTS(the_ranking, ek__ranking_fields), NULL, WHEN(has_ranking)},
    {"memory_limit_mb", MB(memory_limit_mb), "limit of the peak of every stage; null: `simulate` was given none",
     .positive = true},
    {"stage_memory_mb", FOUND_SHORT_LIST(limits, n_stages, ek__list_of_reals),
     "only with `--stage-memory`: MB, the limit of each stage; `memory_limit_mb` is then the largest",
     WHEN(has_limits)},
    {"fixed_layers", FOUND_SHORT_LIST(fixed_layers, n_stages, all_fixed),
     "only with `--fix`: layers of each stage, null where the search was free", WHEN(has_fixed)},
    {"forbidden", KINDS(forbidden), "only with `--forbid`: the recompute kinds", WHEN(has_forbidden)},
    {NULL, FOUND_PARTS(the_case, ek__case_fields), NULL, WHEN(has_case)},
    {"cases", FOUND_SHORT_LIST(others, n_others, ek__case_fields),
     "only of `balance`: the plans compared with the answer, without the answer itself; each has the "
     "fields from `name` to `plan`",
     WHEN(has_others)},
    {"memory_model", FOUND(layers, ek__model_fields), "memory and time of the layers of the model"},
};
static const ek__fields fields = {FIELDS(report, NULL, NULL), .lines = true, .points = true};
#undef EK__T

static const ek__fields *const also[] = {&ek__sweep_answer, &ek__quick_answer, &ek__uniform_answer,
                                         &ek__schedules_answer, NULL};

const ek__result ek__result_balance = {"balance", "json.md", &fields, NULL, also};
