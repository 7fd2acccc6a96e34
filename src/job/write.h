/* job/write.h - puts settings into the text of a training file; one function per kind of file. Each changes only the
 * settings and no other byte. */
#ifndef EK_JOB_WRITE_H
#define EK_JOB_WRITE_H

#include "job/settings.h"

/* A training file's text. */
typedef struct ek__job_text {
    const char *name; /* for messages */
    const char *text; /* [size], then a NUL */
    size_t size;
} ek__job_text;

/* The new text, NUL-terminated after *size bytes; free() it. @return EK_OK; EK_ERR_INPUT with the place in the old text
 * that cannot be changed; EK_ERR_MEMORY. */
ek_status ek__write_yaml(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err);
ek_status ek__write_toml(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err);
ek_status ek__write_arguments(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err);

/* A script of Megatron-LM with the shapes of a job's model and its number of ranks, uncut: every degree except data
 * parallelism is 1. Settings can be put into it. EK_ERR_INPUT: shapes that Megatron-LM has no argument for. */
ek_status ek__write_script(const ek_job *job, char **out, size_t *size, ek_error *err);

/* Put into *now, a changed copy of the job *was of a config.json, the run settings and rules of the job *script of its
 * script: buckets, transfers between stages, workspaces. Changed switches and rules from a user or a calibration are
 * kept. */
void ek__take_script_run(const ek_job *script, const ek_job *was, ek_job *now);

/* Describe in `why` the difference between *job, as read from a written file, and *wanted; settings without effect in
 * such a job do not count. @return whether there is one */
bool ek__job_differs(const ek_job *job, const ek_job *wanted, char *why, size_t size);

#endif
