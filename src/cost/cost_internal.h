/* cost/cost_internal.h - figures that the shipped devices and files of one's own share. */
#ifndef EK_COST_INTERNAL_H
#define EK_COST_INTERNAL_H

#include "evenkeel/cost.h"

/* Defaults of a device, assumed (devices.c). */
#define EK__EFF_MATMUL       0.75
#define EK__EFF_ATTENTION    0.5
#define EK__EFF_MEMORY       0.8
#define EK__LAUNCH_US        5.0
#define EK__EFF_LINK         0.75
#define EK__INTRA_LATENCY_US 5.0
#define EK__INTER_LATENCY_US 10.0

#endif
