/* Sets up the balancing problem: lists the ways of recomputing a chunk that can be part of an optimal plan, and
 * computes the cost of a state. */
#include "balance/problem.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"

/* Up to FULL_ENUMERATION layers in a chunk every mix of kinds is enumerated (cubic); beyond, mixes of two kinds, and of
 * those at most MOST_OPTIONS. */
enum { FULL_ENUMERATION = 48, MOST_OPTIONS = 1024 };

static void chunk_free(ek__chunk *chunk)
{
    if (chunk)
        free(chunk->option);
    free(chunk);
}

static ek__chunk_cache *cache_new(int n_pure)
{
    assert(n_pure >= 1);
    ek__chunk_cache *cache = ek__alloc(1, sizeof *cache);
    EK__ATOMIC(ek__chunk *) *pure = ek__alloc((size_t)n_pure, sizeof *pure);
    if (!cache || !pure || pthread_mutex_init(&cache->lock, NULL)) {
        free(cache);
        free(pure);
        return NULL;
    }
    for (int i = 0; i < n_pure; i++)
        atomic_init(&pure[i], NULL);
    cache->n_pure = n_pure;
    cache->pure = pure;
    return cache;
}

static void cache_free(ek__chunk_cache *cache)
{
    if (!cache)
        return;
    for (int i = 0; i < cache->n_pure; i++)
        chunk_free(atomic_load(&cache->pure[i]));
    for (int i = 0; i < cache->mixed_capacity; i++)
        chunk_free(cache->mixed[i]);
    free(cache->pure);
    free(cache->mixed);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* Head and tail sit in the first and the last cell, which are the same one for a pipeline of one chunk. */
static void add_extra(ek_chunk_cost *cost, const ek_layer *layer)
{
    cost->forward_time += layer->forward_time;
    cost->backward_time += layer->backward_time[EK_RECOMPUTE_NONE];
    cost->weight_time += layer->weight_time;
    cost->parameter_mb += layer->parameter_mb;
    cost->activation_mb += layer->activation_mb[EK_RECOMPUTE_NONE];
}

/* Collect the limits of each bank: the live vectors of the one or two stages that hold it. */
static ek_status make_banks(ek__problem *p, ek_error *err)
{
    size_t n_vectors = 0, row = (size_t)p->n_held;
    for (int s = 0; s < p->n_stages; s++)
        n_vectors += (size_t)p->order->live[s].n;
    p->bank = ek__alloc((size_t)p->n_banks, sizeof *p->bank);
    p->bank_live = ek__alloc(n_vectors * row, sizeof *p->bank_live);
    p->bank_room = ek__alloc(n_vectors, sizeof *p->bank_room);
    if (!p->bank || !p->bank_live || !p->bank_room)
        return ek__no_memory(err);
    double *live = p->bank_live, *room = p->bank_room;
    for (int b = 0; b < p->n_banks; b++) {
        ek__bank *bank = &p->bank[b];
        *bank = (ek__bank){.cells = p->order->held + (size_t)b * row, .live = live, .room_mb = room};
        int stages[2], n_stages = ek__bank_stages(p->order, b, stages);
        assert(n_stages <= 2);
        for (int i = 0; i < n_stages; i++) {
            const ek__live *of_stage = &p->order->live[stages[i]];
            memcpy(live, of_stage->vectors, (size_t)of_stage->n * row * sizeof *live);
            live += (size_t)of_stage->n * row;
            for (int k = 0; k < of_stage->n; k++)
                *room++ = p->room_mb[stages[i]];
            bank->n_live += of_stage->n;
        }
        assert(bank->n_live >= 1);
        p->most_live = bank->n_live > p->most_live ? bank->n_live : p->most_live;
    }
    assert(room == p->bank_room + n_vectors); /* every stage holds exactly one bank */
    return EK_OK;
}

/* The model without the forbidden kinds, as if no memory were known for them. */
static ek_status forbid_kinds(ek__problem *p, const bool *forbidden, ek_error *err)
{
    bool any = false, left = false;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        any |= forbidden[k];
        left |= p->layers->modelled[k] && !forbidden[k];
    }
    if (!any)
        return EK_OK;
    if (!left) {
        char known[64] = "";
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (p->layers->modelled[k])
                snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "",
                         ek_recompute_name[k]);
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "every recompute kind with known memory (%s) is forbidden; allow one of them", known);
    }
    p->allowed = ek__alloc(1, sizeof *p->allowed);
    if (!p->allowed)
        return ek__no_memory(err);
    *p->allowed = *p->layers; /* the memory it points to stays borrowed */
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        p->allowed->modelled[k] &= !forbidden[k];
    p->layers = p->allowed;
    return EK_OK;
}

