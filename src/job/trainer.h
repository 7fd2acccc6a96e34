/* job/trainer.h - runs of the Trainer of transformers (LLaMA-Factory's YAML, launch scripts with --model_name_or_path):
 * a model from a folder's config.json, and settings by name, with or without DeepSpeed's ZeRO. */
#ifndef EK_JOB_TRAINER_H
#define EK_JOB_TRAINER_H

#include "job/deepspeed.h"
#include "job/hugging_face.h"

/* A setting of the file. */
typedef struct ek__trainer_setting {
    const char *name;     /* "per_device_train_batch_size" */
    const char *text;     /* its value; "true" for a switch without a value; NULL: a map or a list */
    const char *unknown;  /* the part known only in a run; NULL: none */
    const ek__node *node; /* of a YAML; NULL: of a script */
    ek_origin at;
} ek__trainer_setting;

typedef struct ek__trainer {
    const ek__job_source *source;
    const ek_job_overrides *overrides;
    ek_job *job;
    bool factory;       /* LLaMA-Factory, which has its own defaults */
    const char *before; /* prefix of names in messages: "--" for a script, otherwise "" */
    int n;
    const ek__trainer_setting *setting; /* [n]; the last of a name counts */
    int64_t ranks;                      /* that the file starts; 0: unknown */
    ek_origin ranks_at;
} ek__trainer;

/* Read the run into job, which has its path and is otherwise zero. @return EK_OK; EK_ERR_INPUT with the place: a
 * setting that is missing, unknown or not modelled, a file that cannot be read; EK_ERR_MEMORY */
ek_status ek__trainer_read(ek__trainer *t);

/* ---- for its parts ---- */

/* A setting by one of several names, NULL after the last; NULL: absent, or set to null or none. */
const ek__trainer_setting *ek__trainer_find(const ek__trainer *t, const char *const *names);
/* The same by one name. */
const ek__trainer_setting *ek__trainer_get(const ek__trainer *t, const char *name);
/* Each leaves *out unchanged if the setting is absent. @return EK_OK or EK_ERR_INPUT with its place */
ek_status ek__trainer_int(const ek__trainer *t, const ek__trainer_setting *s, int min, int max, int *out);
ek_status ek__trainer_switch(const ek__trainer *t, const char *name, bool *out);
ek_status ek__trainer_text(const ek__trainer *t, const ek__trainer_setting *s, const char **out);
ek_status ek__trainer_fail(const ek__trainer *t, const ek__trainer_setting *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ek__trainer_warn(const ek__trainer *t, const ek__trainer_setting *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The model of model_name_or_path into job->model. */
ek_status ek__trainer_read_model(const ek__trainer *t, int *vocab);
/* The JSON file that the setting names, or its value if that is a map. *out: ek__config_free() it, NULL for a map;
 * *file: its keys. An unreadable file is an error. */
ek_status ek__trainer_open(const ek__trainer *t, const ek__trainer_setting *s, const char *what, ek__config_tree **out);

#endif
