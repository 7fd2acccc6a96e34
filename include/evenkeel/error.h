/* evenkeel/error.h - how every public function reports errors. */
#ifndef EVENKEEL_ERROR_H
#define EVENKEEL_ERROR_H

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/** Outcome of a call. Outputs are untouched unless it is EK_OK. */
typedef enum ek_status {
    EK_OK = 0,
    EK_ERR_INPUT,   /**< the user's input is wrong; the error names the place and the remedy */
    EK_ERR_SYSTEM,  /**< a file could not be opened, read or written */
    EK_ERR_MEMORY,  /**< out of memory */
    EK_ERR_STOPPED, /**< an interrupt or a time limit ended the work before an answer */
} ek_status;

/** A place in a user's file. `file` is borrowed; NULL when there is none (a command-line value). */
typedef struct ek_origin {
    const char *file;
    int line;   /**< from 1; 0 when unknown */
    int column; /**< from 1; 0 when unknown */
} ek_origin;

/** An error, owned by the caller and self-contained (no pointers). */
typedef struct ek_error {
    ek_status status;
    int line;
    int column;
    char file[512];
    char rule[40];      /**< of a warning: the id of the lint rule it belongs to; empty: of none */
    char message[1024]; /**< one or more sentences: the error with the values, and the remedy */
} ek_error;

/** Receives warnings while a reader runs. Both members may be NULL; so may a pointer to it. */
typedef struct ek_listener {
    void (*warn)(void *user, const ek_error *warning);
    void *user;
} ek_listener;

EK_END_DECLS
#endif
