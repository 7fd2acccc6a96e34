/* Enumerates a stage's choices: first the layers of its chunks, then the recomputation of each; the last chunk takes
 * its cheapest way that still fits, since any other is dominated. */
#include "balance/choices.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"

/* Choices of the stage being listed, in the order they are found. */
typedef struct listing {
    ek__choices *all;
    ek__search *search;
    int stage;
    double upper;
    const double *own; /* [width] blocks of the stage by kind and chunk: all of them are one path */
    long left;         /* choices that may still be listed */
    long capacity;
    int *total; /* [n] layers */
    int row[EK_MAX_CHUNKS], option[EK_MAX_CHUNKS];
    const ek__chunk *chunk[EK_MAX_CHUNKS];
    double *use; /* [n_chunks + 1][n_live] MB held */
    int group;   /* first choice of the same layers by chunk */
    bool incomplete;
    ek_status status;
} listing;

static void chunk_times(const listing *l, int i, double time[EK_N_BLOCK_KINDS])
{
    const ek__problem *problem = l->all->problem;
    assert(problem->order->n_kinds <= EK_N_BLOCK_KINDS);
    ek__cell_times(problem, i * problem->n_stages + l->stage, l->chunk[i]->forward_time,
                   l->chunk[i]->option[l->option[i]].backward_time, l->chunk[i]->weight_time, time);
}

/* Weight of chunk i on the stage's own path. */
static double own_time(const listing *l, int i)
{
    int v = l->all->problem->n_chunks;
    double time[EK_N_BLOCK_KINDS], sum = 0;
    chunk_times(l, i, time);
    for (int k = 0; k < l->all->problem->order->n_kinds; k++)
        sum += l->own[k * v + i] * time[k];
    assert(sum >= 0);
    return sum;
}

static bool grow_ints(int **array, size_t n)
{
    int *grown = realloc(*array, n * sizeof *grown);
    if (grown)
        *array = grown;
    return grown != NULL;
}

static bool grow_doubles(double **array, size_t n)
{
    double *grown = realloc(*array, n * sizeof *grown);
    if (grown)
        *array = grown;
    return grown != NULL;
}

static void add(listing *l)
{
    ek__choices *all = l->all;
    int v = all->problem->n_chunks, s = l->stage, at = all->n[s];
    assert(l->group >= 0 && l->group <= at && at <= l->capacity);
    for (int k = l->group; k < at; k++) {
        bool dominated = true;
        for (int i = 0; i < v && dominated; i++)
            dominated = all->option[s][(size_t)k * (size_t)v + (size_t)i] <= l->option[i];
        if (dominated)
            return;
    }
    if (--l->left < 0)
        return;
    if (at == l->capacity) {
        size_t capacity = l->capacity ? 2 * (size_t)l->capacity : 256;
        if (!grow_ints(&all->row[s], capacity * (size_t)v) ||
            !grow_doubles(&all->time[s], capacity * (size_t)all->width) || !grow_ints(&l->total, capacity) ||
            !grow_ints(&all->option[s], capacity * (size_t)v)) {
            l->status = EK_ERR_MEMORY;
            return;
        }
        l->capacity = (long)capacity;
    }
    l->total[at] = 0;
    for (int i = 0; i < v; i++) {
        double time[EK_N_BLOCK_KINDS];
        chunk_times(l, i, time);
        for (int k = 0; k < all->problem->order->n_kinds; k++)
            all->time[s][(size_t)at * (size_t)all->width + (size_t)(k * v + i)] = time[k];
        all->row[s][(size_t)at * (size_t)v + (size_t)i] = l->row[i];
        all->option[s][(size_t)at * (size_t)v + (size_t)i] = l->option[i];
        l->total[at] += l->row[i];
    }
    assert(l->total[at] >= v * all->problem->min_layers && l->total[at] <= all->most);
    all->n[s]++;
}

