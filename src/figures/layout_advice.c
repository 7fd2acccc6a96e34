/* Figures of the advice on the best layouts of a job: a requested layout, the way from the current one, rules of thumb,
 * runs to try and tried runs. Parts that were not requested are null. */
#include <math.h>

#include "evenkeel/calibrate.h"
#include "figures/layout_figures.h"
#include "figures/rows.h"

/* ---- a requested layout ---- */

#define EK__T ek_layout_difference
static const ek__member difference[] = {
    {"seconds", SECONDS(seconds), "by which its step is longer"},
    {"share", SHARE(share), "the same as a share of the best step"},
    {"parts", BY_WORD(SHARE, part, ek__step_part_name, EK_N_STEP_PARTS),
     "contribution of each part of the step; they add up to `share`"},
};
static const ek__fields differences = {FIELDS(difference, "explain.difference", "To the best plan.")};
#undef EK__T

#define EK__T ek_layout_explanation
FINDER(difference_of, it->has_difference ? &it->difference : NULL);
FINDER(plan_of, it->verdict == EK_VERDICT_PLAN ? &it->plan : NULL);
GETTER(least_mb, real, it->verdict == EK_VERDICT_MEMORY ? it->least_mb : (double)NAN);
static const ek__member explanation[] = {
    {"verdict", WORD(verdict, ek__layout_verdict_name),
     "`plan`, `illegal`, `memory` (nothing of it fits), `open` (the time was over)"},
    {"words", CHARS(words), "all of it as a sentence"},
    {"why", NAME(why), "of `illegal`: the violated rule of the framework; else null"},
    {"proved", FLAG(proved), "no other layout with these values has a shorter plan"},
    {"difference", FOUND(difference_of, differences), "to the best plan; null without one"},
    {"plan", FOUND(plan_of, ek__layout_plan_fields), "of `plan`: the best with these values; else null"},
    {"least_peak_mb", GET(MB, least_mb), "of `memory`: the smallest requirement; else null", DECIMALS(3)},
};
static const ek__fields explanations = {FIELDS(explanation, "explain", NULL), .lines = true};
#undef EK__T

/* ---- the way ---- */

#define EK__T ek_layout_way_step
CONDITION(is_changed, ((const ek_layout_way_step *)of->parent)->methods >> of->number & 1);
COUNTER(n_methods, EK_N_LAYOUT_METHODS);
FINDER(methods, ek_layout_method_name);
static double before(const ek_layout_way_step *step, const ek__owner *of)
{
    return of->number > 0 ? step[-1].seconds : ((const ek_layout_report *)of->parent)->way->seconds;
}
GETTER(shorter, real, 1 - it->seconds / before(it, of));
static const ek__member way[] = {
    {"changes", FOUND_SHORT_LIST(methods, n_methods, ek__list_of_texts), .shown = is_changed,
     .about = "`degrees`, `micro_batch`, `chunks`, `fine_grain`, `table_shard`, `gradient_shard`, `inputs`, `layers`, "
              "`recompute`: one, or several that pay only together"},
    {"step_time_s", SECONDS(seconds), "with this change and those before it"},
    {"shorter", GET(SHARE, shorter), "as a share of the step before this change; negative: longer"},
    {"peak_mb", MB(peak_mb), "memory of the fullest stage", DECIMALS(3)},
    {"fits", FLAG(fits), "every stage is within the limit"},
    {"settings", NAME(settings),
     "to paste into the file with the settings before it; null: the framework has no such settings"},
};
static const ek__fields ways = {FIELDS(way, "way[]", NULL)};
#undef EK__T

/* ---- rules of thumb ---- */

