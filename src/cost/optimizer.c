/* Predicts the update of a rank's states as one pass over memory: the bytes of gradients, states and weights that it
 * reads and writes over the optimizer's rate; on the host over the host's rate. Not modelled: launches of an optimizer
 * that is not fused, beyond the device's constant. */
#include "cost/data_internal.h"

/* Adam operator by operator in one type, tensors read and written by each: decay of the weight 2, first moment 3,
 * second moment scaled 2 and added to 3, root 2, division 2, epsilon 2, weight 4: 20. In one pass: weight, both
 * moments, read and written, and the gradient: 7. */
#define UNFUSED (20.0 / 7)
/* Assumed without a device's figure: the usable rate of PCIe 4.0 x16 (32 GB/s), and of a host's memory shared by 8. */
#define HOST_GBS 20.0

static double gradient_bytes(const ek_job_states *s)
{
    return s->gradient > 0 ? s->gradient : s->weight;
}

/* States of more than two moments in 32 bits hold a copy of a 16-bit weight, which is then written and never read. */
static double update_bytes(const ek_job *job)
{
    const ek_job_states *s = &job->states;
    bool copy = job->types.param != EK_FP32 && s->optimizer > 8;
    return gradient_bytes(s) + 2.0 * s->optimizer + (copy ? 1 : 2) * s->weight;
}

/* Elements on the rank; `cut`: those left to it where parameters are cut. */
static double rank_elements(const ek__data_plan *plan, bool cut)
{
    double sum = 0;
    for (int i = 0; i < plan->stage->n_layers; i++) {
        const ek__data_layer *layer = &plan->stage->layer[i];
        sum += cut ? layer->kept : layer->dense + layer->expert;
    }
    return sum;
}

static double memory_rate(const ek__data_plan *plan)
{
    return plan->device->memory_gbs * 1e9 * plan->device->optimizer_share;
}

/* The buffer is scaled to a mean, read and written, and set to 0 for the next step. */
static double buffer_bytes(const ek__data_plan *plan)
{
    const ek_job_states *s = &plan->job->states;
    return s->gradient > 0 ? 3 * s->gradient * rank_elements(plan, plan->cut && s->shard_gradient) : 0;
}

ek__optimizer_time ek__optimizer_seconds(const ek__data_plan *plan)
{
    const ek_job_run *run = &plan->job->run;
    double bytes = update_bytes(plan->job) * rank_elements(plan, plan->job->states.shard_optimizer);
    double host = (plan->device->host_gbs > 0 ? plan->device->host_gbs : HOST_GBS) * 1e9;
    double update =
        run->offload_optimizer ? bytes / host : bytes * (run->fused_optimizer ? 1 : UNFUSED) / memory_rate(plan);
    double buffer = buffer_bytes(plan) / memory_rate(plan), constant = plan->device->optimizer_us * 1e-6;
    return (ek__optimizer_time){.seconds = update + buffer + constant,
                                .streamed = run->offload_optimizer ? buffer : update + buffer};
}

double ek__norm_read_seconds(const ek__data_plan *plan)
{
    return gradient_bytes(&plan->job->states) * rank_elements(plan, plan->cut) / memory_rate(plan);
}
