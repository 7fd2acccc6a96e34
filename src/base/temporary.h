/* base/temporary.h - moving a temporary file to its place. */
#ifndef EK_BASE_TEMPORARY_H
#define EK_BASE_TEMPORARY_H

#include <stdbool.h>

#include "evenkeel/save.h"

/** rename(), after which the file is no temporary one any more. @return false with errno; then it still is one */
bool ek__temporary_rename(const char *path, const char *to);

#endif
