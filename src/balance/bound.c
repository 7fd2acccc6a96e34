/* Computes lower bounds from paths that every plan has. The mean bound is a sum; the stage-by-stage bound is a shortest
 * path over (stage, layers placed) that minimises several sums at once, so it keeps the undominated sums (labels, as in
 * multi-criteria shortest paths, Martins 1984). Whole layers make it strong: an average over stages ignores that some
 * stage must have one layer more. */
#include "balance/bound.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"
#include "simulate/longest_path.h"

enum { MOST_USES = 3, MOST_PARTIAL = 1 << 21, MOST_COMPARED = 3000 };

/* ---- paths ---- */

/* Length of one path: the count of each chunk's blocks, by kind and cell, and the transfers on it. */
typedef struct path {
    double *weight; /* [n_kinds][n_cells] */
    double transfers;
} path;

/* Blocks of a micro-batch's chain by place: forwards in model order, then backwards in reverse. */
static size_t chain_slot(const ek_order *order, int place)
{
    int n = order->n_cells;
    assert(place >= 0 && place < 2 * n);
    return place < n ? (size_t)order->cell_at[place] : (size_t)(n + order->cell_at[2 * n - 1 - place]);
}

/* Place of a block in its chain, or -1 for a weight gradient, which nothing waits for. */
static int chain_place(const ek_order *order, int stage, const ek_block *b)
{
    if (b->kind == EK_BACKWARD_WEIGHT)
        return -1;
    int position = ek_position(order->schedule->placement, order->shape.n_stages, b->chunk, stage);
    return b->kind == EK_FORWARD ? position : 2 * order->n_cells - 1 - position;
}

static double delay(const ek__problem *problem, const double *table, size_t slot, int way)
{
    assert(way >= 0 && way < problem->order->n_ways && slot < (size_t)ek__order_n_slots(problem->order));
    return problem->delays ? table[(size_t)way * (size_t)ek__order_n_slots(problem->order) + slot] : 0;
}

static double factor(const ek_order *order, size_t micro_batch)
{
    assert(micro_batch < (size_t)order->shape.n_micro_batches);
    return order->scale ? order->scale[micro_batch] : 1;
}

/* Add the chain blocks of a micro-batch at places [from, to). */
static void add_chain(const ek__problem *problem, size_t micro_batch, int from, int to, path *p)
{
    const ek_order *order = problem->order;
    assert(from >= 0 && from <= to && to <= 2 * order->n_cells);
    int way = ek__order_way(order, micro_batch);
    for (int place = from; place < to; place++) {
        size_t slot = chain_slot(order, place);
        p->weight[slot] += factor(order, micro_batch);
        if (problem->delays)
            p->transfers +=
                delay(problem, problem->delays->before, slot, way) + delay(problem, problem->delays->travel, slot, way);
    }
}

/* The path to block `from` of the stage's list by its micro-batch, along the list to `to`, and on from there. */
static void trace(const ek__problem *problem, int stage, size_t from, size_t to, path *p)
{
    const ek_order *order = problem->order;
    const ek_block *list = order->blocks + (size_t)stage * (order->n_blocks / (size_t)order->shape.n_stages);
    assert(stage >= 0 && stage < problem->n_stages);
    assert(from <= to && to < order->n_blocks / (size_t)order->shape.n_stages);
    memset(p->weight, 0, (size_t)ek__order_n_slots(order) * sizeof *p->weight);
    p->transfers = 0;
    int before = chain_place(order, stage, &list[from]), after = chain_place(order, stage, &list[to]);
    if (before > 0)
        add_chain(problem, list[from].micro_batch, 0, before, p);
    for (size_t k = from; k <= to; k++) {
        size_t slot = (size_t)list[k].kind * (size_t)order->n_cells + (size_t)ek__order_cell(order, stage, &list[k]);
        p->weight[slot] += factor(order, list[k].micro_batch);
        if (problem->delays) {
            int way = ek__order_way(order, list[k].micro_batch);
            p->transfers += delay(problem, problem->delays->before, slot, way);
            p->transfers += delay(problem, k < to ? problem->delays->after : problem->delays->travel, slot, way);
        }
    }
    if (after >= 0)
        add_chain(problem, list[to].micro_batch, after + 1, 2 * order->n_cells, p);
}

/* First backward and last forward of the stage's list. */
static bool inner(const ek_order *order, int stage, size_t *from, size_t *to)
{
    size_t n = order->n_blocks / (size_t)order->shape.n_stages;
    const ek_block *list = order->blocks + (size_t)stage * n;
    for (*from = 0; *from < n && list[*from].kind != EK_BACKWARD; ++*from)
        ;
    for (*to = n - 1; *to > 0 && list[*to].kind != EK_FORWARD; --*to)
        ;
    return *from < *to;
}

/* ---- the mean bound ---- */

