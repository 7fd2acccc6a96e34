/* Stands in, while it is being built, for what is not there yet. Goes before it lands. */
#include "trace/analysis.h"

#include "base/error.h"

#define WEAK __attribute__((weak))
WEAK const char *const ek_producer_name[EK_N_PRODUCERS] = {"unknown", "torch_npu", "mindspore",
                                                           "msprof",  "timeline",  "kineto"};
WEAK const char *const ek_trace_role_name[3] = {"head", "body", "tail"};
WEAK bool ek__is_receive(const ek_trace_options *options, const char *name)
{
    (void)options, (void)name;
    return false;
}
WEAK bool ek__is_send(const ek_trace_options *options, const char *name)
{
    (void)options, (void)name;
    return false;
}
WEAK ek_status ek_trace_run_read(const char *const *path, int n, const ek_trace_options *options,
                                 const ek_listener *listener, ek_trace_run *out, ek_error *err)
{
    (void)path, (void)n, (void)options, (void)listener, (void)out;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "not built yet");
}
WEAK void ek_trace_run_clear(ek_trace_run *run)
{
    (void)run;
}