static ek_status check_full_layers(const ek_layers *layers, const int *full, ek_error *err)
{
    for (int n = 0; n <= layers->n_layers && full; n++) {
        int before = n > 0 ? full[n - 1] : 0;
        if (full[n] < before || full[n] > before + (n > 0))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "chunks of %d layers are to recompute %d in full, those of %d layers %d: that must be as "
                            "many, or one more",
                            n, full[n], n > 0 ? n - 1 : 0, before);
    }
    if (full && full[layers->n_layers] > 0 && !layers->modelled[EK_RECOMPUTE_FULL])
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "layers are to be recomputed in full, but the memory that leaves is not known");
    return EK_OK;
}

/* Copy the fixed stages, each with its mirror, and refuse numbers that contradict the model. */
static ek_status fix_stages(ek__problem *p, const int *fixed, ek_error *err)
{
    int least = p->n_held * p->min_layers, n_free = 0;
    long sum = 0;
    assert((long)least * p->n_banks <= p->n_layers);
    for (int s = 0; s < p->n_stages; s++)
        p->fixed_layers[s] = -1;
    for (int s = 0; s < p->n_stages && fixed; s++) {
        if (fixed[s] == -1)
            continue;
        if (fixed[s] < least || fixed[s] > p->n_layers)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "stage %d is fixed to %d layers, but must have %d (%d chunks, at least %d each) to %d", s,
                            fixed[s], least, p->n_held, p->min_layers, p->n_layers);
        int stages[2] = {0}, n = ek__bank_stages(p->order, ek__order_bank(p->order, s), stages);
        for (int i = 0; i < n; i++) {
            int *place = &p->fixed_layers[stages[i]];
            if (*place >= 0 && *place != fixed[s])
                return ek__fail(
                    err, EK_ERR_INPUT, EK__NOWHERE,
                    "stages %d and %d have the same chunks with this schedule, but are fixed to %d and %d layers",
                    stages[0], stages[1], *place, fixed[s]);
            *place = fixed[s];
        }
        p->any_fixed = true;
    }
    for (int b = 0; b < p->n_banks; b++) {
        n_free += p->fixed_layers[b] < 0;
        sum += p->fixed_layers[b] < 0 ? least : p->fixed_layers[b];
    }
    if (p->any_fixed && (sum > p->n_layers || (n_free == 0 && sum != p->n_layers)))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the fixed stages have %ld layers%s, but the model has %d; correct --fix",
                        n_free ? sum - (long)n_free * least : sum,
                        n_free == 0 ? " and no stage is free"
                        : least > 0 ? " and the others need some"
                                    : "",
                        p->n_layers);
    return EK_OK;
}

/* The largest temporary memory of a backward pass; needs the activations of layers that recompute nothing. */
static void find_reserve(ek__problem *p)
{
    const ek_layers *layers = p->layers;
    double largest = 1; /* factor of a micro-batch */
    assert(p->reserve_mb == 0);
    if (!layers->recompute_transient)
        return;
    for (int i = 0; i < p->order->shape.n_micro_batches && p->order->scale; i++)
        largest = fmax(i ? largest : 0, p->order->scale[i]);
    for (int b = 0; b < layers->n_body; b++) {
        const ek_layer *body = &layers->body[b];
        assert(body->modelled[EK_RECOMPUTE_NONE]);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (layers->modelled[k])
                p->reserve_mb =
                    fmax(p->reserve_mb, largest * (body->activation_mb[EK_RECOMPUTE_NONE] - body->activation_mb[k]));
    }
}

double ek__memory_tolerance(const ek_layers *layers, double limit_mb)
{
    double taken_off =
        fmax(0, -layers->const_mb) + fmax(0, -layers->head.parameter_mb) + fmax(0, -layers->tail.parameter_mb);
    return fmax(1e-9 * fmax(1.0, limit_mb), 1e-12 * taken_off);
}

static ek_status check_stage_memory(const double *memory_mb, int n_stages, ek_error *err)
{
    for (int s = 0; memory_mb && s < n_stages; s++)
        if (!(memory_mb[s] > 0) || !isfinite(memory_mb[s]))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "the memory limit of stage %d must be a positive number of MB (got %g)", s, memory_mb[s]);
    return EK_OK;
}

