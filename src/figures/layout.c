/* Figures of a search for the best layouts of a job: plans, the fate of the others, and changes that would fit. */
#include <math.h>

#include "base/digits.h"
#include "evenkeel/layout_fit.h"
#include "figures/layout_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

/* ---- fate of the layouts ---- */

static const char *const over_key[4] = {"up_to_1.1", "up_to_1.5", "up_to_2", "above_2"};

#define EK__T ek_layout_counts
GETTER(ruled_out, number, it->fate[of->number + 1]);
static const ek__member count[] = {
    {"all", COUNT(all), "combinations of degrees, sharding, chunks and micro-batch"},
    {"legal", COUNT(legal), "those that the framework accepts"},
    {"bounded", COUNT(bounded),
     "layouts with a bound, one for each schedule; all of them unless the search ended early"},
    {"balanced", COUNT(balanced), "of these, balanced exactly"},
    {"ruled_out", GET_BY_WORD(COUNT, ruled_out, ek__layout_fate_name + 1, EK_N_LAYOUT_FATES - 1),
     "counts by reason: `illegal` (not bounded), `memory` (needs more than there is with everything recomputed), "
     "`bound` (cannot be shorter than the last plan), `balanced` (is longer), `no_plan` (no split of its layers fits), "
     "`open` (not looked at when the time was over). All but `illegal`, with the plans, come to `bounded`"},
    {"memory_over", BY_WORD(COUNT, over_by, over_key, 4),
     "of `memory`, by the least peak over the limit: `up_to_1.1`, `up_to_1.5`, `up_to_2`, `above_2`"},
    {"bound_by", BY_WORD(COUNT, bound_by, ek__step_part_name, EK_N_STEP_PARTS),
     "of `bound`, by the part of the step that exceeds the best plan's most, with even layers and nothing recomputed; "
     "of many layouts one of each 1/500 of the space is looked at; fewer than `bound` where the time was over"},
};
static const ek__fields counts = {FIELDS(count, "layouts", NULL), .lines = true};
#undef EK__T

/* ---- where no layout fits ---- */

#define EK__T ek_layout_fit
CONDITION(fits, it->fits);
static const ek__member fit[] = {
    {"change", WORD(change, ek__fit_change_name),
     "`free` (axes fixed by `--fix` and `--range`), `offload` (the optimizer's states on the host), `devices`, "
     "`memory`"},
    {"fits", FLAG(fits), "a plan that fits was found; `peak_mb`, `step_time_s` and its layout are there only then"},
    {"devices", COUNT(n_devices), "with which; where nothing was found the most that was tried"},
    {"limit_mb", MB(limit_mb), "the same of the memory of a device; null without a limit", DECIMALS(3),
     .positive = true},
    {"peak_mb", MB(peak_mb), "memory of its fullest stage", DECIMALS(3), WHEN(fits)},
    {"step_time_s", SECONDS(seconds), "predicted; other plans may be shorter", WHEN(fits)},
    {NULL, PARTS(layout, ek__layout_fields), WHEN(fits)},
};
static const ek__fields all_fits = {FIELDS(fit, "would_fit[]", "Each change by itself.")};
#undef EK__T

#define EK__T ek_layout_result
static const ek__member nearest[] = {
    {NULL, PARTS(closest, ek__layout_fields)},
    {"least_peak_mb", MB(closest_mb), "its peak with everything recomputed", DECIMALS(3)},
};
static const ek__fields closest = {FIELDS(nearest, "closest", NULL), .lines = true};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_job
static const ek__member job[] = {
    {"name", CHARS(name), "of the model"},
    {"framework", WORD(framework, ek__framework_name), "that trains it"},
    {"n_layers", COUNT(model.n_layers), "decoder layers"},
    {"hidden", COUNT(model.hidden), "width of the model"},
    {"seq_length", COUNT(parallel.seq_length), "tokens of a sequence"},
};
static const ek__fields jobs = {FIELDS(job, "job", NULL)};
#undef EK__T

