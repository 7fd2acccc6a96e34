/* Builds matrices of the links of all ranks, from rank to rank. Names of links ("GROUP:0-6") number the members of a
 * group, not ranks: a rank's own place in a group is in its link to itself ("0-0"), and the places of ranks without
 * files in a group of the topology, when just one fits the known ones. So groups with only known members become one
 * matrix of ranks; each other one has a matrix of its own, by places. A link that both of its ends report counts once,
 * with the larger size. Cells store their contributions by step, kind of operation and transport. Links named after
 * only one rank (hccl_raw) and groups with an ambiguous name are left out. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/texts.h"
#include "trace/analyse/analysis.h"

/* A link; later, in a matrix, the members that it joins. */
typedef struct entry {
    uint32_t group, transport;
    int from, to;
    int rank, link; /* indices: the reporting rank */
    double size_mb, time_ms;
} entry;

/* A place of a group is that of a rank. */
typedef struct claim {
    uint32_t group;
    int place, rank;
} claim;

typedef struct group_info {
    size_t first_claim, n_claims;  /* by place */
    const ek_trace_group *members; /* of the topology; NULL without one that fits */
    bool mixed;                    /* several groups of that name */
    bool known;                    /* every place of its links is a rank's */
} group_info;

typedef struct work {
    ek_trace_run *run;
    ek__texts group, transport; /* names by number */
    size_t n, n_claims;
    entry *entry;
    claim *claim;
    group_info *info; /* [group.n] */
} work;

/* ---- reading names ---- */

static bool read_place(const char **at, int *place)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    long value = strtol(*at, &end, 10);
    if (value > INT_MAX)
        return false;
    *at = end;
    *place = (int)value;
    return true;
}

/* "GROUP:0-6" or "0-6". */
static bool read_name(const char *name, size_t *group_size, int *from, int *to)
{
    const char *colon = strrchr(name, ':'), *at = colon ? colon + 1 : name;
    *group_size = colon ? (size_t)(colon - name) : 0;
    return read_place(&at, from) && *at++ == '-' && read_place(&at, to) && *at == '\0';
}

static bool collect_rank(work *w, int number)
{
    const ek_trace_rank *rank = &w->run->rank[number];
    for (int i = 0; i < rank->communication.n_links; i++) {
        const ek_trace_link *link = &rank->communication.link[i];
        const char *transport = link->transport ? link->transport : "";
        entry *e = &w->entry[w->n];
        size_t size;
        if (!read_name(link->link, &size, &e->from, &e->to))
            continue;
        e->group = ek__texts_intern(&w->group, link->link, size);
        e->transport = ek__texts_intern(&w->transport, transport, strlen(transport));
        if (e->group == UINT32_MAX || e->transport == UINT32_MAX)
            return false;
        e->rank = number;
        e->link = i;
        e->size_mb = link->size_mb;
        e->time_ms = link->time_ms;
        if (e->from == e->to && rank->rank >= 0)
            w->claim[w->n_claims++] = (claim){e->group, e->from, rank->rank};
        w->n++;
    }
    return true;
}

static bool collect(work *w)
{
    size_t n = 0;
    for (int r = 0; r < w->run->n_ranks; r++)
        n += (size_t)w->run->rank[r].communication.n_links;
    w->entry = ek__alloc(n, sizeof *w->entry);
    w->claim = ek__alloc(n, sizeof *w->claim);
    bool fine = w->entry && w->claim;
    for (int r = 0; r < w->run->n_ranks && fine; r++)
        fine = collect_rank(w, r);
    return fine;
}

/* ---- links reported twice ---- */

#define BY(member)                                                                                                     \
    if (p->member != q->member)                                                                                        \
    return p->member < q->member ? -1 : 1

static int by_link(const void *a, const void *b)
{
    const entry *p = a, *q = b;
    BY(group);
    BY(from);
    BY(to);
    BY(transport);
    BY(size_mb);
    BY(time_ms);
    return 0;
}

static void drop_twins(work *w)
{
    size_t kept = 0;
    qsort(w->entry, w->n, sizeof *w->entry, by_link);
    for (size_t i = 0; i < w->n; i++) {
        const entry *e = &w->entry[i], *next = i + 1 < w->n ? e + 1 : NULL;
        bool twin = next && next->group == e->group && next->from == e->from && next->to == e->to &&
                    next->transport == e->transport;
        if (!twin) /* the last of equals is the largest */
            w->entry[kept++] = *e;
    }
    w->n = kept;
}

/* ---- ranks of the members ---- */

static int by_place(const void *a, const void *b)
{
    const claim *p = a, *q = b;
    BY(group);
    BY(place);
    BY(rank);
    return 0;
}

