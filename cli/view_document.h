/* cli/view_document.h - the document of a served page: made by a child process, saved with the index. */
#ifndef EK_CLI_VIEW_DOCUMENT_H
#define EK_CLI_VIEW_DOCUMENT_H

#include <sys/types.h>

#include "view_runs.h"

typedef enum cli_document_state { CLI_DOCUMENT_MAKING, CLI_DOCUMENT_READY, CLI_DOCUMENT_FAILED } cli_document_state;

/** A document on its way. */
typedef struct cli_document {
    pid_t child;  /**< that makes it; 0: none */
    int file;     /**< where it is written: a file without a name; -1 */
    void *mapped; /**< [mapped_size] */
    size_t mapped_size;
    const char *text; /**< [size] in it */
    size_t size;
    char kept_path[4200]; /**< where it is kept for the next time; empty: nowhere */
    char kept_key[64];    /**< first line there: its sources */
    int state;            /**< cli_document_state; set by one thread, read by the server's */
} cli_document;

/**
 * Take the document that an earlier start saved in the index's folder, where nothing has changed since; else start a
 * child process that makes it. Call before any thread starts: only the calling thread exists in the child.
 *
 * @param folder  of the index; NULL: keep nothing
 * @return false after a message
 */
bool cli_document_begin(cli_document *document, const cli_view_how *how, const char *title, const char *folder,
                        ek_view_files *first, ek_view_files *second);
/** Collect the child's document and save it for the next time. After a SIGCHLD. */
void cli_document_check(cli_document *document);
/** End the child and let go of everything. */
void cli_document_end(cli_document *document);
/** For ek_serve_options. */
bool cli_document_get(void *document, const char **text, size_t *size);

#endif
