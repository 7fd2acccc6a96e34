/* The model that a run of transformers' Trainer names: the config.json of a folder. A name of the hub says no sizes. */
#include <stdio.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "job/trainer.h"

/* NAME/config.json, or NAME where it is such a file; from the folder of the training file. */
static ek_status open_config(const ek__trainer *t, const ek__trainer_setting *s, ek__config_tree **out)
{
    const char *name = NULL;
    char path[1024];
    ek_status status = ek__trainer_text(t, s, &name);
    if (status)
        return status;
    size_t n = strlen(name);
    bool file = n > 5 && strcmp(name + n - 5, ".json") == 0;
    snprintf(path, sizeof path, "%.900s%s", name,
             file                          ? ""
             : n > 0 && name[n - 1] == '/' ? "config.json"
                                           : "/config.json");
    ek__job_source quiet = *t->source;
    quiet.listener = NULL;
    status = ek__job_read_other(&quiet, path, s->at, "", out);
    if (status || *out)
        return status;
    return ek__trainer_fail(t, s,
                            "is %.200s, whose sizes are missing: there is no %.300s from the folder of this file; "
                            "put the model's config.json there, or name a folder that has it",
                            name, path);
}

ek_status ek__trainer_read_model(const ek__trainer *t, int *vocab)
{
    const ek__trainer_setting *s = ek__trainer_get(t, "model_name_or_path");
    ek__config_tree *doc = NULL;
    if (!s)
        return ek__fail(t->source->err, EK_ERR_INPUT, ((ek_origin){t->source->path, 0, 0}),
                        "%smodel_name_or_path is missing; name the folder that has the model's config.json", t->before);
    ek_status status = open_config(t, s, &doc);
    if (status)
        return status;
    ek__hf_model model = {.in = {doc, t->source->listener, t->source->err}, .job = t->job};
    model.map = ek__hf_find_model(doc);
    status = model.map ? ek__hf_read_model(&model)
                       : ek__trainer_fail(t, s,
                                          "leads to %.200s, which does not say the sizes of a model "
                                          "(num_hidden_layers, hidden_size)",
                                          ek__config_name(doc));
    *vocab = model.vocab;
    ek__config_free(doc);
    return status;
}
