/* Predicts a layer's passes by its operators: each kernel on the device, collectives of its groups, and their overlap.
 * Operators run one after the other on the device; the host launches them ahead, so a pass takes the longer of the two.
 * Numbers in 8 bits add casts. Not handled: kernels of one pass side by side. */
#include "cost/layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "cost/kernel.h"
#include "cost/layer_table.h"

typedef struct pricer {
    const ek_job *job;
    const ek_device *device;
    const ek__graph *graph;
    ek__graph_kind kind;
    bool missing;        /* a figure that the device lacks */
    const ek__op *wants; /* the operator that needs it */
} pricer;

/* ---- passes ---- */

void ek__pass_add(ek__pass *sum, const ek__pass *pass, double times)
{
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        sum->part[i] += times * pass->part[i];
        sum->error[i] += times * pass->error[i];
        if (pass->part[i] > 0 && pass->basis[i] > sum->basis[i])
            sum->basis[i] = pass->basis[i];
    }
    sum->hidden_tensor += times * pass->hidden_tensor;
    sum->kernels += times * pass->kernels;
    sum->near += times * pass->near;
    sum->weight += times * pass->weight;
}

double ek__pass_seconds(const ek__pass *pass)
{
    double sum = 0;
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        sum += pass->part[i];
    return sum;
}

void ek__pass_launch(const ek_job *job, const ek_device *device, const ek__layer_cost *layer, ek__pass *pass)
{
    const ek_host *host = &device->host;
    double busy = ek__pass_seconds(pass);
    bool end = layer->kind == EK__GRAPH_EMBEDDING;
    double launch = layer->factor * 1e-6 *
                    ((end ? 0 : host->layer_us[job->run.launch]) + host->kernel_us[job->run.launch] * pass->kernels);
    if (pass->kernels <= 0 || launch <= busy)
        return;
    pass->part[EK_STEP_HOST] += launch - busy;
    pass->error[EK_STEP_HOST] += host->error * launch;
    pass->basis[EK_STEP_HOST] = host->basis > pass->basis[EK_STEP_HOST] ? host->basis : pass->basis[EK_STEP_HOST];
}

static void put(ek__pass *pass, ek_step_part part, double seconds, double error, ek_cost_basis basis)
{
    pass->part[part] += seconds;
    pass->error[part] += seconds * error;
    if (seconds > 0 && basis > pass->basis[part])
        pass->basis[part] = basis;
}

/* ---- kernels ---- */

static void add_kernel(pricer *p, const ek__op *op, const ek_kernel *kernel, ek__pass *pass)
{
    static const ek_step_part parts[EK_N_KERNEL_KINDS] = {
        [EK_KERNEL_MATMUL] = EK_STEP_MATRIX,
        [EK_KERNEL_GROUPED] = EK_STEP_GROUPED,
        [EK_KERNEL_ATTENTION_FORWARD] = EK_STEP_ATTENTION,
        [EK_KERNEL_ATTENTION_BACKWARD] = EK_STEP_ATTENTION,
        [EK_KERNEL_MEMORY] = EK_STEP_MEMORY,
        [EK_KERNEL_LOSS] = EK_STEP_MEMORY,
    };
    if (!(kernel->flops > 0) && !(kernel->bytes > 0))
        return;
    ek__kernel_time time = ek__kernel_seconds(p->device, kernel);
    if (!isfinite(time.seconds)) {
        p->missing = true;
        p->wants = op;
        return;
    }
    put(pass, parts[kernel->kind], time.seconds, time.error, time.basis);
    pass->kernels++;
    if (!isnan(time.nearest)) {
        pass->near += time.nearest * time.seconds;
        pass->weight += time.seconds;
    }
}

static ek_dtype type_of(const pricer *p, const ek__op *op)
{
    return op->n_in > 0 ? p->graph->tensor[op->in[0]].dtype : p->job->types.compute;
}

/* Products of linear layers run in 8 bits; the head, the router and products without weights do not. */
static bool in_fp8(const pricer *p, const ek__op *op)
{
    return p->job->run.fp8 != EK_FP8_NONE && op->kind == EK__OP_MATMUL && op->parameter >= 0 &&
           p->graph->parameter[op->parameter].rows > 0 && p->kind != EK__GRAPH_HEAD;
}

