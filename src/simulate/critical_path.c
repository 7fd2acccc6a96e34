/* Finds the critical path: the blocks of a timeline that determine the step time, from its last end back. A block with
 * idle time before it waited for its source on another stage, every other for the previous block of its stage. The time
 * between two blocks of the path is a transfer. Equal to ek__order_longest_path() for the same durations, which counts
 * slots and does not name blocks. */
#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "simulate/order.h"

static size_t last_block(const ek_timeline *t)
{
    size_t last = t->first[1] - 1;
    for (int s = 1; s < t->shape.n_stages; s++)
        if (t->block[t->first[s + 1] - 1].end > t->block[last].end)
            last = t->first[s + 1] - 1;
    return last;
}

static int stage_of(const ek_timeline *t, size_t block)
{
    return (int)(block / (t->n_blocks / (size_t)t->shape.n_stages));
}

/* The block that a block waited for; EK_NO_BLOCK at the step's start. */
static ptrdiff_t cause_of(const ek_timeline *t, const ek_wait *wait, size_t block)
{
    bool first = block == t->first[stage_of(t, block)];
    return first || wait[block].idle_time > 0 ? wait[block].source : (ptrdiff_t)block - 1;
}

static void add_block(const ek_timeline *t, size_t block, ptrdiff_t cause, ek_stage_time *out)
{
    const ek_interval *b = &t->block[block];
    ek_stage_time *sum = &out[stage_of(t, block)];
    double *const part[EK_N_BLOCK_KINDS] = {&sum->forward, &sum->backward, &sum->weight};
    *part[b->kind] += b->end - b->start - b->recompute_time;
    sum->recompute += b->recompute_time;
    sum->transfer += b->start - (cause == EK_NO_BLOCK ? 0 : t->block[cause].end);
}

ek_status ek__timeline_follow(ek_timeline *t, ek_error *err)
{
    size_t n = 0;
    ek_wait *wait = ek__alloc(t->n_blocks, sizeof *wait);
    t->path = ek__alloc(t->n_blocks, sizeof *t->path);
    t->path_time = ek__alloc((size_t)t->shape.n_stages, sizeof *t->path_time);
    ek_status status = wait && t->path && t->path_time ? ek_timeline_waits(t, wait, err) : ek__no_memory(err);
    for (ptrdiff_t at = status ? EK_NO_BLOCK : (ptrdiff_t)last_block(t); at != EK_NO_BLOCK;) {
        ptrdiff_t cause = cause_of(t, wait, (size_t)at);
        assert(n < t->n_blocks && (cause == EK_NO_BLOCK || t->block[cause].end <= t->block[at].end));
        add_block(t, (size_t)at, cause, t->path_time);
        t->path[n++] = (size_t)at;
        at = cause;
    }
    for (size_t i = 0; i < n / 2; i++) {
        size_t other = t->path[i];
        t->path[i] = t->path[n - 1 - i];
        t->path[n - 1 - i] = other;
    }
    t->n_path = n;
    free(wait);
    return status;
}