#define EK__T ek_layout_thumb
CONDITION(is_legal, it->layout.value[EK_AXIS_DATA] > 0);
GETTER(thumb_seconds, real, it->found ? it->plan.estimate.step.seconds : (double)NAN);
GETTER(longer, real, it->found && it->has_difference ? it->difference.share : (double)NAN);
static const ek__member thumb[] = {
    {"name", TEXT(name), "of the rule"},
    {"rule", TEXT(text), "as a sentence"},
    {"source", TEXT(source), "its source"},
    {"applies", FLAG(applies), "to a model and a sequence of this size"},
    {"fits", FLAG(found), "a layout of the rule has a plan"},
    {NULL, PARTS(layout, ek__layout_fields), WHEN(is_legal)},
    {"step_time_s", GET(SECONDS, thumb_seconds), "its step, balanced exactly; null where none fits"},
    {"longer", GET(SHARE, longer), "than the best step, as a share of that; null where there is nothing to compare"},
};
static const ek__fields thumbs = {
    FIELDS(thumb, "thumbs[]", "The fields of the layout are left out where the rule has no legal one.")};
#undef EK__T

/* ---- runs ---- */

static const char *trial_file(const ek_layout_report *report, int i)
{
    return report->trial_file ? report->trial_file[i] : NULL;
}

#define EK__T ek_layout_trial
GETTER(file, text, trial_file(of->result, of->number));
static const ek__member trial[] = {
    {"plan", COUNT(plan), "its place in `plans`, from 0"},
    {"error", REAL(error), "standard error of the logarithm of its step"},
    {"chance", SHARE(chance), "that it is the best"},
    {"loss", SHARE(loss), "that is left once this run and those before it are measured"},
    {"file", GET(TEXT, file), "that was written for it; null: none"},
};
static const ek__fields trials = {FIELDS(trial, "trials.runs[]", "The most useful first.")};
#undef EK__T

#define EK__T ek_layout_trials
static const ek__member choice[] = {
    {"loss", SHARE(loss), "mean excess of the best plan over the plan that proves best, without a run, as a share"},
    {"runs", ARRAY(n, trial, trials), "to try"},
};
static const ek__fields choices = {FIELDS(choice, "trials", NULL), .lines = true};
#undef EK__T

#define EK__T ek_layout_try
GETTER(run_name, text, it->run->name);
GETTER(run_file, text, it->run->job.path);
GETTER(measured, real, it->run->step_seconds);
static const ek__member try_of[] = {
    {"name", GET(TEXT, run_name), "of the run"},
    {"file", GET(TEXT, run_file), "its job's"},
    {"measured_s", GET(SECONDS, measured), "its step"},
    {"predicted_s", SECONDS(predicted), "the same on the calibrated device"},
};
static const ek__fields all_tried = {FIELDS(try_of, "tried.runs[]", "The shortest first.")};
#undef EK__T

#define EK__T ek_layout_tries
GETTER(take, text, it->taken < 0 ? "plan" : "run");
static const ek__member tried[] = {
    {"take", GET(TEXT, take), "`plan`, the first of `plans`, or `run`, the first of `runs`"},
    {"runs", ARRAY(n, run, all_tried), "of this job"},
    {"others", COUNT(n_others), "rows of the table that are no runs of this job"},
};
static const ek__fields tries = {FIELDS(tried, "tried", NULL), .lines = true};
#undef EK__T

/* ---- the advice ---- */

#define EK__T ek_layout_report
FINDER(explanation_of, it->explanation);
FINDER(first_step, it->way ? it->way->step : NULL);
COUNTER(n_steps, it->way ? it->way->n : -1);
FINDER(first_thumb, it->thumb);
COUNTER(n_thumbs, it->thumb ? EK_N_LAYOUT_THUMBS : -1);
FINDER(trials_of, it->trials);
FINDER(tries_of, it->tries);
static const ek__member advice[] = {
    {"explain", FOUND(explanation_of, explanations), "result of `--explain`; null without it"},
    {"way", FOUND_LIST(first_step, n_steps, ways),
     "`--way`: the changes from today's job to the first plan; null without it"},
    {"thumbs", FOUND_LIST(first_thumb, n_thumbs, thumbs),
     "rules of thumb; null with `-q`, and after a search of 10 s or more"},
    {"trials", FOUND(trials_of, choices), "result of `--trials`; null without it"},
    {"tried", FOUND(tries_of, tries), "the runs of `--tried` compared with the first plan; null without it"},
};
const ek__fields ek__layout_advice_fields = {FIELDS(advice, NULL, NULL)};
#undef EK__T
