/* job/script.h - a launch script that is being changed: its words, and the changes noted so far. */
#ifndef EK_JOB_SCRIPT_H
#define EK_JOB_SCRIPT_H

#include "base/splice.h"
#include "job/megatron_arguments.h"
#include "job/write.h"

typedef struct ek__script {
    const ek__job_text *file;
    ek__job_source source;
    ek__arguments a;
    ek__splices splices;
    bool *gone;   /* [file->size] bytes that go with arguments that are dropped */
    bool *anchor; /* [file->size] new arguments are added here, so that the line stays */
    ek_error *err;
} ek__script;

/* Bytes of the text. */
typedef struct ek__bytes {
    size_t at, end;
} ek__bytes;

/* The value of the word in `word`, which may have quotes around it, is written there: itself, or of a word that is
 * nothing but a variable ($TP, "${TP}", ${TP:-2}) what the variable is assigned, through any number of variables. With
 * `alone` only variables that nothing else in the script refers to are followed.
 * @param use  byte of the word, above which assignments count
 * @return false where no place holds it: the output of a command, a sum, several assignments */
bool ek__script_place(const ek__script *s, ek__bytes word, bool alone, ek__bytes *out);

/* Is the word nothing but a variable that the script does not assign, without a default? *name: where its name is. */
bool ek__script_environment(const ek__script *s, ek__bytes word, ek__bytes *name);

/* Have the script start n ranks: the nodes where whole ones do, else ranks of a node, wherever they are written. Does
 * nothing to a script that says neither. *said: its launcher now says how many, perhaps as the default of a variable of
 * the environment. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__script_set_ranks(ek__script *s, int64_t n, bool *said);

/* A word without the quotes around it. */
ek__bytes ek__script_unquoted(const ek__script *s, ek__bytes word);

/* Is the word's text in the script all digits? */
bool ek__script_is_number(const ek__script *s, ek__bytes bytes);

#endif
