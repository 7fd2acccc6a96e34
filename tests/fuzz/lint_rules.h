/* tests/fuzz/lint_rules.h - all rules of lint on one input, for targets of readers that only lint uses. */
#ifndef FUZZ_LINT_RULES_H
#define FUZZ_LINT_RULES_H

#include <assert.h>

#include "evenkeel/lint.h"
#include "fuzz.h"

/** @param reads  does the reader take this input? lint takes no other */
static inline void fuzz_rules(ek_lint_kind kind, const uint8_t *data, size_t size, bool reads)
{
    ek_lint_options options = ek_lint_options_default();
    ek_lint lint = {0};
    ek_error err = {0};
    const char *path = fuzz_file(data, size);
    options.kind = kind;
    bool took = ek_lint_run(&path, 1, &options, NULL, &lint, &err) == EK_OK;
    assert(took ? reads : err.message[0] != '\0');
    for (int i = 0; i < lint.n_findings; i++) {
        const ek_lint_finding *f = &lint.finding[i];
        assert(f->line >= 1 && f->column >= 1 && (f->end_column == 0 || f->end_column > f->column) && f->message[0]);
    }
    if (took)
        ek_lint_clear(&lint);
}

#endif
