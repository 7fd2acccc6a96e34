/* Figures of quick tuning by hand. */
#include "evenkeel/balance.h"
#include "evenkeel/layers.h"
#include "evenkeel/quick.h"
#include "figures/balance_figures.h"
#include "figures/rows.h"

static const ek_quick *quick_of(const ek__owner *of)
{
    return ((const ek_quick_report *)of->result)->quick;
}

#define EK__T ek_quick_step
static const char *const step_name[EK_QUICK_STEPS] = {"even", "recompute", "moved"};
COUNTER(n_stages, quick_of(of)->n_stages);
GETTER(name, text, step_name[of->number]);
GETTER(stage_number, number, of->number);
GETTER(stage_layers, number, it->plan.layers[of->number]);
GETTER(stage_full, number, it->plan.full[of->number]);
GETTER(stage_units, real, it->units[of->number]);
GETTER(stage_time, real, it->units[of->number] * quick_of(of)->layer_time);
GETTER(stage_peak, real, it->peak_mb[of->number]);
GETTER(stage_room, real, quick_of(of)->memory_limit_mb - it->peak_mb[of->number]);
GETTER(stage_fits, number, !it->over[of->number]);
static const ek__member stage[] = {
    {"stage", GET(COUNT, stage_number), "from 0 on"},
    {"layers", GET(COUNT, stage_layers), "that it has"},
    {"recomputed", GET(COUNT, stage_full), "of them"},
    {"stage_time_in_layers", GET(REAL, stage_units), "its time for a micro-batch over T, by the rule"},
    {"stage_time", GET(TIME, stage_time), "the same in the input's unit"},
    {"peak_memory_mb", GET(MB, stage_peak), "simulated"},
    {"room_mb", GET(MB, stage_room), "below the limit; negative: over it"},
    {"fits", GET(FLAG, stage_fits), "it is within the limit"},
};
static const ek__fields stages = {FIELDS_BY_NUMBER(stage, "steps[].stages[]", NULL)};

static const ek__member step[] = {
    {"name", GET(TEXT, name), "`even`, `recompute` or, when feasible, `moved`"},
    {"fits", FLAG(fits), "every stage is within the limit"},
    {"longest_in_layers", REAL(longest), "of the stage times, over T"},
    {"shortest_in_layers", REAL(shortest), "of the stage times, over T"},
    {"step_time", TIME(step_time), "simulated"},
    {"stages", NUMBERED(n_stages, stages), "by stage"},
};
static const ek__fields steps = {FIELDS(step, "steps[]", NULL)};
#undef EK__T

#define EK__T ek_quick
GETTER(shortfall, real, it->needed_mb - it->memory_limit_mb);
static const ek__member shortage[] = {
    {"stage", COUNT(bottleneck_stage), "that runs out of memory first"},
    {"layers", COUNT(bottleneck_layers), "that it has"},
    {"smallest_limit_mb", MB(needed_mb), "that would do"},
    {"shortfall_mb", GET(MB, shortfall), "the same less the limit"},
};
static const ek__fields shortages = {FIELDS(shortage, "shortage", NULL)};

FINDER(first_step, it->step);
COUNTER(n_steps, it->feasible ? EK_QUICK_STEPS : EK_QUICK_MOVED);
CONDITION(is_feasible, it->feasible);
CONDITION(is_not, !it->feasible);
static const ek__member quick[] = {
    {"stages", COUNT(n_stages), "that it was tuned for"},
    {"micro_batches", COUNT(n_micro_batches), "likewise"},
    {"memory_limit_mb", MB(memory_limit_mb), "of every stage"},
    {"layer_time", TIME(layer_time), "T, forward time of a layer"},
    {"head_in_layers", REAL(head_units), "e, forward time of the embedding over T"},
    {"tail_in_layers", REAL(tail_units), "l, forward time of head and loss over T"},
    {"times_follow_the_rule", FLAG(rule_is_exact), "the model's own backward times are those that the rule assumes"},
    {"feasible", FLAG(feasible), "something fits"},
    {"steps", FOUND_SHORT_LIST(first_step, n_steps, steps), "of tuning, each from the one before"},
    {"shortage", HERE(shortages), "null: something fits", KNOWN(is_not)},
    {"plan", OBJECT(step[EK_QUICK_MOVED].plan, ek__plan_fields),
     "of the last step: its five lists, as `plan` of an answer has them; null: nothing fits", KNOWN(is_feasible)},
};
static const ek__fields quicks = {FIELDS(quick, NULL, NULL)};
#undef EK__T

#define EK__T ek_balance_result
GETTER(over_it, real, quick_of(of)->step[EK_QUICK_MOVED].step_time / it->step_time - 1);
static const ek__member search[] = {
    {"status", WORD(status, ek__balance_status_name), "as that of an answer"},
    {"step_time", TIME(step_time), "simulated"},
    {"quick_over_it", GET(SHARE, over_it), "cost of the rule as a share of that step"},
    {"plan", OBJECT(plan, ek__plan_fields), "its five lists"},
};
static const ek__fields searches = {FIELDS(search, "balance", NULL)};
#undef EK__T

#define EK__T ek_quick_report
GETTER(version, number, 1);
GETTER(model, text, it->layers->name);
FINDER(the_quick, it->quick);
FINDER(the_search, it->search && it->search->status != EK_BALANCE_INFEASIBLE ? it->search : NULL);
static const ek__member report[] = {
    {"version", GET(COUNT, version), "1"},
    {"model", GET(TEXT, model), "the model's name"},
    {NULL, FOUND_PARTS(the_quick, quicks), NULL},
    {"balance", FOUND(the_search, searches), "the search with only full recomputation; null: there was none"},
};
const ek__fields ek__quick_answer = {
    FIELDS(report, "balance --quick",
           "Stage times follow the rule of thumb ([balance.md](balance.md#quick-tuning)); steps and peaks are "
           "simulated."),
    .lines = true, .points = true};
#undef EK__T
