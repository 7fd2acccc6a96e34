/* job/trainer.h - runs of the Trainer of transformers (LLaMA-Factory's YAML, launch scripts with --model_name_or_path):
 * a model that a folder's config.json describes, and settings by name, under DeepSpeed's ZeRO or alone. */
#ifndef EK_JOB_TRAINER_H
#define EK_JOB_TRAINER_H

#include "job/deepspeed.h"
#include "job/hugging_face.h"

/* A setting that the file gives. */
typedef struct ek__trainer_setting {
    const char *name;     /* "per_device_train_batch_size" */
    const char *text;     /* its value; "true" of a switch alone; NULL: a map or a list */
    const char *unknown;  /* what in it only a run would tell; NULL: nothing */
    const ek__node *node; /* of a YAML; NULL: of a script */
    ek_origin at;
} ek__trainer_setting;

typedef struct ek__trainer {
    const ek__job_source *source;
    const ek_job_overrides *overrides;
    ek_job *job;
    bool factory;       /* LLaMA-Factory, which has defaults of its own */
    const char *before; /* names in messages: "--" of a script, "" */
    int n;
    const ek__trainer_setting *setting; /* [n]; the last of a name counts */
    int64_t ranks;                      /* that the file starts; 0: it does not say */
    ek_origin ranks_at;
} ek__trainer;

/* Read the run into job, which has its path and is otherwise zero. @return EK_OK; EK_ERR_INPUT with the place: a
 * setting that is missing, not understood or not modelled, a file that is not at hand; EK_ERR_MEMORY */
ek_status ek__trainer_read(ek__trainer *t);

/* ---- for its parts ---- */

/* By one of several names, NULL behind the last; NULL: not given, or given as null or none. */
const ek__trainer_setting *ek__trainer_find(const ek__trainer *t, const char *const *names);
/* The same by one name. */
const ek__trainer_setting *ek__trainer_get(const ek__trainer *t, const char *name);
/* Each leaves *out where the setting is not given. @return EK_OK or EK_ERR_INPUT with its place */
ek_status ek__trainer_int(const ek__trainer *t, const ek__trainer_setting *s, int min, int max, int *out);
ek_status ek__trainer_switch(const ek__trainer *t, const char *name, bool *out);
ek_status ek__trainer_text(const ek__trainer *t, const ek__trainer_setting *s, const char **out);
ek_status ek__trainer_fail(const ek__trainer *t, const ek__trainer_setting *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ek__trainer_warn(const ek__trainer *t, const ek__trainer_setting *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The model of model_name_or_path into job->model. */
ek_status ek__trainer_read_model(const ek__trainer *t, int *vocab);
/* The JSON that the setting names, or the map that it is. *out to ek__config_free(), NULL where it is a map; *file: its
 * keys. A file that is not at hand is an error. */
ek_status ek__trainer_open(const ek__trainer *t, const ek__trainer_setting *s, const char *what, ek__config_tree **out);

#endif