/* Operators that only move bytes. */
static void add_stream(pricer *p, const ek__op *op, double bytes, ek__pass *pass)
{
    const ek_kernel kernel = {.kind = EK_KERNEL_MEMORY, .type = (int)p->job->types.compute, .bytes = bytes};
    add_kernel(p, op, &kernel, pass);
}

/* The bytes that a cast of n elements to 8 bits moves: read once and written as it is and transposed, since each of a
 * layer's three products needs its operands in rows; with one scale a tensor an earlier pass finds the scale; with one
 * scale a row the scales differ by direction, so the transposed copy is cast separately. */
static double cast_bytes(ek_fp8 recipe, double n, double size)
{
    switch (recipe) {
    case EK_FP8_TENSORWISE:
        return n * (2 * size + 2);
    case EK_FP8_ROWWISE:
        return n * (3 * size + 2);
    case EK_FP8_BLOCKWISE:
    case EK_FP8_DELAYED:
    case EK_FP8_NONE:
    default:
        return n * (size + 2);
    }
}

/* Does a product before this one read the same tensor? Its cast exists then. */
static bool is_cast_before(const pricer *p, const ek__op *op)
{
    for (const ek__op *other = p->graph->op; other < op; other++)
        if (in_fp8(p, other) && other->flops > 0 && other->in[0] == op->in[0])
            return true;
    return false;
}

/* Do tensor parallel ranks gather a product's input in 8 bits? */
static bool is_gathered_narrow(const pricer *p, const ek__op *op)
{
    int maker = op->n_in > 0 ? p->graph->tensor[op->in[0]].producer : -1;
    const ek__op *from = maker >= 0 ? &p->graph->op[maker] : NULL;
    return p->job->run.fp8_gather && from && from->kind == EK__OP_COMM && from->group == EK__GROUP_TENSOR &&
           from->comm == EK__COMM_GATHER;
}

/* Bytes that the cast of a product's input moves. Of an input gathered in 8 bits each rank casts a part, and transposes
 * everything. */
static double input_bytes(const pricer *p, const ek__op *op, double n, double size)
{
    double t = p->job->parallel.tensor;
    if (is_cast_before(p, op))
        return 0;
    if (!is_gathered_narrow(p, op))
        return cast_bytes(p->job->run.fp8, n, size);
    return (cast_bytes(p->job->run.fp8, n, size) - n) / t + 2 * n;
}

/* Casts of a product's two operands, its input or its output's gradient and its weight, which is cast once a step where
 * its scale is known and else in each micro-batch. Products that read one input share its cast. */
static void add_casts(pricer *p, const ek__op *op, const ek_kernel *kernel, ek__pass *pass)
{
    double size = ek_dtype_bytes(p->job->types.compute), elements = kernel->groups * kernel->m * kernel->k;
    ek_kernel cast = {.kind = EK_KERNEL_MEMORY, .type = (int)p->job->types.compute};
    if (kernel->pass == EK_PASS_WEIGHT) /* both were cast for the other products */
        return;
    cast.bytes = kernel->pass == EK_PASS_FORWARD ? input_bytes(p, op, elements, size)
                                                 : cast_bytes(p->job->run.fp8, elements, size);
    if (kernel->pass == EK_PASS_FORWARD)
        cast.bytes += cast_bytes(p->job->run.fp8, kernel->groups * kernel->k * kernel->n, size) /
                      (p->job->parallel.n_micro_batches > 0 ? p->job->parallel.n_micro_batches : 1);
    if (p->job->run.launch == EK_LAUNCH_COMPILED)
        cast.bytes *= p->device->compiled_traffic;
    cast.bytes *= p->device->curve[EK_KERNEL_MEMORY].memory_share / p->device->cast_share;
    add_kernel(p, op, &cast, pass);
}

/* Shapes of a product: tokens x in by in x out. Products without a weight multiply activations of each head. */
static void set_shape(const pricer *p, const ek__op *op, ek_kernel *kernel)
{
    const ek__graph *g = p->graph;
    double rows = 0, columns = 0, groups = 1, tokens;
    if (op->parameter >= 0) {
        const ek__parameter *weight = &g->parameter[op->parameter];
        rows = (double)weight->rows;
        columns = (double)weight->columns;
        if (rows > 0 && columns > 0)
            groups = fmax(1, round((double)weight->elements / (rows * columns)));
    }
    if (rows <= 0) {
        const ek_job_model *m = &p->job->model;
        groups = fmax(1, (double)p->job->parallel.batch * m->n_heads / p->job->parallel.tensor);
        tokens = (double)p->job->parallel.seq_length / p->job->parallel.context;
        columns = m->head_dim;
        rows = op->flops / (2 * groups * tokens * columns);
    } else {
        tokens = op->flops / (2 * groups * rows * columns);
    }
    kernel->groups = groups;
    const double forward[] = {tokens, columns, rows}, input[] = {tokens, rows, columns},
                 weight[] = {rows, tokens, columns};
    const double *shape = kernel->pass == EK_PASS_FORWARD ? forward : kernel->pass == EK_PASS_INPUT ? input : weight;
    kernel->m = shape[0];
    kernel->k = shape[1];
    kernel->n = shape[2];
}

