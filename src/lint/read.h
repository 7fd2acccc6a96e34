/* lint/read.h - a file as the checks see it. */
#ifndef EK_LINT_READ_H
#define EK_LINT_READ_H

#include "lint/rules.h"

/** Read a file; texts and tables lie in the pool. @return EK_OK, EK_ERR_INPUT with the place, EK_ERR_SYSTEM,
 *  EK_ERR_MEMORY; ek__lint_file_clear() in every case. */
ek_status ek__lint_file_read(const char *path, const ek_lint_options *options, ek__pool *pool, ek__lint_file *out,
                             ek_error *err);
/** Frees the parts that are not in the pool. */
void ek__lint_file_clear(ek__lint_file *file);

#endif
