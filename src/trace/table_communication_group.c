/* communication_group.json of the vendor's cluster analysis: sets of ranks that do collectives or exchange between two,
 * and, in newer files, what each set is for. All of them become groups: the bare sets are called "collective" and
 * "p2p". */
#include <stdlib.h>
#include <string.h>

#include "trace/side_json.h"
#include "trace/tables.h"

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* A set may be listed in any order, as numbers or texts. */
static ek_status add_set(const ek__table_in *in, const char *name, const char *key, const json_t *set, ek_error *err)
{
    size_t size = json_array_size(set);
    int n = 0, *rank = ek__alloc(size, sizeof *rank);
    if (!rank)
        return ek__no_memory(err);
    for (size_t i = 0; i < size; i++)
        n += ek__side_json_whole(json_array_get(set, i), &rank[n]);
    if (n > 0)
        qsort(rank, (size_t)n, sizeof *rank, by_number);
    ek_status status = n > 0 ? ek__topology_add(in->run, name, key, rank, n, 0, err) : EK_OK;
    in->run->topology.known = in->run->topology.known || n > 0;
    in->source->items += n > 0;
    free(rank);
    return status;
}

static ek_status add_sets(const ek__table_in *in, const char *name, const json_t *sets, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < json_array_size(sets) && status == EK_OK; i++)
        status = add_set(in, name, "", json_array_get(sets, i), err);
    return status;
}

static const char *text_of(const json_t *entry, const char *first, const char *second)
{
    const char *text = json_string_value(json_object_get(entry, first));
    if (!text || !*text)
        text = json_string_value(json_object_get(entry, second));
    return text ? text : "";
}

static ek_status add_named(const ek__table_in *in, const json_t *list, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < json_array_size(list) && status == EK_OK; i++) {
        const json_t *entry = json_array_get(list, i);
        status = add_set(in, text_of(entry, "pg_name", "type"), text_of(entry, "group_id", "group_name"),
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
    status = add_named(in, json_object_get(root, "comm_group_parallel_info"), err);
    if (status == EK_OK)
        status = add_sets(in, "collective", json_object_get(root, "collective"), err);
    if (status == EK_OK)
        status = add_sets(in, "p2p", json_object_get(root, "p2p"), err);
    json_decref(root);
    return status;
}
