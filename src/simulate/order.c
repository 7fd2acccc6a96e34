/* Lays a schedule out: every stage's list of blocks is merged into one topological order by walking all lists at once,
 * then sorted by level (longest path in blocks), so that neighbours in the order are independent of one another and a
 * processor can overlap them. A walk that gets stuck is a deadlock and is reported with the blocks that wait. The cell
 * and stage of each model position are tabulated once, so that only this file uses the placement. */
#include "simulate/order.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/watch.h"
#include "evenkeel/layers.h"

enum { MAX_SLOTS = 1 << 16, MAX_BLOCKS = 1 << 27 };
#define MAX_PROFILE 1e24 /* a chunk of the most layers with the longest times, on the slowest stage */

const ek_shape *ek_order_shape(const ek_order *order)
{
    return &order->shape;
}

const ek_schedule *ek_order_schedule(const ek_order *order)
{
    return order->schedule;
}

size_t ek_order_n_blocks(const ek_order *order)
{
    return order->n_blocks;
}

double ek_order_weight_share(const ek_order *order)
{
    return order->weight_share;
}

int ek_order_held_cells(const ek_order *order, int stage, const int **cells)
{
    *cells = order->held + (size_t)ek__order_bank(order, stage) * (size_t)order->n_held;
    return order->n_held;
}

int ek_order_live_vectors(const ek_order *order, int stage, const double **vectors)
{
    assert(stage >= 0 && stage < order->shape.n_stages);
    assert(order->live[stage].n >= 1);
    *vectors = order->live[stage].vectors;
    return order->live[stage].n;
}

static void live_free(ek__live *live, int n_stages)
{
    for (int s = 0; s < n_stages && live; s++)
        free(live[s].vectors);
    free(live);
}

void ek_order_free(ek_order *order)
{
    if (!order)
        return;
    live_free(order->live, order->shape.n_stages);
    free(order->held); /* the tables are one allocation */
    free(order->slowdown);
    free(order->factor);
    free(order->scale);
    free(order->blocks);
    free(order->steps);
    free(order);
}

ek_status ek__shape_check(const ek_schedule *schedule, const ek_shape *shape, ek_error *err)
{
    if (!schedule)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "no schedule is given, or its name is not known; ek_schedules lists those that are");
    int p = shape->n_stages, v = shape->n_chunks, m = shape->n_micro_batches;
    if (p < 1 || p > EK_MAX_STAGES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "stages must be 1 to %d (got %d)", EK_MAX_STAGES, p);
    if (v < 1 || v > EK_MAX_CHUNKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "interleave must be 1 to %d (got %d)", EK_MAX_CHUNKS, v);
    if (m < 1 || m > EK_MAX_MICRO_BATCHES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "micro-batches must be 1 to %d (got %d)", EK_MAX_MICRO_BATCHES,
                        m);
    if (shape->n_pieces > 1 && m % shape->n_pieces)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d sequence pieces are not whole micro-batches of %d pieces each; give a multiple of %d "
                        "(micro-batches x pieces)",
                        m, shape->n_pieces, shape->n_pieces);
    if (v < schedule->min_chunks || v > schedule->max_chunks)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "schedule '%s' is defined for %s chunks a stage (got %d); change the interleave or the schedule",
            schedule->name, schedule->max_chunks == 1 ? "1" : "2 or more", v);
    if (schedule->placement == EK_PLACE_BOTH_WAYS && (p % 2 || m % 2))
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "schedule '%s' runs half of the micro-batches each way, so stages and micro-batches must be even "
            "(got %d and %d)",
            schedule->name, p, m);
    if (m < p * schedule->min_micro_batches)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "schedule '%s' needs at least %d micro-batches a stage, %d in all (got %d); use more, or another "
            "schedule",
            schedule->name, schedule->min_micro_batches, p * schedule->min_micro_batches, m);
    int kinds = schedule->splits_backward ? 3 : 2;
    if (kinds * p * v > MAX_SLOTS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "stages x interleave must be at most %d (got %d x %d = %d)",
                        MAX_SLOTS / kinds, p, v, p * v);
    if ((long long)kinds * p * v * m > MAX_BLOCKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d x stages x interleave x micro-batches must be at most %d blocks (got %lld)", kinds,
                        MAX_BLOCKS, (long long)kinds * p * v * m);
    return EK_OK;
}

