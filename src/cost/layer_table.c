/* What whole layers took beside what their kernels add up to. */
#include "cost/layer_table.h"

double ek__layer_factor(const ek_job *job, const ek_device *device, ek__graph_kind kind)
{
    (void)job;
    (void)kind;
    (void)device;
    return 1;
}