static bool give_up(const listing *l)
{
    return l->status || l->left < 0 || ek__proof_over(l->search);
}

/* Add chunk i with its option to the chunks before it. */
static bool hold(listing *l, int i)
{
    const ek__problem *problem = l->all->problem;
    const ek__bank *bank = &problem->bank[l->stage];
    int v = problem->n_chunks;
    assert(i >= 0 && i < v && l->option[i] >= 0 && l->option[i] < l->chunk[i]->n_options);
    double activation = l->chunk[i]->option[l->option[i]].activation_mb +
                        problem->extra[i * problem->n_stages + l->stage].activation_mb;
    double *use = l->use + (size_t)i * (size_t)bank->n_live, *next = use + bank->n_live;
    bool fits = true;
    for (int k = 0; k < bank->n_live; k++) {
        next[k] = use[k] + l->chunk[i]->parameter_mb + bank->live[k * v + i] * activation;
        fits &= next[k] <= bank->room_mb[k] + problem->tolerance_mb;
    }
    return fits;
}

static void choose_options(listing *l, int i, double own)
{
    int v = l->all->problem->n_chunks;
    if (i == v) {
        add(l);
        return;
    }
    for (int o = 0; o < l->chunk[i]->n_options && !give_up(l); o++) {
        l->option[i] = o;
        double with = own + own_time(l, i);
        assert(o == 0 || l->chunk[i]->option[o].backward_time >= l->chunk[i]->option[o - 1].backward_time);
        if (with >= l->upper)
            break; /* further options take longer */
        if (!hold(l, i))
            continue;
        choose_options(l, i + 1, with);
        if (i == v - 1)
            break;
    }
}

/* Layers of chunk i and those after it. `own` is a lower bound of the path with the chunks placed so far. */
static void choose_layers(listing *l, int i, int placed, double own)
{
    const ek__problem *problem = l->all->problem;
    assert(i <= problem->n_chunks && placed >= i * problem->min_layers && placed <= problem->n_layers);
    if (i == problem->n_chunks) {
        l->group = l->all->n[l->stage];
        choose_options(l, 0, 0);
        return;
    }
    for (int n = problem->min_layers; placed + n <= problem->n_layers && !give_up(l); n++) {
        const ek__chunk *chunk = ek__chunk_get(problem, 0, n);
        if (!chunk) {
            l->status = EK_ERR_MEMORY;
            return;
        }
        l->chunk[i] = chunk;
        l->row[i] = n;
        l->incomplete |= !chunk->complete;
        l->option[i] = chunk->n_options - 1;
        if (chunk->n_options == 0 || !hold(l, i))
            break; /* more layers need more memory still */
        l->option[i] = 0;
        double with = own + own_time(l, i);
        if (with >= l->upper)
            break;
        choose_layers(l, i + 1, placed + n, with);
    }
}

/* Sort a stage's choices by layers, stably. */
static bool sort_stage(const listing *l)
{
    ek__choices *all = l->all;
    int s = l->stage, n = all->n[s], v = all->problem->n_chunks;
    int *first = ek__alloc((size_t)all->most + 2, sizeof *first), *at = ek__alloc((size_t)all->most + 2, sizeof *at);
    int *row = ek__alloc((size_t)n * (size_t)v + 1, sizeof *row);
    int *option = ek__alloc((size_t)n * (size_t)v + 1, sizeof *option);
    double *time = ek__alloc((size_t)n * (size_t)all->width + 1, sizeof *time);
    bool fine = first && at && row && option && time;
    assert(l->total || n == 0);
    if (fine) {
        for (int k = 0; k < n; k++)
            first[l->total[k] + 1]++;
        for (int t = 0; t <= all->most; t++)
            first[t + 1] += first[t];
        assert(first[all->most + 1] == n);
        memcpy(at, first, ((size_t)all->most + 2) * sizeof *at);
        for (int k = 0; k < n; k++) {
            size_t to = (size_t)at[l->total[k]]++;
            memcpy(row + to * (size_t)v, all->row[s] + (size_t)k * (size_t)v, (size_t)v * sizeof *row);
            memcpy(option + to * (size_t)v, all->option[s] + (size_t)k * (size_t)v, (size_t)v * sizeof *option);
            memcpy(time + to * (size_t)all->width, all->time[s] + (size_t)k * (size_t)all->width,
                   (size_t)all->width * sizeof *time);
        }
        free(all->row[s]);
        free(all->option[s]);
        free(all->time[s]);
        all->row[s] = row;
        all->option[s] = option;
        all->time[s] = time;
        all->first[s] = first;
    } else {
        free(row);
        free(option);
        free(time);
        free(first);
    }
    free(at);
    return fine;
}

