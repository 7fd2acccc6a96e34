/* Builds a graph of operators. Arrays have a fixed size, sufficient for every layer: an overrun is an error of the
 * builder, not of the user, and asserted. */
#include "model/graph.h"

#include <assert.h>

int ek__add_bytes(ek__graph *graph, const char *name, int64_t bytes, bool no_gradient)
{
    assert(graph->n_tensors < EK__MAX_TENSORS);
    assert(name && bytes >= 0);
    int index = graph->n_tensors++;
    graph->tensor[index] = (ek__tensor){
        .name = name, .bytes = bytes, .producer = -1, .storage = index, .no_gradient = no_gradient, .dtype = EK_FP32};
    return index;
}

int ek__add_tensor(ek__graph *graph, const char *name, ek_dtype dtype, int n_dims, const int64_t *dim)
{
    assert(n_dims >= 1 && n_dims <= 4);
    int64_t bytes = ek_dtype_bytes(dtype);
    for (int i = 0; i < n_dims; i++)
        bytes *= dim[i];
    assert(bytes >= 0); /* ek_job_check() rejects sizes with a product that overflows int64_t */
    int index = ek__add_bytes(graph, name, bytes, false);
    ek__tensor *tensor = &graph->tensor[index];
    tensor->dtype = dtype;
    tensor->n_dims = n_dims;
    for (int i = 0; i < n_dims; i++)
        tensor->dim[i] = dim[i];
    return index;
}

int ek__add_parameter(ek__graph *graph, const char *name, int64_t elements, int64_t first_dimension, ek_dtype dtype,
                      int copies)
{
    assert(graph->n_parameters < EK__MAX_PARAMETERS);
    assert(elements >= 0 && first_dimension >= 0 && first_dimension <= elements);
    assert(copies >= 0);
    graph->parameter[graph->n_parameters] = (ek__parameter){
        .name = name, .elements = elements, .first_dimension = first_dimension, .dtype = dtype, .copies = copies};
    return graph->n_parameters++;
}

ek__op *ek__add_op(ek__graph *graph, const char *path, ek__op_kind kind)
{
    assert(graph->n_ops < EK__MAX_OPS);
    ek__op *op = &graph->op[graph->n_ops++];
    *op = (ek__op){.path = path, .kind = kind, .parameter = -1, .comm_after = -1, .requires = -1};
    return op;
}

void ek__op_in(ek__graph *graph, ek__op *op, int tensor)
{
    assert(op->n_in < EK__MAX_IN && tensor >= 0 && tensor < graph->n_tensors);
    assert(graph->tensor[tensor].producer < op - graph->op); /* topological order */
    (void)graph;
    op->in[op->n_in++] = tensor;
}

void ek__op_out(ek__graph *graph, ek__op *op, int tensor)
{
    assert(op->n_out < EK__MAX_OUT && tensor >= 0 && tensor < graph->n_tensors);
    assert(graph->tensor[tensor].producer < 0); /* made once */
    assert(op->kind != EK__OP_VIEW || op->n_in > 0);
    op->out[op->n_out++] = tensor;
    graph->tensor[tensor].producer = (int)(op - graph->op);
    /* A view of a view has the storage of the original tensor. */
    if (op->kind == EK__OP_VIEW)
        graph->tensor[tensor].storage = graph->tensor[op->in[0]].storage;
}

void ek__op_need(ek__graph *graph, ek__op *op, int tensor)
{
    assert(op->n_needs < EK__MAX_NEEDS && tensor >= 0 && tensor < graph->n_tensors);
    (void)graph;
    op->needs[op->n_needs++] = tensor;
}

/* ---- consistency ---- */

static bool are_indices(const int *list, int n, int end)
{
    for (int i = 0; i < n; i++)
        if (list[i] < 0 || list[i] >= end)
            return false;
    return true;
}

static bool is_valid_op(const ek__graph *graph, int o)
{
    const ek__op *op = &graph->op[o];
    bool valid = op->path && are_indices(op->in, op->n_in, graph->n_tensors) &&
                 are_indices(op->out, op->n_out, graph->n_tensors) &&
                 are_indices(op->needs, op->n_needs, graph->n_tensors) && op->parameter < graph->n_parameters &&
                 op->comm_after < graph->n_ops && op->requires < graph->n_ops && op->requires != o &&
                 op->workspace >= 0 && op->backward_workspace >= 0 && op->flops >= 0 && op->bytes_moved >= 0 &&
                 op->backward_flops >= 0 && op->backward_bytes_moved >= 0 && op->weight_flops >= 0 &&
                 op->comm_bytes >= 0;
    for (int i = 0; i < op->n_in && valid; i++)
        valid = graph->tensor[op->in[i]].producer < o;
    for (int i = 0; i < op->n_out && valid; i++)
        valid = graph->tensor[op->out[i]].producer == o;
    return valid;
}

bool ek__graph_is_valid(const ek__graph *graph)
{
    bool valid = graph->input < graph->n_tensors && graph->output < graph->n_tensors &&
                 (graph->input < 0 || graph->tensor[graph->input].producer < 0);
    for (int o = 0; o < graph->n_ops && valid; o++)
        valid = is_valid_op(graph, o);
    for (int t = 0; t < graph->n_tensors && valid; t++) {
        const ek__tensor *tensor = &graph->tensor[t];
        valid = tensor->bytes >= 0 && tensor->producer < graph->n_ops && are_indices(&tensor->storage, 1, t + 1) &&
                graph->tensor[tensor->storage].storage == tensor->storage;
    }
    for (int p = 0; p < graph->n_parameters && valid; p++)
        valid = graph->parameter[p].elements >= 0 && graph->parameter[p].copies >= 0 &&
                graph->parameter[p].rows * graph->parameter[p].columns <= graph->parameter[p].elements;
    return valid;
}
