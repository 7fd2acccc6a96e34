/* Applies the guides' rules of thumb as layouts. A rule names the degree that grows and fixes the others; it grows
 * until the layout fits, since the guides take the least degree that does. Layers and recomputation are then balanced
 * exactly, so that a rule's cost is only that of its degrees. Micro-batches are of one sequence, the schedule is
 * 1F1B. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"
#include "evenkeel/layout_advice.h"
#include "layout/layout.h"

/* Thresholds between the sizes of the guides' examples, 7, 13 and 70 billion. */
#define SMALL       10e9
#define MIDDLE      20e9
#define LONG        32768 /* tokens of a sequence */
#define MOST_TENSOR 8

/* The degree that grows until the layout fits. */
typedef struct rule {
    const char *name, *text, *source;
    ek_layout_axis grows; /* EK_AXIS_DATA: none */
    int from;
    bool tensor;        /* tensor parallel ranks equal to the ranks of a node */
    double least, most; /* parameters */
    int least_length;
} rule;

#define GUIDE "MindSpore Transformers' performance tuning guide, parallel strategies"

static const rule rules[EK_N_LAYOUT_THUMBS] = {
    {"data", "about 7B: data and optimizer parallel", GUIDE, EK_AXIS_DATA, 1, false, 0, SMALL, 0},
    {"pipeline", "about 13B: pipeline parallel, recomputation adjusted", GUIDE, EK_AXIS_PIPELINE, 2, false, SMALL,
     MIDDLE, 0},
    {"tensor", "larger: tensor parallel inside a node with sequence parallel, then pipeline", GUIDE, EK_AXIS_PIPELINE,
     1, true, MIDDLE, 1e18, 0},
    {"context", "sequences of 32K and more: context parallel", GUIDE, EK_AXIS_CONTEXT, 2, true, 0, 1e18, LONG},
};

typedef struct thumber {
    const ek_layout_result *result;
    const ek_job *job;
    double parameters;
    int n_devices;
    int64_t global_batch;
    ek_error *err;
} thumber;

/* ---- the layout with a degree ---- */

static int tensor_of(const thumber *t)
{
    int most = t->result->device->devices_per_node;
    for (int n = most > 0 && most < MOST_TENSOR ? most : MOST_TENSOR; n > 1; n--)
        if (t->n_devices % n == 0 && t->job->model.n_heads % n == 0)
            return n;
    return 1;
}

static bool is_small(const thumber *t)
{
    return t->parameters < MIDDLE;
}

/* The job's expert degree, or the largest below it that fits the ranks of a stage. */
static int expert_of(const thumber *t, int ranks)
{
    int experts = t->job->model.n_experts, n = t->job->parallel.expert;
    for (; n > 1; n--)
        if (experts % n == 0 && ranks % n == 0)
            break;
    return n > 1 ? n : 1;
}

/* @return false: the degrees do not divide the sizes they cut */
/* Shared like the states if the file does so. */
static int shared(const thumber *t, ek_layout_axis axis, int ranks)
{
    return ek_layout_of(t->job).value[axis] > 1 ? ranks : 1;
}

static bool layout_with(const thumber *t, const rule *r, int degree, ek_layout *out)
{
    int tensor = r->tensor && !(r->grows == EK_AXIS_CONTEXT && is_small(t)) ? tensor_of(t) : 1;
    int context = r->grows == EK_AXIS_CONTEXT ? degree : 1, pipeline = r->grows == EK_AXIS_PIPELINE ? degree : 1;
    int layers = t->job->model.n_layers + t->job->model.n_prediction_layers, ranks = tensor * context * pipeline;
    if (t->n_devices % ranks != 0 || t->job->parallel.seq_length % context != 0 || pipeline > layers)
        return false;
    int data = t->n_devices / ranks;
    if (t->global_batch % data != 0)
        return false;
    *out = (ek_layout){.value = {[EK_AXIS_DATA] = data,
                                 [EK_AXIS_TENSOR] = tensor,
                                 [EK_AXIS_CONTEXT] = context,
                                 [EK_AXIS_EXPERT] = expert_of(t, t->n_devices / pipeline),
                                 [EK_AXIS_PIPELINE] = pipeline,
                                 [EK_AXIS_CHUNKS] = 1,
                                 [EK_AXIS_BATCH] = 1,
                                 [EK_AXIS_SHARD] = data * context,
                                 [EK_AXIS_COPIES] = 1,
                                 [EK_AXIS_FINE] = 1,
                                 [EK_AXIS_TABLE] = shared(t, EK_AXIS_TABLE, data * context),
                                 [EK_AXIS_SUMS] = shared(t, EK_AXIS_SUMS, data * context)},
                       .n_micro_batches = (int)(t->global_batch / data),
                       .sequence_parallel = tensor > 1,
                       .schedule = ek_schedule_default(1, 0)};
    return out->n_micro_batches <= EK_MAX_MICRO_BATCHES;
}

