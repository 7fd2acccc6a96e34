/* job/megatron_arguments.h - finds the relevant arguments of Megatron-LM and MindSpeed-LLM by name. */
#ifndef EK_JOB_MEGATRON_ARGUMENTS_H
#define EK_JOB_MEGATRON_ARGUMENTS_H

#include "job/arguments.h"
#include "job/job_internal.h"

enum { EK__MAX_ARGUMENTS = 192 };

/* The occurrence of one argument in a script. */
typedef struct ek__argument {
    const ek__word *name;  /* NULL: not given */
    const ek__word *value; /* the first; the others follow it */
    int n_values;
} ek__argument;

typedef struct ek__arguments {
    const ek__job_source *source;
    ek__words words;
    ek__argument given[EK__MAX_ARGUMENTS]; /* by the table's lines */
    bool any_referred;                     /* arguments are in variables that are used: only those count */
    bool put;                              /* by ek__arguments_put(), from a file of another form */
} ek__arguments;

/* Does a text have any? */
bool ek__arguments_are_in(const char *text);
/* Collect them: the last one counts; those in an unused variable do not. Warns of that, of arguments given twice, of
 * mistyped ones and of settings with effects on memory that are not modelled. @return as ek__words_read() */
ek_status ek__arguments_read(const ek__job_source *source, ek__arguments *out);
void ek__arguments_clear(ek__arguments *a);
/* An empty list, to which those of another file format are added. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__arguments_start(const ek__job_source *source, ek__arguments *out);
/* Add one with `n` values, which are copied; `name` without the dashes, in the table. `unknown`: the part of the value
 * that is known only in a run, NULL: none. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__arguments_put(ek__arguments *a, const char *name, const char *const *values, int n, const char *unknown,
                            ek_origin at);

/* The value at `index` of an argument that takes several; NULL after the last, or if known only in a run. */
const ek__word *ek__argument_value(const ek__arguments *a, const char *name, int index);

/* Is word `at` an argument that counts, of this name or another spelling of it? */
bool ek__argument_is(const ek__arguments *a, int at, const char *name);
/* The number of words after it that are its values. */
int ek__argument_values(const ek__arguments *a, int at);

/* By name without the dashes, which must be in the table. */
bool ek__argument_given(const ek__arguments *a, const char *name);
/* Is it an argument that is read? The other functions require it. */
bool ek__argument_is_known(const char *name);
/* Its place, or the file's if it is absent. */
ek_origin ek__argument_at(const ek__arguments *a, const char *name);
/* Each leaves *out unchanged if the argument is absent. @return EK_OK, or EK_ERR_INPUT with its place. */
ek_status ek__argument_int(const ek__arguments *a, const char *name, int min, int max, int *out);
ek_status ek__argument_number(const ek__arguments *a, const char *name, double min, double max, double *out);
/* Any text. */
ek_status ek__argument_text(const ek__arguments *a, const char *name, const char **out);
/* One of `words`, NULL at the end: its index. */
ek_status ek__argument_word(const ek__arguments *a, const char *name, const char *const *words, int *out);
/* Warn of a given argument without effect. */
void ek__argument_warn_idle(const ek__arguments *a, const char *name, const char *text);
/* EK_ERR_INPUT for the missing argument; `what` describes it. */
ek_status ek__argument_missing(const ek__arguments *a, const char *name, const char *what);

#endif