/* A weight's gradient that the product does not add to the buffer itself is added by a separate kernel, in every
 * micro-batch; where the buffer has the gradient's type, the first one's is the buffer. Gradients that are reduced
 * after each micro-batch are added as shards, which is little. A graph that is compiled as a whole adds during other
 * kernels: assumed, since MindFormers' published steps with many micro-batches are no slower than those with one. */
double ek__layer_gradients_added(const ek_job *job)
{
    double n = (double)job->parallel.n_micro_batches * fmax(1, job->parallel.n_accumulation);
    if (job->rules.weight_gradient_fused || job->states.gradient == 0 || job->run.sums_every_micro_batch ||
        job->run.launch == EK_LAUNCH_GRAPH)
        return 0;
    return job->states.gradient > ek_dtype_bytes(job->types.compute) ? 1 : (n - 1) / n;
}

static void add_accumulation(pricer *p, const ek__op *op, double elements, ek__pass *pass)
{
    double times = ek__layer_gradients_added(p->job), size = ek_dtype_bytes(p->job->types.compute);
    if (times > 0)
        add_stream(p, op, times * elements * (size + 2.0 * p->job->states.gradient), pass);
}

static bool is_tensor_comm(const pricer *p, int op)
{
    return op >= 0 && p->graph->op[op].kind == EK__OP_COMM && p->graph->op[op].group == EK__GROUP_TENSOR;
}

/* Is the next operator other than a view a collective of the tensor parallel ranks? */
static bool feeds_comm(const pricer *p, const ek__op *op)
{
    int next = (int)(op - p->graph->op) + 1;
    while (next < p->graph->n_ops && p->graph->op[next].kind == EK__OP_VIEW)
        next++;
    return next < p->graph->n_ops && is_tensor_comm(p, next);
}

/* PyTorch's asynchronous tensor parallelism cuts a product with a collective into a piece for each rank of the group;
 * the inputs of pieces arrive, or their results are sent, one after the other (_pipelined_all_gather_and_consume() and
 * _pipelined_produce_and_all2all() of torch.distributed._symmetric_memory): products of fewer rows, which fill whole
 * waves worse. The gradient of a weight is whole. */
static int pieces_of(const pricer *p, const ek__op *op, ek_pass which)
{
    if (!p->job->run.overlap_tensor || p->job->framework != EK_TORCHTITAN || which == EK_PASS_WEIGHT || op->n_in < 1)
        return 1;
    bool beside = is_tensor_comm(p, p->graph->tensor[op->in[0]].producer) || feeds_comm(p, op);
    return beside && p->job->parallel.tensor > 1 ? p->job->parallel.tensor : 1;
}

static void add_pieces(pricer *p, const ek__op *op, int n, ek_kernel kernel, ek__pass *pass)
{
    kernel.bytes /= n;
    kernel.flops /= n;
    kernel.m /= n;
    for (int i = 0; i < n; i++)
        add_kernel(p, op, &kernel, pass);
}

