/* Finds layers from device tasks with the framework's path: as their own name (MindSpore in graph mode), in their
 * arguments (mindspore_op, fullname), or through the operator of the host that launched them (mindspore_to_npu).
 * Collectives have no path and are not counted. */
#include <stdlib.h>
#include <string.h>

#include "trace/layers/layers_paths.h"

typedef struct host_names {
    ek__launch_point *point; /* NULL: not looked up */
    ek__slice ops;
} host_names;

const char *ek__without_module(const char *name)
{
    const char *slash = strchr(name, '/'), *from = name;
    if (!slash)
        return name;
    for (const char *colons; (colons = strstr(from, "::")) && colons < slash;)
        from = colons + 2;
    return from;
}

/* The operator of the host that spans a launch point. Host operators of a track do not overlap, except for nesting: the
 * last one to begin is the innermost; a few are checked. */
static uint32_t host_name(const ek__trace *trace, const host_names *h, size_t kernel)
{
    enum { NEAR = 64 };
    const ek__launch_point *at = &h->point[kernel];
    if (at->track < 0)
        return 0;
    size_t last = ek__slice_lower(h->ops, ek__ns_add(at->time, 1));
    for (size_t i = last; i > 0 && last - i < NEAR; i--) {
        const ek__event *e = &h->ops.event[i - 1];
        if (e->track == at->track && ek__event_end(e) >= at->time &&
            ek__is_layer_path(ek__without_module(ek__trace_name(trace, e->name))))
            return e->name;
    }
    return 0;
}

ek_status ek__layers_of_tasks(ek__layer_search *search, const char **source, ek_error *err)
{
    const ek__trace *trace = search->trace;
    ek__slice kernels = trace->of[EK__EVENT_KERNEL];
    ek__path_op *op = ek__alloc(kernels.n, sizeof *op);
    const char **text = ek__alloc(trace->n_names, sizeof *text);
    bool *is_path = ek__alloc(trace->n_names, sizeof *is_path);
    host_names host = {NULL, trace->of[EK__EVENT_HOST_OP]};
    ek_status status = op && text && is_path ? EK_OK : ek__no_memory(err);
    size_t n = 0, n_own = 0;
    for (uint32_t i = 0; i < trace->n_names && status == EK_OK; i++) {
        text[i] = ek__without_module(ek__trace_name(trace, i));
        is_path[i] = ek__is_layer_path(text[i]);
    }
    for (size_t i = 0; i < kernels.n && status == EK_OK; i++) {
        const ek__event *e = &kernels.event[i];
        uint32_t name = is_path[e->name] ? e->name : is_path[e->detail] ? e->detail : 0;
        if (name == 0)
            continue;
        n_own += name == e->name;
        op[n++] = (ek__path_op){e->start, e->duration, name};
    }
    if (status == EK_OK && n == 0 && host.ops.n > 0) {
        host.point = ek__launch_points(trace);
        status = host.point ? EK_OK : ek__no_memory(err);
        for (size_t i = 0; i < kernels.n && status == EK_OK; i++) {
            uint32_t name = host_name(trace, &host, i);
            if (name)
                op[n++] = (ek__path_op){kernels.event[i].start, kernels.event[i].duration, name};
        }
    }
    search->named |= n > 0;
    if (status == EK_OK && n > 0)
        status = ek__layers_from_paths(search, op, n, text, trace->n_names, false, err);
    *source = n_own > 0 ? "task_names" : "launch_names";
    free(host.point);
    free(op);
    free(text);
    free(is_path);
    return status;
}
