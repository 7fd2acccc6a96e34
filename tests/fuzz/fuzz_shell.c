/* Scripts under lint's checks: whatever the bytes, there is an error with a place, or settings and commands whose
 * places are in the text. */
#include <assert.h>
#include <string.h>

#include "evenkeel/lint.h"
#include "fuzz.h"
#include "lint/shell.h"

static void check(const ek__shell *shell, const char *text, size_t size)
{
    int lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    for (int i = 0; i < shell->environment.n; i++) {
        const ek__setting *s = &shell->environment.setting[i];
        assert(s->name && s->name[0] && s->line >= 1 && s->line <= lines && s->column >= 1);
        assert(s->end_column == 0 || s->end_column > s->column);
        assert(s->value_column == 0 || (s->value && s->value_column > s->column));
    }
    for (int i = 0; i < shell->n_commands; i++) {
        const ek__command *c = &shell->command[i];
        assert(c->n_words > 0 && c->first_word >= 0 && c->first_word + c->n_words <= shell->n_words);
        assert(c->line >= 1 && c->line <= lines);
    }
    (void)ek__shell_argument(shell, "--tensor-model-parallel-size");
}

/* All rules on it. */
static void check_rules(const uint8_t *data, size_t size, bool reads)
{
    ek_lint_options options = ek_lint_options_default();
    ek_lint lint = {0};
    ek_error err = {0};
    const char *path = fuzz_file(data, size);
    options.kind = EK_LINT_SHELL;
    bool took = ek_lint_run(&path, 1, &options, NULL, &lint, &err) == EK_OK;
    assert(took ? reads : err.message[0] != '\0');
    for (int i = 0; i < lint.n_findings; i++) {
        const ek_lint_finding *f = &lint.finding[i];
        assert(f->line >= 1 && f->column >= 1 && (f->end_column == 0 || f->end_column > f->column) && f->message[0]);
    }
    if (took)
        ek_lint_clear(&lint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_error err = {0};
    ek__shell *shell = NULL;
    ek__pool *pool = ek__pool_new();
    if (!pool)
        return 0;
    char *text = ek__pool_alloc(pool, size + 1, 1);
    if (text) {
        if (size > 0)
            memcpy(text, data, size);
        if (ek__shell_read("input.sh", text, size, pool, &shell, &err))
            assert(err.message[0]);
        else
            check(shell, text, size);
    }
    bool reads = shell != NULL;
    ek__pool_free(pool);
    check_rules(data, size, reads);
    return 0;
}
