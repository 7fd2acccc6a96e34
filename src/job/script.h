/* job/script.h - edits a launch script: its words, and the recorded changes. */
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
    bool *gone;   /* [file->size] bytes to delete with dropped arguments */
    bool *anchor; /* [file->size] new arguments are added here, so that the line is kept */
    ek_error *err;
} ek__script;

/* Bytes of the text. */
typedef struct ek__bytes {
    size_t at, end;
} ek__bytes;

/* Find the place of the value of the word in `word`, which may be quoted: the word itself or, if it consists of a
 * variable ($TP, "${TP}", ${TP:-2}), the assigned value, through any number of variables. With `alone`, only variables
 * without other uses in the script are followed.
 * @param use  byte of the word; earlier assignments count
 * @return false if it has no single place: the output of a command, a sum, several assignments */
bool ek__script_place(const ek__script *s, ek__bytes word, bool alone, ek__bytes *out);

/* Does the word consist of a variable that the script does not assign, without a default? *name: the place of its
 * name. */
bool ek__script_environment(const ek__script *s, ek__bytes word, ek__bytes *name);

/* Change the script to start n ranks: the number of nodes if whole nodes suffice, otherwise the ranks of a node, at
 * every place. Does not change a script without either. *said: its launcher now has the number, perhaps as the default
 * of an environment variable. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__script_set_ranks(ek__script *s, int64_t n, bool *said);

/* A word without the quotes around it. */
ek__bytes ek__script_unquoted(const ek__script *s, ek__bytes word);

/* Is the word's text in the script all digits? */
bool ek__script_is_number(const ek__script *s, ek__bytes bytes);

#endif
