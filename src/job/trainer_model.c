/* Reads the model that a run of transformers' Trainer names: the config.json of a folder. A name of the hub has no
 * sizes and is accepted only for public models with known shapes that are like Llama in every respect. */
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/calibrate.h"
#include "evenkeel/layers.h"
#include "job/trainer.h"

/* ---- names of the hub ---- */

/* Only letters and digits, in lower case. */
static void squeeze(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++)
        if (ek__is_alnum((unsigned char)*text))
            out[n++] = (char)ek__to_lower((unsigned char)*text);
    out[n] = '\0';
}

/* Removes a suffix of a name that describes further training of a model and not its shape. */
static bool drop_suffix(char *name)
{
    static const char *const words[] = {"instruct", "chat", "base", "hf"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (n > length && strcmp(name + n - length, words[i]) == 0) {
            name[n - length] = '\0';
            return true;
        }
    }
    return false;
}

/* The public model with exactly this name: a longer one (Llama-3.2-1B-Vision, DeepSeek-R1-Distill-Llama-8B) is another.
 * NULL: none. */
static const ek_public_model *find_public(const char *name)
{
    const char *slash = strrchr(name, '/');
    const ek_public_model *m = ek_public_model_find(slash ? slash + 1 : name);
    char wanted[160], here[64];
    if (!m || m->style != EK_STYLE_LLAMA || m->experts > 0 || m->kv_lora > 0)
        return NULL;
    squeeze(slash ? slash + 1 : name, wanted, sizeof wanted);
    squeeze(m->name, here, sizeof here);
    while (drop_suffix(wanted))
        ;
    const char *from = strncmp(wanted, "metallama", 9) == 0 ? wanted + 4 : wanted; /* Meta-Llama-3-8B */
    return strcmp(from, here) == 0 ? m : NULL;
}

static void take_public(const ek__trainer *t, const ek__trainer_setting *s, const ek_public_model *from, int *vocab)
{
    ek_job_model *m = &t->job->model;
    m->n_layers = from->layers;
    m->hidden = from->hidden;
    m->n_heads = from->heads;
    m->n_kv_heads = from->kv_heads;
    m->head_dim = m->value_dim = from->hidden / from->heads;
    m->intermediate = from->ffn;
    m->max_position = from->sequence;
    m->gated = m->flash_attention = m->mask_compressed = true;
    *vocab = from->vocab;
    ek__trainer_warn(t, s, "is %.120s; no config.json is at hand, and the sizes of %s are taken (%s)", s->text,
                     from->name, from->source);
}

/* ---- folders ---- */

/* NAME/config.json, or NAME if it is such a file; relative to the folder of the training file. */
/* *public: the model with this name if there is no such file. */
static ek_status open_config(const ek__trainer *t, const ek__trainer_setting *s, ek__config_tree **out,
                             const ek_public_model **public)
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
    *public = find_public(name);
    if (status || *out || *public)
        return status;
    return ek__trainer_fail(t, s,
                            "is %.200s, with missing sizes: there is no %.300s from the folder of this file; put the "
                            "model's config.json there, or name a folder that has it",
                            name, path);
}

ek_status ek__trainer_read_model(const ek__trainer *t, int *vocab)
{
    const ek__trainer_setting *s = ek__trainer_get(t, "model_name_or_path");
    ek__config_tree *doc = NULL;
    const ek_public_model *public = NULL;
    if (!s)
        return ek__fail(t->source->err, EK_ERR_INPUT, ((ek_origin){t->source->path, 0, 0}),
                        "%smodel_name_or_path is missing; name the folder that has the model's config.json", t->before);
    ek_status status = open_config(t, s, &doc, &public);
    if (status)
        return status;
    if (!doc) {
        take_public(t, s, public, vocab);
        return EK_OK;
    }
    ek__hf_model model = {.in = {doc, t->source->listener, t->source->err}, .job = t->job};
    model.map = ek__hf_find_model(doc);
    status =
        model.map
            ? ek__hf_read_model(&model)
            : ek__trainer_fail(t, s, "leads to %.200s, which has no sizes of a model (num_hidden_layers, hidden_size)",
                               ek__config_name(doc));
    *vocab = model.vocab;
    ek__config_free(doc);
    return status;
}
