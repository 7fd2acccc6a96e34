/* Helpers of the mitigations and of their search: the memory of a changed job; the least recomputation for a limit. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "estimate/mitigations.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"

static void refuse(const ek__mitigation_try *t, const ek_error *why)
{
    t->out->possible = false;
    snprintf(t->out->why, sizeof t->out->why, "%.*s", (int)sizeof t->out->why - 1, why->message);
}

ek_status ek__mitigation_predict(const ek__mitigation_try *t, ek_memory *memory, bool *fine)
{
    const ek_memory_options options = {.without_top = true};
    ek_error why = {0};
    ek_status status = ek_job_check(t->job, &why);
    if (!status)
        status = ek_memory_predict(t->job, &options, memory, &why);
    *fine = status == EK_OK;
    if (status == EK_ERR_INPUT) {
        refuse(t, &why);
        return EK_OK;
    }
    if (status && t->err)
        *t->err = why;
    return status;
}

/* Without a device there are no times: saved bytes replace them, since dropped tensors have to be computed again. */
static void times_of_bytes(ek_layers *layers)
{
    for (int b = 0; b < layers->n_body; b++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            layers->body[b].backward_time[k] = layers->body[b].activation_mb[0] - layers->body[b].activation_mb[k];
}

static double backward_of(const ek_job *job, const ek_plan *plan, const ek_layers *layers, ek_chunk_cost *cost)
{
    double sum = 0;
    ek_plan_costs(plan, layers, job->schedule->placement, cost);
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        sum += cost[c].backward_time;
    return sum;
}

static ek_status add_if_less(ek_job *job, const ek_layers *layers, const ek_plan *plan, bool *less, ek_error *err)
{
    const ek_job_change change = {.plan = plan};
    ek_job with;
    ek_chunk_cost *cost = ek__alloc((size_t)plan->n_stages * (size_t)plan->n_chunks, sizeof *cost);
    if (!cost)
        return ek__no_memory(err);
    double today = backward_of(job, &job->plan, layers, cost), then = backward_of(job, plan, layers, cost);
    free(cost);
    *less = then < today * (1 - 1e-9);
    ek_status status = *less ? ek_job_with(job, &change, &with, err) : EK_OK;
    if (!status && *less) {
        ek_job_clear(job);
        *job = with;
    }
    return status;
}

ek_status ek__mitigation_recompute_less(ek_job *job, const ek_layers *layers, double limit_mb, bool *less,
                                        double *peak_mb, ek_error *err)
{
    const ek_job_change change = {.plan = &job->plan};
    assert(layers->n_body >= 1 && limit_mb >= 0);
    ek_layers times = *layers;
    ek_plan plan;
    *less = false;
    times.body = ek__alloc((size_t)layers->n_body, sizeof *times.body);
    if (!times.body)
        return ek__no_memory(err);
    memcpy(times.body, layers->body, (size_t)layers->n_body * sizeof *times.body);
    if (layers->body[0].forward_time <= 0)
        times_of_bytes(&times);
    ek_status status = ek_memory_least_recompute(job, &change, &times, limit_mb, &plan, peak_mb, err);
    if (!status && plan.layers) {
        status = add_if_less(job, &times, &plan, less, err);
        ek_plan_clear(&plan);
    }
    free(times.body);
    return status;
}