ek_status ek__comm_check(const ek_comm *comm, int n_stages, ek_error *err)
{
    if (comm && !comm->edge_time && !(comm->p2p_time >= 0 && comm->p2p_time <= EK__MAX_TRANSFER))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the transfer time between stages must be a number from 0 to %g (got %g)", EK__MAX_TRANSFER,
                        comm->p2p_time);
    for (int s = 0; comm && comm->edge_time && s < n_stages; s++)
        if (!(comm->edge_time[s] >= 0 && comm->edge_time[s] <= EK__MAX_TRANSFER))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "the transfer time between stages %d and %d must be a number from 0 to %g (got %g)", s,
                            s + 1 < n_stages ? s + 1 : 0, EK__MAX_TRANSFER, comm->edge_time[s]);
    return EK_OK;
}

ek_status ek__factors_check(const double *factor, int n, const char *what, ek_error *err)
{
    static const double least = 1e-9, most = 1e9; /* so that times stay finite */
    for (int i = 0; factor && i < n; i++) {
        if (!(factor[i] > 0) || !isfinite(factor[i]))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the %s %d must be a positive number (got %g)", what, i,
                            factor[i]);
        if (factor[i] < least || factor[i] > most)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the %s %d must be from %g to %g (got %g)", what, i, least,
                            most, factor[i]);
    }
    return EK_OK;
}

/* The inputs of an order must be numbers that add up without overflow. */
static ek_status check_profile(const ek_schedule *schedule, const ek_shape *shape, const ek_profile *profile,
                               ek_error *err)
{
    int n_cells = shape->n_stages * shape->n_chunks;
    const struct {
        const char *what;
        const double *value;
        int n;
    } arrays[] = {
        {"forward_time", profile->forward_time, n_cells},   {"backward_time", profile->backward_time, n_cells},
        {"weight_time", profile->weight_time, n_cells},     {"activation", profile->activation, n_cells},
        {"edge_time", profile->edge_time, shape->n_stages}, {"limit", profile->limit, shape->n_stages}};
    if (!(profile->weight_share >= 0 && profile->weight_share <= 1))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "weight_share of the profile must be 0 to 1 (got %g)",
                        profile->weight_share);
    for (size_t a = 0; schedule->arrange && a < sizeof arrays / sizeof *arrays; a++)
        for (int i = 0; i < arrays[a].n; i++)
            if (!arrays[a].value || !(arrays[a].value[i] >= 0 && arrays[a].value[i] <= MAX_PROFILE))
                return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                                "%s[%d] of the profile must be a number from 0 to %g (got %g)", arrays[a].what, i,
                                MAX_PROFILE, arrays[a].value ? arrays[a].value[i] : (double)NAN);
    return EK_OK;
}

/* Fill the tables with the location of each cell and each model position. Every bank gets n_held cells. */
static ek_status make_tables(ek_order *order, ek_error *err)
{
    int p = order->shape.n_stages, n = order->n_cells, *count;
    ek_placement placement = order->schedule->placement;
    assert(order->n_banks * order->n_held == n);
    int *table = ek__alloc(4 * (size_t)n + (size_t)order->n_ways * (size_t)n, sizeof *table);
    if (!table)
        return ek__no_memory(err);
    order->held = table; /* n_banks x n_held is n_cells */
    order->bank = table + n;
    order->column = table + 2 * n;
    order->cell_at = table + 3 * n;
    order->stage_at = table + 4 * n;
    count = ek__alloc((size_t)order->n_banks, sizeof *count); /* cells of each bank so far */
    if (!count)
        return ek__no_memory(err);
    for (int q = 0; q < n; q++) {
        int cell = ek_cell_at(placement, p, q), stage = cell % p, bank = ek__order_bank(order, stage);
        assert(cell >= 0 && cell < n && ek_cell_at(placement, p, cell) == q); /* its own inverse */
        assert(count[bank] < order->n_held);
        order->cell_at[q] = cell;
        order->stage_at[q] = stage;
        if (order->n_ways == 2)
            order->stage_at[n + q] = p - 1 - stage;
        order->bank[cell] = bank;
        order->column[cell] = count[bank];
        order->held[bank * order->n_held + count[bank]++] = cell;
    }
    free(count);
    return EK_OK;
}

