/* Finds slow ranks, in two ways. Vote: collectives are matched over the ranks by group, name and the number of earlier
 * ones of that name; the rank with the shortest took part last. Groups are left out when their ranks do not list
 * equally many, since then the k-th of a name is not the same on all. Gaps: the spread of the ranks' means of
 * computing, exposed communication and free time; computing is compared within a stage only. Collectives without a
 * group (Kineto) are compared only when the number of present ranks is the group size of their key, or, where there is
 * no such key, when they end on all ranks at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/analyse/analysis.h"
#include "trace/compare/dixon.h"

static const double gap_limit = 0.05;

/* ---- bringing collectives together ---- */

typedef struct entry {
    const char *group, *name;
    int64_t duration;
    int rank;  /* index in run->rank */
    int index; /* in the rank's collectives, by start */
    int nth;   /* of this group and name on this rank */
} entry;

static int compare_operators(const entry *x, const entry *y)
{
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->name, y->name);
}

static int by_name_on_rank(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = compare_operators(x, y);
    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_occurrence(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = compare_operators(x, y);
    if (order)
        return order;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Kineto's key ends in the group's size. Can the collective be distinguished from those of other groups? It can where
 * all ranks are its group; where the size is unknown, simultaneous ends show it (are_together()). */
static bool may_have_one_group(const ek_trace_run *run, const ek_trace_rank *rank, const ek_trace_collective *c)
{
    const char *size = strrchr(c->name, '|');
    return rank->producer != EK_PRODUCER_KINETO || !size || strtol(size + 1, NULL, 10) == run->n_ranks;
}

/* Collectives without any group form one group per name, so that every name is checked by itself. */
static const char *group_of(const ek_trace_rank *rank, const ek_trace_collective *c)
{
    if (c->group)
        return c->group;
    return rank->producer == EK_PRODUCER_KINETO && !strchr(c->name, '|') ? c->name : "";
}

static bool is_transfer(const ek_trace_options *options, const ek_trace_collective *c)
{
    if (c->exchange != EK_EXCHANGE_NONE)
        return c->exchange != EK_EXCHANGE_COLLECTIVE;
    return c->p2p || ek__is_p2p(options, c->name);
}

static entry *gather(const ek_trace_options *options, const ek_trace_run *run, size_t *n)
{
    size_t room = 0;
    for (int r = 0; r < run->n_ranks; r++)
        room += (size_t)run->rank[r].communication.n_collectives;
    entry *all = ek__alloc(room, sizeof *all);
    *n = 0;
    for (int r = 0; all && r < run->n_ranks; r++) {
        const ek_trace_communication *c = &run->rank[r].communication;
        for (int i = 0; i < c->n_collectives; i++)
            if (c->collective[i].name && !is_transfer(options, &c->collective[i]) &&
                may_have_one_group(run, &run->rank[r], &c->collective[i]))
                all[(*n)++] = (entry){group_of(&run->rank[r], &c->collective[i]),
                                      c->collective[i].name,
                                      c->collective[i].duration,
                                      r,
                                      i,
                                      0};
    }
    return all;
}

static void number_occurrences(entry *all, size_t n)
{
    qsort(all, n, sizeof *all, by_name_on_rank);
    for (size_t i = 1; i < n; i++)
        if (all[i].rank == all[i - 1].rank && compare_operators(&all[i], &all[i - 1]) == 0)
            all[i].nth = all[i - 1].nth + 1;
}

/* ---- votes ---- */

typedef struct ballot {
    ek_trace_run *run;
    int64_t *count;                             /* [n_ranks]: collectives of the group at hand */
    int64_t *n_votes, *n_shortest, *n_compared; /* [n_ranks] */
    int64_t *duration, *sorted;                 /* [n_ranks] */
    bool *vote;                                 /* [n_ranks] */
    int64_t n_operators;
} ballot;

/* Does everything of the group occur equally often? By occurrence, so those of a name follow one another. Kineto's
 * names are kinds of operators, which occur as often as the model has them. */
static bool names_occur_alike(const ballot *b, const entry *e, size_t n)
{
    size_t number = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(e[end].name, e[i].name) == 0;)
            end++;
        if (b->run->rank[e[i].rank].producer == EK_PRODUCER_KINETO)
            return true;
        if (number != 0 && end - i != number)
            return false;
        number = end - i;
    }
    return true;
}

