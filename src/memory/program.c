/* Compiles a layer's graph into the order in which its buffers are taken and released. Forward, recomputation and
 * gradients are recorded as steps that make and use buffers (recorder.h), which determine their lifetimes. So the saved
 * activations are the buffers that backward steps use, and the only input is the set of recomputed operators.
 * Recomputation is lazy, as in a framework's graph: just before the first gradient that reads the result; only layers
 * recomputed whole run forward again at once. Communication runs inline: buffers held longer by overlapped
 * communication are not modelled. */
#include "memory/program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/recorder.h"

typedef struct compiler {
    const ek_job *job;
    const ek__graph *graph;
    bool split;
    ek__recorder *r;
    bool kept[EK__MAX_TENSORS];       /* storages, from forward on */
    bool again[EK__MAX_TENSORS];      /* those that a whole recomputation restores for the rest of backward */
    int last_reader[EK__MAX_TENSORS]; /* last operator that reads a storage, forward; -1: none */
    int version[EK__MAX_TENSORS];     /* buffer that currently has a storage's bytes; -1: none */
    int gradient[EK__MAX_TENSORS];    /* buffer with a tensor's gradient so far; -1: none */
    bool consumed[EK__MAX_TENSORS];   /* some operator reads it */
    int cast[EK__MAX_OPS];            /* weight in compute type kept from forward to backward; -1: none */
    int gathered[EK__MAX_PARAMETERS]; /* weight gathered in the current part; -1: not yet */
    int summed[EK__MAX_PARAMETERS];   /* gradient kept to the end of the step; -1: none yet */
    int whole[EK__MAX_PARAMETERS];    /* gradient that waits for the layer's others to be reduced; -1: none */
    int n_deferred;                   /* weight gradients that run separately */
    struct {
        int op, gradient;
    } deferred[EK__MAX_OPS * EK__MAX_OUT];
} compiler;

static int storage_of(const ek__graph *graph, int tensor)
{
    assert(tensor >= 0 && tensor < graph->n_tensors);
    while (graph->tensor[tensor].storage != tensor)
        tensor = graph->tensor[tensor].storage;
    return tensor;
}

static bool is_view(const compiler *c, const ek__op *op)
{
    return op->kind == EK__OP_VIEW && op->n_in > 0 && op->n_out > 0 &&
           storage_of(c->graph, op->out[0]) == storage_of(c->graph, op->in[0]);
}

/* ---- weights ---- */

static const ek__parameter *parameter_of(const compiler *c, const ek__op *op)
{
    assert(op->parameter < c->graph->n_parameters);
    return op->parameter >= 0 ? &c->graph->parameter[op->parameter] : NULL;
}

/* A weight gathered for the pass of its layer: from its first operator to the end of the part. */
static void take_gathered(compiler *c, const ek__op *op, const ek__parameter *weight)
{
    const ek_job *job = c->job;
    bool cut = job->states.shard_weight && ek__parameter_shards(job, weight) > 1;
    if (job->rules.weight_gather != EK_GATHER_LAYER || !cut || c->gathered[op->parameter] >= 0 ||
        ek__gathered_for_step(job, weight))
        return;
    int64_t bytes = ek__gathered_bytes(job, weight, ek__op_in_compute_type(op));
    c->gathered[op->parameter] = ek__record_take(c->r, weight->elements * bytes, op->path, "gathered weight");
}

/* The buffers that a multiplication with a weight needs in addition to the stored one. */
static void take_weight(compiler *c, int o)
{
    const ek__op *op = &c->graph->op[o];
    const ek__parameter *weight = parameter_of(c, op);
    if (!weight)
        return;
    const ek_job *job = c->job;
    take_gathered(c, op, weight);
    bool cut = job->states.shard_weight && ek__parameter_shards(job, weight) > 1;
    bool gathered_cast = job->rules.gather_after_cast && cut && job->rules.weight_gather != EK_GATHER_NONE;
    bool gathered_narrow = job->run.fp8_gather && cut && job->rules.weight_gather != EK_GATHER_NONE;
    if (ek__parameter_in_8_bits(job, weight) && !gathered_narrow && ek__copy_bytes(job, weight) == 0)
        ek__record_take(c->r, weight->elements, op->path, "weight in 8 bits");
    if (!ek__op_in_compute_type(op) || weight->dtype == job->types.compute || gathered_cast)
        return;
    if (c->cast[o] >= 0) {
        ek__record_use(c->r, c->cast[o]);
        return;
    }
    int buffer = ek__record_take(c->r, weight->elements * ek_dtype_bytes(job->types.compute), op->path, "cast weight");
    if (job->rules.cast_weight_kept)
        c->cast[o] = buffer;
}

