/* Switches that are no axis of a layout: after the best layouts are found, each plan tries those that its framework
 * has, and adopts the one that shortens it most until none does. A switch is judged on the plan as it is; where it
 * leaves more memory, or the plan no longer fits, the layout is balanced anew with it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layout_advice.h"
#include "job/settings.h"
#include "layout/layout.h"
#include "layout/split.h"

#define LEAST_GAIN       1e-4 /* of a step, for which a file is changed */
#define BYTES_OF_TOKEN   8.0  /* of what a device reads: its number and its label, 4 bytes each */
#define BYTES_PER_MB     1048576.0
#define BYTES_PER_SECOND 1e9

/* ---- what a framework has ---- */

typedef struct kind {
    const char *name, *setting, *source;
    bool (*allowed)(const ek_job *job); /* the job's framework has it, and it is off */
    void (*turn_on)(ek_job *job);
} kind;

static bool is_llama(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS && job->family == EK_FAMILY_LLAMA;
}

/* The alternating copies are inside layers; with whole copies of the batch there is nothing left to hide. */
static bool allows_fine_grain(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    return is_llama(job) && p->fine_grain <= 1 && p->tensor > 1 && p->sequence_parallel && p->n_batch_interleave <= 1;
}

static void turn_on_fine_grain(ek_job *job)
{
    job->parallel.fine_grain = 2;
}

static bool allows_table(const ek_job *job)
{
    return is_llama(job) && job->states.shard_weight && !job->states.shard_table;
}

static void turn_on_table(ek_job *job)
{
    job->states.shard_table = true;
}

static bool allows_gradient(const ek_job *job)
{
    const ek_job_states *s = &job->states;
    bool is = job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
    return is && s->shard_weight && !s->shard_gradient && s->gradient > 0;
}

static void turn_on_gradient(ek_job *job)
{
    job->states.shard_gradient = true;
}

#define GUIDE "MindSpore Transformers' performance tuning guide, multi-card cluster case"

static const kind kinds[EK_N_LAYOUT_SWITCHES] = {
    [EK_SWITCH_FINE_GRAIN] = {"fine_grain_interleave", "model.model_config.fine_grain_interleave: 2", GUIDE,
                              allows_fine_grain, turn_on_fine_grain},
    [EK_SWITCH_SHARD_TABLE] = {"parallel_optimizer", "model.model_config.parallel_optimizer: True", GUIDE, allows_table,
                               turn_on_table},
    [EK_SWITCH_SHARD_GRADIENT] = {"gradient_accumulation_shard",
                                  "parallel.parallel_optimizer_config.gradient_accumulation_shard: True",
                                  "MindSpore's documentation of optimizer parallelism", allows_gradient,
                                  turn_on_gradient},
};

const char *ek_layout_switch_name(ek_layout_switch which)
{
    return kinds[which].name;
}

const char *ek_layout_switch_setting(ek_layout_switch which)
{
    return kinds[which].setting;
}

const char *ek_layout_switch_source(ek_layout_switch which)
{
    return kinds[which].source;
}

/* ---- one switch on one plan ---- */

typedef struct refiner {
    const ek_layout_result *result;
    ek_cost_cache *cache;
    unsigned adopted; /* bits of the plan's switches */
    ek_layout layout;
    ek__split best; /* the plan as it is now */
    ek_error *err;
} refiner;

static ek_status fits(const ek_job *job, bool *out, ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    ek_memory memory;
    *out = true;
    if (job->limit_mb <= 0)
        return EK_OK;
    ek_status status = ek_memory_predict(job, &options, &memory, err);
    if (status)
        return status;
    for (int i = 0; i < memory.n_stages; i++)
        *out = *out && (double)memory.stage[i].actual_peak <= job->limit_mb * BYTES_PER_MB;
    ek_memory_clear(&memory);
    return EK_OK;
}

/* The plan with the switch and nothing else. */
static ek_status try_as_it_is(refiner *r, ek_layout_switch which, ek__split *to)
{
    ek_job now;
    bool fine = false;
    double seconds;
    ek_status status = ek_job_copy(&r->best.job, &now, r->err);
    if (status)
        return status;
    kinds[which].turn_on(&now);
    status = ek__job_follow(&r->best.job, &now, r->err);
    if (!status)
        status = fits(&now, &fine, r->err);
    if (!status && fine)
        status = ek__split_offer(&now, NULL, r->result->device, r->cache, to, &seconds, r->err);
    ek_job_clear(&now);
    return status;
}

/* The layout balanced anew with what is adopted and the switch. */
static ek_status try_balanced(refiner *r, ek_layout_switch which, ek__split *to)
{
    const ek__split_options options = {.upper = fmin(to->seconds, r->best.seconds), .deadline = INFINITY};
    ek_job base = *r->result->job, spread; /* lists and texts are borrowed */
    ek__split found = {.seconds = INFINITY, .bound = INFINITY};
    for (int i = 0; i < EK_N_LAYOUT_SWITCHES; i++)
        if ((r->adopted >> i & 1) || i == (int)which)
            kinds[i].turn_on(&base);
    ek_status status = ek_layout_job(&base, &r->layout, &spread, r->err);
    if (status)
        return status;
    status = ek__split_layout(&spread, r->result->device, r->cache, &options, &found, r->err);
    ek_job_clear(&spread);
    if (!status && found.found && found.seconds < to->seconds) {
        ek__split_clear(to);
        *to = found;
    } else {
        ek__split_clear(&found);
    }
    return status;
}