/* Do all ranks of the group list equally many? */
static bool is_complete(ballot *b, const entry *e, size_t n)
{
    int64_t number = 0;
    for (int r = 0; r < b->run->n_ranks; r++)
        b->count[r] = 0;
    for (size_t i = 0; i < n; i++)
        b->count[e[i].rank]++;
    for (int r = 0; r < b->run->n_ranks; r++) {
        if (b->count[r] == 0)
            continue;
        if (number != 0 && b->count[r] != number)
            return false;
        number = b->count[r];
    }
    return true;
}

/* The figures of one collective, to explain a vote. b->sorted is filled. */
static bool keep_ballot(ballot *b, const entry *e, int n, int shortest, int n_votes)
{
    ek_trace_run *run = b->run;
    if (run->n_ballots == EK_TRACE_MAX_BALLOTS)
        return true;
    ek_trace_ballot *list = ek__pool_push(run->pool, run->ballot, run->n_ballots, sizeof *list);
    if (!list)
        return false;
    double ratio = ek__dixon_ratio(b->sorted, n);
    run->ballot = list;
    run->ballot[run->n_ballots++] = (ek_trace_ballot){.group = e->group[0] && e->group != e->name ? e->group : NULL,
                                                      .name = e->name,
                                                      .occurrence = e->nth,
                                                      .n_ranks = n,
                                                      .shortest = run->rank[e[shortest].rank].rank,
                                                      .shortest_ns = b->sorted[0],
                                                      .longest_ns = b->sorted[n - 1],
                                                      .ratio = ratio,
                                                      .limit = isnan(ratio) ? (double)NAN : ek__dixon_limit(n),
                                                      .n_votes = n_votes,
                                                      .shortest_at = e[shortest].rank};
    return true;
}

/* Derives values of each rank from the durations of one collective: the transfer is no longer than the shortest, unless
 * the rank's own files have it already; the others waited for the rank with the shortest, unless it waited as well. */
static void report_waiting(const ballot *b, const entry *e, int n, int shortest)
{
    ek_trace_collective *fast = &b->run->rank[e[shortest].rank].communication.collective[e[shortest].index];
    const int64_t transfer = fast->transit == EK_TRACE_UNKNOWN ? fast->duration : fast->transit;
    const int64_t fast_wait = fast->duration - transfer;
    for (int i = 0; i < n; i++) {
        const ek_trace_rank *rank = &b->run->rank[e[i].rank];
        ek_trace_collective *c = &rank->communication.collective[e[i].index];
        bool whole_world = rank->world_size > 0 && rank->world_size <= b->run->n_ranks;
        c->n_here = n;
        c->match = b->n_operators;
        if (c->transit == EK_TRACE_UNKNOWN) {
            c->transit = transfer;
            c->at_most = c->n_group > 0 ? n < c->n_group : !whole_world;
        }
        if (i != shortest && fast_wait < (c->duration - c->transit) / 2) {
            c->last = e[shortest].rank;
            c->last_call = e[shortest].index;
        }
    }
}

/* One collective: n entries, one per rank. @return false when memory is out */
static bool vote_on(ballot *b, const entry *e, int n)
{
    int shortest = 0;
    if (n < 2)
        return true;
    for (int i = 0; i < n; i++) {
        b->duration[i] = e[i].duration;
        b->n_compared[e[i].rank]++;
        shortest = e[i].duration < e[shortest].duration ? i : shortest;
    }
    report_waiting(b, e, n, shortest);
    b->n_operators++;
    b->n_shortest[e[shortest].rank]++;
    int n_votes = ek__slow_votes(b->duration, n, b->sorted, b->vote);
    for (int i = 0; i < n; i++)
        b->n_votes[e[i].rank] += b->vote[i];
    return keep_ballot(b, e, n, shortest, n_votes);
}

