/* Traces that are small enough are indexed in a folder that goes with the index; larger ones are refused before any
 * of that work, and once more by their size when unpacked. */
#include "timeline.h"

#include <stdio.h>
#include <string.h>

#include "evenkeel/view.h"

#include "options.h"
#include "progress.h"
#include "search.h"

static bool is_events(const ek_trace_source *source)
{
    return strcmp(source->type, "trace") == 0;
}

int64_t cli_timeline_bytes(const ek_trace_run *run)
{
    int64_t bytes = 0;
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].n_sources; k++)
            if (is_events(&run->rank[i].source[k]))
                bytes += run->rank[i].source[k].bytes;
    return bytes;
}

bool cli_timeline_fits(int64_t bytes)
{
    if (bytes <= EK_VIEW_MAX_TRACE_BYTES)
        return true;
    cli_error(NULL,
              "the traces have %lld MB of events, and a page holds up to %d MB; look at them with `evenkeel view "
              "--serve`, or cut out a part with `evenkeel trace cut`",
              (long long)(bytes >> 20), EK_VIEW_MAX_TRACE_BYTES >> 20);
    return false;
}

bool cli_timeline_open(const char *const *path, int n_paths, const ek_trace_run *run, int n_threads,
                       ek_trace_index **out)
{
    int64_t bytes = cli_timeline_bytes(run);
    cli_progress progress;
    ek_error err;
    *out = NULL;
    if (bytes == 0)
        return true;
    if (!cli_timeline_fits(bytes))
        return false;
    cli_progress_begin(&progress);
    cli_catch_ends(); /* the index is in a temporary folder */
    const ek_trace_index_options options = {.temporary = true,
                                            .n_threads = n_threads,
                                            .progress = cli_progress_show,
                                            .user = &progress,
                                            .interrupt = &progress.interrupted};
    ek_trace_index *index;
    ek_status status = ek_trace_index_open(path, n_paths, &options, NULL, &index, NULL, &err);
    cli_release_ends();
    cli_progress_end(&progress);
    if (status) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    if (!cli_timeline_fits(ek_trace_index_bytes(index))) {
        ek_trace_index_close(index);
        return false;
    }
    *out = index;
    return true;
}

void cli_timeline_name(const char *path, char *name, size_t room)
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
