/* Builds the programs that a job's stages run. Layers of one kind with equal recomputation share a program, so there
 * are few programs for any number of layers; profiles of whole blocks are sums over a chunk's runs, so later code reads
 * a layer's events only at a peak. Concurrent copies of a batch (n_batch_interleave) are assumed to run in succession:
 * forward one after the other, backward in the opposite order. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"
#include "memory/allocator.h"
#include "memory/program.h"

struct ek__program_key {
    ek__graph_kind kind;
    ek__hold hold;
    uint64_t patterns;
};
typedef ek__program_key key;

typedef struct builder {
    const ek_job *job;
    ek__job_programs *programs;
    int64_t border; /* bytes between layers, as in the graphs */
    ek_error *err;
} builder;

ek__graph_kind ek__layer_graph_kind(const ek_job *job, int layer)
{
    const ek_job_model *m = &job->model;
    assert(layer >= 0 && layer < m->n_layers + m->n_prediction_layers);
    if (layer >= m->n_layers)
        return EK__GRAPH_PREDICTION;
    if (m->n_experts == 0 || layer < m->n_dense_layers)
        return EK__GRAPH_DENSE;
    int period = m->expert_period > 1 ? m->expert_period : 1;
    return (layer - m->n_dense_layers) % period == 0 ? EK__GRAPH_EXPERTS : EK__GRAPH_DENSE;
}

/* ---- programs ---- */

static ek_status find_graph(builder *b, ek__graph_kind kind)
{
    assert((unsigned)kind < EK__N_GRAPH_KINDS);
    if (b->programs->graph[kind])
        return EK_OK;
    ek__graph *graph = ek__alloc(1, sizeof *graph);
    if (!graph)
        return ek__no_memory(b->err);
    ek__graph_build(b->job, kind, graph);
    b->programs->graph[kind] = graph;
    b->programs->bytes[kind] = ek__graph_persistent(b->job, graph);
    return EK_OK;
}

static ek_status add_program(builder *b, key k, const ek__program **out)
{
    ek__job_programs *programs = b->programs;
    size_t n = (size_t)programs->n_programs;
    ek__program **grown = ek__with_room(programs->program, &programs->program_capacity, n + 1, sizeof(ek__program *));
    if (!grown)
        return ek__no_memory(b->err);
    programs->program = grown;
    key *keys = ek__with_room(programs->key, &programs->key_capacity, n + 1, sizeof *keys);
    if (!keys)
        return ek__no_memory(b->err);
    programs->key = keys;
    bool recomputed[EK__MAX_OPS] = {false};
    ek__recompute what = {.full = k.hold == EK__HOLD_INPUT, .patterns = k.patterns};
    ek__graph_recomputed(b->job, programs->graph[k.kind], what, recomputed);
    ek_status status = ek__program_compile(b->job, programs->graph[k.kind], recomputed, k.hold,
                                           b->job->schedule->splits_backward, b->border, &grown[n], b->err);
    if (status)
        return status;
    keys[n] = k;
    grown[n]->number = (int)n;
    programs->n_programs++;
    *out = grown[n];
    return EK_OK;
}

static ek_status find_program(builder *b, key k, const ek__program **out)
{
    const key *keys = b->programs->key;
    for (int i = b->programs->n_programs - 1; i >= 0 && keys; i--)
        if (keys[i].kind == k.kind && keys[i].hold == k.hold && keys[i].patterns == k.patterns) {
            *out = b->programs->program[i];
            return EK_OK;
        }
    ek_status status = find_graph(b, k.kind);
    return status ? status : add_program(b, k, out);
}

/* ---- chunks ---- */

/* Patterns that apply to a layer; for one recomputed whole only those that exclude operators. */
static uint64_t patterns_of(const ek_job *job, int cell, int layer, bool full)
{
    uint64_t bits = 0;
    assert(job->n_patterns <= EK_MAX_PATTERNS);
    for (int i = 0; i < job->n_patterns; i++) {
        const ek_pattern *pattern = &job->pattern[i];
        bool excludes = pattern->kind == EK_PATTERN_SELECT_EXCLUDE || pattern->kind == EK_PATTERN_COMM_EXCLUDE;
        if (layer < pattern->layers[cell] && (!full || excludes))
            bits |= UINT64_C(1) << i;
    }
    return bits;
}