static void sort_claims(work *w)
{
    size_t kept = 0;
    qsort(w->claim, w->n_claims, sizeof *w->claim, by_place);
    for (size_t i = 0; i < w->n_claims; i++) {
        claim c = w->claim[i];
        group_info *g = &w->info[c.group];
        if (g->n_claims > 0 && w->claim[kept - 1].place == c.place) {
            g->mixed = g->mixed || w->claim[kept - 1].rank != c.rank;
            continue;
        }
        if (g->n_claims++ == 0)
            g->first_claim = kept;
        w->claim[kept++] = c;
    }
    w->n_claims = kept;
}

static bool fits(const work *w, const group_info *g, const ek_trace_group *members)
{
    for (size_t i = 0; i < g->n_claims; i++) {
        const claim *c = &w->claim[g->first_claim + i];
        if (c->place >= members->n_ranks || members->rank[c->place] != c->rank)
            return false;
    }
    return g->n_claims > 0;
}

static bool same_members(const ek_trace_group *a, const ek_trace_group *b)
{
    return a->n_ranks == b->n_ranks && memcmp(a->rank, b->rank, (size_t)a->n_ranks * sizeof *a->rank) == 0;
}

static void find_members(const work *w, group_info *g)
{
    const ek_trace_topology *t = &w->run->topology;
    for (int i = 0; i < t->n_groups; i++) {
        if (!fits(w, g, &t->group[i]))
            continue;
        if (g->members && !same_members(g->members, &t->group[i])) {
            g->members = NULL;
            return;
        }
        g->members = &t->group[i];
    }
}

static int rank_at(const work *w, const group_info *g, int place)
{
    size_t low = g->first_claim, high = low + g->n_claims;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->claim[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < g->first_claim + g->n_claims && w->claim[low].place == place)
        return w->claim[low].rank;
    return g->members && place < g->members->n_ranks ? g->members->rank[place] : EK_TRACE_NO_RANK;
}

static bool identify(work *w)
{
    w->info = ek__alloc(w->group.n, sizeof *w->info);
    if (!w->info)
        return false;
    sort_claims(w);
    for (uint32_t g = 0; g < w->group.n; g++) {
        find_members(w, &w->info[g]);
        w->info[g].known = true;
    }
    for (size_t i = 0; i < w->n; i++) {
        group_info *g = &w->info[w->entry[i].group];
        g->known = g->known && rank_at(w, g, w->entry[i].from) >= 0 && rank_at(w, g, w->entry[i].to) >= 0;
    }
    return true;
}

/* ---- matrices ---- */

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int by_ends(const void *a, const void *b)
{
    const entry *p = a, *q = b;
    BY(from);
    BY(to);
    BY(group);
    BY(transport);
    return 0;
}

static int index_of(const int *number, size_t n, int wanted)
{
    const int *found = bsearch(&wanted, number, n, sizeof *number, by_number);
    return found ? (int)(found - number) : -1;
}

/* Different numbers of both ends, sorted. */
static size_t numbers_of(const entry *e, size_t n, int *number)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        number[2 * i] = e[i].from;
        number[2 * i + 1] = e[i].to;
    }
    qsort(number, 2 * n, sizeof *number, by_number);
    for (size_t i = 0; i < 2 * n; i++)
        if (kept == 0 || number[kept - 1] != number[i])
            number[kept++] = number[i];
    return kept;
}

/* ---- parts of cells ---- */

/* The moves of an entry's link, which are adjacent. */
static const ek_trace_move *moves_of(const work *w, const entry *e, size_t *n)
{
    const ek_trace_communication *c = &w->run->rank[e->rank].communication;
    int low = 0, high = c->n_moves, end;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (c->move[middle].link < e->link)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < c->n_moves && c->move[end].link == e->link;)
        end++;
    *n = (size_t)(end - low);
    return *n > 0 ? &c->move[low] : NULL;
}

static void add_part(ek_trace_matrix *m, const ek_trace_matrix_part *part)
{
    for (int i = m->n_parts; i > 0 && m->part[i - 1].cell == part->cell; i--) {
        ek_trace_matrix_part *p = &m->part[i - 1];
        if (strcmp(p->step, part->step) == 0 && strcmp(p->operation, part->operation) == 0 &&
            strcmp(p->transport, part->transport) == 0) {
            p->size_mb += part->size_mb;
            p->time_ms += part->time_ms;
            return;
        }
    }
    m->part[m->n_parts++] = *part;
}

