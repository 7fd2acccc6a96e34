/* cost/kernel.h - predicts the time of one kernel on a device. */
#ifndef EK_COST_KERNEL_H
#define EK_COST_KERNEL_H

#include "evenkeel/device.h"

typedef struct ek__kernel_time {
    double seconds;
    ek_cost_basis basis;
    double error;   /* standard error of the logarithm; 0: not known */
    double nearest; /* distance to the nearest measured shape, in powers of e; NAN: none of its class is measured */
} ek__kernel_time;

/* Three layers of truth, the first with an answer: measured shapes, interpolated; the kind's curve; for a device
 * without either the data sheet with assumed shares (which is a curve, too). Seconds are NAN where the device has no
 * peak for the type. O(log of the table + rows within reach). */
ek__kernel_time ek__kernel_seconds(const ek_device *device, const ek_kernel *kernel);

/* Only the curve of device.h. NAN as above. O(1). */
double ek__kernel_curve(const ek_device *device, const ek_kernel *kernel);
/* Likewise, for a kernel timed like the measured ones, for comparison with them. */
double ek__kernel_alone(const ek_device *device, const ek_kernel *kernel);

#endif
