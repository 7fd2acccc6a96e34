/* Reads the times of an init file's layers from the traces that its profiling_config names: medians of the executions,
 * with the measured backward pass and recomputation, or the figures that the original's analyser prints for the same
 * files. An init file has one kind of body layer; where traces contain several, it gets their mean, weighted by their
 * number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dryrun/init.h"
#include "evenkeel/trace.h"
#include "layers/layers.h"

enum { HEAD, BODY, TAIL };

bool ek_dryrun_wants_profiles(const ek_dryrun *init, const ek_times *given)
{
    const double of_file[] = {init->times.head, init->times.body, init->times.tail};
    const double of_caller[] = {given ? given->head : NAN, given ? given->body : NAN, given ? given->tail : NAN};
    bool missing = false;
    for (int i = 0; i < 3; i++)
        missing |= isnan(of_file[i]) && isnan(of_caller[i]);
    return missing && init->has_profiling && !init->profiled;
}

static ek_layer mean_body(const ek_layers *layers)
{
    ek_layer mean = layers->body[0];
    double n = layers->n_layers;
    mean.forward_time = mean.weight_time = 0;
    memset(mean.backward_time, 0, sizeof mean.backward_time);
    for (int b = 0; b < layers->n_body; b++) {
        const ek_layer *body = &layers->body[b];
        double share = body->n_layers / n;
        mean.forward_time += share * body->forward_time;
        mean.weight_time += share * body->weight_time;
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            mean.backward_time[k] += share * body->backward_time[k];
    }
    return mean;
}

static ek_status measured(const ek_trace_run *run, ek_layer *out, char **notes, ek_error *err)
{
    ek_layers layers;
    ek_status status = ek_trace_to_layers(run, &layers, notes, err);
    if (status)
        return status;
    out[HEAD] = layers.head;
    out[BODY] = mean_body(&layers);
    out[TAIL] = layers.tail;
    ek_layers_clear(&layers);
    /* The last note is that memory is missing, which the init file has. */
    char *last = strrchr(*notes, '\n');
    if (last)
        *last = '\0';
    last = strrchr(*notes, '\n');
    if (last)
        last[1] = '\0';
    return EK_OK;
}

static ek_status as_original(const ek_trace_run *run, ek_layer *out, char **notes, ek_error *err)
{
    static const char note[] = "Times are those that the original's analyser prints for these traces.\n";
    const double time[] = {run->sapp.head_ms, run->sapp.body_ms, run->sapp.tail_ms};
    if (!run->sapp.made || !(time[BODY] >= EK__MIN_TIME))
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "the original's analyser sees no body layer in them (it looks at the Scope Layer of MindSpore)");
    *notes = ek__strdup(note);
    if (!*notes)
        return ek__no_memory(err);
    for (int i = 0; i < 3; i++) {
        out[i] = (ek_layer){.n_layers = 1, .forward_time = time[i]};
        ek__layer_default_times(&out[i], EK_BACKWARD_RATIO * time[i]);
    }
    return EK_OK;
}

/* A name that no trace has: its layer would count as no time. The original skips it silently. */
static ek_status check_names(const ek_dryrun *init, const ek_trace_run *run, const char *const *path,
                             const ek_trace_options *options, const ek_listener *listener, ek_error *err)
{
    static const char *const key[] = {"head_layers", "body_layers", "tail_layers"};
    ek_trace_role role;
    int index;
    ek_error own = {.status = EK_OK};
    ek_status status = ek_trace_check_names(run, path, 1, options, &role, &index, &own);
    if (status == EK_OK)
        return EK_OK;
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    ek_origin at = init->profiling_at[role][index];
    if (options->sapp_compatible && status == EK_ERR_INPUT) {
        ek__warn(listener, at, "profiling_config.%s: %.800s", key[role], own.message);
        return EK_OK;
    }
    return ek__fail(err, status, at, "profiling_config.%s: %.800s", key[role], own.message);
}

static ek_status read_folder(const ek_dryrun *init, bool sapp_compatible, const ek_listener *listener, ek_layer *out,
                             char **notes, ek_error *err)
{
    const ek_trace_options options = {
        .n_micro_batches = init->profiling_micro_batches,
        .n_head = init->n_profiling_names[HEAD],
        .n_body = init->n_profiling_names[BODY],
        .n_tail = init->n_profiling_names[TAIL],
        .head = (const char *const *)init->profiling_name[HEAD],
        .body = (const char *const *)init->profiling_name[BODY],
        .tail = (const char *const *)init->profiling_name[TAIL],
        .sapp_compatible = sapp_compatible,
    };
    const char *const path[] = {init->profiling_folder};
    ek_trace_run run;
    ek_status status = ek_trace_run_read(path, 1, &options, listener, &run, err);
    if (status)
        return status;
    status = check_names(init, &run, path, &options, listener, err);
    if (status == EK_OK)
        status = (sapp_compatible ? as_original : measured)(&run, out, notes, err);
    ek_trace_run_clear(&run);
    return status;
}

ek_status ek_dryrun_read_profiles(ek_dryrun *init, bool sapp_compatible, const ek_listener *listener, char **notes,
                                  ek_error *err)
{
    ek_error own = {.status = EK_OK};
    if (!init->has_profiling)
        return ek__fail(err, EK_ERR_INPUT, (ek_origin){init->path, 1, 1},
                        "there is no profiling_config with a folder_path; name the folder of the traces in it");
    ek_layer *layer = ek__alloc(3, sizeof *layer);
    if (!layer)
        return ek__no_memory(err);
    ek_status status = read_folder(init, sapp_compatible, listener, layer, notes, &own);
    if (status) {
        free(layer);
        if (status == EK_ERR_MEMORY)
            return ek__no_memory(err);
        if (strcmp(own.file, init->path) == 0) {
            if (err)
                *err = own;
            return status;
        }
        return ek__fail(err, status, init->profiling,
                        "no times can be taken from the traces of profiling_config: %s%s%s; correct folder_path, or "
                        "give times with --time head=0.1,body=3.1,tail=3.5 or a time_config",
                        own.file[0] ? own.file : "", own.file[0] ? ": " : "", own.message);
    }
    free(init->profiled);
    init->profiled = layer;
    return EK_OK;
}
