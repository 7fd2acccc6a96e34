/* Finds the shortest plan with given layers in every chunk. If the framework has one rule for all chunks, that is the
 * plan. If it has lists, the ways of each stage that does not fit without recomputation are searched: all lists of
 * their chunks, chunk by chunk, those with the least time first. A choice is abandoned
 *
 *   - if a known path through the blocks is then as long as the best step: the sum over the chunks of the number of
 *     its passes, plus, for the chunks to come, the excess bytes of a moment times the least cost of a byte. Each tried
 *     plan adds its longest path;
 *   - if the saved bytes at some moment exceed the stage's room;
 *   - by its step, then by its peak, fragments included, which is cached for a stage with such layers.
 *
 * So the result is exact, unless a search has too many choices, which is reported. */
#include "layout/whole_plans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/program.h"
#include "memory/stage_peak.h"
#include "simulate/longest_path.h"

enum { MOST_MOMENTS = 24, MOST_PATHS = 24 };            /* of a stage; known at the same time */
enum { MOST_CHOICES = 400000, MOST_EVALUATED = 20000 }; /* of one query */
enum { EVALUATED = 100, EVENTS = 4 }; /* choices that count for a plan; events that count for a choice */

#define MS_PER_S 1e3
#define UNKNOWN  (-2) /* peaks */
#define TOO_MUCH (-1)

/* Known peaks, by the ways of a stage's chunks: a way's number, plus n_ways[0] times that of the others. */
typedef struct peaks {
    size_t n, n_slots;
    uint64_t *code; /* [n_slots] and 1; 0: free */
    int64_t *peak;  /* bytes, or TOO_MUCH */
} peaks;

/* A stage with some layers. */
typedef struct asked {
    uint64_t hash;
    bool listed; /* its ways are */
    size_t n_ways[EK_MAX_CHUNKS];
    ek__chunk_way *way[EK_MAX_CHUNKS];
    int64_t kept[EK_MAX_CHUNKS]; /* bytes of a micro-batch, the least of any way */
    peaks peaks;
} asked;

/* A path: length >= fixed + sum over cells of often[cell] x recomputed seconds there + the time after the last backward
 * pass of its last stage. */
typedef struct known_path {
    double fixed, *often; /* [n_cells] */
    int end;
} known_path;

struct ek__whole_plans {
    ek_job job; /* with the plan under test */
    ek__recompute_rule rule;
    const ek_device *device;
    ek_cost_cache *cache;
    const ek__bound_figures *figures;
    const ek__mixes *mixes;
    const ek_order *order; /* theirs */
    const ek__split_options *options;
    ek__split *best;
    ek__stage_pricer *pricer;
    ek__job_programs *programs;
    ek__ways ways;
    ek_block *blocks;
    size_t n_blocks;
    int p, v, n_cells;
    bool alike;      /* layers of one kind: the first layer of a chunk is irrelevant */
    int *first;      /* [n_cells] layers before each, of the plan under test */
    int *first_of;   /* [v] of one stage */
    int64_t *actual; /* [p] */
    ek__chunk_price *chunk;
    double exposed[2][EK__MOST_KINDS][EK_MAX_CHUNKS], ends[2][2]; /* ek__bound_exposed(): other stages, the first */
    double *duration, *tail, *update;                             /* [n_slots], [p] and [p] of the plan under test */
    double *least_tail;                                           /* [p] of plans with the choices so far */
    ek__path walked;
    size_t n_asked, n_slots;
    asked **slot; /* [n_slots] open-addressed by hash */
    /* For the given layers. */
    asked **of;         /* [p] */
    int n_open, *open;  /* [p] stages with several ways */
    uint64_t *code;     /* [p] the choices */
    double *recomputed; /* [n_cells] seconds */
    bool waits;         /* some chunk waits for weights or gradients */
    double most_update, upper;
    int *n_moments; /* [p] of open stages: moments at which a chunk's backward pass begins, undominated */
    double *moment; /* [p][MOST_MOMENTS][v] micro-batches alive then */
    double *over;   /* [p][MOST_MOMENTS] excess bytes without recomputation */
    /* [p][MOST_PATHS][v + 1][MOST_MOMENTS] of open stages: the least seconds by which a path is longer for each byte
     * less at a moment, by the chunks from c on. */
    double *price;
    int n_paths, n_choices, n_evaluated;
    int64_t n_left; /* choices */
    known_path path[MOST_PATHS];
    bool exact;
    ek_error *err;
};

