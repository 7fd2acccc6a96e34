/* job/write.h - settings put into the text of a training file; one function a kind of file. Each changes what the
 * settings say and no other byte. */
#ifndef EK_JOB_WRITE_H
#define EK_JOB_WRITE_H

#include "job/settings.h"

/* A training file's text. */
typedef struct ek__job_text {
    const char *name; /* for messages */
    const char *text; /* [size], NUL behind */
    size_t size;
} ek__job_text;

/* The new text, NUL-terminated behind *size bytes; free() it. @return EK_OK; EK_ERR_INPUT with the place in the old
 * text where it cannot be changed; EK_ERR_MEMORY. */
ek_status ek__write_yaml(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err);
ek_status ek__write_toml(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err);
ek_status ek__write_arguments(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err);

/* A script of Megatron-LM with the shapes of a job's model and as many ranks, not cut: one of every degree but data
 * parallelism, into which settings can be put. EK_ERR_INPUT: shapes that Megatron-LM has no argument for. */
ek_status ek__write_script(const ek_job *job, char **out, size_t *size, ek_error *err);

/* Put into *now, a changed copy of the job *was of a config.json, how the job *script of its script runs and which
 * rules it has: buckets, transfers between stages, workspaces. Switches that were changed, rules that a user set and
 * those of a calibration stay. */
void ek__take_script_run(const ek_job *script, const ek_job *was, ek_job *now);

/* What of *job, as a written file gives it, is not as in *wanted, as a sentence in `why`; settings that change nothing
 * in such a job do not count. @return whether there is anything */
bool ek__job_differs(const ek_job *job, const ek_job *wanted, char *why, size_t size);

#endif