static const char *const kind_word[EK_N_BLOCK_KINDS] = {"forward", "backward", "weight gradient"};

/* Does every stage run each of its blocks once, and W after its B? (B before its F is a deadlock, which merge() finds.)
 */
static ek_status check_lists(const ek_order *order, ek_error *err)
{
    size_t p = (size_t)order->shape.n_stages, m = (size_t)order->shape.n_micro_batches, per_stage = order->n_blocks / p;
    size_t n_chunks = order->n_ways == 2 ? 2 : (size_t)order->shape.n_chunks;
    unsigned char *run =
        ek__alloc(n_chunks * m, sizeof *run); /* of each chunk and micro-batch: kinds run so far, as bits */
    if (!run)
        return ek__no_memory(err);
    ek_status status = EK_OK;
    for (size_t s = 0; s < p && !status; s++) {
        memset(run, 0, n_chunks * m);
        if (ek__watch_late((double)per_stage))
            status = ek__watch_fail(err, "an order");
        for (size_t k = 0; k < per_stage && !status; k++) {
            const ek_block *b = &order->blocks[s * per_stage + k];
            const char *wrong = NULL;
            if (b->micro_batch >= m || b->chunk >= n_chunks || b->kind >= order->n_kinds)
                wrong = "is none of this pipeline";
            else if (order->n_ways == 2 && b->chunk != ek__order_way(order, b->micro_batch))
                wrong = "runs against its micro-batch's direction";
            else if (run[b->chunk * m + b->micro_batch] & 1 << b->kind)
                wrong = "is run twice";
            else if (b->kind == EK_BACKWARD_WEIGHT && !(run[b->chunk * m + b->micro_batch] & 1 << EK_BACKWARD))
                wrong = "comes before its backward";
            if (wrong)
                status =
                    ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                             "schedule '%s' is wrong: in the order of stage %zu, block %zu (the %s of chunk %d, "
                             "micro-batch %u) %s",
                             order->schedule->name, s, k, b->kind < EK_N_BLOCK_KINDS ? kind_word[b->kind] : "block",
                             b->chunk, b->micro_batch, wrong);
            else
                run[b->chunk * m + b->micro_batch] |= (unsigned char)(1 << b->kind);
        }
    }
    free(run);
    return status;
}

/* Place of a block in its micro-batch's chain: forwards in model order, then backwards in reverse. */
static int chain_place(const ek_order *order, int stage, const ek_block *block)
{
    int position = ek_position(order->schedule->placement, order->shape.n_stages, block->chunk, stage);
    assert(block->kind != EK_BACKWARD_WEIGHT); /* not in any chain */
    assert(position >= 0 && position < order->n_cells);
    return block->kind == EK_FORWARD ? position : 2 * order->n_cells - 1 - position;
}

/* Stage of a place, 0..2 n_cells - 1, in a micro-batch's chain. */
static int chain_stage(const ek_order *order, size_t micro_batch, int place)
{
    assert(place >= 0 && place < 2 * order->n_cells);
    int n = order->n_cells, position = place < n ? place : 2 * n - 1 - place;
    return order->stage_at[ek__order_way(order, micro_batch) * n + position];
}

static ek_status deadlock(const ek_order *order, const size_t *next, const int *place, ek_error *err)
{
    const ek_shape *shape = &order->shape;
    size_t per_stage = order->n_blocks / (size_t)shape->n_stages;
    char waits[320] = "";
    size_t used = 0;
    int listed = 0;
    for (int s = 0; s < shape->n_stages && listed < 3; s++) {
        if (next[s] == per_stage)
            continue;
        const ek_block *b = &order->blocks[(size_t)s * per_stage + next[s]];
        int n = snprintf(waits + used, sizeof waits - used,
                         "%sstage %d waits to run the %s of chunk %d, micro-batch %u, "
                         "for stage %d",
                         listed ? "; " : "", s, kind_word[b->kind], b->chunk, b->micro_batch,
                         chain_stage(order, b->micro_batch, place[b->micro_batch]));
        used += n > 0 && (size_t)n < sizeof waits - used ? (size_t)n : 0;
        listed++;
    }
    assert(listed > 0); /* an interrupted walk left a stage waiting */
    int r = shape->n_micro_batches % shape->n_stages;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "schedule '%s' deadlocks with %d stages, interleave %d and %d micro-batches: %s. Use a multiple of "
                    "%d micro-batches (%d left over now) or another schedule",
                    order->schedule->name, shape->n_stages, shape->n_chunks, shape->n_micro_batches, waits,
                    shape->n_stages, r);
}

