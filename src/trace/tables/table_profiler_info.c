/* Reads profiler_info_N.json: the profiler's name, and the rank. The rank is a number in old files and a text in new
 * ones. Settings of the profiler (levels, schedules) differ much between releases: they are stored unchanged. */
#include <stdlib.h>
#include <string.h>

#include "trace/tables/tables.h"
#include "trace/text/side_json.h"

static void read_producer(ek_trace_rank *rank, const json_t *root)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        if (strncmp(key, "torch_npu", 9) == 0)
            rank->producer = EK_PRODUCER_TORCH_NPU;
        else if (strcmp(key, "ms_version") == 0 || strcmp(key, "mindspore_version") == 0 ||
                 strcmp(key, "context_mode") == 0)
            rank->producer = EK_PRODUCER_MINDSPORE;
    }
}

/* Some hundred bytes; a file that is far larger does not contain settings. */
static ek_status keep_settings(ek_trace_rank *rank, const json_t *root, ek_error *err)
{
    enum { MOST = 1 << 16 };
    char *text = json_dumps(root, JSON_COMPACT);
    size_t size = text ? strlen(text) : 0;
    ek_status status = text ? EK_OK : ek__no_memory(err);
    if (text && size < MOST) {
        rank->profiler_info = ek__pool_text(rank->pool, text, size);
        status = rank->profiler_info ? EK_OK : ek__no_memory(err);
    }
    free(text);
    return status;
}

ek_status ek__table_profiler_info(const ek__table_in *in, ek_error *err)
{
    ek_trace_rank *rank = in->rank;
    json_t *root;
    ek_status status = ek__side_json_read(in, &root, err);
    if (status)
        return status;
    int number;
    read_producer(rank, root);
    if (rank->rank == EK_TRACE_NO_RANK && ek__side_json_whole(json_object_get(root, "rank_id"), &number))
        rank->rank = number;
    if (ek__side_json_whole(json_object_get(root, "rank_size"), &number))
        rank->world_size = number;
    in->source->items = (int64_t)json_object_size(root);
    status = keep_settings(rank, root, err);
    json_decref(root);
    return status;
}