static void add_product(pricer *p, const ek__op *op, ek_pass which, double flops, double bytes, ek__pass *pass)
{
    bool expert = op->parameter >= 0 && p->graph->parameter[op->parameter].expert;
    ek_kernel kernel = {.kind = expert ? EK_KERNEL_GROUPED : EK_KERNEL_MATMUL,
                        .pass = which,
                        .type = in_fp8(p, op) ? EK_TYPE_FP8 : (int)type_of(p, op),
                        .flops = flops,
                        .bytes = bytes};
    if (!(flops > 0)) {
        add_stream(p, op, bytes, pass);
        return;
    }
    set_shape(p, op, &kernel);
    if (kernel.type == EK_TYPE_FP8) /* both operands are a byte an element */
        kernel.bytes = fmax(0, kernel.bytes - kernel.groups * kernel.k * (kernel.m + kernel.n) *
                                                  (ek_dtype_bytes(p->job->types.compute) - 1));
    kernel.fine_scales = p->job->run.fp8 == EK_FP8_ROWWISE || p->job->run.fp8 == EK_FP8_BLOCKWISE;
    if (which == EK_PASS_WEIGHT) {
        kernel.accumulates = p->job->rules.weight_gradient_fused && p->job->states.gradient == 4;
        kernel.bytes += kernel.groups * kernel.m * kernel.n * (kernel.accumulates ? 6 : 0);
        if (op->parameter >= 0)
            add_accumulation(p, op, kernel.groups * kernel.m * kernel.n, pass);
    }
    /* A product of two activations has two gradients, each like the product itself. */
    if (op->parameter < 0 && which == EK_PASS_INPUT) {
        kernel.flops /= 2;
        kernel.bytes /= 2;
        add_kernel(p, op, &kernel, pass);
    }
    add_pieces(p, op, pieces_of(p, op, which), kernel, pass);
    if (in_fp8(p, op))
        add_casts(p, op, &kernel, pass);
}

/* The slowdown of fused attention against kernels written for the device. FlashAttention-2 is 1.3 to 1.5 times as fast
 * forward and twice as fast backward as FlashAttention in Triton, and twice as fast as the first FlashAttention (arXiv
 * 2307.08691, abstract and section 4.1). On Hopper it reaches 35 to 40 % of the peak (arXiv 2407.08608), kernels with
 * the instructions that came with it 41 in NeMo's published runs (docs/models.md). Devices of that generation and later
 * are those with 8-bit products. */
static double attention_factor(const pricer *p, bool backward)
{
    ek_attention_kernels kernels = p->job->run.attention;
    double older = kernels != EK_ATTENTION_OWN && p->device->peak_tflops[EK_TYPE_FP8] > 0 ? 1 / 0.87 : 1;
    if (kernels == EK_ATTENTION_FLASH1)
        return older * 2;
    return kernels == EK_ATTENTION_TRITON ? older * (backward ? 2 : 1.4) : older;
}

/* FLOPs of the slowest context rank over the mean: of n ranks with neighbouring tokens the last one attends to all of
 * the sequence, 2 - 1/n of the mean under a causal mask. */
static double slowest_rank(const pricer *p)
{
    return p->job->run.context_uneven ? 2 - 1.0 / p->job->parallel.context : 1;
}

/* The all-to-all of Ulysses leaves a rank fewer heads of more tokens: the shape of its kernel, and of the measured
 * ones. */
static void add_attention(pricer *p, const ek__op *op, bool backward, ek__pass *pass)
{
    const ek_job_model *m = &p->job->model;
    const ek_job_parallel *a = &p->job->parallel;
    double swapped = a->ulysses > 1 ? a->ulysses : 1, head_ranks = a->tensor * swapped;
    const ek_kernel kernel = {.kind = backward ? EK_KERNEL_ATTENTION_BACKWARD : EK_KERNEL_ATTENTION_FORWARD,
                              .type = (int)type_of(p, op),
                              .flops = (backward ? op->backward_flops : op->flops) * attention_factor(p, backward) *
                                       slowest_rank(p),
                              .bytes = backward ? op->backward_bytes_moved : op->bytes_moved,
                              .groups = 1,
                              .batch = a->batch,
                              .seq = swapped * a->seq_length / a->context,
                              .key_seq = a->seq_length,
                              .heads = fmax(1, m->n_heads / head_ranks),
                              .kv_heads = fmax(1, m->n_kv_heads / head_ranks),
                              .qk_dim = m->head_dim,
                              .v_dim = m->value_dim};
    add_kernel(p, op, &kernel, pass);
}

static bool is_loss(const ek__op *op)
{
    return strncmp(op->path, "loss.", 5) == 0;
}

/* torchtitan's norm without a compiler is a row of operators, x.float(), squares, their mean, its root, products, a
 * cast, that each read and write: 36 bytes an element forward where one kernel moves 4, and 72 backward for 6. */
#define NORM_FORWARD  9.0
#define NORM_BACKWARD 12.0

static double norm_factor(const pricer *p, const ek__op *op, bool backward)
{
    bool apart = op->kind == EK__OP_NORM && p->job->framework == EK_TORCHTITAN && p->job->run.launch == EK_LAUNCH_EAGER;
    return !apart ? 1 : backward ? NORM_BACKWARD : NORM_FORWARD;
}

