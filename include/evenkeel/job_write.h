/* evenkeel/job_write.h - rewrites a training file with another layout and keeps everything else.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_JOB_WRITE_H
#define EVENKEEL_JOB_WRITE_H

#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/**
 * The file of *was with the settings that make it *now.
 *
 * Degrees, micro-batches, batch, plan (stages, chunks, layers, lists of recomputation, patterns), schedule, sharding
 * and switches are changed where the file has them, and added next to the others of their kind where it does not. All
 * other bytes stay: comments, order, quoting, line ends. YAML of MindFormers and MindSpeed-Core-MS and TOML of
 * torchtitan are changed in place. In a script of Megatron-LM or MindSpeed-LLM an argument's value is changed in place,
 * or in the variable that only this argument uses; the ranks that the script starts follow the layout. A config.json of
 * Hugging Face has no place for a layout: a script of Megatron-LM with the model's shapes and the layout is written
 * instead, and *now gets the run and the rules of that script, which may differ from those assumed for a config.json.
 *
 * The new text is read back, and every setting of the job it makes is compared with *now's, so that both have the same
 * memory and the same step. Overrides of the command line with which *was was read are written, too.
 *
 * @param was  as ek_job_read() made it, from a file that has not changed since
 * @param now  a changed copy of *was, with derived members as a reader derives them. The settings that the file then
 * has are noted in it
 * @return EK_OK; EK_ERR_INPUT with one sentence, and file, line and column where there is such a place: *now is not a
 *         job that its framework runs, the framework has no key for one of its settings, the file changed on disk or
 *         cannot be edited; EK_ERR_SYSTEM; EK_ERR_MEMORY. Nothing is written then. O(file size x settings).
 */
ek_status ek_job_write(const ek_job *was, ek_job *now, FILE *out, ek_error *err);

/**
 * ek_job_write() to memory. Untouched on failure.
 *
 * @param text  `size` bytes with a terminating NUL; free() them
 * @param size  out: bytes of the text
 * @return as ek_job_write(). O(file size x settings).
 */
ek_status ek_job_write_text(const ek_job *was, ek_job *now, char **text, size_t *size, ek_error *err);

/** The ending of the written file's name with its dot: that of the job's own file (".yaml", ".toml", ".sh"), ".sh" for
 *  a config.json, "" where it has none. Lives as long as the job. O(length). */
const char *ek_job_file_extension(const ek_job *job);

EK_END_DECLS
#endif