/* Merge the stages' lists into order->steps, in any topological order, with the level of each block. */
static ek_status merge(ek_order *order, uint32_t *level, ek_error *err)
{
    const ek_shape *shape = &order->shape;
    int p = shape->n_stages, m = shape->n_micro_batches;
    size_t per_stage = order->n_blocks / (size_t)p, n_steps = 0;
    ek_status status = EK_OK;
    size_t *next = ek__alloc((size_t)p, sizeof *next); /* of each stage: blocks already taken */
    uint32_t *stage_level = ek__alloc((size_t)p, sizeof *stage_level);
    int *place = ek__alloc((size_t)m, sizeof *place); /* of each micro-batch in its chain */
    uint32_t *chain_level = ek__alloc((size_t)m + (size_t)p, sizeof *chain_level);
    int *todo = ek__alloc(order->n_blocks + (size_t)p, sizeof *todo); /* stages with a next block that may be ready */
    if (!next || !stage_level || !place || !chain_level || !todo) {
        status = ek__no_memory(err);
        goto done;
    }
    size_t n_todo = 0;
    for (int s = p - 1; s >= 0; s--)
        todo[n_todo++] = s;
    while (n_todo > 0 && !status) {
        int s = todo[--n_todo];
        if (ek__watch_late(1))
            status = ek__watch_fail(err, "an order");
        while (next[s] < per_stage) {
            const ek_block *b = &order->blocks[(size_t)s * per_stage + next[s]];
            bool in_chain = b->kind != EK_BACKWARD_WEIGHT;
            if (in_chain && place[b->micro_batch] != chain_place(order, s, b))
                break;
            uint32_t chain = in_chain ? b->micro_batch : (uint32_t)(m + s);
            uint32_t l = stage_level[s] > chain_level[chain] ? stage_level[s] : chain_level[chain];
            stage_level[s] = chain_level[chain] = l + 1;
            level[n_steps] = l;
            int slot = b->kind * order->n_cells + ek__order_cell(order, s, b);
            assert(n_steps < order->n_blocks && slot < MAX_SLOTS);
            order->steps[n_steps++] = ek__step_pack(chain, (uint16_t)s, (uint16_t)slot);
            next[s]++;
            if (!in_chain)
                continue;
            /* The chain moves on: its next stage may have been waiting for this block. At most one entry per block. */
            int after = ++place[b->micro_batch];
            if (after < 2 * order->n_cells && chain_stage(order, b->micro_batch, after) != s) {
                assert(n_todo < order->n_blocks + (size_t)p);
                todo[n_todo++] = chain_stage(order, b->micro_batch, after);
            }
        }
    }
    if (!status && n_steps < order->n_blocks)
        status = deadlock(order, next, place, err);
done:
    free(todo);
    free(chain_level);
    free(place);
    free(stage_level);
    free(next);
    return status;
}

/* Counting sort of the steps by level; stable, so a stage's blocks keep their order. */
static ek_status sort_by_level(ek_order *order, const uint32_t *level, ek_error *err)
{
    size_t n = order->n_blocks;
    uint32_t n_levels = 0;
    for (size_t k = 0; k < n; k++)
        if (level[k] >= n_levels)
            n_levels = level[k] + 1;
    size_t *at = ek__alloc((size_t)n_levels + 1, sizeof *at);
    ek__step *sorted = ek__alloc(n, sizeof *sorted);
    if (!at || !sorted) {
        free(at);
        free(sorted);
        return ek__no_memory(err);
    }
    for (size_t k = 0; k < n; k++)
        at[level[k] + 1]++;
    for (uint32_t l = 0; l < n_levels; l++)
        at[l + 1] += at[l];
    assert(at[n_levels] == n);
    ek__watch_spent((double)n);
    for (size_t k = 0; k < n; k++)
        sorted[at[level[k]]++] = order->steps[k];
    free(order->steps);
    order->steps = sorted;
    free(at);
    return EK_OK;
}

