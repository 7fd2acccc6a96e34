/* Writes the output files of `evenkeel memory`: dry-run logs made from a prediction, and layer files. */
#include <stdio.h>
#include <string.h>

#include "evenkeel/memory.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/trace.h"
#include "files.h"
#include "memory.h"
#include "options.h"
#include "progress.h"

/* ---- logs ---- */

typedef struct log_of {
    const ek_memory *memory;
    int stage;
    double device_mb;
} log_of;

static ek_status write_log(const void *user, FILE *out, ek_error *err)
{
    const log_of *l = user;
    return ek_memory_write_log(l->memory, l->stage, l->device_mb, out, err);
}

/* A real run's log is not overwritten by a prediction. False after a message. */
static bool may_write(const char *path)
{
    static const char ours[] = "Device MOC memory size:";
    char start[sizeof ours] = "";
    FILE *in = fopen(path, "r");
    if (!in)
        return true;
    size_t n = fread(start, 1, sizeof ours - 1, in);
    fclose(in);
    if (n == 0 || strncmp(start, ours, sizeof ours - 1) == 0)
        return true;
    cli_error(NULL, "'%s' is a log of a real run; give --log-dir another folder", path);
    return false;
}

bool cli_memory_logs(const char *folder, const ek_job *job, const ek_memory *memory, double device_mb)
{
    for (int s = 0; s < memory->n_stages; s++) {
        char name[128], path[4200];
        ek_memory_log_name(job, s, name, sizeof name);
        if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
            cli_error(NULL, "the path of the log folder is too long");
            return false;
        }
        char *slash = strrchr(path, '/');
        *slash = '\0';
        if (!cli_make_folder(path))
            return false;
        *slash = '/';
        const log_of log = {memory, s, device_mb};
        if (!may_write(path) || !cli_write_file(path, write_log, &log))
            return false;
    }
    return true;
}

/* ---- layers ---- */

static ek_status write_layers(const void *user, FILE *out, ek_error *err)
{
    return ek_layers_write(user, out, err);
}

bool cli_memory_layers(const char *path, const ek_job *job, const ek_job_layer_times *times)
{
    ek_layers layers;
    ek_error err;
    ek_trace_options how = {0};
    cli_progress progress;
    if (times->measured)
        cli_progress_begin_trace(&progress, &how);
    ek_status status = ek_job_layers(job, times, &how, times->measured ? &progress.listener : NULL, &layers, &err);
    if (times->measured)
        cli_progress_end(&progress);
    if (status) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    bool fine = cli_write_file(path, write_layers, &layers);
    ek_layers_clear(&layers);
    return fine;
}