static void list_stage(listing *l, double *own)
{
    const ek__problem *problem = l->all->problem;
    const ek_order *order = problem->order;
    size_t per_stage = order->n_blocks / (size_t)problem->n_stages;
    const ek_block *list = order->blocks + (size_t)l->stage * per_stage;
    int v = problem->n_chunks;
    assert(l->stage >= 0 && l->stage < problem->n_stages && problem->n_held == v);
    memset(own, 0, (size_t)l->all->width * sizeof *own);
    for (size_t k = 0; k < per_stage; k++)
        own[list[k].kind * v + list[k].chunk] += order->scale ? order->scale[list[k].micro_batch] : 1;
    l->own = own;
    l->use = ek__alloc(((size_t)v + 1) * (size_t)problem->bank[l->stage].n_live, sizeof *l->use);
    if (!l->use) {
        l->status = EK_ERR_MEMORY;
        return;
    }
    choose_layers(l, 0, 0, 0);
    if (!give_up(l) && !sort_stage(l))
        l->status = EK_ERR_MEMORY;
    free(l->use);
    free(l->total);
}

ek_status ek__choices_init(ek__choices *choices, ek__search *search, double upper, long most, bool *whole,
                           ek_error *err)
{
    const ek__problem *problem = search->problem;
    size_t p = (size_t)problem->n_stages;
    assert(problem->layers->n_body == 1 && problem->order->n_ways == 1 && !problem->order->schedule->arrange);
    assert(most > 0);
    ek__choices all = {.problem = problem,
                       .width = problem->order->n_kinds * problem->n_chunks,
                       .most = problem->n_layers,
                       .n = ek__alloc(p, sizeof(int)),
                       .first = ek__alloc(p, sizeof(int *)),
                       .row = ek__alloc(p, sizeof(int *)),
                       .option = ek__alloc(p, sizeof(int *)),
                       .time = ek__alloc(p, sizeof(double *))};
    double *own = ek__alloc((size_t)all.width, sizeof *own);
    ek_status status = all.n && all.first && all.row && all.option && all.time && own ? EK_OK : EK_ERR_MEMORY;
    *whole = true;
    for (size_t s = 0; s < p && !status && *whole; s++) {
        listing l = {.all = &all, .search = search, .stage = (int)s, .upper = upper, .left = most};
        list_stage(&l, own);
        status = l.status;
        most = l.left;
        *whole = !l.incomplete && l.left >= 0 && !ek__proof_over(search);
    }
    free(own);
    *choices = all;
    return status ? ek__no_memory(err) : EK_OK;
}

void ek__choices_clear(ek__choices *choices)
{
    for (int s = 0; s < (choices->problem ? choices->problem->n_stages : 0); s++) {
        if (choices->first)
            free(choices->first[s]);
        if (choices->row)
            free(choices->row[s]);
        if (choices->option)
            free(choices->option[s]);
        if (choices->time)
            free(choices->time[s]);
    }
    free(choices->n);
    free(choices->first);
    free(choices->row);
    free(choices->option);
    free(choices->time);
    *choices = (ek__choices){0};
}
