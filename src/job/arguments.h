/* job/arguments.h - reads the arguments that a shell script, or a list of arguments, gives to a program, without
 * running anything. */
#ifndef EK_JOB_ARGUMENTS_H
#define EK_JOB_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"

enum {
    EK__ARGUMENTS_MAX_BYTES = 1 << 20, /* of a script */
    EK__ARGUMENTS_MAX_WORD = 1024,     /* bytes of a word after substitution; longer ones have no value */
    EK__ARGUMENTS_MAX_VARIABLES = 1000,
};

/* A word. The words of one statement, array or quoted text are contiguous and have the same group. */
typedef struct ek__word {
    const char *text; /* after substitution */
    int line, column; /* from 1, in characters */
    size_t at, end;   /* its bytes in the text, with its quotes */
    bool in_text;     /* inside of a quoted text with arguments */
    int group;
    int owner;           /* variable that has it as part of its value; -1: a word of a command */
    const char *unknown; /* the part that could not be substituted: "$TP", "$(nproc)"; NULL: none */
    const char *twice;   /* a variable in it that had another value earlier; NULL: none */
} ek__word;

typedef struct ek__variable {
    const char *name;
    const char *value;   /* NULL: unknown, or several words */
    const char *unknown; /* when it is unknown: the part that could not be substituted */
    int line, column;    /* of its last assignment */
    bool twice;          /* it had another value before */
    bool referred;       /* from a command or another variable */
    size_t comment_at;   /* of its number, if a comment for Slurm sets it; 0: none does */
} ek__variable;

/* NAME=VALUE, as written; a variable's last one is also in its ek__variable. */
typedef struct ek__assignment {
    int variable;
    const char *value; /* NULL: unknown, or several words */
    int line, column;  /* of the name */
    size_t at, end;    /* its bytes in the text */
    int group;         /* that of the surrounding words: `export`, or the command it applies to */
    int n_words;       /* words before it */
} ek__assignment;

typedef struct ek__words {
    ek__pool *pool;
    int n;
    ek__word *word;
    int n_variables;
    ek__variable *variable;
    int n_assignments;
    ek__assignment *assignment; /* by place */
    bool list;                  /* only arguments: line ends are ignored */
} ek__words;

typedef enum ek__branching {
    EK__DECIDED_BRANCHES, /* for one run: defaults apply, nothing is set in the environment */
    EK__ALL_BRANCHES,     /* for any run: the environment may set the script's variables */
} ek__branching;

/**
 * Split a text into words as a shell would: blanks, line ends, quotes, comments, backslashes; NAME=VALUE, NAME="WORDS",
 * NAME=(WORDS). Variables assigned as plain values earlier, and whole-number arithmetic $((..)) of them, are
 * substituted; ${NAME:-VALUE} is the variable or, if unset, the value. With EK__DECIDED_BRANCHES, branches that are not
 * run with these values are skipped (job/branches.h). All other substitutions of a shell are unknown. If a variable is
 * assigned in several branches, the last assignment before its use counts.
 *
 * Not handled: here-documents (their lines are words), functions' arguments, arrays' elements.
 *
 * @return EK_OK; EK_ERR_INPUT with the place: too large, too many variables, a quote that does not end;
 *         EK_ERR_MEMORY. O(size x variables).
 */
ek_status ek__words_read(const char *path, const char *text, size_t size, ek__branching branching, ek__words *out,
                         ek_error *err);
void ek__words_clear(ek__words *words);
/* A variable by name, or NULL. */
const ek__variable *ek__words_variable(const ek__words *words, const char *name);

/* By the `n` bytes of a name: its index, -1 without one. */
int ek__words_find(const ek__words *words, const char *name, size_t n);
/* Bytes of the shell's name that a text begins with; 0: none. */
size_t ek__name_length(const char *text, size_t size);

/* The value of $((...)). */
typedef struct ek__arithmetic {
    int64_t value;
    bool known;          /* otherwise it is not an integer expression */
    bool twice;          /* a variable in it had another value earlier */
    const char *unknown; /* the first name without an integer value, n_unknown bytes in the text; NULL: none */
    size_t n_unknown;
} ek__arithmetic;
/* The text between the brackets; variables in it are marked as used. O(n x variables). */
ek__arithmetic ek__arithmetic_of(ek__words *words, const char *text, size_t n);

#endif
