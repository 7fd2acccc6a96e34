/* Finds the place of a kernel's launch. PyTorch on GPU: the runtime call with the same correlation. Ascend: the arrow
 * async_npu that ends at exactly the kernel's track and start begins at the framework's call. launches.c finds both. */
#include <stdlib.h>

#include "trace/events/device.h"
#include "trace/layers/layers.h"

static ek__launch_point point_of(const ek__trace *trace, ek__task_launch_walk *arrows, const ek__event *kernel)
{
    const ek__event *call = ek__launch_of(trace, kernel);
    if (call)
        return (ek__launch_point){call->start, call->track};
    const ek__task_launch *arrow = ek__task_launch_of(arrows, kernel);
    return arrow ? (ek__launch_point){arrow->launch, arrow->host_track} : (ek__launch_point){0, -1};
}

ek__launch_point *ek__launch_points(const ek__trace *trace)
{
    ek__slice kernels = trace->of[EK__EVENT_KERNEL];
    ek__task_launch_walk arrows;
    ek__launch_point *point = NULL;
    if (ek__task_launch_walk_make(trace, EK__FLOW_ASYNC_NPU, &arrows))
        point = ek__alloc(kernels.n, sizeof *point);
    for (size_t i = 0; i < kernels.n && point; i++)
        point[i] = point_of(trace, &arrows, &kernels.event[i]);
    ek__task_launch_walk_clear(&arrows);
    return point;
}