/* Least a sum of weighted blocks can be: every chunk has its least layers, the others go where they add least. */
static double least_sum(const ek__problem *problem, const double *weight)
{
    int n = problem->n_cells, n_kinds = problem->order->n_kinds;
    double sum = 0;
    assert(n_kinds <= EK_N_BLOCK_KINDS);
    for (int b = -1; b < problem->layers->n_body; b++) {
        const ek_layer *body = b < 0 ? NULL : &problem->layers->body[b];
        double backward = INFINITY, cheapest = INFINITY;
        for (int k = 0; k < EK_N_RECOMPUTE && body; k++)
            if (problem->layers->modelled[k])
                backward = fmin(backward, body->backward_time[k]);
        for (int c = 0; c < n; c++) {
            double extra[EK_N_BLOCK_KINDS], with[EK_N_BLOCK_KINDS], cost = 0;
            ek__cell_times(problem, c, 0, 0, 0, extra);
            if (!body) {
                for (int k = 0; k < n_kinds; k++)
                    sum += weight[k * n + c] * extra[k];
                continue;
            }
            ek__cell_times(problem, c, body->forward_time, backward, body->weight_time, with);
            for (int k = 0; k < n_kinds; k++)
                cost += weight[k * n + c] * (with[k] - extra[k]);
            cheapest = fmin(cheapest, cost);
        }
        assert(!body || cheapest < INFINITY); /* some kind is modelled */
        if (body)
            sum += body->n_layers * cheapest;
    }
    return sum;
}

/* A bound for every order of the stage's blocks: the way to its first position, and all its work; or the work of its
 * chains, to their end. */
static void any_order(const ek__problem *problem, int stage, bool drained, path *p)
{
    const ek_order *order = problem->order;
    size_t n = order->n_blocks / (size_t)order->shape.n_stages;
    const ek_block *list = order->blocks + (size_t)stage * n;
    int first = 2 * order->n_cells;
    memset(p->weight, 0, (size_t)ek__order_n_slots(order) * sizeof *p->weight);
    p->transfers = 0;
    for (size_t k = 0; k < n; k++) {
        size_t slot = (size_t)list[k].kind * (size_t)order->n_cells + (size_t)ek__order_cell(order, stage, &list[k]);
        int place = chain_place(order, stage, &list[k]);
        p->weight[slot] += drained && place < 0 ? 0 : factor(order, list[k].micro_batch);
        if (place >= 0 && place < first)
            first = place;
    }
    assert(first < order->n_cells);               /* a forward is the first of its chain's blocks on a stage */
    for (int place = 0; place < first; place++) { /* only durations: the first micro-batch is not known */
        p->weight[chain_slot(order, place)] += order->scale ? 0 : 1;
        p->weight[chain_slot(order, 2 * order->n_cells - 1 - place)] += order->scale || !drained ? 0 : 1;
    }
}

double ek__bound_mean(const ek__problem *problem)
{
    const ek_order *order = problem->order;
    size_t n_slots = (size_t)ek__order_n_slots(order), per_stage = order->n_blocks / (size_t)order->shape.n_stages;
    double *weight = ek__alloc(3 * n_slots, sizeof *weight);
    if (!weight)
        return 0;
    double *outer = weight + n_slots, *in = outer + n_slots, bound = 0, outer_transfers = 0, in_transfers = 0;
    bool all_inner = !order->schedule->arrange;
    path p = {.weight = weight};
    for (int s = 0; s < problem->n_stages; s++) {
        size_t from, to;
        if (order->schedule->arrange)
            any_order(problem, s, false, &p);
        else
            trace(problem, s, 0, per_stage - 1, &p);
        for (size_t k = 0; k < n_slots; k++)
            outer[k] += weight[k] / problem->n_stages;
        outer_transfers += p.transfers / problem->n_stages;
        all_inner = all_inner && inner(order, s, &from, &to);
        if (!all_inner)
            continue;
        trace(problem, s, from, to, &p);
        for (size_t k = 0; k < n_slots; k++)
            in[k] += weight[k] / problem->n_stages;
        in_transfers += p.transfers / problem->n_stages;
    }
    bound = least_sum(problem, outer) + outer_transfers;
    if (all_inner)
        bound = fmax(bound, least_sum(problem, in) + in_transfers);
    assert(bound >= 0);
    free(weight);
    return bound;
}

/* ---- the stage-by-stage bound ---- */

enum { K = EK__MOST_FAMILIES };

/* Terms that a stage adds to the paths of each family: when the path's own stage comes after it, before it, or is
 * it. */
typedef struct parts {
    double before[K], after[K], own[K];
} parts;

/* One choice for a stage. */
typedef struct column {
    parts add;
    int n;    /* layers */
    int from; /* v > 1: index of the last row's choice; v = 1: the chunk's option */
} column;

/* One choice for the first rows of a stage's chunks. A use is the memory of a live vector; of many live vectors only
 * the three heaviest are checked, which can only lower the bound. */
typedef struct partial {
    parts add;
    double use[MOST_USES];
    int n;                         /* layers of the rows so far */
    int parent, row_n, row_option; /* choice of the rows before, layers and option of this one */
} partial;

