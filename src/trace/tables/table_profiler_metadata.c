/* Reads profiler_metadata.json of one rank: the sizes of the parallel dimensions and the groups this rank is in. The
 * group "pp" runs through the stages, so the rank's place in it is its stage. The data of several ranks are merged:
 * sizes by their largest, groups once each. */
#include <stdlib.h>
#include <string.h>

#include "trace/tables/tables.h"
#include "trace/text/side_json.h"

static void add_largest(const json_t *from, const char *name, int *to)
{
    int value;
    if (ek__side_json_whole(json_object_get(from, name), &value) && value > *to)
        *to = value;
}

static void add_sizes(const json_t *sizes, ek_trace_topology *t)
{
    add_largest(sizes, "tensor_model_parallel_size", &t->tensor);
    add_largest(sizes, "pipeline_model_parallel_size", &t->pipeline);
    add_largest(sizes, "data_parallel_size", &t->data);
    add_largest(sizes, "context_parallel_size", &t->context);
    add_largest(sizes, "expert_model_parallel_size", &t->expert);
    add_largest(sizes, "world_size", &t->world_size);
    t->sequence_parallel = t->sequence_parallel || json_is_true(json_object_get(sizes, "sequence_parallel"));
    t->tells_sequence_parallel = t->tells_sequence_parallel || json_object_get(sizes, "sequence_parallel");
    t->known = t->known || json_object_size(sizes) > 0;
}

/* One entry of parallel_group_info; its ranks are appended to `room`, where *n_room are used. */
static void read_group(const char *key, const json_t *value, ek_trace_group *out, int *room, size_t *n_room, int *n_bad)
{
    const json_t *ranks = json_object_get(value, "global_ranks");
    const char *name = json_string_value(json_object_get(value, "group_name"));
    *out = (ek_trace_group){name ? name : "", key, 0, room + *n_room};
    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (ek__side_json_whole(json_array_get(ranks, i), &out->rank[out->n_ranks]))
            out->n_ranks++;
        else
            ++*n_bad;
    *n_room += (size_t)out->n_ranks;
}

static void read_stage(const json_t *value, ek_trace_rank *rank)
{
    const char *name = json_string_value(json_object_get(value, "group_name"));
    const json_t *ranks = json_object_get(value, "global_ranks");
    int stage, member;
    if (rank->stage >= 0 || !name || strcmp(name, "pp") != 0)
        return;
    if (ek__side_json_whole(json_object_get(value, "group_rank"), &stage)) {
        rank->stage = stage;
        return;
    }
    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (ek__side_json_whole(json_array_get(ranks, i), &member) && member == rank->rank)
            rank->stage = (int)i;
}

static ek_status add_groups(const ek__table_in *in, const json_t *groups, ek_error *err)
{
    const char *key;
    json_t *value;
    size_t n_ranks = 0, n = 0, used = 0;
    int n_bad = 0;
    json_object_foreach((json_t *)groups, key, value) n_ranks +=
        json_array_size(json_object_get(value, "global_ranks"));
    ek_trace_group *group = ek__alloc(json_object_size(groups), sizeof *group);
    int *room = ek__alloc(n_ranks + 1, sizeof *room);
    ek_status status = group && room ? EK_OK : ek__no_memory(err);
    if (status == EK_OK) {
        json_object_foreach((json_t *)groups, key, value)
        {
            read_group(key, value, &group[n++], room, &used, &n_bad);
            read_stage(value, in->rank);
        }
        status = ek__topology_add(in->run, group, n, err);
    }
    free(group);
    free(room);
    if (status == EK_OK && n_bad > 0) {
        in->source->problem =
            ek__pool_format(in->rank->pool, "%d entries of global_ranks are no ranks and are left out", n_bad);
        status = in->source->problem ? EK_OK : ek__no_memory(err);
    }
    in->source->items = (int64_t)n;
    return status;
}

ek_status ek__table_profiler_metadata(const ek__table_in *in, ek_error *err)
{
    json_t *root;
    ek_status status = ek__side_json_read(in, &root, err);
    if (status)
        return status;
    const json_t *sizes = json_object_get(root, "distributed_args");
    int number;
    add_sizes(sizes, &in->run->topology);
    if (in->rank->rank == EK_TRACE_NO_RANK && ek__side_json_whole(json_object_get(sizes, "rank"), &number))
        in->rank->rank = number;
    if (ek__side_json_whole(json_object_get(sizes, "world_size"), &number))
        in->rank->world_size = number;
    status = add_groups(in, json_object_get(root, "parallel_group_info"), err);
    json_decref(root);
    return status;
}
