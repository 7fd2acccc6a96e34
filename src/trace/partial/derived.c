/* Restores values of a rank that follow from its pieces of work. Executions and operators of layers are pieces, in the
 * same order: of each only the number of its piece is written, which mostly is the next one. */
#include "trace/partial/derived.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "trace/analyse/launch_queue.h"

/* ---- the queue ---- */

static ek_status queue_of_pieces(const ek_trace_work *work, ek__pool *pool, ek_trace_queue *out, ek_error *err)
{
    ek__launched *launched = ek__alloc(work->n, sizeof *launched);
    *out = (ek_trace_queue){0};
    for (size_t i = 0; launched && i < work->n; i++)
        launched[i] = (ek__launched){work->piece[i].launch, work->piece[i].start};
    ek_status status = launched ? ek__launch_queue_make(launched, work->n, pool, out, err) : ek__no_memory(err);
    free(launched);
    return status;
}

static bool is_same_curve(const ek_trace_value *a, int n, const ek_trace_value *b, int m)
{
    return n == m && (n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0);
}

static ek_status take_queue(ek_trace_rank *rank, ek__derived *out, ek_error *err)
{
    ek_trace_queue made, *q = &rank->queue;
    ek__pool *pool = ek__pool_new();
    ek_status status = pool ? queue_of_pieces(&rank->work, pool, &made, err) : ek__no_memory(err);
    if (!status && is_same_curve(made.lengths, made.n_lengths, q->lengths, q->n_lengths) &&
        is_same_curve(made.delays, made.n_delays, q->delays, q->n_delays)) {
        out->queue = true;
        q->n_lengths = q->n_delays = 0;
    }
    ek__pool_free(pool);
    return status;
}

/* ---- executions and operators of layers ---- */

/* The first piece from `from` on that starts then and, with a duration, ends after it; -1. */
static int64_t find_piece(const ek_trace_work *work, size_t from, int64_t start, int64_t duration)
{
    for (size_t i = from; i < work->n && work->piece[i].start <= start; i++)
        if (work->piece[i].start == start && (duration < 0 || work->piece[i].end - start == duration))
            return (int64_t)i;
    return -1;
}

static bool is_small(size_t n)
{
    return n > 0 && n < INT_MAX;
}

static ek_status take_executions(ek_trace_rank *rank, ek__derived *out, ek_error *err)
{
    ek_trace_measured *m = &rank->measured;
    size_t next = 0, n = 0;
    if (!is_small(m->n_all) || !is_small(rank->work.n))
        return EK_OK;
    out->execution = ek__alloc(m->n_all, sizeof *out->execution);
    if (!out->execution)
        return ek__no_memory(err);
    for (; n < m->n_all; n++) {
        const ek_trace_execution *e = &m->execution[n];
        int64_t piece = find_piece(&rank->work, next, e->start, e->duration);
        if (piece < 0)
            return EK_OK;
        out->execution[n] = (ek__derived_item){(int)piece, e->op, e->stream};
        next = (size_t)piece + 1;
    }
    out->n_executions = (int)n;
    m->n_all = 0;
    return EK_OK;
}

static ek_status take_members(ek_trace_rank *rank, ek__derived *out, ek_error *err)
{
    ek_trace_layers *l = &rank->layers;
    size_t next = 0, n = 0;
    if (!is_small(l->n_members) || !is_small(rank->work.n))
        return EK_OK;
    out->member = ek__alloc(l->n_members, sizeof *out->member);
    if (!out->member)
        return ek__no_memory(err);
    for (; n < l->n_members; n++) {
        int64_t piece = find_piece(&rank->work, next, l->member[n].start, -1);
        if (piece < 0)
            return EK_OK;
        out->member[n] = (ek__derived_item){(int)piece, l->member[n].layer, 0};
        next = (size_t)piece; /* several may start at once */
    }
    out->n_members = (int)n;
    l->n_members = 0;
    return EK_OK;
}

ek_status ek__derived_take(ek_trace_rank *rank, ek__derived *out, ek_error *err)
{
    *out = (ek__derived){0};
    ek_status status = take_queue(rank, out, err);
    if (!status)
        status = take_executions(rank, out, err);
    return status ? status : take_members(rank, out, err);
}

void ek__derived_clear(ek__derived *derived)
{
    free(derived->execution);
    free(derived->member);
    *derived = (ek__derived){0};
}

/* ---- back ---- */

static bool are_pieces(const ek__derived_item *item, int n, const ek_trace_work *work)
{
    for (int i = 0; i < n; i++)
        if (item[i].piece < 0 || (size_t)item[i].piece >= work->n)
            return false;
    return true;
}

ek_status ek__derived_put(const ek__derived *d, ek_trace_rank *rank, ek_error *err)
{
    ek_trace_queue made;
    const ek_trace_work *work = &rank->work;
    if (!are_pieces(d->execution, d->n_executions, work) || !are_pieces(d->member, d->n_members, work))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "it refers to pieces of work that it does not contain");
    if (d->queue) {
        ek_status status = queue_of_pieces(work, rank->pool, &made, err);
        if (status)
            return status;
        rank->queue.n_lengths = made.n_lengths;
        rank->queue.lengths = made.lengths;
        rank->queue.n_delays = made.n_delays;
        rank->queue.delays = made.delays;
    }
    if (d->n_executions > 0) {
        rank->measured.execution = ek__pool_alloc(rank->pool, (size_t)d->n_executions, sizeof(ek_trace_execution));
        if (!rank->measured.execution)
            return ek__no_memory(err);
        rank->measured.n_all = (size_t)d->n_executions;
    }
    for (int i = 0; i < d->n_executions; i++) {
        const ek_trace_piece *p = &work->piece[d->execution[i].piece];
        rank->measured.execution[i] = (ek_trace_execution){p->start, (int64_t)((uint64_t)p->end - (uint64_t)p->start),
                                                           d->execution[i].of, d->execution[i].stream};
    }
    if (d->n_members > 0) {
        rank->layers.member = ek__pool_alloc(rank->pool, (size_t)d->n_members, sizeof(ek_trace_member));
        if (!rank->layers.member)
            return ek__no_memory(err);
        rank->layers.n_members = (size_t)d->n_members;
    }
    for (int i = 0; i < d->n_members; i++)
        rank->layers.member[i] = (ek_trace_member){work->piece[d->member[i].piece].start, d->member[i].of};
    return EK_OK;
}
