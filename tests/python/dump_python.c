/* Prints the tokens and calls that lint's reader finds in Python programs, for tests/python/compare.py: a line for each
 * token with its kind, line, column and size; one for each call with the line and column after it, whether it is in an
 * f-string, whether it is in a loop, its positional arguments, its function and its keywords; then the error, if there
 * is one. Names of files come on standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree.h"
#include "lint/python.h"

static void dump_tokens(const ek__python *p)
{
    static const char *const kinds[] = {"NAME", "NUMBER",  "STRING", "OP",     "FSTART",
                                        "FEND", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"};
    for (int i = 0; i < p->n_tokens; i++)
        printf("%s %d %d %d\n", kinds[p->token[i].kind], p->token[i].line, p->token[i].column, p->token[i].size);
}

static void dump_call(const ek__python *p, const ek__python_call *call, bool formatted)
{
    const ek__python_block *b = &p->block[call->block];
    const ek__python_token *close = &p->token[call->close], *name = &p->token[p->block[b->function].name];
    int n = 0;
    for (int i = 0; i < call->n_arguments; i++)
        n += !p->argument[call->first_argument + i].keyword &&
             !ek__python_is(p, p->argument[call->first_argument + i].begin, "**");
    printf("CALL %d %d %d %d %d %.*s", close->line, close->column + 1, formatted, b->loop >= 0, n,
           b->function ? name->size : 1, b->function ? p->text + name->at : "-");
    for (int i = 0; i < call->n_arguments; i++)
        if (p->argument[call->first_argument + i].keyword)
            printf(" %s", p->argument[call->first_argument + i].keyword);
    puts("");
}

static void dump_calls(const ek__python *p)
{
    int string_end = -1; /* of the outermost f-string */
    for (int i = 0, call = 0; i < p->n_tokens; i++) {
        if (p->token[i].kind == EK__PYTHON_FSTRING_START && i > string_end)
            string_end = p->token[i].partner;
        if (call < p->n_calls && p->call[call].open == i)
            dump_call(p, &p->call[call++], i < string_end);
    }
}

static void dump(const char *path)
{
    ek_error err = {0};
    char *text = NULL;
    size_t size = 0;
    ek__python *p = NULL;
    ek__pool *pool = ek__pool_new();
    ek_status status = ek__config_read_text(path, &text, &size, &err);
    if (status == EK_OK)
        status = ek__python_read(path, text, size, pool, &p, &err);
    if (status == EK_OK) {
        dump_tokens(p);
        dump_calls(p);
    } else {
        printf("ERROR %d %d %s\n", err.line, err.column, err.message);
    }
    puts(".");
    ek__pool_free(pool);
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