/* Bytes of an element of a kept weight gradient: those of the stored weight. */
static int64_t staying_bytes(const ek_job *job, const ek__parameter *weight)
{
    return ek__state_bytes(job, weight, job->states.weight);
}

/* Are a layer's gradients reduced together, at the end of its backward pass, and made as separate tensors? */
static bool waits_for_layer(const ek_job *job, const ek__parameter *weight)
{
    bool shared = job->states.shard_weight || job->states.shard_gradient;
    return shared && job->states.scattered_bytes > 0 && !job->rules.weight_gradient_fused &&
           ek__parameter_shards(job, weight) > 1;
}

/* The shards of the waiting gradients. The buffer for reducing them belongs to the stage. */
static void scatter_gradients(compiler *c)
{
    bool any = false;
    for (int w = 0; w < c->graph->n_parameters; w++) {
        const ek__parameter *weight = &c->graph->parameter[w];
        if (c->whole[w] < 0)
            continue;
        if (!any)
            ek__record_step(c->r, -1);
        any = true;
        ek__record_use(c->r, c->whole[w]);
        c->whole[w] = -1;
        if (c->summed[w] >= 0 || c->job->states.gradient > 0)
            continue;
        int64_t bytes = weight->elements * staying_bytes(c->job, weight) / ek__parameter_shards(c->job, weight);
        c->summed[w] = ek__record_take(c->r, bytes, weight->name, "gradient, to the end");
        c->r->buffer[c->summed[w]].stays = true;
    }
}

/* Gathered weights of a part live to its end. */
static void end_part(compiler *c)
{
    scatter_gradients(c);
    for (int w = 0; w < c->graph->n_parameters; w++) {
        ek__record_use(c->r, c->gathered[w]);
        c->gathered[w] = -1;
    }
}

/* The gradient of a weight in the current step, and in a separate step the cast to the type of the sum. */
static void take_weight_gradient(compiler *c, int o)
{
    const ek__op *op = &c->graph->op[o];
    const ek__parameter *weight = parameter_of(c, op);
    const ek_job *job = c->job;
    bool summed = job->states.gradient > 0;
    assert(weight);
    int64_t own = ek__op_in_compute_type(op) ? ek_dtype_bytes(job->types.compute) : ek_dtype_bytes(weight->dtype);
    if (waits_for_layer(job, weight)) {
        if (c->whole[op->parameter] < 0)
            c->whole[op->parameter] = ek__record_take(c->r, weight->elements * own, op->path, "gradient of weight");
        return;
    }
    int64_t type = summed ? ek__state_bytes(job, weight, job->states.gradient) : staying_bytes(job, weight);
    /* Ranks that share the weight get their part of the gradient as soon as it exists. */
    bool scattered = job->states.shard_gradient || job->states.shard_weight;
    int64_t shards = !summed && scattered ? ek__parameter_shards(job, weight) : 1;
    bool stays = !summed && c->summed[op->parameter] < 0;
    int gradient = -1, result = -1;
    /* Lookups and norms have gradients like any other operator. */
    if (!job->rules.weight_gradient_fused || op->kind != EK__OP_MATMUL)
        result = gradient = ek__record_take(c->r, weight->elements * own, op->path, "gradient of weight");
    if (stays && (gradient < 0 || own != type || shards > 1)) {
        if (gradient >= 0)
            ek__record_step(c->r, o);
        result = ek__record_take(c->r, weight->elements * type / shards, op->path, "gradient of weight, to the end");
    } else if (own != type && gradient >= 0 && !job->rules.gradient_cast_fused) {
        ek__record_step(c->r, o);
        ek__record_take(c->r, weight->elements * type, op->path, "cast gradient of weight");
    }
    ek__record_use(c->r, gradient);
    if (stays) {
        assert(result >= EK__N_BORDERS);
        c->r->buffer[result].stays = true;
        c->summed[op->parameter] = result;
    }
}

