/* Caches layers and orders for ek_cost_step(): the cost of a layer depends only on a part of the job, which is the key;
 * the oldest entry is replaced. Graphs depend on less: entries that differ only in the number of micro-batches share
 * them. Saved bytes of a graph's programs also depend on the sharing of its states, which is a separate key. Orders are
 * cached likewise, by schedule and shape. */
#include "cost/step_layers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "memory/program.h"

enum { N_ENTRIES = 128, N_ORDERS = 64 };

/* Padding bytes of a structure do not matter. Without the builtin (gcc 11 has it) a job with different padding is
 * priced again, which costs only time. */
#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
#define CLEAR_PADDING(of) __builtin_clear_padding(of)
#endif
#endif
#ifndef CLEAR_PADDING
#define CLEAR_PADDING(of) (void)(of)
#endif

/* Inputs of a layer's cost. Compared as bytes, so it is zeroed before it is filled, and its padding after; members that
 * differ most often come first. */
typedef struct key {
    ek_job_parallel parallel; /* without data and micro-batches; of the pipeline, whether there is one */
    ek_job_model model;
    ek_job_types types;
    int gradient; /* states.gradient */
    ek_job_run run;
    ek_rules rules;
    ek__ranks group[3]; /* placement of a layer's groups: which of them span nodes depends on the number of devices */
    ek_framework framework;
    ek_family family;
    int n_patterns;
    uint64_t patterns; /* hash of their texts and kinds */
    /* Members that graphs do not depend on. */
    double casts; /* micro-batches that a cast of the weights serves */
    double added; /* ek__layer_gradients_added() */
} key;
enum { GRAPH_KEY = offsetof(key, casts) }; /* bytes of it */

/* Further inputs of a graph's programs: shared weights and gradients, with the number of sharing ranks of each
 * parameter. */
typedef struct sharing {
    bool weight, gradient, waits, gathered_ends, splits; /* waits: for the layer's others to be reduced */
    int weight_bytes, gathered_bytes;
    uint64_t shards; /* hash of each parameter's; 0: neither is shared */
} sharing;

typedef struct measured {
    sharing of;
    ek__graph_kind kind;
    bool is[EK_N_RECOMPUTE];
    ek__layer_bytes bytes[EK_N_RECOMPUTE];
} measured;

/* Data shared by entries with the same graphs. */
typedef struct graphs {
    int users;
    ek__graph *graph[EK__N_GRAPH_KINDS];
    size_t n_measured, capacity;
    measured *measured;
} graphs;

struct ek__step_layers {
    ek_cost_cache *cache;
    key key;
    graphs *graphs;
    bool priced[EK__N_GRAPH_KINDS];
    ek__layer_cost layer[EK__N_GRAPH_KINDS]; /* of those graphs */
};

typedef struct kept_order {
    const ek_schedule *schedule;
    ek_shape shape;
    ek_order *order;
} kept_order;

struct ek_cost_cache {
    const ek_device *device;
    int n, next;
    ek__step_layers *entry[N_ENTRIES];
    int n_orders, next_order;
    kept_order order[N_ORDERS];
};

ek_cost_cache *ek_cost_cache_new(const ek_device *device)
{
    ek_cost_cache *cache = ek__alloc(1, sizeof *cache);
    if (cache)
        cache->device = device;
    return cache;
}

static void drop(graphs *of)
{
    if (--of->users > 0)
        return;
    for (int k = 0; k < EK__N_GRAPH_KINDS; k++)
        free(of->graph[k]);
    free(of->measured);
    free(of);
}

static void clear_layers(ek__step_layers *layers)
{
    if (layers)
        drop(layers->graphs);
    free(layers);
}

void ek_cost_cache_free(ek_cost_cache *cache)
{
    if (!cache)
        return;
    for (int i = 0; i < cache->n; i++)
        clear_layers(cache->entry[i]);
    for (int i = 0; i < cache->n_orders; i++)
        ek_order_free(cache->order[i].order);
    free(cache);
}

void ek_cost_cache_reset(ek_cost_cache *cache, const ek_device *device)
{
    for (int i = 0; i < cache->n; i++)
        memset(cache->entry[i]->priced, 0, sizeof cache->entry[i]->priced);
    cache->device = device;
}

/* ---- layers ---- */

static uint64_t hash_patterns(const ek_job *job)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (int i = 0; i < job->n_patterns; i++) {
        for (const char *c = job->pattern[i].text; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211U;
        hash = (hash ^ (0x100u + (unsigned)job->pattern[i].kind)) * 1099511628211U;
    }
    return hash;
}