/* ---- beginning ---- */

static bool make_room(ek__whole_plans *w)
{
    size_t p = (size_t)w->p, cells = (size_t)w->n_cells, slots = (size_t)ek__order_n_slots(w->order);
    w->first = ek__alloc(cells + (size_t)w->v + 2 * p, sizeof *w->first);
    w->actual = ek__alloc(p, sizeof *w->actual);
    w->chunk = ek__alloc((size_t)w->v, sizeof *w->chunk);
    w->duration = ek__alloc(5 * slots + 3 * p + (1 + MOST_PATHS) * cells, sizeof *w->duration);
    w->over = ek__alloc(p * MOST_MOMENTS * (1 + (size_t)w->v), sizeof *w->over);
    w->price = ek__alloc(p * MOST_PATHS * ((size_t)w->v + 1) * MOST_MOMENTS, sizeof *w->price);
    w->of = ek__alloc(p, sizeof *w->of);
    w->code = ek__alloc(p, sizeof *w->code);
    if (!w->first || !w->actual || !w->chunk || !w->duration || !w->over || !w->price || !w->of || !w->code)
        return false;
    w->first_of = w->first + cells;
    w->open = w->first_of + w->v;
    w->n_moments = w->open + p;
    w->moment = w->over + p * MOST_MOMENTS;
    w->walked = (ek__path){.count = w->duration + slots,
                           .before = w->duration + 2 * slots,
                           .after = w->duration + 3 * slots,
                           .travel = w->duration + 4 * slots};
    w->tail = w->duration + 5 * slots;
    w->update = w->tail + p;
    w->least_tail = w->update + p;
    w->recomputed = w->least_tail + p;
    for (int k = 0; k < MOST_PATHS; k++)
        w->path[k].often = w->recomputed + (size_t)(1 + k) * cells;
    return true;
}

static ek_status fill(ek__whole_plans *w, ek_error *err)
{
    int n = w->job.model.n_layers + w->job.model.n_prediction_layers;
    w->alike = true;
    for (int i = 1; i < n; i++)
        w->alike = w->alike && ek__layer_graph_kind(&w->job, i) == ek__layer_graph_kind(&w->job, 0);
    for (int first = 0; first < 2; first++)
        ek__bound_exposed(w->figures, w->v, first, w->exposed[first], w->ends[first]);
    if (!make_room(w))
        return ek__no_memory(err);
    ek_status status = ek__stage_pricer_new(&w->job, w->device, w->cache, &w->pricer, err);
    if (!status)
        status = ek__job_programs_new(&w->job, &w->programs, err);
    if (!status)
        status = ek__job_order(&w->job, &w->blocks, &w->n_blocks, err);
    if (!status)
        status = ek__ways_init(&w->ways, &w->job, w->programs, w->pricer, w->rule.kind == EK__RULE_LISTS, err);
    return status;
}

ek_status ek__whole_plans_new(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__recompute_rule rule,
                              const ek__bound_figures *figures, const ek__mixes *mixes,
                              const ek__split_options *options, int64_t choices, ek__split *best, ek__whole_plans **out,
                              ek_error *err)
{
    ek__whole_plans *made = ek__alloc(1, sizeof *made);
    if (!made)
        return ek__no_memory(err);
    made->device = device;
    made->cache = cache;
    made->rule = rule;
    made->figures = figures;
    made->mixes = mixes;
    made->order = mixes->order;
    made->options = options;
    made->n_left = choices;
    made->best = best;
    made->p = job->plan.n_stages;
    made->v = job->plan.n_chunks;
    made->n_cells = made->p * made->v;
    ek_status status = ek__recompute_rule_job(job, rule, &made->job, err);
    if (!status)
        status = fill(made, err);
    if (status)
        ek__whole_plans_free(made);
    else
        *out = made;
    return status;
}

static void free_asked(asked *a)
{
    for (int c = 0; a && c < EK_MAX_CHUNKS; c++)
        free(a->way[c]);
    if (a) {
        free(a->peaks.code);
        free(a->peaks.peak);
    }
    free(a);
}

