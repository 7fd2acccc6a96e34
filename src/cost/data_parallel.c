/* Gradients, weights and the optimizer of one stage. */
#include "cost/data_parallel.h"

ek_status ek__data_parallel(const ek_job *job, const ek_device *device, const ek__data_stage *stage,
                            ek__data_times *out, ek_error *err)
{
    double elements = 0;
    (void)err;
    for (int i = 0; i < stage->n_layers; i++)
        elements += stage->layer[i].dense + stage->layer[i].expert;
    const ek__ranks ranks = ek__placement(job, device, EK__DIM_DATA);
    ek__collective_time sum = ek__collective_seconds(device, EK_COLLECTIVE_ALL_REDUCE, &ranks, 4 * elements);
    double rate = device->memory_gbs * 1e9 * device->optimizer_share;
    *out = (ek__data_times){.reduction = sum.seconds,
                            .optimizer = 30 * elements / rate + device->optimizer_us * 1e-6,
                            .basis = sum.basis,
                            .error = sum.error,
                            .optimizer_basis = EK_COST_ASSUMED};
    return EK_OK;
}
