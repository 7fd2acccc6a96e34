/* base/temporary.h - moves a temporary file to its place, and makes temporary folders. */
#ifndef EK_BASE_TEMPORARY_H
#define EK_BASE_TEMPORARY_H

#include <stdbool.h>

#include "evenkeel/save.h"

/** rename(), after which the file is temporary under its new name where `stays` is set, else permanent.
 *  @return false with errno; then it is still temporary under the old name */
bool ek__temporary_rename(const char *path, const char *to, bool stays);

/** Make a temporary folder that only its owner can access. ek_temporary_remove() removes it when it is empty,
 * ek_temporaries_remove() with the temporary files in it. @return as ek_temporary_open() */
ek_status ek__temporary_folder(char *pattern, ek_error *err);

#endif