/* Into *best where it is shorter than that. */
static ek_status try_switch(refiner *r, ek_layout_switch which, ek__split *best, int *best_switch)
{
    ek__split to = {.seconds = INFINITY, .bound = INFINITY};
    ek_status status = try_as_it_is(r, which, &to);
    if (!status)
        status = try_balanced(r, which, &to);
    if (!status && to.found && to.seconds < best->seconds) {
        ek__split_clear(best);
        *best = to;
        *best_switch = (int)which;
        return EK_OK;
    }
    ek__split_clear(&to);
    return status;
}

/* ---- one plan ---- */

static ek_status adopt_one(refiner *r, ek_layout_refinement *out, bool *any)
{
    ek__split best = {.seconds = INFINITY, .bound = INFINITY};
    int which = -1;
    ek_status status = EK_OK;
    *any = false;
    for (int i = 0; i < EK_N_LAYOUT_SWITCHES && !status; i++)
        if (!(r->adopted >> i & 1) && kinds[i].allowed(&r->best.job))
            status = try_switch(r, (ek_layout_switch)i, &best, &which);
    if (!status && which >= 0 && best.seconds < r->best.seconds * (1 - LEAST_GAIN)) {
        out->gain[which] = 1 - best.seconds / r->best.seconds;
        out->order[out->n_adopted++] = (ek_layout_switch)which;
        r->adopted |= 1U << which;
        ek__split_clear(&r->best);
        r->best = best;
        *any = true;
        return EK_OK;
    }
    ek__split_clear(&best);
    return status;
}

static ek_status replace(refiner *r, ek_layout_plan *plan)
{
    ek_layout_plan now = {
        .layout = plan->layout, .group = plan->group, .lower_bound = fmin(plan->lower_bound, r->best.seconds)};
    now.job = r->best.job;
    r->best.job = (ek_job){0};
    ek_status status = ek_estimate_of(&now.job, r->result->device, plan->estimate.wanted_tokens, &now.estimate, r->err);
    if (status) {
        ek_layout_plan_clear(&now);
        return status;
    }
    ek_layout_plan_clear(plan);
    ek__layout_plan_move(&now, plan);
    return EK_OK;
}

static ek_status refine(const ek_layout_result *result, ek_layout_plan *plan, ek_layout_refinement *out, ek_error *err)
{
    refiner r = {.result = result,
                 .cache = ek_cost_cache_new(result->device),
                 .layout = plan->layout,
                 .best = {.found = true, .seconds = plan->estimate.step.seconds},
                 .err = err};
    bool any = true;
    *out = (ek_layout_refinement){.before = r.best.seconds};
    ek_status status = r.cache ? ek_job_copy(&plan->job, &r.best.job, err) : ek__no_memory(err);
    while (any && !status)
        status = adopt_one(&r, out, &any);
    if (!status && r.adopted)
        status = replace(&r, plan);
    out->after = plan->estimate.step.seconds;
    ek__split_clear(&r.best);
    ek_cost_cache_free(r.cache);
    return status;
}

/* ---- all plans ---- */

/* By step; of equal ones as they were. */
static void order_plans(ek_layout_result *result, ek_layout_refinement *out)
{
    for (int i = 1; i < result->n_plans; i++)
        for (int k = i; k > 0 && result->plan[k].estimate.step.seconds < result->plan[k - 1].estimate.step.seconds;
             k--) {
            ek_layout_plan plan;
            ek_layout_refinement refinement = out[k];
            ek__layout_plan_move(&result->plan[k], &plan);
            ek__layout_plan_move(&result->plan[k - 1], &result->plan[k]);
            ek__layout_plan_move(&plan, &result->plan[k - 1]);
            out[k] = out[k - 1];
            out[k - 1] = refinement;
        }
}

ek_status ek_layout_refine(ek_layout_result *result, ek_layout_refinement *out, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < result->n_plans && !status; i++)
        status = refine(result, &result->plan[i], &out[i], err);
    if (!status)
        order_plans(result, out);
    return status;
}

double ek_layout_full_batch_wait(const ek_job *job, const ek_device *device, double step_seconds)
{
    const ek_layout l = ek_layout_of(job);
    double sequences =
        (double)l.value[EK_AXIS_DATA] * l.value[EK_AXIS_BATCH] * l.value[EK_AXIS_COPIES] * l.n_micro_batches;
    if (device->input_gbs <= 0)
        return NAN;
    double reading = BYTES_OF_TOKEN * sequences * job->parallel.seq_length / (device->input_gbs * BYTES_PER_SECOND);
    return fmax(0, reading - step_seconds);
}
