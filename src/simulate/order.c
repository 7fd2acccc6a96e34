/* Laying a schedule out: every stage's list of blocks is merged into one topological order by walking all lists at
 * once, then sorted by level (longest path in blocks), so that neighbours in the order are independent of one another
 * and a processor can overlap them. A walk that gets stuck is a deadlock and is reported with the blocks that wait. */
#include "simulate/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MAX_SLOTS = 1 << 16, MAX_BLOCKS = 1 << 27 };

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

int ek_order_live_vectors(const ek_order *order, int stage, const int **vectors)
{
    *vectors = order->live[stage].vectors;
    return order->live[stage].n;
}

void ek_order_free(ek_order *order)
{
    if (!order)
        return;
    if (order->live)
        for (int s = 0; s < order->shape.n_stages; s++)
            free(order->live[s].vectors);
    free(order->live);
    free(order->blocks);
    free(order->steps);
    free(order);
}

static ek_status check_shape(const ek_schedule *schedule, const ek_shape *shape, ek_error *err)
{
    int p = shape->n_stages, v = shape->n_chunks, m = shape->n_micro_batches;
    if (p < 1 || p > EK_MAX_STAGES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "stages must be 1 to %d (got %d)", EK_MAX_STAGES, p);
    if (v < 1 || v > EK_MAX_CHUNKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "interleave must be 1 to %d (got %d)", EK_MAX_CHUNKS, v);
    if (m < 1 || m > EK_MAX_MICRO_BATCHES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "micro-batches must be 1 to %d (got %d)", EK_MAX_MICRO_BATCHES,
                        m);
    if (v < schedule->min_chunks || v > schedule->max_chunks)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "schedule '%s' is defined for %s chunks a stage (got %d); change the interleave or the schedule",
            schedule->name, schedule->max_chunks == 1 ? "1" : "2 or more", v);
    if (2 * p * v > MAX_SLOTS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "stages x interleave must be at most %d (got %d x %d = %d)",
                        MAX_SLOTS / 2, p, v, p * v);
    if (2LL * p * v * m > MAX_BLOCKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "2 x stages x interleave x micro-batches must be at most %d blocks (got %lld)", MAX_BLOCKS,
                        2LL * p * v * m);
    return EK_OK;
}

static int block_slot(const ek_shape *shape, int stage, const ek_block *block)
{
    int chunk = block->chunk * shape->n_stages + stage;
    return block->kind == EK_FORWARD ? chunk : shape->n_stages * shape->n_chunks + chunk;
}

/* Place of a block in its micro-batch's chain: forwards in model order, then backwards in reverse. */
static int chain_place(const ek_shape *shape, int stage, const ek_block *block)
{
    int chunk = block->chunk * shape->n_stages + stage;
    return block->kind == EK_FORWARD ? chunk : 2 * shape->n_stages * shape->n_chunks - 1 - chunk;
}

/* Stage of a place in the chain. */
static int chain_stage(const ek_shape *shape, int place)
{
    int n = shape->n_stages * shape->n_chunks;
    int chunk = place < n ? place : 2 * n - 1 - place;
    return chunk % shape->n_stages;
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
                         listed ? "; " : "", s, b->kind == EK_FORWARD ? "forward" : "backward", b->chunk,
                         b->micro_batch, chain_stage(shape, place[b->micro_batch]));
        used += n > 0 && (size_t)n < sizeof waits - used ? (size_t)n : 0;
        listed++;
    }
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
    uint32_t *micro_level = ek__alloc((size_t)m, sizeof *micro_level);
    int *todo = ek__alloc(order->n_blocks + (size_t)p, sizeof *todo); /* stages whose next block may be ready */
    if (!next || !stage_level || !place || !micro_level || !todo) {
        status = ek__no_memory(err);
        goto done;
    }
    size_t n_todo = 0;
    for (int s = p - 1; s >= 0; s--)
        todo[n_todo++] = s;
    while (n_todo > 0) {
        int s = todo[--n_todo];
        while (next[s] < per_stage) {
            const ek_block *b = &order->blocks[(size_t)s * per_stage + next[s]];
            if (place[b->micro_batch] != chain_place(shape, s, b))
                break;
            uint32_t l = stage_level[s] > micro_level[b->micro_batch] ? stage_level[s] : micro_level[b->micro_batch];
            stage_level[s] = micro_level[b->micro_batch] = l + 1;
            level[n_steps] = l;
            order->steps[n_steps++] = ek__step_pack(b->micro_batch, (uint16_t)s, (uint16_t)block_slot(shape, s, b));
            next[s]++;
            /* The chain moves on: its next stage may have been waiting for just this. At most one entry per block. */
            int after = ++place[b->micro_batch];
            if (after < 2 * p * shape->n_chunks && chain_stage(shape, after) != s)
                todo[n_todo++] = chain_stage(shape, after);
        }
    }
    if (n_steps < order->n_blocks)
        status = deadlock(order, next, place, err);
