/* Computes clock offsets of a run's hosts from their common communication. Every collective, and every send with its
 * receive, ends on both sides within microseconds; the difference of the two ends on two hosts' clocks is one
 * measurement of the offset between them. The median over all measurements of a pair of hosts is robust against the few
 * that are matched wrongly (group hashes are cut to three digits in names). Hosts are then tied together by Prim's
 * algorithm over the pairs with the smallest standard error, from the host of the lowest rank outwards. O(n log n) for
 * n collectives. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/threads.h"
#include "evenkeel/trace_edit.h"
#include "trace/analyse/analysis.h"
#include "trace/tables/files.h"

enum { AS_SEND = 1, AS_RECEIVE = 2 };

/* The end of one common communication, on the clock of one rank. */
typedef struct ending {
    uint64_t key; /* of its name without its direction, and its number among those of that name */
    int64_t end;
    int clock;
    uint8_t side; /* 0: a collective */
} ending;

/* One measurement: to add to the times of clock b to have those of clock a. */
typedef struct match {
    int a, b;
    int64_t offset, when;
} match;

typedef struct pair {
    int a, b;
    int64_t n, offset, deviation, drift;
    double error; /* of the median, nanoseconds */
} pair;

typedef struct clocks_work {
    ek_trace_clocks clocks;
    size_t n_endings, endings_capacity, n_matches, matches_capacity, n_pairs, pairs_capacity;
    ending *ending;
    match *match;
    pair *pair;
} clocks_work;

/* ---- hosts ---- */

static bool all_digits(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return size > 0;
}

/* Of "{host}_{pid}_{time}_ascend_{pt|ms}": the size of host, 0 when the name has another form. */
static size_t host_size(const char *name, size_t size)
{
    static const char mark[] = "_ascend_";
    const size_t tail = sizeof mark - 1 + 2;
    if (size <= tail || memcmp(name + size - tail, mark, sizeof mark - 1) != 0)
        return 0;
    size -= tail;
    for (int part = 0; part < 2; part++) {
        size_t end = size;
        while (size > 0 && name[size - 1] != '_')
            size--;
        if (size < 2 || !all_digits(name + size, end - size))
            return 0;
        size--;
    }
    return size;
}

/* The host in a path, in the pool; NULL when there is none, *failed when memory is out. */
static const char *host_of(const char *path, ek__pool *pool, bool *failed)
{
    for (const char *begin = path; *begin;) {
        size_t size = strcspn(begin, "/"), host = host_size(begin, size);
        if (host > 0) {
            const char *text = ek__pool_text(pool, begin, host);
            *failed |= text == NULL;
            return text;
        }
        begin += size + (begin[size] == '/');
    }
    return NULL;
}

/* The clock of a rank, a new one unless its host has one. -1 when memory is out. */
static int clock_of(ek_trace_clocks *clocks, const ek__rank_files *files, int rank)
{
    bool failed = false;
    const char *host = host_of(files->file[0].path, clocks->pool, &failed);
    int at = 0;
    while (at < clocks->n && !(host && clocks->clock[at].host && strcmp(host, clocks->clock[at].host) == 0))
        at++;
    if (at == clocks->n) {
        ek_trace_clock *room = ek__pool_push(clocks->pool, clocks->clock, clocks->n, sizeof *room);
        if (!room || failed)
            return -1;
        clocks->clock = room;
        clocks->clock[clocks->n++] = (ek_trace_clock){.host = host, .from = -1};
    }
    ek_trace_clock *clock = &clocks->clock[at];
    int *ranks = ek__pool_push(clocks->pool, clock->rank, clock->n_ranks, sizeof *ranks);
    if (!ranks || failed)
        return -1;
    clock->rank = ranks;
    clock->rank[clock->n_ranks++] = rank;
    return at;
}

/* ---- measurements ---- */

/* The name without its direction: both sides of a send have the same. */
static uint64_t name_key(const char *name, uint8_t *side)
{
    static const char send[] = "hcom_send__", receive[] = "hcom_receive__";
    *side = 0;
    if (strncmp(name, send, sizeof send - 1) == 0) {
        *side = AS_SEND;
        name += sizeof send - 1;
    } else if (strncmp(name, receive, sizeof receive - 1) == 0) {
        *side = AS_RECEIVE;
        name += sizeof receive - 1;
    }
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return *side ? hash ^ 1 : hash;
}