static void make_key(const ek_job *job, const ek_device *device, key *out)
{
    static const ek__dimension groups[] = {EK__DIM_TENSOR, EK__DIM_CONTEXT, EK__DIM_EXPERT};
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++)
        out->group[i] = ek__placement(job, device, groups[i]);
    memcpy(&out->model, &job->model, sizeof out->model);
    memcpy(&out->types, &job->types, sizeof out->types);
    memcpy(&out->parallel, &job->parallel, sizeof out->parallel);
    out->gradient = job->states.gradient;
    memcpy(&out->run, &job->run, sizeof out->run);
    out->run.bucket_bytes = out->run.reduce_bytes = 0; /* of a whole stage's gradients */
    memcpy(&out->rules, &job->rules, sizeof out->rules);
    out->casts = job->run.fp8 != EK_FP8_NONE ? job->parallel.n_micro_batches : 0;
    out->added = ek__layer_gradients_added(job);
    out->parallel.data = out->parallel.n_micro_batches = 0;
    out->parallel.pipeline = job->parallel.pipeline > 1; /* a prediction layer's table is the embedding's, or its own */
    out->parallel.n_accumulation = out->parallel.chunk_group = 0;
    out->framework = job->framework;
    out->family = job->family;
    out->n_patterns = job->n_patterns;
    out->patterns = hash_patterns(job);
    CLEAR_PADDING(out);
}

/* The graphs of an entry that has the same ones, or new. NULL: no memory. */
static graphs *graphs_of(ek_cost_cache *cache, const key *wanted)
{
    graphs *found = NULL;
    for (int i = 0; i < cache->n && !found; i++)
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): as below */
        if (memcmp(&cache->entry[i]->key, wanted, GRAPH_KEY) == 0)
            found = cache->entry[i]->graphs;
    if (!found)
        found = ek__alloc(1, sizeof *found);
    if (found)
        found->users++;
    return found;
}

/* A new entry, or the oldest one's. NULL: no memory. */
static ek__step_layers *room_for_one(ek_cost_cache *cache)
{
    if (cache->n == N_ENTRIES) {
        ek__step_layers *oldest = cache->entry[cache->next++ % N_ENTRIES];
        drop(oldest->graphs);
        return oldest;
    }
    ek__step_layers *made = ek__alloc(1, sizeof *made);
    if (made)
        cache->entry[cache->n++] = made;
    return made;
}

ek__step_layers *ek__cost_cache_layers(ek_cost_cache *cache, const ek_job *job)
{
    key wanted;
    make_key(job, cache->device, &wanted);
    for (int i = 0; i < cache->n; i++)
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding is cleared, and -0 instead of 0 is priced
         * again */
        if (memcmp(&cache->entry[i]->key, &wanted, sizeof wanted) == 0)
            return cache->entry[i];
    graphs *shared = graphs_of(cache, &wanted);
    ek__step_layers *made = shared ? room_for_one(cache) : NULL;
    if (!made) {
        if (shared)
            drop(shared);
        return NULL;
    }
    memcpy(&made->key, &wanted, sizeof wanted);
    made->cache = cache;
    made->graphs = shared;
    memset(made->priced, 0, sizeof made->priced);
    return made;
}

static ek_status price(ek__step_layers *layers, const ek_job *job, ek__graph_kind kind, ek_error *err)
{
    ek__graph **graph = &layers->graphs->graph[kind];
    if (layers->priced[kind])
        return EK_OK;
    if (!*graph) {
        if (!(*graph = malloc(sizeof **graph))) /* ek__graph_build() writes only the used part of it */
            return ek__no_memory(err);
        ek__graph_build(job, kind, *graph);
    }
    ek_status status = ek__layer_cost_with(job, layers->cache->device, kind, *graph, &layers->layer[kind], err);
    layers->priced[kind] = status == EK_OK;
    return status;
}

ek_status ek__step_layers_price(ek__step_layers *layers, const ek_job *job, ek_error *err)
{
    int n = job->model.n_layers + job->model.n_prediction_layers;
    ek_status status = price(layers, job, EK__GRAPH_EMBEDDING, err);
    for (int i = 0; i < n && !status; i++)
        status = price(layers, job, ek__layer_graph_kind(job, i), err);
    return status ? status : price(layers, job, EK__GRAPH_HEAD, err);
}

