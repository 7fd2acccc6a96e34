/* Computes a job's layers with times: modelled on a device, replaced by those of traces, replaced by given ones. */
#include "evenkeel/job_layers.h"
#include "evenkeel/memory.h"
#include "evenkeel/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

/* A measured forward time; a modelled backward keeps its ratio to the forward, else the usual ratios apply. */
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
static ek_status read_measured(const char *source, const ek_trace_options *how, const ek_listener *listener,
                               ek_layers *out, ek_error *err)
{
    const ek_trace_options usual = {0};
    struct stat info;
    ek_trace_run run;
    char *notes = NULL;
    if (stat(source, &info) == 0 && !S_ISDIR(info.st_mode))
        return ek_layers_read(source, NULL, listener, out, err);
    ek_status status = ek_trace_run_read(&source, 1, how ? how : &usual, listener, &run, err);
    if (status)
        return status;
    status = ek_trace_to_layers(&run, out, &notes, err);
    ek_trace_run_clear(&run);
    free(notes);
    return status;
}

static void copy_times(ek_layer *to, const ek_layer *from)
{
    to->forward_time = from->forward_time;
    memcpy(to->backward_time, from->backward_time, sizeof to->backward_time);
    to->weight_time = from->weight_time;
}

/* The trace's kinds of body layers are the job's in model order; a single one is used for all. */
static ek_status parse_measured(const char *source, const ek_layers *measured, ek_layers *layers, ek_error *err)
{
    if (measured->n_body != 1 && measured->n_body != layers->n_body)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "'%s' has %d kinds of body layers, but the job has %d; give times with --time, or name the "
                        "layers that belong together with `evenkeel trace --body`",
                        source, measured->n_body, layers->n_body);
    copy_times(&layers->head, &measured->head);
    copy_times(&layers->tail, &measured->tail);
    for (int b = 0; b < layers->n_body; b++)
        copy_times(&layers->body[b], &measured->body[measured->n_body == 1 ? 0 : b]);
    layers->split_known = measured->split_known;
    return EK_OK;
}

ek_status ek_job_layers(const ek_job *job, const ek_job_layer_times *times, const ek_trace_options *how,
                        const ek_listener *listener, ek_layers *out, ek_error *err)
{
    ek_layers layers, measured = {0};
    ek_status status = ek_memory_to_layers(job, times->device, &layers, err);
    if (status)
        return status;
    if (times->measured) {
        status = read_measured(times->measured, how, listener, &measured, err);
        if (status == EK_OK)
            status = parse_measured(times->measured, &measured, &layers, err);
        ek_layers_clear(&measured);
    }
    if (status) {
        ek_layers_clear(&layers);
        return status;
    }
    set_time(&layers.head, times->given.head);
    set_time(&layers.tail, times->given.tail);
    for (int b = 0; b < layers.n_body; b++)
        set_time(&layers.body[b], times->given.body);
    *out = layers;
    return EK_OK;
}
