/* Applies products in 8 bits to a layer's graph. Operators, their order and times do not change, since times count
 * casts themselves; the changes are bytes of tensors, inputs of gradients, and buffers alive while a product runs.
 *
 * TransformerEngine saves a product's input in 8 bits for the gradient of the weight, transposed if the device requires
 * that, and nothing in 16 bits: an input read by only one product is made in 8 bits by its producer (norm, activation)
 * and gathered in 8 bits over tensor ranks; if others read it too, the product saves a copy. torchao's linear layers
 * save their input as received, in 16 bits, and cast it again backward; with one scale per tensor and tensor
 * parallelism they receive it in 8 bits. All cast the gradient of the output.
 *
 * Scales of tensors and rows, and the history of delayed ones, are kilobytes and not counted. Blocks of 32 elements
 * have a byte each (MXFP8), blocks of 128 four (Float8BlockScaling): a thirty-second of the elements either way. */
#include <assert.h>

#include "job/job_internal.h"
#include "model/graph.h"
#include "model/layer.h"

bool ek__parameter_in_8_bits(const ek_job *job, const ek__parameter *parameter)
{
    return job->run.fp8 != EK_FP8_NONE && parameter->rows > 0 && !parameter->table && !parameter->tied &&
           !parameter->end;
}

typedef struct change {
    const ek_job *job;
    ek__graph *graph;
    bool engine; /* TransformerEngine */
    bool narrow[EK__MAX_TENSORS];
} change;

static bool is_product(const change *c, const ek__op *op)
{
    return op->kind == EK__OP_MATMUL && op->parameter >= 0 &&
           ek__parameter_in_8_bits(c->job, &c->graph->parameter[op->parameter]);
}

static int64_t elements_of(const change *c, int tensor)
{
    assert(tensor >= 0 && tensor < c->graph->n_tensors);
    return c->graph->tensor[tensor].bytes / ek_dtype_bytes(c->job->types.compute);
}

static int64_t in_8_bits(const change *c, int64_t elements)
{
    assert(elements >= 0);
    return c->job->run.fp8 == EK_FP8_BLOCKWISE ? elements + (elements + 31) / 32 : elements;
}

static bool has(const int *list, int n, int tensor)
{
    for (int i = 0; i < n; i++)
        if (list[i] == tensor)
            return true;
    return false;
}

static bool is_gather(const ek__op *op)
{
    return op->kind == EK__OP_COMM && op->comm == EK__COMM_GATHER && op->group == EK__GROUP_TENSOR;
}

/* Is a tensor read only by products in 8 bits, or by gathers that are? Each TransformerEngine module casts separately,
 * so there it must be a single one. */
static bool is_for_products(const change *c, int tensor)
{
    const ek__graph *graph = c->graph;
    int n = 0;
    for (const ek__op *op = graph->op; op < graph->op + graph->n_ops; op++) {
        bool reads = has(op->in, op->n_in, tensor);
        if (!reads && has(op->needs, op->n_needs, tensor))
            return false; /* for the gradient of its producer */
        if (reads && !is_product(c, op) && !(c->engine && is_gather(op) && c->narrow[op->out[0]]))
            return false;
        n += reads;
    }
    return n > 0 && (n == 1 || !c->engine) && tensor != graph->output &&
           graph->tensor[tensor].dtype == c->job->types.compute;
}

/* Later operators first: a gather's output is decided before its input. */
static void narrow_inputs(change *c)
{
    ek__graph *graph = c->graph;
    for (int o = graph->n_ops - 1; o >= 0; o--) {
        const ek__op *op = &graph->op[o];
        for (int i = 0; i < op->n_out && op->kind != EK__OP_VIEW; i++)
            c->narrow[op->out[i]] = is_for_products(c, op->out[i]);
    }
    for (int t = 0; t < graph->n_tensors; t++)
        if (c->narrow[t]) {
            assert(in_8_bits(c, elements_of(c, t)) <= graph->tensor[t].bytes);
            graph->tensor[t].bytes = in_8_bits(c, elements_of(c, t));
        }
}

/* Copies of inputs that others read in 16 bits. If an input is gathered again, the rank's part is saved unchanged. */
static void keep_copies(change *c)
{
    ek__graph *graph = c->graph;
    for (ek__op *op = graph->op; op < graph->op + graph->n_ops; op++) {
        int x = op->n_in > 0 ? op->in[0] : -1, made_by = x >= 0 ? graph->tensor[x].producer : -1;
        bool again = made_by >= 0 && graph->op[made_by].always_recomputed;
        if (x < 0 || c->narrow[x] || again || !is_product(c, op))
            continue;
        int copy = ek__add_bytes(graph, "input in 8 bits", in_8_bits(c, elements_of(c, x)), true);
        ek__op_out(graph, op, copy);
        for (int i = 0; i < op->n_needs; i++)
            op->needs[i] = op->needs[i] == x ? copy : op->needs[i];
    }
}

/* Casts around a product. Devices that multiply in 8 bits require both operands with contiguous summed dimensions, so
 * the gradient exists both plain and transposed, and the input transposed: TransformerEngine saves the transposed
 * input, and has the plain one while the product runs; torchao transposes its saved input, or casts it again and
 * transposes that. Weights are handled in program.c. */
static void add_casts(const change *c)
{
    const bool turns = !c->engine || c->job->rules.fp8_copies > 1;
    for (ek__op *op = c->graph->op; op < c->graph->op + c->graph->n_ops; op++) {
        if (!is_product(c, op))
            continue;
        assert(op->n_in > 0 && op->n_out > 0);
        int x = op->in[0];
        bool kept = c->narrow[x] || !has(op->needs, op->n_needs, x); /* in 8 bits */
        int64_t in = c->narrow[x] ? c->graph->tensor[x].bytes : in_8_bits(c, elements_of(c, x));
        int64_t out = in_8_bits(c, elements_of(c, op->out[0]));
        if (!kept || (c->engine && turns))
            op->workspace += in;
        op->backward_workspace += (turns ? 2 : 1) * out + (c->engine ? 0 : kept ? in : 2 * in);
    }
}

void ek__graph_put_8_bits(const ek_job *job, ek__graph *graph)
{
    change c = {.job = job, .graph = graph, .engine = job->framework == EK_MEGATRON};
    bool tensorwise = job->run.fp8 == EK_FP8_TENSORWISE || job->run.fp8 == EK_FP8_DELAYED;
    bool handed_over = job->framework == EK_TORCHTITAN && tensorwise && job->parallel.tensor > 1;
    if (job->run.fp8 == EK_FP8_NONE)
        return;
    if (c.engine || handed_over)
        narrow_inputs(&c);
    if (c.engine ||
        (handed_over && !ek__job_keeps_products(job))) /* otherwise casts run again, without a product for them */
        keep_copies(&c);
    add_casts(&c);
}
