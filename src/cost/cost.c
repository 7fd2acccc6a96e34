/* Times of a layer by its operators: each takes the longer of its arithmetic at the reached peak and its bytes at the
 * reached memory rate, and its launch; collectives follow one another with them, exposed. A roofline, since nothing but
 * figures of data sheets is known here. Not handled: overlap of communication with computing, efficiencies that depend
 * on shapes, several collectives sharing a link. Assumed as a whole; measured times replace it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/cost_internal.h"
#include "memory/recompute_kind.h"

#define US_PER_S 1e6
#define MS_PER_S 1e3

/* ---- collectives ---- */

/* Ranks of a group, and how many of them share a node. Tensor parallel ranks are neighbours, then context, then
 * expert: what needs the most bandwidth is inside a node. */
typedef struct group {
    double n, in_node;
} group;

static group group_of(const ek_job *job, const ek_device *device, ek__group kind)
{
    const ek_job_parallel *p = &job->parallel;
    double n = p->tensor, stride = 1;
    if (kind == EK__GROUP_CONTEXT) {
        n = p->context;
        stride = p->tensor;
    } else if (kind == EK__GROUP_EXPERT) {
        n = p->expert;
        stride = (double)p->expert_tensor;
    }
    return (group){n, fmax(1, fmin(n, floor(device->devices_per_node / stride)))};
}

/* Bytes that pass each device's link: (n-1)/n of the message for a gather, a scatter and an all-to-all, twice that for
 * a sum (ring algorithms). Of an all-to-all only what leaves the node uses the slower link; a ring is as fast as its
 * slowest link. */
static double comm_seconds(const ek_job *job, const ek_device *device, const ek__op *op)
{
    group g = group_of(job, device, op->group);
    if (g.n <= 1)
        return 0;
    double each = op->comm_bytes / g.n, times = op->comm == EK__COMM_REDUCE ? 2 : 1;
    double intra = device->intra_gbs * device->eff_link * 1e9, inter = device->inter_gbs * device->eff_link * 1e9;
    double steps = times * (g.n - 1);
    if (g.in_node >= g.n)
        return steps * (each / intra + device->intra_latency_us / US_PER_S);
    if (op->comm == EK__COMM_ALLTOALL)
        return fmax((g.in_node - 1) * each / intra, (g.n - g.in_node) * each / inter) +
               device->inter_latency_us / US_PER_S;
    return steps * (each / inter + device->inter_latency_us / US_PER_S);
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

/* What arithmetic runs at, FLOP/s; 0 where the device has no figure. */
static double reached_peak(const machine *m, const ek__op *op)
{
    double share = op->kind == EK__OP_ATTENTION ? m->device->eff_attention : m->device->eff_matmul;
    return m->device->peak_tflops[dtype_of(m->graph, op, m->job->types.compute)] * 1e12 * share;
}

static double compute_seconds(const machine *m, const ek__op *op, double flops, double bytes)
{
    if (flops <= 0 && bytes <= 0)
        return 0;
    double arithmetic = flops > 0 ? flops / reached_peak(m, op) : 0;
    double memory = bytes / (m->device->memory_gbs * 1e9 * m->device->eff_memory);
    return fmax(arithmetic, memory) + m->device->launch_us / US_PER_S;
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
        if (op->kind == EK__OP_COMM && group_of(m->job, m->device, op->group).n > 1 && m->device->inter_gbs <= 0)
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