/* ---- the least degree that fits ---- */

static ek_status try_degree(const thumber *t, const rule *r, int degree, ek_layout_thumb *out)
{
    const ek_job *job = t->job;
    ek_layout layout;
    ek_layout_bound bound;
    ek_error why = {0};
    if (!layout_with(t, r, degree, &layout))
        return EK_OK;
    ek_status status = ek_layout_bound_of(job, t->result->device, &layout, &bound, &why);
    out->layout = status ? out->layout : layout;
    if (!status && (job->limit_mb <= 0 || bound.peak_mb <= job->limit_mb))
        status = ek_layout_balance(job, t->result->device, &layout, &out->plan, &why);
    out->found = !status && out->plan.job.path;
    if (status && status != EK_ERR_INPUT)
        return ek__fail(t->err, status, EK__NOWHERE, "%s", why.message);
    return EK_OK;
}

static ek_status try_rule(const thumber *t, const rule *r, ek_layout_thumb *out)
{
    int most = r->grows == EK_AXIS_DATA ? 1 : t->n_devices;
    ek_status status = EK_OK;
    for (int degree = r->from; degree <= most && !out->found && !status; degree++)
        status = try_degree(t, r, degree, out);
    return status;
}

static void compare(const thumber *t, ek_layout_thumb *out)
{
    if (!out->found || t->result->n_plans == 0)
        return;
    out->has_difference = true;
    out->difference = ek_layout_difference_of(&out->plan.estimate.step, &t->result->plan[0].estimate.step);
}

static ek_status apply(const thumber *t, const rule *r, ek_layout_thumb *out)
{
    *out = (ek_layout_thumb){.name = r->name, .text = r->text, .source = r->source};
    out->applies =
        t->parameters >= r->least && t->parameters < r->most && t->job->parallel.seq_length >= r->least_length;
    ek_status status = try_rule(t, r, out);
    if (!status)
        compare(t, out);
    return status;
}

ek_status ek_layout_thumbs(const ek_layout_result *result, ek_layout_thumb *out, ek_error *err)
{
    const ek_layout now = ek_layout_of(result->job);
    int64_t own = (int64_t)now.value[EK_AXIS_DATA] * now.value[EK_AXIS_BATCH] * now.value[EK_AXIS_COPIES];
    double active;
    thumber t = {.result = result,
                 .job = result->job,
                 .n_devices = result->options.n_devices,
                 .global_batch =
                     result->options.global_batch > 0 ? result->options.global_batch : own * now.n_micro_batches,
                 .err = err};
    ek_layout_thumb made[EK_N_LAYOUT_THUMBS] = {{0}};
    ek_status status = ek_job_count_parameters(t.job, &t.parameters, &active, err);
    for (int i = 0; i < EK_N_LAYOUT_THUMBS && !status; i++)
        status = apply(&t, &rules[i], &made[i]);
    if (status) {
        ek_layout_thumbs_clear(made);
        return status;
    }
    memcpy(out, made, sizeof made);
    for (int i = 0; i < EK_N_LAYOUT_THUMBS; i++)
        out[i].plan.estimate.job = &out[i].plan.job;
    return EK_OK;
}

void ek_layout_thumbs_clear(ek_layout_thumb *thumb)
{
    for (int i = 0; i < EK_N_LAYOUT_THUMBS; i++) {
        ek_layout_plan_clear(&thumb[i].plan);
        thumb[i] = (ek_layout_thumb){0};
    }
}
