/* Matches point-to-point transfers of two ranks by group, by the part of the name after the operation
 * (hcom_send__700_3_1 is hcom_receive__700_3_1 on the other side) and by the number of earlier ones of that name. Where
 * a group has more than one candidate, the one with the nearest end is taken, as both sides of a transfer end within
 * microseconds; clocks of different hosts would mislead it if their difference exceeded the distance of transfers.
 * Exchanges of NCCL have no names of their own and are paired only by their ends. O(n log n). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/analyse/analysis.h"

enum { MAX_CANDIDATES = 64 }; /* sides of one name: more are no pipeline, and comparing all pairs would take too long */

typedef enum direction { SEND, RECEIVE, EXCHANGE } direction;

typedef struct side {
    const char *group, *tail; /* "" without a group; after the operation */
    int64_t end;
    int rank, index, nth;
    direction direction;
    bool paired;
} side;

static const char *tail_of(const char *name)
{
    const char *tail = strstr(name, "__");
    return tail ? tail : name;
}

static int by_name(const void *a, const void *b)
{
    const side *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    if (order == 0)
        order = strcmp(x->tail, y->tail);
    return order ? order : (x->direction == EXCHANGE) - (y->direction == EXCHANGE);
}

static int by_name_on_rank(const void *a, const void *b)
{
    const side *x = a, *y = b;
    int order = by_name(a, b);
    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->direction != y->direction)
        return x->direction < y->direction ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_transfer(const void *a, const void *b)
{
    const side *x = a, *y = b;
    int order = by_name(a, b);
    if (order)
        return order;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return by_name_on_rank(a, b);
}

/* Every collective may be a side. */
static size_t room_of(const ek_trace_run *run)
{
    size_t room = 0;
    for (int r = 0; r < run->n_ranks; r++)
        room += (size_t)run->rank[r].communication.n_collectives;
    return room;
}

static side *gather(const ek_trace_options *options, const ek_trace_run *run, size_t *n)
{
    side *all = ek__alloc(room_of(run), sizeof *all);
    *n = 0;
    for (int r = 0; all && r < run->n_ranks; r++) {
        const ek_trace_communication *c = &run->rank[r].communication;
        for (int i = 0; i < c->n_collectives; i++) {
            const ek_trace_collective *one = &c->collective[i];
            if (!one->name || one->exchange != EK_EXCHANGE_NONE ||
                (!ek__is_send(options, one->name) && !ek__is_receive(options, one->name)))
                continue;
            direction d = strstr(one->name, "SendRecv") ? EXCHANGE : ek__is_send(options, one->name) ? SEND : RECEIVE;
            all[(*n)++] = (side){.group = one->group ? one->group : "",
                                 .tail = tail_of(one->name),
                                 .end = ek__ns_add(one->start, one->duration),
                                 .rank = r,
                                 .index = i,
                                 .direction = d};
        }
    }
    return all;
}

static void number_transfers(side *all, size_t n)
{
    qsort(all, n, sizeof *all, by_name_on_rank);
    for (size_t i = 1; i < n; i++)
        if (all[i].rank == all[i - 1].rank && all[i].direction == all[i - 1].direction &&
            by_name(&all[i], &all[i - 1]) == 0)
            all[i].nth = all[i - 1].nth + 1;
    qsort(all, n, sizeof *all, by_transfer);
}

/* ---- pairs ---- */

static bool fit(const side *x, const side *y)
{
    return !x->paired && !y->paired && x->rank != y->rank && (x->direction == EXCHANGE || x->direction != y->direction);
}

static int64_t distance(const side *x, const side *y)
{
    return x->end > y->end ? ek__ns_sub(x->end, y->end) : ek__ns_sub(y->end, x->end);
}

static ek_trace_transfer transfer_of(const ek_trace_run *run, const side *x, const side *y)
{
    bool swap = x->direction == EXCHANGE ? run->rank[y->rank].rank < run->rank[x->rank].rank : x->direction != SEND;
    const side *from = swap ? y : x, *to = swap ? x : y;
    return (ek_trace_transfer){from->rank, from->index, to->rank, to->index};
}

/* The sides of one name: repeatedly the two nearest ends. `out` has room for n / 2. @return their number */
static size_t pair_up(const ek_trace_run *run, side *s, size_t n, ek_trace_transfer *out)
{
    size_t n_pairs = 0;
    for (; n <= MAX_CANDIDATES; n_pairs++) {
        side *best_x = NULL, *best_y = NULL;
        for (size_t i = 0; i < n; i++)
            for (size_t k = i + 1; k < n; k++)
                if (fit(&s[i], &s[k]) && (!best_x || distance(&s[i], &s[k]) < distance(best_x, best_y))) {
                    best_x = &s[i];
                    best_y = &s[k];
                }
        if (!best_x)
            break;
        best_x->paired = best_y->paired = true;
        out[n_pairs] = transfer_of(run, best_x, best_y);
    }
    return n_pairs;
}

/* ---- exchanges without names ---- */

/* Those of NCCL, on ranks of Kineto: one name for all, so only their ends distinguish them. */
static size_t gather_unnamed(const ek_trace_run *run, side *all)
{
    size_t n = 0;
    for (int r = 0; r < run->n_ranks; r++) {
        const ek_trace_communication *c = &run->rank[r].communication;
        for (int i = 0; i < c->n_collectives; i++) {
            const ek_trace_collective *one = &c->collective[i];
            if (one->exchange == EK_EXCHANGE_P2P)
                all[n++] = (side){.group = "",
                                  .tail = "",
                                  .end = ek__ns_add(one->start, one->duration),
                                  .rank = r,
                                  .index = i,
                                  .direction = EXCHANGE};
        }
    }
    return n;
}

