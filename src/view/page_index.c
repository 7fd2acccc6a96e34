/* Indexes the events of a run's traces for one page. Traces that are small enough are indexed in a folder that is
 * deleted with the index; larger ones are refused before any of that work, and once more by their unpacked size. */
#include <stdio.h>
#include <string.h>

#include "evenkeel/trace_index.h"
#include "evenkeel/view_files.h"

#include "base/error.h"
#include "index/index.h"

/* Of its traces; without any, of the table of kernels that replaces them. A partial result has none. */
static int64_t rank_bytes(const ek_trace_rank *rank)
{
    int64_t traces = 0, table = 0;
    bool has_trace = false;
    for (int k = 0; k < rank->n_sources && !rank->is_part; k++) {
        const ek_trace_source *s = &rank->source[k];
        if (strcmp(s->type, "trace") == 0) {
            has_trace = true;
            traces += s->bytes;
        } else if (!has_trace && table == 0 && ek__index_takes_table(s->path))
            table = s->bytes;
    }
    return has_trace ? traces : table;
}

int64_t ek_view_event_bytes(const ek_trace_run *run)
{
    int64_t bytes = 0;
    for (int i = 0; i < run->n_ranks; i++)
        bytes += rank_bytes(&run->rank[i]);
    return bytes;
}

ek_status ek_view_check_bytes(int64_t bytes, ek_error *err)
{
    if (bytes <= EK_VIEW_MAX_TRACE_BYTES)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "the traces have %lld MB of events, and the limit of a page is %d MB; view them with `evenkeel "
                    "view --serve`, or cut out a part with `evenkeel trace cut`",
                    (long long)(bytes >> 20), EK_VIEW_MAX_TRACE_BYTES >> 20);
}

ek_status ek_view_index_open(const char *const *path, int n_paths, const ek_trace_run *run,
                             const ek_trace_index_options *options, ek_trace_index **out, ek_error *err)
{
    int64_t bytes = ek_view_event_bytes(run);
    ek_trace_index_options how = *options;
    ek_trace_index *index = NULL;
    how.temporary = true;
    ek_status status = ek_view_check_bytes(bytes, err);
    if (status == EK_OK && bytes > 0) /* without warnings: reading the run gave them */
        status = ek_trace_index_open(path, n_paths, &how, NULL, &index, NULL, err);
    if (status)
        return status;
    if (index && (status = ek_view_check_bytes(ek_trace_index_bytes(index), err)) != EK_OK) {
        ek_trace_index_close(index);
        return status;
    }
    *out = index;
    return EK_OK;
}

void ek_view_name_of(const char *path, char *name, size_t room)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    size_t from = size;
    while (from > 0 && path[from - 1] != '/')
        from--;
    snprintf(name, room, "%.*s", (int)(size - from), path + from);
    if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        snprintf(name, room, "run");
}
