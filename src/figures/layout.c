/* Figures of the best layouts of a job: layouts, their plans, what became of the others, and what would fit. */
#include <math.h>

#include "base/digits.h"
#include "evenkeel/layout_fit.h"
#include "figures/layout_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

double ek__layout_gain(const ek_layout_result *r)
{
    if (r->n_plans == 0 || !r->today.job.path)
        return (double)NAN;
    return 1 - r->today.estimate.metrics.tokens_per_second_per_device /
                   r->plan[0].estimate.metrics.tokens_per_second_per_device;
}

int64_t ek__layout_peak(const ek_layout_plan *plan)
{
    const ek_memory *m = &plan->estimate.memory;
    return m->stage[m->fullest].actual_peak;
}

double ek__layout_peak_mb(const ek_layout_plan *plan)
{
    return (double)ek__layout_peak(plan) / EK__MB;
}

double ek__layout_limit_mb(const ek_layout_plan *plan)
{
    return (double)plan->estimate.memory.limit / EK__MB;
}

/* ---- a layout ---- */

#define EK__T ek_layout
GETTER(schedule, text, it->schedule ? it->schedule->name : NULL);
static const ek__member layout[] = {
    {"data", COUNT(value[EK_AXIS_DATA]), "data parallel ranks", CSV(11)},
    {"tensor", COUNT(value[EK_AXIS_TENSOR]), "tensor parallel ranks", CSV(12)},
    {"context", COUNT(value[EK_AXIS_CONTEXT]), "context parallel ranks", CSV(13)},
    {"expert", COUNT(value[EK_AXIS_EXPERT]), "expert parallel ranks", CSV(14)},
    {"pipeline", COUNT(value[EK_AXIS_PIPELINE]), "pipeline stages", CSV(15)},
    {"chunks", COUNT(value[EK_AXIS_CHUNKS]), "of a stage", CSV(16)},
    {"micro_batch", COUNT(value[EK_AXIS_BATCH]), "sequences of a micro-batch", CSV(17)},
    {"optimizer_shard", COUNT(value[EK_AXIS_SHARD]), "ranks that share the optimizer's states; 1: none", CSV(18)},
    {"copies", COUNT(value[EK_AXIS_COPIES]), "parts of a micro-batch that run side by side", CSV(19)},
    {"fine_grain", COUNT(value[EK_AXIS_FINE]), "parts of a micro-batch that take turns inside each layer", CSV(20)},
    {"table_shard", COUNT(value[EK_AXIS_TABLE]), "ranks that share the embedding table where that is a choice, else 1",
     CSV(21)},
    {"gradient_shard", COUNT(value[EK_AXIS_SUMS]), "ranks that share summed gradients, likewise", CSV(22)},
    {"sequence_parallel", FLAG(sequence_parallel), "norms are cut over the tensor parallel ranks",
     CSV(23, .spelled = true)},
    {"micro_batches", COUNT(n_micro_batches), "of a step, on one data parallel rank", CSV(25)},
    {"schedule", GET(TEXT, schedule), "of the pipeline", CSV(24)},
};
const ek__fields ek__layout_fields = {FIELDS(layout, "LAYOUT", "How the job is spread, in every object that has one.")};
#undef EK__T

/* ---- parts of a step, stages ---- */

static const ek_step *step_of(const ek__owner *of)
{
    return &((const ek_layout_plan *)of->parent)->estimate.step;
}

#define EK__T double
GETTER(part_name, text, ek_step_part_name[of->number]);
GETTER(part_seconds, real, *it);
GETTER(part_basis, text, ek_cost_basis_name[step_of(of)->basis[of->number]]);
GETTER(part_error, real, step_of(of)->error[of->number]);
static const ek__member part[] = {
    {"name", GET(TEXT, part_name), "as [`evenkeel estimate`](estimate-json.md) has it, as all of these"},
    {"seconds", GET(SECONDS, part_seconds), "of the step"},
    {"basis", GET(TEXT, part_basis), "the weakest figure that it rests on"},
    {"standard_error_s", GET(SECONDS, part_error), "null where it is not known", .positive = true},
};
static const ek__fields parts = {FIELDS(part, "plans[].parts[]", "They add up to `step_time_s`.")};
#undef EK__T

#define EK__T ek_memory_stage
static const ek__member stage_peak[] = {{"", BYTES_MB(actual_peak), "a stage"}};
static const ek__fields stage_peaks = {FIELDS(stage_peak, NULL, NULL)};
#undef EK__T

/* Lists of every chunk, of every stage: a record of the outer list is `number` values behind the first one of all, and
 * its stages follow n_stages - 1 times as many behind that. */
static int stages_of(const void *plan)
{
    return ((const ek_layout_plan *)plan)->job.plan.n_stages;
}