typedef struct partials {
    size_t n, capacity;
    partial *item;
} partials;

/* Choices of a stage by layers: [first[n], first[n + 1]) have n. */
typedef struct columns {
    int n, most; /* columns; most layers */
    column *column;
    int *first;    /* [most + 2] */
    partials *row; /* [n_chunks] */
} columns;

/* A partial plan of the stages from some stage on: for each family the sum that the stages so far add to a path with
 * its own stage still to come, and the longest path with its own stage among them. */
typedef struct label {
    double after[K], longest[K];
    int parent; /* label of the stage after */
    int n, column;
    int64_t cell[2 * K]; /* of the grid */
} label;

typedef struct labels {
    size_t n, capacity;
    label *label;
    size_t *first; /* [n_layers + 2] by layers placed */
} labels;

/* Weights of one family's paths by stage, kind and row: where the path's own stage comes after the stage, before it, or
 * is it. */
typedef struct weights {
    double *before, *after, *own; /* [n_stages][3][n_chunks] */
    double *transfers;            /* [n_stages]; -INFINITY where there is no such path */
} weights;

typedef struct table {
    ek__search *search;
    const ek__problem *problem;
    ek__bound_pass *pass;
    int n_families;
    weights family[K];
    double *storage;       /* of the weights */
    double least_backward; /* of one layer, whole */
    columns *columns;      /* [n_stages] for one body kind and v > 1, else NULL */
    column *lone;          /* [n_stages][n_layers + 1] for one body kind and v = 1, else NULL; `from` < 0 for none */
    /* [n_stages + 1][n_layers + 1][n_families] of the stages before s holding so many layers: the least sum they add to
     * a path with its own stage later, and the least longest path with its own stage among them. */
    double *least_before, *least_longest;
    labels *labels; /* [n_stages + 1] */
    label *candidate;
    size_t n_candidates, candidate_capacity;
    bool too_many; /* too many columns of a stage, or no time for them: the search gives up */
} table;

bool ek__bound_stages_applies(const ek__problem *problem)
{
    const ek_order *order = problem->order;
    return order->schedule->placement == EK_PLACE_WRAP && !order->schedule->arrange && !order->scale &&
           (problem->layers->n_body == 1 || problem->n_chunks == 1);
}

static double dot(const double *weight, int stride, const double *time)
{
    return weight[0] * time[0] + weight[stride] * time[1] + weight[2 * stride] * time[2];
}

static void add_times(const table *t, int stage, int row, const double *time, parts *add)
{
    int v = t->problem->n_chunks;
    assert(row >= 0 && row < v);
    for (int k = 0; k < t->n_families; k++) {
        const weights *w = &t->family[k];
        int at = stage * 3 * v + row;
        add->before[k] += dot(w->before + at, v, time);
        add->after[k] += dot(w->after + at, v, time);
        add->own[k] += dot(w->own + at, v, time);
    }
}

static parts no_parts(const table *t, int stage)
{
    parts add = {0};
    for (int k = 0; k < t->n_families; k++)
        add.own[k] = t->family[k].transfers[stage];
    return add;
}

/* Index in the stage's list of the first (or last) block of a kind and chunk, or -1. */
static long find_block(const ek_order *order, int stage, int kind, int chunk, bool last)
{
    long n = (long)(order->n_blocks / (size_t)order->shape.n_stages);
    const ek_block *list = order->blocks + (size_t)stage * (size_t)n;
    for (long i = 0; i < n; i++) {
        long k = last ? n - 1 - i : i;
        if (list[k].kind == kind && list[k].chunk == chunk)
            return k;
    }
    return -1;
}

/* Weights of a family's paths. A stage adds the same to all paths with their own stage after it, or before it. */
static void weigh_family(const table *t, const ek__path_family *f, weights *w, path *whole)
{
    const ek__problem *problem = t->problem;
    int p = problem->n_stages, v = problem->n_chunks, n = problem->n_cells, n_kinds = problem->order->n_kinds;
    assert(f->from_kind >= 0 && f->from_kind < n_kinds && f->to_kind >= 0 && f->to_kind < n_kinds);
    assert(f->from_chunk >= 0 && f->from_chunk < v && f->to_chunk >= 0 && f->to_chunk < v);
    for (int s = 0; s < p; s++) {
        long from = find_block(problem->order, s, f->from_kind, f->from_chunk, false);
        long to = find_block(problem->order, s, f->to_kind, f->to_chunk, true);
        w->transfers[s] = -INFINITY;
        if (from < 0 || to < from)
            continue;
        trace(problem, s, (size_t)from, (size_t)to, whole);
        w->transfers[s] = whole->transfers;
        for (int kind = 0; kind < n_kinds; kind++)
            for (int i = 0; i < v; i++)
                for (int j = 0; j < p; j++) {
                    double *to_stage = j < s ? w->before : j > s ? w->after : w->own;
                    to_stage[(j * 3 + kind) * v + i] = whole->weight[kind * n + i * p + j];
                }
    }
}

