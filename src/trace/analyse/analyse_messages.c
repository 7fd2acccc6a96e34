/* Reads the messages of PyTorch's collectives: the host's call (record_param_comms) by external id, else the kernel's
 * own arguments. Only with options->measure. */
#include <string.h>

#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/events/shapes.h"

static bool is_call(const ek__event *e)
{
    return e->core == 0;
}

static bool is_kernel(const ek__event *e)
{
    return e->core == 1;
}

static uint32_t detail_of(const ek__event *e)
{
    return e->detail;
}

/* rank->communication.collective is in the order of the trace's slice (src/trace/analyse/analyse_collectives.c). */
static ek_status keep(const ek__trace *trace, const ek__shapes *calls, const ek__shapes *kernels, ek_trace_rank *rank,
                      ek_error *err)
{
    ek__slice slice = trace->of[EK__EVENT_COLLECTIVE];
    for (size_t i = 0; i < slice.n && i < (size_t)rank->communication.n_collectives; i++) {
        const ek__event *launch = ek__launch_of(trace, &slice.event[i]);
        uint32_t text = launch ? ek__shapes_told(calls, launch->detail) : 0;
        text = text ? text : ek__shapes_told(kernels, slice.event[i].link);
        if (!text)
            continue;
        const char *name = ek__trace_name(trace, text);
        rank->communication.collective[i].message = ek__pool_text(rank->pool, name, strlen(name));
        if (!rank->communication.collective[i].message)
            return ek__no_memory(err);
    }
    return EK_OK;
}

ek_status ek__analyse_messages(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                               ek_error *err)
{
    ek__slice messages = trace->of[EK__EVENT_MESSAGE];
    ek__shapes calls = {0}, kernels = {0};
    if (!options->measure || trace->producer != EK_PRODUCER_KINETO)
        return EK_OK;
    ek_status status = ek__shapes_by_link(messages, is_call, detail_of, &calls, err);
    if (status == EK_OK)
        status = ek__shapes_by_link(messages, is_kernel, detail_of, &kernels, err);
    if (status == EK_OK)
        status = keep(trace, &calls, &kernels, rank, err);
    ek__shapes_clear(&calls);
    ek__shapes_clear(&kernels);
    return status;
}
