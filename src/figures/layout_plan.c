/* Figures of a layout of a job and of its plan, used by a search, its advice and a sweep. */
#include <math.h>

#include "base/digits.h"
#include "figures/layout_figures.h"
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

/* ---- a plan ---- */

/* Files are written only for the plans of the list; their parent is the report. */
static const char *file_of(const ek__owner *of)
{
    const ek_layout_report *report = of->result;
    return of->parent == report && report->file ? report->file[of->number] : NULL;
}

#define EK__T ek_layout_plan
COUNTER(n_parts, EK_N_STEP_PARTS);
COUNTER(n_peaks, it->estimate.memory.n_stages);
FINDER(parts_of, it->estimate.step.stage[it->estimate.step.slowest].seconds);
FINDER(peaks, it->estimate.memory.stage);
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
     "plans that prediction cannot distinguish have the same number; null if not examined (more than 64 plans)",
     CSV(39)},
    {"group_error_s", GET(SECONDS, group_error),
     "standard error of the difference of its step to that of its group's first plan; 0 for the first itself",
     CSV(40, .decimals = 9)},
    {"slowest_stage", COUNT(estimate.step.slowest), "the stage that computes longest; `parts` are its"},
    {"parts", FOUND_SHORT_LIST(parts_of, n_parts, parts), "where the step goes"},
    {NULL, GET_BY_WORD(SECONDS, seconds_of_part, ek__step_part_name, EK_N_STEP_PARTS), NULL,
     CSV(41, "%s_s", .decimals = 9)},
    {"layers", GRID(job.plan.n_chunks, job.plan.n_stages, job.plan.layers, ek__list_of_integers),
     "of every chunk, of every stage: how many layers"},
    {"recompute", GRID(job.plan.n_chunks, job.plan.n_stages, job.plan.full, ek__list_of_integers),
     "likewise, of how many of the first layers all is run again"},
    {"select_recompute", GRID(job.plan.n_chunks, job.plan.n_stages, job.plan.select, ek__list_of_integers),
     "likewise, number of layers with selective recomputation"},
    {"select_comm_recompute", GRID(job.plan.n_chunks, job.plan.n_stages, job.plan.comm, ek__list_of_integers),
     "likewise, of how many the communication that the selective patterns name is run again"},
    {"settings", NAME(settings),
     "the plan as settings of the job's framework; null if nothing changes, or the framework has no such settings"},
    {"file", GET(TEXT, file), "that `--write` made of it; null: none"},
};
const ek__fields ek__layout_plan_fields = {
    FIELDS(plan, "plans[], today, explain.plan, points[].plan", "A layout with the best plan of its layers."),
    .lines = true};
#undef EK__T

#define EK__R ek_layout_result
const ek__rows ek__layout_plan_rows = {"plans", .fields = &ek__layout_plan_fields, RESULT_LIST(n_plans, plan)};
#undef EK__R