/* v = 1: the cheapest way of the layers [first, first + n) that fits on the stage. */
static bool lone_column(const table *t, int stage, int first, int n, column *out)
{
    const ek__problem *problem = t->problem;
    const ek__chunk *chunk = ek__chunk_get(problem, first, n);
    if (!chunk)
        return false;
    double time[3];
    int option = ek__option_that_fits(problem, stage, chunk);
    if (option < 0)
        return false;
    ek__cell_times(problem, stage, chunk->forward_time,
                   chunk->complete ? chunk->option[option].backward_time : n * t->least_backward, chunk->weight_time,
                   time);
    *out = (column){.add = no_parts(t, stage), .n = n, .from = option};
    add_times(t, stage, 0, time, &out->add);
    return true;
}

static bool partial_push(partials *list, const partial *item)
{
    partial *grown = ek__with_room(list->item, &list->capacity, list->n + 1, sizeof *grown);
    if (!grown)
        return false;
    list->item = grown;
    list->item[list->n++] = *item;
    return true;
}

static int by_layers_then_before(const void *a, const void *b)
{
    const partial *x = a, *y = b;
    if (x->n != y->n)
        return x->n - y->n;
    if (x->add.own[0] != y->add.own[0])
        return x->add.own[0] < y->add.own[0] ? -1 : 1;
    return x->add.before[0] < y->add.before[0] ? -1 : x->add.before[0] > y->add.before[0];
}

static bool no_more(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] > b[i])
            return false;
    return true;
}

static void keep_undominated(partials *list, int n_families, int n_uses)
{
    if (list->n < 2)
        return;
    qsort(list->item, list->n, sizeof *list->item, by_layers_then_before);
    size_t kept = 0, group = 0;
    for (size_t i = 0; i < list->n; i++) {
        const partial *x = &list->item[i];
        if (kept == group || x->n != list->item[group].n)
            group = kept;
        bool dominated = false;
        assert(kept == group || list->item[group].n == x->n); /* sorted by layers */
        for (size_t j = group; j < kept && !dominated; j++) {
            const partial *y = &list->item[j];
            dominated = no_more(y->add.own, x->add.own, n_families) && no_more(y->use, x->use, n_uses) &&
                        no_more(y->add.before, x->add.before, n_families) &&
                        no_more(y->add.after, x->add.after, n_families);
        }
        if (!dominated)
            list->item[kept++] = *x;
    }
    list->n = kept;
}

/* The live vectors that hold most in all, most of the last chunk, and most of the first. */
static int choose_uses(const ek__bank *bank, int v, int *use)
{
    double most[MOST_USES] = {-1, -1, -1};
    int found[MOST_USES] = {0}, n = 0;
    for (int k = 0; k < bank->n_live; k++) {
        const double *live = bank->live + (size_t)k * (size_t)v;
        double value[MOST_USES] = {0, live[v - 1], live[0]};
        for (int i = 0; i < v; i++)
            value[0] += live[i];
        for (int u = 0; u < MOST_USES; u++)
            if (value[u] > most[u]) {
                most[u] = value[u];
                found[u] = k;
            }
    }
    for (int u = 0; u < MOST_USES; u++) {
        bool again = false;
        for (int j = 0; j < n; j++)
            again |= use[j] == found[u];
        if (!again)
            use[n++] = found[u];
    }
    assert(n >= 1 && n <= MOST_USES);
    return n;
}

/* Can a choice of some rows still be part of a plan below `upper`? */
static bool hopeless(const table *t, const parts *add)
{
    for (int k = 0; k < t->n_families; k++)
        if (add->own[k] >= t->pass->upper)
            return true;
    return false;
}

/* Extend every choice of the rows before by every choice of row i. */
static ek_status add_row(table *t, int stage, int i, const int *use, int n_uses, const partials *now, partials *next)
{
    const ek__problem *problem = t->problem;
    const ek__bank *bank = &problem->bank[stage];
    int v = problem->n_chunks, cell = i * problem->n_stages + stage;
    assert(i >= 0 && i < v && next->n == 0);
    for (int n = problem->min_layers; n <= problem->n_layers; n++) {
        const ek__chunk *chunk = ek__chunk_get(problem, 0, n);
        bool any = false;
        if (!chunk)
            return EK_ERR_MEMORY;
        t->too_many = ek__proof_over(t->search);
        if (t->too_many)
            return EK_OK;
        for (int o = 0; o < chunk->n_options; o++) {
            double time[3], activation = chunk->option[o].activation_mb + problem->extra[cell].activation_mb;
            parts add = {0};
            ek__cell_times(problem, cell, chunk->forward_time,
                           chunk->complete ? chunk->option[o].backward_time : n * t->least_backward, chunk->weight_time,
                           time);
            add_times(t, stage, i, time, &add);
            for (size_t k = 0; k < now->n; k++) {
                partial item = now->item[k];
                bool fits = item.n + n <= problem->n_layers;
                for (int u = 0; u < n_uses && fits; u++) {
                    item.use[u] += chunk->parameter_mb + bank->live[use[u] * v + i] * activation;
                    fits = item.use[u] <= bank->room_mb[use[u]] + problem->tolerance_mb;
                }
                if (!fits)
                    continue;
                any = true;
                item.n += n;
                for (int f = 0; f < t->n_families; f++) {
                    item.add.before[f] += add.before[f];
                    item.add.after[f] += add.after[f];
                    item.add.own[f] += add.own[f];
                }
                if (hopeless(t, &item.add))
                    continue;
                item.parent = (int)k;
                item.row_n = n;
                item.row_option = o;
                if (next->n >= MOST_PARTIAL) {
                    t->too_many = true;
                    return EK_OK;
                }
                if (!partial_push(next, &item))
                    return EK_ERR_MEMORY;
            }
        }
        if (!any)
            break;
    }
    keep_undominated(next, t->n_families, i < v - 1 ? n_uses : 0); /* at the end the uses have done their work */
    return EK_OK;
}

