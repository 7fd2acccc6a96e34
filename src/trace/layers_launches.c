/* Where kernels were launched. PyTorch on GPU: the runtime call with the same correlation. Ascend: the arrow async_npu
 * that ends at exactly the kernel's track and start begins where the framework called it. launches.c finds both. */
#include <stdlib.h>

#include "trace/device.h"
#include "trace/layers.h"

static ek__launch_point point_of(const ek__launches *launches, const ek__task_launches *arrows, const ek__event *kernel)
{
    const ek__event *call = ek__launch_of(launches, kernel);
    if (call)
        return (ek__launch_point){call->start, call->track};
    const ek__task_launch *arrow = ek__task_launch_of(arrows, kernel);
    return arrow ? (ek__launch_point){arrow->launch, arrow->host_track} : (ek__launch_point){0, -1};
}

ek__launch_point *ek__launch_points(const ek__trace *trace)
{
    ek__slice kernels = trace->of[EK__EVENT_KERNEL];
    ek__task_launches arrows = {0};
    ek__launch_point *point = ek__alloc(kernels.n, sizeof *point);
    ek__launches *launches = point ? ek__launches_new(trace) : NULL;
    if (launches && ek__task_launches_make(trace, EK__FLOW_ASYNC_NPU, &arrows, NULL) == EK_OK) {
        for (size_t i = 0; i < kernels.n; i++)
            point[i] = point_of(launches, &arrows, &kernels.event[i]);
    } else {
        free(point);
        point = NULL;
    }
    ek__launches_free(launches);
    ek__task_launches_clear(&arrows);
    return point;
}