/* The contribution of an entry to the last cell; in one piece where its file has no details. */
static void add_parts(const work *w, const entry *e, ek_trace_matrix *m)
{
    size_t n;
    const ek_trace_move *move = moves_of(w, e, &n);
    const char *transport = w->run->rank[e->rank].communication.link[e->link].transport;
    ek_trace_matrix_part part = {m->n_cells - 1, "", "", transport ? transport : "", e->size_mb, e->time_ms};
    if (n == 0)
        add_part(m, &part);
    for (size_t i = 0; i < n; i++) {
        part.step = move[i].step;
        part.operation = move[i].operation;
        part.size_mb = move[i].size_mb;
        part.time_ms = move[i].time_ms;
        add_part(m, &part);
    }
}

static size_t count_parts(const work *w, const entry *e, size_t n)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        size_t moves;
        moves_of(w, &e[i], &moves);
        all += moves > 0 ? moves : 1;
    }
    return all;
}

static void fill_cells(const work *w, const entry *e, size_t n, const int *number, size_t n_numbers, ek_trace_matrix *m)
{
    for (size_t i = 0; i < n; i++) {
        int from = index_of(number, n_numbers, e[i].from), to = index_of(number, n_numbers, e[i].to);
        ek_trace_matrix_cell *c = m->n_cells > 0 ? &m->cell[m->n_cells - 1] : NULL;
        if (!c || c->from != from || c->to != to) {
            c = &m->cell[m->n_cells++];
            *c = (ek_trace_matrix_cell){.from = from, .to = to};
        }
        add_parts(w, &e[i], m);
        c->n_links++;
        c->size_mb += e[i].size_mb;
        c->time_ms += e[i].time_ms;
        c->bandwidth_gbps = c->time_ms > 0 ? c->size_mb / c->time_ms : NAN; /* MB / ms = GB/s */
    }
}

/* One more matrix, of entries between ranks (group NULL) or places. False when memory is out. */
static bool add_matrix(work *w, entry *e, size_t n, const char *group, const group_info *info)
{
    ek__pool *pool = w->run->pool;
    ek_trace_matrix *grown = ek__pool_push(pool, w->run->matrix, w->run->n_matrices, sizeof *grown);
    int *number = ek__alloc(2 * n, sizeof *number);
    bool fine = grown && number;
    if (fine) {
        w->run->matrix = grown;
        qsort(e, n, sizeof *e, by_ends);
        size_t n_numbers = numbers_of(e, n, number);
        ek_trace_matrix m = {.group = group ? ek__pool_text(pool, group, strlen(group)) : NULL,
                             .n_members = (int)n_numbers,
                             .member = ek__pool_alloc(pool, n_numbers, sizeof *m.member),
                             .cell = ek__pool_alloc(pool, n, sizeof *m.cell),
                             .part = ek__pool_alloc(pool, count_parts(w, e, n), sizeof *m.part)};
        fine = (!group || m.group) && m.member && m.cell && m.part;
        for (size_t i = 0; i < n_numbers && fine; i++)
            m.member[i] = info ? (ek_trace_matrix_member){rank_at(w, info, number[i]), number[i]}
                               : (ek_trace_matrix_member){number[i], -1};
        if (fine) {
            fill_cells(w, e, n, number, n_numbers, &m);
            w->run->matrix[w->run->n_matrices++] = m;
        }
    }
    free(number);
    return fine;
}

/* Entries of a group are adjacent. */
static bool make_matrices(work *w)
{
    entry *all = ek__alloc(w->n, sizeof *all);
    size_t n_all = 0;
    if (!all)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        const group_info *g = &w->info[w->entry[i].group];
        if (!g->known || g->mixed)
            continue;
        entry e = w->entry[i];
        e.from = rank_at(w, g, e.from);
        e.to = rank_at(w, g, e.to);
        all[n_all++] = e;
    }
    bool fine = n_all == 0 || add_matrix(w, all, n_all, NULL, NULL);
    free(all);
    for (size_t i = 0, next; i < w->n && fine; i = next) {
        const group_info *g = &w->info[w->entry[i].group];
        for (next = i + 1; next < w->n && w->entry[next].group == w->entry[i].group;)
            next++;
        if (!g->known && !g->mixed)
            fine = add_matrix(w, &w->entry[i], next - i, ek__texts_at(&w->group, w->entry[i].group), g);
    }
    return fine;
}

ek_status ek__compare_matrix(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    work w = {.run = run};
    bool fine = collect(&w);
    if (fine) {
        drop_twins(&w);
        fine = identify(&w) && make_matrices(&w);
    }
    ek__texts_clear(&w.group);
    ek__texts_clear(&w.transport);
    free(w.entry);
    free(w.claim);
    free(w.info);
    return fine ? EK_OK : ek__no_memory(err);
}
