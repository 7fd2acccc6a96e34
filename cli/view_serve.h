/* cli/view_serve.h - `evenkeel view --serve`: the index of a run's traces, a server over it, and a child process that
 * computes the figures meanwhile. */
#ifndef EK_CLI_VIEW_SERVE_H
#define EK_CLI_VIEW_SERVE_H

#include "view_runs.h"

typedef struct cli_serve_options {
    const char *title; /**< NULL: the name of the shown run */
    const char *lang;  /**< that the page begins in, as ek_view.lang; NULL */
    int port;          /**< 0: any that is free */
} cli_serve_options;

/** Serve the traces of `first` until a signal ends it; `second` is the run that its figures are compared with, and may
 * be empty.
 *  @return an exit code */
int cli_view_serve(const cli_view_how *how, const cli_serve_options *options, ek_view_files *first,
                   ek_view_files *second);

#endif
