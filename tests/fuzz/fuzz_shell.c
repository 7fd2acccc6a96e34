/* Fuzzes scripts under lint's checks: whatever the bytes, there is an error with a place, or settings and commands with
 * places in the text. */
#include <assert.h>
#include <string.h>

#include "lint/shell.h"
#include "lint_rules.h"

static void check(const ek__shell *shell, const char *text, size_t size)
{
    int lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    for (int i = 0; i < shell->environment.n; i++) {
        const ek__lint_setting *s = &shell->environment.setting[i];
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
    fuzz_rules(EK_LINT_SHELL, data, size, reads);
    return 0;
}
