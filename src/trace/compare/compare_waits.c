/* Computes the waiting time between ranks: the waits of each rank in collectives to which another one came last, and in
 * transfers whose other side came later, by pairs of ranks. In a collective the wait is the time beyond its transfer;
 * in a transfer, both sides of which end together, the time by which a side was longer than the other. Only steps that
 * count are included. O(collectives log collectives). */
#include <stdlib.h>

#include "base/error.h"
#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/rank.h"

typedef struct list {
    size_t n, room;
    ek_trace_wait *at;
} list;

static bool add(list *l, const ek_trace_run *run, int rank, int call, int other, int64_t ns)
{
    const ek_trace_rank *of = &run->rank[rank];
    if (ns <= 0 || !ek__collective_counts(of, &of->communication.collective[call]))
        return true;
    ek_trace_wait *room = ek__with_room(l->at, &l->room, l->n + 1, sizeof *room);
    if (!room)
        return false;
    l->at = room;
    l->at[l->n++] = (ek_trace_wait){rank, other, 1, (double)ns};
    return true;
}

static bool gather(const ek_trace_run *run, list *l)
{
    for (int r = 0; r < run->n_ranks; r++) {
        const ek_trace_communication *c = &run->rank[r].communication;
        for (int i = 0; i < c->n_collectives; i++) {
            const ek_trace_collective *one = &c->collective[i];
            if (one->last >= 0 && one->transit != EK_TRACE_UNKNOWN &&
                !add(l, run, r, i, one->last, one->duration - one->transit))
                return false;
        }
    }
    for (int i = 0; i < run->n_transfers; i++) {
        const ek_trace_transfer *t = &run->transfer[i];
        int64_t sends = run->rank[t->from_rank].communication.collective[t->from].duration;
        int64_t receives = run->rank[t->to_rank].communication.collective[t->to].duration;
        if (!add(l, run, t->from_rank, t->from, t->to_rank, sends - receives) ||
            !add(l, run, t->to_rank, t->to, t->from_rank, receives - sends))
            return false;
    }
    return true;
}

static int by_pair(const void *a, const void *b)
{
    const ek_trace_wait *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->last > y->last) - (x->last < y->last);
}

static int most_first(const void *a, const void *b)
{
    const ek_trace_wait *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return by_pair(a, b);
}

/* Sums of pairs, of a mean step. @return their number */
static size_t bring_together(const ek_trace_run *run, list *l)
{
    size_t kept = 0;
    if (l->n > 1)
        qsort(l->at, l->n, sizeof *l->at, by_pair);
    for (size_t i = 0; i < l->n; i++) {
        if (kept > 0 && by_pair(&l->at[kept - 1], &l->at[i]) == 0) {
            l->at[kept - 1].n++;
            l->at[kept - 1].ns += l->at[i].ns;
        } else
            l->at[kept++] = l->at[i];
    }
    for (size_t i = 0; i < kept; i++)
        l->at[i].ns /= ek__counted_steps(&run->rank[l->at[i].at]);
    if (kept > 1)
        qsort(l->at, kept, sizeof *l->at, most_first);
    return kept;
}

ek_status ek__compare_waits(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    list l = {0};
    (void)options;
    bool fine = gather(run, &l);
    size_t n = fine ? bring_together(run, &l) : 0;
    ek_trace_wait *out = n > 0 ? ek__pool_alloc(run->pool, n, sizeof *out) : NULL;
    fine = fine && (n == 0 || out);
    for (size_t i = 0; fine && i < n; i++)
        out[i] = l.at[i];
    if (fine) {
        run->wait = out;
        run->n_waits = (int)n;
    }
    free(l.at);
    return fine ? EK_OK : ek__no_memory(err);
}
