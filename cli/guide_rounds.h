/* cli/guide_rounds.h - the dry runs of a guide as copies of a training file. */
#ifndef EK_CLI_GUIDE_ROUNDS_H
#define EK_CLI_GUIDE_ROUNDS_H

#include "evenkeel/types.h"

#include <stdbool.h>

/** Write a copy of the training file `path` for every round, NAME.round1.EXT and so on, into `folder` (NULL: beside the
 *  file), and note each; where its framework has no exact equivalent of a round, note why and write none.
 *
 * @param job  read from `path`: EK_JOB_SIZES of it
 * @return false after a message: a copy cannot be written, or a YAML of MindFormers cannot be changed */
bool cli_write_rounds(const char *path, const char *folder, const ek_job *job, const ek_guide *guide);

#endif