/* At least as much in every column, except for the rounding of sums of scaled micro-batches. */
static bool dominates(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] < b[i] - 1e-9)
            return false;
    return true;
}

#ifndef NDEBUG
/* Has every activation been given back? Sums of scaled micro-batches are rounded. */
static bool all_freed(const ek_order *order, const double *alive)
{
    for (int i = 0; i < order->n_held && !order->scale; i++)
        if (fabs(alive[i]) > 1e-6)
            return false;
    return true;
}
#endif

/* The first key when vectors of a stage are compared, before their columns. */
typedef struct weights {
    double sum, mixed; /* sum of the columns; sum with factors from 1 to 2 */
} weights;

/* The stage's vectors during the collection. */
typedef struct collecting {
    int n;                /* columns */
    const double *factor; /* [n] of weights.mixed */
    ek__live *live;
    int capacity;
    weights *weight; /* [live->n] */
    int last;        /* the last dominating one: in the steady part it or a neighbour dominates again */
} collecting;

static weights weigh(const collecting *c, const double *vector)
{
    weights w = {0, 0};
    for (int i = 0; i < c->n; i++) {
        w.sum += vector[i];
        w.mixed += c->factor[i] * vector[i];
    }
    return w;
}

/* May a vector of weights a dominate one of weights b? Then all columns of their difference are 0 or more. In the
 * steady part of a schedule the sums are equal, so that the mixed sums differ unless the vectors are. */
static bool may_dominate(const collecting *c, weights a, weights b)
{
    double more = a.sum - b.sum, mixed = a.mixed - b.mixed, rounding = 4e-9 * c->n;
    return more >= -rounding && mixed >= more - rounding && mixed <= 2 * more + rounding;
}

static bool has_room(collecting *c)
{
    if (c->live->n < c->capacity)
        return true;
    int capacity = c->capacity ? 2 * c->capacity : 4;
    double *vectors = realloc(c->live->vectors, (size_t)capacity * (size_t)c->n * sizeof *vectors);
    c->live->vectors = vectors ? vectors : c->live->vectors;
    weights *weight = realloc(c->weight, (size_t)capacity * sizeof *weight);
    c->weight = weight ? weight : c->weight;
    if (vectors && weight)
        c->capacity = capacity;
    return vectors && weight;
}

/* Add a vector unless an existing one dominates it; those that it dominates are removed. */
static ek_status add_live(collecting *c, const double *vector, ek_error *err)
{
    ek__live *live = c->live;
    weights own = weigh(c, vector);
    size_t row = (size_t)c->n;
    int kept = 0;
    for (int i = 0; i < live->n; i++) { /* from the last one outward */
        int j = (c->last + (i % 2 ? i / 2 + 1 : live->n - i / 2)) % live->n;
        if (may_dominate(c, c->weight[j], own) && dominates(live->vectors + (size_t)j * row, vector, c->n)) {
            c->last = j;
            return EK_OK;
        }
    }
    for (int j = 0; j < live->n; j++) {
        double *other = live->vectors + (size_t)j * row;
        if (may_dominate(c, own, c->weight[j]) && dominates(vector, other, c->n))
            continue;
        c->weight[kept] = c->weight[j];
        if (kept < j)
            memcpy(live->vectors + (size_t)kept * row, other, row * sizeof *other);
        kept++;
    }
    live->n = c->last = kept;
    if (ek__watch_late(c->n + 0.4 * live->n))
        return ek__watch_fail(err, "an order");
    if (!has_room(c))
        return ek__no_memory(err);
    c->weight[live->n] = own;
    memcpy(live->vectors + (size_t)live->n++ * row, vector, row * sizeof *vector);
    return EK_OK;
}

/* Collect the undominated vectors of live micro-batches: only a forward that no forward follows can be a maximum. There
 * is at least one, and at the end of the step no micro-batch is live. */