static int group_size(const ek_job *job)
{
    return job->full_group > 1 ? job->full_group : 1;
}

/* Programs of one entry: the forward one, and the backward one if it differs. */
typedef struct pair {
    const ek__program *forward, *backward;
} pair;

static ek_status find_layer(builder *b, int cell, int layer, ek__graph_kind kind, pair *out)
{
    const ek_job *job = b->job;
    bool full = layer < job->plan.full[cell];
    if (!full || group_size(job) == 1) {
        key k = {kind, full ? EK__HOLD_INPUT : EK__HOLD_NEEDED, patterns_of(job, cell, layer, full)};
        ek_status status = find_program(b, k, &out->forward);
        out->backward = out->forward;
        return status;
    }
    bool first = layer % group_size(job) == 0;
    ek_status status = find_program(b, (key){kind, first ? EK__HOLD_FIRST : EK__HOLD_NOTHING, 0}, &out->forward);
    return status ? status : find_program(b, (key){kind, EK__HOLD_NEEDED, 0}, &out->backward);
}

static void add_run(ek__chunk_programs *chunk, ek_block_kind block, const ek__program *program, ek_block_kind part,
                    int entry)
{
    assert(chunk->n_runs[block] < 2 * chunk->n && entry >= 0 && entry < chunk->n);
    chunk->run[block][chunk->n_runs[block]++] = (ek__run){program, (int16_t)part, (int16_t)entry, false};
}

/* The backward passes of entries from `to` down to `from`, after a forward pass of all of them if they are a group. */
static void add_backward(ek__chunk_programs *chunk, const pair *pairs, int from, int to, bool split)
{
    assert(from >= 0 && from <= to && to < chunk->n);
    bool again = pairs[from].forward != pairs[from].backward;
    for (int e = from; e <= to && again; e++)
        add_run(chunk, EK_BACKWARD, pairs[e].backward, EK_FORWARD, e);
    if (again)
        chunk->run[EK_BACKWARD][chunk->n_runs[EK_BACKWARD] - 1].drops_output = true;
    for (int e = to; e >= from; e--) {
        add_run(chunk, EK_BACKWARD, pairs[e].backward, EK_BACKWARD, e);
        if (split)
            add_run(chunk, EK_BACKWARD_WEIGHT, pairs[e].backward, EK_BACKWARD_WEIGHT, e);
    }
}

/* First entry of an entry's group. */
static int group_of(const ek_job *job, const ek__chunk_programs *chunk, const pair *pairs, int entry)
{
    if (pairs[entry].forward == pairs[entry].backward)
        return entry;
    return entry - chunk->layer[entry] % group_size(job);
}

static void make_runs(const ek_job *job, ek__chunk_programs *chunk, const pair *pairs)
{
    for (int e = 0; e < chunk->n; e++) {
        chunk->program[e] = pairs[e].backward;
        add_run(chunk, EK_FORWARD, pairs[e].forward, EK_FORWARD, e);
    }
    for (int to = chunk->n - 1; to >= 0;) {
        int from = group_of(job, chunk, pairs, to);
        add_backward(chunk, pairs, from, to, job->schedule->splits_backward);
        to = from - 1;
    }
}

static ek_status alloc_chunk(ek__chunk_programs *chunk, int n, ek_error *err)
{
    size_t size = (size_t)n + 1;
    chunk->program = ek__alloc(size, sizeof(const ek__program *));
    chunk->layer = ek__alloc(size, sizeof *chunk->layer);
    bool fine = chunk->program && chunk->layer;
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++) {
        chunk->run[k] = ek__alloc(2 * size, sizeof *chunk->run[k]);
        fine = fine && chunk->run[k];
    }
    return fine ? EK_OK : ek__no_memory(err);
}

static ek_status find_end(builder *b, ek__chunk_programs *chunk, ek__graph_kind kind, int layer, pair *pairs)
{
    pair *at = &pairs[chunk->n];
    ek_status status = find_program(b, (key){kind, EK__HOLD_NEEDED, 0}, &at->forward);
    at->backward = at->forward;
    chunk->layer[chunk->n++] = layer;
    chunk->n_of_kind[kind]++;
    return status;
}