done:
    free(todo);
    free(micro_level);
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
    for (size_t k = 0; k < n; k++)
        sorted[at[level[k]]++] = order->steps[k];
    free(order->steps);
    order->steps = sorted;
    free(at);
    return EK_OK;
}

static bool dominates(const int *a, const int *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] < b[i])
            return false;
    return true;
}

/* Collect the undominated vectors of live micro-batches: only a forward that a backward follows can be a maximum. */
static ek_status collect_live(ek_order *order, int stage, ek_error *err)
{
    int v = order->shape.n_chunks;
    size_t per_stage = order->n_blocks / (size_t)order->shape.n_stages;
    const ek_block *blocks = order->blocks + (size_t)stage * per_stage;
    ek__live *live = &order->live[stage];
    int capacity = 0;
    int alive[EK_MAX_CHUNKS] = {0};
    for (size_t k = 0; k < per_stage; k++) {
        alive[blocks[k].chunk] += blocks[k].kind == EK_FORWARD ? 1 : -1;
        if (blocks[k].kind != EK_FORWARD || (k + 1 < per_stage && blocks[k + 1].kind == EK_FORWARD))
            continue;
        bool dominated = false;
        int kept = 0;
        for (int j = 0; j < live->n && !dominated; j++)
            dominated = dominates(live->vectors + (size_t)j * (size_t)v, alive, v);
        if (dominated)
            continue;
        for (int j = 0; j < live->n; j++) {
            int *vector = live->vectors + (size_t)j * (size_t)v;
            if (!dominates(alive, vector, v))
                memmove(live->vectors + (size_t)kept++ * (size_t)v, vector, (size_t)v * sizeof(int));
        }
        live->n = kept;
        if (live->n == capacity) {
            capacity = capacity ? 2 * capacity : 4;
            int *grown = realloc(live->vectors, (size_t)capacity * (size_t)v * sizeof(int));
            if (!grown)
                return ek__no_memory(err);
            live->vectors = grown;
        }
        memcpy(live->vectors + (size_t)live->n++ * (size_t)v, alive, (size_t)v * sizeof(int));
    }
    return EK_OK;
}

ek_status ek_order_new(const ek_schedule *schedule, const ek_shape *shape, ek_order **out, ek_error *err)
{
    ek_status status = check_shape(schedule, shape, err);
    if (status)
        return status;
    uint32_t *level = NULL;
    ek_order *order = ek__alloc(1, sizeof *order);
    if (!order)
        return ek__no_memory(err);
    order->shape = *shape;
    order->schedule = schedule;
    size_t per_stage = 2 * (size_t)shape->n_chunks * (size_t)shape->n_micro_batches;
    order->n_blocks = per_stage * (size_t)shape->n_stages;
    order->steps = ek__alloc(order->n_blocks, sizeof *order->steps);
    order->blocks = ek__alloc(order->n_blocks, sizeof *order->blocks);
    order->live = ek__alloc((size_t)shape->n_stages, sizeof *order->live);
    level = ek__alloc(order->n_blocks, sizeof *level);
    if (!order->steps || !order->blocks || !order->live || !level) {
        status = ek__no_memory(err);
        goto done;
    }
    for (int s = 0; s < shape->n_stages; s++)
        schedule->stage_order(shape, s, order->blocks + (size_t)s * per_stage);
    status = merge(order, level, err);
    if (!status)
        status = sort_by_level(order, level, err);
    for (int s = 0; s < shape->n_stages && !status; s++)
        status = collect_live(order, s, err);
done:
    free(level);
    if (status)
        ek_order_free(order);
    else
        *out = order;
    return status;
}
