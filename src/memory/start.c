/* Lists the requests of a Megatron job around its first step. Sources: get_model and setup_model_and_optimizer of
 * training.py, _ParamAndGradBuffer, DistributedOptimizer and its fp32 shards, FusedAdam of TransformerEngine (moments
 * are made when it first steps), get_dummy_wgrad of TransformerEngine.
 *
 *   weights      one tensor for each; those of experts one for each expert
 *   buffers      with the distributed optimizer all weights of one kind (experts, others) in one tensor, to which the
 *                modules' weights move; the gradients of each kind in one tensor
 *   copies       of weights in 8 bits, made in the first forward pass: requested before it, one tensor for each
 *   masters      the buffer in reverse order of the modules is cut into as many parts as there are ranks; a rank has
 *                fp32 copies of the weights that its part covers, whole or cut
 *   moments      of these copies, two tensors each, which use the memory that the first step left free
 *
 * Ranks differ in the weights that their parts cut, and so in their reserved memory: of four layers of Llama-3 405B on
 * two stages, four ranks each, one reserves 5 % more than another. */
#include "memory/start.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "memory/allocator.h"

typedef struct starter {
    const ek_job *job;
    const ek__job_programs *programs;
    int stage;
    double where;
    ek__start start;
    size_t capacity[EK__N_START];
    struct weight {
        const ek__parameter *of;
        int64_t elements; /* of one tensor */
    } * weight;
    size_t n_weights, weight_capacity;
    ek_error *err;
} starter;

bool ek__starts_as_megatron(const ek_job *job)
{
    return job->framework == EK_MEGATRON && job->rules.allocation == EK_ALLOCATION_CACHING &&
           job->states.gradient > 0 && !job->states.shard_weight && !job->states.shard_gradient;
}

static ek_status ask(starter *s, ek__start_phase phase, int64_t bytes)
{
    ek__start *start = &s->start;
    assert((unsigned)phase < EK__N_START && bytes >= 0);
    if (bytes <= 0)
        return EK_OK;
    int64_t *grown = ek__with_room(start->bytes[phase], &s->capacity[phase], start->n[phase] + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(s->err);
    start->bytes[phase] = grown;
    grown[start->n[phase]++] = ek__aligned(bytes);
    return EK_OK;
}

/* ---- weights, in the order of the modules ---- */

static ek_status add_weight(starter *s, const ek__parameter *parameter)
{
    int64_t one = parameter->rows > 0 ? parameter->rows * parameter->columns : parameter->elements;
    int64_t n = one > 0 ? parameter->elements / one : 0;
    assert(n * one == parameter->elements); /* whole matrices */
    struct weight *grown = ek__with_room(s->weight, &s->weight_capacity, s->n_weights + (size_t)n, sizeof *grown);
    if (!grown)
        return ek__no_memory(s->err);
    s->weight = grown;
    for (int64_t i = 0; i < n; i++)
        grown[s->n_weights++] = (struct weight){parameter, one};
    return EK_OK;
}

static ek_status add_kind(starter *s, ek__graph_kind kind, bool *has_table)
{
    const ek__graph *graph = s->programs->graph[kind];
    ek_status status = EK_OK;
    assert(graph);
    for (int i = 0; i < graph->n_parameters && !status; i++)
        if (!graph->parameter[i].tied || !*has_table)
            status = add_weight(s, &graph->parameter[i]);
    *has_table = *has_table || kind == EK__GRAPH_EMBEDDING;
    return status;
}

static ek_status add_chunk(starter *s, int cell, bool *has_table)
{
    const ek__chunk_programs *chunk = &s->programs->chunk[cell];
    const ek_plan *plan = &s->job->plan;
    ek_placement placement = s->job->schedule->placement;
    int first = 0, n_layers = plan->layers[cell];
    /* The placement's map is its own inverse. */
    for (int q = ek_cell_at(placement, plan->n_stages, cell) - 1; q >= 0; q--)
        first += plan->layers[ek_cell_at(placement, plan->n_stages, q)];
    ek_status status = EK_OK;
    for (int e = 0; e < chunk->n && !status; e++) {
        int layer = chunk->layer[e];
        status = add_kind(s,
                          layer < 0           ? EK__GRAPH_EMBEDDING
                          : layer >= n_layers ? EK__GRAPH_HEAD
                                              : ek__layer_graph_kind(s->job, first + layer),
                          has_table);
    }
    return status;
}

static int64_t weight_bytes(const starter *s, const struct weight *weight)
{
    return weight->elements * ek__stored_bytes(s->job, weight->of);
}

/* ---- the requests ---- */

static ek_status ask_weights(starter *s)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < s->n_weights && !status; i++)
        status = ask(s, EK__START_WEIGHTS, weight_bytes(s, &s->weight[i]));
    for (size_t i = 0; i < s->n_weights && !status; i++)
        for (int k = 0; k < ek__copy_bytes(s->job, s->weight[i].of) && !status; k++)
            status = ask(s, EK__START_COPIES, s->weight[i].elements);
    return status;
}