/* Tokens go to the experts' order and back by rows from anywhere, slower than streams. */
static double permute_factor(const pricer *p, const ek__op *op)
{
    if (!(p->device->permute_share > 0) ||
        !(strstr(op->path, "token_dispatcher.permute") || strstr(op->path, "token_dispatcher.unpermute")))
        return 1;
    return p->device->curve[EK_KERNEL_MEMORY].memory_share / p->device->permute_share;
}

static void add_memory(pricer *p, const ek__op *op, double bytes, ek__pass *pass)
{
    double left = p->job->run.launch == EK_LAUNCH_COMPILED ? p->device->compiled_traffic : 1;
    const ek_kernel kernel = {.kind = is_loss(op) ? EK_KERNEL_LOSS : EK_KERNEL_MEMORY,
                              .type = (int)p->job->types.compute,
                              .bytes = left * permute_factor(p, op) * bytes};
    add_kernel(p, op, &kernel, pass);
}

/* ---- communication ---- */

/* One after another, as many as there are `times`. */
static void add_traffic(pricer *p, const ek__op *op, const ek__ranks *ranks, ek_step_part part, ek_collective what,
                        double bytes, int times, ek__pass *pass)
{
    ek__collective_time time = ek__collective_seconds(p->device, what, ranks, bytes);
    if (!isfinite(time.seconds)) {
        p->missing = true;
        p->wants = op;
        return;
    }
    put(pass, part, times * time.seconds, time.error, time.basis);
    pass->kernels += ranks->n > 1 ? times : 0;
}

static void add_collective(pricer *p, const ek__op *op, ek__dimension group, ek_step_part part, ek_collective what,
                           double bytes, ek__pass *pass)
{
    ek__ranks ranks = ek__placement(p->job, p->device, group);
    if (group == EK__DIM_EXPERT && what == EK_COLLECTIVE_ALL_TO_ALL && p->job->run.send_once)
        ek__send_once(&p->job->model, &ranks);
    add_traffic(p, op, &ranks, part, what, bytes, 1, pass);
}

static ek_collective opposite(ek_collective what)
{
    return what == EK_COLLECTIVE_ALL_GATHER       ? EK_COLLECTIVE_REDUCE_SCATTER
           : what == EK_COLLECTIVE_REDUCE_SCATTER ? EK_COLLECTIVE_ALL_GATHER
                                                  : what;
}

/* Bytes of a gather or scatter of activations in 8 bits, where the product after it reads those. */
static double message(const pricer *p, const ek__op *op, ek_collective what)
{
    bool narrow = p->job->run.fp8_gather && op->group == EK__GROUP_TENSOR && what == EK_COLLECTIVE_ALL_GATHER;
    return narrow ? op->comm_bytes / ek_dtype_bytes(p->job->types.compute) : op->comm_bytes;
}

/* Sums of inputs' gradients: of inputs gathered in forward, or of inputs that are whole on each rank. */
static bool runs_beside_products(const ek__op *op)
{
    return op->group == EK__GROUP_TENSOR && (op->comm == EK__COMM_GATHER || op->comm == EK__COMM_REDUCE);
}

/* Copies around an all-to-all of Megatron. Over context ranks TransformerEngine's flash_attn_a2a_communicate() lays a
 * tensor out by receiver, merges the received parts, and then puts the chunks of the sequence in order. Over expert
 * ranks tokens come by sender, and go to the order of the rank's experts and back (MoEAlltoAllTokenDispatcher); where
 * they go once to each node, they come unchanged and are only put into that order. */
static int copies_around(const pricer *p, const ek__op *op)
{
    if (p->job->framework != EK_MEGATRON || op->comm != EK__COMM_ALLTOALL)
        return 0;
    return op->group == EK__GROUP_CONTEXT ? 3
           : op->group == EK__GROUP_EXPERT && p->job->model.n_experts > p->job->parallel.expert &&
                   !p->job->run.send_once
               ? 1
               : 0;
}

