/* Times of a layer by its operators: each takes the longer of its arithmetic at the reached peak and its bytes at the
 * reached memory rate, and its launch; collectives follow one another with them, exposed. A roofline, since nothing but
 * figures of data sheets is known here. Not handled: overlap of communication with computing, efficiencies that depend
 * on shapes, several collectives sharing a link. Assumed as a whole; measured times replace it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "cost/cost_internal.h"
#include "cost/kernel.h"
#include "memory/recompute_kind.h"

#define MS_PER_S 1e3

/* ---- collectives ---- */

static double comm_seconds(const ek_job *job, const ek_device *device, const ek__op *op)
{
    static const ek_collective what[] = {[EK__COMM_GATHER] = EK_COLLECTIVE_ALL_GATHER,
                                         [EK__COMM_SCATTER] = EK_COLLECTIVE_REDUCE_SCATTER,
                                         [EK__COMM_REDUCE] = EK_COLLECTIVE_ALL_REDUCE,
                                         [EK__COMM_ALLTOALL] = EK_COLLECTIVE_ALL_TO_ALL};
    static const ek__dimension of[] = {[EK__GROUP_TENSOR] = EK__DIM_TENSOR,
                                       [EK__GROUP_CONTEXT] = EK__DIM_CONTEXT,
                                       [EK__GROUP_EXPERT] = EK__DIM_EXPERT};
    const ek__ranks ranks = ek__placement(job, device, of[op->group]);
    return ek__collective_seconds(device, what[op->comm], &ranks, op->comm_bytes).seconds;
}

/* ---- operators ---- */

typedef struct machine {
    const ek_job *job;
    const ek_device *device;
    const ek__graph *graph;
} machine;

static ek_dtype dtype_of(const ek__graph *graph, const ek__op *op, ek_dtype otherwise)
{
    return op->n_in > 0 ? graph->tensor[op->in[0]].dtype : otherwise;
}

static double reached_peak(const machine *m, const ek__op *op)
{
    return m->device->peak_tflops[dtype_of(m->graph, op, m->job->types.compute)];
}

static double compute_seconds(const machine *m, const ek__op *op, double flops, double bytes)
{
    if (flops <= 0 && bytes <= 0)
        return 0;
    const ek_kernel kernel = {.kind = op->kind == EK__OP_ATTENTION ? EK_KERNEL_ATTENTION_FORWARD
                                      : flops > 0                  ? EK_KERNEL_MATMUL
                                                                   : EK_KERNEL_MEMORY,
                              .type = (int)dtype_of(m->graph, op, m->job->types.compute),
                              .flops = flops,
                              .bytes = bytes};
    return ek__kernel_seconds(m->device, &kernel).seconds;
}

static double forward_seconds(const machine *m, const ek__op *op)
{
    if (op->kind == EK__OP_VIEW)
        return 0;
    if (op->kind == EK__OP_COMM)
        return comm_seconds(m->job, m->device, op);
    return compute_seconds(m, op, op->flops, op->bytes_moved);
}

static double gradient_seconds(const machine *m, const ek__op *op)
{
    if (op->kind == EK__OP_VIEW)
        return 0;
    if (op->kind == EK__OP_COMM) /* the opposite collective, as many bytes */
        return comm_seconds(m->job, m->device, op);
    return compute_seconds(m, op, op->backward_flops, op->backward_bytes_moved);
}

/* The gradient of a weight reads what the forward pass reads, the activation and the output's gradient, and writes the
 * weight's size: as many bytes as forward. */
static double weight_seconds(const machine *m, const ek__op *op)
{
    return op->weight_flops > 0 ? compute_seconds(m, op, op->weight_flops, op->bytes_moved) : 0;
}

static void add_times(const machine *m, ek_layer_times *out)
{
    double forward = 0, gradient = 0, weight = 0, always = 0, again[EK_N_RECOMPUTE] = {0};
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        bool recomputed[EK__MAX_OPS];
        ek__graph_recomputed(m->job, m->graph, ek__recompute_of_kind(m->job, (ek_recompute)k), recomputed);
        for (int i = 0; i < m->graph->n_ops; i++)
            if (recomputed[i] && (k == EK_RECOMPUTE_FULL || !m->graph->op[i].always_recomputed))
                again[k] += forward_seconds(m, &m->graph->op[i]);
    }
    for (int i = 0; i < m->graph->n_ops; i++) {
        const ek__op *op = &m->graph->op[i];
        double once = forward_seconds(m, op);
        forward += once;
        gradient += gradient_seconds(m, op);
        weight += weight_seconds(m, op);
        /* Casts are part of the operator that reads them; gathers that are repeated are not. */
        if (op->always_recomputed && op->kind == EK__OP_COMM)
            always += once;
    }
    out->forward = forward * MS_PER_S;
    out->weight = weight * MS_PER_S;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        out->backward[k] = (gradient + weight + always + again[k]) * MS_PER_S;
}

/* ---- a layer ---- */

static ek__graph_kind graph_kind(ek_layer_place place)
{
    switch (place) {
    case EK_LAYER_HEAD:
        return EK__GRAPH_EMBEDDING;
    case EK_LAYER_EXPERTS:
        return EK__GRAPH_EXPERTS;
    case EK_LAYER_PREDICTION:
        return EK__GRAPH_PREDICTION;
    case EK_LAYER_TAIL:
        return EK__GRAPH_HEAD;
    case EK_LAYER_DENSE:
    default:
        return EK__GRAPH_DENSE;
    }
}

static int comm_ranks(const ek_job *job, const ek__op *op)
{
    return op->group == EK__GROUP_TENSOR    ? job->parallel.tensor
           : op->group == EK__GROUP_CONTEXT ? job->parallel.context
                                            : job->parallel.expert;
}

/* Has the device a figure for everything the graph does? */
static ek_status check_device(const machine *m, ek_error *err)
{
    for (int i = 0; i < m->graph->n_ops; i++) {
        const ek__op *op = &m->graph->op[i];
        if (op->flops > 0 && reached_peak(m, op) <= 0)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "device '%s' has no peak for %s, which %s runs in; choose another device or another type, "
                            "or give a device file with that peak",
                            m->device->name, ek_dtype_name[dtype_of(m->graph, op, m->job->types.compute)], op->path);
        if (op->kind == EK__OP_COMM && m->device->tier[0].gbs <= 0 && comm_ranks(m->job, op) > 1)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "device '%s' has no link, which %s needs; give its file intra or inter, as in "
                            "intra: {gbs: 300}",
                            m->device->name, op->path);
    }
    return EK_OK;
}

ek_status ek_cost_layer(const ek_job *job, const ek_device *device, ek_layer_place place, ek_layer_times *out,
                        ek_error *err)
{
    ek__graph *graph = ek__alloc(1, sizeof *graph);
    if (!graph)
        return ek__no_memory(err);
    ek__graph_build(job, graph_kind(place), graph);
    const machine m = {job, device, graph};
    ek_status status = check_device(&m, err);
    if (status == EK_OK)
        add_times(&m, out);
    free(graph);
    return status;
}