void ek__whole_plans_free(ek__whole_plans *plans)
{
    if (!plans)
        return;
    for (size_t i = 0; i < plans->n_slots; i++)
        free_asked(plans->slot[i]);
    free(plans->slot);
    free(plans->first);
    free(plans->actual);
    free(plans->chunk);
    free(plans->duration);
    free(plans->price);
    free(plans->over);
    free(plans->of);
    free(plans->code);
    free(plans->blocks);
    ek__ways_clear(&plans->ways);
    ek__job_programs_free(plans->programs);
    ek__stage_pricer_free(plans->pricer);
    ek_job_clear(&plans->job);
    free(plans);
}

/* ---- the step of the plan under test ---- */

/* @param own  only of layers, without their waits for weights and gradients */
static ek_status price_stage(ek__whole_plans *w, int stage, bool own)
{
    for (int c = 0; c < w->v; c++)
        w->first_of[c] = w->first[c * w->p + stage];
    const ek__stage_price price = ek__stage_price_chunks(w->pricer, stage, w->v, w->first_of, w->chunk);
    for (int c = 0; c < w->v; c++) {
        int cell = c * w->p + stage;
        w->duration[cell] = w->chunk[c].forward + (own ? 0 : w->chunk[c].wait_forward);
        w->duration[w->n_cells + cell] = w->chunk[c].backward + (own ? 0 : w->chunk[c].wait_backward);
        w->waits = w->waits || w->chunk[c].wait_forward > 0 || w->chunk[c].wait_backward > 0;
    }
    w->tail[stage] = price.after;
    w->update[stage] = price.update;
    return price.status;
}

/* The least exposed time of gradients after a stage's last backward pass, for any recomputation. */
static double least_tail(const ek__whole_plans *w, int stage)
{
    const bool first = stage == 0;
    double sum = (first ? w->ends[1][0] : 0) + (stage == w->p - 1 ? w->ends[first][1] : 0);
    for (int c = 0; c < w->v; c++)
        for (int i = 0, cell = c * w->p + stage; i < w->job.plan.layers[cell]; i++)
            sum += w->exposed[first][w->figures->kind_of[ek__layer_graph_kind(&w->job, w->first[cell] + i)]][c];
    return sum;
}

/* Is a layer recomputed whole the slowest? */
static bool whole_is_slowest(const ek__whole_plans *w)
{
    for (int kind = EK__GRAPH_DENSE; kind <= EK__GRAPH_PREDICTION; kind++)
        for (int k = 0; k < EK_N_RECOMPUTE && w->programs->graph[kind]; k++)
            if (w->ways.lists[k] && w->ways.figures[kind].time[k] > w->ways.figures[kind].time[EK_RECOMPUTE_FULL])
                return false;
    return w->ways.lists[EK_RECOMPUTE_FULL];
}

/* The same, tighter: longer backward passes hide more of the reductions, so the least is exposed if all layers are
 * recomputed whole. This may fail if computing waits or is slowed down more than it gains. */
static ek_status find_least_tail(ek__whole_plans *w, int stage)
{
    double least = least_tail(w, stage), plain = w->tail[stage];
    ek_status status = EK_OK;
    w->least_tail[stage] = least;
    if (w->waits || w->device->overlap_slowdown >= 2 || !whole_is_slowest(w))
        return EK_OK;
    for (int cell = stage; cell < w->n_cells; cell += w->p)
        ek__lists_set(&w->job, cell, w->job.plan.layers[cell], 0, 0);
    status = price_stage(w, stage, false);
    w->least_tail[stage] = fmax(least, fmin(plain, w->tail[stage]));
    for (int cell = stage; cell < w->n_cells; cell += w->p)
        ek__lists_set(&w->job, cell, 0, 0, 0);
    return status ? status : price_stage(w, stage, false);
}

static ek_status walk(ek__whole_plans *w)
{
    const ek__delays *delays = w->p > 1 ? ek__stage_pricer_delays(w->pricer) : NULL;
    bool fine = ek__order_longest_path(w->order, w->duration, delays, w->tail, &w->walked);
    return fine ? EK_OK : ek__no_memory(w->err);
}

static double whole(ek__whole_plans *w, double length)
{
    return ek__stage_pricer_whole(w->pricer, length + w->most_update);
}

/* The step of the priced stages. */
static ek_status evaluate_priced(ek__whole_plans *w, double *seconds)
{
    w->most_update = 0;
    for (int s = 0; s < w->p; s++)
        w->most_update = fmax(w->most_update, w->update[s]);
    ek_status status = walk(w);
    if (!status)
        *seconds = whole(w, w->walked.length);
    return status;
}

