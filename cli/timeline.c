/* Indexes the traces of a page with a progress bar. */
#include "timeline.h"

#include "evenkeel/trace_index.h"
#include "evenkeel/view_files.h"
#include "options.h"
#include "progress.h"

bool cli_timeline_open(const char *const *path, int n_paths, const ek_trace_run *run, int n_threads,
                       ek_trace_index **out)
{
    cli_progress progress;
    ek_error err;
    *out = NULL;
    cli_progress_begin(&progress);
    const ek_trace_index_options options = {.n_threads = n_threads, .progress = cli_progress_show, .user = &progress};
    ek_status status = ek_view_index_open(path, n_paths, run, &options, out, &err);
    cli_progress_end(&progress);
    if (status)
        cli_error(&err, "%s", err.message);
    return status == EK_OK;
}