static ek_status ask_buffers(starter *s, bool experts)
{
    int64_t weights = 0, gradients = 0;
    for (size_t i = 0; i < s->n_weights; i++)
        if (s->weight[i].of->expert == experts) {
            weights += weight_bytes(s, &s->weight[i]);
            gradients += s->weight[i].elements * ek__state_bytes(s->job, s->weight[i].of, s->job->states.gradient);
        }
    ek_status status = s->start.gives_weights ? ask(s, EK__START_BUFFERS, weights) : EK_OK;
    return status ? status : ask(s, EK__START_BUFFERS, gradients);
}

/* fp32 copies come first, if there are any; the moments share the rest. */
static ek_status ask_states(starter *s, int64_t elements)
{
    int64_t bytes = s->job->run.offload_optimizer ? 0 : s->job->states.optimizer,
            master = bytes >= 4 && s->job->types.param != EK_FP32 ? 4 : 0;
    assert(elements >= 1 && bytes >= master);
    ek_status status = ask(s, EK__START_MASTERS, elements * master);
    int n_moments = bytes - master > 4 ? 2 : 1;
    for (int i = 0; i < n_moments && !status; i++)
        status = ask(s, EK__START_STATES, elements * (bytes - master) / n_moments);
    return status;
}

/* The part of the buffer that the rank covers. */
static ek_status ask_part(starter *s, bool experts)
{
    int64_t all = 0, ranks = 1, at = 0;
    for (size_t i = 0; i < s->n_weights; i++)
        if (s->weight[i].of->expert == experts) {
            all += s->weight[i].elements;
            ranks = s->job->states.shard_optimizer ? ek__parameter_shards(s->job, s->weight[i].of) : 1;
        }
    assert(ranks >= 1 && s->where >= 0 && s->where <= 1);
    int64_t size = (all + ranks - 1) / ranks, from = (int64_t)llround(s->where * (double)(ranks - 1)) * size;
    ek_status status = EK_OK;
    for (size_t i = s->n_weights; i-- > 0 && !status;) {
        if (s->weight[i].of->expert != experts)
            continue;
        int64_t begin = at > from ? at : from, end = at + s->weight[i].elements;
        at = end;
        end = end < from + size ? end : from + size;
        if (end > begin)
            status = ask_states(s, end - begin);
    }
    assert(status || at == all);
    return status;
}

static ek_status ask_others(starter *s)
{
    int64_t dummy[EK__MAX_DUMMIES], left = (int64_t)(s->job->rules.workspace_mb * 0x1p20), one = INT64_C(32) << 20;
    int n = ek__stage_dummies(s->job, s->programs, s->stage, dummy);
    ek_status status = ask(s, EK__START_WORKSPACES, ek__stage_constants(s->job, s->stage));
    if (!status)
        status = ask(s, EK__START_WORKSPACES, ek__stage_elsewhere(s->job, s->programs, s->stage));
    for (; left > 0 && !status; left -= one)
        status = ask(s, EK__START_WORKSPACES, left < one ? left : one);
    for (int i = n - 1; i >= 0 && !status; i--) /* the head's comes first */
        status = ask(s, EK__START_DUMMIES, dummy[i]);
    return status;
}

static ek_status ask_all(starter *s)
{
    bool has_table = false;
    ek_status status = EK_OK;
    for (int i = 0; i < ek__stage_n_chunks(s->job) && !status; i++)
        status = add_chunk(s, ek__stage_cell(s->job, s->stage, i), &has_table);
    s->start.gives_weights = s->job->states.shard_optimizer;
    if (!status)
        status = ask_weights(s);
    for (int experts = 0; experts < 2 && !status; experts++) {
        status = ask_buffers(s, experts);
        if (!status)
            status = ask_part(s, experts);
    }
    return status ? status : ask_others(s);
}

int ek__start_ranks(const ek_job *job)
{
    return ek__starts_as_megatron(job) && job->states.shard_optimizer ? job->parallel.data * job->parallel.context : 1;
}

ek_status ek__start_new(const ek_job *job, const ek__job_programs *programs, int stage, double where, ek__start *out,
                        ek_error *err)
{
    assert(ek__starts_as_megatron(job) && stage >= 0 && stage < job->plan.n_stages);
    starter s = {.job = job, .programs = programs, .stage = stage, .where = where, .err = err};
    ek_status status = ask_all(&s);
    free(s.weight);
    if (status)
        ek__start_clear(&s.start);
    else
        *out = s.start;
    return status;
}

void ek__start_clear(ek__start *start)
{
    for (int i = 0; i < EK__N_START; i++)
        free(start->bytes[i]);
    *start = (ek__start){0};
}
