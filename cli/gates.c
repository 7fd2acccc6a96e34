/* Implements the option --fail-on: reads the expressions with the options, and checks the results against them at the
 * end. */
#include "gates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* All of the option's values as one text, with commas between. NULL when memory is out. */
static char *join(const cli_texts *texts)
{
    size_t size = 1;
    for (int i = 0; i < texts->n; i++)
        size += strlen(texts->at[i]) + 1;
    char *all = calloc(size, 1), *end = all;
    for (int i = 0; all && i < texts->n; i++)
        end += sprintf(end, "%s%s", i ? "," : "", texts->at[i]);
    return all;
}

bool cli_gates_open(const cli_texts *texts, ek_output_kind kind, ek_gates **out)
{
    ek_error err;
    *out = NULL;
    if (texts->n == 0)
        return true;
    char *all = join(texts);
    if (!all) {
        cli_error(NULL, "out of memory");
        return false;
    }
    ek_status status = ek_gates_read(kind, all, out, &err);
    free(all);
    if (status)
        cli_error(NULL, "--fail-on: %s", err.message);
    return status == EK_OK;
}

static void tell(void *user, const char *sentence)
{
    (void)user;
    cli_note("gate failed: %s", sentence);
}

int cli_gates_check(const ek_gates *gates, ek_output output, int code)
{
    ek_error err;
    int n_failed = 0;
    if (!gates || code == EXIT_WRONG)
        return code;
    if (ek_gates_check(gates, output, tell, NULL, &n_failed, &err)) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    return n_failed > 0 ? EXIT_NO : code;
}
