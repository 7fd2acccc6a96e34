/* What `evenkeel memory` leaves behind: dry-run logs made from a prediction, and layer files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* A log that a run wrote is worth more than a prediction: it stays. False after a message. */
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

/* A measured forward time; a modelled backward keeps its ratio to the forward, else the usual ones hold. */
static void set_time(ek_layer *layer, double time)
{
    if (isnan(time))
        return;
    double old = layer->forward_time;
    layer->forward_time = time;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        layer->backward_time[k] = old > 0 ? layer->backward_time[k] * time / old
                                          : EK_BACKWARD_RATIO * time * (1 + ek_recompute_coefficient[k]);
    layer->weight_time =
        old > 0 ? layer->weight_time * time / old : EK_WEIGHT_TIME_SHARE * layer->backward_time[EK_RECOMPUTE_NONE];
}

/* Measured layers: a file of them, or traces. */
static bool read_measured(const char *source, ek_layers *out)
{
    struct stat info;
    ek_error err;
    ek_trace_run run;
    char *notes = NULL;
    if (stat(source, &info) == 0 && !S_ISDIR(info.st_mode)) {
        if (ek_layers_read(source, NULL, &cli_listener, out, &err) == EK_OK)
            return true;
        cli_error(&err, "%s", err.message);
        return false;
    }
    ek_trace_options options = {0};
    cli_progress progress;
    cli_progress_begin_trace(&progress, &options);
    ek_status status = ek_trace_run_read(&source, 1, &options, &progress.listener, &run, &err);
    cli_progress_end(&progress);
    if (!status) {
        status = ek_trace_to_layers(&run, out, &notes, &err);
        ek_trace_run_clear(&run);
    }
    free(notes);
    if (status)
        cli_error(&err, "%s", err.message);
    return !status;
}

static void copy_times(ek_layer *to, const ek_layer *from)
{
    to->forward_time = from->forward_time;
    memcpy(to->backward_time, from->backward_time, sizeof to->backward_time);
    to->weight_time = from->weight_time;
}

/* The trace's kinds of body layers are the job's in model order; one alone stands for all. */
static bool put_measured(const char *source, ek_layers *layers)
{
    ek_layers measured;
    if (!read_measured(source, &measured))
        return false;
    bool fine = measured.n_body == 1 || measured.n_body == layers->n_body;
    if (fine) {
        copy_times(&layers->head, &measured.head);
        copy_times(&layers->tail, &measured.tail);
        for (int b = 0; b < layers->n_body; b++)
            copy_times(&layers->body[b], &measured.body[measured.n_body == 1 ? 0 : b]);
        layers->split_known = measured.split_known;
    } else {
        cli_error(NULL,
                  "'%s' has %d kinds of body layers, but the job has %d; give times with --time, or name the layers "
                  "that belong together with `evenkeel trace --body`",
                  source, measured.n_body, layers->n_body);
    }
    ek_layers_clear(&measured);
    return fine;
}

bool cli_memory_layers(const char *path, const ek_job *job, const cli_layer_times *times)
{
    ek_layers layers;
    ek_error err;
    if (ek_memory_to_layers(job, times->device, &layers, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    if (!times->device)
        layers.split_known = false;
    bool fine = !times->trace || put_measured(times->trace, &layers);
    set_time(&layers.head, times->given.head);
    set_time(&layers.tail, times->given.tail);
    for (int b = 0; b < layers.n_body; b++)
        set_time(&layers.body[b], times->given.body);
    fine = fine && cli_write_output(path, write_layers, &layers);
    ek_layers_clear(&layers);
    return fine;
}

ek_status cli_memory_times(const ek_job *job, const ek_device *device, ek_memory_time time[CLI_MAX_MEMORY_TIMES],
                           int *n, ek_error *err)
{
    static const char *const name[CLI_MAX_MEMORY_TIMES] = {"embedding", "decoder", "decoder with experts", "prediction",
                                                           "head and loss"};
    const ek_job_model *m = &job->model;
    const bool there[CLI_MAX_MEMORY_TIMES] = {true, m->n_experts == 0 || m->n_dense_layers > 0 || m->expert_period > 1,
                                              m->n_experts > 0, m->n_prediction_layers > 0, true};
    *n = 0;
    for (int place = EK_LAYER_HEAD; place <= EK_LAYER_TAIL; place++) {
        if (!there[place])
            continue;
        time[*n].name = name[place];
        ek_status status = ek_cost_layer(job, device, place, &time[(*n)++].ms, err);
        if (status)
            return status;
    }
    return EK_OK;
}