static ek_status evaluate(ek__whole_plans *w, double *seconds)
{
    ek_status status = EK_OK;
    w->waits = false;
    for (int s = 0; s < w->p && !status; s++)
        status = price_stage(w, s, false);
    return status ? status : evaluate_priced(w, seconds);
}

/* ---- peaks ---- */

static int64_t limit_of(const ek__whole_plans *w)
{
    return w->job.limit_mb > 0 ? (int64_t)llround(w->job.limit_mb * 1048576) : INT64_MAX;
}

/* The peak of a stage with the programs of its chunks set; TOO_MUCH, or UNKNOWN if the time is over. */
static ek_status find_peak(ek__whole_plans *w, int stage, int64_t *peak)
{
    const ek_block *blocks = w->blocks + (size_t)stage * w->n_blocks;
    ek__stop stop = ek__split_stop(w->options);
    int64_t used = ek__stage_whole_step(&w->job, w->programs, stage) +
                   ek__stage_peak(&w->job, w->programs, stage, blocks, w->n_blocks).bytes;
    *peak = used > limit_of(w) ? TOO_MUCH : used;
    if (*peak == TOO_MUCH || w->job.limit_mb <= 0)
        return EK_OK;
    stop.most = limit_of(w);
    ek_status status = ek__stage_actual(&w->job, w->programs, stage, blocks, w->n_blocks, used, &stop, peak, w->err);
    if (*peak == EK__NOT_PLACED)
        *peak = UNKNOWN;
    else if (*peak > limit_of(w))
        *peak = TOO_MUCH;
    return status;
}

static ek_status set_chunk(ek__whole_plans *w, int cell)
{
    return ek__job_programs_set_chunk(w->programs, &w->job, cell, w->first[cell], w->err);
}

