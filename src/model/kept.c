/* Computes a layer's saved activations. It starts from the tensors that the gradients of all operators read and walks
 * back through recomputed operators to tensors that the forward pass keeps. Every tensor is visited once, so this is
 * linear in the graph. program.c computes the time of recomputation and the lifetimes of recomputed tensors.
 */
#include <assert.h>
#include <string.h>

#include "model/graph.h"

typedef struct walk {
    bool seen[EK__MAX_TENSORS];
    int n, stack[EK__MAX_TENSORS];
} walk;

static void visit(walk *w, int tensor)
{
    if (w->seen[tensor])
        return;
    assert(w->n < EK__MAX_TENSORS);
    w->seen[tensor] = true;
    w->stack[w->n++] = tensor;
}

int64_t ek__graph_keep(const ek__graph *graph, const bool *recomputed, bool *kept)
{
    walk w = {0};
    assert(graph->n_tensors <= EK__MAX_TENSORS && graph->n_ops <= EK__MAX_OPS);
    memset(kept, 0, (size_t)graph->n_tensors * sizeof *kept);
    for (const ek__op *op = graph->op; op < graph->op + graph->n_ops; op++)
        for (int i = 0; i < op->n_needs; i++)
            visit(&w, op->needs[i]);
    while (w.n > 0) {
        const ek__tensor *tensor = &graph->tensor[w.stack[--w.n]];
        if (tensor->producer < 0 || !recomputed[tensor->producer]) {
            assert(graph->tensor[tensor->storage].storage == tensor->storage);
            kept[tensor->storage] = true;
            continue;
        }
        const ek__op *op = &graph->op[tensor->producer];
        for (int i = 0; i < op->n_in; i++)
            visit(&w, op->in[i]);
    }
    int64_t bytes = 0;
    for (int i = 0; i < graph->n_tensors; i++)
        if (kept[i])
            bytes += graph->tensor[i].bytes;
    assert(bytes >= 0);
    return bytes;
}