static int by_end(const void *a, const void *b)
{
    const side *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->index > y->index) - (x->index < y->index);
}

static int64_t duration_of(const ek_trace_run *run, const side *s)
{
    return run->rank[s->rank].communication.collective[s->index].duration;
}

static bool end_together(const ek_trace_run *run, const side *x, const side *y)
{
    int64_t a = duration_of(run, x), b = duration_of(run, y);
    return ek__are_one_collective(distance(x, y), a < b ? a : b, a < b ? b : a);
}

/* In the order of ends, each with the next one of another rank that ends together with it. O(n log n). */
static size_t pair_unnamed(const ek_trace_run *run, side *s, size_t n, ek_trace_transfer *out)
{
    size_t n_pairs = 0;
    if (n > 0)
        qsort(s, n, sizeof *s, by_end);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && k <= i + MAX_CANDIDATES && !s[i].paired; k++)
            if (fit(&s[i], &s[k]) && end_together(run, &s[i], &s[k])) {
                s[i].paired = s[k].paired = true;
                out[n_pairs++] = transfer_of(run, &s[i], &s[k]);
            }
    return n_pairs;
}

/* ---- their sums ---- */

static ek_trace_pair pair_of(const ek_trace_run *run, const ek_trace_transfer *t)
{
    const ek_trace_collective *from = &run->rank[t->from_rank].communication.collective[t->from];
    const ek_trace_collective *to = &run->rank[t->to_rank].communication.collective[t->to];
    int64_t longer = ek__ns_sub(from->duration, to->duration);
    return (ek_trace_pair){.from = run->rank[t->from_rank].rank,
                           .to = run->rank[t->to_rank].rank,
                           .group = from->group && from->group[0] ? from->group : NULL,
                           .n = 1,
                           .from_wait = longer > 0 ? longer : 0,
                           .to_wait = longer < 0 ? ek__ns_sub(0, longer) : 0,
                           .from_at = t->from_rank,
                           .to_at = t->to_rank};
}

/* Ranks are identified by their numbers; those without one are kept apart, too. */
static int by_ranks(const void *a, const void *b)
{
    const ek_trace_pair *x = a, *y = b;
    if (x->from_at != y->from_at)
        return x->from_at < y->from_at ? -1 : 1;
    if (x->to_at != y->to_at)
        return x->to_at < y->to_at ? -1 : 1;
    return strcmp(x->group ? x->group : "", y->group ? y->group : "");
}

static size_t bring_together(ek_trace_pair *pair, size_t n)
{
    size_t kept = 0;
    if (n > 0)
        qsort(pair, n, sizeof *pair, by_ranks);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || by_ranks(&pair[kept - 1], &pair[i]) != 0) {
            pair[kept++] = pair[i];
            continue;
        }
        pair[kept - 1].n++;
        pair[kept - 1].from_wait = ek__ns_add(pair[kept - 1].from_wait, pair[i].from_wait);
        pair[kept - 1].to_wait = ek__ns_add(pair[kept - 1].to_wait, pair[i].to_wait);
    }
    return kept;
}

/* `pair`: scratch for n_transfers. */
static ek_status keep(ek_trace_run *run, const ek_trace_transfer *transfer, size_t n_transfers, ek_trace_pair *pair,
                      ek_error *err)
{
    for (size_t i = 0; i < n_transfers; i++)
        pair[i] = pair_of(run, &transfer[i]);
    size_t n_pairs = bring_together(pair, n_transfers);
    ek_trace_transfer *transfers = ek__pool_alloc(run->pool, n_transfers, sizeof *transfers);
    ek_trace_pair *pairs = ek__pool_alloc(run->pool, n_pairs, sizeof *pairs);
    if (!transfers || !pairs || n_transfers > INT32_MAX)
        return ek__no_memory(err);
    if (n_transfers > 0) {
        memcpy(transfers, transfer, n_transfers * sizeof *transfers);
        memcpy(pairs, pair, n_pairs * sizeof *pairs);
    }
    run->transfer = transfers;
    run->n_transfers = (int)n_transfers;
    run->pair = pairs;
    run->n_pairs = (int)n_pairs;
    return EK_OK;
}

ek_status ek__compare_pairs(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    size_t n, n_transfers = 0;
    if (run->n_ranks < 2)
        return EK_OK;
    side *all = gather(options, run, &n);
    size_t room = room_of(run) / 2 + 1;
    ek_trace_transfer *transfer = all ? ek__alloc(room, sizeof *transfer) : NULL;
    ek_trace_pair *pair = transfer ? ek__alloc(room, sizeof *pair) : NULL;
    ek_status status = pair ? EK_OK : ek__no_memory(err);
    if (status == EK_OK && n > 0)
        number_transfers(all, n);
    for (size_t i = 0, end; i < n && status == EK_OK; i = end) {
        for (end = i + 1; end < n && all[end].nth == all[i].nth && by_name(&all[i], &all[end]) == 0;)
            end++;
        n_transfers += pair_up(run, &all[i], end - i, transfer + n_transfers);
    }
    if (status == EK_OK) { /* the list has room for all of them, and the others are not needed any more */
        size_t n_unnamed = gather_unnamed(run, all);
        n += n_unnamed;
        n_transfers += pair_unnamed(run, all, n_unnamed, transfer + n_transfers);
    }
    if (status == EK_OK)
        status = keep(run, transfer, n_transfers, pair, err);
    if (status == EK_OK)
        run->n_unpaired = (int64_t)(n - 2 * n_transfers);
    free(pair);
    free(transfer);
    free(all);
    return status;
}
