/* tests/fuzz/lint_files.h - a file under all rules of its kind, and the output of the writers. */
#ifndef LINT_FILES_H
#define LINT_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "evenkeel/lint.h"

/** Lint the bytes as a file of the kind and check findings and writers. */
void fuzz_lint_file(ek_lint_kind kind, const uint8_t *data, size_t size);

#endif
