/* lint/python.h - a Python program as lint's rules look at it: tokens, blocks, calls, assignments. Read, never run. */
#ifndef EK_LINT_PYTHON_H
#define EK_LINT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/python_tokens.h"
#include "lint/setting.h"

enum {
    EK__PYTHON_MAX_NAME = 256, /* bytes of a dotted name with its NUL; calls of longer ones have no callee */
};

typedef enum ek__python_block_kind {
    EK__PYTHON_MODULE,
    EK__PYTHON_CLASS,
    EK__PYTHON_FUNCTION,
    EK__PYTHON_LOOP,
    EK__PYTHON_CONDITION, /* if, elif, else, except */
    EK__PYTHON_SUITE,     /* with, try, finally, match, case */
} ek__python_block_kind;

typedef struct ek__python_block {
    ek__python_block_kind kind;
    int parent;     /* -1: the module */
    int header;     /* its keyword; header .. body - 1 is its first line */
    int body;       /* first token after the colon */
    int end;        /* after its last token */
    int name;       /* of a class or function: that token; else -1 */
    int function;   /* the innermost function it is in or is; 0: the module */
    int loop;       /* the innermost loop of that function it is in or is; -1 */
    int in_class;   /* the innermost class it is in or is; -1 */
    int decorators; /* first token of the decorators above; else -1 */
    bool trains;    /* a loop with a call right in it that trains a step */
} ek__python_block;

typedef struct ek__python_argument {
    const char *keyword; /* NULL: positional */
    int begin, end;      /* tokens of its value; `*` or `**` before it is the first */
} ek__python_argument;

typedef struct ek__python_call {
    const char *callee; /* dotted, with the file's imports put in: "mindspore.set_context"; NULL: of an expression */
    const char *name;   /* the last part, with imports put in: "set_context"; "" of an expression without one */
    bool imported;      /* the first part of callee was imported */
    int token;          /* of the name; of the bracket when there is none */
    int receiver;       /* first token of the object, which ends at token - 2; -1: no method */
    int open, close;    /* brackets */
    int block;
    int statement; /* its first token */
    int first_argument, n_arguments;
} ek__python_call;

typedef struct ek__python_assignment {
    int target, target_end; /* tokens */
    int value, value_end;
    bool augmented; /* += and the like */
    int block;
} ek__python_assignment;

struct ek__python {
    ek__pool *pool;
    const char *name; /* of the file */
    const char *text;
    int n_tokens, n_symbols, n_blocks, n_calls, n_arguments, n_assignments;
    ek__python_token *token; /* the last is EK__PYTHON_END */
    const char **symbol;     /* [n_symbols] */
    const char **alias;      /* [n_symbols] the full name by imports: "mindspore.mint"; NULL */
    ek__python_block *block; /* by header; block 0 is the module */
    ek__python_call *call;   /* by the place of their opening bracket */
    ek__python_argument *argument;
    ek__python_assignment *assignment; /* by the place of their sign */
    ek__lint_settings environment;     /* os.environ["X"] = "Y" and the like */
};
typedef struct ek__python ek__python;

/**
 * Read a program. Python 3 of any version: f-strings are gone into, with or without quotes of their own kind inside.
 * Imports anywhere in the file count; a name imported twice is the last.
 *
 * Not handled: other bindings of names (arguments, globals, classes' attributes), exec, encodings other than
 * UTF-8 (bytes above 127 count as letters), comprehensions as loops; a class pattern of match counts as a call.
 *
 * @return EK_OK; EK_ERR_INPUT with the place where Python itself would refuse the text: a string or bracket that does
 * not end, a dedent to no level, a NUL; or a limit above; EK_ERR_MEMORY. O(size).
 */
ek_status ek__python_read(const char *name, const char *text, size_t size, ek__pool *pool, ek__python **out,
                          ek_error *err);

/* Which loops train, from calls. */
void ek__python_find_training(ek__python *python);
/* Settings of the environment, from calls and assignments. */
ek_status ek__python_environment(ek__python *python, ek_error *err);

/* Is the token these bytes? */
bool ek__python_is(const ek__python *python, int token, const char *text);

typedef enum ek__python_literal_kind {
    EK__PYTHON_UNKNOWN,
    EK__PYTHON_TEXT,
    EK__PYTHON_WHOLE,
    EK__PYTHON_TRUE,
    EK__PYTHON_FALSE,
    EK__PYTHON_NONE,
} ek__python_literal_kind;

typedef struct ek__python_literal {
    ek__python_literal_kind kind;
    int64_t whole;
    char text[256]; /* longer ones, and those with escapes, are unknown */
} ek__python_literal;

/* The value of tokens [begin, end) without running them. */
ek__python_literal ek__python_value(const ek__python *python, int begin, int end);
/* The argument of a keyword, or else in a place (from 0; -1: by keyword only); NULL. O(arguments). */
const ek__python_argument *ek__python_argument_of(const ek__python *python, const ek__python_call *call,
                                                  const char *keyword, int place);
/* Column after a token that ends in the line it begins in, else 0. */
int ek__python_end_column(const ek__python *python, int token);

#endif
