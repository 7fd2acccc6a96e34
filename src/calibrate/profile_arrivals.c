/* Matches collectives of a run across ranks, where messages name the ranks of their group: those of equal messages on
 * all of these ranks, in each rank's order. The last rank to arrive does not wait, so the shortest of their durations
 * is the transfer. Groups with missing ranks, or with different numbers of messages, are skipped. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/profile.h"
#include "evenkeel/layers.h"

typedef struct entry {
    const char *message;
    int64_t start, duration;
    int rank, nth; /* nth: of its message on its rank */
    size_t at;     /* in the answer */
} entry;

static int by_rank(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->message, y->message);
    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

static int by_turn(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->nth != y->nth ? (x->nth < y->nth ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

/* "allreduce|Float|10|10|2|[0, 8]": 2 where it lists ranks, else 0. */
static int ranks_of(const char *message)
{
    const char *bar = strrchr(message, '|');
    if (!bar || bar == message || bar[1] != '[')
        return 0;
    const char *size = bar - 1;
    while (size > message && *size != '|')
        size--;
    long n = strtol(size + 1, NULL, 10);
    return n > 1 && n <= EK_MAX_RANKS ? (int)n : 0;
}

static void number(entry *at, size_t n)
{
    for (size_t i = 1; i < n; i++)
        at[i].nth = at[i].rank == at[i - 1].rank ? at[i - 1].nth + 1 : 0;
}

/* The n entries of one message, by turn: every turn has one of each rank. */
static bool is_whole(const entry *at, size_t n, size_t n_ranks)
{
    if (n % n_ranks != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (at[i].nth != (int)(i / n_ranks) || (i % n_ranks > 0 && at[i].rank == at[i - 1].rank))
            return false;
    return true;
}

static void read_message(entry *at, size_t n, int64_t *transfer)
{
    size_t n_ranks = (size_t)ranks_of(at->message);
    number(at, n);
    qsort(at, n, sizeof *at, by_turn);
    if (n_ranks == 0 || !is_whole(at, n, n_ranks))
        return;
    for (size_t i = 0; i < n; i += n_ranks) {
        int64_t shortest = at[i].duration;
        for (size_t k = 1; k < n_ranks; k++)
            shortest = at[i + k].duration < shortest ? at[i + k].duration : shortest;
        for (size_t k = 0; k < n_ranks; k++)
            transfer[at[i + k].at] = shortest;
    }
}

static size_t gather(const ek_trace_run *run, entry *out)
{
    size_t n = 0, at = 0;
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].communication.n_collectives; i++, at++) {
            const ek_trace_collective *c = &run->rank[r].communication.collective[i];
            if (c->message && ranks_of(c->message) > 0)
                out[n++] = (entry){c->message, c->start, c->duration, r, 0, at};
        }
    return n;
}

ek_status ek__profile_arrivals(const ek_trace_run *run, int64_t **out, ek_error *err)
{
    size_t room = 0;
    for (int r = 0; r < run->n_ranks; r++)
        room += (size_t)run->rank[r].communication.n_collectives;
    entry *all = ek__alloc(room, sizeof *all);
    int64_t *transfer = ek__alloc(room, sizeof *transfer);
    if (!all || !transfer) {
        free(all);
        free(transfer);
        return ek__no_memory(err);
    }
    size_t n = gather(run, all);
    if (n > 1)
        qsort(all, n, sizeof *all, by_rank);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(all[end].message, all[i].message) == 0;)
            end++;
        read_message(&all[i], end - i, transfer);
    }
    free(all);
    *out = transfer;
    return EK_OK;
}