static bool same_occurrence(const entry *x, const entry *y)
{
    return x->nth == y->nth && strcmp(x->name, y->name) == 0 && strcmp(x->group, y->group) == 0;
}

static int64_t end_of(const ballot *b, const entry *e)
{
    const ek_trace_collective *c = &b->run->rank[e->rank].communication.collective[e->index];
    return ek__ns_add(c->start, c->duration);
}

static bool end_together(const ballot *b, const entry *e, size_t n)
{
    int64_t first = end_of(b, e), last = first, shortest = e->duration, longest = shortest;
    for (size_t i = 1; i < n; i++) {
        int64_t end = end_of(b, &e[i]);
        first = end < first ? end : first;
        last = end > last ? end : last;
        shortest = e[i].duration < shortest ? e[i].duration : shortest;
        longest = e[i].duration > longest ? e[i].duration : longest;
    }
    return ek__are_one_collective(ek__ns_sub(last, first), shortest, longest);
}

/* The group of these collectives is unknown: do most of them end on all ranks at once, as those of one group do? */
static bool are_together(const ballot *b, const entry *e, size_t n)
{
    size_t n_together = 0, n_all = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_occurrence(&e[i], &e[end]);)
            end++;
        n_together += end - i == (size_t)b->run->n_ranks && end_together(b, &e[i], end - i);
        n_all++;
    }
    return (double)n_together >= 0.9 * (double)n_all;
}

static bool vote_in_group(ballot *b, const entry *e, size_t n)
{
    if (!is_complete(b, e, n) || !names_occur_alike(b, e, n) || (e->group == e->name && !are_together(b, e, n)))
        return true;
    int n_ranks = 0;
    for (int r = 0; r < b->run->n_ranks; r++)
        n_ranks += b->count[r] > 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_occurrence(&e[i], &e[end]);)
            end++;
        /* One that is missing on some rank has another name there: there is nothing to compare. */
        if (end - i == (size_t)n_ranks && !vote_on(b, &e[i], n_ranks))
            return false;
    }
    return true;
}

static bool vote_all(ballot *b, entry *all, size_t n)
{
    if (n == 0)
        return true;
    number_occurrences(all, n);
    qsort(all, n, sizeof *all, by_occurrence);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(all[i].group, all[end].group) == 0;)
            end++;
        if (!vote_in_group(b, &all[i], end - i))
            return false;
    }
    return true;
}

