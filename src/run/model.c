/* Reads a model's layers from its files: selects the reader of a file, and reports when a training job is given instead
 * of a model. */
#include "evenkeel/job.h"
#include "evenkeel/model_files.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A launch script, or a config.json, instead of a model: then `err` contains the command to use. */
static bool is_job(const char *path, ek_error *err)
{
    ek_job job;
    if (strcmp(path, "-") == 0 || ek_job_read(path, NULL, NULL, &job, NULL))
        return false;
    ek_job_clear(&job);
    ek__set_error(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                  "this is a training job without times of its layers; `evenkeel memory %s --layers-out layers.json` "
                  "makes a model for `--layers layers.json` from it",
                  path);
    return true;
}

/* One note for each sentence; splits them at their line breaks. */
static void note_all(char *text, const ek_listener *notes)
{
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        ek__warn(notes, EK__NOWHERE, "%s", line);
    }
}

static void note_constant(const ek_layers *layers, const ek_listener *notes)
{
    if (layers->const_mb != 0)
        ek__warn(notes, EK__NOWHERE,
                 "--sapp-compatible: head and tail include the constant of %g MB, so the first and the last stage are "
                 "shown with %g MB %s than their memory",
                 layers->const_mb, fabs(layers->const_mb), layers->const_mb > 0 ? "more" : "less");
}

static ek_status read_init(const ek_model_files *files, const ek_listener *warnings, const ek_listener *notes,
                           ek_file_model *out, ek_error *err)
{
    const char *path = files->init;
    ek_dryrun init;
    char *text = NULL;
    ek_status status = ek_dryrun_read(path, warnings, &init, err);
    /* The reader recognises a training YAML itself. */
    if (status && !ends_with(path, ".yaml") && !ends_with(path, ".yml") && is_job(path, err))
        status = EK_ERR_INPUT;
    if (status)
        return status;
    if (ek_dryrun_wants_profiles(&init, files->times))
        status = ek_dryrun_read_profiles(&init, files->sapp_compatible, warnings, &text, err);
    if (status == EK_OK)
        status = ek_dryrun_decompose(&init, files->name, files->times, files->sapp_compatible, &out->layers, err);
    if (status == EK_OK) {
        note_all(text, notes);
        if (files->sapp_compatible)
            note_constant(&out->layers, notes);
        out->dry_run_stages = init.n_stages;
        out->run = init.run;
    }
    free(text);
    ek_dryrun_clear(&init);
    return status;
}

ek_status ek_model_files_read(const ek_model_files *files, const ek_listener *warnings, const ek_listener *notes,
                              ek_file_model *out, ek_error *err)
{
    assert(files->init || files->layers);
    ek_file_model model = {0};
    ek_status status = EK_OK;
    if (files->layers && files->init)
        status = ek_dryrun_read_run(files->init, warnings, &model.run, err);
    if (status == EK_OK && files->layers) {
        /* Checked first, since a reader of layers would warn of every key. */
        status = is_job(files->layers, err) ? EK_ERR_INPUT
                                            : ek_layers_read(files->layers, files->times, warnings, &model.layers, err);
    } else if (status == EK_OK) {
        status = read_init(files, warnings, notes, &model, err);
    }
    if (status == EK_OK)
        *out = model;
    return status;
}

void ek_layers_add_constant(ek_layers *layers, double given_mb, double run_mb, const ek_listener *notes)
{
    double besides = given_mb > 0 ? given_mb : run_mb;
    if (besides > 0 && layers->const_mb != 0)
        ek__warn(notes, EK__NOWHERE, "the layers have a constant of %g MB on every stage; %s %g MB come on top",
                 layers->const_mb, given_mb > 0 ? "-mc" : "constant_memory", besides);
    layers->const_mb += besides;
}