/* ---- forward ---- */

static bool takes_input_storage(const compiler *c, int o, const bool *kept)
{
    const ek__op *op = &c->graph->op[o];
    if (!op->in_place || op->n_in < 1 || op->n_out < 1)
        return false;
    int in = storage_of(c->graph, op->in[0]), out = storage_of(c->graph, op->out[0]);
    int buffer = c->version[in];
    return in != out && buffer >= EK__N_BORDERS && c->last_reader[in] == o && !kept[in] &&
           c->graph->tensor[in].bytes == c->graph->tensor[out].bytes &&
           (c->graph->output < 0 || out != storage_of(c->graph, c->graph->output));
}

static void take_output(compiler *c, const ek__op *op, int tensor, bool border)
{
    int storage = storage_of(c->graph, tensor);
    bool is_output = border && c->graph->output >= 0 && storage == storage_of(c->graph, c->graph->output);
    if (is_output)
        ek__record_make(c->r, c->r->border[EK__BUFFER_OUTPUT]);
    if (is_output && !c->kept[storage])
        c->version[storage] = c->r->border[EK__BUFFER_OUTPUT];
    else
        c->version[storage] =
            ek__record_take(c->r, c->graph->tensor[storage].elsewhere ? 0 : c->graph->tensor[storage].bytes, op->path,
                            c->graph->tensor[storage].name);
}

/* One operator runs. @param kept storages that must not be overwritten; NULL: none may be
 * @param border  its output may be the layer's */
static void run_op(compiler *c, int o, const bool *kept, bool border)
{
    const ek__op *op = &c->graph->op[o];
    if (is_view(c, op))
        return;
    ek__record_step(c->r, o);
    for (int i = 0; i < op->n_in; i++)
        ek__record_use(c->r, c->version[storage_of(c->graph, op->in[i])]);
    take_weight(c, o);
    int first = 0;
    if (kept && takes_input_storage(c, o, kept)) {
        int in = storage_of(c->graph, op->in[0]);
        assert(c->version[in] >= 0 && in != storage_of(c->graph, op->out[0]));
        c->version[storage_of(c->graph, op->out[0])] = c->version[in];
        c->version[in] = -1;
        first = 1;
    }
    for (int i = first; i < op->n_out; i++)
        take_output(c, op, op->out[i], border);
    if (op->workspace > 0)
        ek__record_take(c->r, op->workspace, op->path, "workspace");
}

static void forget_all_but(compiler *c, const bool *kept)
{
    for (int t = 0; t < c->graph->n_tensors; t++)
        if (!kept[t])
            c->version[t] = -1;
}

static void forward(compiler *c)
{
    const ek__graph *graph = c->graph;
    ek__record_step(c->r, -1);
    if (graph->input >= 0) {
        c->version[storage_of(graph, graph->input)] = c->r->border[EK__BUFFER_INPUT];
        ek__record_use(c->r, c->r->border[EK__BUFFER_INPUT]);
    }
    for (int o = 0; o < graph->n_ops; o++)
        run_op(c, o, c->kept, true);
    if (graph->output >= 0 && c->r->buffer[c->r->border[EK__BUFFER_OUTPUT]].taken < 0) {
        ek__record_step(c->r, graph->n_ops - 1);
        ek__record_use(c->r, c->version[storage_of(graph, graph->output)]);
        ek__record_make(c->r, c->r->border[EK__BUFFER_OUTPUT]);
    }
    end_part(c);
    ek__record_hold(c->r, c->r->border[EK__BUFFER_OUTPUT]);
    forget_all_but(c, c->kept);
}

/* ---- recomputation ---- */

