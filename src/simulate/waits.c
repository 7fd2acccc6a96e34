/* Finds why each block of a timeline starts when it does, and how each stage spends the step. A block's source is
 * looked up in a table by kind, model position and micro-batch, which has exactly one entry a block. The time of a
 * stage between two blocks is split as the recurrence composes it (simulate.c): send, idle, receive. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "simulate/order.h"

static size_t place(const ek_timeline *t, int kind, int position, uint32_t micro_batch)
{
    size_t n_positions = (size_t)t->shape.n_stages * (size_t)t->shape.n_chunks;
    assert(kind >= 0 && kind < EK_N_BLOCK_KINDS && position >= 0 && (size_t)position < n_positions);
    assert(micro_batch < (uint32_t)t->shape.n_micro_batches);
    return ((size_t)kind * n_positions + (size_t)position) * (size_t)t->shape.n_micro_batches + micro_batch;
}

static int position_of(const ek_timeline *t, const ek_interval *b, int stage)
{
    return ek_position(t->schedule->placement, t->shape.n_stages, b->chunk, stage);
}

/* The source of the input of a block at a position. */
static ptrdiff_t source_of(const ek_timeline *t, const ek_interval *b, int position, const ptrdiff_t *at)
{
    int last = t->shape.n_stages * t->shape.n_chunks - 1;
    if (b->kind == EK_BACKWARD_WEIGHT)
        return at[place(t, EK_BACKWARD, position, b->micro_batch)];
    if (b->kind == EK_FORWARD)
        return position > 0 ? at[place(t, EK_FORWARD, position - 1, b->micro_batch)] : EK_NO_BLOCK;
    return position < last ? at[place(t, EK_BACKWARD, position + 1, b->micro_batch)]
                           : at[place(t, EK_FORWARD, position, b->micro_batch)];
}

static ptrdiff_t freed_by(const ek_timeline *t, const ek_interval *b, int position, const ptrdiff_t *at)
{
    if (b->kind == EK_FORWARD)
        return at[place(t, EK_BACKWARD, position, b->micro_batch)];
    return b->kind == EK_BACKWARD && t->schedule->splits_backward
               ? at[place(t, EK_BACKWARD_WEIGHT, position, b->micro_batch)]
               : EK_NO_BLOCK;
}

/* Time of a send between the position of a block and the next or previous one. */
static double edge(const ek_timeline *t, const ek_interval *b, int position, int other)
{
    int last = t->shape.n_stages * t->shape.n_chunks - 1, p = t->shape.n_stages;
    ek_placement placement = t->schedule->placement;
    if (b->kind == EK_BACKWARD_WEIGHT || other < 0 || other > last)
        return 0;
    int low = position < other ? position : other, high = position < other ? other : position;
    return ek__edge_time(&t->comm, placement, ek_stage_at(placement, p, low, b->chunk),
                         ek_stage_at(placement, p, high, b->chunk));
}

#ifndef NDEBUG
/* Does the input of a block end before the block starts, except for rounding? */
static bool is_before(const ek_timeline *t, ptrdiff_t source, const ek_interval *b)
{
    return source == EK_NO_BLOCK || t->block[source].end <= b->start + 1e-9 * (1 + t->step_time);
}
#endif

static void stage_waits(const ek_timeline *t, int stage, const ptrdiff_t *at, ek_wait *wait)
{
    double clock = 0;
    for (size_t k = t->first[stage]; k < t->first[stage + 1]; k++) {
        const ek_interval *b = &t->block[k];
        int position = position_of(t, b, stage), ahead = b->kind == EK_FORWARD ? 1 : -1;
        double in = edge(t, b, position, position - ahead), out = edge(t, b, position, position + ahead);
        ek_wait *w = &wait[k];
        *w = (ek_wait){
            .source = source_of(t, b, position, at), .freed_by = freed_by(t, b, position, at), .transfer_time = in};
        assert(is_before(t, w->source, b));
        assert(w->transfer_time >= 0);
        if (t->comm.blocking) {
            w->receive_time = in;
            w->send_time = out;
        }
        w->idle_time = fmax(b->start - w->receive_time - clock, 0);
        clock = b->end + w->send_time;
    }
}

ek_status ek_timeline_waits(const ek_timeline *timeline, ek_wait *wait, ek_error *err)
{
    ptrdiff_t *at = ek__alloc(timeline->n_blocks, sizeof *at);
    if (!at)
        return ek__no_memory(err);
    for (int s = 0; s < timeline->shape.n_stages; s++)
        for (size_t k = timeline->first[s]; k < timeline->first[s + 1]; k++) {
            const ek_interval *b = &timeline->block[k];
            assert(at[place(timeline, b->kind, position_of(timeline, b, s), b->micro_batch)] == 0); /* one entry each */
            at[place(timeline, b->kind, position_of(timeline, b, s), b->micro_batch)] = (ptrdiff_t)k;
        }
    for (int s = 0; s < timeline->shape.n_stages; s++)
        stage_waits(timeline, s, at, wait);
    free(at);
    return EK_OK;
}

void ek_timeline_stage_times(const ek_timeline *timeline, const ek_wait *wait, ek_stage_time *out)
{
    for (int s = 0; s < timeline->shape.n_stages; s++) {
        ek_stage_time sum = {0};
        double clock = 0;
        for (size_t k = timeline->first[s]; k < timeline->first[s + 1]; k++) {
            const ek_interval *b = &timeline->block[k];
            double duration = b->end - b->start;
            double *const part[EK_N_BLOCK_KINDS] = {&sum.forward, &sum.backward, &sum.weight};
            *part[b->kind] += duration - b->recompute_time;
            sum.recompute += b->recompute_time;
            sum.transfer += wait[k].receive_time + wait[k].send_time;
            sum.idle += wait[k].idle_time;
            clock = b->end + wait[k].send_time;
        }
        assert(sum.transfer >= 0 && sum.idle >= 0);
        sum.idle += fmax(timeline->step_time - clock, 0);
        out[s] = sum;
    }
}
