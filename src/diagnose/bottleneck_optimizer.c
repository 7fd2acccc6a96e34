/* Finds a long update by the optimizer: predicted, since a trace has no name for it. The remedies are in remedies.c. */
#include "diagnose/predicted.h"

ek_status ek__bottleneck_optimizer(ek__diagnose *d, ek_error *err)
{
    if (d->measured.run)
        return EK_OK;
    return ek__predicted_part(d, EK_STEP_OPTIMIZER, "optimizer", EK_TOPIC_OPERATORS, "The optimizer's update",
                              "More micro-batches a step spread it over more computing; with more stages or "
                              "tensor-parallel ranks each rank has fewer states.",
                              err);
}
