/* evenkeel/lint_files.h - collects the files that the linter checks, by name.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LINT_FILES_H
#define EVENKEEL_LINT_FILES_H

#include <stdbool.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"

EK_BEGIN_DECLS

/** Zeroed to begin with. */
typedef struct ek_lint_files {
    char **path; /**< [n], in the order they were added, those of a folder by name */
    bool *found; /**< [n] below a folder; false: named */
    int n, capacity;
} ek_lint_files;

/**
 * Add a file, or every file below a folder that ek_lint_kind_by_name() knows (*.yaml, *.yml, *.sh, *.bash, *.env,
 * *.py). Names with a dot in front, links to folders and non-regular files are skipped.
 *
 * @param notes  receives notes on folders below that cannot be read; may be NULL
 * @return EK_OK; EK_ERR_SYSTEM where the folder itself cannot be read; EK_ERR_INPUT for more than 100000 files, 64
 *         levels or 4095 bytes of a path; EK_ERR_MEMORY. After a failure the list keeps what was added before.
 *         O(n log n) for n entries of the folders.
 */
ek_status ek_lint_files_add(ek_lint_files *files, const char *path, const ek_listener *notes, ek_error *err);
/** Free the paths; then as zeroed. */
void ek_lint_files_clear(ek_lint_files *files);

EK_END_DECLS
#endif
