/* Finds the number of ranks in a collective's group: Kineto's key ends in it; Ascend's topology has it by the group's
 * hash, as do the places that links of the group name ("0-6"). Names of collectives contain only the last digits of
 * that hash, so a group is taken when just one size fits. 0 where unknown. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/analyse/analysis.h"

/* Is `hash` the group that a collective calls `name`: completely, or by its last digits? */
static bool is_group(const char *hash, size_t size, const char *name)
{
    size_t n = strlen(name);
    return n > 0 && size >= n && memcmp(hash + size - n, name, n) == 0;
}

/* Sizes that fit: 0 none yet, -1 more than one. */
static int merge(int known, int size)
{
    return known == 0 || known == size ? size : -1;
}

static int size_by_topology(const ek_trace_run *run, const char *name)
{
    int size = 0;
    for (int g = 0; g < run->topology.n_groups; g++) {
        const ek_trace_group *group = &run->topology.group[g];
        if (group->key && is_group(group->key, strlen(group->key), name))
            size = merge(size, group->n_ranks);
    }
    return size;
}

/* "17522688603477080586:0-6": the largest place and one; a link names two of them. */
static int size_by_links(const ek_trace_rank *rank, const char *name)
{
    const ek_trace_communication *c = &rank->communication;
    long size = 0;
    for (int i = 0; i < c->n_links; i++) {
        const char *colon = strchr(c->link[i].link, ':');
        if (!colon || !is_group(c->link[i].link, (size_t)(colon - c->link[i].link), name))
            continue;
        char *dash;
        long a = strtol(colon + 1, &dash, 10), b = *dash == '-' ? strtol(dash + 1, NULL, 10) : -1;
        size = a >= size && a < EK_TRACE_MAX_FILES ? a + 1 : size;
        size = b >= size && b < EK_TRACE_MAX_FILES ? b + 1 : size;
    }
    return (int)size;
}

/* "allreduce|Float|2049000|2049000|2". */
static int size_by_key(const char *key)
{
    int bars = 0;
    const char *last = NULL;
    for (const char *at = key; (at = strchr(at, '|')); at++) {
        last = at;
        bars++;
    }
    long size = bars == 4 ? strtol(last + 1, NULL, 10) : 0;
    return size > 0 && size <= EK_TRACE_MAX_FILES ? (int)size : 0;
}

static int size_of(const ek_trace_run *run, const ek_trace_rank *rank, const char *name, const char *group)
{
    if (rank->producer == EK_PRODUCER_KINETO)
        return size_by_key(name);
    int size = group ? size_by_topology(run, group) : 0;
    if (group && size == 0)
        size = size_by_links(rank, group);
    return size > 0 ? size : 0;
}

static ek_status fill_rank(const ek_trace_run *run, ek_trace_rank *rank, ek_error *err)
{
    ek_trace_communication *c = &rank->communication;
    int *of_sum = ek__alloc((size_t)c->n_sums, sizeof *of_sum);
    if (!of_sum)
        return ek__no_memory(err);
    for (int i = 0; i < c->n_sums; i++)
        of_sum[i] = size_of(run, rank, c->sum[i].key, c->sum[i].group);
    for (int i = 0; i < c->n_collectives; i++) {
        ek_trace_collective *one = &c->collective[i];
        one->n_here = 1;
        one->n_group = one->sum >= 0 ? of_sum[one->sum] : one->name ? size_of(run, rank, one->name, one->group) : 0;
    }
    free(of_sum);
    return EK_OK;
}

/* O(collectives + sums x (groups + links)). */
ek_status ek__compare_groups(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    ek_status status = EK_OK;
    for (int r = 0; r < run->n_ranks && status == EK_OK; r++)
        status = fill_rank(run, &run->rank[r], err);
    return status;
}
