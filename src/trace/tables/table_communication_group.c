/* Reads communication_group.json of the vendor's cluster analysis: sets of ranks that do collectives or exchange
 * between two, and, in newer files, the purpose of each set. All of them become groups: sets without a purpose are
 * called "collective" and "p2p". */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "trace/text/side_json.h"
#include "trace/tables/tables.h"

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The groups of the file; texts are those of its tree, ranks in the pool. */
typedef struct listing {
    ek__pool *pool;
    ek_trace_group *group;
    int n;
} listing;

/* A set may be listed in any order, as numbers or texts. */
static ek_status add_set(listing *l, const char *name, const char *key, const json_t *set, ek_error *err)
{
    size_t size = json_array_size(set);
    int n = 0, *rank = ek__pool_alloc(l->pool, size, sizeof *rank);
    ek_trace_group *grown = ek__pool_push(l->pool, l->group, l->n, sizeof *grown);
    if (!rank || !grown)
        return ek__no_memory(err);
    l->group = grown;
    for (size_t i = 0; i < size; i++)
        n += ek__side_json_whole(json_array_get(set, i), &rank[n]);
    if (n > 0) {
        qsort(rank, (size_t)n, sizeof *rank, by_number);
        l->group[l->n++] = (ek_trace_group){name, key, n, rank};
    }
    return EK_OK;
}

static ek_status add_sets(listing *l, const char *name, const json_t *sets, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < json_array_size(sets) && status == EK_OK; i++)
        status = add_set(l, name, "", json_array_get(sets, i), err);
    return status;
}

static const char *text_of(const json_t *entry, const char *first, const char *second)
{
    const char *text = json_string_value(json_object_get(entry, first));
    if (!text || !*text)
        text = json_string_value(json_object_get(entry, second));
    return text ? text : "";
}

static ek_status add_named(listing *l, const json_t *list, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < json_array_size(list) && status == EK_OK; i++) {
        const json_t *entry = json_array_get(list, i);
        status = add_set(l, text_of(entry, "pg_name", "type"), text_of(entry, "group_id", "group_name"),
                         json_object_get(entry, "rank_set"), err);
    }
    return status;
}

ek_status ek__table_communication_group(const ek__table_in *in, ek_error *err)
{
    json_t *root;
    ek_status status = ek__side_json_read(in, &root, err);
    if (status)
        return status;
    listing l = {.pool = ek__pool_new()};
    status = l.pool ? add_named(&l, json_object_get(root, "comm_group_parallel_info"), err) : ek__no_memory(err);
    if (status == EK_OK)
        status = add_sets(&l, "collective", json_object_get(root, "collective"), err);
    if (status == EK_OK)
        status = add_sets(&l, "p2p", json_object_get(root, "p2p"), err);
    if (status == EK_OK)
        status = ek__topology_add(in->run, l.group, (size_t)l.n, err);
    in->source->items += l.n;
    ek__pool_free(l.pool);
    json_decref(root);
    return status;
}
