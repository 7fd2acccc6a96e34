/* Computes the step time of a plan. With layers measured in a trace: simulated with their times. Else ek_cost_step() of
 * the job with the plan, the figure that every command has of a job. */
#include "diagnose/plan_step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

ek_status ek__plan_simulated(const ek__pipeline *p, const ek_layers *layers, const ek_plan *plan,
                             const ek__edit_oracle *wish, double *ms, double *peak_mb, ek_error *err)
{
    const ek_shape shape = {plan->n_stages, plan->n_chunks, wish->n_micro_batches, p->n_pieces};
    ek_balance_options options;
    ek_order *order = NULL;
    ek_error why = {0};
    ek__pipeline_search_options(p, NULL, &options);
    options.memory_limit_mb = 0;
    *ms = NAN;
    ek_status status = ek_order_for_plan(layers, plan, wish->schedule, &shape, &options, &order, &why);
    if (!status) {
        ek_timeline timeline;
        status = ek_simulate(order, plan, layers, &p->comm, &timeline, &why);
        if (!status) {
            *ms = timeline.step_time * p->n_accumulation;
            if (peak_mb)
                memcpy(peak_mb, timeline.peak_mb, (size_t)plan->n_stages * sizeof *peak_mb);
            ek_timeline_clear(&timeline);
        }
        ek_order_free(order);
    }
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

ek_job_change ek__plan_change(const ek__pipeline *p, const ek_plan *plan, const ek__edit_oracle *wish)
{
    return (ek_job_change){.plan = plan,
                           .schedule = wish->schedule,
                           .n_micro_batches = wish->n_micro_batches / p->n_pieces,
                           .batch = wish->batch};
}

ek_status ek__plan_predicted(const ek__pipeline *p, const ek_plan *plan, const ek__edit_oracle *wish, double *ms,
                             ek_error *err)
{
    const ek_job_change change = ek__plan_change(p, plan, wish);
    ek_job job;
    ek_step step = {0};
    ek_error why = {0};
    *ms = NAN;
    ek_status status = ek_job_with(p->job, &change, &job, &why);
    if (!status) {
        status = ek_cost_step(&job, p->device, p->cache, &step, &why);
        ek_job_clear(&job);
    }
    if (!status) {
        *ms = step.seconds * 1e3;
        ek_step_clear(&step);
    }
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

ek_status ek__plan_step(const ek__pipeline *p, const ek_layers *layers, const ek_plan *plan,
                        const ek__edit_oracle *wish, double *ms, ek_error *err)
{
    return p->cache ? ek__plan_predicted(p, plan, wish, ms, err)
                    : ek__plan_simulated(p, layers, plan, wish, ms, NULL, err);
}

ek_status ek__plan_predict_today(ek__pipeline *p, ek_error *err)
{
    ek_error why = {0};
    p->cache = ek_cost_cache_new(p->device);
    if (!p->cache)
        return ek__no_memory(err);
    ek_status status = ek_cost_step(p->job, p->device, p->cache, &p->step, &why);
    if (!status)
        p->today_ms = p->step.seconds * 1e3;
    else if (status == EK_ERR_INPUT)
        snprintf(p->refused, sizeof p->refused, "the step of the training YAML cannot be predicted: %.200s",
                 why.message);
    else if (err)
        *err = why;
    return status == EK_ERR_INPUT ? EK_OK : status;
}

void ek__pipeline_search_options(const ek__pipeline *p, const ek_diagnose_options *options, ek_balance_options *out)
{
    ek_balance_options_init(out);
    out->memory_limit_mb = 1e9; /* not known */
    out->comm = p->comm;
    out->gap = 1e-3;
    out->min_layers = 1;
    if (options) {
        out->time_limit = options->seconds / 2;
        out->proof_limit = options->seconds / 8;
        out->n_threads = options->n_threads;
        out->interrupt = options->interrupt;
    }
}