static bool peaks_grow(peaks *k)
{
    if (2 * (k->n + 1) <= k->n_slots)
        return true;
    size_t n = k->n_slots ? 2 * k->n_slots : 16;
    peaks grown = {
        .n = k->n, .n_slots = n, .code = ek__alloc(n, sizeof *grown.code), .peak = ek__alloc(n, sizeof *grown.peak)};
    if (!grown.code || !grown.peak) {
        free(grown.code);
        free(grown.peak);
        return false;
    }
    for (size_t i = 0; i < k->n_slots; i++) {
        size_t to = (size_t)(k->code[i] * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (n - 1);
        while (k->code[i] && grown.code[to])
            to = (to + 1) & (n - 1);
        if (k->code[i]) {
            grown.code[to] = k->code[i];
            grown.peak[to] = k->peak[i];
        }
    }
    free(k->code);
    free(k->peak);
    *k = grown;
    return true;
}

/* The slot of a code's peak, or the free one for it. */
static size_t peak_at(const peaks *k, uint64_t code)
{
    size_t i = (size_t)((code + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (k->n_slots - 1);
    while (k->code[i] && k->code[i] != code + 1)
        i = (i + 1) & (k->n_slots - 1);
    return i;
}

/* For a stage with the programs of its chunks set. */
static int64_t n_events(const ek__whole_plans *w, int stage)
{
    int64_t n = 0;
    for (int cell = stage; cell < w->n_cells; cell += w->p)
        for (int kind = 0; kind < EK_N_BLOCK_KINDS; kind++) {
            const ek__chunk_programs *chunk = &w->programs->chunk[cell];
            for (int i = 0; i < chunk->n_runs[kind]; i++)
                n += chunk->run[kind][i].program->n_events[chunk->run[kind][i].part];
        }
    return n * w->job.parallel.n_micro_batches;
}

/* The peak of an open stage with its ways in the plan. */
static ek_status peak_of(ek__whole_plans *w, int stage, uint64_t code, int64_t *peak)
{
    peaks *k = &w->of[stage]->peaks;
    ek_status status = EK_OK;
    if (!peaks_grow(k))
        return ek__no_memory(w->err);
    size_t at = peak_at(k, code);
    if (k->code[at]) {
        *peak = k->peak[at];
        return EK_OK;
    }
    *peak = UNKNOWN;
    for (int c = 0; c < w->v && !status; c++)
        status = set_chunk(w, c * w->p + stage);
    w->n_left -= n_events(w, stage) / EVENTS;
    if (!status && w->n_left >= 0)
        status = find_peak(w, stage, peak);
    if (status || *peak == UNKNOWN)
        return status;
    k->code[at] = code + 1;
    k->peak[at] = *peak;
    k->n++;
    return EK_OK;
}

/* ---- queries of a stage ---- */

static uint64_t mix_in(uint64_t hash, int value)
{
    return (hash ^ (uint64_t)value) * UINT64_C(0x9E3779B97F4A7C15) ^ hash >> 29;
}

static uint64_t hash_of(const ek__whole_plans *w, int stage)
{
    uint64_t hash = mix_in(UINT64_C(14695981039346656037), stage);
    for (int c = 0; c < w->v; c++) {
        int cell = c * w->p + stage, n = w->job.plan.layers[cell];
        hash = mix_in(hash, n);
        for (int i = 0; i < n && !w->alike; i++)
            hash = mix_in(hash, (int)ek__layer_graph_kind(&w->job, w->first[cell] + i));
    }
    return hash ? hash : 1;
}

static asked **slot_of(asked **slot, size_t n_slots, uint64_t hash)
{
    size_t i = (size_t)hash & (n_slots - 1);
    while (slot[i] && slot[i]->hash != hash)
        i = (i + 1) & (n_slots - 1);
    return &slot[i];
}

static bool grow(ek__whole_plans *w)
{
    if (2 * (w->n_asked + 1) <= w->n_slots)
        return true;
    size_t n = w->n_slots ? 2 * w->n_slots : 256;
    asked **grown = ek__alloc(n, sizeof(asked *));
    if (!grown)
        return false;
    for (size_t i = 0; i < w->n_slots; i++)
        if (w->slot[i])
            *slot_of(grown, n, w->slot[i]->hash) = w->slot[i];
    free(w->slot);
    w->slot = grown;
    w->n_slots = n;
    return true;
}

static ek_status ask(ek__whole_plans *w, int stage)
{
    if (!grow(w))
        return ek__no_memory(w->err);
    uint64_t hash = hash_of(w, stage);
    asked **at = slot_of(w->slot, w->n_slots, hash);
    if (!*at) {
        asked *made = ek__alloc(1, sizeof *made);
        if (!made)
            return ek__no_memory(w->err);
        made->hash = hash;
        *at = made;
        w->n_asked++;
    }
    w->of[stage] = *at;
    return EK_OK;
}

static ek_status list_ways(ek__whole_plans *w, int stage)
{
    asked *a = w->of[stage];
    ek_status status = EK_OK;
    for (int c = 0; c < w->v && !status && !a->listed; c++) {
        int cell = c * w->p + stage;
        free(a->way[c]);
        a->way[c] = NULL;
        status = ek__ways_list(&w->ways, w->first[cell], w->job.plan.layers[cell], &a->way[c], &a->n_ways[c], w->err);
        a->kept[c] = INT64_MAX;
        for (size_t i = 0; i < a->n_ways[c] && !status; i++)
            a->kept[c] = a->way[c][i].kept < a->kept[c] ? a->way[c][i].kept : a->kept[c];
    }
    a->listed = !status;
    return status;
}

/* ---- lists ---- */

static int copies_of(const ek__whole_plans *w)
{
    return w->job.parallel.n_batch_interleave > 1 ? w->job.parallel.n_batch_interleave : 1;
}

static double *prices_of(const ek__whole_plans *w, int stage, int path, int chunk)
{
    return w->price + (((size_t)stage * MOST_PATHS + (size_t)path) * ((size_t)w->v + 1) + (size_t)chunk) * MOST_MOMENTS;
}

static const double *moment_of(const ek__whole_plans *w, int stage, int k)
{
    return w->moment + ((size_t)stage * MOST_MOMENTS + (size_t)k) * (size_t)w->v;
}

/* The cost on a path of one byte less on a stage. */
static void set_prices(ek__whole_plans *w, int stage, int path)
{
    const asked *a = w->of[stage];
    for (int m = 0; m < w->n_moments[stage]; m++)
        prices_of(w, stage, path, w->v)[m] = INFINITY;
    for (int c = w->v - 1; c >= 0; c--) {
        const ek__chunk_way *way = a->way[c];
        double least = INFINITY, *to = prices_of(w, stage, path, c);
        for (size_t i = 1; i < a->n_ways[c]; i++)
            if (way[i].kept < way[0].kept)
                least = fmin(least, (way[i].time - way[0].time) / MS_PER_S / (double)(way[0].kept - way[i].kept));
        for (int m = 0; m < w->n_moments[stage]; m++) {
            double alive = moment_of(w, stage, m)[c] * copies_of(w);
            double price = alive > 0 ? w->path[path].often[c * w->p + stage] * least / alive : INFINITY;
            to[m] = fmin(prices_of(w, stage, path, c + 1)[m], price);
        }
    }
}

/* The path of the walked plan, without the recomputation of its chunks. */
static void know_path(ek__whole_plans *w)
{
    int at = w->n_paths++ % MOST_PATHS;
    known_path *path = &w->path[at];
    const double *often = w->walked.count + w->n_cells;
    path->end = w->walked.end;
    path->fixed = w->walked.length - w->tail[path->end];
    for (int cell = 0; cell < w->n_cells; cell++) {
        path->often[cell] = often[cell];
        path->fixed -= often[cell] * w->recomputed[cell];
    }
    for (int i = 0; i < w->n_open; i++)
        set_prices(w, w->open[i], at);
}

/* The least seconds by which a path is longer, for a stage's excess bytes at its moments and its chunks from c on.
 */
static double least_more(const ek__whole_plans *w, int stage, int path, int c, const double *over)
{
    const double *price = prices_of(w, stage, path, c);
    double most = 0;
    for (int m = 0; m < w->n_moments[stage]; m++)
        most = over[m] > 0 ? fmax(most, over[m] * price[m]) : most;
    return most;
}

/* Is some path with the choices so far as long as the best plan?
 * @param over   [moments] excess bytes of the open stage `at`, without recomputation from chunk c on
 * @param plain  out: the result is independent of these; NULL: not needed */
static bool is_long(ek__whole_plans *w, int at, int c, const double *over, bool *plain)
{
    int n = w->n_paths < MOST_PATHS ? w->n_paths : MOST_PATHS;
    double longest = 0, longest_plain = 0;
    for (int k = 0; k < n; k++) {
        double length = w->path[k].fixed + w->least_tail[w->path[k].end];
        for (int i = 0; i <= at; i++)
            for (int cell = w->open[i]; cell < w->n_cells; cell += w->p)
                length += w->path[k].often[cell] * w->recomputed[cell];
        for (int i = at + 1; i < w->n_open; i++)
            length += least_more(w, w->open[i], k, 0, w->over + (size_t)w->open[i] * MOST_MOMENTS);
        longest_plain = fmax(longest_plain, length);
        longest = fmax(longest, length + least_more(w, w->open[at], k, c, over));
    }
    if (plain)
        *plain = whole(w, longest_plain) * (1 - 1e-12) >= w->upper;
    return whole(w, longest) * (1 - 1e-12) >= w->upper;
}

/* The longest path of layers only, which is valid for any waits. */
static ek_status know_longest(ek__whole_plans *w)
{
    ek_status status = EK_OK;
    for (int s = 0; s < w->p && w->waits && !status; s++)
        status = price_stage(w, s, true);
    if (!status && w->waits)
        status = walk(w);
    if (status)
        return status;
    know_path(w);
    for (int s = 0; s < w->p && w->waits && !status; s++)
        status = price_stage(w, s, false);
    return status;
}

/* All open stages have their ways: is the plan shorter, and does it fit? Its path is then known. */
static ek_status evaluate_choice(ek__whole_plans *w)
{
    double seconds;
    ek_status status = EK_OK;
    w->n_left -= EVALUATED;
    if (++w->n_evaluated > MOST_EVALUATED || ek__split_over(w->options)) {
        w->exact = false;
        return EK_OK;
    }
    status = evaluate_priced(w, &seconds);
    if (!status)
        status = know_longest(w);
    bool shorter = !status && seconds < w->upper;
    for (int i = 0; i < w->n_open && shorter && !status; i++) {
        int s = w->open[i];
        status = peak_of(w, s, w->code[s], &w->actual[s]);
        w->exact = w->exact && w->actual[s] != UNKNOWN;
        shorter = w->actual[s] >= 0;
    }
    if (status || !shorter)
        return status;
    w->upper = seconds;
    return ek__split_offer(&w->job, w->job.limit_mb > 0 ? w->actual : NULL, w->device, w->cache, w->best, &seconds,
                           w->err);
}

static ek_status choose_stage(ek__whole_plans *w, int at);

/* A stage has its ways: the exposed time of its gradients is then known, and, if other stages follow, whether it
 * fits. */
static ek_status leave_stage(ek__whole_plans *w, int at)
{
    static const double none[MOST_MOMENTS];
    int s = w->open[at];
    double least = w->least_tail[s];
    int64_t peak = 0;
    ek_status status = price_stage(w, s, false);
    w->least_tail[s] = w->tail[s];
    bool may = !status && !is_long(w, at, w->v, none, NULL);
    if (may && at + 1 < w->n_open)
        status = peak_of(w, s, w->code[s], &peak);
    if (may && !status && peak != TOO_MUCH)
        status = choose_stage(w, at + 1);
    w->least_tail[s] = least;
    return status;
}

/* Ways of a stage's chunks from c on. @param over [moments] excess bytes without recomputation of these */
static ek_status choose_chunk(ek__whole_plans *w, int at, int c, uint64_t radix, const double *over)
{
    const int s = w->open[at], cell = c * w->p + s;
    const asked *a = w->of[s];
    const uint64_t code = w->code[s];
    double left[MOST_MOMENTS] = {0}, most_less[MOST_MOMENTS] = {0};
    ek_status status = EK_OK;
    if (c == w->v)
        return leave_stage(w, at);
    for (int k = 0; k < w->n_moments[s]; k++) /* the possible saving of the chunks after this one */
        for (int other = c + 1; other < w->v; other++)
            most_less[k] +=
                moment_of(w, s, k)[other] * (double)(copies_of(w) * (a->way[other][0].kept - a->kept[other]));
    for (size_t i = 0; i < a->n_ways[c] && !status && w->exact; i++) {
        const ek__chunk_way *way = &a->way[c][i];
        bool fits = true, ends;
        w->exact = ++w->n_choices <= MOST_CHOICES && w->n_left-- > 0;
        for (int k = 0; k < w->n_moments[s]; k++) {
            left[k] = over[k] - moment_of(w, s, k)[c] * (double)(copies_of(w) * (a->way[c][0].kept - way->kept));
            fits = fits && left[k] <= most_less[k];
        }
        w->recomputed[cell] = (way->time - a->way[c][0].time) / MS_PER_S;
        bool too_long = is_long(w, at, c + 1, left, &ends);
        if (ends)
            break; /* and so are the ways after it, which take longer */
        if (!fits || too_long)
            continue;
        w->code[s] = code + radix * i;
        ek__lists_set(&w->job, cell, way->lists.full, way->lists.select, way->lists.comm);
        status = choose_chunk(w, at, c + 1, radix * a->n_ways[c], left);
    }
    w->code[s] = code;
    w->recomputed[cell] = 0;
    return status;
}

/* Ways of the open stages from `at` on. */
static ek_status choose_stage(ek__whole_plans *w, int at)
{
    if (at == w->n_open)
        return evaluate_choice(w);
    int s = w->open[at];
    w->code[s] = 0;
    return choose_chunk(w, at, 0, 1, w->over + (size_t)s * MOST_MOMENTS);
}

/* Bytes that the backward pass of a chunk holds in addition when it begins, with the chunk's last layer. */
static double transient_of(const ek__whole_plans *w, int cell)
{
    int last = w->first[cell] + w->job.plan.layers[cell] - 1;
    return (double)w->figures->kind[w->figures->kind_of[ek__layer_graph_kind(&w->job, last)]].transient;
}

/* A moment with the same micro-batches of each chunk and the same extra bytes. */
static bool is_dominated(const ek__whole_plans *w, int stage, const double *alive, double transient,
                         const double *transients)
{
    for (int k = 0; k < w->n_moments[stage]; k++) {
        const double *other = moment_of(w, stage, k);
        int c = 0;
        while (c < w->v && alive[c] <= other[c])
            c++;
        if (c == w->v && transient <= transients[k])
            return true;
    }
    return false;
}

/* Excess bytes of an open stage at its moments without recomputation. The last chunk's come first; those of the others
 * seldom exceed them. If there is no room for one, fewer choices are abandoned early. */
static void set_over(ek__whole_plans *w, int stage)
{
    double transients[MOST_MOMENTS], room = (double)(limit_of(w) - ek__stage_whole_step(&w->job, w->programs, stage));
    w->n_moments[stage] = 0;
    for (int chunk = w->v - 1; chunk >= 0; chunk--) {
        const ek__live *live = &w->mixes->running[chunk * w->p + stage];
        double transient = transient_of(w, chunk * w->p + stage);
        for (int k = 0; k < live->n && w->n_moments[stage] < MOST_MOMENTS; k++) {
            const double *alive = live->vectors + (size_t)k * (size_t)w->v;
            int at = w->n_moments[stage];
            if (is_dominated(w, stage, alive, transient, transients))
                continue;
            double sum = transient - room;
            for (int c = 0; c < w->v; c++)
                sum += alive[c] * (double)(copies_of(w) * w->of[stage]->way[c][0].kept);
            memcpy(w->moment + ((size_t)stage * MOST_MOMENTS + (size_t)at) * (size_t)w->v, alive,
                   (size_t)w->v * sizeof *alive);
            w->over[(size_t)stage * MOST_MOMENTS + (size_t)at] = sum;
            transients[at] = transient;
            w->n_moments[stage]++;
        }
    }
}

/* Stages that do not fit without recomputation. */
static ek_status find_open(ek__whole_plans *w)
{
    ek_status status = EK_OK;
    w->n_open = 0;
    for (int s = 0; s < w->p && !status; s++) {
        w->least_tail[s] = w->tail[s];
        status = ask(w, s);
        if (!status)
            status = peak_of(w, s, UINT64_MAX - 1, &w->actual[s]); /* without recomputation, for any ways */
        if (status || w->actual[s] >= 0)
            continue;
        w->exact = w->exact && w->actual[s] != UNKNOWN;
        w->open[w->n_open++] = s;
        status = list_ways(w, s);
        if (!status && w->exact)
            set_over(w, s);
        if (!status)
            status = find_least_tail(w, s);
    }
    return status;
}

static ek_status judge_lists(ek__whole_plans *w)
{
    double seconds;
    for (int cell = 0; cell < w->n_cells; cell++) {
        ek__lists_set(&w->job, cell, 0, 0, 0);
        w->recomputed[cell] = 0;
    }
    ek_status status = evaluate(w, &seconds);
    if (status || seconds >= w->upper) /* recomputation only adds to it */
        return status;
    status = find_open(w);
    if (status || !w->exact)
        return status;
    w->n_paths = w->n_choices = w->n_evaluated = 0;
    status = know_longest(w);
    return status ? status : choose_stage(w, 0);
}

/* ---- one rule ---- */

static ek_status judge_rule(ek__whole_plans *w)
{
    double seconds;
    for (int s = 0; s < w->p; s++)
        for (int cell = s, before = 0; cell < w->n_cells; cell += w->p) {
            ek__recompute_rule_set(&w->job, w->rule, cell, before);
            before += w->job.plan.layers[cell];
        }
    ek_status status = evaluate(w, &seconds);
    bool fits = !status && seconds < w->upper;
    for (int s = 0; s < w->p && fits && !status; s++) {
        status = ask(w, s);
        if (!status)
            status = peak_of(w, s, 0, &w->actual[s]);
        w->exact = w->exact && w->actual[s] != UNKNOWN;
        fits = w->actual[s] >= 0;
    }
    if (status || !fits)
        return status;
    w->upper = seconds;
    return ek__split_offer(&w->job, w->job.limit_mb > 0 ? w->actual : NULL, w->device, w->cache, w->best, &seconds,
                           w->err);
}

ek_status ek__whole_plans_judge(void *plans, const int *layers, double upper, double *step, bool *exact, ek_error *err)
{
    ek__whole_plans *w = plans;
    int before = 0;
    w->exact = true;
    w->upper = upper;
    w->err = err;
    for (int cell = 0; cell < w->n_cells; cell++) {
        w->job.plan.layers[cell] = layers[cell];
        w->first[cell] = before;
        before += layers[cell];
    }
    ek_status status = w->rule.kind == EK__RULE_LISTS ? judge_lists(w) : judge_rule(w);
    *step = w->upper < upper ? w->upper : INFINITY;
    *exact = w->exact;
    return status;
}
