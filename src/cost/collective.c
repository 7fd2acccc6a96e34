/* How long a collective takes. */
#include "cost/collective.h"

#include <math.h>

ek__collective_time ek__collective_seconds(const ek_device *device, ek_collective what, const ek__ranks *ranks,
                                           double bytes)
{
    ek__collective_time out = {.basis = EK_COST_ASSUMED};
    if (ranks->n <= 1)
        return out;
    const ek_tier *near = &device->tier[0], *far = near;
    for (int i = 0; i < device->n_tiers && ranks->in[i] < ranks->n; i++)
        far = &device->tier[i + 1 < device->n_tiers ? i + 1 : i];
    double each = bytes / ranks->n, rate = far->gbs * 1e9 * far->share[what], steps = ranks->n - 1;
    if (what == EK_COLLECTIVE_P2P)
        each = bytes, steps = 1;
    if (what == EK_COLLECTIVE_ALL_REDUCE)
        steps *= 2;
    out.latency = steps * far->latency_us * 1e-6;
    out.seconds = out.latency + steps * each / rate;
    if (what == EK_COLLECTIVE_ALL_TO_ALL && far != near) {
        out.latency = far->latency_us * 1e-6;
        out.seconds = fmax((ranks->in[0] - 1) * each / (near->gbs * 1e9 * near->share[what]),
                           (ranks->n - ranks->in[0]) * each / rate) +
                      out.latency;
    }
    return out;
}