/* Run forward the operators with results that the backward pass needs and the first pass did not save. */
static void forward_again(compiler *c)
{
    const ek__graph *graph = c->graph;
    bool run[EK__MAX_OPS] = {false}, wanted[EK__MAX_TENSORS];
    memcpy(wanted, c->again, sizeof wanted);
    for (int o = graph->n_ops - 1; o >= 0; o--) {
        const ek__op *op = &graph->op[o];
        for (int i = 0; i < op->n_out; i++) {
            int storage = storage_of(graph, op->out[i]);
            run[o] = run[o] || (wanted[storage] && c->version[storage] < 0 && graph->tensor[storage].producer == o);
        }
        for (int i = 0; i < op->n_in && run[o]; i++)
            wanted[storage_of(graph, op->in[i])] = true;
    }
    bool stays[EK__MAX_TENSORS];
    for (int t = 0; t < graph->n_tensors; t++)
        stays[t] = c->again[t] || c->kept[t];
    for (int o = 0; o < graph->n_ops; o++)
        if (run[o])
            run_op(c, o, stays, false);
    forget_all_but(c, stays);
}

static void mark_missing(const compiler *c, int storage, bool *run)
{
    int o = c->graph->tensor[storage].producer;
    if (c->version[storage] >= 0 || o < 0 || run[o])
        return;
    run[o] = true;
    for (int i = 0; i < c->graph->op[o].n_in; i++)
        mark_missing(c, storage_of(c->graph, c->graph->op[o].in[i]), run);
}

/* Restore the inputs of an operator's gradient. */
static void recompute_for(compiler *c, const ek__op *op)
{
    bool run[EK__MAX_OPS] = {false};
    for (int i = 0; i < op->n_needs; i++)
        mark_missing(c, storage_of(c->graph, op->needs[i]), run);
    for (int o = 0; o < c->graph->n_ops; o++)
        if (run[o])
            run_op(c, o, NULL, false);
}

/* ---- gradients ---- */

static bool wants_gradient(const ek__graph *graph, int tensor)
{
    const ek__tensor *t = &graph->tensor[tensor];
    return !t->no_gradient && (t->producer >= 0 || tensor == graph->input);
}

/* A tensor without readers is an output of the model, such as a loss: its gradient needs no bytes. */
static bool is_end(const compiler *c, int tensor)
{
    return !c->consumed[tensor] && tensor != c->graph->output && !c->graph->tensor[tensor].no_gradient;
}

static bool is_free(const compiler *c, int buffer, int holders)
{
    return c->r->buffer[buffer].holders == holders && !c->r->buffer[buffer].for_weight;
}

/* `buffer` is (a part of) the gradient of a tensor. It is written to only if it has no other use. */
static void give_gradient(compiler *c, int o, int tensor, int buffer)
{
    int before = c->gradient[tensor], result = buffer;
    if (before >= 0) {
        ek__record_step(c->r, o);
        ek__record_use(c->r, before);
        ek__record_use(c->r, buffer);
        if (!is_free(c, buffer, 0))
            result = is_free(c, before, 1) ? before
                                           : ek__record_take(c->r, c->graph->tensor[tensor].bytes, c->graph->op[o].path,
                                                             "sum of gradients");
        assert(c->r->buffer[before].holders > 0);
        c->r->buffer[before].holders--;
    }
    assert(result >= 0 && result < c->r->n_buffers);
    c->gradient[tensor] = result;
    c->r->buffer[result].holders++;
}

/* Detach the gradient of an operator's outputs. @return the first one's buffer, -1 without any */
static int drop_outputs(compiler *c, const ek__op *op)
{
    int first = -1;
    for (int i = op->n_out - 1; i >= 0; i--) {
        int buffer = c->gradient[op->out[i]];
        if (buffer < 0)
            continue;
        assert(c->r->buffer[buffer].holders > 0);
        c->r->buffer[buffer].holders--;
        c->gradient[op->out[i]] = -1;
        first = buffer;
    }
    return first;
}

/* Does an operator pass its output's gradient unchanged to each input that needs one? Sums and views do. */
static bool hands_on(const compiler *c, const ek__op *op)
{
    if (op->n_out != 1 || op->n_needs > 0 || op->parameter >= 0 || op->n_in < 1)
        return false;
    if (op->kind == EK__OP_VIEW)
        return c->graph->tensor[op->in[0]].bytes == c->graph->tensor[op->out[0]].bytes;
    int n = 0;
    for (int i = 0; i < op->n_in; i++)
        n += wants_gradient(c->graph, op->in[i]) &&
             c->graph->tensor[op->in[i]].bytes == c->graph->tensor[op->out[0]].bytes &&
             c->graph->tensor[op->in[i]].dtype == c->graph->tensor[op->out[0]].dtype;
    return op->kind == EK__OP_ELEMENTWISE && op->n_in > 1 && n == op->n_in;
}