#define EK__T int
FINDER(chunk, it + of->number * (stages_of(of->parent) - 1));
COUNTER(n_stages, stages_of(of->parent));
static const ek__member chunk_list[] = {{"", FOUND_SHORT_LIST(chunk, n_stages, ek__list_of_integers), "a chunk"}};
static const ek__fields chunks = {FIELDS(chunk_list, NULL, NULL)};
#undef EK__T

/* ---- a plan ---- */

/* Files are written of the plans of the list alone, whose parent is the whole. */
static const char *file_of(const ek__owner *of)
{
    const ek_layout_report *report = of->result;
    return of->parent == report && report->file ? report->file[of->number] : NULL;
}

#define EK__T ek_layout_plan
COUNTER(n_parts, EK_N_STEP_PARTS);
COUNTER(n_peaks, it->estimate.memory.n_stages);
COUNTER(n_chunks, it->job.plan.n_chunks);
FINDER(parts_of, it->estimate.step.stage[it->estimate.step.slowest].seconds);
FINDER(peaks, it->estimate.memory.stage);
FINDER(layers, it->job.plan.layers);
FINDER(full, it->job.plan.full);
FINDER(select_of, it->job.plan.select);
FINDER(comm, it->job.plan.comm);
GETTER(rank, number, of->number + 1);
GETTER(peak, number, ek__layout_peak(it));
GETTER(group_error, real, it->group >= 0 ? it->group_error : (double)NAN);
GETTER(seconds_of_part, real, it->estimate.step.stage[it->estimate.step.slowest].seconds[of->number]);
GETTER(file, text, file_of(of));
static const ek__member plan[] = {
    {NULL, GET(COUNT, rank), NULL, CSV(10, "rank")},
    {NULL, PARTS(layout, ek__layout_fields)},
    {"step_time_s", SECONDS(estimate.step.seconds), "predicted", CSV(31, .decimals = 9)},
    {"standard_error_s", SECONDS(estimate.step.standard_error), "as of [`evenkeel estimate`](estimate-json.md)",
     .positive = true},
    {"lower_bound_s", SECONDS(lower_bound), "no plan of this layout is shorter; null for `today`",
     CSV(32, .decimals = 9)},
    {"tokens_per_second_per_device", REAL(estimate.metrics.tokens_per_second_per_device), "throughput of a device",
     CSV(33, .decimals = 3)},
    {"mfu", SHARE(estimate.metrics.mfu), "model FLOPs utilisation", CSV(34, .decimals = 6)},
    {"peak_mb", GET(BYTES_MB, peak), "memory of the fullest stage", CSV(35)},
    {"limit_mb", BYTES_MB(estimate.memory.limit), "its limit; null without one", CSV(36), .positive = true},
    {"fullest_stage", COUNT(estimate.memory.fullest), "the stage with the largest peak", CSV(37)},
    {"fits", FLAG(estimate.memory.fits), "every stage is within the limit", CSV(38, .spelled = true)},
    {"stage_peak_mb", FOUND_SHORT_LIST(peaks, n_peaks, stage_peaks), "memory of every stage, MB"},
    {"group", NUMBER(group),
     "plans that prediction cannot tell apart have one number; null where that was not looked at, which is so with "
     "more than 64 plans",
     CSV(39)},
    {"group_error_s", GET(SECONDS, group_error),
     "standard error of the difference of its step to that of its group's first plan; 0 for the first itself",
     CSV(40, .decimals = 9)},
    {"slowest_stage", COUNT(estimate.step.slowest), "the stage that computes longest; `parts` are its"},
    {"parts", FOUND_SHORT_LIST(parts_of, n_parts, parts), "where the step goes"},
    {NULL, GET_BY_WORD(SECONDS, seconds_of_part, ek_step_part_name, EK_N_STEP_PARTS), NULL,
     CSV(41, "%s_s", .decimals = 9)},
    {"layers", FOUND_SHORT_LIST(layers, n_chunks, chunks), "of every chunk, of every stage: how many layers"},
    {"recompute", FOUND_SHORT_LIST(full, n_chunks, chunks),
     "likewise, of how many of the first layers all is run again"},
    {"select_recompute", FOUND_SHORT_LIST(select_of, n_chunks, chunks),
     "likewise, of how many what the selective patterns name is run again"},
    {"select_comm_recompute", FOUND_SHORT_LIST(comm, n_chunks, chunks),
     "likewise, of how many the communication that the selective patterns name is run again"},
    {"settings", NAME(settings),
     "the plan in the words of the job's framework; null where there is nothing to change, or it cannot be told"},
    {"file", GET(TEXT, file), "that `--write` made of it; null: none"},
};
const ek__fields ek__layout_plan_fields = {
    FIELDS(plan, "plans[], today, explain.plan, points[].plan", "A layout with the best plan of its layers."),
    .lines = true};
