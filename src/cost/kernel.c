/* How long one kernel takes. */
#include "cost/kernel.h"

#include <math.h>

ek__kernel_time ek__kernel_seconds(const ek_device *device, const ek_kernel *kernel)
{
    const ek_curve *curve = &device->curve[kernel->kind];
    double peak = device->peak_tflops[kernel->type] * 1e12, rate = device->memory_gbs * 1e9 * curve->memory_share;
    double arithmetic = kernel->flops > 0 ? kernel->flops / (peak * curve->share) : 0;
    if (kernel->flops > 0 && peak <= 0)
        arithmetic = NAN;
    return (ek__kernel_time){.seconds = fmax(arithmetic, kernel->bytes / rate) + curve->launch_us * 1e-6 +
                                        (isnan(arithmetic) ? NAN : 0),
                             .basis = curve->basis,
                             .error = curve->error,
                             .nearest = NAN};
}