static void add_comm(pricer *p, const ek__op *op, bool backward, ek__pass *pass)
{
    static const ek_collective of[] = {[EK__COMM_GATHER] = EK_COLLECTIVE_ALL_GATHER,
                                       [EK__COMM_SCATTER] = EK_COLLECTIVE_REDUCE_SCATTER,
                                       [EK__COMM_REDUCE] = EK_COLLECTIVE_ALL_REDUCE,
                                       [EK__COMM_ALLTOALL] = EK_COLLECTIVE_ALL_TO_ALL};
    static const struct {
        ek__dimension group;
        ek_step_part part;
    } to[] = {[EK__GROUP_TENSOR] = {EK__DIM_TENSOR, EK_STEP_TENSOR},
              [EK__GROUP_CONTEXT] = {EK__DIM_CONTEXT, EK_STEP_CONTEXT},
              [EK__GROUP_EXPERT] = {EK__DIM_EXPERT, EK_STEP_EXPERT}};
    ek_collective what = backward ? opposite(of[op->comm]) : of[op->comm];
    add_collective(p, op, to[op->group].group, to[op->group].part, what, message(p, op, what), pass);
    for (int i = copies_around(p, op); i > 0; i--)
        add_stream(p, op, 2 * op->comm_bytes, pass); /* read and written */
}

/* Two neighbours on a ring. A group that does not fit into a unit has some in two of them, and all wait for those. */
static ek__ranks slowest_neighbours(ek__ranks ranks, int n_tiers)
{
    for (int i = 0; i < n_tiers; i++)
        ranks.in[i] = ranks.in[i] < ranks.n ? 1 : 2;
    ranks.n = 2;
    return ranks;
}

/* Ring attention passes keys and values on while it computes with those it has: sends to one neighbour, started before
 * a step computes and waited for after it, so that only their excess over (n-1)/n of the attention is exposed (Liu et
 * al. 2023, arXiv 2310.01889, section 3). Backward their gradients travel, too. */
static void add_ring(pricer *p, const ek__op *op, bool backward, ek__pass *pass)
{
    const ek_job_parallel *a = &p->job->parallel;
    if (a->context <= 1 || a->context_algorithm != EK_CONTEXT_RING)
        return;
    int n = a->context / (a->ulysses > 1 ? a->ulysses : 1);
    double bytes = 0, before = pass->part[EK_STEP_CONTEXT];
    for (int i = 1; i < op->n_in; i++) /* keys and values */
        bytes += (double)p->graph->tensor[op->in[i]].bytes;
    ek__pass attention = {.kernels = 0};
    add_attention(p, op, backward, &attention);
    const ek__ranks group = ek__placement(p->job, p->device, EK__DIM_CONTEXT);
    const ek__ranks pair = slowest_neighbours(group, p->device->n_tiers);
    add_traffic(p, op, &pair, EK_STEP_CONTEXT, EK_COLLECTIVE_P2P, bytes * (backward ? 2 : 1), n - 1, pass);
    double added = pass->part[EK_STEP_CONTEXT] - before;
    pass->part[EK_STEP_CONTEXT] -= fmin(added, (n - 1.0) / n * attention.part[EK_STEP_ATTENTION]);
}

/* ---- operators ---- */

static void add_forward(pricer *p, const ek__op *op, ek__pass *pass)
{
    switch (op->kind) {
    case EK__OP_VIEW:
        return;
    case EK__OP_COMM:
        add_comm(p, op, false, pass);
        return;
    case EK__OP_MATMUL:
        add_product(p, op, EK_PASS_FORWARD, op->flops, op->bytes_moved, pass);
        return;
    case EK__OP_ATTENTION:
        add_attention(p, op, false, pass);
        add_ring(p, op, false, pass);
        return;
    case EK__OP_NORM:
    case EK__OP_ELEMENTWISE:
    case EK__OP_LOOKUP:
    default:
        add_memory(p, op, norm_factor(p, op, false) * op->bytes_moved, pass);
    }
}

static void add_gradient(pricer *p, const ek__op *op, ek__pass *pass)
{
    switch (op->kind) {
    case EK__OP_VIEW:
        return;
    case EK__OP_COMM:
        add_comm(p, op, true, pass);
        return;
    case EK__OP_MATMUL:
        add_product(p, op, EK_PASS_INPUT, op->backward_flops, op->backward_bytes_moved, pass);
        return;
    case EK__OP_ATTENTION:
        add_attention(p, op, true, pass);
        add_ring(p, op, true, pass);
        return;
    case EK__OP_NORM:
    case EK__OP_ELEMENTWISE:
    case EK__OP_LOOKUP:
    default:
        add_memory(p, op, norm_factor(p, op, true) * op->backward_bytes_moved, pass);
    }
}

/* The gradient of a weight reads the activation and the output's gradient, and writes the weight's size: as many bytes
 * as forward. */
