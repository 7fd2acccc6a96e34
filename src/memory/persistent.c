/* Computes a stage's persistent memory, held for the whole step: weights, gathered weights, gradient buffers, optimizer
 * states, and the constants its layers read. Parameter by parameter, since the ranks that share one, and whether it is
 * cut at all, depend on its shape; each tensor is rounded up as the allocator does. Optimizer states count as one
 * tensor. */
#include <assert.h>
#include <math.h>

#include "memory/allocator.h"
#include "memory/program.h"

/* Megatron's distributed optimizer cuts flat buffers of all parameters over the data and context ranks: shapes do not
 * matter to it, and each tensor rank has states of the parameters that all of them hold. PyTorch's FSDP pads parameters
 * that do not divide, and shards over the same ranks. */
static bool cuts_flat_buffers(const ek_job *job)
{
    return job->framework == EK_MEGATRON || job->framework == EK_MINDSPEED || job->framework == EK_TORCHTITAN;
}

int64_t ek__state_bytes(const ek_job *job, const ek__parameter *parameter, int state)
{
    bool as_others = state == ek_dtype_bytes(job->types.param);
    return as_others && !cuts_flat_buffers(job) ? ek_dtype_bytes(parameter->dtype) : state;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    assert(a > 0 && b >= 0);
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* If the group does not divide the first dimension, the largest part of the group that does shards the parameter:
 * assumed, since the last stage of the published dry run has no room for a head with whole states. */
int64_t ek__parameter_shards(const ek_job *job, const ek__parameter *parameter)
{
    const ek_job_parallel *p = &job->parallel;
    const ek_job_states *states = &job->states;
    bool data_only = cuts_flat_buffers(job) && !parameter->expert;
    int64_t group = (int64_t)p->data * p->context * (parameter->copies > 1 && !data_only ? parameter->copies : 1);
    if (!data_only && parameter->table && p->table_split > 1)
        group = (int64_t)p->data * p->context * p->tensor / p->table_split;
    if (parameter->expert && p->expert > 1)
        group = group % p->expert == 0 ? group / p->expert : 1;
    if (states->shard_size > 0 && group % states->shard_size == 0)
        group = states->shard_size;
    if (states->instances > 1 && group % states->instances == 0)
        group /= states->instances;
    assert(group >= 1);
    if (parameter->exempt || ((parameter->table || parameter->tied) && !states->shard_table))
        return 1;
    if (parameter->elements * ek__state_bytes(job, parameter, states->weight) < states->shard_threshold)
        return 1;
    return cuts_flat_buffers(job) ? group : common_divisor(group, parameter->first_dimension);
}

/* Elements of a state's shard; flat buffers are padded to whole elements. */
static int64_t shard_bytes(int64_t elements, int64_t bytes, int64_t shards)
{
    assert(elements >= 0 && bytes >= 0 && shards >= 1);
    return ek__aligned((elements + shards - 1) / shards * bytes);
}

bool ek__op_in_compute_type(const ek__op *op)
{
    return op->kind != EK__OP_NORM && op->kind != EK__OP_LOOKUP;
}

/* Copies of cut weights are made again for each pass. */
static bool keeps_8_bits(const ek_job *job, const ek__parameter *parameter)
{
    return job->framework == EK_MEGATRON && !job->states.shard_weight && ek__parameter_in_8_bits(job, parameter);
}

/* --fp8-param-gather: the parameter itself is in 8 bits. */
static bool is_stored_in_8_bits(const ek_job *job, const ek__parameter *parameter)
{
    return job->run.fp8_gather && keeps_8_bits(job, parameter);
}

int ek__stored_bytes(const ek_job *job, const ek__parameter *parameter)
{
    return is_stored_in_8_bits(job, parameter) ? 1 : (int)ek__state_bytes(job, parameter, job->states.weight);
}

int ek__copy_bytes(const ek_job *job, const ek__parameter *parameter)
{
    int copies = keeps_8_bits(job, parameter) ? job->rules.fp8_copies : 0;
    assert(copies >= 0);
    return copies > 0 && is_stored_in_8_bits(job, parameter) ? copies - 1 : copies;
}

int64_t ek__gathered_bytes(const ek_job *job, const ek__parameter *parameter, bool in_compute_type)
{
    /* Published peaks of stages with permanently gathered weights imply at least the compute type. */
    if (job->run.fp8_gather && job->rules.weight_gather == EK_GATHER_LAYER && ek__parameter_in_8_bits(job, parameter))
        return 1;
    if (job->rules.gather_after_cast && in_compute_type)
        return ek_dtype_bytes(job->types.compute);
    return ek__state_bytes(job, parameter, job->states.gathered ? job->states.gathered : job->states.weight);
}

static int64_t gathered_bytes(const ek_job *job, const ek__graph *graph, int parameter)
{
    bool in_compute_type = false;
    assert(parameter >= 0 && parameter < graph->n_parameters);
    for (int o = 0; o < graph->n_ops; o++)
        in_compute_type |= graph->op[o].parameter == parameter && ek__op_in_compute_type(&graph->op[o]);
    return ek__gathered_bytes(job, &graph->parameter[parameter], in_compute_type);
}

bool ek__gathered_for_step(const ek_job *job, const ek__parameter *parameter)
{
    ek_gather when = job->rules.weight_gather;
    return when == EK_GATHER_STEP || (when == EK_GATHER_LAYER && job->states.gathered_ends && parameter->end);
}

static void add_parameter(const ek_job *job, const ek__graph *graph, int number, ek__persistent_bytes *sum)
{
    const ek__parameter *parameter = &graph->parameter[number];
    const ek_job_states *states = &job->states;
    int64_t shards = ek__parameter_shards(job, parameter), n = parameter->elements;
    int64_t gradient = states->gradient > 0 ? ek__state_bytes(job, parameter, states->gradient) : 0;
    sum->weight += shard_bytes(n, ek__stored_bytes(job, parameter), states->shard_weight ? shards : 1) +
                   ek__aligned(n * ek__copy_bytes(job, parameter));
    sum->gradient += shard_bytes(n, gradient, states->shard_gradient ? shards : 1);
    if (gradient > 0 && shards > 1 && states->shard_weight && !states->shard_gradient && states->scattered_bytes > 0)
        sum->gradient += shard_bytes(n, ek__state_bytes(job, parameter, states->weight), shards); /* once reduced */
    int optimizer = job->run.offload_optimizer ? 0 : states->optimizer;
    sum->optimizer += shard_bytes(n, optimizer, states->shard_optimizer ? shards : 1);
    if (states->shard_weight && shards > 1 && states->gathered > 0 && ek__gathered_for_step(job, parameter))
        sum->gathered += ek__aligned(n * gathered_bytes(job, graph, number));
    assert(sum->weight >= 0 && sum->gradient >= 0 && sum->optimizer >= 0 && sum->gathered >= 0);
}

/* `has_table`: the table of a tied head is already on the stage. */
static ek__persistent_bytes static_of(const ek_job *job, const ek__graph *graph, bool has_table)
{
    ek__persistent_bytes sum = {0};
    for (int i = 0; i < graph->n_parameters; i++)
        if (!graph->parameter[i].tied || !has_table)
            add_parameter(job, graph, i, &sum);
    return sum;
}

ek__persistent_bytes ek__graph_persistent(const ek_job *job, const ek__graph *graph)
{
    return static_of(job, graph, job->parallel.pipeline == 1);
}

static void add(ek__persistent_bytes *sum, ek__persistent_bytes more)
{
    sum->weight += more.weight;
    sum->gathered += more.gathered;
    sum->gradient += more.gradient;
    sum->optimizer += more.optimizer;
}

ek__persistent_bytes ek__stage_persistent(const ek_job *job, const ek__job_programs *programs, int stage)
{
    ek__persistent_bytes sum = {0};
    bool has_table = false;
    for (int i = 0; i < ek__stage_n_chunks(job); i++) {
        const ek__chunk_programs *chunk = &programs->chunk[ek__stage_cell(job, stage, i)];
        for (int k = 0; k < EK__N_GRAPH_KINDS; k++) {
            const ek__graph *graph = programs->graph[k];
            if (!graph || chunk->n_of_kind[k] == 0)
                continue;
            bool shared = k == EK__GRAPH_HEAD && has_table;
            ek__persistent_bytes one = shared ? static_of(job, graph, true) : programs->bytes[k];
            for (int j = 0; j < chunk->n_of_kind[k]; j++)
                add(&sum, one);
            has_table = has_table || k == EK__GRAPH_EMBEDDING;
        }
    }
    return sum;
}

/* ---- persistent buffers ---- */

/* Kinds of layers on a stage. */
static bool has_kind(const ek_job *job, const ek__job_programs *programs, int stage, int kind)
{
    assert((unsigned)kind < EK__N_GRAPH_KINDS);
    for (int i = 0; i < ek__stage_n_chunks(job); i++)
        if (programs->graph[kind] && programs->chunk[ek__stage_cell(job, stage, i)].n_of_kind[kind] > 0)
            return true;
    return false;
}

typedef struct shapes {
    int n;
    int64_t rows[EK__MAX_DUMMIES], columns[EK__MAX_DUMMIES];
} shapes;

static void add_shape(shapes *s, const ek__parameter *parameter)
{
    for (int i = 0; i < s->n; i++)
        if (s->rows[i] == parameter->rows && s->columns[i] == parameter->columns)
            return;
    assert(s->n < EK__MAX_DUMMIES && parameter->rows > 0 && parameter->columns > 0);
    s->rows[s->n] = parameter->rows;
    s->columns[s->n++] = parameter->columns;
}

int ek__stage_dummies(const ek_job *job, const ek__job_programs *programs, int stage, int64_t bytes[EK__MAX_DUMMIES])
{
    shapes s = {0};
    bool any = job->rules.dummy_gradients && job->rules.weight_gradient_fused && job->states.gradient > 0;
    for (int k = 0; k < EK__N_GRAPH_KINDS && any; k++)
        for (int i = 0; has_kind(job, programs, stage, k) && i < programs->graph[k]->n_parameters; i++)
            if (programs->graph[k]->parameter[i].rows > 0)
                add_shape(&s, &programs->graph[k]->parameter[i]);
    for (int i = 0; i < s.n; i++)
        bytes[i] = ek__aligned(s.rows[i] * s.columns[i] * ek_dtype_bytes(job->types.compute));
    return s.n;
}

/* Elements of the cut weights of a kind, a table once. */
static double cut_elements(const ek_job *job, const ek__graph *graph)
{
    double sum = 0;
    for (int i = 0; graph && i < graph->n_parameters; i++)
        if (!graph->parameter[i].tied && ek__parameter_shards(job, &graph->parameter[i]) > 1)
            sum += (double)graph->parameter[i].elements;
    return sum;
}

/* Weights that DeepSpeed's stage 3 has gathered in the middle of a step, in addition to those of the running head. A
 * weight followed by x elements is used again after 2 x others, or 3 x if layers are recomputed, since those gather
 * theirs twice; the last ones, for which this is less than the reuse distance, stay. Prefetched weights are added, up
 * to live_elements in total. */
static double gathered_elements(const ek_job *job, const ek__job_programs *programs, int stage)
{
    const ek_job_states *states = &job->states;
    double all = 0, head = 0;
    int n_full = 0;
    if (!(states->live_elements > 0) || job->rules.weight_gather != EK_GATHER_LAYER)
        return 0;
    for (int i = 0; i < ek__stage_n_chunks(job); i++) {
        int cell = ek__stage_cell(job, stage, i);
        n_full += job->plan.full[cell];
        for (int k = 0; k < EK__N_GRAPH_KINDS; k++) {
            double one = cut_elements(job, programs->graph[k]) * programs->chunk[cell].n_of_kind[k];
            all += one;
            head += k == EK__GRAPH_HEAD ? one : 0;
        }
    }
    assert(head >= 0 && head <= all);
    double stay = fmin(all, states->reuse_elements / (n_full > 0 ? 3 : 2));
    double ahead = fmin(fmin(states->prefetch_elements, all - stay), states->live_elements - stay);
    return fmax(stay - head, 0) + fmax(ahead, 0);
}

/* The buffers that DeepSpeed counts in elements. */
static int64_t counted_buffers(const ek_job *job, const ek__job_programs *programs, int stage)
{
    const ek_job_states *states = &job->states;
    double buckets = states->n_buckets * states->bucket_elements * states->weight;
    double gathered = gathered_elements(job, programs, stage) * ek_dtype_bytes(job->types.compute);
    assert(buckets >= 0 && gathered >= 0 && buckets + gathered < 0x1p63);
    return ek__aligned((int64_t)(buckets + gathered));
}

/* The largest layer's, not the ends': layers run at a stage's peak. */
int64_t ek__stage_layer_buffers(const ek_job *job, const ek__job_programs *programs, int stage)
{
    static const ek__graph_kind layers[] = {EK__GRAPH_DENSE, EK__GRAPH_EXPERTS, EK__GRAPH_PREDICTION};
    const ek_job_states *states = &job->states;
    int64_t most = 0;
    for (size_t k = 0; k < sizeof layers / sizeof *layers; k++) {
        if (!has_kind(job, programs, stage, layers[k]))
            continue;
        const ek__graph *graph = programs->graph[layers[k]];
        int64_t sum = 0;
        for (int i = 0; i < graph->n_parameters; i++) {
            const ek__parameter *parameter = &graph->parameter[i];
            bool cut = ek__parameter_shards(job, parameter) > 1;
            bool gathers = cut && states->shard_weight && job->rules.weight_gather == EK_GATHER_LAYER;
            sum += gathers ? states->gathered_ahead * parameter->elements * gathered_bytes(job, graph, i) : 0;
            sum += cut ? states->scattered_bytes * parameter->elements : 0;
        }
        most = sum > most ? sum : most;
    }
    return ek__aligned(most) + counted_buffers(job, programs, stage);
}

int64_t ek__stage_elsewhere(const ek_job *job, const ek__job_programs *programs, int stage)
{
    int64_t most = 0;
    for (int k = 0; k < EK__N_GRAPH_KINDS; k++)
        for (int i = 0; has_kind(job, programs, stage, k) && i < programs->graph[k]->n_tensors; i++) {
            const ek__tensor *tensor = &programs->graph[k]->tensor[i];
            if (tensor->elsewhere && tensor->bytes > most)
                most = tensor->bytes;
        }
    return ek__aligned(most);
}

/* ---- constants ---- */

int64_t ek__mask_bytes(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    bool own = m->mask_given || job->rules.mask_per_micro_batch;
    if (m->no_mask || m->mask_compressed || !own)
        return 0;
    return ek__aligned((int64_t)job->parallel.batch * job->parallel.seq_length * job->parallel.seq_length);
}

/* The mask that all micro-batches share: compressed 2048 x 2048 of a byte, otherwise S x S of compute type. */
static int64_t shared_mask(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    if (m->no_mask)
        return 0;
    if (m->mask_compressed)
        return INT64_C(4) << 20;
    if (m->mask_given)
        return 0;
    return ek__aligned((int64_t)job->parallel.seq_length * job->parallel.seq_length *
                       ek_dtype_bytes(job->types.compute));
}

/* Cosines and sines of all positions, and the matrix that swaps halves of a head. */
static int64_t rotary_tables(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    int64_t size = ek_dtype_bytes(job->types.rotary), width = m->kv_lora_rank > 0 ? m->rope_dim : m->head_dim;
    if (m->position_table)
        return 0;
    return 2 * ek__aligned((int64_t)m->max_position * width * size) + ek__aligned(width * width * size);
}

/* Keys and values of the pieces so far, and their gradients. */
static int64_t sequence_caches(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    const ek_job_model *m = &job->model;
    if (p->n_pieces <= 1)
        return 0;
    int64_t size = ek_dtype_bytes(job->types.compute), tokens = (int64_t)p->batch * p->seq_length / p->context;
    int64_t keys = tokens * m->n_kv_heads * m->head_dim / p->tensor * size;
    int64_t values = tokens * m->n_kv_heads * m->value_dim / p->tensor * size;
    return 2 * (ek__aligned(keys) + ek__aligned(values));
}

int64_t ek__stage_constants(const ek_job *job, int stage)
{
    int64_t layers = 0;
    for (int i = 0; i < ek__stage_n_chunks(job); i++)
        layers += job->plan.layers[ek__stage_cell(job, stage, i)];
    assert(layers >= 0);
    if (layers == 0)
        return 0;
    return shared_mask(job) + rotary_tables(job) + layers * sequence_caches(job);
}

static int64_t mb(double value)
{
    return (int64_t)llround(value * 1048576);
}

int64_t ek__stage_other(const ek_job *job, const ek__job_programs *programs, int s)
{
    const ek_rules *rules = &job->rules;
    bool receives = false;
    for (int i = 0; i < ek__stage_n_chunks(job); i++)
        receives = receives || programs->chunk[ek__stage_cell(job, s, i)].receives;
    int64_t dummy[EK__MAX_DUMMIES], kept = ek__stage_elsewhere(job, programs, s);
    kept += ek__stage_layer_buffers(job, programs, s);
    for (int i = ek__stage_dummies(job, programs, s, dummy) - 1; i >= 0; i--)
        kept += dummy[i];
    return kept + ek__stage_constants(job, s) + mb(rules->workspace_mb) + mb(rules->constant_mb) +
           (receives ? rules->p2p_buffers * programs->border : 0);
}