/* Inputs without a gradient share the buffer; then it is added to those that have one; the last of these may reuse
 * it. */
static void hand_on(compiler *c, int o)
{
    const ek__op *op = &c->graph->op[o];
    int buffer = drop_outputs(c, op), n_sums = 0, sums[EK__MAX_IN];
    if (buffer < 0)
        return;
    for (int i = 0; i < op->n_in; i++) {
        if (!wants_gradient(c->graph, op->in[i]))
            continue;
        if (c->gradient[op->in[i]] < 0)
            give_gradient(c, o, op->in[i], buffer);
        else
            sums[n_sums++] = op->in[i];
    }
    for (int k = 0; k < n_sums; k++) {
        int lock = k + 1 < n_sums;
        c->r->buffer[buffer].holders += lock;
        give_gradient(c, o, sums[k], buffer);
        c->r->buffer[buffer].holders -= lock;
    }
}

static bool is_deferred(const compiler *c, const ek__op *op)
{
    return c->split && op->parameter >= 0 && (op->kind == EK__OP_MATMUL || op->kind == EK__OP_LOOKUP);
}

/* All inputs of a gradient exist by then, unless nothing in the layer makes them. */
static void use_needs(compiler *c, const ek__op *op)
{
    for (int i = 0; i < op->n_needs; i++) {
        int storage = storage_of(c->graph, op->needs[i]);
        assert(c->version[storage] >= 0 || c->graph->tensor[storage].producer < 0);
        ek__record_use(c->r, c->version[storage]);
    }
}

/* Defer its gradient to the weight-gradient part; its inputs must not be overwritten. */
static void defer(compiler *c, int o)
{
    const ek__op *op = &c->graph->op[o];
    for (int i = 0; i < op->n_out; i++) {
        int buffer = c->gradient[op->out[i]];
        assert((size_t)c->n_deferred < sizeof c->deferred / sizeof *c->deferred);
        c->deferred[c->n_deferred].op = o;
        c->deferred[c->n_deferred++].gradient = buffer;
        if (buffer >= 0)
            c->r->buffer[buffer].for_weight = true;
    }
}

/* Buffers of the gradients of an operator's inputs, [n_in]; -1 if there is none. */
static void take_input_gradients(compiler *c, const ek__op *op, int *taken)
{
    for (int i = 0; i < op->n_in; i++) {
        taken[i] = -1;
        bool again = false;
        for (int j = 0; j < i; j++)
            again = again || op->in[j] == op->in[i];
        if (again || !wants_gradient(c->graph, op->in[i]))
            continue;
        const ek__tensor *in = &c->graph->tensor[op->in[i]];
        int of_output = op->n_out > 0 ? c->gradient[op->out[0]] : -1;
        if (i == 0 && op->overwrites)
            taken[i] = c->version[storage_of(c->graph, op->in[0])];
        else if (i == 0 && op->in_place && of_output >= EK__N_BORDERS && is_free(c, of_output, 1) &&
                 in->bytes == c->r->buffer[of_output].bytes && c->gradient[op->in[0]] < 0)
            taken[i] = of_output;
        else
            taken[i] =
                ek__record_take(c->r, in->bytes, op->path, i == 0 ? "gradient of input" : "gradient of another input");
    }
}

/* Use the inputs of an operator's gradient in the current step. */
static void use_gradients(compiler *c, const ek__op *op)
{
    use_needs(c, op);
    for (int i = 0; i < op->n_out; i++)
        ek__record_use(c->r, c->gradient[op->out[i]]);
}

/* The gradient of a weight is a separate matmul after that of the input, which then exists. */
static void weight_step(compiler *c, int o, const int *taken, bool wants_input)
{
    const ek__op *op = &c->graph->op[o];
    if (op->kind == EK__OP_MATMUL && wants_input) {
        ek__record_step(c->r, o);
        use_gradients(c, op);
        for (int i = 0; i < op->n_in; i++)
            ek__record_use(c->r, taken[i]);
    }
    take_weight_gradient(c, o);
}