static ek_status collect_live(const ek_order *order, int stage, const double *factor, ek__live *live, ek_error *err)
{
    size_t per_stage = order->n_blocks / (size_t)order->shape.n_stages;
    const ek_block *blocks = order->blocks + (size_t)stage * per_stage;
    const double held_from[EK_N_BLOCK_KINDS] = {1, order->weight_share, 0}; /* the share that stays in memory after each
                                                                             * kind has run */
    collecting c = {.n = order->n_held, .factor = factor, .live = live};
    double alive[EK_MAX_CHUNKS] = {0};
    ek_status status = EK_OK;
    for (size_t k = 0; k < per_stage && !status; k++) {
        const ek_block *b = &blocks[k];
        double change = held_from[b->kind] - (b->kind == EK_FORWARD ? 0 : held_from[b->kind - 1]);
        alive[order->column[ek__order_cell(order, stage, b)]] +=
            order->scale ? change * order->scale[b->micro_batch] : change;
        if (b->kind == EK_FORWARD && (k + 1 == per_stage || blocks[k + 1].kind != EK_FORWARD))
            status = add_live(&c, alive, err);
    }
    free(c.weight);
    assert(status || live->n >= 1);
    assert(status || all_freed(order, alive));
    return status;
}

static ek_status make_live(ek_order *order, ek_error *err)
{
    int p = order->shape.n_stages;
    double factor[EK_MAX_CHUNKS];
    ek__random random = ek__random_seed(1);
    for (int i = 0; i < order->n_held; i++)
        factor[i] = 1 + ek__random_unit(&random);
    ek__live *live = ek__alloc((size_t)p, sizeof *live);
    ek_status status = live ? EK_OK : ek__no_memory(err);
    for (int s = 0; s < p && !status; s++)
        status = collect_live(order, s, factor, &live[s], err);
    if (status) {
        live_free(live, p);
        return status;
    }
    live_free(order->live, p);
    order->live = live;
    return EK_OK;
}

/* The steps' factors. The steps of a stage are in its own order, so its list gives the micro-batch of each. */
static ek_status make_factor(ek_order *order, ek_error *err)
{
    size_t p = (size_t)order->shape.n_stages;
    assert(order->scale && !order->factor);
    double *factor = ek__alloc(order->n_blocks, sizeof *factor);
    size_t *next = ek__alloc(p, sizeof *next);
    if (!factor || !next) {
        free(factor);
        free(next);
        return ek__no_memory(err);
    }
    for (size_t k = 0; k < order->n_blocks; k++) {
        size_t s = ek__step_stage(order->steps[k]);
        factor[k] = order->scale[order->blocks[s * (order->n_blocks / p) + next[s]++].micro_batch];
    }
    free(next);
    order->factor = factor;
    return EK_OK;
}

ek_status ek_order_scale_micro_batches(ek_order *order, const double *factor, ek_error *err)
{
    size_t m = (size_t)order->shape.n_micro_batches;
    double *old_scale = order->scale, *old_factor = order->factor, *scale = NULL;
    ek_status status = ek__factors_check(factor, order->shape.n_micro_batches, "factor of micro-batch", err);
    if (status)
        return status;
    if (factor) {
        scale = ek__alloc(m, sizeof *scale);
        if (!scale)
            return ek__no_memory(err);
        memcpy(scale, factor, m * sizeof *scale);
    }
    order->scale = scale;
    order->factor = NULL;
    status = scale ? make_factor(order, err) : EK_OK;
    if (!status)
        status = make_live(order, err);
    if (status) {
        free(order->factor);
        free(scale);
        order->scale = old_scale;
        order->factor = old_factor;
        return status;
    }
    free(old_scale);
    free(old_factor);
    return EK_OK;
}

ek_status ek_order_slow_stages(ek_order *order, const double *slowdown, ek_error *err)
{
    int p = order->shape.n_stages;
    double *by_cell = NULL;
    ek_status status = ek__factors_check(slowdown, p, "slowdown of stage", err);
    if (status)
        return status;
    for (int s = 0; slowdown && s < p; s++) {
        if (order->n_ways == 2 && slowdown[s] != slowdown[p - 1 - s])
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "schedule '%s' has the same chunks on stages %d and %d, so the two must be equally fast "
                            "(speeds %g and %g); use another schedule or place the stages symmetrically",
                            order->schedule->name, s, p - 1 - s, 1 / slowdown[s], 1 / slowdown[p - 1 - s]);
    }
    if (slowdown) {
        by_cell = ek__alloc((size_t)order->n_cells, sizeof *by_cell);
        if (!by_cell)
            return ek__no_memory(err);
        for (int c = 0; c < order->n_cells; c++)
            by_cell[c] = slowdown[c % p];
    }
    free(order->slowdown);
    order->slowdown = by_cell;
    return EK_OK;
}