/* @param first  the chunk's first layer in the model */
static ek_status fill_chunk(builder *b, int position, int cell, int first)
{
    const ek_job *job = b->job;
    ek__chunk_programs *chunk = &b->programs->chunk[cell];
    int n_layers = job->plan.layers[cell];
    assert(n_layers >= 0 && job->plan.full[cell] >= 0 && job->plan.full[cell] <= n_layers);
    pair *pairs = ek__alloc((size_t)n_layers + 2, sizeof *pairs);
    ek_status status = pairs ? alloc_chunk(chunk, n_layers + 2, b->err) : ek__no_memory(b->err);
    if (!status && position == 0)
        status = find_end(b, chunk, EK__GRAPH_EMBEDDING, -1, pairs);
    for (int j = 0; j < n_layers && !status; j++) {
        ek__graph_kind kind = ek__layer_graph_kind(job, first + j);
        status = find_layer(b, cell, j, kind, &pairs[chunk->n]);
        chunk->layer[chunk->n++] = j;
        chunk->n_of_kind[kind]++;
    }
    if (!status && position == b->programs->n_cells - 1)
        status = find_end(b, chunk, EK__GRAPH_HEAD, n_layers, pairs);
    assert(status || chunk->n == n_layers + (position == 0) + (position == b->programs->n_cells - 1));
    if (!status)
        make_runs(job, chunk, pairs);
    free(pairs);
    return status;
}

/* ---- borders ---- */

/* Are the chunks at two successive model positions on different stages? */
static bool passes_on(const ek_job *job, int n_cells, int position)
{
    if (position < 0 || position >= n_cells - 1)
        return false;
    int p = job->plan.n_stages;
    ek_placement placement = job->schedule->placement;
    return ek_cell_at(placement, p, position) % p != ek_cell_at(placement, p, position + 1) % p;
}

/* ---- profiles of blocks ---- */

typedef struct sum {
    ek__profile_of_part profile;
    int64_t now;
    int n;
} sum;

static void add_bytes(sum *s, int64_t bytes)
{
    s->now += bytes;
    if (s->now > s->profile.peak) {
        s->profile.peak = s->now;
        s->profile.peak_event = s->n; /* before that run; after the last one if there is none */
    }
}

static void add_copy(const ek__job_programs *programs, const ek__chunk_programs *chunk, int kind, bool first, sum *s)
{
    for (const ek__run *run = chunk->run[kind]; run < chunk->run[kind] + chunk->n_runs[kind]; run++) {
        const ek__profile_of_part *part = first ? &run->program->first[run->part] : &run->program->profile[run->part];
        if (s->now + part->peak > s->profile.peak) {
            s->profile.peak = s->now + part->peak;
            s->profile.peak_event = s->n;
        }
        s->now += part->end - (run->drops_output ? programs->border : 0);
        s->n++;
    }
}

static ek__profile_of_part profile_block(const ek_job *job, const ek__job_programs *programs, int cell, int kind,
                                         bool first)
{
    const ek__chunk_programs *chunk = &programs->chunk[cell];
    bool has_mask = cell < job->plan.n_stages; /* chunk 0, of either direction */
    int copies = job->parallel.n_batch_interleave > 1 ? job->parallel.n_batch_interleave : 1;
    int64_t mask = has_mask ? programs->mask * copies : 0;
    int64_t take = kind == EK_FORWARD && chunk->receives ? programs->border
                   : kind == EK_BACKWARD && chunk->sends ? programs->border_gradient
                                                         : 0;
    int64_t give = kind == EK_FORWARD && chunk->sends       ? programs->border
                   : kind == EK_BACKWARD && chunk->receives ? programs->border_gradient
                                                            : 0;
    sum s = {.profile = {.peak_event = -1}};
    if (kind == EK_FORWARD)
        add_bytes(&s, mask);
    for (int copy = 0; copy < copies; copy++) {
        if (chunk->n == 0) /* it passes its input on: count copies instead of runs */
            s.n = copy;
        add_bytes(&s, take);
        add_copy(programs, chunk, kind, first && copy == 0, &s);
        s.now -= give;
    }
    if (kind == EK_BACKWARD)
        s.now -= mask;
    s.profile.end = s.now;
    assert(s.profile.peak >= s.profile.end && s.profile.peak >= 0);
    return s.profile;
}