ek_status ek__problem_init(ek__problem *problem, const ek_layers *layers, const ek_order *order,
                           const ek_balance_options *options, ek_error *err)
{
    const ek_shape *shape = ek_order_shape(order);
    const double *stage_mb = options->stage_memory_mb;
    assert(layers->n_body >= 1 && layers->n_body <= EK_MAX_BODY_KINDS && layers->n_layers >= 1);
    assert(options->min_layers >= 0 && options->n_more_micro_batches >= 0);
    ek_status status = check_stage_memory(stage_mb, shape->n_stages, err);
    if (!status)
        status = check_full_layers(layers, options->full_layers, err);
    if (status)
        return status;
    double limit_mb = stage_mb ? stage_mb[0] : options->memory_limit_mb;
    for (int s = 1; stage_mb && s < shape->n_stages; s++)
        limit_mb = fmax(limit_mb, stage_mb[s]);
    ek__problem p = {.layers = layers,
                     .order = order,
                     .n_stages = shape->n_stages,
                     .n_chunks = shape->n_chunks,
                     .n_cells = order->n_cells,
                     .n_banks = order->n_banks,
                     .n_held = order->n_held,
                     .n_layers = layers->n_layers,
                     .min_layers = options->min_layers,
                     .n_more = options->n_more_micro_batches,
                     .full_layers = options->full_layers,
                     .limit_mb = limit_mb,
                     .tolerance_mb = ek__memory_tolerance(layers, limit_mb)};
    if ((long)p.min_layers * p.n_cells > p.n_layers)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d layers cannot give each of %d x %d chunks %d: use fewer stages, a smaller interleave or "
                        "--min-layers 0",
                        p.n_layers, p.n_stages, p.n_chunks, p.min_layers);
    p.body_end = ek__alloc((size_t)layers->n_body, sizeof *p.body_end);
    p.extra = ek__alloc((size_t)p.n_cells, sizeof *p.extra);
    p.room_mb = ek__alloc((size_t)p.n_stages, sizeof *p.room_mb);
    p.fixed_layers = ek__alloc((size_t)p.n_stages, sizeof *p.fixed_layers);
    p.delay_tables = ek__alloc(ek__order_delays_size(order), sizeof *p.delay_tables);
    p.cache = cache_new(layers->n_body * (p.n_layers + 1));
    if (!p.body_end || !p.extra || !p.room_mb || !p.fixed_layers || !p.delay_tables || !p.cache) {
        ek__problem_clear(&p);
        return ek__no_memory(err);
    }
    status = forbid_kinds(&p, options->forbidden, err);
    if (status) {
        ek__problem_clear(&p);
        return status;
    }
    find_reserve(&p);
    for (int b = 0; b < layers->n_body; b++)
        p.body_end[b] = (b ? p.body_end[b - 1] : 0) + layers->body[b].n_layers;
    assert(p.body_end[layers->n_body - 1] == p.n_layers);
    assert(p.n_banks * p.n_held == p.n_cells && p.n_cells == p.n_stages * p.n_chunks);
    add_extra(&p.extra[order->cell_at[0]], &layers->head);
    add_extra(&p.extra[order->cell_at[p.n_cells - 1]], &layers->tail);
    for (int s = 0; s < p.n_stages; s++) {
        const int *cells;
        p.room_mb[s] = (stage_mb ? stage_mb[s] : p.limit_mb) - layers->const_mb - p.reserve_mb;
        ek_order_held_cells(order, s, &cells);
        for (int i = 0; i < p.n_held; i++)
            p.room_mb[s] -= p.extra[cells[i]].parameter_mb;
    }
    status = make_banks(&p, err);
    if (!status)
        status = fix_stages(&p, options->fixed_layers, err);
    if (status) {
        ek__problem_clear(&p);
        return status;
    }
    *problem = p;
    if (ek__comm_matters(&options->comm)) {
        problem->delays_storage = ek__comm_delays(order, &options->comm, p.delay_tables);
        problem->delays = &problem->delays_storage;
    }
    return EK_OK;
}

void ek__problem_clear(ek__problem *problem)
{
    free(problem->body_end);
    free(problem->extra);
    free(problem->room_mb);
    free(problem->fixed_layers);
    free(problem->allowed);
    free(problem->bank);
    free(problem->bank_live);
    free(problem->bank_room);
    free(problem->delay_tables);
    cache_free(problem->cache);
    *problem = (ek__problem){0};
}