ek__layer_cost *ek__step_layer(ek__step_layers *layers, ek__graph_kind kind)
{
    return &layers->layer[kind];
}

static sharing sharing_of(const ek_job *job, const ek__graph *graph)
{
    const ek_job_states *states = &job->states;
    sharing s = {.weight = states->shard_weight,
                 .gradient = states->shard_gradient,
                 .waits = states->scattered_bytes > 0,
                 .gathered_ends = states->gathered_ends,
                 .splits = job->schedule->splits_backward,
                 .weight_bytes = states->weight,
                 .gathered_bytes = states->gathered};
    for (int i = 0; i < graph->n_parameters && (s.weight || s.gradient); i++)
        s.shards = (s.shards ^ (uint64_t)ek__parameter_shards(job, &graph->parameter[i])) * 1099511628211U + 1;
    return s;
}

static bool same_sharing(const sharing *a, const sharing *b)
{
    return a->shards == b->shards && a->weight == b->weight && a->gradient == b->gradient && a->waits == b->waits &&
           a->gathered_ends == b->gathered_ends && a->splits == b->splits && a->weight_bytes == b->weight_bytes &&
           a->gathered_bytes == b->gathered_bytes;
}

static ek_status measure(const ek_job *job, const ek__graph *graph, ek_recompute recompute, ek__layer_bytes *out,
                         ek_error *err)
{
    bool recomputed[EK__MAX_OPS] = {false};
    ek__program *program;
    ek__recompute what = ek__recompute_of_kind(job, recompute);
    ek__graph_recomputed(job, graph, what, recomputed);
    ek_status status = ek__program_compile(job, graph, recomputed, what.full ? EK__HOLD_INPUT : EK__HOLD_NEEDED,
                                           job->schedule->splits_backward, 0, &program, err);
    if (status)
        return status;
    int64_t peak = program->profile[EK_BACKWARD].peak;
    *out = (ek__layer_bytes){program->kept, peak > 0 ? peak : 0};
    ek__program_free(program);
    return EK_OK;
}

/* The place of a graph's bytes, the last ones first: similar layouts follow one another. NULL: no memory. */
static measured *measured_of(graphs *of, ek__graph_kind kind, const sharing *wanted)
{
    for (size_t i = of->n_measured; i-- > 0;)
        if (of->measured[i].kind == kind && same_sharing(&of->measured[i].of, wanted))
            return &of->measured[i];
    measured *grown = ek__with_room(of->measured, &of->capacity, of->n_measured + 1, sizeof *grown);
    if (!grown)
        return NULL;
    of->measured = grown;
    grown[of->n_measured] = (measured){.of = *wanted, .kind = kind};
    return &grown[of->n_measured++];
}

ek_status ek__step_layer_bytes(ek__step_layers *layers, const ek_job *job, ek__graph_kind kind, ek_recompute recompute,
                               ek__layer_bytes *out, ek_error *err)
{
    const ek__graph *graph = layers->graphs->graph[kind];
    const sharing wanted = sharing_of(job, graph);
    measured *of = measured_of(layers->graphs, kind, &wanted);
    if (!of)
        return ek__no_memory(err);
    if (!of->is[recompute]) {
        ek_status status = measure(job, graph, recompute, &of->bytes[recompute], err);
        if (status)
            return status;
        of->is[recompute] = true;
    }
    *out = of->bytes[recompute];
    return EK_OK;
}

/* ---- orders ---- */

static bool same_shape(const ek_shape *a, const ek_shape *b)
{
    return a->n_stages == b->n_stages && a->n_chunks == b->n_chunks && a->n_micro_batches == b->n_micro_batches &&
           a->n_pieces == b->n_pieces;
}

ek_status ek__step_order(ek__step_layers *layers, const ek_schedule *schedule, const ek_shape *shape, ek_order **out,
                         ek_error *err)
{
    ek_cost_cache *cache = layers->cache;
    for (int i = 0; i < cache->n_orders; i++)
        if (cache->order[i].schedule == schedule && same_shape(&cache->order[i].shape, shape)) {
            *out = cache->order[i].order;
            return EK_OK;
        }
    ek_order *order;
    ek_status status = ek_order_new(schedule, shape, &order, err);
    if (status)
        return status;
    int at = cache->n_orders < N_ORDERS ? cache->n_orders++ : cache->next_order++ % N_ORDERS;
    ek_order_free(cache->order[at].order);
    cache->order[at] = (kept_order){schedule, *shape, order};
    *out = order;
    return EK_OK;
}