/* Let the schedule fill the stages' lists. */
static ek_status fill_lists(ek_order *order, const ek_profile *profile, ek_error *err)
{
    const ek_schedule *schedule = order->schedule;
    const ek_shape *shape = &order->shape;
    size_t p = (size_t)shape->n_stages, n = (size_t)order->n_cells;
    assert(schedule->arrange || schedule->stage_order);
    if (!schedule->arrange) {
        for (size_t s = 0; s < p; s++) {
            schedule->stage_order(shape, (int)s, order->blocks + s * (order->n_blocks / p));
            if (ek__watch_late((double)(order->n_blocks / p)))
                return ek__watch_fail(err, "an order");
        }
        return EK_OK;
    }
    if (profile)
        return schedule->arrange(shape, profile, order->blocks, err);
    double *cells = ek__alloc(n + 2 * p, sizeof *cells);
    if (!cells)
        return ek__no_memory(err);
    double *limit = cells + n, *edges = limit + p;
    for (size_t c = 0; c < n; c++)
        cells[c] = 1.0 / shape->n_chunks;
    for (size_t s = 0; s < p; s++)
        limit[s] = ek_schedule_activation_limit(schedule, shape->n_stages);
    ek_profile even = {.forward_time = cells,
                       .backward_time = cells,
                       .weight_time = cells,
                       .activation = cells,
                       .weight_share = EK_WEIGHT_SHARE,
                       .limit = limit,
                       .edge_time = edges};
    ek_status status = schedule->arrange(shape, &even, order->blocks, err);
    free(cells);
    return status;
}

ek_status ek_order_new_for(const ek_schedule *schedule, const ek_shape *shape, const ek_profile *profile,
                           ek_order **out, ek_error *err)
{
    ek_status status = ek__shape_check(schedule, shape, err);
    if (!status && profile)
        status = check_profile(schedule, shape, profile, err);
    if (status)
        return status;
    uint32_t *level = NULL;
    ek_order *order = ek__alloc(1, sizeof *order);
    if (!order)
        return ek__no_memory(err);
    order->shape = *shape;
    order->schedule = schedule;
    order->n_kinds = schedule->splits_backward ? 3 : 2;
    order->n_ways = schedule->placement == EK_PLACE_BOTH_WAYS ? 2 : 1;
    order->n_cells = shape->n_stages * shape->n_chunks;
    order->n_banks = shape->n_stages / order->n_ways;
    order->n_held = order->n_cells / order->n_banks;
    if (schedule->splits_backward)
        order->weight_share = profile ? profile->weight_share : EK_WEIGHT_SHARE;
    assert(order->weight_share >= 0 && order->weight_share <= 1);
    order->n_blocks = ek_schedule_blocks_per_stage(schedule, shape) * (size_t)shape->n_stages;
    order->steps = ek__alloc(order->n_blocks, sizeof *order->steps);
    order->blocks = ek__alloc(order->n_blocks, sizeof *order->blocks);
    level = ek__alloc(order->n_blocks, sizeof *level);
    if (!order->steps || !order->blocks || !level)
        status = ek__no_memory(err);
    if (!status)
        status = make_tables(order, err);
    ek__watch_part("laying out the order", 4.0 * (double)order->n_blocks);
    if (!status)
        status = fill_lists(order, profile, err);
    if (schedule->arrange)
        ek__watch_part("laying out the order", 3.0 * (double)order->n_blocks);
    if (!status)
        status = check_lists(order, err);
    if (!status)
        status = merge(order, level, err);
    if (!status)
        status = sort_by_level(order, level, err);
    if (!status)
        status = make_live(order, err);
    free(level);
    if (status)
        ek_order_free(order);
    else
        *out = order;
    return status;
}

ek_status ek_order_new(const ek_schedule *schedule, const ek_shape *shape, ek_order **out, ek_error *err)
{
    return ek_order_new_for(schedule, shape, NULL, out, err);
}