static ek_status stage_columns(table *t, int stage, columns *out, ek_error *err)
{
    const ek__problem *problem = t->problem;
    int v = problem->n_chunks, use[MOST_USES] = {0}, n_uses = choose_uses(&problem->bank[stage], v, use);
    partial none = {.add = no_parts(t, stage)};
    partials start = {.n = 1, .capacity = 1, .item = &none};
    out->row = ek__alloc((size_t)v, sizeof *out->row);
    if (!out->row)
        return ek__no_memory(err);
    for (int i = 0; i < v; i++) {
        if (add_row(t, stage, i, use, n_uses, i ? &out->row[i - 1] : &start, &out->row[i]))
            return ek__no_memory(err);
        if (t->too_many)
            return EK_OK;
    }
    const partials *all = &out->row[v - 1];
    out->n = (int)all->n;
    out->most = all->n ? all->item[all->n - 1].n : 0;
    out->column = ek__alloc(all->n + 1, sizeof *out->column);
    out->first = ek__alloc((size_t)out->most + 2, sizeof *out->first);
    if (!out->column || !out->first)
        return ek__no_memory(err);
    for (size_t k = 0; k < all->n; k++) {
        out->column[k] = (column){.add = all->item[k].add, .n = all->item[k].n, .from = (int)k};
        out->first[all->item[k].n + 1] = (int)k + 1;
    }
    for (int n = 0; n <= out->most; n++)
        if (out->first[n + 1] < out->first[n])
            out->first[n + 1] = out->first[n];
    assert(out->first[0] == 0 && out->first[out->most + 1] == out->n);
    return EK_OK;
}

/* Columns of n layers of a stage from layer `first` on; `*end` when more layers have none either. */
static int column_range(const table *t, int stage, int first, int n, column *lone, const column **out, bool *end)
{
    int fixed = t->problem->fixed_layers[stage];
    assert(first >= 0 && n >= 0 && first + n <= t->problem->n_layers);
    *end = fixed >= 0 && n > fixed;
    if (fixed >= 0 && n != fixed)
        return 0;
    if (t->columns) {
        const columns *c = &t->columns[stage];
        *end = n > c->most;
        if (*end)
            return 0;
        *out = c->column + c->first[n];
        return c->first[n + 1] - c->first[n];
    }
    if (t->lone)
        lone = &t->lone[(size_t)stage * ((size_t)t->problem->n_layers + 1) + (size_t)n];
    *out = lone;
    bool any = t->lone ? lone->from >= 0 : lone_column(t, stage, first, n, lone);
    if (any) /* its own time rules it out */
        for (int k = 0; k < t->n_families; k++)
            any &= lone->add.own[k] < t->pass->upper;
    *end = !any && t->problem->layers->n_body == 1;
    return any;
}

static void fill_least(table *t)
{
    const ek__problem *problem = t->problem;
    int p = problem->n_stages, L = problem->n_layers, least = problem->min_layers * problem->n_chunks,
        f = t->n_families;
    size_t row = ((size_t)L + 1) * (size_t)f;
    for (size_t i = 0; i < (size_t)(p + 1) * row; i++)
        t->least_before[i] = t->least_longest[i] = INFINITY;
    for (int k = 0; k < f; k++) {
        t->least_before[k] = 0;
        t->least_longest[k] = -INFINITY;
    }
    for (int s = 0; s < p; s++) {
        const double *before = t->least_before + (size_t)s * row, *longest = t->least_longest + (size_t)s * row;
        double *next_before = t->least_before + (size_t)(s + 1) * row;
        double *next_longest = t->least_longest + (size_t)(s + 1) * row;
        for (int l = 0; l <= L && !t->too_many; l++) {
            if (before[l * f] == INFINITY)
                continue;
            t->too_many = ek__proof_over(t->search);
            for (int n = least; l + n <= L; n++) {
                column lone;
                const column *c;
                bool end = false;
                int count = column_range(t, s, l, n, &lone, &c, &end);
                if (end)
                    break;
                for (; count > 0; count--, c++)
                    for (int k = 0; k < f; k++) {
                        int from = l * f + k, to = (l + n) * f + k;
                        assert(c->n == n && c->add.before[k] >= 0 && c->add.after[k] >= 0);
                        double own = before[from] + c->add.own[k];
                        next_before[to] = fmin(next_before[to], before[from] + c->add.before[k]);
                        next_longest[to] = fmin(next_longest[to], fmax(longest[from] + c->add.after[k], own));
                    }
            }
        }
    }
}

