/* Prints the tokens of Python programs for tests/python/tokens.py, a line each: kind, line, column, size; then the
 * error, if there is one. Names of files come on standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "lint/python.h"

static void dump(const char *path)
{
    static const char *const kinds[] = {"NAME", "NUMBER",  "STRING", "OP",     "FSTART",
                                        "FEND", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"};
    ek_error err = {0};
    char *text = NULL;
    size_t size = 0;
    ek__python p = {.pool = ek__pool_new(), .name = path};
    ek_status status = ek__doc_read_text(path, &text, &size, &err);
    p.text = text;
    if (status == EK_OK)
        status = ek__python_tokens(&p, size, &err);
    for (int i = 0; i < p.n_tokens; i++)
        printf("%s %d %d %d\n", kinds[p.token[i].kind], p.token[i].line, p.token[i].column, p.token[i].size);
    if (status)
        printf("ERROR %d %d %s\n", err.line, err.column, err.message);
    puts(".");
    ek__pool_free(p.pool);
    free(text);
}

int main(void)
{
    char path[4096];
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = '\0';
        dump(path);
        fflush(stdout);
    }
    return 0;
}