int ek__option_that_fits(const ek__problem *problem, int stage, const ek__chunk *chunk)
{
    const ek__bank *bank = &problem->bank[stage];
    double extra = problem->extra[stage].activation_mb;
    assert(problem->n_held == 1 && stage >= 0 && stage < problem->n_stages);
    int low = 0, high = chunk->n_options; /* options save more and more memory */
    while (low < high) {
        int o = low + (high - low) / 2;
        bool fits = true;
        for (int k = 0; k < bank->n_live && fits; k++)
            fits = chunk->parameter_mb + bank->live[k] * (chunk->option[o].activation_mb + extra) <=
                   bank->room_mb[k] + problem->tolerance_mb;
        if (fits)
            high = o;
        else
            low = o + 1;
    }
    return low < chunk->n_options ? low : -1;
}

/* One chunk's layers: of one body kind after another. */
typedef struct stretches {
    int n, end[EK_MAX_BODY_KINDS]; /* layers of the chunk up to and including each */
    const ek_layer *body[EK_MAX_BODY_KINDS];
} stretches;

static void find_stretches(const ek__problem *problem, int first, int n, stretches *out)
{
    out->n = 0;
    for (int b = 0; b < problem->layers->n_body; b++) {
        int end = problem->body_end[b] - first, begin = end - problem->layers->body[b].n_layers;
        if (begin < n && end > 0) {
            out->body[out->n] = &problem->layers->body[b];
            out->end[out->n++] = end < n ? end : n;
        }
    }
    assert(n == 0 || (out->n > 0 && out->end[out->n - 1] == n));
}

/* Add layers [from, to) of the chunk, recomputed as `k`. By products, as in the simulation: differences of sums over
 * the whole chunk would lose small times next to large ones. */
static void add_layers(const stretches *s, ek_recompute k, int from, int to, ek__option *option)
{
    for (int i = 0; i < s->n && from < to; i++) {
        int here = (s->end[i] < to ? s->end[i] : to) - from;
        if (here <= 0)
            continue;
        option->backward_time += here * s->body[i]->backward_time[k];
        option->activation_mb += here * s->body[i]->activation_mb[k];
        from += here;
    }
    assert(from == to);
}

static int by_backward(const void *a, const void *b)
{
    const ek__option *x = a, *y = b;
    if (x->backward_time != y->backward_time)
        return x->backward_time < y->backward_time ? -1 : 1;
    if (x->activation_mb != y->activation_mb)
        return x->activation_mb < y->activation_mb ? -1 : 1;
    /* Same cost: prefer the plan with the shorter lists, so that answers do not depend on the sort. */
    if (x->full != y->full)
        return x->full - y->full;
    if (x->select != y->select)
        return x->select - y->select;
    return x->comm - y->comm;
}

typedef struct option_list {
    int n, capacity;
    ek__option *option;
} option_list;