static bool add_candidate(table *t, const label *candidate)
{
    label *candidates = ek__with_room(t->candidate, &t->candidate_capacity, t->n_candidates + 1, sizeof *candidates);
    if (!candidates)
        return false;
    t->candidate = candidates;
    t->candidate[t->n_candidates++] = *candidate;
    return true;
}

static int by_after(const void *a, const void *b)
{
    const label *x = a, *y = b;
    if (x->after[0] != y->after[0])
        return x->after[0] < y->after[0] ? -1 : 1;
    return x->longest[0] < y->longest[0] ? -1 : x->longest[0] > y->longest[0];
}

static int by_cell(const void *a, const void *b)
{
    const label *x = a, *y = b;
    for (int k = 0; k < 2 * K; k++)
        if (x->cell[k] != y->cell[k])
            return x->cell[k] < y->cell[k] ? -1 : 1;
    return by_after(a, b);
}

/* Merge candidates of one cell of the grid into their componentwise least. */
static void merge_candidates(table *t)
{
    double grid = t->pass->grid;
    size_t kept = 0;
    assert(grid > 0);
    for (size_t i = 0; i < t->n_candidates; i++)
        for (int k = 0; k < t->n_families; k++) {
            label *c = &t->candidate[i];
            c->cell[k] = (int64_t)floor(c->after[k] / grid);
            c->cell[K + k] = k ? (int64_t)floor(fmax(c->longest[k], -1e15) / grid) : 0;
        }
    qsort(t->candidate, t->n_candidates, sizeof *t->candidate, by_cell);
    for (size_t i = 0; i < t->n_candidates; i++) {
        const label *c = &t->candidate[i];
        label *into = &t->candidate[kept ? kept - 1 : 0];
        if (kept && memcmp(into->cell, c->cell, sizeof c->cell) == 0) {
            for (int k = 0; k < t->n_families; k++) {
                into->after[k] = fmin(into->after[k], c->after[k]);
                into->longest[k] = fmin(into->longest[k], c->longest[k]);
            }
        } else {
            t->candidate[kept++] = *c;
        }
    }
    assert(kept >= 1 && kept <= t->n_candidates);
    t->n_candidates = kept;
}

/* Keep the undominated candidates. With one family that is a staircase; with more, each is compared with the kept ones
 * while they are few. */
static void drop_dominated(table *t)
{
    size_t kept = 0;
    int f = t->n_families;
    qsort(t->candidate, t->n_candidates, sizeof *t->candidate, by_after);
    for (size_t i = 0; i < t->n_candidates; i++) {
        const label *c = &t->candidate[i];
        bool dominated = false;
        size_t least = f == 1 ? (kept ? kept - 1 : 0) : kept > MOST_COMPARED ? kept - MOST_COMPARED : 0;
        for (size_t j = least; j < kept && !dominated; j++)
            dominated = no_more(t->candidate[j].after, c->after, f) && no_more(t->candidate[j].longest, c->longest, f);
        if (!dominated)
            t->candidate[kept++] = *c;
    }
    assert(kept >= 1 && kept <= t->n_candidates); /* the first is never dominated */
    t->n_candidates = kept;
}

static bool keep_labels(const table *t, labels *out)
{
    label *grown = ek__with_room(out->label, &out->capacity, out->n + t->n_candidates, sizeof *grown);
    if (!grown)
        return false;
    out->label = grown;
    memcpy(out->label + out->n, t->candidate, t->n_candidates * sizeof *t->candidate);
    out->n += t->n_candidates;
    return true;
}

/* Put a column of stage s before a label. @return false when no plan with it is below `upper` */
static bool join(const table *t, const label *after, const column *c, const double *least_before,
                 const double *least_longest, label *out)
{
    for (int k = 0; k < t->n_families; k++) {
        out->after[k] = after->after[k] + c->add.after[k];
        out->longest[k] = fmax(after->longest[k] + c->add.before[k], after->after[k] + c->add.own[k]);
        if (out->longest[k] + least_before[k] >= t->pass->upper || out->after[k] + least_longest[k] >= t->pass->upper)
            return false;
    }
    return true;
}

