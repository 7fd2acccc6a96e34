/* Which ranks of a group share a node. */
#include <math.h>

#include "cost/collective.h"

static ek__ranks ranks_of(const ek_device *device, double n, double stride)
{
    ek__ranks ranks = {.n = (int)n};
    for (int i = 0; i < device->n_tiers; i++) {
        double size = device->tier[i].size > 0 ? device->tier[i].size : INFINITY;
        ranks.in[i] = (int)fmax(1, fmin(n, floor(size / stride)));
        ranks.sharing[i] = 1;
    }
    return ranks;
}

ek__ranks ek__placement(const ek_job *job, const ek_device *device, ek__dimension dimension)
{
    const ek_job_parallel *p = &job->parallel;
    switch (dimension) {
    case EK__DIM_CONTEXT:
        return ranks_of(device, p->context, p->tensor);
    case EK__DIM_EXPERT:
        return ranks_of(device, p->expert, p->expert_tensor);
    case EK__DIM_DATA:
    case EK__DIM_SHARD:
        return ranks_of(device, p->data * p->context, p->tensor);
    default:
        return ranks_of(device, p->tensor, 1);
    }
}

ek__ranks ek__placement_edge(const ek_job *job, const ek_device *device, int stage)
{
    (void)stage;
    return ranks_of(device, 2, (double)job->parallel.tensor * job->parallel.context * job->parallel.data);
}
