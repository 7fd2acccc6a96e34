/* cost/cost_internal.h - figures shared by the shipped devices and the user's device files. */
#ifndef EK_COST_INTERNAL_H
#define EK_COST_INTERNAL_H

#include "evenkeel/device.h"

/* Fill in curves, host and the rest with the assumed defaults (device_default.c). Peaks, memory and tiers are
 * unchanged. */
void ek__device_default(ek_device *device);
/* A tier of the assumed shares and latency, without size or rate. */
void ek__tier_default(ek_tier *tier);
/* Two tiers, nodes of devices_per_node and the rest, with default shares and latencies. */
void ek__device_links(ek_device *device, double intra_gbs, double inter_gbs);

#endif