/* Labels of the stages from s on, from those of the stages after it. `*whole` is false when it was given up. */
static ek_status extend(table *t, int s, const labels *from, labels *to, bool *whole)
{
    const ek__problem *problem = t->problem;
    int L = problem->n_layers, least = problem->min_layers * problem->n_chunks, f = t->n_families;
    size_t row = ((size_t)L + 1) * (size_t)f;
    *whole = false;
    assert(to->n == 0 && from->first[L + 1] == from->n);
    for (int l = 0; l <= L; l++) { /* layers placed from s on */
        const double *before = t->least_before + (size_t)s * row + (size_t)((L - l) * f);
        const double *longest = t->least_longest + (size_t)s * row + (size_t)((L - l) * f);
        to->first[l] = to->n;
        t->n_candidates = 0;
        for (int n = least; n <= l && before[0] < INFINITY; n++) {
            size_t begin = from->first[l - n], end = from->first[l - n + 1];
            column lone;
            const column *c;
            bool no_more_layers = false;
            int count = begin < end ? column_range(t, s, L - l, n, &lone, &c, &no_more_layers) : 0;
            if (no_more_layers)
                break;
            for (int i = 0; i < count; i++)
                for (size_t j = begin; j < end; j++) {
                    label next = {
                        .parent = (int)j, .n = n, .column = t->columns ? (int)(c + i - t->columns[s].column) : c->from};
                    if (join(t, &from->label[j], c + i, before, longest, &next) && !add_candidate(t, &next))
                        return EK_ERR_MEMORY;
                }
            if ((n % 64 == 0 && ek__proof_over(t->search)) || t->n_candidates > (size_t)t->pass->most_labels)
                return EK_OK;
        }
        if (t->n_candidates == 0)
            continue;
        if (t->pass->grid > 0)
            merge_candidates(t);
        drop_dominated(t);
        if (!keep_labels(t, to))
            return EK_ERR_MEMORY;
        if (to->n > (size_t)t->pass->most_labels)
            return EK_OK;
    }
    to->first[L + 1] = to->n;
    *whole = true;
    return EK_OK;
}

/* The plan of a label of all stages; where labels were merged, of one of them. */
static bool rebuild(const table *t, const label *best, ek__state *state)
{
    const ek__problem *problem = t->problem;
    int p = problem->n_stages, at = 0;
    const label *l = best;
    for (int s = 0; s < p; s++) {
        int choice = t->columns ? t->columns[s].column[l->column].from : l->column;
        for (int i = problem->n_chunks - 1; i >= 0; i--) {
            const partial *row = t->columns ? &t->columns[s].row[i].item[choice] : NULL;
            int n = row ? row->row_n : l->n, cell = i * p + s;
            state->chunk[cell] = ek__chunk_get(problem, problem->layers->n_body == 1 ? 0 : at, n);
            if (!state->chunk[cell])
                return false;
            state->option[cell] = row ? row->row_option : l->column;
            choice = row ? row->parent : 0;
        }
        at += l->n;
        assert(s + 1 == p || (l->parent >= 0 && (size_t)l->parent < t->labels[s + 1].n));
        if (s + 1 < p)
            l = &t->labels[s + 1].label[l->parent];
    }
    assert(at == problem->n_layers);
    return true;
}

static double longest_of(const table *t, const label *l)
{
    double longest = l->longest[0];
    for (int k = 1; k < t->n_families; k++)
        longest = fmax(longest, l->longest[k]);
    return longest;
}

static ek_status run_pass(table *t, ek_error *err)
{
    const ek__problem *problem = t->problem;
    ek__bound_pass *pass = t->pass;
    int p = problem->n_stages, L = problem->n_layers;
    labels *last = &t->labels[p];
    last->label = ek__alloc(1, sizeof *last->label);
    if (!last->label)
        return ek__no_memory(err);
    for (int k = 0; k < K; k++)
        last->label[0].longest[k] = -INFINITY;
    last->n = last->capacity = 1;
    for (int l = 1; l <= L + 1; l++)
        last->first[l] = 1;
    for (int s = p - 1; s >= 0; s--) {
        bool whole;
        if (extend(t, s, &t->labels[s + 1], &t->labels[s], &whole))
            return ek__no_memory(err);
        if (!whole)
            return EK_OK;
        if (t->labels[s].n == 0) {
            pass->done = true;
            pass->bound = pass->upper;
            return EK_OK;
        }
    }
    const labels *all = &t->labels[0];
    const label *best = &all->label[all->first[L]];
    for (const label *l = best; l < all->label + all->n; l++)
        if (longest_of(t, l) < longest_of(t, best))
            best = l;
    pass->done = pass->below = true;
    pass->bound = fmin(pass->upper, longest_of(t, best));
    assert(all->first[L] == 0); /* labels of all stages hold all layers */
    return !pass->state || rebuild(t, best, pass->state) ? EK_OK : ek__no_memory(err);
}