#define EK__T ek_layout_result
FINDER(job_of, it->job);
GETTER(device, text, it->device->name);
GETTER(limit, real, it->job->limit_mb);
GETTER(gap, real, it->n_plans > 0 ? it->gap : (double)NAN);
GETTER(lower_bound, real, it->n_plans > 0 ? it->lower_bound : (double)NAN);
GETTER(first_seconds, real, it->n_plans > 0 ? it->first_seconds : (double)NAN);
static const ek__member answer[] = {
    {"job", FOUND(job_of, jobs), "the model"},
    {"device", GET(TEXT, device), "its name"},
    {"devices", COUNT(options.n_devices), "how many"},
    {"global_batch", COUNT(options.global_batch), "sequences of a step"},
    {"limit_mb", GET(MB, limit), "memory of a device that the framework may take; null without a limit", DECIMALS(3),
     .positive = true},
    {"proved", FLAG(proved), "no layout has a plan shorter than `plans`, and none of these has a shorter one"},
    {"gap", GET(SHARE, gap),
     "how much shorter a step could still be, as a share of the best; 0: the best is proved; null without plans"},
    {"lower_bound_s", GET(SECONDS, lower_bound), "no plan has a shorter step; null without plans"},
    {"ended_early", FLAG(ended_early), "by `-t` or an interrupt"},
    {"seconds", SECONDS(seconds), "of the search; with `first_seconds` all that differs between equal searches",
     DECIMALS(3)},
    {"first_seconds", GET(SECONDS, first_seconds), "until its first plan; null without plans", DECIMALS(3)},
};
static const ek__fields answers = {FIELDS(answer, NULL, NULL)};
#undef EK__T

#define EK__T ek_layout_report
GETTER(version, number, 1);
FINDER(result, it->result);
FINDER(first_plan, it->result->plan);
COUNTER(n_plans, it->result->n_plans);
FINDER(today, it->result->today.job.path ? &it->result->today : NULL);
GETTER(gain, real, ek__layout_gain(it->result));
FINDER(counts_of, &it->result->counts);
FINDER(closest_of, it->result->n_plans == 0 && it->result->closest.schedule ? it->result : NULL);
FINDER(first_fit, it->fits ? it->fits->fit : NULL);
COUNTER(n_fits, it->fits ? it->fits->n : 0);
static const ek__member report[] = {
    {"version", GET(COUNT, version), "1"},
    {NULL, FOUND_PARTS(result, answers)},
    {"plans", FOUND_LIST(first_plan, n_plans, ek__layout_plan_fields),
     "the shortest step first; empty where nothing fits"},
    {"today", FOUND(today, ek__layout_plan_fields),
     "the job's layout and plan as its file has them; null where it is for another number of devices"},
    {"gain", GET(SHARE, gain),
     "how much shorter the best step is than today's, as a share of today's; of as many tokens where the global "
     "batches differ; null without `today` or plans"},
    {NULL, MORE(ek__layout_advice_fields)},
    {"layouts", FOUND(counts_of, counts), "number of layouts, and reasons for exclusion"},
    {"closest", FOUND(closest_of, closest), "where nothing fits: the layout that needs least; else null"},
    {"would_fit", FOUND_LIST(first_fit, n_fits, all_fits), "where nothing fits: changes that were tried"},
    {"warnings", OWN("list of strings"), "doubtful figures of the best plan, and warnings of the readers"},
};
static const ek__fields fields = {FIELDS(report, NULL, NULL), .lines = true};
#undef EK__T

/* ---- tables ---- */

#define EK__T int64_t
static const char *const fate_title[EK_N_LAYOUT_FATES] = {
    "among the best",
    "the framework does not run it",
    "needs more memory than the limit, whatever is recomputed",
    "its bound is above the last of the best",
    "balanced, longer than the last of the best",
    "balanced, no split of the layers fits",
    "not looked at before the time was over",
};
GETTER(title_of_fate, text, fate_title[of->number]);
GETTER(layouts, number, *it);
static const ek__member fate[] = {
    {NULL, GET(TEXT, title_of_fate), NULL, PAGE(1, "fate", "its outcome")},
    {NULL, GET(COUNT, layouts), NULL, PAGE(2, "layouts", "layouts")},
};
static const ek__fields fates = {FIELDS(fate, NULL, NULL)};
#undef EK__T

#define EK__R ek_layout_result
ITEMS(fate_at, EK_N_LAYOUT_FATES, r->counts.fate[i] > 0 ? &r->counts.fate[i] : NULL);
const ek__rows ek__layout_fate_rows = {
    NULL, "plans", "fates", "Why not the others", .fields = &fates, RESULT_ITEMS(fate_at), .sort = 1};
#undef EK__R

static const ek__rows *next_rows(const ek__rows *last)
{
    return !last                            ? &ek__layout_plan_rows
           : last == &ek__layout_plan_rows  ? &ek__layout_sweep_rows
           : last == &ek__layout_sweep_rows ? &ek__layout_fate_rows
                                            : NULL;
}

static const ek__fields *const also[] = {&ek__layout_sweep_fields, NULL};
const ek__result ek__result_plan = {"plan", "plan-json.md", &fields, next_rows, also};