#undef EK__T

/* ---- what became of the layouts ---- */

static const char *const over_key[4] = {"up_to_1.1", "up_to_1.5", "up_to_2", "above_2"};

#define EK__T ek_layout_counts
GETTER(ruled_out, number, it->fate[of->number + 1]);
static const ek__member count[] = {
    {"all", COUNT(all), "combinations of degrees, sharding, chunks and micro-batch"},
    {"legal", COUNT(legal), "of these, what the framework runs"},
    {"bounded", COUNT(bounded),
     "layouts with a bound, one for each schedule; all of them unless the search ended early"},
    {"balanced", COUNT(balanced), "of these, balanced exactly"},
    {"ruled_out", GET_BY_WORD(COUNT, ruled_out, ek_layout_fate_name + 1, EK_N_LAYOUT_FATES - 1),
     "counts by reason: `illegal` (not bounded), `memory` (needs more than there is with everything recomputed), "
     "`bound` (cannot be shorter than the last plan), `balanced` (is longer), `no_plan` (no split of its layers fits), "
     "`open` (not looked at when the time was over). All but `illegal`, with the plans, come to `bounded`"},
    {"memory_over", BY_WORD(COUNT, over_by, over_key, 4),
     "of `memory`, by the least peak over the limit: `up_to_1.1`, `up_to_1.5`, `up_to_2`, `above_2`"},
    {"bound_by", BY_WORD(COUNT, bound_by, ek_step_part_name, EK_N_STEP_PARTS),
     "of `bound`, by the part of the step that exceeds the best plan's most, with even layers and nothing recomputed; "
     "of many layouts one of each 1/500 of the space is looked at; fewer than `bound` where the time was over"},
};
static const ek__fields counts = {FIELDS(count, "layouts", NULL), .lines = true};
#undef EK__T

/* ---- where nothing fits ---- */

#define EK__T ek_layout_fit
CONDITION(fits, it->fits);
static const ek__member fit[] = {
    {"change", WORD(change, ek_fit_change_name),
     "`free` (axes that `--fix` and `--range` hold), `offload` (the optimizer's states on the host), `devices`, "
     "`memory`"},
    {"fits", FLAG(fits), "a plan that fits was found; `peak_mb`, `step_time_s` and its layout are there only then"},
    {"devices", COUNT(n_devices), "with which; where nothing was found the most that was tried"},
    {"limit_mb", MB(limit_mb), "the same of the memory of a device; null without a limit", DECIMALS(3),
     .positive = true},
    {"peak_mb", MB(peak_mb), "memory of its fullest stage", DECIMALS(3), WHEN(fits)},
    {"step_time_s", SECONDS(seconds), "predicted; other plans may be shorter", WHEN(fits)},
    {NULL, PARTS(layout, ek__layout_fields), WHEN(fits)},
};
static const ek__fields all_fits = {FIELDS(fit, "would_fit[]", "Each change alone.")};
#undef EK__T

#define EK__T ek_layout_result
static const ek__member nearest[] = {
    {NULL, PARTS(closest, ek__layout_fields)},
    {"least_peak_mb", MB(closest_mb), "its peak with everything recomputed", DECIMALS(3)},
};
static const ek__fields closest = {FIELDS(nearest, "closest", NULL), .lines = true};
#undef EK__T

/* ---- the whole ---- */

#define EK__T ek_job
static const ek__member job[] = {
    {"name", CHARS(name), "of the model"},
    {"framework", WORD(framework, ek_framework_name), "that trains it"},
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
    {"job", FOUND(job_of, jobs), "what is spread"},
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
    {"layouts", FOUND(counts_of, counts), "how many there are, and what ruled them out"},
    {"closest", FOUND(closest_of, closest), "where nothing fits: the layout that needs least; else null"},
    {"would_fit", FOUND_LIST(first_fit, n_fits, all_fits), "where nothing fits: changes that were tried"},
    {"warnings", OWN("list of strings"),
     "what deserves doubt in the best plan's figures, and what the readers warned of"},
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
    {NULL, GET(TEXT, title_of_fate), NULL, PAGE(1, "fate", "what became of it")},
    {NULL, GET(COUNT, layouts), NULL, PAGE(2, "layouts", "layouts")},
};
static const ek__fields fates = {FIELDS(fate, NULL, NULL)};
#undef EK__T

#define EK__R ek_layout_result
ITEMS(fate_at, EK_N_LAYOUT_FATES, r->counts.fate[i] > 0 ? &r->counts.fate[i] : NULL);
const ek__rows ek__layout_plan_rows = {"plans", .fields = &ek__layout_plan_fields, RESULT_LIST(n_plans, plan)};
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
