/* Figures of one plan and of its simulation. */
#include "evenkeel/cases.h"
#include "evenkeel/layers.h"
#include "figures/balance_figures.h"
#include "figures/rows.h"

/* ---- results of a simulation ---- */

double ek__stage_limit(const ek_report *report, int stage)
{
    return report->stage_memory_mb ? report->stage_memory_mb[stage] : report->memory_limit_mb;
}

bool ek__over_limit(const ek_report *report, const ek_timeline *timeline, int stage)
{
    double limit = ek__stage_limit(report, stage);
    /* A peak is a sum of a few hundred terms; one part in 10^9 is rounding, not memory. */
    return limit > 0 && timeline->peak_mb[stage] > limit * (1 + 1e-9);
}

bool ek__any_over_limit(const ek_report *report, const ek_timeline *timeline)
{
    for (int s = 0; s < timeline->shape.n_stages; s++)
        if (ek__over_limit(report, timeline, s))
            return true;
    return false;
}

int ek__shape_pieces(const ek_shape *shape)
{
    return shape->n_pieces > 1 ? shape->n_pieces : 1;
}

int ek__micro_batches(const ek_shape *shape)
{
    return shape->n_micro_batches / ek__shape_pieces(shape);
}

bool ek__less_memory(const ek_timeline *timeline)
{
    int v = timeline->shape.n_chunks;
    return v > 1 && timeline->schedule == ek_schedule_default(v, 1);
}

static const ek_report *report_of(const ek__owner *of)
{
    return of->result;
}

/* ---- the plan ---- */

/* Layers of a chunk in the even split: the base of offsets. */
static int even_split(const void *of)
{
    const ek_plan *plan = of;
    int n_layers = 0;
    for (int i = 0; i < plan->n_chunks * plan->n_stages; i++)
        n_layers += plan->layers[i];
    return n_layers / (plan->n_chunks * plan->n_stages);
}

#define EK__T ek_plan
static const ek__member plan[] = {
    {"offset", GRID(n_chunks, n_stages, layers, ek__list_of_integers),
     "`layers` - floor(model's layers / (stages x chunks))", .less = even_split},
    {"recompute", GRID(n_chunks, n_stages, full, ek__list_of_integers),
     "layers recomputed in full: the first ones of the chunk"},
    {"select_recompute", GRID(n_chunks, n_stages, select, ek__list_of_integers),
     "layers with selective recomputation: the first ones of the chunk"},
    {"select_comm_recompute", GRID(n_chunks, n_stages, comm, ek__list_of_integers),
     "layers with communication recomputation: the first ones of the chunk"},
    {"layers", GRID(n_chunks, n_stages, layers, ek__list_of_integers), "body layers of the chunk"},
};
const ek__fields ek__plan_fields = {FIELDS(plan, NULL, NULL)};
#undef EK__T

#define EK__T ek_case
FINDER(plan_of, it->plan);
GETTER(interleave_num, number, it->timeline->shape.n_chunks);
GETTER(micro_batch_num, number, ek__micro_batches(&it->timeline->shape));
GETTER(less_memory, number, ek__less_memory(it->timeline));
static const ek__member case_plan[] = {
    {NULL, FOUND_PARTS(plan_of, ek__plan_fields), NULL},
    {"interleave_num", GET(COUNT, interleave_num), "chunks per stage of these figures, as in a YAML plan file"},
    {"micro_batch_num", GET(COUNT, micro_batch_num), "likewise micro-batches of a step"},
    {"less_memory", GET(FLAG, less_memory), "likewise: is the warm-up the shorter one"},
};
static const ek__fields case_plans = {
    FIELDS(case_plan, "plan",
           "Every list is `[chunk][stage]`, as the training framework's YAML wants it. `fit_plan`, and the plans of "
           "`--sweep` and `--quick`, have the first five fields.")};

/* ---- stages ---- */

static int layers_of(const ek_plan *of, int stage)
{
    int n = 0;
    for (int i = 0; i < of->n_chunks; i++)
        n += of->layers[i * of->n_stages + stage];
    return n;
}
COUNTER(n_stages, it->plan->n_stages);
CONDITION(has_limit, report_of(of)->memory_limit_mb > 0);
GETTER(stage_layers, number, layers_of(it->plan, of->number));
GETTER(stage_peak, real, it->timeline->peak_mb[of->number]);
GETTER(stage_room, real, ek__stage_limit(of->result, of->number) - it->timeline->peak_mb[of->number]);
GETTER(stage_static, real, it->timeline->static_mb[of->number]);
GETTER(stage_busy, real, it->timeline->busy[of->number]);
static const ek__member stage[] = {
    {"layers", GET(COUNT, stage_layers), "body layers of all its chunks together"},
    {"peak_memory_mb", GET(MB, stage_peak),
     "simulated peak: persistent memory plus the live activations at the worst moment"},
    {"headroom_mb", GET(MB, stage_room), "limit - peak, negative when over; null: there is no limit", KNOWN(has_limit)},
    {"static_memory_mb", GET(MB, stage_static), "held throughout the step: constant part, parameters, head or tail"},
    {"busy", GET(SHARE, stage_busy), "simulated share of the step in which the stage computes"},
};
static const ek__fields stages = {FIELDS_BY_NUMBER(stage, "stages[]", NULL)};
#undef EK__T

/* ---- the simulation ---- */

#define EK__T ek_bubble
static const ek__member bubble[] = {
    {"real", REAL(real), "idle share over useful work, (p x step - work) / work; simulated. May exceed 1"},
    {"ideal", REAL(ideal), "(p - 1) / (v m), that of equal stages without recomputation"},
    {"imba", REAL(imba),
     "the rest: `real` - `ideal` - `recompute`. Below zero when a schedule beats the `ideal` formula"},
    {"recompute", REAL(recompute), "extra backward time of recomputation over work"},
};
static const ek__fields bubbles = {FIELDS(bubble, "bubble", "Ratios.")};
#undef EK__T