static void backward_step(compiler *c, int o, bool wants_input)
{
    const ek__op *op = &c->graph->op[o];
    bool deferred = is_deferred(c, op), own_weight = op->parameter >= 0 && !deferred;
    int taken[EK__MAX_IN];
    recompute_for(c, op);
    if (deferred)
        defer(c, o);
    if (wants_input || own_weight) {
        ek__record_step(c->r, o);
        use_gradients(c, op);
        if (wants_input)
            take_weight(c, o);
        if (op->backward_workspace > 0)
            ek__record_take(c->r, op->backward_workspace, op->path, "workspace");
        take_input_gradients(c, op, taken);
        if (own_weight)
            weight_step(c, o, taken, wants_input);
    }
    drop_outputs(c, op);
    for (int i = 0; i < op->n_in && wants_input; i++)
        if (taken[i] >= 0)
            give_gradient(c, o, op->in[i], taken[i]);
}

static void backward_op(compiler *c, int o)
{
    const ek__op *op = &c->graph->op[o];
    bool active = false, wants_input = false;
    for (int i = 0; i < op->n_out; i++)
        active = active || c->gradient[op->out[i]] >= 0 || is_end(c, op->out[i]);
    for (int i = 0; i < op->n_in; i++)
        wants_input = wants_input || wants_gradient(c->graph, op->in[i]);
    if (!active || (!wants_input && op->parameter < 0))
        drop_outputs(c, op);
    else if (hands_on(c, op))
        hand_on(c, o);
    else
        backward_step(c, o, wants_input);
}

/* The gradient of the layer's input becomes the border: its own buffer, if it has one. */
static void hand_over(compiler *c)
{
    ek__recorder *r = c->r;
    int border = r->border[EK__BUFFER_INPUT_GRADIENT], buffer = c->gradient[c->graph->input];
    assert(r->buffer[border].taken < 0);
    if (buffer >= EK__N_BORDERS && !r->buffer[buffer].for_weight) {
        r->buffer[border].taken = r->buffer[buffer].taken;
        r->buffer[border].part = r->buffer[buffer].part;
        r->buffer[buffer].taken = r->buffer[buffer].last = -1;
        r->buffer[buffer].bytes = 0;
    } else {
        ek__record_step(r, 0);
        ek__record_use(r, buffer);
        ek__record_make(r, border);
    }
    ek__record_hold(r, border);
}

static void backward(compiler *c, bool again)
{
    const ek__graph *graph = c->graph;
    assert(c->r->part == EK_FORWARD && c->n_deferred == 0);
    c->r->part = EK_BACKWARD;
    ek__record_step(c->r, -1);
    if (graph->output >= 0) {
        int border = c->r->border[EK__BUFFER_OUTPUT_GRADIENT];
        ek__record_use(c->r, border);
        c->gradient[graph->output] = border;
        c->r->buffer[border].holders = 1;
    }
    if (again)
        forward_again(c);
    for (int o = graph->n_ops - 1; o >= 0; o--)
        backward_op(c, o);
    if (graph->input >= 0)
        hand_over(c);
    end_part(c);
}

/* In the order of the gradients of their inputs. */
static void weight_gradients(compiler *c)
{
    assert(c->split && c->r->part == EK_BACKWARD);
    c->r->part = EK_BACKWARD_WEIGHT;
    ek__record_step(c->r, -1);
    for (int k = 0; k < c->n_deferred; k++) {
        int o = c->deferred[k].op;
        bool another = k > 0 && c->deferred[k - 1].op == o; /* output of the same operator */
        if (!another)
            ek__record_step(c->r, o);
        ek__record_use(c->r, c->deferred[k].gradient);
        if (another)
            continue;
        use_needs(c, &c->graph->op[o]);
        take_weight_gradient(c, o);
    }
    end_part(c);
}

/* ---- compiling ---- */

static void find_readers(compiler *c)
{
    const ek__graph *graph = c->graph;
    for (int o = 0; o < graph->n_ops; o++)
        for (int i = 0; i < graph->op[o].n_in; i++) {
            c->consumed[graph->op[o].in[i]] = true;
            c->last_reader[storage_of(graph, graph->op[o].in[i])] = o;
        }
}