static uint64_t numbered(uint64_t key, uint64_t number)
{
    key = (key ^ number * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return key ^ key >> 32;
}

/* Names with an index are unique; kernels of NCCL repeat, and the n-th of a name is the same on every rank. */
static bool add_endings(clocks_work *w, const ek__trace *trace, int clock)
{
    ek__slice all = trace->of[EK__EVENT_COLLECTIVE];
    uint32_t *seen = ek__alloc(trace->n_names, sizeof *seen);
    ending *room = ek__with_room(w->ending, &w->endings_capacity, w->n_endings + all.n + 1, sizeof *room);
    if (room)
        w->ending = room;
    for (size_t i = 0; i < all.n && room && seen; i++) {
        const ek__event *e = &all.event[i];
        bool has_key = trace->producer == EK_PRODUCER_KINETO && e->detail;
        uint32_t name = has_key ? e->detail : e->name;
        ending *end = &w->ending[w->n_endings++];
        *end = (ending){.end = ek__event_end(e) + trace->base_ns, .clock = clock};
        end->key = numbered(name_key(ek__trace_name(trace, name), &end->side), seen[name]++);
    }
    free(seen);
    return room && seen;
}

static int compare_endings(const void *a, const void *b)
{
    const ending *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->clock != y->clock)
        return x->clock < y->clock ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static bool add_match(clocks_work *w, const ending *a, const ending *b)
{
    int64_t offset;
    if (__builtin_sub_overflow(a->end, b->end, &offset) || offset > INT64_MAX / 4 || offset < INT64_MIN / 4)
        return true;
    match *room = ek__with_room(w->match, &w->matches_capacity, w->n_matches + 1, sizeof *room);
    if (!room)
        return false;
    w->match = room;
    w->match[w->n_matches++] = (match){a->clock, b->clock, offset, a->end};
    return true;
}

/* Those of one key: collectives against the first clock's; a send against a receive elsewhere. */
static bool match_group(clocks_work *w, const ending *group, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (group[i].side == 0) {
            if (group[i].clock != group[0].clock && group[i].clock != group[i - 1].clock &&
                !add_match(w, &group[0], &group[i]))
                return false;
            continue;
        }
        for (size_t j = 0; j < i && n <= 64; j++)
            if (group[j].clock != group[i].clock && group[j].side + group[i].side == AS_SEND + AS_RECEIVE &&
                !add_match(w, &group[j], &group[i]))
                return false;
    }
    return true;
}

static bool make_matches(clocks_work *w)
{
    if (w->n_endings > 0)
        qsort(w->ending, w->n_endings, sizeof *w->ending, compare_endings);
    for (size_t i = 0, end; i < w->n_endings; i = end) {
        for (end = i + 1; end < w->n_endings && w->ending[end].key == w->ending[i].key;)
            end++;
        if (!match_group(w, w->ending + i, end - i))
            return false;
    }
    return true;
}

/* ---- pairs of clocks ---- */