#define EK__T ek_shape
GETTER(micro_batches, number, ek__micro_batches(it));
static const ek__member shape[] = {
    {"stages", COUNT(n_stages), "p"},
    {"chunks", COUNT(n_chunks), "per stage: v"},
    {"micro_batches", GET(COUNT, micro_batches), "of a step: m"},
};
const ek__fields ek__shape_fields = {FIELDS(shape, "shape", NULL)};
#undef EK__T

#define EK__T ek_stage_time
static const ek__member path[] = {
    {"forward", TIME(forward), "forward passes on the critical path"},
    {"backward", TIME(backward), "backward passes; only of the inputs if they are split"},
    {"weight", TIME(weight), "gradients of the weights, where the backward pass is split"},
    {"recompute", TIME(recompute), "recomputation within the backward passes"},
    {"transfer", TIME(transfer), "between the end of a block and the begin of the next one on the path"},
};
static const ek__fields path_times = {
    FIELDS(path, "critical_path[]",
           "Critical path by stage: blocks that each start when the previous one ends. They sum to `step_time`. If "
           "several paths have this length, one of them.")};
#undef EK__T

#define EK__T ek_timeline
static int fullest(const ek_timeline *timeline)
{
    int at;
    ek_timeline_peak(timeline, &at);
    return at;
}
GETTER(peak, real, ek_timeline_peak(it, NULL));
GETTER(peak_stage, number, fullest(it));
GETTER(fits, number, report_of(of)->memory_limit_mb > 0 ? !ek__any_over_limit(of->result, it) : -1);
GETTER(pieces, number, ek__shape_pieces(&it->shape));
GETTER(schedule, text, it->schedule->name);
GETTER(split, text, report_of(of)->layers->split_known ? "given" : "assumed");
CONDITION(has_pieces, ek__shape_pieces(&it->shape) > 1);
CONDITION(splits, it->schedule->splits_backward);
CONDITION(has_edges, it->comm.edge_time != NULL);
static const ek__member timeline[] = {
    {"step_time", TIME(step_time), "simulated end of the last block of one training step"},
    {"bubble", OBJECT(bubble, bubbles), "idle time over useful work, and its parts"},
    {"critical_path", SHORT_LIST(shape.n_stages, path_time, path_times), "the critical path of the step"},
    {"peak_memory_mb", GET(MB, peak), "largest simulated peak of any stage"},
    {"peak_stage", GET(COUNT, peak_stage), "which stage"},
    {"fits", GET(FLAG, fits), "`peak_memory_mb` is within `memory_limit_mb`; null: there is no limit"},
    {"shape", OBJECT(shape, ek__shape_fields), "size of the pipeline"},
    {"seq", GET(COUNT, pieces),
     "sequence pieces of a micro-batch; only there when more than 1. All times and memory per layer are then those of "
     "a piece",
     WHEN(has_pieces)},
    {"schedule", GET(TEXT, schedule), "name, as given to `--schedule`"},
    {"backward_split", GET(TEXT, split),
     "only of schedules that split the backward pass. `given`: the times of both halves are the layer file's; "
     "`assumed`: they are not",
     WHEN(splits)},
    {"weight_share", SHARE(weight_share), "likewise: share of the activations held until the weight gradient, assumed",
     WHEN(splits)},
    {"p2p_time", TIME(comm.p2p_time), "of one transfer between stages; 0: none is modelled"},
    {"p2p_blocking", FLAG(comm.blocking), "transfers occupy sender and receiver"},
    {"p2p_edges", SHORT_LIST(shape.n_stages, comm.edge_time, ek__list_of_reals),
     "only with times by edge: in the input's unit, of a transfer from each stage to the next, the last one to stage 0",
     WHEN(has_edges)},
};
static const ek__fields timelines = {FIELDS(timeline, NULL, NULL)};
#undef EK__T

/* ---- a case ---- */

#define EK__T ek_case
GETTER(always, number, 1);
COUNTER(n_micro_batches, ek__micro_batches(&it->timeline->shape));
FINDER(timeline_of, it->timeline);
FINDER(speeds, report_of(of)->stage_speed);
FINDER(costs, report_of(of)->micro_batch_cost);
CONDITION(has_speeds, report_of(of)->stage_speed != NULL);
CONDITION(has_costs, report_of(of)->micro_batch_cost != NULL);
CONDITION(has_transient, report_of(of)->layers->recompute_transient);
static const ek__member a_case[] = {
    {"name", TEXT(name), "of the strategy: `result`, `naive_no_recomp`, or the name in the plan file"},
    {NULL, FOUND_PARTS(timeline_of, timelines), NULL},
    {"stage_speed", FOUND_SHORT_LIST(speeds, n_stages, ek__list_of_reals),
     "only with `--stage-speed`: speed of each stage; 1: the given layer times", WHEN(has_speeds)},
    {"recompute_transient", GET(FLAG, always),
     "only with `--recompute-transient`, and then true: peaks count activations restored by recomputation",
     WHEN(has_transient)},
    {"micro_batch_cost", FOUND_SHORT_LIST(costs, n_micro_batches, ek__list_of_reals),
     "only with `--micro-batch-cost`: factor of each micro-batch's times and activations", WHEN(has_costs)},
    {"stages", NUMBERED(n_stages, stages), "by stage"},
    {"plan", HERE(case_plans), "layers and recomputation of every chunk"},
};
const ek__fields ek__case_fields = {FIELDS(a_case, NULL, NULL)};
#undef EK__T
