/* base/python_tokens.h - reads the tokens of a Python program, which is never run. */
#ifndef EK_BASE_PYTHON_TOKENS_H
#define EK_BASE_PYTHON_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/pool.h"

enum {
    EK__PYTHON_MAX_BYTES = 2 << 20, /* of a program */
    EK__PYTHON_MAX_BRACKETS = 200,  /* inside each other, f-strings counted; as in CPython */
    EK__PYTHON_MAX_INDENTS = 100,   /* as in CPython */
};

typedef enum ek__python_kind {
    EK__PYTHON_NAME,
    EK__PYTHON_NUMBER,
    EK__PYTHON_STRING,
    EK__PYTHON_OPERATOR,
    EK__PYTHON_FSTRING_START, /* the prefix and quote; the text in braces follows as separate tokens */
    EK__PYTHON_FSTRING_END,
    EK__PYTHON_NEWLINE, /* of a logical line */
    EK__PYTHON_INDENT,
    EK__PYTHON_DEDENT,
    EK__PYTHON_END,
} ek__python_kind;

typedef struct ek__python_token {
    ek__python_kind kind;
    int at, size;     /* bytes of the text */
    int line, column; /* from 1, in characters */
    int partner;      /* of a bracket or f-string: the token at its other end; else -1 */
    int symbol;       /* of a name: the same number wherever it is the same name; else -1 */
    int primary;      /* first token of the expression x.y(z)[w] that ends here; -1: none does */
} ek__python_token;

/* A program and its tokens. */
typedef struct ek__python_text {
    ek__pool *pool;   /* of the tokens */
    const char *name; /* of the file */
    const char *text;
    int n_tokens;
    ek__python_token *token; /* the last is EK__PYTHON_END */
} ek__python_text;

/* Fill token and n_tokens, partners included; `symbol` and `primary` are -1. @return EK_OK; EK_ERR_INPUT with the place
 * where Python itself would refuse the text, or a limit above; EK_ERR_MEMORY. O(size). */
ek_status ek__python_tokens(ek__python_text *out, size_t size, ek_error *err);
/* Is the token these bytes? */
bool ek__python_text_is(const ek__python_text *program, int token, const char *text);

#endif