static int compare_pairs_of(const match *x, const match *y)
{
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

static int by_pair_and_time(const void *a, const void *b)
{
    const match *x = a, *y = b;
    int pairs = compare_pairs_of(x, y);
    return pairs != 0 ? pairs : x->when < y->when ? -1 : x->when > y->when;
}

static int64_t median_of(const match *m, size_t n, int64_t *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = m[i].offset;
    return ek__median_ns(scratch, n);
}

/* Matches of one pair, in order of time. 1.4826 makes the deviation that of a normal distribution, 1.2533 the mean's
 * error the median's. */
static bool add_pair(clocks_work *w, const match *m, size_t n)
{
    pair *room = ek__with_room(w->pair, &w->pairs_capacity, w->n_pairs + 1, sizeof *room);
    int64_t *scratch = ek__alloc(n, sizeof *scratch);
    if (room)
        w->pair = room;
    if (!room || !scratch) {
        free(scratch);
        return false;
    }
    pair p = {.a = m[0].a, .b = m[0].b, .n = (int64_t)n, .offset = median_of(m, n, scratch)};
    p.drift = n < 4 ? 0 : median_of(m + n / 2, n - n / 2, scratch);
    p.drift -= n < 4 ? 0 : median_of(m, n / 2, scratch);
    for (size_t i = 0; i < n; i++)
        scratch[i] = m[i].offset > p.offset ? m[i].offset - p.offset : p.offset - m[i].offset;
    p.deviation = ek__median_ns(scratch, n);
    /* Half a microsecond of its own for every pair: few equal matches are not exact. */
    double own = 500 + 1.4826 * (double)p.deviation;
    p.error = 1.2533 * 1.2533 * own * own / (double)n;
    free(scratch);
    w->pair[w->n_pairs++] = p;
    return true;
}

static bool make_pairs(clocks_work *w)
{
    if (w->n_matches > 0)
        qsort(w->match, w->n_matches, sizeof *w->match, by_pair_and_time);
    for (size_t i = 0, end; i < w->n_matches; i = end) {
        for (end = i + 1; end < w->n_matches && compare_pairs_of(&w->match[end], &w->match[i]) == 0;)
            end++;
        if (!add_pair(w, w->match + i, end - i))
            return false;
    }
    return true;
}

/* ---- the tree ---- */

static void store_pair(ek_trace_clocks *clocks, const pair *p, bool from_a)
{
    ek_trace_clock *known = &clocks->clock[from_a ? p->a : p->b], *fresh = &clocks->clock[from_a ? p->b : p->a];
    fresh->known = true;
    fresh->offset = known->offset + (from_a ? p->offset : -p->offset);
    fresh->drift = from_a ? p->drift : -p->drift;
    fresh->deviation = p->deviation;
    fresh->n_matches = p->n;
    fresh->from = from_a ? p->a : p->b;
}

/* Prim: the best pair from a known clock to an unknown one, until there is none. Hosts are few. */
static void grow_tree(clocks_work *w)
{
    ek_trace_clocks *c = &w->clocks;
    if (c->n > 0)
        c->clock[0].known = true;
    for (;;) {
        const pair *best = NULL;
        for (size_t i = 0; i < w->n_pairs; i++) {
            const pair *p = &w->pair[i];
            if (c->clock[p->a].known != c->clock[p->b].known && (!best || p->error < best->error))
                best = p;
        }
        if (!best)
            return;
        store_pair(c, best, c->clock[best->a].known);
    }
}

/* ---- all hosts ---- */

static ek_status read_rank(clocks_work *w, const ek__rank_files *files, int n_threads, const ek_trace_options *options,
                           ek_error *err)
{
    ek__pool *pool = ek__pool_new();
    ek_trace_source *source = pool ? ek__pool_alloc(pool, (size_t)files->n_files, sizeof *source) : NULL;
    const char **path = pool ? ek__pool_alloc(pool, (size_t)files->n_files, sizeof *path) : NULL;
    ek__trace trace = {0};
    ek_status status = source && path ? EK_OK : ek__no_memory(err);
    int n = 0;
    for (; status == EK_OK && n < files->n_files && files->file[n].type == EK__FILE_TRACE; n++)
        path[n] = files->file[n].path;
    if (status == EK_OK && n > 0) {
        status = ek__trace_read(path, n, n_threads, options, pool, source, &trace, err);
        if (status == EK_OK) {
            int clock = clock_of(&w->clocks, files, trace.rank != EK_TRACE_NO_RANK ? trace.rank : files->rank);
            if (clock < 0 || !add_endings(w, &trace, clock))
                status = ek__no_memory(err);
        }
        ek__trace_clear(&trace);
    }
    ek__pool_free(pool);
    return status;
}

static ek_status read_all(clocks_work *w, const ek__layout *layout, const ek_trace_options *options,
                          const ek_listener *listener, ek_error *err)
{
    int n_threads = ek__thread_count(options ? options->n_threads : 0);
    ek_error own;
    ek_status status = EK_OK;
    for (int i = 0; i < layout->n_ranks; i++) {
        status = read_rank(w, &layout->rank[i], n_threads, options, &own);
        if (status == EK_ERR_MEMORY)
            return ek__no_memory(err);
        if (status != EK_OK)
            ek__warn(listener, (ek_origin){layout->rank[i].file[0].path, 0, 0}, "%s", own.message);
    }
    if (w->clocks.n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no trace could be read, so there are no clocks to compare");
    return make_matches(w) && make_pairs(w) ? EK_OK : ek__no_memory(err);
}

ek_status ek_trace_clocks_read(const char *const *path, int n_paths, const ek_trace_options *options,
                               const ek_listener *listener, ek_trace_clocks *out, ek_error *err)
{
    ek_status status = options ? ek__trace_options_check(options, err) : EK_OK;
    if (status)
        return status;
    clocks_work w = {.clocks.pool = ek__pool_new()};
    ek__layout layout = {0};
    if (!w.clocks.pool)
        return ek__no_memory(err);
    status = ek__layout_find(path, n_paths, w.clocks.pool, listener, &layout, err);
    if (status == EK_OK)
        status = read_all(&w, &layout, options, listener, err);
    if (status == EK_OK)
        grow_tree(&w);
    free(w.ending);
    free(w.match);
    free(w.pair);
    if (status != EK_OK) {
        ek_trace_clocks_clear(&w.clocks);
        return status;
    }
    *out = w.clocks;
    return EK_OK;
}

void ek_trace_clocks_clear(ek_trace_clocks *clocks)
{
    ek__pool_free(clocks->pool);
    *clocks = (ek_trace_clocks){0};
}
