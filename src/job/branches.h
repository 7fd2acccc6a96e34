/* job/branches.h - finds which branches of a script's if, elif, else and fi are run, if its own variables decide it. */
#ifndef EK_JOB_BRANCHES_H
#define EK_JOB_BRANCHES_H

#include "job/arguments.h"

enum { EK__MAX_BRANCHES = 64 }; /* nested ifs; deeper ones are not decided */

/* An `if` that is still open. */
typedef struct ek__branch {
    bool skipped_around; /* the whole `if` is in a branch that is not run */
    bool decided;        /* an earlier branch is certainly run, so later ones are not */
} ek__branch;

typedef struct ek__branches {
    ek__branch open[EK__MAX_BRANCHES];
    int n;       /* open ones, including those beyond the room */
    bool skip;   /* the current statement is not run */
    int asked;   /* being in a condition: 1 of an if, 2 of an elif; 0: of none */
    int from;    /* its first word */
    size_t text; /* its beginning */
} ek__branches;

/**
 * A word at the beginning of a statement: if, elif, then, else and fi open, decide and close branches.
 *
 * Conditions are [ .. ], [[ .. ]] and test of -z, -n, =, ==, != and comparisons of whole numbers, also with !, and with
 * && or ||, of values that the script assigns. Any other condition is undecided: its branch counts, and so do the later
 * ones. A condition on a variable that had several values is undecided too.
 *
 * @param words  the words so far, which end with the words of the condition
 * @param text   the whole script
 * @param at     the place of the word in it
 */
void ek__branches_word(ek__branches *b, const char *word, const ek__words *words, const char *text, size_t at);

#endif
