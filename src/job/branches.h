/* job/branches.h - which branches of a script's if, elif, else and fi are run, where its own variables tell. */
#ifndef EK_JOB_BRANCHES_H
#define EK_JOB_BRANCHES_H

#include "job/arguments.h"

enum { EK__MAX_BRANCHES = 64 }; /* ifs inside each other; deeper ones are not decided */

/* An `if` that its `fi` has not closed. */
typedef struct ek__branch {
    bool skipped_around; /* the whole of it is in a branch that is not run */
    bool decided;        /* a branch above is run for certain, so that none below is */
} ek__branch;

typedef struct ek__branches {
    ek__branch open[EK__MAX_BRANCHES];
    int n;       /* open ones, counted on beyond the room */
    bool skip;   /* what is read now is not run */
    int asked;   /* of a condition: 1 an if's, 2 an elif's; 0: none is being read */
    int from;    /* its first word */
    size_t text; /* where it begins */
} ek__branches;

/**
 * A word at the beginning of a statement: if, elif, then, else and fi open, decide and close branches.
 *
 * Conditions are [ .. ], [[ .. ]] and test of -z, -n, =, ==, != and comparisons of whole numbers, also with !, and with
 * && or ||, of values that the script assigns. A condition of anything else is not decided: its branch counts, as those
 * below it do. So does one of a variable that had several values.
 *
 * @param words  what was read so far: words of the condition, which nothing was added to since
 * @param text   the whole script
 * @param at     the place of the word in it
 */
void ek__branches_word(ek__branches *b, const char *word, const ek__words *words, const char *text, size_t at);

#endif