static void add_weight(pricer *p, const ek__op *op, ek__pass *pass)
{
    if (op->weight_flops > 0)
        add_product(p, op, EK_PASS_WEIGHT, op->weight_flops, op->bytes_moved, pass);
}

/* ---- overlap ---- */

/* Hide tensor parallel communication behind the products that it feeds, or behind the other copy of the batch: at most
 * the shorter of the two; of n copies that take turns the last one's is exposed. */
static void hide_tensor(const pricer *p, ek__pass *pass)
{
    const ek_job_parallel *a = &p->job->parallel;
    int copies = a->n_batch_interleave > 1 ? a->n_batch_interleave : a->fine_grain;
    double share = p->job->run.overlap_tensor ? 1 : copies > 1 ? (copies - 1.0) / copies : 0;
    double beside = pass->part[EK_STEP_MATRIX];
    if (copies > 1)
        beside += pass->part[EK_STEP_ATTENTION] + pass->part[EK_STEP_MEMORY];
    double hidden = share * p->device->overlap_tensor * fmin(pass->part[EK_STEP_TENSOR], beside);
    pass->part[EK_STEP_TENSOR] -= hidden;
    pass->hidden_tensor += hidden;
}

/* In the backward pass a product that is cut by columns gathers its input again and sums its input's gradient during
 * the products of the gradients. Of a layer's products about half are cut so. */
static void hide_gradients(const pricer *p, double behind, ek__pass *pass)
{
    if (!p->job->run.overlap_tensor_gradients || p->job->run.overlap_tensor)
        return;
    double hidden = p->device->overlap_tensor * fmin(behind, pass->part[EK_STEP_MATRIX] / 2);
    pass->part[EK_STEP_TENSOR] -= hidden;
    pass->hidden_tensor += hidden;
}

/* Hide all-to-all behind other computing of the layer, or only behind the shared experts' products. */
static void hide_expert(const pricer *p, ek__pass *pass)
{
    const ek_job_model *m = &p->job->model;
    if (p->job->run.overlap_shared && !p->job->run.overlap_expert) {
        double all = 2.0 * m->hidden + 2.0 * m->n_kv_heads * m->head_dim + 3.0 * m->shared_intermediate,
               share = 3.0 * m->shared_intermediate / all;
        pass->part[EK_STEP_EXPERT] -=
            p->device->overlap_share * fmin(pass->part[EK_STEP_EXPERT], share * pass->part[EK_STEP_MATRIX]);
    }
    if (!p->job->run.overlap_expert)
        return;
    double beside = pass->part[EK_STEP_MATRIX] + pass->part[EK_STEP_ATTENTION] + pass->part[EK_STEP_MEMORY] +
                    pass->part[EK_STEP_GROUPED];
    pass->part[EK_STEP_EXPERT] -= p->device->overlap_share * fmin(pass->part[EK_STEP_EXPERT], beside);
}

/* A measured layer's time is a total, including the communication. */
static void scale(ek__pass *pass, double factor)
{
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        pass->part[i] *= factor;
        pass->error[i] *= factor;
    }
    pass->hidden_tensor *= factor;
}

/* ---- a layer ---- */

static double copies_of(const ek_job *job)
{
    return job->parallel.n_batch_interleave > 1 ? job->parallel.n_batch_interleave : 1;
}

static void finish(const pricer *p, double factor, ek__pass *pass)
{
    ek__pass one = *pass;
    hide_tensor(p, &one);
    hide_expert(p, &one);
    scale(&one, factor);
    *pass = (ek__pass){.kernels = 0};
    ek__pass_add(pass, &one, copies_of(p->job));
}

static ek_status lacks(const pricer *p, ek_error *err)
{
    const ek__op *op = p->wants;
    if (op->kind == EK__OP_COMM || op->kind == EK__OP_ATTENTION)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "device '%s' has no link, which %s needs; give its file tiers, as in tiers: [{size: 8, gbs: "
                        "300}, {gbs: 25}]",
                        p->device->name, op->path);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "device '%s' has no peak for %s, which %s runs in; choose another device or another type, or give "
                    "a device file with that peak",
                    p->device->name, in_fp8(p, op) ? "fp8" : ek_dtype_name[type_of(p, op)], op->path);
}