static int by_votes(const void *a, const void *b)
{
    const ek_trace_vote *x = a, *y = b;
    if (x->n_votes != y->n_votes)
        return x->n_votes > y->n_votes ? -1 : 1;
    if (x->n_shortest != y->n_shortest)
        return x->n_shortest > y->n_shortest ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static ek_status keep_votes(const ballot *b, ek_error *err)
{
    ek_trace_run *run = b->run;
    ek_trace_vote *list = ek__pool_alloc(run->pool, (size_t)run->n_ranks, sizeof *list);
    if (!list)
        return ek__no_memory(err);
    run->n_votes = 0;
    for (int r = 0; r < run->n_ranks; r++)
        if (b->n_compared[r] > 0)
            list[run->n_votes++] = (ek_trace_vote){run->rank[r].rank, run->rank[r].stage, b->n_votes[r],
                                                   b->n_shortest[r],  b->n_compared[r],   r};
    if (run->n_votes > 1)
        qsort(list, (size_t)run->n_votes, sizeof *list, by_votes);
    run->vote = list;
    run->n_voted_operators = b->n_operators;
    return EK_OK;
}

static ek_status count_votes(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    size_t n, n_ranks = (size_t)run->n_ranks;
    entry *all = gather(options, run, &n);
    int64_t *numbers = ek__alloc(6 * n_ranks, sizeof *numbers);
    bool *vote = ek__alloc(n_ranks, sizeof *vote);
    ek_status status = all && numbers && vote ? EK_OK : ek__no_memory(err);
    if (status == EK_OK) {
        ballot b = {.run = run,
                    .count = numbers,
                    .n_votes = numbers + n_ranks,
                    .n_shortest = numbers + 2 * n_ranks,
                    .n_compared = numbers + 3 * n_ranks,
                    .duration = numbers + 4 * n_ranks,
                    .sorted = numbers + 5 * n_ranks,
                    .vote = vote};
        status = vote_all(&b, all, n) ? keep_votes(&b, err) : ek__no_memory(err);
    }
    free(all);
    free(numbers);
    free(vote);
    return status;
}

/* ---- gaps ---- */

static int64_t told_part(const ek_trace_rank *rank, int part)
{
    const ek_trace_breakdown *m = &rank->mean;
    return part == 0 ? m->computing : part == 1 ? m->communication_not_overlapped : m->free;
}

static int64_t part_of(const ek_trace_rank *rank, int part)
{
    int64_t value = told_part(rank, part);
    return value == EK_TRACE_UNKNOWN ? 0 : value;
}

static bool was_measured(const ek_trace_rank *rank)
{
    return part_of(rank, 0) + part_of(rank, 1) + part_of(rank, 2) > 0;
}

/* Over the measured ranks of a stage that have the part; -2: of all. NAN for fewer than two. */
static ek_trace_gap gap_of(const ek_trace_run *run, int part, int stage)
{
    static const char *const names[] = {"computing", "communication_not_overlapped", "free"};
    ek_trace_gap gap = {.part = names[part],
                        .gap = (double)NAN,
                        .most = EK_TRACE_NO_RANK,
                        .least = EK_TRACE_NO_RANK,
                        .most_stage = -1,
                        .least_stage = -1,
                        .most_at = -1,
                        .least_at = -1};
    double sum = 0;
    int64_t most = 0, least = 0;
    int n = 0;
    for (int r = 0; r < run->n_ranks; r++) {
        const ek_trace_rank *rank = &run->rank[r];
        int64_t value = told_part(rank, part);
        if (!was_measured(rank) || value == EK_TRACE_UNKNOWN || (stage != -2 && rank->stage != stage))
            continue;
        if (n == 0 || value > most) {
            most = value;
            gap.most = rank->rank;
            gap.most_stage = rank->stage;
            gap.most_at = r;
        }
        if (n == 0 || value < least) {
            least = value;
            gap.least = rank->rank;
            gap.least_stage = rank->stage;
            gap.least_at = r;
        }
        sum += (double)part_of(rank, 0) + (double)part_of(rank, 1) + (double)part_of(rank, 2);
        n++;
    }
    if (n >= 2 && sum > 0)
        gap.gap = (double)(most - least) / (sum / n);
    gap.flagged = gap.gap > gap_limit;
    return gap;
}

/* Stages compute different layers, so their ranks are compared with each other; the widest stage represents the part.
 */
static ek_trace_gap computing_gap(const ek_trace_run *run)
{
    if (run->n_stages < 2)
        return gap_of(run, 0, -2);
    ek_trace_gap widest = gap_of(run, 0, run->stage[0].stage);
    for (int s = 1; s < run->n_stages; s++) {
        ek_trace_gap gap = gap_of(run, 0, run->stage[s].stage);
        if (gap.gap > widest.gap || isnan(widest.gap))
            widest = gap;
    }
    return widest;
}

static ek_status find_gaps(ek_trace_run *run, ek_error *err)
{
    int n_measured = 0;
    for (int r = 0; r < run->n_ranks; r++)
        n_measured += was_measured(&run->rank[r]);
    if (n_measured < 2)
        return EK_OK;
    ek_trace_gap *gap = ek__pool_alloc(run->pool, 3, sizeof *gap);
    if (!gap)
        return ek__no_memory(err);
    gap[0] = computing_gap(run);
    gap[1] = gap_of(run, 1, -2);
    gap[2] = gap_of(run, 2, -2);
    run->gap = gap;
    run->n_gaps = 3;
    return EK_OK;
}

ek_status ek__compare_slow_rank(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    if (run->n_ranks < 2)
        return EK_OK;
    ek_status status = count_votes(options, run, err);
    return status == EK_OK ? find_gaps(run, err) : status;
}