static bool push(option_list *list, ek__option option)
{
    if (list->n == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 64;
        ek__option *grown = realloc(list->option, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        list->option = grown;
        list->capacity = capacity;
    }
    list->option[list->n++] = option;
    return true;
}

/* Most splits are dominated. The least activation for backward times between the least and the most is noted first, by
 * bins of time; a split is then left out when one of an earlier bin has no more. */
enum { SIEVE_BINS = 512 };

typedef struct sieve {
    double least, per_bin; /* backward time */
    double held[SIEVE_BINS];
} sieve;

static int sieve_bin(const sieve *s, double backward_time)
{
    int bin = s->per_bin > 0 ? (int)((backward_time - s->least) / s->per_bin) : 0;
    return bin < 0 ? 0 : bin < SIEVE_BINS ? bin : SIEVE_BINS - 1;
}

static void sieve_note(sieve *s, const ek__option *option)
{
    double *held = &s->held[sieve_bin(s, option->backward_time)];
    *held = fmin(*held, option->activation_mb);
}

/* After the last note: held becomes the least of all earlier bins. */
static void sieve_close(sieve *s)
{
    double least = INFINITY;
    for (int i = 0; i < SIEVE_BINS; i++) {
        double held = s->held[i];
        s->held[i] = least;
        least = fmin(least, held);
    }
    assert(s->held[0] == INFINITY && s->held[SIEVE_BINS - 1] >= least); /* they fall */
}

#ifndef NDEBUG
/* Does the backward time grow and the activation fall from option to option? */
static bool is_front(const option_list *list)
{
    for (int i = 1; i < list->n; i++)
        if (list->option[i].backward_time < list->option[i - 1].backward_time ||
            list->option[i].activation_mb >= list->option[i - 1].activation_mb)
            return false;
    return list->n >= 1;
}
#endif

/* Sort and keep the undominated: backward grows, activation falls. */
static void prune(option_list *list)
{
    assert(list->n >= 1);
    qsort(list->option, (size_t)list->n, sizeof *list->option, by_backward);
    int kept = 0;
    for (int i = 0; i < list->n; i++) {
        double tolerance = 1e-12 * fabs(list->option[i].activation_mb);
        if (kept == 0 || list->option[i].activation_mb < list->option[kept - 1].activation_mb - tolerance)
            list->option[kept++] = list->option[i];
    }
    list->n = kept;
    assert(is_front(list));
}

/* The split [full | both | one of select and comm | none] of n layers; `count` is by kind. */
static ek__option split_option(const stretches *s, const int *count)
{
    static const ek_recompute order[] = {EK_RECOMPUTE_FULL, EK_RECOMPUTE_BOTH, EK_RECOMPUTE_SELECT, EK_RECOMPUTE_COMM,
                                         EK_RECOMPUTE_NONE};
    int full = count[EK_RECOMPUTE_FULL], in_both_lists = full + count[EK_RECOMPUTE_BOTH], at = 0;
    ek__option option = {.full = full,
                         .select = in_both_lists + count[EK_RECOMPUTE_SELECT],
                         .comm = in_both_lists + count[EK_RECOMPUTE_COMM]};
    for (int i = 0; i < EK_N_RECOMPUTE; i++) {
        ek_recompute k = order[i];
        add_layers(s, k, at, at + count[k], &option);
        at += count[k];
    }
    assert(option.full <= option.select &&
           option.full <= option.comm); /* lists include the layers that are recomputed in full */
    assert(option.select <= at && option.comm <= at);
    return option;
}

static bool known(const bool *modelled, const int *count)
{
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (count[k] > 0 && !modelled[k])
            return false;
    return true;
}

/* Every split of n layers that the lists can express: select and comm exclude one another. To `note` them in
 * the sieve, or to list those that it lets through. */
static bool visit_all(const bool *modelled, const stretches *of, int n, bool note, sieve *s, option_list *list)
{
    for (int full = 0; full <= n; full++)
        for (int both = 0; both <= n - full; both++)
            for (int one = full + both - n; one <= n - full - both; one++) { /* below zero: that many of comm */
                int count[EK_N_RECOMPUTE] = {0};
                count[EK_RECOMPUTE_FULL] = full;
                count[EK_RECOMPUTE_BOTH] = both;
                count[one > 0 ? EK_RECOMPUTE_SELECT : EK_RECOMPUTE_COMM] = abs(one);
                count[EK_RECOMPUTE_NONE] = n - full - both - abs(one);
                if (!known(modelled, count))
                    continue;
                ek__option option = split_option(of, count);
                if (note)
                    sieve_note(s, &option);
                else if (option.activation_mb < s->held[sieve_bin(s, option.backward_time)] && !push(list, option))
                    return false;
            }
    return true;
}

static bool enumerate_all(const bool *modelled, const stretches *of, int n, option_list *list)
{
    sieve s;
    double least = INFINITY, most = 0;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (modelled[k]) {
            ek__option whole = {0};
            add_layers(of, (ek_recompute)k, 0, n, &whole);
            least = fmin(least, whole.backward_time);
            most = fmax(most, whole.backward_time);
        }
    s.least = least;
    s.per_bin = (most - least) / SIEVE_BINS;
    for (int i = 0; i < SIEVE_BINS; i++)
        s.held[i] = INFINITY;
    visit_all(modelled, of, n, true, &s, list);
    sieve_close(&s);
    return visit_all(modelled, of, n, false, &s, list);
}

/* The splits into one or two kinds. O(n). */
static bool enumerate_pairs(const bool *modelled, const stretches *of, int n, option_list *list)
{
    for (int a = 0; a < EK_N_RECOMPUTE; a++)
        for (int b = a; b < EK_N_RECOMPUTE; b++) {
            if (a == EK_RECOMPUTE_SELECT && b == EK_RECOMPUTE_COMM)
                continue;
            for (int i = a == b ? n : 1; i < n + (a == b); i++) {
                int count[EK_N_RECOMPUTE] = {0};
                count[b] = n - i;
                count[a] += i;
                if (known(modelled, count) && !push(list, split_option(of, count)))
                    return false;
            }
        }
    return true;
}

/* The split of a rule for all chunks: `full` of n layers in full. */
static ek__option rule_option(const stretches *of, int n, int full)
{
    assert(full >= 0 && full <= n);
    int count[EK_N_RECOMPUTE] = {[EK_RECOMPUTE_FULL] = full, [EK_RECOMPUTE_NONE] = n - full};
    return split_option(of, count);
}

/* Keep MOST_OPTIONS of more, evenly spread, first and last among them. */
static void thin(option_list *list)
{
    assert(list->n > MOST_OPTIONS); /* so that none is kept twice */
    for (int i = 0; i < MOST_OPTIONS; i++)
        list->option[i] = list->option[(long)i * (list->n - 1) / (MOST_OPTIONS - 1)];
    list->n = MOST_OPTIONS;
}

static int body_of(const ek__problem *problem, int layer)
{
    int b = 0;
    assert(layer >= 0 && layer < problem->n_layers);
    while (b + 1 < problem->layers->n_body && layer >= problem->body_end[b])
        b++;
    return b;
}

static ek__chunk *chunk_new(const ek__problem *problem, int first, int n)
{
    ek__chunk *chunk = ek__alloc(1, sizeof *chunk);
    stretches of;
    option_list list = {0};
    if (!chunk)
        return NULL;
    chunk->first = first;
    chunk->n = n;
    chunk->complete = n <= FULL_ENUMERATION;
    find_stretches(problem, first, n, &of);
    for (int j = 0; j < n; j++) {
        const ek_layer *body = &problem->layers->body[body_of(problem, first + j)];
        chunk->forward_time += body->forward_time;
        chunk->weight_time += body->weight_time;
        chunk->parameter_mb += body->parameter_mb;
    }
    if (!(problem->full_layers ? push(&list, rule_option(&of, n, problem->full_layers[n]))
          : chunk->complete    ? enumerate_all(problem->layers->modelled, &of, n, &list)
                               : enumerate_pairs(problem->layers->modelled, &of, n, &list)))
        goto fail;
    prune(&list);
    if (!chunk->complete && list.n > MOST_OPTIONS)
        thin(&list);
    assert(chunk->forward_time >= 0 && chunk->weight_time >= 0);
    ek__option *fitted = list.n > 0 ? realloc(list.option, (size_t)list.n * sizeof *fitted) : NULL;
    chunk->n_options = list.n;
    chunk->option = fitted ? fitted : list.option;
    return chunk;
fail:
    free(list.option);
    chunk_free(chunk);
    return NULL;
}

static size_t mixed_place(const ek__chunk_cache *cache, int first, int n)
{
    size_t mask = (size_t)cache->mixed_capacity - 1;
    assert(cache->mixed_capacity > cache->n_mixed); /* a free place ends the search */
    assert(((size_t)cache->mixed_capacity & mask) == 0);
    size_t at = ((size_t)first * 0x9E3779B1u ^ (size_t)n * 0x85EBCA77u) & mask;
    while (cache->mixed[at] && (cache->mixed[at]->first != first || cache->mixed[at]->n != n))
        at = (at + 1) & mask;
    return at;
}

static bool mixed_grow(ek__chunk_cache *cache)
{
    if (2 * (cache->n_mixed + 1) <= cache->mixed_capacity)
        return true;
    int old_capacity = cache->mixed_capacity;
    ek__chunk **old = cache->mixed;
    int capacity = old_capacity ? 2 * old_capacity : 256;
    ek__chunk **grown = ek__alloc((size_t)capacity, sizeof(ek__chunk *));
    if (!grown)
        return false;
    cache->mixed = grown;
    cache->mixed_capacity = capacity;
    for (int i = 0; i < old_capacity; i++)
        if (old[i])
            cache->mixed[mixed_place(cache, old[i]->first, old[i]->n)] = old[i];
    free(old);
    assert(2 * (cache->n_mixed + 1) <= cache->mixed_capacity);
    return true;
}

static const ek__chunk *get_pure(const ek__problem *problem, EK__ATOMIC(ek__chunk *) * place, int first, int n)
{
    ek__chunk *chunk = atomic_load_explicit(place, memory_order_acquire);
    if (chunk)
        return chunk;
    pthread_mutex_lock(&problem->cache->lock);
    chunk = atomic_load_explicit(place, memory_order_relaxed);
    if (!chunk) {
        chunk = chunk_new(problem, first, n);
        atomic_store_explicit(place, chunk, memory_order_release);
    }
    pthread_mutex_unlock(&problem->cache->lock);
    assert(!chunk || chunk->n == n);
    return chunk;
}

static const ek__chunk *get_mixed(const ek__problem *problem, int first, int n)
{
    ek__chunk_cache *cache = problem->cache;
    ek__chunk *chunk = NULL;
    pthread_mutex_lock(&cache->lock);
    if (mixed_grow(cache)) {
        ek__chunk **place = &cache->mixed[mixed_place(cache, first, n)];
        if (!*place) {
            *place = chunk_new(problem, first, n);
            cache->n_mixed += *place != NULL;
        }
        chunk = *place;
    }
    pthread_mutex_unlock(&cache->lock);
    assert(!chunk || (chunk->first == first && chunk->n == n));
    return chunk;
}

const ek__chunk *ek__chunk_get(const ek__problem *problem, int first, int n)
{
    assert(first >= 0 && n >= 0 && first + n <= problem->n_layers);
    int b = n > 0 ? body_of(problem, first) : 0;
    if (n == 0 || first + n <= problem->body_end[b])
        return get_pure(problem, &problem->cache->pure[b * (problem->n_layers + 1) + n], first, n);
    return get_mixed(problem, first, n);
}

ek_status ek__state_init(ek__state *state, const ek__problem *problem, ek_error *err)
{
    ek__state s;
    s.chunk = ek__alloc((size_t)problem->n_cells, sizeof(const ek__chunk *));
    s.option = ek__alloc((size_t)problem->n_cells, sizeof *s.option);
    if (!s.chunk || !s.option) {
        ek__state_clear(&s);
        return ek__no_memory(err);
    }
    *state = s;
    return EK_OK;
}

void ek__state_copy(const ek__problem *problem, const ek__state *from, ek__state *to)
{
    memcpy(to->chunk, from->chunk, (size_t)problem->n_cells * sizeof *to->chunk);
    memcpy(to->option, from->option, (size_t)problem->n_cells * sizeof *to->option);
}

void ek__state_clear(ek__state *state)
{
    free(state->chunk);
    free(state->option);
    *state = (ek__state){0};
}

#ifndef NDEBUG
bool ek__state_is_valid(const ek__problem *problem, const ek__state *state, bool within)
{
    const ek_order *order = problem->order;
    int placed = 0;
    for (int q = 0; q < problem->n_cells; q++) {
        int cell = order->cell_at[q];
        const ek__chunk *chunk = state->chunk[cell];
        if (!chunk || chunk->n < problem->min_layers || state->option[cell] < 0 ||
            state->option[cell] >= chunk->n_options)
            return false;
        /* with one body kind all layers are equal, at any position */
        if (problem->layers->n_body > 1 && chunk->n > 0 && body_of(problem, placed) != body_of(problem, chunk->first))
            return false;
        placed += chunk->n;
    }
    for (int b = 0; b < problem->n_banks; b++) {
        int held = 0;
        for (int i = 0; i < problem->n_held; i++)
            held += state->chunk[problem->bank[b].cells[i]]->n;
        if (problem->fixed_layers[b] >= 0 && held != problem->fixed_layers[b])
            return false;
    }
    for (int s = 0; s < problem->n_stages && within; s++)
        if (ek__state_excess(problem, state, s) > 2 * problem->tolerance_mb)
            return false;
    return placed == problem->n_layers;
}
#endif

double ek__state_excess(const ek__problem *problem, const ek__state *state, int stage)
{
    const double *live;
    const int *cells;
    int n_live = ek_order_live_vectors(problem->order, stage, &live);
    int n = ek_order_held_cells(problem->order, stage, &cells);
    assert(n == problem->n_held);
    double parameters = 0;
    for (int i = 0; i < n; i++) {
        assert(state->option[cells[i]] >= 0 && state->option[cells[i]] < state->chunk[cells[i]]->n_options);
        parameters += state->chunk[cells[i]]->parameter_mb;
    }
    double worst = -INFINITY;
    for (int k = 0; k < n_live; k++, live += n) {
        double activations = 0;
        for (int i = 0; i < n; i++) {
            int c = cells[i];
            activations +=
                live[i] * (state->chunk[c]->option[state->option[c]].activation_mb + problem->extra[c].activation_mb);
        }
        worst = fmax(worst, activations);
    }
    return parameters + worst - problem->room_mb[stage];
}

void ek__layer_range(const ek__problem *problem, const ek__state *state, int q, int placed, int *least, int *most)
{
    const ek_order *order = problem->order;
    assert(q >= 0 && q < problem->n_cells && placed >= 0 && placed <= problem->n_layers);
    int own = order->bank[order->cell_at[q]], left = problem->n_layers - placed;
    int of_free = 0, others = 0; /* cells after q of stages that are free, and layers fixed for other stages there */
    int of_own = 0, own_left = problem->fixed_layers[own];
    for (int b = 0; b < problem->n_banks; b++)
        others += b != own && problem->fixed_layers[b] >= 0 ? problem->fixed_layers[b] : 0;
    for (int at = 0; at < problem->n_cells; at++) {
        int cell = order->cell_at[at], bank = order->bank[cell];
        if (at < q && bank == own)
            own_left -= state->chunk[cell]->n;
        else if (at < q && problem->fixed_layers[bank] >= 0)
            others -= state->chunk[cell]->n;
        else if (at > q && bank == own)
            of_own++;
        else if (at > q && problem->fixed_layers[bank] < 0)
            of_free++;
    }
    if (problem->fixed_layers[own] >= 0) {
        *most = own_left - of_own * problem->min_layers;
        *least = of_own == 0 ? own_left : problem->min_layers;
    } else {
        *most = left - others - (of_own + of_free) * problem->min_layers;
        *least = of_own + of_free == 0 ? left - others : problem->min_layers;
    }
}

void ek__state_durations(const ek__problem *problem, const ek__state *state, double *duration, int stride)
{
    for (int c = 0; c < problem->n_cells; c++)
        ek__set_chunk_durations(problem, c, state->chunk[c], state->option[c], duration, (size_t)stride);
}

size_t ek__state_scratch_size(const ek__problem *problem)
{
    return (size_t)ek__order_n_slots(problem->order) + ek__order_n_clocks(problem->order);
}

/* The work of the slowest stage for one micro-batch; chunks wrap round the stages. */
static double slowest_work(const ek__problem *problem, const double *duration, size_t stride)
{
    const ek__delays *delays = problem->delays;
    size_t n_slots = (size_t)ek__order_n_slots(problem->order), p = (size_t)problem->n_stages;
    assert(problem->order->schedule->placement == EK_PLACE_WRAP); /* so that slots s, s + p, ... are of stage s */
    double most = 0;
    for (size_t s = 0; s < p; s++) {
        double work = 0;
        for (size_t slot = s; slot < n_slots; slot += p)
            work += duration[slot * stride] + (delays ? delays->before[slot] + delays->after[slot] : 0);
        most = fmax(most, work);
    }
    return most;
}

void ek__problem_step_times(const ek__problem *problem, const double *duration, double *scratch,
                            double times[EK__LANES])
{
    ek__order_step_times(problem->order, duration, problem->delays, scratch, times);
    for (int l = 0; l < EK__LANES && problem->n_more > 0; l++)
        times[l] += problem->n_more * slowest_work(problem, duration + l, EK__LANES);
}

double ek__state_step_time(const ek__problem *problem, const ek__state *state, double *scratch)
{
    ek__state_durations(problem, state, scratch, 1);
    double *clocks = scratch + ek__order_n_slots(problem->order);
    double time = ek__order_step_time(problem->order, scratch, problem->delays, clocks);
    return problem->n_more > 0 ? time + problem->n_more * slowest_work(problem, scratch, 1) : time;
}

ek_status ek__state_to_plan(const ek__problem *problem, const ek__state *state, ek_plan *plan, ek_error *err)
{
    assert(ek__state_is_valid(problem, state, false));
    ek_status status = ek_plan_init(plan, problem->n_stages, problem->n_chunks, err);
    if (status)
        return status;
    for (int c = 0; c < problem->n_cells; c++) {
        const ek__option *option = &state->chunk[c]->option[state->option[c]];
        plan->layers[c] = state->chunk[c]->n;
        plan->full[c] = option->full;
        plan->select[c] = option->select;
        plan->comm[c] = option->comm;
    }
    assert(ek_plan_check(plan, problem->layers, NULL) == EK_OK);
    return EK_OK;
}