static void price(pricer *p, ek__layer_cost *out)
{
    ek__pass gradient = {.kernels = 0};
    double behind = 0; /* seconds that products may hide */
    for (int i = 0; i < p->graph->n_ops; i++) {
        const ek__op *op = &p->graph->op[i];
        double before = gradient.part[EK_STEP_TENSOR];
        add_forward(p, op, &out->forward);
        add_gradient(p, op, &gradient);
        add_weight(p, op, &out->weight);
        if (op->always_recomputed && op->kind == EK__OP_COMM) /* gathered again for the gradient of a weight */
            add_forward(p, op, &gradient);
        if (op->kind == EK__OP_COMM && runs_beside_products(op))
            behind += gradient.part[EK_STEP_TENSOR] - before;
    }
    out->backward = gradient;
    ek__pass_add(&out->backward, &out->weight, 1);
    hide_gradients(p, behind, &out->backward);
    finish(p, out->factor, &out->forward);
    finish(p, out->factor, &out->backward);
    finish(p, out->factor, &out->weight);
}

ek_status ek__layer_cost_with(const ek_job *job, const ek_device *device, ek__graph_kind kind, ek__graph *graph,
                              ek__layer_cost *out, ek_error *err)
{
    ek__layer_cost layer = {.graph = graph, .kind = kind, .factor = ek__layer_factor(job, device, kind)};
    pricer p = {.job = job, .device = device, .graph = graph, .kind = kind};
    price(&p, &layer);
    if (p.missing)
        return lacks(&p, err);
    *out = layer;
    return EK_OK;
}

ek_status ek__layer_cost_of(const ek_job *job, const ek_device *device, ek__graph_kind kind, ek__layer_cost *out,
                            ek_error *err)
{
    ek__graph *graph = ek__alloc(1, sizeof *graph);
    if (!graph)
        return ek__no_memory(err);
    ek__graph_build(job, kind, graph);
    ek_status status = ek__layer_cost_with(job, device, kind, graph, out, err);
    if (status)
        free(graph);
    return status;
}

void ek__layer_cost_clear(ek__layer_cost *layer)
{
    free(layer->graph);
    *layer = (ek__layer_cost){.factor = 1};
}

/* ---- recomputation ---- */

void ek__layer_run(const ek_job *job, const ek_device *device, const ek__layer_cost *layer, const bool *runs,
                   ek__pass *out)
{
    ek__pass pass = {.kernels = 0};
    pricer p = {.job = job, .device = device, .graph = layer->graph};
    for (int i = 0; i < layer->graph->n_ops; i++)
        if (runs[i])
            add_forward(&p, &layer->graph->op[i], &pass);
    *out = pass;
}

void ek__layer_finish_again(const ek_job *job, const ek_device *device, const ek__layer_cost *layer,
                            const ek__pass *run, ek__pass *out)
{
    pricer p = {.job = job, .device = device, .graph = layer->graph};
    ek__pass pass = *run;
    finish(&p, layer->factor, &pass);
    *out = (ek__pass){
        .kernels = pass.kernels, .near = pass.near, .weight = pass.weight, .hidden_tensor = pass.hidden_tensor};
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        if (pass.part[i] > 0)
            put(out, EK_STEP_RECOMPUTE, pass.part[i], pass.error[i] / pass.part[i], pass.basis[i]);
}

static void price_again(const ek_job *job, const ek_device *device, ek__layer_cost *layer, ek__recompute what,
                        ek__pass *out)
{
    bool runs[EK__MAX_OPS];
    ek__pass pass;
    ek__graph_run_again(job, layer->graph, what, runs);
    /* Casts that are repeated for every recomputation are part of the operator that reads them; gathers are part of the
     * backward pass. */
    for (int i = 0; i < layer->graph->n_ops; i++)
        runs[i] = runs[i] && (what.full || !layer->graph->op[i].always_recomputed);
    ek__layer_run(job, device, layer, runs, &pass);
    ek__layer_finish_again(job, device, layer, &pass, out);
}

const ek__pass *ek__layer_again(const ek_job *job, const ek_device *device, ek__layer_cost *layer, ek__recompute what)
{
    for (int i = 0; i < layer->n_again; i++)
        if (layer->again[i].what.full == what.full && layer->again[i].what.patterns == what.patterns)
            return &layer->again[i].pass;
    int at = layer->n_again < EK__MAX_AGAIN ? layer->n_again++ : EK__MAX_AGAIN - 1;
    layer->again[at].what = what;
    price_again(job, device, layer, what, &layer->again[at].pass);
    return &layer->again[at].pass;
}
