/* Reads a training YAML of LLaMA-Factory as a job: settings of transformers' Trainer, one per line. */
#include "job/trainer.h"

#include <stdlib.h>

static bool recognises(const ek__job_source *source)
{
    static const char *const keys[] = {"stage", "finetuning_type", "cutoff_len", "do_train",
                                       "per_device_train_batch_size"};
    const ek__node *root = source->doc && !source->toml ? ek__config_root(source->doc) : NULL;
    bool any = false;
    if (!root || root->kind != EK__MAP || !ek__get(root, "model_name_or_path"))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        any = any || ek__get(root, keys[i]);
    return any;
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    const ek__node *root = ek__config_root(source->doc);
    ek__trainer_setting *settings = ek__alloc((size_t)root->n, sizeof *settings);
    ek__trainer t = {
        .source = source, .overrides = overrides, .job = job, .factory = true, .before = "", .setting = settings};
    if (!settings)
        return ek__no_memory(source->err);
    for (const ek__node *node = root->first; node; node = node->next)
        settings[t.n++] = (ek__trainer_setting){.name = node->key,
                                                .text = node->kind == EK__SCALAR ? node->text : NULL,
                                                .node = node,
                                                .at = ek__node_origin(source->doc, node)};
    ek_status status = ek__trainer_read(&t);
    free(settings);
    return status;
}

const ek__job_format ek__job_llama_factory = {
    .name = "a training YAML of LLaMA-Factory",
    .recognises = recognises,
    .read = read_job,
    .not_written = "a training YAML of LLaMA-Factory is read and not written; put the settings into it by hand",
};
