/* lint/shell.h - a launch script or environment file as lint's rules look at it. Read, never run. */
#ifndef EK_LINT_SHELL_H
#define EK_LINT_SHELL_H

#include "base/error.h"
#include "base/pool.h"
#include "lint/setting.h"

/* A word of a command, of an array or of arguments in quotes. */
typedef struct ek__shell_word {
    const char *text;
    int line, column; /* from 1, in characters */
    bool known;       /* it has no expansions */
} ek__shell_word;

typedef struct ek__command {
    int first_word, n_words; /* the program's name first */
    int line;
    bool maybe; /* only under a condition */
} ek__command;

struct ek__shell {
    int n_words, n_commands;
    ek__shell_word *word;
    ek__command *command;
    ek__lint_settings environment;
    bool runs; /* it starts something; an environment file does not */
};
typedef struct ek__shell ek__shell;

/**
 * Read a script: words by the rules of job/arguments.h, whose limits hold, with here-documents left out. Settings are
 * all assignments, with whether programs see them: export, a command after them, `env NAME=VALUE`, `mpirun -x`, or a
 * file that is nothing but assignments.
 *
 * Not handled: calls of functions, source, eval.
 *
 * @return EK_OK; EK_ERR_INPUT with the place; EK_ERR_MEMORY. O(size x variables).
 */
ek_status ek__shell_read(const char *name, const char *text, size_t size, ek__pool *pool, ek__shell **out,
                         ek_error *err);

/* The word after an argument, or the part of `--NAME=VALUE` after the sign; NULL: not given, or nothing follows. */
const char *ek__shell_argument(const ek__shell *shell, const char *name);
/* Is the argument given? */
bool ek__shell_has(const ek__shell *shell, const char *name);

#endif