static void begin(compiler *c, const ek_job *job, const ek__graph *graph, int64_t border_bytes)
{
    int border = graph->input >= 0 ? graph->input : graph->output;
    if (border_bytes == 0 && border >= 0)
        border_bytes = graph->tensor[border].bytes;
    assert(graph->n_ops <= EK__MAX_OPS && graph->n_tensors <= EK__MAX_TENSORS);
    c->job = job;
    c->graph = graph;
    memset(c->last_reader, -1, sizeof c->last_reader);
    memset(c->version, -1, sizeof c->version);
    memset(c->gradient, -1, sizeof c->gradient);
    memset(c->cast, -1, sizeof c->cast);
    memset(c->gathered, -1, sizeof c->gathered);
    memset(c->summed, -1, sizeof c->summed);
    memset(c->whole, -1, sizeof c->whole);
    find_readers(c);
    ek__record_begin(c->r, border_bytes);
}

/* The remaining buffers: for a layer recomputed whole, from the first pass and after the second one. */
static void find_kept(compiler *c, const bool *recomputed, ek__hold hold)
{
    if (hold == EK__HOLD_NEEDED || hold == EK__HOLD_INPUT)
        ek__graph_keep(c->graph, recomputed, c->kept);
    if (hold == EK__HOLD_INPUT) {
        bool little[EK__MAX_OPS] = {false};
        ek__graph_recomputed(c->job, c->graph, (ek__recompute){0}, little);
        ek__graph_keep(c->graph, little, c->again);
    }
}

/* Does a whole pass release everything it took? OUTPUT and INPUT_GRADIENT are passed on, INPUT and OUTPUT_GRADIENT were
 * received; kept weight gradients are not counted in the profiles of later micro-batches. For asserts. */
__attribute__((unused)) static bool is_balanced(const ek__program *program)
{
    const ek__buffer *b = program->buffer;
    int64_t sum = 0, borders = 0;
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
        sum += program->profile[k].end;
    if (program->graph->output >= 0)
        borders += b[EK__BUFFER_OUTPUT].bytes - b[EK__BUFFER_OUTPUT_GRADIENT].bytes;
    if (program->graph->input >= 0)
        borders += b[EK__BUFFER_INPUT_GRADIENT].bytes - b[EK__BUFFER_INPUT].bytes;
    return sum == borders;
}

ek_status ek__program_compile(const ek_job *job, const ek__graph *graph, const bool *recomputed, ek__hold hold,
                              bool split, int64_t border_bytes, ek__program **out, ek_error *err)
{
    assert(ek__graph_is_valid(graph) && border_bytes >= 0);
    compiler *c = ek__alloc(1, sizeof *c);
    /* Not cleared: its arrays are written before use, and they are large. */
    ek__recorder *r = malloc(sizeof *r);
    ek_status status = EK_OK;
    if (!c || !r) {
        status = ek__no_memory(err);
    } else {
        c->r = r;
        c->split = split;
        begin(c, job, graph, border_bytes);
        find_kept(c, recomputed, hold);
        forward(c);
        if (hold == EK__HOLD_FIRST)
            ek__record_hold(r, r->border[EK__BUFFER_INPUT]);
        if (hold == EK__HOLD_NEEDED || hold == EK__HOLD_INPUT)
            backward(c, hold == EK__HOLD_INPUT);
        if (split && (hold == EK__HOLD_NEEDED || hold == EK__HOLD_INPUT))
            weight_gradients(c);
        status = ek__record_finish(r, job, graph, out, err);
        assert(status || (hold != EK__HOLD_NEEDED && hold != EK__HOLD_INPUT) || is_balanced(*out));
    }
    free(c);
    free(r);
    return status;
}

ek_status ek__program_new(const ek_job *job, const ek__graph *graph, const bool *recomputed, bool full, bool split,
                          ek__program **out, ek_error *err)
{
    return ek__program_compile(job, graph, recomputed, full ? EK__HOLD_INPUT : EK__HOLD_NEEDED, split, 0, out, err);
}
