/* Shared checks of the targets of linted files: whatever the bytes, there is an error, or findings in order, with
 * places in the text, and JSON and SARIF that can be read again. */
#include "lint_files.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "report/writers.h"

enum { SARIF_EVERY = 8 }; /* sizes of inputs */

static void check_places(const ek_lint *lint, int lines)
{
    for (int i = 0; i < lint->n_findings; i++) {
        const ek_lint_finding *f = &lint->finding[i];
        assert(f->line >= 1 && f->line <= lines && f->column >= 1 && f->message[0] && f->excerpt);
        assert(f->end_column == 0 || f->end_column > f->column);
        assert(i == 0 || lint->finding[i - 1].line <= f->line);
    }
}

static void check_writer(const ek_lint *lint, ek_status (*write)(const ek_lint *, FILE *, ek_error *))
{
    char *text = NULL;
    size_t size = 0;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    assert(write(lint, out, &err) == EK_OK);
    fclose(out);
    json_t *root = json_loadb(text, size, 0, NULL);
    assert(root);
    json_decref(root);
    free(text);
}

void fuzz_lint_file(ek_lint_kind kind, const uint8_t *data, size_t size)
{
    ek_lint_options options = ek_lint_options_default();
    ek_lint lint = {0};
    ek_error err = {0};
    const char *path = fuzz_file(data, size);
    int lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r';
    options.kind = (int)kind;
    if (ek_lint_run(&path, 1, &options, NULL, &lint, &err)) {
        assert(err.message[0]);
        return;
    }
    check_places(&lint, lines);
    /* SARIF lists every rule with its texts, which takes longer than all the rest. */
    check_writer(&lint, size % SARIF_EVERY == 0 ? ek__lint_write_sarif : ek__lint_write_json);
    ek_lint_clear(&lint);
}
