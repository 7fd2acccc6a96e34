/* Fuzzes training programs under all rules: lint_files.c has the assertions. */
#include "fuzz.h"
#include "lint_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_lint_file(EK_LINT_PYTHON, data, size);
    return 0;
}
