/* Ranks links within their transport: bandwidth = size / time of each, their plain mean, the slowest and the fastest
 * (the first of equal ones), and those 20 % or more below the mean. A link that moved under 1 MB mostly shows latency
 * and is not ranked. Links of one rank only; compare_links.c compares those of all ranks. */
#include "trace/events/links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "trace/scan/part.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the index that point into the given texts, sorted, and for each old number its place. */
static void sort_names(const char *const *transport, size_t n, const char **name, int n_names, int *number)
{
    for (size_t i = n; i-- > 0;)
        name[number[i]] = transport[i];
    qsort(name, (size_t)n_names, sizeof *name, by_text);
    for (size_t i = 0; i < n; i++) {
        const char **found = bsearch(&transport[i], name, (size_t)n_names, sizeof *name, by_text);
        number[i] = found ? (int)(found - name) : 0;
    }
}

bool ek__links_transports(const char *const *transport, size_t n, int **number, const char ***name, int *n_names)
{
    ek__texts index = {0};
    int *of = ek__alloc(n, sizeof *of);
    bool good = of;
    for (size_t i = 0; good && i < n; i++) {
        of[i] = (int)ek__texts_intern(&index, transport[i], strlen(transport[i]));
        good = of[i] >= 0;
    }
    const char **sorted = good ? ek__alloc((size_t)index.n, sizeof *sorted) : NULL;
    if (sorted) {
        sort_names(transport, n, sorted, (int)index.n, of);
        *number = of;
        *name = sorted;
        *n_names = (int)index.n;
    } else {
        free(of);
    }
    ek__texts_clear(&index);
    return sorted;
}

static void add_to_transport(ek_trace_transport *transport, const ek_trace_link *link, int i)
{
    transport->n_links++;
    transport->total_size_mb += link[i].size_mb;
    if (!link[i].ranked)
        return;
    transport->n_ranked++;
    transport->mean_gbps += link[i].bandwidth_gbps; /* the sum, until it is divided */
    if (transport->slowest < 0 || link[i].bandwidth_gbps < link[transport->slowest].bandwidth_gbps)
        transport->slowest = i;
    if (transport->fastest < 0 || link[i].bandwidth_gbps > link[transport->fastest].bandwidth_gbps)
        transport->fastest = i;
}

/* "3-3" up to a colon or the end. */
static bool is_place_twice(const char *part, size_t size)
{
    size_t digits = strspn(part, "0123456789");
    return digits > 0 && size == 2 * digits + 1 && part[digits] == '-' && memcmp(part, part + digits + 1, digits) == 0;
}

bool ek__link_is_local(const ek_trace_link *link)
{
    if (link->transport && strcmp(link->transport, "LOCAL") == 0)
        return true;
    for (const char *part = link->link; part && *part;) {
        size_t size = strcspn(part, ":");
        if (is_place_twice(part, size))
            return true;
        part += size + (part[size] == ':');
    }
    return false;
}

static void rank_links(ek_trace_link *link, int n, const int *number, ek_trace_transport *transport, int n_transports)
{
    for (int i = 0; i < n; i++)
        add_to_transport(&transport[number[i]], link, i);
    for (int t = 0; t < n_transports; t++)
        transport[t].mean_gbps = transport[t].n_ranked ? transport[t].mean_gbps / (double)transport[t].n_ranked : NAN;
    for (int i = 0; i < n; i++)
        link[i].slow = link[i].ranked && !ek__link_is_local(&link[i]) &&
                       link[i].bandwidth_gbps <= EK__LINK_SLOW_SHARE * transport[number[i]].mean_gbps;
}

/* Transports of the links in the rank's pool. NULL when memory is out. */
static ek_trace_transport *make_transports(ek__pool *pool, ek_trace_link *link, int n, int *n_transports)
{
    const char **text = ek__alloc((size_t)n, sizeof *text), **name = NULL;
    int *number = NULL, n_names = 0;
    ek_trace_transport *transport = NULL;
    for (int i = 0; text && i < n; i++)
        text[i] = link[i].transport;
    if (text && ek__links_transports(text, (size_t)n, &number, &name, &n_names))
        transport = ek__pool_alloc(pool, (size_t)n_names, sizeof *transport);
    if (transport) {
        for (int t = 0; t < n_names; t++)
            transport[t] = (ek_trace_transport){.name = name[t], .slowest = -1, .fastest = -1};
        rank_links(link, n, number, transport, n_names);
        *n_transports = n_names;
    }
    free(text);
    free(number);
    free(name);
    return transport;
}

ek_status ek__links_add(ek_trace_rank *rank, const ek_trace_link *link, size_t n, ek_error *err)
{
    ek_trace_communication *out = &rank->communication;
    size_t n_all = (size_t)out->n_links + n;
    ek_trace_link *all = ek__pool_alloc(rank->pool, n_all, sizeof *all);
    if (!all)
        return ek__no_memory(err);
    for (size_t i = 0; i < n_all; i++) {
        all[i] = i < (size_t)out->n_links ? out->link[i] : link[i - (size_t)out->n_links];
        all[i].ranked = all[i].size_mb >= EK__LINK_MIN_MB && isfinite(all[i].bandwidth_gbps);
    }
    int n_transports = 0;
    ek_trace_transport *transport = make_transports(rank->pool, all, (int)n_all, &n_transports);
    if (!transport)
        return ek__no_memory(err);
    out->link = all;
    out->n_links = (int)n_all;
    out->transport = transport;
    out->n_transports = n_transports;
    return EK_OK;
}
