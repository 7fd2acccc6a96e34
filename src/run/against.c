/* Reads a measured run for the comparison with an estimate: detects the kind of file and calls that kind's reader. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/estimate.h"
#include "evenkeel/run.h"
#include "evenkeel/run_files.h"

#include "base/error.h"

/* A folder contains traces; a file is recognised by its content. */
bool ek_run_is_trace(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && (S_ISDIR(info.st_mode) || ek_run_kind_of(path) == EK_RUN_TRACE);
}

static ek_status against_log(const ek_estimate *estimate, const char *path, const ek_listener *listener,
                             ek_against *out, ek_error *err)
{
    ek_train_log log;
    ek_status status = ek_train_log_read(path, listener, &log, err);
    if (status)
        return status;
    ek_train_log_time(&log, estimate->job);
    status = ek_estimate_against_log(estimate, &log, out, err);
    ek_train_log_clear(&log);
    return status;
}

static ek_status against_trace(const ek_estimate *estimate, const char *path, const ek_trace_options *how,
                               const ek_listener *listener, ek_against *out, ek_error *err)
{
    const ek_trace_options usual = {0};
    ek_trace_run run;
    ek_status status = ek_trace_run_read(&path, 1, how ? how : &usual, listener, &run, err);
    if (status)
        return status;
    status = ek_estimate_against_trace(estimate, &run, out, err);
    ek_trace_run_clear(&run);
    return status;
}

ek_status ek_run_against(const ek_estimate *estimate, const char *path, const ek_trace_options *how,
                         const ek_listener *listener, ek_against *out, ek_error *err)
{
    if (strcmp(path, "-") == 0)
        return against_log(estimate, path, listener, out, err);
    if (access(path, F_OK) != 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "'%s' is not there; --against takes a training log, or a profiler trace's file or folder",
                        path);
    return ek_run_is_trace(path) ? against_trace(estimate, path, how, listener, out, err)
                                 : against_log(estimate, path, listener, out, err);
}
