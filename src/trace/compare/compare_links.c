/* Compares the links of all ranks, by transport: mean, slowest and fastest of those that moved 1 MB or more, the gap
 * (fastest - slowest) / mean, and every link 20 % or more below the mean. A rank's own table can only compare its own
 * links; a slow one among equals elsewhere shows here. Both directions of a pair are different links. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/events/links.h"

static const double flagged_gap = 0.05;

typedef struct place {
    int rank, link;
} place;

/* All links of the run, one list. */
typedef struct all_links {
    size_t n;
    place *place;           /* [n], by rank */
    const char **transport; /* [n] */
    int *number;            /* [n]: of the transport */
} all_links;

static const ek_trace_link *link_at(const ek_trace_run *run, place at)
{
    return &run->rank[at.rank].communication.link[at.link];
}

static bool collect(const ek_trace_run *run, all_links *all)
{
    size_t n = 0;
    for (int r = 0; r < run->n_ranks; r++)
        n += (size_t)run->rank[r].communication.n_links;
    all->place = ek__alloc(n, sizeof *all->place);
    all->transport = ek__alloc(n, sizeof *all->transport);
    if (!all->place || !all->transport)
        return false;
    for (int r = 0; r < run->n_ranks; r++) {
        for (int i = 0; i < run->rank[r].communication.n_links; i++) {
            all->place[all->n] = (place){r, i};
            all->transport[all->n++] = run->rank[r].communication.link[i].transport;
        }
    }
    return true;
}

/* "rank0:1752..:0-6"; a name that contains its rank already stays unchanged. */
static const char *global_name(const ek_trace_run *run, place at)
{
    const ek_trace_link *link = link_at(run, at);
    int rank = run->rank[at.rank].rank;
    bool named = strncmp(link->link, "rank", 4) == 0 && strspn(link->link + 4, "0123456789") > 0;
    if (named || rank < 0)
        return ek__pool_text(run->pool, link->link, strlen(link->link));
    return ek__pool_format(run->pool, "rank%d:%s", rank, link->link);
}

static bool fill_link(const ek_trace_run *run, place at, double mean, ek_trace_run_link *out)
{
    const ek_trace_link *link = link_at(run, at);
    *out = (ek_trace_run_link){global_name(run, at), at.rank, at.link, NULL, link->bandwidth_gbps, mean};
    out->transport = ek__pool_text(run->pool, link->transport, strlen(link->transport));
    return out->name && out->transport;
}

static void add(const ek_trace_run *run, ek_trace_run_transport *t, place at)
{
    const ek_trace_link *link = link_at(run, at);
    t->n_links++;
    t->total_size_mb += link->size_mb;
    if (!link->ranked)
        return;
    t->n_ranked++;
    t->mean_gbps += link->bandwidth_gbps; /* the sum, until it is divided */
    if (t->slowest.rank < 0 || link->bandwidth_gbps < t->slowest.bandwidth_gbps)
        t->slowest = (ek_trace_run_link){NULL, at.rank, at.link, NULL, link->bandwidth_gbps, NAN};
    if (t->fastest.rank < 0 || link->bandwidth_gbps > t->fastest.bandwidth_gbps)
        t->fastest = (ek_trace_run_link){NULL, at.rank, at.link, NULL, link->bandwidth_gbps, NAN};
}

/* Sums become means; names of the slowest and the fastest. False when memory is out. */
static bool finish(const ek_trace_run *run, ek_trace_run_transport *t)
{
    t->mean_gbps = t->n_ranked > 0 ? t->mean_gbps / (double)t->n_ranked : NAN;
    t->gap = NAN;
    if (t->n_ranked == 0)
        return true;
    if (t->mean_gbps > 0)
        t->gap = (t->fastest.bandwidth_gbps - t->slowest.bandwidth_gbps) / t->mean_gbps;
    t->flagged = t->gap > flagged_gap && !(ek__link_is_local(link_at(run, (place){t->slowest.rank, t->slowest.link})) &&
                                           ek__link_is_local(link_at(run, (place){t->fastest.rank, t->fastest.link})));
    return fill_link(run, (place){t->slowest.rank, t->slowest.link}, t->mean_gbps, &t->slowest) &&
           fill_link(run, (place){t->fastest.rank, t->fastest.link}, t->mean_gbps, &t->fastest);
}

static int by_shortfall(const void *a, const void *b)
{
    const ek_trace_run_link *p = a, *q = b;
    double x = p->bandwidth_gbps / p->mean_gbps, y = q->bandwidth_gbps / q->mean_gbps;
    if (x != y)
        return x < y ? -1 : 1;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    return (p->link > q->link) - (p->link < q->link);
}

static bool find_slow(const ek_trace_run *run, const all_links *all, ek_trace_run_transport *transport,
                      ek_trace_run_link **slow, int *n)
{
    for (size_t i = 0; i < all->n; i++) {
        const ek_trace_link *link = link_at(run, all->place[i]);
        ek_trace_run_transport *t = &transport[all->number[i]];
        if (!link->ranked || ek__link_is_local(link) || !(t->mean_gbps > 0) ||
            !(link->bandwidth_gbps <= EK__LINK_SLOW_SHARE * t->mean_gbps))
            continue;
        ek_trace_run_link *more = ek__pool_push(run->pool, *slow, *n, sizeof *more);
        if (!more || !fill_link(run, all->place[i], t->mean_gbps, &more[*n]))
            return false;
        *slow = more;
        ++*n;
        t->n_slow++;
    }
    if (*n > 1)
        qsort(*slow, (size_t)*n, sizeof **slow, by_shortfall);
    return true;
}

static bool compare(ek_trace_run *run, const all_links *all, const char *const *name, int n_names)
{
    ek_trace_run_transport *transport = ek__pool_alloc(run->pool, (size_t)n_names, sizeof *transport);
    ek_trace_run_link *slow = NULL;
    int n_slow = 0;
    for (int t = 0; transport && t < n_names; t++) {
        transport[t].name = ek__pool_text(run->pool, name[t], strlen(name[t]));
        transport[t].slowest.rank = transport[t].slowest.link = -1;
        transport[t].fastest.rank = transport[t].fastest.link = -1;
        if (!transport[t].name)
            return false;
    }
    if (!transport)
        return false;
    for (size_t i = 0; i < all->n; i++)
        add(run, &transport[all->number[i]], all->place[i]);
    for (int t = 0; t < n_names; t++)
        if (!finish(run, &transport[t]))
            return false;
    if (!find_slow(run, all, transport, &slow, &n_slow))
        return false;
    run->transport = transport;
    run->n_transports = n_names;
    run->slow_link = slow;
    run->n_slow_links = n_slow;
    return true;
}

ek_status ek__compare_links(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    all_links all = {0};
    const char **name = NULL;
    int n_names = 0;
    bool good = collect(run, &all) && ek__links_transports(all.transport, all.n, &all.number, &name, &n_names) &&
                compare(run, &all, name, n_names);
    free(all.place);
    free(all.transport);
    free(all.number);
    free(name);
    return good ? EK_OK : ek__no_memory(err);
}