/* One body kind, v = 1: the column of each number of layers of each stage. */
static ek_status fill_lone(table *t, ek_error *err)
{
    int p = t->problem->n_stages, L = t->problem->n_layers;
    t->lone = ek__alloc((size_t)p * ((size_t)L + 1), sizeof *t->lone);
    if (!t->lone)
        return ek__no_memory(err);
    for (int s = 0; s < p && !t->too_many; s++) {
        column *c = t->lone + (size_t)s * ((size_t)L + 1);
        for (int n = 0; n <= L && !t->too_many; n++) {
            t->too_many = ek__proof_over(t->search);
            c[n].from = -1;
            if (n >= t->problem->min_layers)
                lone_column(t, s, 0, n, &c[n]);
        }
    }
    return EK_OK;
}

static void columns_clear(columns *c, int v)
{
    for (int i = 0; i < v && c->row; i++)
        free(c->row[i].item);
    free(c->row);
    free(c->column);
    free(c->first);
}

static ek_status table_init(table *t, ek_error *err)
{
    const ek__problem *problem = t->problem;
    size_t p = (size_t)problem->n_stages, v = (size_t)problem->n_chunks, L = (size_t)problem->n_layers;
    size_t per_family = 9 * p * v + p, f = (size_t)t->n_families;
    path whole = {.weight = ek__alloc((size_t)ek__order_n_slots(problem->order), sizeof(double))};
    t->storage = ek__alloc(f * per_family, sizeof(double));
    t->least_before = ek__alloc(2 * (p + 1) * (L + 1) * f, sizeof(double));
    t->labels = ek__alloc(p + 1, sizeof *t->labels);
    bool fine = whole.weight && t->storage && t->least_before && t->labels;
    for (size_t s = 0; s <= p && fine; s++)
        fine = (t->labels[s].first = ek__alloc(L + 2, sizeof(size_t))) != NULL;
    for (size_t k = 0; k < f && fine; k++) {
        double *at = t->storage + k * per_family;
        t->family[k] = (weights){at, at + 3 * p * v, at + 6 * p * v, at + 9 * p * v};
        weigh_family(t, &t->pass->family[k], &t->family[k], &whole);
    }
    free(whole.weight);
    t->least_longest = t->least_before + (p + 1) * (L + 1) * f;
    t->least_backward = INFINITY;
    for (int b = 0; b < problem->layers->n_body; b++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (problem->layers->modelled[k])
                t->least_backward = fmin(t->least_backward, problem->layers->body[b].backward_time[k]);
    if (!fine)
        return ek__no_memory(err);
    if (problem->layers->n_body > 1)
        return EK_OK;
    if (v == 1)
        return fill_lone(t, err);
    t->columns = ek__alloc(p, sizeof *t->columns);
    if (!t->columns)
        return ek__no_memory(err);
    ek_status status = EK_OK;
    for (size_t s = 0; s < p && !status && !t->too_many; s++) {
        status = stage_columns(t, (int)s, &t->columns[s], err);
        t->too_many |= ek__proof_over(t->search);
    }
    return status;
}

ek_status ek__bound_stages(ek__search *search, ek__bound_pass *pass, ek_error *err)
{
    const ek__problem *problem = search->problem;
    assert(ek__bound_stages_applies(problem));
    assert(pass->n_families >= 1 && pass->n_families <= EK__MOST_FAMILIES);
    assert(pass->upper >= 0 && pass->grid >= 0 && pass->most_labels > 0);
    table t = {.search = search, .problem = problem, .pass = pass, .n_families = pass->n_families};
    pass->bound = 0;
    pass->done = pass->below = false;
    ek_status status = table_init(&t, err);
    if (!status && !t.too_many)
        fill_least(&t);
    if (!status && !t.too_many)
        status = run_pass(&t, err);
    for (int s = 0; s <= problem->n_stages && t.labels; s++) {
        free(t.labels[s].label);
        free(t.labels[s].first);
    }
    for (int s = 0; s < problem->n_stages && t.columns; s++)
        columns_clear(&t.columns[s], problem->n_chunks);
    free(t.columns);
    free(t.lone);
    free(t.labels);
    free(t.least_before);
    free(t.storage);
    free(t.candidate);
    return status;
}

bool ek__path_through(const ek__problem *problem, int stage, double *weight, double *transfers)
{
    size_t from, to;
    path p = {.weight = weight};
    if (!inner(problem->order, stage, &from, &to))
        return false;
    trace(problem, stage, from, to, &p);
    assert(p.transfers >= 0);
    *transfers = p.transfers;
    return true;
}

void ek__path_in_any_order(const ek__problem *problem, int stage, bool drained, double *weight)
{
    path p = {.weight = weight};
    any_order(problem, stage, drained, &p);
}

double ek__longest_path(const ek__problem *problem, const double *duration, double *count, double *transfers)
{
    const ek_order *order = problem->order;
    ek__path walked = {.count = count};
    *transfers = 0;
    if (!ek__order_longest_path(order, duration, problem->delays, NULL, &walked))
        return 0;
    *transfers = problem->delays ? walked.length : 0;
    for (int slot = 0; problem->delays && slot < ek__order_n_slots(order); slot++)
        *transfers -= count[slot] * duration[slot];
    assert(walked.length >= 0);
    return walked.length;
}