static void finish_chunk(const ek_job *job, ek__job_programs *programs, int position)
{
    int cell = ek_cell_at(job->schedule->placement, job->plan.n_stages, position);
    ek__chunk_programs *chunk = &programs->chunk[cell];
    chunk->receives = passes_on(job, programs->n_cells, position - 1);
    chunk->sends = passes_on(job, programs->n_cells, position);
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++) {
        chunk->block[k] = profile_block(job, programs, cell, k, false);
        chunk->first_block[k] = profile_block(job, programs, cell, k, true);
    }
}

/* ---- all programs ---- */

static ek_status fill(builder *b)
{
    const ek_job *job = b->job;
    ek__job_programs *programs = b->programs;
    int first = 0;
    ek_status status = EK_OK;
    for (int q = 0; q < programs->n_cells && !status; q++) {
        int cell = ek_cell_at(job->schedule->placement, job->plan.n_stages, q);
        status = fill_chunk(b, q, cell, first);
        first += job->plan.layers[cell];
    }
    if (status)
        return status;
    assert(first == job->model.n_layers + job->model.n_prediction_layers && programs->n_programs > 0);
    programs->border = programs->program[0]->buffer[EK__BUFFER_INPUT].bytes;
    programs->border_gradient = programs->program[0]->buffer[EK__BUFFER_INPUT_GRADIENT].bytes;
    for (int q = 0; q < programs->n_cells; q++)
        finish_chunk(job, programs, q);
    return EK_OK;
}

/* The tensor between layers is the decoder's input, independent of its name in the ends of the model. */
static int64_t find_border_bytes(const ek__job_programs *programs, const ek_job *job)
{
    const ek__graph *graph = programs->graph[ek__layer_graph_kind(job, 0)];
    assert(graph && graph->input >= 0);
    return graph->tensor[graph->input].bytes;
}

static ek_status find_border(builder *b)
{
    ek_status status = find_graph(b, ek__layer_graph_kind(b->job, 0));
    if (!status)
        b->border = find_border_bytes(b->programs, b->job);
    return status;
}

ek_status ek__job_programs_new(const ek_job *job, ek__job_programs **out, ek_error *err)
{
    ek__job_programs *programs = ek__alloc(1, sizeof *programs);
    if (!programs)
        return ek__no_memory(err);
    builder b = {.job = job, .programs = programs, .err = err};
    int n_cells = job->plan.n_stages * job->plan.n_chunks;
    assert(n_cells >= 1 && job->plan.n_chunks <= EK_MAX_CHUNKS);
    programs->mask = ek__mask_bytes(job);
    programs->chunk = ek__alloc((size_t)n_cells, sizeof *programs->chunk);
    ek_status status = programs->chunk ? EK_OK : ek__no_memory(err);
    if (!status) {
        programs->n_cells = n_cells;
        status = find_border(&b);
    }
    if (!status)
        status = fill(&b);
    if (status)
        ek__job_programs_free(programs);
    else
        *out = programs;
    return status;
}

static void clear_chunk(ek__chunk_programs *chunk)
{
    free(chunk->program);
    free(chunk->layer);
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
        free(chunk->run[k]);
    *chunk = (ek__chunk_programs){0};
}

ek_status ek__job_programs_set_chunk(ek__job_programs *programs, const ek_job *job, int position, int first,
                                     ek_error *err)
{
    builder b = {.job = job, .programs = programs, .border = find_border_bytes(programs, job), .err = err};
    assert(position >= 0 && position < programs->n_cells && first >= 0);
    int cell = ek_cell_at(job->schedule->placement, job->plan.n_stages, position);
    clear_chunk(&programs->chunk[cell]);
    ek_status status = fill_chunk(&b, position, cell, first);
    if (!status)
        finish_chunk(job, programs, position);
    return status;
}

void ek__job_programs_free(ek__job_programs *programs)
{
    if (!programs)
        return;
    for (int i = 0; i < programs->n_cells && programs->chunk; i++)
        clear_chunk(&programs->chunk[i]);
    free(programs->key);
    for (int i = 0; i < programs->n_programs; i++)
        ek__program_free(programs->program[i]);
    for (int i = 0; i < EK__N_GRAPH_KINDS; i++)
        free(programs->graph[i]);
    free(programs->chunk);
    free(programs->program);
    free(programs);
}
